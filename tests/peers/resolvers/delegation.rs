//! Every name of the zone, found from the root down.

use std::collections::BTreeSet;

use hickory_proto::rr::RecordType;

use super::internet::Internet;
use super::port_53::where_port_53_is_ours;
use super::programs::Resolver;
use crate::harness::{Answer, exchange_from, query_bytes, tcp_exchange};

const ZONE: &str = "gslb.example.com";

/// Types asked of every name: A, NS, CNAME, SOA, MX, TXT, AAAA, SRV, DNAME, HTTPS, CAA, and one that nobody knows.
const TYPES: [u16; 12] = [1, 2, 5, 6, 15, 16, 28, 33, 39, 65, 257, 65280];

/// Names that no line of the zone file has: services, what wildcards and DNAMEs stand for, empty non-terminals,
/// names of the delegated zone, names that do not exist.
const OTHER_NAMES: [&str; 24] = [
    "www",
    "api",
    "any.preview",
    "a.b.c.preview",
    "preview",
    "_tcp",
    "x.tree",
    "x.y.tree",
    "www.twin",
    "static.twin",
    "shop.twin",
    "missing.twin",
    "one.any",
    "a.deep.tree2",
    "tree2",
    "host.lab",
    "x.wild.lab",
    "missing.lab",
    "ns.missing.lab",
    "missing",
    "a.b.missing",
    "x.www",
    "x.static",
    "WWW",
];

#[test]
fn unbound_and_knot_resolver_find_every_name_from_the_root_down_with_the_answer_that_waypost_gives() {
    where_port_53_is_ours(
        "resolvers::delegation::unbound_and_knot_resolver_find_every_name_from_the_root_down_with_the_answer_that_waypost_gives",
        || {
            let mut internet = Internet::start("cn", "30s");
            let names = names(&internet.waypost.read("zones/gslb.example.com.zone"));
            assert!(names.len() > 35, "{names:?}");
            for resolver in internet.resolvers() {
                for (name, qtype) in names.iter().flat_map(|name| TYPES.map(|qtype| (name, qtype))) {
                    check(&internet, resolver, name, qtype);
                }
                let outside = resolver.ask(&format!("away.{ZONE}"), 1).expect("an answer");
                assert_eq!(
                    outside.addresses(),
                    ["192.0.2.60"],
                    "{}: an alias out of the zone",
                    resolver.name
                );
            }
            check_how_they_asked(&mut internet);
        },
    );
}

/// Owners of the zone file, and those that it has not.
fn names(zone: &str) -> BTreeSet<String> {
    let owners = zone
        .lines()
        .filter_map(|line| line.split_whitespace().next().filter(|_| !line.starts_with([' ', '\t'])));
    owners
        .filter(|owner| !owner.starts_with([';', '$', '@']) && *owner != "away")
        .chain(OTHER_NAMES)
        .map(|name| format!("{name}.{ZONE}"))
        .chain([ZONE.to_owned()])
        .collect()
}

fn check(internet: &Internet, resolver: &Resolver, name: &str, qtype: u16) {
    let query = query_bytes(name, qtype, None);
    let delegated = name.ends_with("lab.gslb.example.com");
    // The decision is by the resolver's address: so ask from there.
    let server = if delegated { internet.lab.ip } else { internet.waypost.ip };
    let direct = match exchange_from(resolver.ip, server, &query) {
        Some(Answer(message)) if message.truncation => tcp_exchange(server, &query),
        answer => answer,
    };
    let direct = direct.expect("the server answers");
    let found =
        resolver.ask(name, qtype).unwrap_or_else(|| panic!("{}: no answer to {name} {qtype}", resolver.name));
    let found =
        if found.0.truncation { tcp_exchange(resolver.ip, &query).expect("an answer") } else { found };
    let what = format!("{}: {name} {}", resolver.name, RecordType::from(qtype));
    assert!(direct.0.authoritative, "{what}: {direct:?}");
    assert_eq!(found.0.response_code, direct.0.response_code, "{what}\n{found:?}\n{direct:?}");
    assert_eq!(records(&found), records(&direct), "{what}\n{found:?}\n{direct:?}");
    let most = direct.0.answers.iter().map(|record| record.ttl).max();
    assert!(found.0.answers.iter().map(|record| record.ttl).max() <= most, "{what}: {found:?}");
}

/// The answer's records as text, without TTL, in no order.
fn records(answer: &Answer) -> BTreeSet<String> {
    let records = answer.0.answers.iter();
    records.map(|record| format!("{} {}", record.name.to_lowercase(), record.data)).collect()
}

/// That both were as strict as they were told to be: by what arrived, and since nothing made them give up.
fn check_how_they_asked(internet: &mut Internet) {
    let name = "host.far.down.seen.example.com";
    for resolver in internet.resolvers() {
        let _ = internet.watcher.take_names();
        assert_eq!(resolver.ask(name, 1).expect("an answer").addresses(), ["192.0.2.91"]);
        let arrived = internet.watcher.take_names();
        let first = |name: &str| arrived.iter().position(|arrived| arrived.eq_ignore_ascii_case(name));
        // Knot Resolver stops to hide labels below a name that is no zone.
        let (step, whole) = (first("down.seen.example.com."), first("host.far.down.seen.example.com."));
        assert!(step.is_some() && step < whole, "{} hides labels at first: {arrived:?}", resolver.name);
        let letters = || arrived.iter().flat_map(|name| name.chars());
        assert!(
            letters().any(|letter| letter.is_ascii_uppercase())
                && letters().any(|letter| letter.is_ascii_lowercase()),
            "{} asks with letters of both cases: {arrived:?}",
            resolver.name
        );
    }
    let unbound = internet.unbound.log();
    assert!(unbound.contains("qname perturbed to"), "its log is in detail");
    let failed = |line: &&str| line.contains("wrong 0x20-ID") || line.contains("Capsforid");
    assert_eq!(unbound.lines().find(failed), None, "Unbound got letters back that it had not sent");
    let kresd = internet.kresd.log();
    let failed = |line: &&str| {
        line.contains("ignoring mismatching")
            || (line.contains("selection error") && !line.ends_with("TRUNCATED"))
    };
    assert!(kresd.contains("querying: "), "its log is in detail");
    assert_eq!(kresd.lines().find(failed), None, "Knot Resolver got what it did not expect");
    let large = "waypost_dns_queries_total{proto=\"tcp\",family=\"ipv4\",qtype=\"TXT\"}";
    assert!(
        internet.waypost.metric(large) >= Some(4.0),
        "what is large comes over TCP, to the resolvers and to this test"
    );
}
