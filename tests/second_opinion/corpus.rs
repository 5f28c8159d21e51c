//! The well-formed queries: every name, existing and not, by types, EDNS, flags, letter case.

use std::fmt;

use crate::query::{Edns, Query, hex, wire};
use crate::zones::Zone;

/// Options by their code.
pub(crate) const NSID: u16 = 3;
pub(crate) const SUBNET: u16 = 8;
pub(crate) const COOKIE: u16 = 10;
pub(crate) const KEEPALIVE: u16 = 11;
pub(crate) const PADDING: u16 = 12;

/// Types that names are asked for: those in the zones, those that are special, one that nobody knows.
const TYPES: [u16; 22] =
    [1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 39, 43, 52, 64, 65, 250, 251, 252, 255, 257, 65_280, 65_535];

/// Names that are asked for everything, in every way.
const CLOSELY: [&str; 14] = [
    "www.gslb.example.com",
    "many.gslb.example.com",
    "cdn.gslb.example.com",
    "down.gslb.example.com",
    "to-www.gslb.example.com",
    "gslb.example.com",
    "nothing.gslb.example.com",
    "x.wild.gslb.example.com",
    "host.sub.gslb.example.com",
    "www.moved.gslb.example.com",
    "huge.gslb.example.com",
    "big.gslb.example.com",
    "a.b.c.big.gslb.example.com",
    "www.example.org",
];

/// Names whose queries come in every opcode and class.
const SHAPED: [&str; 4] =
    ["www.gslb.example.com", "gslb.example.com", "nothing.gslb.example.com", "example.org"];

/// A query of the corpus.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) id: u16,
    pub(crate) query: Query,
}

impl Case {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.query.bytes(self.id)
    }

    /// The longest answer over UDP that this client, and the servers of this test, allow (RFC 6891 6.2.3).
    pub(crate) fn udp_limit(&self) -> usize {
        self.query.edns.as_ref().map_or(512, |edns| edns.payload.clamp(512, 1232)).into()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.bytes()))
    }
}

/// All of them.
pub(crate) fn cases(zones: &[Zone]) -> Vec<Case> {
    let ways = ways();
    let mut queries = Vec::new();
    let mut turn = 0;
    for name in names(zones) {
        for qtype in TYPES {
            // Each question in one of the ways: over all questions, each way is taken hundreds of times.
            let way: &Way = &ways[turn % ways.len()];
            queries.push(way.query(&name, qtype, Letters::of(turn / ways.len())));
            turn += 1;
        }
    }
    for name in CLOSELY.map(wire) {
        for qtype in TYPES {
            queries.extend(ways.iter().map(|way| way.query(&name, qtype, Letters::Mixed)));
        }
    }
    queries.extend(shapes());
    queries.into_iter().enumerate().map(|(index, query)| Case { id: index as u16, query }).collect()
}

/// Every owner of the zones, a name below each, and names at the limits of what a name can be.
fn names(zones: &[Zone]) -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for owner in zones.iter().flat_map(|zone| &zone.names) {
        let owner = wire(owner);
        let below = [&[1, b'x'][..], &owner].concat();
        names.extend([owner, below].into_iter().filter(|name| name.len() <= 255));
    }
    names.push(vec![0]);
    names.push(wire(&format!("{}.gslb.example.com", "l".repeat(63))));
    names.push(wire(r"\000\255\.\032.gslb.example.com"));
    for end in
        ["gslb.example.com", "moved.gslb.example.com", "x.wild.gslb.example.com", "sub.gslb.example.com"]
    {
        names.push(longest(&wire(end)));
    }
    names
}

/// A name of 255 bytes that ends so.
fn longest(end: &[u8]) -> Vec<u8> {
    let mut name = Vec::new();
    while name.len() + end.len() < 255 {
        let left = 255 - end.len() - name.len();
        // A label takes at least two bytes: the last but one leaves room for the last.
        let label = if left == 65 { 62 } else { (left - 1).min(63) };
        name.push(label as u8);
        name.extend(std::iter::repeat_n(b'n', label));
    }
    name.extend_from_slice(end);
    assert_eq!(name.len(), 255);
    name
}

/// What of a query is neither name nor type.
#[derive(Clone, Debug)]
struct Way {
    flags: u16,
    edns: Option<Edns>,
}

impl Way {
    fn query(&self, name: &[u8], qtype: u16, case: Letters) -> Query {
        Query { name: case.applied(name), qtype, qclass: 1, flags: self.flags, edns: self.edns.clone() }
    }
}

fn ways() -> Vec<Way> {
    const DO: u32 = 0x8000;
    let plain = [0, 0x0100, 0x0130, 0x0040, 0x0680].map(|flags| Way { flags, edns: None });
    let edns = |payload, version_flags, options: &[(u16, Vec<u8>)]| Way {
        flags: 0x0100,
        edns: Some(Edns { payload, version_flags, options: options.to_vec() }),
    };
    let mut ways: Vec<Way> = plain.into();
    ways.extend([0, 512, 700, 1232, 4096, 65_535].map(|payload| edns(payload, 0, &[])));
    ways.push(edns(1232, DO, &[]));
    ways.push(edns(4096, DO | 0x4001, &[])); // undefined flags beside it
    ways.push(edns(1232, 0x0001_0000, &[])); // EDNS version 1
    ways.push(edns(1232, 0x00ff_0000 | DO, &[(SUBNET, vec![0, 1, 24, 0, 8, 8, 8])]));
    ways.extend(subnets().into_iter().map(|subnet| edns(1232, 0, &[(SUBNET, subnet)])));
    ways.push(edns(512, DO, &[(SUBNET, vec![0, 1, 24, 0, 192, 0, 2]), (NSID, vec![])]));
    ways.push(edns(1232, 0, &[(SUBNET, vec![0, 1, 24, 0, 192, 0, 2]), (SUBNET, vec![0, 1, 8, 0, 8])]));
    ways.push(edns(1232, 0, &[(NSID, vec![])]));
    ways.push(edns(1232, 0, &[(COOKIE, vec![1, 2, 3, 4, 5, 6, 7, 8])]));
    ways.push(edns(1232, 0, &[(COOKIE, (1..=24).collect()), (NSID, vec![])]));
    ways.push(edns(1232, 0, &[(KEEPALIVE, vec![])]));
    ways.push(edns(1232, 0, &[(PADDING, vec![0; 31])]));
    ways.push(edns(1232, 0, &[(65_001, vec![1, 2, 3]), (15, vec![]), (0, vec![]), (65_535, vec![9])]));
    ways
}

/// Client subnets of every kind: addresses in either family, long and short, none at all, mapped, private.
fn subnets() -> Vec<Vec<u8>> {
    let v6 = |source: u8, bytes: &[u8]| [&[0, 2, source, 0], bytes].concat();
    let mapped = [&[0; 10][..], &[0xff, 0xff, 192, 0, 2]].concat();
    vec![
        vec![0, 1, 0, 0],
        vec![0, 1, 1, 0, 0x80],
        vec![0, 1, 20, 0, 192, 0, 0],
        vec![0, 1, 24, 0, 192, 0, 2],
        vec![0, 1, 32, 0, 192, 0, 3, 255],
        vec![0, 1, 24, 0, 114, 114, 114],
        vec![0, 1, 8, 0, 10],
        v6(0, &[]),
        v6(56, &[0x20, 1, 0x0d, 0xb8, 1, 2, 3]),
        v6(128, &[0x20, 1, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        v6(120, &mapped),
        v6(48, &[0x20, 2, 192, 0, 2, 1]),
    ]
}

/// Queries of other opcodes and classes.
fn shapes() -> Vec<Query> {
    let mut queries = Vec::new();
    for name in SHAPED.map(wire) {
        for way in ways() {
            for opcode in 1..16 {
                let flags = way.flags | opcode << 11;
                queries.push(Query { flags, ..way.query(&name, 6, Letters::AsIs) });
            }
            for qclass in [0, 2, 3, 4, 254, 255, 65_535] {
                queries.push(Query { qclass, ..way.query(&name, 16, Letters::Upper) });
            }
        }
    }
    queries
}

/// How letters are written.
#[derive(Clone, Copy, Debug)]
enum Letters {
    AsIs,
    Upper,
    Mixed,
}

impl Letters {
    fn of(turn: usize) -> Self {
        [Self::AsIs, Self::Upper, Self::Mixed][turn % 3]
    }

    /// Lengths are below the letters, so the wire form can be taken as it is.
    fn applied(self, name: &[u8]) -> Vec<u8> {
        let upper = |at: usize| match self {
            Self::AsIs => false,
            Self::Upper => true,
            Self::Mixed => at % 3 == 1,
        };
        let letter = |(at, byte): (usize, &u8)| if upper(at) { byte.to_ascii_uppercase() } else { *byte };
        name.iter().enumerate().map(letter).collect()
    }
}
