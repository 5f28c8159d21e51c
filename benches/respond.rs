//! One answer, by kind.

#[path = "../fuzz/packet.rs"]
#[allow(dead_code)]
mod packet;

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use waypost::dns::limit::{Rule, Table};
use waypost::dns::{MAX_TCP_SIZE, Query, Transport, Worker, respond};
use waypost::health::Mono;

fn answers(criterion: &mut Criterion) {
    let subnet: &[u8] = &[0, 1, 24, 0, 192, 0, 2];
    let cases = [
        ("geo_with_subnet", packet::query("www.gslb.example.com", 1, Some(subnet)), Transport::Udp),
        ("geo_by_source", packet::query("www.gslb.example.com", 1, None), Transport::Udp),
        ("static", packet::query("static.gslb.example.com", 1, None), Transport::Udp),
        ("nxdomain", packet::query("nothing.gslb.example.com", 1, None), Transport::Udp),
        ("wildcard", packet::query("x.y.wild.gslb.example.com", 1, None), Transport::Udp),
        ("alias_to_service", packet::query("to-www.gslb.example.com", 1, Some(subnet)), Transport::Udp),
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
                let query = Query { bytes, peer: packet::peer(), transport: *transport, now: Mono(0) };
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

criterion_group!(benches, answers, limits);
criterion_main!(benches);
