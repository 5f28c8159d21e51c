//! Response rate limiting and what it is for: nobody can be flooded through this server, and nobody honest notices.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use waypost::control::Clock;

use crate::harness::*;

/// Who is flooded.
const VICTIM: Ipv4Addr = Ipv4Addr::new(127, 250, 0, 1);

/// Datagrams of the flood, and how many are on their way at a time: fewer than a socket's buffer holds.
const FLOOD: u64 = 50_000;
const ON_THE_WAY: usize = 32;

const PER_SECOND: u64 = 200;
const BURST: u64 = 300;
const MAX_UDP_SIZE: u64 = 1232;

/// The site with this limit; `""`: none.
fn set_limit(site: &Site, limit: &str) {
    let key = if limit.is_empty() { String::new() } else { format!("rate_limit = {limit}\n") };
    let text = site.config("", "requires = []");
    site.write("waypost.toml", &text.replace("udp_workers = 1\n", &format!("udp_workers = 1\n{key}")));
}

fn limited(limit: &str) -> Site {
    let site = Site::new();
    set_limit(&site, limit);
    site.started()
}

fn slips(site: &Site) -> u64 {
    site.metric("waypost_dns_rate_limited_total{action=\"slip\"}").unwrap_or_default() as u64
}

fn dry_runs(site: &Site) -> u64 {
    site.metric("waypost_dns_rate_limited_total{action=\"dry_run\"}").unwrap_or_default() as u64
}

/// A socket that talks to one server.
fn socket_to(server: Ipv4Addr, source: Ipv4Addr) -> UdpSocket {
    let socket = UdpSocket::bind((source, 0)).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.connect((server, DNS_PORT)).unwrap();
    socket
}

/// What a flood took, and what it brought to its victim.
#[derive(Debug, Default)]
struct Flood {
    sent: u64,
    sent_bytes: u64,
    whole: u64,
    whole_bytes: u64,
    truncated: u64,
    truncated_bytes: u64,
}

impl Flood {
    /// Sends queries from these addresses in turn, as fast as they are answered, until told to stop; takes every answer.
    fn run(sources: &[UdpSocket], query: &[u8], mut is_over: impl FnMut(&Self) -> bool) -> Self {
        let (mut flood, mut next) = (Self::default(), sources.iter().cycle());
        let mut on_the_way = VecDeque::new();
        loop {
            while on_the_way.len() < ON_THE_WAY && !is_over(&flood) {
                let source = next.next().unwrap();
                source.send(query).unwrap();
                flood.sent += 1;
                flood.sent_bytes += query.len() as u64;
                on_the_way.push_back(source);
            }
            let Some(source) = on_the_way.pop_front() else { return flood };
            flood.take(source, query);
        }
    }

    /// Takes one answer. One without content is no longer than its query.
    fn take(&mut self, source: &UdpSocket, query: &[u8]) {
        let mut bytes = [0; 4096];
        let len = source.recv(&mut bytes).unwrap();
        if bytes[2] & 0x02 == 0 {
            self.whole += 1;
            self.whole_bytes += len as u64;
        } else {
            assert!(len <= query.len(), "{len} bytes for a query of {}", query.len());
            self.truncated += 1;
            self.truncated_bytes += len as u64;
        }
    }

    /// Bytes that came beyond what the forger sent.
    fn gain(&self) -> u64 {
        (self.whole_bytes + self.truncated_bytes).saturating_sub(self.sent_bytes)
    }
}

/// Asks from one address after the other, each in another /24 than the last, until told to stop; gives the number asked.
fn honest_clients(server: Ipv4Addr, done: &AtomicBool) -> usize {
    let query = query_bytes(WWW, 1, Some(EU));
    for client in 0.. {
        if done.load(Ordering::Relaxed) {
            return client;
        }
        let source = Ipv4Addr::new(127, 240, (client % 200) as u8, (client / 200 % 250) as u8 + 1);
        let answer = exchange_from(source, server, &query).expect("an answer");
        assert!(!answer.0.metadata.truncation, "client {client} was limited");
        assert_eq!(answer.addresses(), EU_A, "client {client}");
    }
    0
}

#[test]
fn a_flood_to_one_address_brings_it_no_more_than_the_limit_and_honest_clients_notice_nothing() {
    let limit = format!("{{ per_second = {PER_SECOND}, burst = {BURST}, exempt = [] }}");
    let mut site = limited(&limit);
    let (server, query) = (site.ip, query_bytes(WWW, 1, None));
    let done = AtomicBool::new(false);
    let clock = Clock::start();
    let (received, asked) = thread::scope(|scope| {
        let honest = scope.spawn(|| honest_clients(server, &done));
        let received = Flood::run(&[socket_to(server, VICTIM)], &query, |flood| flood.sent == FLOOD);
        done.store(true, Ordering::Relaxed);
        (received, honest.join().unwrap())
    });
    let spent_ms = clock.elapsed().as_millis() as u64 + 1;
    assert!(asked > 100, "{asked} honest queries beside the flood");

    // Every forged query is answered, but only those within the limit with more than it brought.
    let allowed = BURST + (PER_SECOND * spent_ms).div_ceil(1000);
    assert_eq!(received.whole + received.truncated, FLOOD);
    assert!((BURST..=allowed).contains(&received.whole), "{received:?}, {allowed} allowed");
    assert!(received.gain() < allowed * MAX_UDP_SIZE, "{received:?}");

    assert_eq!(slips(&site), received.truncated);
    let warning = site.wait_warning("rate_limit");
    assert!(warning.contains("more than dns.rate_limit allows"), "{warning}");
    assert_eq!(site.stop(), Some(0));
    assert_eq!(site.log().matches("dns.rate_limit").count(), 1, "one line for one flood");
}

#[test]
fn past_the_burst_a_flood_gains_less_than_the_usual_rate_times_the_largest_answer() {
    let mut site = limited("{ exempt = [] }");
    let (query, victim) = (query_bytes(WWW, 1, None), [socket_to(site.ip, VICTIM)]);
    let burst = Flood::run(&victim, &query, |flood| flood.truncated >= 100);
    assert!(burst.whole >= 2_500, "{burst:?}");

    let clock = Clock::start();
    let flood = Flood::run(&victim, &query, |_| clock.elapsed() >= Duration::from_secs(2));
    // What the burst's last answers took to arrive is part of the time: the counter had run on meanwhile.
    let allowed = 1_000 * (clock.elapsed().as_millis() as u64 + 100) / 1000;
    assert!((1..=allowed).contains(&flood.whole), "{flood:?}, {allowed} allowed");
    assert!(flood.truncated > 0, "a flood, not a trickle: {flood:?}");
    assert!(flood.gain() < allowed * MAX_UDP_SIZE, "{flood:?}");
    assert_eq!(site.process().exited(), None);
}

#[test]
fn a_flood_spread_over_a_24_brings_it_what_32_addresses_get_and_not_what_250_would() {
    let site = limited("{ per_second = 20, burst = 20, exempt = [] }");
    let query = query_bytes(WWW, 1, None);
    let sources: Vec<_> =
        (1..=250).map(|host| socket_to(site.ip, Ipv4Addr::new(127, 250, 1, host))).collect();
    let clock = Clock::start();
    let flood = Flood::run(&sources, &query, |flood| flood.sent == FLOOD);
    let allowed = 32 * (20 + (20 * (clock.elapsed().as_millis() as u64 + 1)).div_ceil(1000));
    // At least half: an address that happens to share the network's counter takes some of it.
    assert!((32 * 20 / 2..=allowed).contains(&flood.whole), "{flood:?}, {allowed} allowed");
    assert_eq!(flood.whole + flood.truncated, FLOOD);
    assert!(flood.gain() < allowed * MAX_UDP_SIZE, "{flood:?}");
}

/// Asks as this machine's usual address until an answer is truncated.
fn use_up(site: &Site) {
    let query = query_bytes(WWW, 1, Some(EU));
    wait_until("a truncated answer", SOON, || {
        (0..3).any(|_| exchange(site.ip, &query).expect("an answer").0.metadata.truncation)
    });
}

#[test]
fn who_is_limited_gets_everything_over_tcp() {
    let site = limited("{ per_second = 1, burst = 1, exempt = [] }");
    use_up(&site);
    for _ in 0..20 {
        let answer = tcp_exchange(site.ip, &query_bytes(WWW, 1, Some(EU))).expect("an answer");
        assert!(!answer.0.metadata.truncation);
        assert_eq!(answer.addresses(), EU_A);
    }
    // What no zone is about is limited like anything else.
    let refused = query_bytes("www.example.org", 1, None);
    wait_until("a truncated refusal", SOON, || {
        (0..3).any(|_| exchange(site.ip, &refused).expect("an answer").0.metadata.truncation)
    });
    let refused = tcp_exchange(site.ip, &refused).expect("an answer");
    assert_eq!(refused.0.metadata.response_code, ResponseCode::Refused);
}

#[test]
fn loopback_is_exempt_unless_the_operator_says_otherwise() {
    let site = limited("{ per_second = 1, burst = 1 }");
    for _ in 0..50 {
        assert!(!site.ask(EU).0.metadata.truncation);
    }
    assert_eq!(slips(&site), 0);
}

#[test]
fn a_reload_changes_the_limit_and_forgets_nobody() {
    let site = limited("{ per_second = 1, burst = 60, exempt = [] }");
    use_up(&site);
    // Sixty more would pass if the counters began anew.
    set_limit(&site, "{ per_second = 1, burst = 61, exempt = [] }");
    site.run(&["reload"]).done();
    let (clock, mut passed) = (Clock::start(), 0);
    while site.ask(EU).0.metadata.truncation.eq(&false) {
        passed += 1;
    }
    assert!(passed < 30, "{passed} passed in {:?}", clock.elapsed());

    set_limit(&site, "{ per_second = 1, burst = 1, dry_run = true, exempt = [] }");
    site.run(&["reload"]).done();
    let (slipped, before) = (slips(&site), dry_runs(&site));
    for _ in 0..20 {
        assert_eq!(site.ask(EU).addresses(), EU_A);
    }
    assert!(dry_runs(&site) > before, "a dry run counts");

    set_limit(&site, "");
    site.run(&["reload"]).done();
    let before = dry_runs(&site);
    for _ in 0..20 {
        assert_eq!(site.ask(EU).addresses(), EU_A);
    }
    assert_eq!((slips(&site), dry_runs(&site)), (slipped, before), "no limit, nothing counted");
}

#[test]
fn a_dry_run_warns_of_what_it_would_limit_and_says_that_it_limits_nothing() {
    let site = limited("{ per_second = 1, burst = 1, dry_run = true, exempt = [] }");
    for _ in 0..20 {
        assert_eq!(site.ask(EU).addresses(), EU_A);
    }
    let warning = site.wait_warning("rate_limit");
    assert!(warning.contains("with dry_run all are answered in full"), "{warning}");
}

/// Where one of two servers believes the other to be: passes what the server sends there on to the other one.
struct Relay {
    socket: UdpSocket,
    server: Ipv4Addr,
}

impl Relay {
    fn to(server: Ipv4Addr) -> Self {
        let socket = socket_to(server, own_address());
        Self { socket, server }
    }

    /// Hands the server these datagrams and returns what it sends back: all of it has arrived when a question that was
    /// sent after them is answered, since the server has one socket and takes turns.
    fn exchange(&self, datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
        datagrams.iter().for_each(|datagram| assert!(self.socket.send(datagram).is_ok()));
        exchange(self.server, &query_bytes(WWW, 1, None)).expect("an answer");
        self.socket.set_nonblocking(true).unwrap();
        let mut bytes = [0; 4096];
        let answers =
            std::iter::from_fn(|| self.socket.recv(&mut bytes).ok().map(|len| bytes[..len].to_vec()));
        answers.collect()
    }
}

/// A thousand different datagrams: queries, answers, every opcode, cut short, with noise in them.
fn forged() -> Vec<Vec<u8>> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let names = [WWW, "static.gslb.example.com", "nothing.gslb.example.com", "www.example.org"];
    let datagrams = (0..1000_usize).map(|number| {
        let mut bytes = query_bytes(names[number % 4], [1, 28, 255, 252][number / 4 % 4], Some(EU));
        bytes[..2].copy_from_slice(&(number as u16).to_be_bytes());
        match number % 8 {
            0 => {}
            1 => bytes[2] |= 0x80,
            2 => bytes[2] = ((number / 8 % 16) << 3) as u8,
            3 => bytes.truncate(next(bytes.len())),
            4 => bytes.push(next(256) as u8),
            5 => bytes.iter_mut().skip(2).for_each(|byte| *byte = next(256) as u8),
            6 => bytes[3] = next(256) as u8,
            _ => (0..4).for_each(|_| {
                let at = 4 + next(bytes.len() - 4);
                bytes[at] ^= 1 << next(8);
            }),
        }
        bytes
    });
    datagrams.collect()
}

fn dropped_responses(site: &Site) -> usize {
    site.metric("waypost_dns_dropped_total{reason=\"response\"}").unwrap() as usize
}

#[test]
fn two_servers_that_are_fed_forged_packets_of_each_other_fall_silent() {
    let sites = [Site::new().started(), Site::new().started()];
    let relays = [Relay::to(sites[0].ip), Relay::to(sites[1].ip)];
    let forged = forged();
    let mut answered = 0;
    for (here, there) in [(0, 1), (1, 0)] {
        for batch in forged.chunks(ON_THE_WAY) {
            let owed = batch.iter().filter(|bytes| bytes.len() >= 12 && bytes[2] & 0x80 == 0).count();
            let answers = relays[here].exchange(batch);
            assert_eq!(answers.len(), owed, "one answer each, none to answers and to what is no message");
            let before = dropped_responses(&sites[there]);
            assert_eq!(relays[there].exchange(&answers), [] as [Vec<u8>; 0], "an answer is never answered");
            assert_eq!(dropped_responses(&sites[there]) - before, answers.len());
            answered += answers.len();
        }
    }
    assert!(answered > 1000, "{answered} of 2,000 were answered");
}
