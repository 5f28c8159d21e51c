//! One answer, by kind; and what telling dnstap adds to it.

#![allow(clippy::expect_used)] // What fails here is the bench.

#[path = "../fuzz/packet.rs"]
#[allow(dead_code)]
mod packet;

use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use waypost::control::Clock;
use waypost::dns::limit::{Rule, Table};
use waypost::dns::{MAX_TCP_SIZE, Query, Transport, Worker, respond};
use waypost::health::Mono;
use waypost::serve::dnstap::{self, Exchange};

fn answers(criterion: &mut Criterion) {
    let subnet: &[u8] = &[0, 1, 24, 0, 192, 0, 2];
    let cases = [
        ("geo_with_subnet", packet::query("www.gslb.example.com", 1, Some(subnet)), Transport::Udp),
        ("geo_by_source", packet::query("www.gslb.example.com", 1, None), Transport::Udp),
        ("static", packet::query("static.gslb.example.com", 1, None), Transport::Udp),
        ("mx", packet::query("www.gslb.example.com", 15, None), Transport::Udp),
        ("ns", packet::query("gslb.example.com", 2, None), Transport::Udp),
        ("nxdomain", packet::query("nothing.gslb.example.com", 1, None), Transport::Udp),
        ("wildcard", packet::query("x.y.wild.gslb.example.com", 1, None), Transport::Udp),
        ("alias_to_service", packet::query("to-www.gslb.example.com", 1, Some(subnet)), Transport::Udp),
        ("cookie_client_only", packet::query_with("www.gslb.example.com", 1, 10, &[7; 8]), Transport::Udp),
        (
            "cookie_valid",
            packet::query_with("www.gslb.example.com", 1, 10, &packet::cookie()),
            Transport::Udp,
        ),
        ("referral", packet::query("x.big.gslb.example.com", 1, Some(subnet)), Transport::Udp),
        ("tcp", packet::query("www.gslb.example.com", 1, Some(subnet)), Transport::Tcp),
    ];
    let view = packet::view(0);
    let mut worker = Worker::new();
    let mut out = vec![0; MAX_TCP_SIZE];
    let mut group = criterion.benchmark_group("respond");
    group.throughput(Throughput::Elements(1));
    for (name, bytes, transport) in &cases {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let query =
                    Query { bytes, peer: packet::peer(), transport: *transport, now: Mono(0), wall_s: 0 };
                respond(&view, &mut worker, black_box(query), &mut out)
            });
        });
    }
    group.finish();
}

/// What the rate limit costs each answer: from one source, whose counters are near; from as many sources as there are,
/// whose counters are anywhere; and when the source is limited.
fn limits(criterion: &mut Criterion) {
    let table = Table::new([1, 2, 3, 4]);
    let (ample, tight) = (Rule::new(1_000_000, 1_000_000, false, &[]), Rule::new(1, 1, false, &[]));
    let spread = |number: u32| number.wrapping_mul(0x9e37_79b1);
    let mut group = criterion.benchmark_group("limit");
    let mut number = 0;
    let mut run = |name: &str, rule: &Rule, peer: &dyn Fn(u32) -> IpAddr| {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                number += 1;
                table.admit(rule, black_box(peer(number)), Mono(u64::from(number)))
            });
        });
    };
    run("one_source", &ample, &|_| Ipv4Addr::new(192, 0, 2, 1).into());
    run("any_ipv4_source", &ample, &|number| Ipv4Addr::from_bits(spread(number)).into());
    run("any_ipv6_source", &ample, &|number| Ipv6Addr::from_bits(u128::from(spread(number)) << 96).into());
    run("limited", &tight, &|_| Ipv4Addr::new(192, 0, 2, 1).into());
    group.finish();
}

/// Answers that are told as they are given, in batches as a worker receives them: to a collector that keeps up, and to
/// none, where all is dropped.
fn tapped(criterion: &mut Criterion) {
    let dir = tempfile::TempDir::new().expect("a folder");
    let socket = dir.path().join("tap.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    thread::spawn(move || collect(&listener));
    let settings = dnstap::Settings { socket, identity: "ns1".into(), version: "waypost".into() };
    let (mut taps, output) = dnstap::taps(settings, 1);
    let running = output.start(Clock::start()).expect("a thread");
    let counts = running.counts();
    let settings =
        dnstap::Settings { socket: "none".into(), identity: "ns1".into(), version: "waypost".into() };
    let (mut full, _kept) = dnstap::taps(settings, 1);

    let mut group = criterion.benchmark_group("tapped");
    group.throughput(Throughput::Elements(1));
    let (mut told, tap) = (0, &mut taps[0]);
    group.bench_function("collected", |bencher| {
        bencher.iter_custom(|iterations| {
            let mut spent = Duration::ZERO;
            let mut left = iterations;
            while left > 0 {
                let count = left.min(4096);
                spent += answer_and_tell(tap, count);
                left -= count;
                told += 2 * count;
                // Outside of what is measured: the collector catches up.
                while counts.sent() < told {
                    thread::yield_now();
                }
            }
            spent
        });
    });
    group.bench_function("dropped", |bencher| {
        bencher.iter_custom(|count| answer_and_tell(&mut full[0], count));
    });
    group.finish();
    assert_eq!(counts.dropped(), 0);
    running.stop();
}

/// How long that many answers take.
fn answer_and_tell(tap: &mut dnstap::Tap, count: u64) -> Duration {
    let bytes = packet::query("www.gslb.example.com", 1, Some(&[0, 1, 24, 0, 192, 0, 2]));
    let view = packet::view(0);
    let mut worker = Worker::new();
    let mut out = vec![0; MAX_TCP_SIZE];
    let (transport, peer, local) =
        (Transport::Udp, ([192, 0, 2, 99], 4711).into(), Some([192, 0, 2, 53].into()));
    let clock = Clock::start();
    let mut time = clock.wall();
    let begun = clock.elapsed();
    for number in 0..count {
        if number % 32 == 0 {
            time = clock.wall();
        }
        let query = Query { bytes: &bytes, peer: packet::peer(), transport, now: Mono(0), wall_s: 0 };
        let len = respond(&view, &mut worker, black_box(query), &mut out);
        let answer = out.get(..len).unwrap_or_default();
        tap.record(&Exchange { transport, peer, local, port: 53, time, query: &bytes, answer });
    }
    clock.elapsed().saturating_sub(begun)
}

/// A collector that accepts what it is greeted with, and reads.
fn collect(listener: &UnixListener) -> io::Result<u64> {
    let (mut stream, _) = listener.accept()?;
    let mut greeting = [0; 42];
    stream.read_exact(&mut greeting)?;
    greeting[11] = 1;
    stream.write_all(&greeting)?;
    io::copy(&mut stream, &mut io::sink())
}

criterion_group!(benches, answers, limits, tapped);
criterion_main!(benches);
