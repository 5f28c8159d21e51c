//! A resolver that sends its clients' subnets: each gets its own answer, from the server or from the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use waypost::control::Clock;

use super::programs::{Resolver, Way};
use super::{LIVE, SLACK, TTL_MIN, announce_drain};
use crate::harness::*;
use crate::random::Random;

const ZONE: &str = "gslb.example.com";

/// Regions of [`Site::config`] with a country of each.
const REGIONS: [(&str, [&str; 2]); 3] = [("CN", CN_A), ("NL", EU_A), ("US", US_A)];

/// The maps of every run, so that a failure is found again.
const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// Blocks of this length are still divided, at random.
const LONGEST: u8 = 28;

#[test]
fn unbound_gives_each_subnet_of_a_random_map_its_region_and_asks_once_for_each_scope() {
    for seed in SEEDS {
        ask_for_a_random_map(seed);
    }
}

fn ask_for_a_random_map(seed: u64) {
    let mut random = Random::new(seed);
    let map = Map::draw(&mut random);
    let site = Site::new();
    fs::write(site.path("country.mmdb"), mmdb(&map.places(), 1_700_000_000)).unwrap();
    // No answer expires while the test runs.
    let config = site.read("waypost.toml").replace("ttl = \"30s\"", "ttl = \"1h\"");
    site.write("waypost.toml", &config);
    let site = site.started();
    let unbound = Resolver::unbound(own_address(), &Way::Subnets { zone: ZONE, server: site.ip });

    let clients = map.clients(&mut random);
    let scopes: BTreeSet<(u32, u8)> = clients.iter().map(|&client| cached_block(&site, client)).collect();
    assert!(
        clients.len() > 300 && scopes.len() > 100 && scopes.len() * 3 < clients.len() * 2,
        "{} {}",
        clients.len(),
        scopes.len()
    );
    let before = a_queries(&site);
    let mut without = 0;
    for _ in 0..2 {
        for client in shuffled(&clients, &mut random) {
            let answer = exchange(unbound.ip, &query_bytes(WWW, 1, Some(Ecs(client.into(), 24)))).unwrap();
            assert_eq!(answer.addresses(), map.addresses_of(client), "{client}/24, map {seed}: {answer:?}");
            if random.chance(10) {
                // A client that keeps its subnet to itself is placed by the resolver's address.
                let hidden = Ecs(Ipv4Addr::UNSPECIFIED.into(), 0);
                let answer = exchange(unbound.ip, &query_bytes(WWW, 1, Some(hidden))).unwrap();
                assert_eq!(answer.addresses(), map.addresses_of(unbound.ip), "map {seed}: {answer:?}");
                without += 1;
            }
        }
    }
    assert!(without > 20, "{without}");
    let asked = a_queries(&site) - before;
    println!(
        "map {seed}: {} subnets asked twice, {} scopes, {asked} queries arrived",
        clients.len(),
        scopes.len()
    );
    // And one for those who keep their subnet to themselves. A resolver on a busy machine repeats a query at times.
    let needed = scopes.len() as u64 + 1;
    assert!(
        (needed..=needed + needed / 50).contains(&asked),
        "{needed} are needed, {asked} arrived, map {seed}"
    );
}

/// The block for which the resolver may keep the answer that this client's /24 gets.
fn cached_block(site: &Site, client: Ipv4Addr) -> (u32, u8) {
    let scope = site.ask(Ecs(client.into(), 24)).scope().unwrap();
    let len = scope.min(24);
    (first_of(client.to_bits(), len), len)
}

/// Queries for A records that have reached the server.
fn a_queries(site: &Site) -> u64 {
    let name = "waypost_dns_queries_total{proto=\"udp\",family=\"ipv4\",qtype=\"A\"}";
    site.metric(name).expect("the metric is there") as u64
}

fn shuffled(clients: &[Ipv4Addr], random: &mut Random) -> Vec<Ipv4Addr> {
    let by_chance: BTreeMap<u64, Ipv4Addr> = clients.iter().map(|&client| (random.next(), client)).collect();
    by_chance.into_values().collect()
}

/// Which region each address is at home in: blocks side by side that cover everything.
struct Map {
    /// First address, length, index in [`REGIONS`].
    blocks: Vec<(u32, u8, usize)>,
}

impl Map {
    fn draw(random: &mut Random) -> Self {
        let mut map = Self { blocks: Vec::new() };
        map.divide(0, 0, random);
        map
    }

    fn divide(&mut self, first: u32, len: u8, random: &mut Random) {
        if len < 6 || (len < LONGEST && random.chance(53)) {
            self.divide(first, len + 1, random);
            self.divide(first | 1 << (31 - len), len + 1, random);
        } else {
            self.blocks.push((first, len, random.below(REGIONS.len())));
        }
    }

    /// For a geo file.
    fn places(&self) -> Vec<(String, String, &'static str)> {
        let place = |&(first, len, region): &(u32, u8, usize)| {
            let last = first | u32::MAX.checked_shr(len.into()).unwrap_or(0);
            (Ipv4Addr::from(first).to_string(), Ipv4Addr::from(last).to_string(), REGIONS[region].0)
        };
        self.blocks.iter().map(place).collect()
    }

    /// Two subnets of each block, or the one that it lies in; none that is special.
    fn clients(&self, random: &mut Random) -> Vec<Ipv4Addr> {
        let mut clients = BTreeSet::new();
        for &(first, len, _) in &self.blocks {
            for _ in 0..2 {
                let within = (random.next() as u32).checked_shr(len.into()).unwrap_or(0);
                clients.insert(Ipv4Addr::from(first_of(first | within, 24)));
            }
        }
        clients.into_iter().filter(|client| is_public(*client)).collect()
    }

    fn addresses_of(&self, client: Ipv4Addr) -> [&'static str; 2] {
        let at = self.blocks.partition_point(|&(first, ..)| first <= client.to_bits()) - 1;
        REGIONS[self.blocks[at].2].1
    }
}

fn is_public(client: Ipv4Addr) -> bool {
    let [first, second, ..] = client.octets();
    let shared = first == 100 && (64..128).contains(&second);
    (1..224).contains(&first)
        && !(shared || client.is_private() || client.is_loopback() || client.is_link_local())
}

const fn first_of(addr: u32, len: u8) -> u32 {
    if len == 0 { 0 } else { addr & (u32::MAX << (32 - len)) }
}

#[test]
fn clients_in_several_subnets_follow_a_drain_through_unbound_each_to_its_own_next_region() {
    let site = Site::new().started();
    let unbound = Resolver::unbound(own_address(), &Way::Subnets { zone: ZONE, server: site.ip });
    let ask = |client: IpAddr| {
        let answer = match client {
            // From its own address: the resolver makes the option.
            IpAddr::V4(source) if source.is_loopback() => {
                exchange_from(source, unbound.ip, &query_bytes(WWW, 1, None))
            }
            // From somewhere beyond, by way of another resolver that made the option.
            IpAddr::V4(_) => exchange(unbound.ip, &query_bytes(WWW, 1, Some(Ecs(client, 24)))),
            IpAddr::V6(_) => exchange(unbound.ip, &query_bytes(WWW, 1, Some(Ecs(client, 48)))),
        };
        answer.expect("an answer").addresses()
    };
    let clients: [(&str, [&str; 2], [&str; 2]); 13] = [
        // Client, addresses of its home, and when cn is drained.
        ("127.1.0.5", CN_A, EU_A),
        ("127.2.0.5", EU_A, EU_A),
        ("127.3.0.5", US_A, US_A),
        ("127.1.200.9", CN_A, EU_A),
        ("127.2.255.9", EU_A, EU_A),
        ("127.3.77.9", US_A, US_A),
        ("114.114.114.0", CN_A, EU_A),
        ("193.0.6.0", EU_A, EU_A),
        ("8.8.8.0", US_A, US_A),
        ("127.1.0.200", CN_A, EU_A),
        ("2001:da8:1::", CN_A, EU_A),
        ("2001:db9:1::", US_A, US_A),
        ("127.2.0.200", EU_A, EU_A),
    ];
    let clients = clients.map(|(client, home, drained)| (client.parse::<IpAddr>().unwrap(), home, drained));
    let clock = Clock::start();
    let begin = announce_drain(&site, &clock, TTL_MIN);
    for _ in 0..2 {
        for (client, home, _) in clients {
            assert_eq!(ask(client), home, "{client} before the drain");
        }
    }
    assert!(clock.elapsed() < begin, "the machine is too slow to ask before the drain begins");

    // The TTL is 30 s: clients that were given it whole, at most 5 s ahead, would follow after 25.
    let promised = TTL_MIN + LIVE;
    for (client, _, drained) in clients {
        wait_until(&format!("{client} follows"), begin + promised + SLACK, || ask(client) == drained);
    }
    let took = clock.elapsed().saturating_sub(begin);
    println!("an announced drain: all subnets follow after {took:?}, promised {promised:?}");
    assert!(took <= promised + SLACK);
    for (client, _, drained) in clients {
        assert_eq!(ask(client), drained, "{client} stays");
    }
}
