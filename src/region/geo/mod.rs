//! Where a client is: networks compiled at load into one flat table, looked up per query.
//!
//! Operators' networks (longest prefix first) beat the database's country, the country beats the continent, and what
//! nothing places has a home too, declared as such. All that is laid over each other once, at load, as layers;
//! what remains is one sorted array a family, and no lookup asks twice.
//!
//! Some addresses mean something else than they say: an IPv4 address inside an IPv6 one is looked up as
//! the IPv4 address; a private, loopback or link-local *subnet* says nothing, so its sender is looked up instead.

mod address;
mod database;
mod describe;
mod flat;
mod layer;
mod sample;
mod special;

pub use address::{Network, NetworkError};
pub use database::{Database, Place, StoredError};
pub use describe::Placed;

pub(super) use address::Bits;
pub(super) use database::{PlaceId, Spans};

use std::net::IpAddr;
use std::sync::Arc;

use super::RegionId;
use super::iso::{Continent, Country};
use flat::{Code, Flat, Spot, Window};
use layer::Layer;
use special::{EMBEDDING, Embedded, LOCAL_V4, LOCAL_V6, blocks, embedded};

/// The index over IPv4: all of it, down to /18.
const WINDOW_V4: Window<u32> = Window { base: 0, len: 0, bits: 18 };

/// The index over IPv6: global unicast space (2000::/3), down to /21; what lies outside is found too, in more steps.
const WINDOW_V6: Window<u128> = Window { base: 0x2000 << 112, len: 3, bits: 18 };

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

/// Which clients are at home where, as the configuration says it. Of two equal entries the first counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The home of a client that nothing places.
    pub unmapped: RegionId,
    /// Networks, whatever the database says: the longest that holds an address counts.
    pub networks: Vec<(Network, RegionId)>,
    /// Countries.
    pub countries: Vec<(Country, RegionId)>,
    /// Continents, for countries that `countries` leaves out.
    pub continents: Vec<(Continent, RegionId)>,
}

impl Rules {
    /// Rules that send everybody to one region.
    pub const fn everybody(unmapped: RegionId) -> Self {
        Self { unmapped, networks: Vec::new(), countries: Vec::new(), continents: Vec::new() }
    }

    /// The home of a place.
    fn home(&self, place: Place) -> (RegionId, By) {
        let country = self.countries.iter().find(|(country, _)| place.country == Some(*country));
        if let Some(&(_, home)) = country {
            return (home, By::Country);
        }
        let continent = place.continent();
        match self.continents.iter().find(|(named, _)| continent == Some(*named)) {
            Some(&(_, home)) => (home, By::Continent),
            None => (self.unmapped, By::Unmapped),
        }
    }
}

/// Networks compiled for lookup.
#[derive(Debug)]
pub struct GeoTable {
    v4: Flat<u32>,
    v6: Flat<u128>,
    unmapped: RegionId,
    /// The operator's networks: for people only, the lookup has them in the ranges.
    networks: Vec<Network>,
    /// What the geo file says: for people only, as well.
    database: Option<Arc<Database>>,
}

impl Default for GeoTable {
    /// Everybody is at home in the first region, and nothing says so.
    fn default() -> Self {
        Self::build(&Rules::everybody(RegionId(0)), None)
    }
}

impl GeoTable {
    /// Compiles the rules over the database; without one only networks and the home of the unmapped count.
    pub fn build(rules: &Rules, database: Option<Arc<Database>>) -> Self {
        let unplaced = Database::empty();
        let places = database.as_deref().unwrap_or(&unplaced);
        let v4 = compile(rules, places, &places.v4, &blocks(&LOCAL_V4));
        let v6 = compile(rules, places, &places.v6, &blocks(&LOCAL_V6));
        // An IPv6 network never covers IPv4, so these come last: even `::/0` leaves them alone.
        let elsewhere = Layer::of_blocks(&blocks(&EMBEDDING), true, false);
        let v6 = v6.zip(&elsewhere, |code, elsewhere| if elsewhere { Code::ELSEWHERE } else { code });
        Self {
            v4: Flat::build(&v4, WINDOW_V4),
            v6: Flat::build(&v6, WINDOW_V6),
            unmapped: rules.unmapped,
            networks: rules.networks.iter().map(|&(network, _)| network).collect(),
            database,
        }
    }

    /// Places a client by its subnet, else by the address that the query came from.
    ///
    /// The scope is that of the subnet: the largest block around its address in which every address has the same home
    /// (from the same source, as far as that matters). It may exceed the subnet's own length. Without a subnet it is 0.
    #[inline]
    pub fn locate(&self, subnet: Option<Subnet>, source: IpAddr) -> Located {
        let Some(subnet) = subnet else { return self.locate_source(source) };
        let spot = self.spot(subnet.addr, subnet.source);
        if spot.local {
            return Located { scope: spot.scope, ..self.locate_source(source) };
        }
        Located { home: spot.home, by: spot.by, scope: spot.scope }
    }

    /// What the geo file says, if there is one.
    pub const fn database(&self) -> Option<&Arc<Database>> {
        self.database.as_ref()
    }

    /// Ranges of one home and one cause, in both families.
    pub fn ranges(&self) -> usize {
        self.v4.ranges() + self.v6.ranges()
    }

    /// Size of what lookups read, in bytes.
    pub fn hot_bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes()
    }

    /// Size of what is kept for people and for compiling anew, in bytes; elsewhere in memory.
    pub fn cold_bytes(&self) -> usize {
        self.database.as_ref().map_or(0, |database| database.bytes()) + size_of_val(&*self.networks)
    }

    fn locate_source(&self, source: IpAddr) -> Located {
        let spot = self.spot(source, u8::MAX);
        Located { home: spot.home, by: spot.by, scope: 0 }
    }

    /// Looks an address up of which only the first `len` bits are known.
    #[inline]
    fn spot(&self, addr: IpAddr, len: u8) -> Spot {
        match addr {
            IpAddr::V4(addr) => self.v4.find(addr.to_bits()),
            IpAddr::V6(addr) => match embedded(addr.to_bits()) {
                None => self.v6.find(addr.to_bits()),
                Some(within) => self.inside(within, len),
            },
        }
    }

    /// Looks an IPv4 address inside an IPv6 one up. A subnet that ends before it says nothing, and is unmapped. On the
    /// wire it looks like the one address whose IPv4 bits are all zero, so that address (never a client's) is unmapped
    /// as well, and stands apart from its neighbours: it must not get two answers.
    fn inside(&self, within: Embedded, len: u8) -> Spot {
        let zero = self.v4.find(within.zero);
        let apart = zero.home != self.unmapped || zero.local;
        if len <= within.before || within.inner == within.zero {
            let scope = if apart { u32::BITS as u8 } else { zero.scope };
            let scope = scope + within.before;
            return Spot { home: self.unmapped, by: By::Unmapped, local: false, scope };
        }
        let spot = self.v4.find(within.inner);
        let scope = if apart { spot.scope.max(within.inner.common(within.zero) + 1) } else { spot.scope };
        Spot { scope: scope + within.before, ..spot }
    }
}

/// One family's layers, laid over each other: places, local blocks, the operator's networks.
fn compile<A: Bits>(
    rules: &Rules,
    database: &Database,
    spans: &Spans<A>,
    local: &[(A, A)],
) -> Layer<A, Code> {
    let homes: Vec<(RegionId, By)> = database.places.iter().map(|&place| rules.home(place)).collect();
    let nowhere = rules.home(Place::default());
    let home_of = |id: PlaceId| homes.get(usize::from(id)).copied().unwrap_or(nowhere);
    let placed = Layer::of_starts(spans.iter().map(|(start, id)| (start, home_of(id))), nowhere);
    let local = Layer::of_blocks(local, true, false);
    let placed = placed.zip(&local, |(home, by), local| Code::new(home, by, local));
    placed.zip(&own_networks(rules), |code, own| own.map_or(code, |home| Code::new(home, By::Network, false)))
}

/// The operator's networks of one family as a layer; the longest wins.
fn own_networks<A: Bits>(rules: &Rules) -> Layer<A, Option<RegionId>> {
    let mut blocks: Vec<(u8, A, A, RegionId)> = rules
        .networks
        .iter()
        .filter_map(|(network, home)| network.ends().map(|(first, last)| (network.len, first, last, *home)))
        .collect();
    // Stable, so that of two equal networks the first stays.
    blocks.sort_by_key(|&(len, first, ..)| (len, first));
    blocks.dedup_by_key(|&mut (len, first, ..)| (len, first));
    let mut layer = Layer::uniform(None);
    // Networks of one length are disjoint: each length is a layer over the shorter ones.
    for of_one_len in blocks.chunk_by(|one, next| one.0 == next.0) {
        let own = of_one_len.iter().map(|&(_, first, _, home)| (first, Some(home)));
        let ends = of_one_len.iter().filter_map(|&(_, _, last, _)| Some((last.after()?, None)));
        let mut edges: Vec<(A, Option<RegionId>)> = ends.chain(own).collect();
        // Where one network ends and the next begins, the beginning counts: it comes later, and the sort is stable.
        edges.sort_by_key(|&(start, _)| start);
        let longer = Layer::of_starts(edges.into_iter(), None);
        layer = layer.zip(&longer, |shorter, longer: Option<RegionId>| longer.or(shorter));
    }
    layer
}

#[cfg(test)]
mod tests;
