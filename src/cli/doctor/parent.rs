//! Who the parent of a zone is: the closest zone above it that a resolver knows name servers of.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use domain::base::Name;
use domain::base::iana::Rtype;

use super::exchange::{Network, at_once};
use super::facts::{NOERROR, NXDOMAIN, View};
use super::message::{Manner, Question, Reply, folded};

/// The port of resolvers.
const DNS_PORT: u16 = 53;

/// Where the system's resolvers are listed.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Resolvers that are tried, as the system's own library does.
const MAX_RESOLVERS: usize = 3;

/// Name servers of the parent whose addresses are looked up.
const MAX_NAMES: usize = 4;

/// The parent's servers that are asked.
const MAX_SERVERS: usize = 6;

/// Resolvers, tried one after the other.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    servers: Vec<SocketAddr>,
}

impl Resolver {
    /// The one that was named, or the system's.
    pub(super) fn new(named: Option<SocketAddr>) -> Self {
        let system = || listed(&fs::read_to_string(RESOLV_CONF).unwrap_or_default());
        Self { servers: named.map_or_else(system, |server| vec![server]) }
    }

    /// Errors: no resolver gives an answer; in words.
    fn ask(&self, network: &Network, name: &str, rtype: Rtype) -> Result<Reply, Unresolved> {
        let question = Question::new(name, rtype, Manner::Recursive);
        let mut why = format!("there is no resolver: {RESOLV_CONF} names none");
        for &server in &self.servers {
            match network.ask_whole(server, &question) {
                Ok(reply) if [NOERROR, NXDOMAIN].contains(&reply.rcode) => return Ok(reply),
                Ok(reply) => {
                    why = format!("the resolver {server} answers {} for {name} {rtype}", reply.rcode_name());
                }
                Err(trouble) => why = format!("the resolver {server} {}", trouble.text()),
            }
        }
        Err(Unresolved(why))
    }

    /// A name's addresses; none when nobody knows any.
    pub(super) fn addresses(&self, network: &Network, name: &str) -> Vec<IpAddr> {
        let found = at_once(&[Rtype::A, Rtype::AAAA], |rtype| self.ask(network, name, *rtype));
        found.iter().flatten().flat_map(Reply::addresses).collect()
    }
}

/// Why the parent is not known.
#[derive(Debug)]
pub(super) struct Unresolved(pub(super) String);

/// Asks the parent's servers for a zone's NS and DS: the one that was named, or those that a resolver finds, at `port`.
///
/// Errors: the resolver could not say who they are.
pub(super) fn views(
    network: &Network,
    resolver: &Resolver,
    (named, port): (Option<SocketAddr>, u16),
    zone: &str,
) -> Result<Vec<View>, Unresolved> {
    let (parent, servers) = match named {
        Some(server) => (String::new(), vec![server]),
        None => servers_above(network, resolver, port, zone)?,
    };
    Ok(at_once(&servers, |&server| {
        let ask = |rtype| network.ask_whole(server, &Question::new(zone, rtype, Manner::Plain));
        let ns = ask(Rtype::NS);
        // A server that said nothing will say no more to the next question, and time is short.
        let ds = if ns.is_ok() { ask(Rtype::DS) } else { ns.clone() };
        View { server, parent: parent.clone(), ns, ds }
    }))
}

/// Walks up from the zone to the first name that has NS records.
fn servers_above(
    network: &Network,
    resolver: &Resolver,
    port: u16,
    zone: &str,
) -> Result<(String, Vec<SocketAddr>), Unresolved> {
    let name = Name::vec_from_str(zone).map_err(|_| Unresolved(format!("`{zone}` is no name")))?;
    for suffix in name.iter_suffixes().skip(1) {
        let parent = folded(&suffix.to_string());
        let parent = if parent.is_empty() { ".".to_owned() } else { parent };
        let reply = resolver.ask(network, &parent, Rtype::NS)?;
        let own = reply.answers.iter().filter(|record| record.owner == parent);
        let names: Vec<&str> = own.filter_map(|record| record.name_server()).take(MAX_NAMES).collect();
        if names.is_empty() {
            continue;
        }
        let found = at_once(&names, |name| resolver.addresses(network, name));
        let mut addresses: Vec<IpAddr> = found.into_iter().flatten().collect();
        // IPv4 first: a machine without IPv6 is commoner than one without IPv4.
        addresses.sort();
        addresses.dedup();
        addresses.truncate(MAX_SERVERS);
        if addresses.is_empty() {
            return Err(Unresolved(format!("no address is known for {}'s name servers", parent)));
        }
        let servers = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        return Ok((parent, servers));
    }
    Err(Unresolved("the resolver knows no zone above it".to_owned()))
}

/// The resolvers in the text of a resolv.conf.
fn listed(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| -> Option<SocketAddr> {
        let mut words = line.split_ascii_whitespace();
        let is_one = words.next() == Some("nameserver");
        let address: IpAddr = words.next().filter(|_| is_one)?.parse().ok()?;
        Some(SocketAddr::new(address, DNS_PORT))
    };
    text.lines().filter_map(address).take(MAX_RESOLVERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_three_resolvers_of_a_resolv_conf_are_used() {
        let text = "# nameserver 192.0.2.9\nsearch example.com\nnameserver 192.0.2.1\n  nameserver ::1 \n\
                    nameserver nonsense\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n";
        let found: Vec<String> = listed(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["192.0.2.1:53", "[::1]:53", "192.0.2.2:53"]);
    }
}
