//! Random queries about random zones.

use std::fmt;

use super::name::{Name, draw_label};
use super::zones::World;
use crate::random::Random;

const CLASS_IN: u16 = 1;

/// Types asked for, by how often.
const TYPES: [(usize, u16); 29] = [
    (200, 1),     // A
    (100, 28),    // AAAA
    (80, 2),      // NS
    (50, 6),      // SOA
    (60, 15),     // MX
    (80, 16),     // TXT
    (60, 5),      // CNAME
    (40, 39),     // DNAME
    (60, 43),     // DS
    (30, 33),     // SRV
    (20, 12),     // PTR
    (20, 257),    // CAA
    (20, 65),     // HTTPS
    (20, 64),     // SVCB
    (20, 65_280), // private use
    (10, 999),    // unassigned
    (10, 255),    // ANY
    (4, 46),      // RRSIG
    (4, 48),      // DNSKEY
    (4, 47),      // NSEC
    (4, 0),       // reserved
    (4, 65_535),  // reserved
    (1, 41),      // OPT
    (1, 249),     // TKEY
    (1, 250),     // TSIG
    (2, 251),     // IXFR
    (2, 252),     // AXFR
    (1, 253),     // MAILB
    (1, 254),     // MAILA
];

/// A query's EDNS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edns {
    pub(super) payload: u16,
    pub(super) dnssec_ok: bool,
    pub(super) version: u8,
}

/// A query.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) name: Name,
    pub(super) qtype: u16,
    pub(super) qclass: u16,
    pub(super) recursion_desired: bool,
    pub(super) edns: Option<Edns>,
}

impl Query {
    pub(super) fn draw(random: &mut Random, world: &World) -> Self {
        let edns = random.chance(60).then(|| Edns {
            payload: *random.pick(&[0, 511, 512, 600, 1231, 1232, 1233, 4096, 65_535]),
            dnssec_ok: random.chance(40),
            version: u8::from(random.chance(1)),
        });
        let (name, qtype) = if random.chance(40) {
            draw_set(random, world)
        } else if random.chance(1) {
            (draw_name(random, world), random.below(65_536) as u16)
        } else {
            (draw_name(random, world), random.weighted(&TYPES))
        };
        Self {
            name: name.in_any_case(random),
            qtype,
            qclass: random.weighted(&[(985, CLASS_IN), (5, 3), (3, 4), (3, 254), (2, 255), (2, 77)]),
            recursion_desired: random.chance(50),
            edns,
        }
    }

    pub(super) fn to_wire(&self, id: u16) -> Vec<u8> {
        let mut bytes = id.to_be_bytes().to_vec();
        let flags = u8::from(self.recursion_desired);
        bytes.extend([flags, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(self.edns.is_some())]);
        bytes.extend(self.question());
        if let Some(edns) = self.edns {
            bytes.extend([0, 0, 41]);
            bytes.extend(edns.payload.to_be_bytes());
            bytes.extend([0, edns.version, u8::from(edns.dnssec_ok) << 7, 0, 0, 0]);
        }
        bytes
    }

    /// The question section.
    pub(super) fn question(&self) -> Vec<u8> {
        [&self.name.0[..], &self.qtype.to_be_bytes(), &self.qclass.to_be_bytes()].concat()
    }

    /// Largest answer over UDP, in bytes, when the server itself stops at `max` (RFC 6891 6.2.3).
    pub(super) fn udp_limit(&self, max: u16) -> usize {
        self.edns.map_or(512, |edns| edns.payload.clamp(512, max)).into()
    }
}

/// Name and type of data that is there, be it by a wildcard.
fn draw_set(random: &mut Random, world: &World) -> (Name, u16) {
    let (owner, rtype) = random.pick(&world.sets).clone();
    let mut name = owner.clone();
    if owner.is_wildcard() && random.chance(80) {
        name = owner.parent().unwrap_or(owner);
        for _ in 0..1 + random.below(2) {
            name = name.child(&draw_label(random)).unwrap_or(name);
        }
    }
    (name, rtype)
}

/// A name that is there, or one in its neighbourhood.
fn draw_name(random: &mut Random, world: &World) -> Name {
    let base = match random.below(100) {
        0..8 => random.pick(&world.cuts),
        8..16 if !world.dnames.is_empty() => return below_dname(random, world),
        16..20 => random.pick(&world.apexes),
        _ => random.pick(&world.names),
    };
    let drawn = match random.below(100) {
        0..40 => Some(base.clone()),
        40..55 => up(base, 1 + random.below(2)),
        55..75 => base.child(&draw_label(random)),
        75..83 => base.child(&draw_label(random)).and_then(|name| name.child(&draw_label(random))),
        83..92 => base.parent().and_then(|above| above.child(&draw_label(random))),
        92..96 => base.child(b"*"),
        _ => up(base, 1 + random.below(3)).and_then(|above| above.child(&draw_label(random))),
    };
    drawn.unwrap_or_else(|| base.clone())
}

fn up(name: &Name, labels: usize) -> Option<Name> {
    (0..labels).try_fold(name.clone(), |name, _| name.parent())
}

/// One to many labels below a DNAME; sometimes so many that the substitution is too long.
fn below_dname(random: &mut Random, world: &World) -> Name {
    let mut name = random.pick(&world.dnames).clone();
    let long = random.chance(25);
    for _ in 0..if long { 8 } else { 1 + random.below(3) } {
        let label = if long { vec![b'o'; 10 + random.below(50)] } else { draw_label(random) };
        let Some(below) = name.child(&label) else { break };
        name = below;
    }
    name
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} CLASS{} TYPE{}", self.name.written(), self.qclass, self.qtype)?;
        match self.edns {
            Some(Edns { payload, dnssec_ok, version }) => {
                write!(f, " EDNS version {version} payload {payload}{}", if dnssec_ok { " do" } else { "" })
            }
            None => Ok(()),
        }
    }
}
