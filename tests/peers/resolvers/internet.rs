//! A small internet: a root, the zones between, and Waypost with the shipped configuration at the end of a delegation.

use std::net::Ipv4Addr;

use super::programs::{Resolver, Way};
use super::watcher::Watcher;
use crate::harness::{ADMIN_PORT, DNS_PORT, Site};
use crate::servers::{Place, Server, ZoneText};

/// What the shipped zone has not: an alias of an alias, aliases that leave, renamed trees, a deep name, a wildcard
/// alias, an answer that needs TCP.
const MORE: &str = "
first   CNAME second
second  CNAME third
third   CNAME www
away    CNAME static.example.com.
nowhere CNAME missing
tree    DNAME preview
twin    DNAME gslb.example.com.
host.of.a.deep.tree2 A 192.0.2.90
*.any   CNAME www
";

const PROJECT: &str = env!("CARGO_MANIFEST_DIR");

/// All servers, each on its own address, and the two resolvers.
pub(super) struct Internet {
    pub(super) waypost: Site,
    pub(super) unbound: Resolver,
    pub(super) kresd: Resolver,
    /// Name server of `lab`, which Waypost delegates.
    pub(super) lab: Server,
    /// Before another zone of Waypost's, `seen.example.com`.
    pub(super) watcher: Watcher,
    _above: [Server; 3],
}

impl Internet {
    /// Everything runs when this returns. Both resolvers are at home in `home`.
    pub(super) fn start(home: &str, ttl: &str) -> Self {
        let [root, com, example, lab, seen, unbound, kresd] = [(); 7].map(|()| Place::delegable());
        let waypost = shipped(&[lab.ip, seen.ip], home, ttl, &[unbound.ip, kresd.ip]);
        let above = [
            Server::nsd_at(
                root,
                &[zone_with_server("", "ns.root-server", root.ip, &delegation("com", com.ip))],
            ),
            Server::knot_at(
                com,
                &[zone_with_server("com", "ns", com.ip, &delegation("example", example.ip))],
            ),
            Server::nsd_at(example, &[example_com(example.ip, waypost.ip, seen.ip)]),
        ];
        let names = "@ TXT \"lab\"\nhost A 192.0.2.70\n*.wild A 192.0.2.71\n";
        Self {
            watcher: Watcher::start(seen.ip, waypost.ip),
            waypost,
            unbound: Resolver::unbound(unbound.ip, &Way::Root(root.ip)),
            kresd: Resolver::kresd(kresd.ip, root.ip),
            lab: Server::knot_at(lab, &[zone_with_server("lab.gslb.example.com", "ns", lab.ip, names)]),
            _above: above,
        }
    }

    pub(super) fn resolvers(&self) -> [&Resolver; 2] {
        [&self.unbound, &self.kresd]
    }
}

/// Waypost with the shipped files, where a delegation leads to.
fn shipped(&[lab, seen]: &[Ipv4Addr; 2], home: &str, ttl: &str, resolvers: &[Ipv4Addr]) -> Site {
    let site = Site::new();
    let ip = site.ip;
    let networks: Vec<String> = resolvers.iter().map(|ip| format!("\"{ip}/32\"")).collect();
    let table = format!("[regions.{home}]\n");
    let config = replaced(
        &std::fs::read_to_string(format!("{PROJECT}/waypost.toml")).unwrap(),
        &[
            ("[\"127.0.0.1:5300\"]", &format!("[\"{ip}:{DNS_PORT}\", \"{ip}:53\"]")),
            ("listen = \"127.0.0.1:8953\"", &format!("listen = \"{ip}:{ADMIN_PORT}\"")),
            ("geoip/dbip-country.mmdb", &format!("{PROJECT}/geoip/dbip-country.mmdb")),
            (&table, &format!("{table}networks = [{}]\n", networks.join(", "))),
            ("ttl      = \"30s\"", &format!("ttl      = \"{ttl}\"")),
        ],
    );
    site.write("waypost.toml", &config);
    let zone = replaced(
        &std::fs::read_to_string(format!("{PROJECT}/zones/gslb.example.com.zone")).unwrap(),
        &[
            ("ns1     A       192.0.2.53", &format!("ns1 A {ip}")),
            ("ns2     A       198.51.100.53", &format!("ns2 A {ip}")),
            ("ns.lab  A       203.0.113.53", &format!("ns.lab A {lab}")),
        ],
    );
    let large: String = (0..20).map(|line| format!("large TXT \"{line:0>100}\"\n")).collect();
    site.write("zones/gslb.example.com.zone", &format!("{zone}{MORE}{large}"));
    let seen = zone_with_server("seen.example.com", "ns", seen, "host.far.down A 192.0.2.91\n");
    site.write("zones/seen.example.com.zone", &seen.text);
    site.started()
}

/// The text with each part, which must be there, replaced.
fn replaced(text: &str, parts: &[(&str, &str)]) -> String {
    parts.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "the shipped file has no `{old}` any more");
        text.replace(old, new)
    })
}

fn example_com(ip: Ipv4Addr, waypost: Ipv4Addr, seen: Ipv4Addr) -> ZoneText {
    let names = format!(
        "static A 192.0.2.60\ngslb NS ns1.gslb\ngslb NS ns2.gslb\nns1.gslb A {waypost}\nns2.gslb A {waypost}\n{}",
        delegation("seen", seen)
    );
    zone_with_server("example.com", "ns", ip, &names)
}

/// A zone with one name server and these records.
fn zone_with_server(apex: &str, server: &str, ip: Ipv4Addr, records: &str) -> ZoneText {
    let text = format!(
        "$ORIGIN {apex}.\n$TTL 3600\n@ SOA {server} hostmaster 1 3600 900 604800 30\n@ NS {server}\n{server} A {ip}\n{records}"
    );
    ZoneText { apex: apex.to_owned(), text }
}

/// A name below the zone, and the address of its server `ns` as glue.
fn delegation(name: &str, ip: Ipv4Addr) -> String {
    format!("{name} NS ns.{name}\nns.{name} A {ip}\n")
}
