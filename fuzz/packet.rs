//! A small world to ask questions in, and what the fuzzer and the tests do with a packet there.

#![allow(clippy::expect_used)] // A fixture: what fails here is the fixture.

#[path = "legal.rs"]
pub(crate) mod legal;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use waypost::dns::answer::{AnswerTable, HomeReply, Records, ServiceAnswers, Slot, TtlRule};
use waypost::dns::cookie::{Cookies, SECRET_LEN, Secret, Secrets};
use waypost::dns::zone::{BoundService, ZoneFile, Zones};
use waypost::dns::{MAX_TCP_SIZE, Query, Settings, Transport, View, Worker, limit, respond};
use waypost::health::Mono;
use waypost::region::RegionId;
use waypost::region::geo::{GeoTable, Network, Rules};

use legal::{MAX_UDP_SIZE, Setup};

/// Option codes (IANA, "DNS EDNS0 Option Codes").
pub(crate) const SUBNET: u16 = 8;
pub(crate) const COOKIE: u16 = 10;

const ZONE: &str = include_str!("../src/dns/tests/example.zone");

/// Names of the services in the zone, by index.
const SERVICES: [&str; 5] = ["www", "v4", "cdn", "down", "many"];

/// Oldest cookie that is valid, and how far a cookie's time may lie ahead, in seconds (RFC 9018 4.3).
const COOKIE_AGES_S: RangeInclusive<i32> = -300..=3600;

/// A view, and who answers from it as the operator set.
pub(crate) struct World {
    pub(crate) setup: Setup,
    view: View,
    worker: Worker,
    udp: Vec<u8>,
    tcp: Vec<u8>,
}

impl World {
    /// The small world.
    pub(crate) fn new(setup: Setup) -> Self {
        Self::of(view(0), setup)
    }

    /// Every one there is of the small world.
    pub(crate) fn all() -> [Self; 3] {
        Setup::ALL.map(Self::new)
    }

    /// Another view, with these settings in place of its own.
    pub(crate) fn of(view: View, setup: Setup) -> Self {
        let settings = Arc::new(settings(setup));
        let [udp, tcp] = [MAX_UDP_SIZE.into(), MAX_TCP_SIZE].map(|len| vec![0; len]);
        let mut world = Self { setup, view: View { settings, ..view }, worker: Worker::new(), udp, tcp };
        if setup.limited {
            world.worker = Worker::limiting(Arc::new(limit::Table::new([1, 2, 3, 4])));
            // One answer uses up what there is, and no time passes.
            world.answer(&query("www.gslb.example.com", 1, None), Transport::Udp);
        }
        world
    }

    /// What `packet` is answered; empty: nothing.
    pub(crate) fn answer(&mut self, packet: &[u8], transport: Transport) -> &[u8] {
        let out = match transport {
            Transport::Udp => &mut self.udp,
            Transport::Tcp => &mut self.tcp,
        };
        let query = Query { bytes: packet, peer: peer(), transport, now: Mono(0), wall_s: 0 };
        let len = respond(&self.view, &mut self.worker, query, out);
        &out[..len]
    }

    /// What `packet` is answered over UDP and over TCP.
    pub(crate) fn answers(&mut self, packet: &[u8]) -> [&[u8]; 2] {
        let [udp, tcp] =
            [Transport::Udp, Transport::Tcp].map(|transport| self.answer(packet, transport).len());
        [&self.udp[..udp], &self.tcp[..tcp]]
    }

    /// The rcodes of the answers over UDP and TCP, 0 for silence. Panics when one is not a legal answer.
    pub(crate) fn rcodes(&mut self, packet: &[u8]) -> [u16; 2] {
        let setup = self.setup;
        let [udp, tcp] = self.answers(packet);
        legal::assert_legal(setup, packet, udp, tcp)
    }
}

/// Asks in every world. Panics when an answer is not a legal one.
pub(crate) fn fuzz_packet(worlds: &mut [World], packet: &[u8]) {
    for world in worlds {
        world.rcodes(packet);
    }
}

/// Who asks.
pub(crate) fn peer() -> IpAddr {
    Ipv4Addr::new(192, 0, 2, 99).into()
}

/// A view with one zone, two regions, services of every kind; `generation` changes the services' addresses.
pub(crate) fn view(generation: u8) -> View {
    view_with("", generation)
}

/// The same with more lines in the zone.
pub(crate) fn view_with(lines: &str, generation: u8) -> View {
    let file = ZoneFile { path: "gslb.example.com.zone".into(), text: format!("{ZONE}{lines}") };
    let (zones, _) = Zones::build(&[file], &bound_services()).expect("the zone is good");
    let answers = SERVICES.map(|name| Arc::new(answers(name, generation))).to_vec();
    view_of(zones, AnswerTable::new(answers))
}

/// The services as zones bind them.
pub(crate) fn bound_services() -> Vec<BoundService> {
    let bound = |name| BoundService {
        name: format!("{name}.gslb.example.com"),
        line: 1,
        a: name != "cdn",
        aaaa: name == "www",
        cname: name == "cdn",
    };
    SERVICES.map(bound).to_vec()
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
        settings: Arc::new(settings(Setup::ORDINARY)),
    }
}

fn settings(setup: Setup) -> Settings {
    Settings {
        max_udp_size: MAX_UDP_SIZE,
        nsid: b"ns1".to_vec(),
        ecs: setup.ecs,
        cookies: Some(Cookies { secrets: secrets(), unverified_udp: setup.unverified_udp }),
        rate_limit: setup.limited.then(|| limit::Rule::new(1, 1, false, &[])),
        ..Settings::default()
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
        bytes.extend(opt(SUBNET, subnet));
    }
    bytes
}

/// A query with one option that has this code and data.
pub(crate) fn query_with(name: &str, qtype: u16, code: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = query(name, qtype, None);
    bytes[11] = 1;
    bytes.extend(opt(code, data));
    bytes
}

/// Nothing but a cookie option: a query without a question (RFC 7873 5.4).
pub(crate) fn fetch(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    bytes.extend(opt(COOKIE, data));
    bytes
}

/// An OPT record with one option.
fn opt(code: u16, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u16;
    let option = [(len + 4).to_be_bytes(), code.to_be_bytes(), len.to_be_bytes()].concat();
    [&[0, 0, 41, 4, 208, 0, 0, 0, 0][..], &option, data].concat()
}

/// A cookie that is valid for [`peer`] at the wall clock's second 0.
pub(crate) fn cookie() -> Vec<u8> {
    let client = [7; 8];
    [&client[..], &secrets().make(client, peer(), 0)].concat()
}

/// Whether a cookie option was made for [`peer`] with a secret of ours, lately.
fn is_valid_cookie(data: &[u8]) -> bool {
    let Some((&client, server)) = data.split_first_chunk::<8>() else { return false };
    let Some(Ok(time)) = server.get(4..8).map(<[u8; 4]>::try_from) else { return false };
    let time_s = u32::from_be_bytes(time);
    let Secrets { first, second } = secrets();
    let is_by = |first| Secrets { first, second: None }.make(client, peer(), time_s) == server;
    COOKIE_AGES_S.contains(&0_i32.wrapping_sub(time_s as i32)) && (is_by(first) || second.is_some_and(is_by))
}

/// A name in wire form.
pub(crate) fn wire(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut wire: Vec<u8> =
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    wire.push(0);
    wire
}
