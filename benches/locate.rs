//! Placing a client: random addresses of the shipped database, each from another place than the one before.

#![allow(clippy::panic)] // A benchmark without its input has nothing to do.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use waypost::region::RegionId;
use waypost::region::geo::{Database, GeoTable, Rules, Subnet};
use waypost::region::iso::Continent;

/// Addresses in a round; more than any cache of branches remembers.
const ADDRESSES: usize = 1 << 16;

fn rules() -> Rules {
    let region = |index| RegionId::new(index).unwrap_or_else(|| panic!("{index} is a region"));
    let home = |continent| match continent {
        Continent::Asia | Continent::Oceania => region(0),
        Continent::Europe | Continent::Africa => region(1),
        _ => region(2),
    };
    let continents = Continent::ALL.map(|continent| (continent, home(continent))).into();
    Rules { continents, ..Rules::everybody(region(2)) }
}

/// The SplitMix64 sequence.
fn draw(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn v4() -> Vec<Subnet> {
    let addr = |number| Ipv4Addr::from_bits(draw(number) as u32 & !0xff);
    (0..ADDRESSES as u64).map(|number| Subnet { addr: addr(number).into(), source: 24 }).collect()
}

/// Half of them in the blocks that are really used, where ranges are dense.
fn v6() -> Vec<Subnet> {
    let blocks = [0x2400_u128 << 112, 0x2600 << 112, 0x2a00 << 112, 0x2a0e << 112];
    let addr = |number: u64| {
        let bits = u128::from(draw(number)) << 64;
        let used = blocks[number as usize / 2 % 4] | bits >> 14;
        let addr = if number.is_multiple_of(2) { used } else { 1 << 125 | bits >> 3 };
        IpAddr::V6(Ipv6Addr::from_bits(addr >> 80 << 80))
    };
    (0..ADDRESSES as u64).map(|number| Subnet { addr: addr(number), source: 48 }).collect()
}

fn locate(criterion: &mut Criterion) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("geoip/dbip-country.mmdb");
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("the shipped database: {error}"));
    let read = |bytes| Database::from_mmdb(bytes).unwrap_or_else(|error| panic!("{error}"));
    let database = Arc::new(read(bytes.clone()));
    let table = GeoTable::build(&rules(), Some(Arc::clone(&database)));
    println!("{} ranges, {} bytes hot, {} bytes cold", table.ranges(), table.hot_bytes(), table.cold_bytes());
    let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
    for (name, subnets) in [("locate/v4", v4()), ("locate/v6", v6())] {
        let mut next = 0;
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                next = (next + 1) % ADDRESSES;
                black_box(table.locate(Some(subnets[next]), source))
            });
        });
    }
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    group.bench_function("read", |bencher| bencher.iter(|| read(bytes.clone())));
    group.bench_function("compile", |bencher| {
        bencher.iter(|| GeoTable::build(&rules(), Some(Arc::clone(&database))));
    });
    let stored = database.to_bytes();
    group.bench_function("restore", |bencher| bencher.iter(|| Database::from_bytes(black_box(&stored))));
    group.finish();
}

criterion_group!(benches, locate);
criterion_main!(benches);
