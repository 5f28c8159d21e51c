//! The hot path by rule: what is asked, what is answered, decoded by a second implementation (hickory-proto).

use std::net::{Ipv4Addr, Ipv6Addr};

use hickory_proto::op::Message as Decoded;

use super::answer::{AnswerTable, HomeReply, Records, ServiceAnswers, Slot, TtlRule};
use super::cookie::{Secret, Secrets};
use super::zone::{BoundService, ZoneFile, Zones};
use super::*;
use crate::region::RegionId;
use crate::region::geo::{By, Network, Rules};

mod chaos;
mod cookies;
mod edns_options;
mod extended_errors;
mod header;
mod limits;
mod packets;
mod services;
mod size;
mod statics;

const ZONE: &str = include_str!("example.zone");

const SERVICES: [(&str, Kind); 5] = [
    ("www.gslb.example.com", Kind::Both),
    ("v4.gslb.example.com", Kind::V4),
    ("cdn.gslb.example.com", Kind::Alias),
    ("down.gslb.example.com", Kind::Failure),
    ("many.gslb.example.com", Kind::Many),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Both,
    V4,
    Alias,
    Failure,
    Many,
}

/// Two homes, cn (0) and eu (1), whose answers differ in the third byte of their addresses. The peer and every subnet
/// that the tests name have their home at `home`: they lie in networks of 22 bits.
fn view_at(home: usize) -> View {
    let networks = [("192.0.0.0", 22), ("2001:c00::", 22)]
        .map(|(addr, len)| (Network::around(addr.parse().unwrap(), len).unwrap(), region(home)));
    let elsewhere = region(usize::from(home == 0));
    view_with(&Rules { networks: networks.to_vec(), ..Rules::everybody(elsewhere) })
}

fn region(index: usize) -> RegionId {
    RegionId::new(index).unwrap()
}

fn view_with(rules: &Rules) -> View {
    let bound: Vec<BoundService> = SERVICES
        .iter()
        .map(|&(name, kind)| BoundService {
            name: name.to_owned(),
            line: 1,
            a: kind != Kind::Alias,
            aaaa: kind == Kind::Both,
            cname: kind == Kind::Alias,
        })
        .collect();
    let file = ZoneFile { path: "zones/gslb.example.com.zone".into(), text: ZONE.to_owned() };
    let (zones, _) = Zones::build(&[file], &bound).unwrap();
    View {
        zones: Arc::new(zones),
        geo: Arc::new(GeoTable::build(rules, None)),
        answers: AnswerTable::new(SERVICES.iter().map(|&(_, kind)| Arc::new(answers(kind))).collect()),
        settings: Arc::new(Settings {
            nsid: b"ns1".to_vec(),
            cookies: Some(Cookies { secrets: secrets(), unverified_udp: 1232 }),
            ..Settings::default()
        }),
    }
}

fn view() -> View {
    view_at(0)
}

fn answers(kind: Kind) -> ServiceAnswers {
    let reply = |home: u8| HomeReply {
        records: match kind {
            Kind::Both | Kind::V4 => Records::Addresses {
                v4: (1..=3).map(|n| Ipv4Addr::new(192, 0, home, n)).collect(),
                v6: (1..=2)
                    .filter(|_| kind == Kind::Both)
                    .map(|n| Ipv6Addr::new(0x2001, 0xdb8, home.into(), 0, 0, 0, 0, n))
                    .collect(),
            },
            Kind::Alias => Records::Cname(wire("edge.cdn.example.net")),
            Kind::Failure => Records::Servfail,
            Kind::Many => {
                let v4 = (0..100).map(|n| Ipv4Addr::new(198, 51, home, n)).collect();
                Records::Addresses { v4, v6: Vec::new() }
            }
        },
        ttl: TtlRule { ttl_s: 30, min_s: 5, deadline: Some(Mono(1_000_000)) },
        slot: Slot { mapped: 10 + u32::from(home), unmapped: 20 + u32::from(home) },
    };
    ServiceAnswers::encode(&[reply(0), reply(1)])
}

/// The secrets of RFC 9018's examples, the older one second.
fn secrets() -> Secrets {
    let secret = |number: u128| Secret::new(number.to_be_bytes());
    Secrets {
        first: secret(0x445536bcd2513298075a5d379663c962),
        second: Some(secret(0xe5e973e5a6b2a43f48e7dc849e37bfcf)),
    }
}

/// A name in wire form, letter case kept.
fn wire(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        wire.push(label.len() as u8);
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    wire
}

/// Names below the test zone may leave it out.
fn full(name: &str) -> String {
    if name.ends_with('.') { name.to_owned() } else { format!("{name}.gslb.example.com.") }
}

/// A query with id 0 and, if `opt` is given, an OPT record at its end.
fn query(name: &str, qtype: u16, opt: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(opt.is_some())];
    bytes.extend(wire(&full(name)));
    bytes.extend([qtype.to_be_bytes(), [0, 1]].concat());
    bytes.extend_from_slice(opt.unwrap_or_default());
    bytes
}

/// An OPT record with a payload of 4,096 bytes and these options.
fn opt(options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut data = Vec::new();
    for (code, value) in options {
        data.extend([code.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat());
        data.extend_from_slice(value);
    }
    [&[0, 0, 41, 0x10, 0, 0, 0, 0, 0][..], &(data.len() as u16).to_be_bytes(), &data].concat()
}

/// What came back.
struct Answer {
    bytes: Vec<u8>,
    decoded: Decoded,
    worker: Worker,
}

fn send_as(view: &View, transport: Transport, bytes: &[u8]) -> Option<Answer> {
    let mut worker = Worker::new();
    let mut out = vec![0xee; MAX_TCP_SIZE];
    let query = Query { bytes, peer: [192, 0, 2, 99].into(), transport, now: Mono(0), wall_s: 0 };
    let len = respond(view, &mut worker, query, &mut out);
    out.truncate(len);
    let decoded = (len > 0).then(|| Decoded::from_vec(&out).unwrap())?;
    Some(Answer { bytes: out, decoded, worker })
}

fn send(bytes: &[u8]) -> Answer {
    send_as(&view(), Transport::Udp, bytes).unwrap()
}

fn ask(name: &str, qtype: u16) -> Answer {
    send(&query(name, qtype, None))
}

impl Answer {
    fn code(&self) -> u8 {
        self.bytes[3] & 0x0f
    }

    fn aa(&self) -> bool {
        self.bytes[2] & 0x04 != 0
    }

    fn tc(&self) -> bool {
        self.bytes[2] & 0x02 != 0
    }

    fn answers(&self) -> Vec<String> {
        texts(&self.decoded.answers)
    }

    fn authorities(&self) -> Vec<String> {
        texts(&self.decoded.authorities)
    }

    fn additionals(&self) -> Vec<String> {
        texts(&self.decoded.additionals)
    }

    /// The OPT record behind its owner and type: it is the last one, and its length is what follows its options.
    fn opt(&self) -> Option<Opt> {
        let count: u16 = self.bytes[6..12].chunks(2).map(|c| u16::from_be_bytes([c[0], c[1]])).sum();
        let mut at = 12;
        if self.bytes[5] == 1 {
            at = name_end(&self.bytes, at) + 4;
        }
        for _ in 0..count {
            let head = name_end(&self.bytes, at);
            let len = u16::from_be_bytes([self.bytes[head + 8], self.bytes[head + 9]]) as usize;
            if self.bytes[head..head + 2] == [0, 41] {
                let mut rest = &self.bytes[head + 10..head + 10 + len];
                let mut options = Vec::new();
                while let [c0, c1, l0, l1, tail @ ..] = rest {
                    let (value, tail) = tail.split_at(u16::from_be_bytes([*l0, *l1]) as usize);
                    options.push((u16::from_be_bytes([*c0, *c1]), value.to_vec()));
                    rest = tail;
                }
                return Some(Opt { fixed: self.bytes[head + 2..head + 8].to_vec(), options });
            }
            at = head + 10 + len;
        }
        assert_eq!(at, self.bytes.len(), "nothing follows the last record");
        None
    }

    fn option(&self, code: u16) -> Option<Vec<u8>> {
        self.opt()?.options.into_iter().find(|(known, _)| *known == code).map(|(_, value)| value)
    }
}

struct Opt {
    /// Payload size, extended rcode, version, flags.
    fixed: Vec<u8>,
    options: Vec<(u16, Vec<u8>)>,
}

fn name_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes[at] {
            0 => return at + 1,
            len @ 1..=63 => at += 1 + usize::from(len),
            _ => return at + 2,
        }
    }
}

/// `owner ttl type data`, the zone's name left out of owners.
fn texts(records: &[hickory_proto::rr::Record]) -> Vec<String> {
    let text = |record: &hickory_proto::rr::Record| {
        let owner = record.name.to_string().replace(".gslb.example.com.", "");
        format!("{owner} {} {} {}", record.ttl, record.record_type(), record.data)
    };
    records.iter().map(text).collect()
}

const A: u16 = 1;
const NS: u16 = 2;
const CNAME: u16 = 5;
const SOA: u16 = 6;
const MX: u16 = 15;
const TXT: u16 = 16;
const AAAA: u16 = 28;
const DNAME: u16 = 39;
const DS: u16 = 43;
const HTTPS: u16 = 65;
const ANY: u16 = 255;
