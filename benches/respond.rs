//! One answer, by kind.

#[path = "../fuzz/packet.rs"]
#[allow(dead_code)]
mod packet;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
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

criterion_group!(benches, answers);
criterion_main!(benches);
