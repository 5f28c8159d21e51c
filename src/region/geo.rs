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

/// STUB until the geo branch lands.
#[derive(Debug)]
pub struct Rules {
    pub unmapped: RegionId,
    pub networks: Vec<(Network, RegionId)>,
    pub countries: Vec<(super::iso::Country, RegionId)>,
    pub continents: Vec<(super::iso::Continent, RegionId)>,
}
impl Rules {
    pub fn new(unmapped: RegionId) -> Self { Self { unmapped, networks: Vec::new(), countries: Vec::new(), continents: Vec::new() } }
}
pub struct Placed { pub by: By, pub detail: String }
impl GeoTable {
    pub fn build(rules: &Rules, database: Option<&super::mmdb::Database>) -> Self { let _ = (rules, database); Self {} }
    pub fn locate(&self, subnet: Option<Subnet>, source: IpAddr) -> Located { let _ = (subnet, source); Located { home: RegionId::new(0).unwrap(), by: By::Unmapped, scope: 0 } }
    pub fn describe(&self, subnet: Option<Subnet>, source: IpAddr) -> Placed { let _ = (subnet, source); Placed { by: By::Unmapped, detail: String::new() } }
    pub fn moved(&self, other: &Self) -> f64 { let _ = other; 0.0 }
    pub fn build_epoch(&self) -> Option<i64> { None }
    pub fn ranges(&self) -> usize { 0 }
    pub fn unmapped_share(&self) -> f64 { 0.0 }
    pub fn to_bytes(&self) -> Vec<u8> { Vec::new() }
    pub fn from_bytes(bytes: &[u8], rules: &Rules) -> Result<Self, ()> { let _ = (bytes, rules); Err(()) }
}
