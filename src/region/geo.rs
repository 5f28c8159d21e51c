//! Where a client is: networks compiled at load into one flat table, looked up per query.

use std::net::IpAddr;

use super::RegionId;

/// An IP network; bits beyond `len` are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    /// The first address.
    pub addr: IpAddr,
    /// Prefix length in bits.
    pub len: u8,
}

/// A client subnet option's address and source prefix length (RFC 7871); bits beyond `source` are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// The address.
    pub addr: IpAddr,
    /// Source prefix length in bits, at least 1.
    pub source: u8,
}

/// What placed a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// A network of the operator's.
    Network,
    /// The database's country.
    Country,
    /// The database's continent, or the country's own.
    Continent,
    /// Nothing.
    Unmapped,
}

impl By {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Network, Self::Country, Self::Continent, Self::Unmapped];

    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Country => "country",
            Self::Continent => "continent",
            Self::Unmapped => "unmapped",
        }
    }
}

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its home region.
    pub home: RegionId,
    /// What placed it.
    pub by: By,
    /// The shortest correct scope prefix length for a client subnet of that family, in bits.
    pub scope: u8,
}

/// Networks compiled for lookup.
#[derive(Debug, Default)]
pub struct GeoTable {}
