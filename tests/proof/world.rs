//! A small world to prove things in: three regions, services of every kind, a zone, clients with known homes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use hickory_proto::op::Message;
use hickory_proto::rr::{RData, RecordType};
use waypost::control::Now;
use waypost::control::plan::{Check, EndpointPlan, Plan, RegionPlan, ServicePlan};
use waypost::control::publish::{DnsParts, wire_name};
use waypost::dns::zone::{BoundService, ZoneFile, Zones};
use waypost::dns::{MAX_TCP_SIZE, Query, Settings, Transport, View, Worker, respond};
use waypost::health::{Impact, Mono};
use waypost::region::geo::{GeoTable, Network, Rules, Subnet};
use waypost::region::{AllDown, RegionId};

pub(crate) const ZONE: &str = "gslb.example.com";
pub(crate) const REGIONS: [&str; 3] = ["cn", "eu", "us"];

/// The start of every test's day, in milliseconds since 1970.
pub(crate) const MORNING_MS: i64 = 1_796_083_200_000;

/// A service of the world: what it is called and what it is like.
#[derive(Clone, Debug)]
pub(crate) struct ServiceSpec {
    pub(crate) name: &'static str,
    pub(crate) all_down: AllDown,
    pub(crate) up_share: f64,
    /// Where it is, with how many addresses of each family; none of both: an alias.
    pub(crate) regions: Vec<(&'static str, u8)>,
    pub(crate) v4: bool,
    pub(crate) v6: bool,
    /// Whether it requires `web` of each endpoint (`www` also `slow`) and `db` of each region.
    pub(crate) probed: bool,
}

/// Every kind of service.
pub(crate) fn services() -> Vec<ServiceSpec> {
    let everywhere = |count| REGIONS.map(|region| (region, count)).to_vec();
    let spec = ServiceSpec {
        name: "www",
        all_down: AllDown::Home,
        up_share: 0.5,
        regions: everywhere(2),
        v4: true,
        v6: true,
        probed: true,
    };
    vec![
        spec.clone(),
        ServiceSpec {
            name: "all",
            all_down: AllDown::All,
            up_share: 2.0 / 3.0,
            regions: everywhere(3),
            ..spec.clone()
        },
        ServiceSpec { name: "strict", all_down: AllDown::Servfail, up_share: 1.0, v6: false, ..spec.clone() },
        ServiceSpec {
            name: "two",
            regions: vec![("cn", 1), ("us", 4)],
            up_share: 0.3,
            v4: false,
            ..spec.clone()
        },
        ServiceSpec { name: "cdn", v4: false, v6: false, ..spec.clone() },
        ServiceSpec { name: "calm", probed: false, ..spec },
    ]
}

/// The plan of these services under these regions, in fallback order.
pub(crate) fn plan(regions: &[&str], manual: &[&str], services: &[ServiceSpec]) -> Plan {
    let mut plan = Plan {
        regions: regions.iter().map(|&region| region.to_owned()).collect(),
        manual_failback: regions.iter().map(|region| manual.contains(region)).collect(),
        ..Plan::default()
    };
    for (number, spec) in services.iter().enumerate() {
        let mut listed = vec![None; regions.len()];
        for &(name, count) in &spec.regions {
            if let Some(region) = plan.region(name) {
                listed[region.index()] = Some(region_plan(&mut plan, spec, number, region, count));
            }
        }
        plan.services.push(ServicePlan {
            name: format!("{}.{ZONE}", spec.name),
            ttl_s: 30 + 10 * number as u32,
            ttl_min_s: 5,
            all_down: spec.all_down,
            up_share: spec.up_share,
            regions: listed,
        });
    }
    plan
}

fn region_plan(
    plan: &mut Plan,
    spec: &ServiceSpec,
    number: usize,
    region: RegionId,
    count: u8,
) -> RegionPlan {
    let name = plan.region_name(region).to_owned();
    // Which region an address belongs to must not depend on the order that a plan gives the regions.
    let place = REGIONS.iter().position(|&known| known == name).unwrap_or(9) as u8;
    if !spec.v4 && !spec.v6 {
        let checks = required(plan, spec, region, None);
        return RegionPlan { endpoints: Vec::new(), cname: Some(format!("{name}.cdn.example.net")), checks };
    }
    let mut addresses: Vec<IpAddr> = Vec::new();
    for host in 1..=count {
        if spec.v4 {
            addresses.push(Ipv4Addr::new(192, place, number as u8 + name_number(spec.name), host).into());
        }
        if spec.v6 {
            let group = u16::from(place) << 8 | u16::from(name_number(spec.name));
            addresses.push(Ipv6Addr::new(0x2001, 0xdb8, group, number as u16, 0, 0, 0, host.into()).into());
        }
    }
    let endpoints = addresses.into_iter().map(|address| {
        let checks = required(plan, spec, region, Some(address));
        EndpointPlan { address, checks }
    });
    let endpoints = endpoints.collect();
    RegionPlan { endpoints, cname: None, checks: required(plan, spec, region, None) }
}

/// Services of one number, but another name, have other addresses.
fn name_number(name: &str) -> u8 {
    name.bytes().fold(7_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % 100
}

fn required(plan: &mut Plan, spec: &ServiceSpec, region: RegionId, address: Option<IpAddr>) -> Vec<u32> {
    if !spec.probed {
        return Vec::new();
    }
    let (web, slow, db) = ("web", "slow", "db");
    let wanted: &[(&str, Impact)] = match address {
        Some(_) if spec.name == "www" => &[(web, Impact::Fail), (slow, Impact::Degrade)],
        Some(_) => &[(web, Impact::Fail)],
        None => &[(db, Impact::Fail)],
    };
    let position = |plan: &mut Plan, &(probe, impact): &(&str, Impact)| {
        let check = Check { probe: probe.to_owned(), region, address, impact };
        let known = plan.checks.iter().position(|known| known.key() == check.key());
        known.unwrap_or_else(|| {
            plan.checks.push(check);
            plan.checks.len() - 1
        }) as u32
    };
    wanted.iter().map(|probe| position(plan, probe)).collect()
}

/// The world's networks: `2N.0.0.0/8` and `2aN0::/16`, N from 0, each at home in a region; elsewhere nothing places
/// anybody. `turn` moves every network to another region.
pub(crate) fn rules(plan: &Plan, turn: usize) -> Rules {
    let home = |place: usize| plan.region(REGIONS[(place + turn) % REGIONS.len()]).unwrap();
    let networks = (0..REGIONS.len()).flat_map(|place| {
        let v4 = Network::around(Ipv4Addr::new(20 + place as u8, 0, 0, 0).into(), 8).unwrap();
        let v6 =
            Network::around(Ipv6Addr::new(0x2a00 + place as u16, 0, 0, 0, 0, 0, 0, 0).into(), 16).unwrap();
        [(v4, home(place)), (v6, home(place))]
    });
    Rules { networks: networks.collect(), ..Rules::everybody(plan.region("us").unwrap()) }
}

/// A client in the network of that number; beyond the networks: one that nothing places.
pub(crate) fn client(place: usize, v4: bool) -> IpAddr {
    if v4 {
        Ipv4Addr::new(20 + place as u8, 1, 2, 3).into()
    } else {
        Ipv6Addr::new(0x2a00 + place as u16, 1, 2, 3, 4, 5, 6, 7).into()
    }
}

/// Zone, geo table and settings for a plan.
pub(crate) fn parts(plan: &Plan, rules: &Rules, ecs: bool) -> DnsParts {
    let alias = |name: &str| format!("to-{name} 600 IN CNAME {name}\n");
    let aliases: String =
        plan.services.iter().filter_map(|s| Some(alias(s.name.split('.').next()?))).collect();
    let text = format!(
        "$ORIGIN {ZONE}.\n$TTL 300\n@ IN SOA ns1 hostmaster 1 7200 900 1209600 60\n@ IN NS ns1\nns1 IN A 192.0.2.53\n\
         static IN A 192.0.2.80\nstatic IN TXT \"a text\"\nfar IN CNAME to-www\nbelow IN DNAME deep\nwww.deep IN CNAME to-all\nout IN CNAME www.example.org.\n\
         www IN MX 10 static\n{aliases}"
    );
    let bound: Vec<BoundService> = plan
        .services
        .iter()
        .map(|service| {
            let addresses = || service.regions.iter().flatten().flat_map(|region| &region.endpoints);
            BoundService {
                name: service.name.clone(),
                line: 1,
                a: addresses().any(|endpoint| endpoint.address.is_ipv4()),
                aaaa: addresses().any(|endpoint| endpoint.address.is_ipv6()),
                cname: service.regions.iter().flatten().any(|region| region.cname.is_some()),
            }
        })
        .collect();
    let file = ZoneFile { path: format!("{ZONE}.zone").into(), text };
    let (zones, _) = Zones::build(&[file], &bound).unwrap_or_else(|errors| panic!("{errors:?}"));
    DnsParts { zones: Arc::new(zones), geo: Arc::new(GeoTable::build(rules, None)), settings: settings(ecs) }
}

pub(crate) fn settings(ecs: bool) -> Arc<Settings> {
    Arc::new(Settings { ecs, ..Settings::default() })
}

/// A moment so many milliseconds after [`MORNING_MS`].
pub(crate) fn after_ms(ms: u64) -> Now {
    Now { mono: Mono(1_000 + ms), wall_ms: MORNING_MS + ms as i64 }
}

/// What the wire said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) rcode: String,
    /// Of the answer section: type and data as text, TTL.
    pub(crate) answers: Vec<(RecordType, String, u32)>,
    pub(crate) authorities: Vec<RecordType>,
    pub(crate) aa: bool,
    /// The client subnet option's value, byte for byte.
    pub(crate) ecs: Option<Vec<u8>>,
}

impl Wire {
    /// The scope that came back.
    pub(crate) fn scope(&self) -> Option<u8> {
        self.ecs.as_ref().map(|value| value[3])
    }

    /// The addresses of the answer, in order.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.answers.iter().filter_map(|(_, data, _)| data.parse().ok()).collect()
    }

    /// The lowest TTL of the answer section.
    pub(crate) fn ttl(&self) -> Option<u32> {
        self.answers.iter().map(|(_, _, ttl)| *ttl).min()
    }
}

/// A client subnet option's value (RFC 7871 6).
pub(crate) fn ecs_value(subnet: Subnet) -> Vec<u8> {
    let (family, address) = match subnet.addr {
        IpAddr::V4(address) => (1, address.octets().to_vec()),
        IpAddr::V6(address) => (2, address.octets().to_vec()),
    };
    let mut value = vec![0, family, subnet.source, 0];
    value.extend_from_slice(&address[..usize::from(subnet.source.div_ceil(8))]);
    value
}

/// The subnet of that length around an address.
pub(crate) fn subnet(addr: IpAddr, source: u8) -> Subnet {
    Subnet { addr: Network::around(addr, source).unwrap().addr, source }
}

/// Asks over a transport, and decodes the answer with hickory-proto.
pub(crate) fn ask_over(
    view: &View,
    worker: &mut Worker,
    (transport, now): (Transport, Mono),
    (name, rtype): (&str, u16),
    peer: IpAddr,
    ecs: Option<&[u8]>,
) -> Wire {
    let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(ecs.is_some())];
    bytes.extend(wire_name(name));
    bytes.extend([rtype.to_be_bytes(), [0, 1]].concat());
    if let Some(value) = ecs {
        let len = value.len() as u16;
        bytes.extend([0, 0, 41, 0x10, 0, 0, 0, 0, 0]);
        bytes.extend([(len + 4).to_be_bytes(), [0, 8], len.to_be_bytes()].concat());
        bytes.extend_from_slice(value);
    }
    let mut out = vec![0; MAX_TCP_SIZE];
    let length = respond(view, worker, Query { bytes: &bytes, peer, transport, now, wall_s: 0 }, &mut out);
    read(&out[..length])
}

/// Asks over TCP.
pub(crate) fn ask(
    view: &View,
    worker: &mut Worker,
    now: Mono,
    question: (&str, u16),
    peer: IpAddr,
    ecs: Option<Subnet>,
) -> Wire {
    ask_over(view, worker, (Transport::Tcp, now), question, peer, ecs.map(ecs_value).as_deref())
}

fn read(bytes: &[u8]) -> Wire {
    let message = Message::from_vec(bytes).unwrap();
    let data = |data: &RData| match data {
        RData::A(a) => a.0.to_string(),
        RData::AAAA(aaaa) => aaaa.0.to_string(),
        other => other.to_string(),
    };
    let rcode = match bytes[3] & 0x0f {
        0 => "NOERROR".to_owned(),
        1 => "FORMERR".to_owned(),
        2 => "SERVFAIL".to_owned(),
        3 => "NXDOMAIN".to_owned(),
        5 => "REFUSED".to_owned(),
        other => format!("rcode {other}"),
    };
    let answers = message.answers.iter().map(|r| (r.record_type(), data(&r.data), r.ttl)).collect();
    let authorities = message.authorities.iter().map(|record| record.record_type()).collect();
    Wire { rcode, answers, authorities, aa: bytes[2] & 4 != 0, ecs: ecs_of(bytes) }
}

/// The client subnet option of an answer whose last record is its OPT: root owner, type 41, and one option.
fn ecs_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let opt = (0..bytes.len().saturating_sub(15)).rev().find(|&at| {
        let len = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        bytes[at..at + 3] == [0, 0, 41]
            && at + 11 + len(at + 9) == bytes.len()
            && bytes[at + 11..at + 13] == [0, 8]
    })?;
    Some(bytes[opt + 15..].to_vec())
}

/// Chance that comes out the same each time (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    /// Whether a chance of so many percent comes true.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}
