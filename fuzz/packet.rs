//! A small world to ask questions in, and what the fuzzer and the tests do with a packet there.

#![allow(clippy::expect_used)] // A fixture: what fails here is the fixture.

#[path = "legal.rs"]
pub(crate) mod legal;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use waypost::dns::answer::{AnswerTable, HomeReply, Records, ServiceAnswers, Slot, TtlRule};
use waypost::dns::cookie::{Cookies, SECRET_LEN, Secret, Secrets};
use waypost::dns::zone::{BoundService, ZoneFile, Zones};
use waypost::dns::{MAX_TCP_SIZE, Query, Settings, Transport, View, Worker, respond};
use waypost::health::Mono;
use waypost::region::RegionId;
use waypost::region::geo::{GeoTable, Network, Rules};

const ZONE: &str = include_str!("../src/dns/tests/example.zone");

/// Answers `packet` over both transports. Panics when an answer is not a legal one.
pub(crate) fn fuzz_packet(view: &View, worker: &mut Worker, packet: &[u8]) {
    let mut out = [0; MAX_TCP_SIZE];
    for transport in [Transport::Udp, Transport::Tcp] {
        let len = ask(view, worker, packet, transport, &mut out);
        legal::assert_legal(packet, transport, &out[..len]);
    }
}

/// Answers `packet` into `out` and gives the answer's length.
pub(crate) fn ask(
    view: &View,
    worker: &mut Worker,
    packet: &[u8],
    transport: Transport,
    out: &mut [u8],
) -> usize {
    respond(view, worker, Query { bytes: packet, peer: peer(), transport, now: Mono(0), wall_s: 0 }, out)
}

/// Who asks.
pub(crate) fn peer() -> IpAddr {
    Ipv4Addr::new(192, 0, 2, 99).into()
}

/// A view with one zone, two regions, services of every kind; `generation` changes the services' addresses.
pub(crate) fn view(generation: u8) -> View {
    let services = ["www", "v4", "cdn", "down", "many"];
    let bound: Vec<BoundService> = services
        .iter()
        .map(|&name| BoundService {
            name: format!("{name}.gslb.example.com"),
            line: 1,
            a: name != "cdn",
            aaaa: name == "www",
            cname: name == "cdn",
        })
        .collect();
    let file = ZoneFile { path: "gslb.example.com.zone".into(), text: ZONE.to_owned() };
    let (zones, _) = Zones::build(&[file], &bound).expect("the zone is good");
    let answers = services.map(|name| Arc::new(answers(name, generation))).to_vec();
    view_of(zones, AnswerTable::new(answers))
}

/// A view with these zones and answers.
pub(crate) fn view_of(zones: Zones, answers: AnswerTable) -> View {
    let near = Network::around(Ipv4Addr::new(192, 0, 0, 0).into(), 22).expect("22 bits");
    let [home, elsewhere] = [0, 1].map(|index| RegionId::new(index).expect("two regions"));
    let rules = Rules { networks: vec![(near, home)], ..Rules::everybody(elsewhere) };
    View {
        zones: Arc::new(zones),
        geo: Arc::new(GeoTable::build(&rules, None)),
        answers,
        settings: Arc::new(Settings {
            max_udp_size: legal::MAX_UDP_SIZE,
            nsid: b"ns1".to_vec(),
            cookies: Some(Cookies { secrets: secrets(), unverified_udp: 1232 }),
            ..Settings::default()
        }),
    }
}

/// Two secrets that everybody knows.
fn secrets() -> Secrets {
    Secrets { first: Secret::new([1; SECRET_LEN]), second: Some(Secret::new([2; SECRET_LEN])) }
}

/// What a service of that name answers to the users of both regions.
pub(crate) fn answers(name: &str, generation: u8) -> ServiceAnswers {
    let reply = |home: u8| HomeReply {
        records: match name {
            "cdn" => Records::Cname(wire("edge.cdn.example.net.")),
            "down" => Records::Servfail,
            "many" => Records::Addresses {
                v4: (0..100).map(|n| Ipv4Addr::new(198, generation, home, n)).collect(),
                v6: Vec::new(),
            },
            _ => Records::Addresses {
                v4: (1..=2).map(|n| Ipv4Addr::new(192, generation, home, n)).collect(),
                v6: (1..=2)
                    .filter(|_| name == "www")
                    .map(|n| Ipv6Addr::new(0x2001, 0xdb8, home.into(), generation.into(), 0, 0, 0, n))
                    .collect(),
            },
        },
        ttl: TtlRule { ttl_s: 30, min_s: 5, deadline: None },
        slot: Slot { mapped: 1 + u32::from(home), unmapped: 3 + u32::from(home) },
    };
    ServiceAnswers::encode(&[reply(0), reply(1)])
}

/// A query; `subnet` is the data of a client subnet option, if there is to be one.
pub(crate) fn query(name: &str, qtype: u16, subnet: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(subnet.is_some())];
    bytes.extend(wire(name));
    bytes.extend([qtype.to_be_bytes(), [0, 1]].concat());
    if let Some(subnet) = subnet {
        let len = subnet.len() as u8;
        bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, len + 4, 0, 8, 0, len]);
        bytes.extend_from_slice(subnet);
    }
    bytes
}

/// A query with one option that has this code and data.
pub(crate) fn query_with(name: &str, qtype: u16, code: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = query(name, qtype, Some(data));
    let code_at = bytes.len() - data.len() - 3;
    bytes[code_at] = code;
    bytes
}

/// A cookie that is valid for [`peer`] at the wall clock's second 0.
pub(crate) fn cookie() -> Vec<u8> {
    let client = [7; 8];
    [&client[..], &secrets().make(client, peer(), 0)].concat()
}

/// A name in wire form.
pub(crate) fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut wire: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    wire.push(0);
    wire
}
