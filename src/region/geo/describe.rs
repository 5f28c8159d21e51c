//! The same placement as [`GeoTable::locate`], told to people.

use std::net::{IpAddr, Ipv4Addr};

use super::{By, GeoTable, Located, Network, Place, Subnet, embedded};

/// Where a client is, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The placement itself.
    pub located: Located,
    /// What placed it, in one word: `203.0.113.0/24`, `CN`, `AS`; when nothing did, what the database says all the same,
    /// or nothing.
    pub detail: String,
    /// The address that was looked up: the subnet's, or the sender's; of an embedding form the IPv4 address inside.
    pub looked_up: IpAddr,
    /// There was a subnet, but a local one: its sender was looked up instead.
    pub by_sender: bool,
    /// What the database says.
    pub place: Place,
    /// The operator's network, or the largest block around the address of which the database says the same.
    pub network: Option<Network>,
}

impl GeoTable {
    /// Places a client as [`GeoTable::locate`] does, and says why.
    pub fn describe(&self, subnet: Option<Subnet>, source: IpAddr) -> Placed {
        let located = self.locate(subnet, source);
        let by_sender = subnet.is_some_and(|subnet| self.spot(subnet.addr, subnet.source).local);
        let (addr, len) = match subnet {
            Some(subnet) if !by_sender => (subnet.addr, subnet.source),
            _ => (source, u8::MAX),
        };
        let Some(looked_up) = read_as(addr, len) else {
            let detail = "the subnet ends before the IPv4 address in it".to_owned();
            let place = Place::default();
            return Placed { located, detail, looked_up: addr, by_sender, place, network: None };
        };
        let said = self.database.as_ref().map(|database| match looked_up {
            IpAddr::V4(addr) => database.find(&database.v4, addr.to_bits()),
            IpAddr::V6(addr) => database.find(&database.v6, addr.to_bits()),
        });
        let place = said.map(|(place, _)| place).unwrap_or_default();
        let holds = |network: &&Network| network.contains(looked_up);
        let own = self.networks.iter().filter(holds).max_by_key(|network| network.len).copied();
        let network = own.or(said.map(|(_, network)| network));
        let detail = match located.by {
            By::Network => own.map(|network| network.to_string()),
            By::Country => place.country.map(|country| country.to_string()),
            By::Continent => place.continent().map(|continent| continent.to_string()),
            By::Unmapped => (place != Place::default()).then(|| place.to_string()),
        };
        Placed { located, detail: detail.unwrap_or_default(), looked_up, by_sender, place, network }
    }
}

/// The address that the table looks up; `None` when the known bits end before the IPv4 address in it.
fn read_as(addr: IpAddr, len: u8) -> Option<IpAddr> {
    let IpAddr::V6(v6) = addr else { return Some(addr) };
    match embedded(v6.to_bits()) {
        None => Some(addr),
        Some(within) => (len > within.before).then(|| Ipv4Addr::from_bits(within.inner).into()),
    }
}
