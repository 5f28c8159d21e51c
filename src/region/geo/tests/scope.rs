//! No two addresses inside one returned scope get different decisions, and no larger block would do.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

/// Layers of a few random prefixes, so that edges meet, and the codes they get.
fn layers<A: Bits>(blocks: &[(A, u8, u16)]) -> Layer<A, Code> {
    let code = |value: u16| {
        Code::new(region(usize::from(value % 3)), By::ALL[usize::from(value / 3 % 4)], value > 40)
    };
    blocks.iter().fold(Layer::uniform(code(0)), |layer, &(addr, len, value)| {
        let block =
            Layer::of_blocks(&[(addr.first_of_block(len), addr.last_of_block(len))], Some(code(value)), None);
        layer.zip(&block, |below, above: Option<Code>| above.unwrap_or(below))
    })
}

/// The code of one address, found the slow way.
fn code_at<A: Bits>(layer: &Layer<A, Code>, addr: A) -> Code {
    layer.ranges().iter().rev().find(|(start, _)| *start <= addr).unwrap().1
}

/// Whether all addresses of a block get the same: the code at each range's start inside it tells.
fn uniform<A: Bits>(layer: &Layer<A, Code>, first: A, last: A) -> bool {
    let gives = |code: Code| {
        let spot = |local: bool, home| if local { None } else { Some(home) };
        [true, false].into_iter().find_map(|local| {
            (0..3).find_map(|home| {
                By::ALL
                    .into_iter()
                    .find_map(|by| (Code::new(region(home), by, local) == code).then_some(spot(local, home)))
            })
        })
    };
    let wanted = gives(code_at(layer, first));
    layer.ranges().iter().all(|&(start, code)| start < first || start > last || gives(code) == wanted)
}

/// Brute force: from the whole space down, the first aligned block that is uniform.
fn brute_scope<A: Bits>(layer: &Layer<A, Code>, addr: A) -> u8 {
    (0..=A::WIDTH).find(|&len| uniform(layer, addr.first_of_block(len), addr.last_of_block(len))).unwrap()
}

fn check<A: Bits>(layer: &Layer<A, Code>, window: Window<A>, addrs: &[A]) {
    let flat = Flat::build(layer, window);
    let edges = layer.ranges().iter().flat_map(|&(start, _)| [start, start.before()]);
    for addr in edges.chain(addrs.iter().copied()) {
        let spot = flat.find(addr);
        assert_eq!(Code::new(spot.home, spot.by, spot.local), code_at(layer, addr), "{addr:?}");
        assert_eq!(spot.scope, brute_scope(layer, addr), "scope of {addr:?} in {layer:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_scope_kept_beside_ipv4_ranges_is_the_brute_force_one(
        blocks in prop::collection::vec((any::<u32>(), 0_u8..=32, 0_u16..48), 0..24),
        near in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..600), 0..24),
        addrs in prop::collection::vec(any::<u32>(), 0..16),
    ) {
        // Half of the blocks lie beside others, where runs of one home are cut by what placed them.
        let mut blocks = blocks;
        for (index, distance) in near {
            if let Some(&(addr, len, value)) = blocks.get(index.index(blocks.len().max(1))) {
                let step = 1_u32.checked_shl(u32::from(32 - len)).unwrap_or(0);
                blocks.push((addr.wrapping_add(step), len, (value + distance as u16) % 48));
            }
        }
        check(&layers(&blocks), WINDOW_V4, &addrs);
        check(&layers(&blocks), Window { base: 0x4000_0000, len: 2, bits: 5 }, &addrs);
    }

    #[test]
    fn the_scope_kept_beside_ipv6_ranges_is_the_brute_force_one(
        blocks in prop::collection::vec((any::<u128>(), any::<bool>(), 0_u8..=128, 0_u16..48), 0..24),
        addrs in prop::collection::vec(any::<u128>(), 0..16),
    ) {
        let global = |addr: u128, inside: bool| if inside { addr >> 3 | 1 << 125 } else { addr };
        let blocks: Vec<_> =
            blocks.into_iter().map(|(addr, inside, len, value)| (global(addr, inside), len, value)).collect();
        check(&layers(&blocks), WINDOW_V6, &addrs);
    }
}

/// IPv6 addresses, half of them of a form that carries IPv4.
fn any_v6() -> impl Strategy<Value = u128> {
    (any::<u128>(), interesting_v4(), 0..9).prop_map(|(addr, inner, form)| match form {
        0 => 0xffff << 32 | u128::from(inner),
        1 => 0x0064_ff9b << 96 | u128::from(inner),
        2 => 0x2001 << 112 | (addr >> 64 & 0xffff_ffff_ffff_ffff) << 32 | u128::from(!inner),
        3 => 0x2002 << 112 | u128::from(inner) << 80 | addr >> 48,
        4 => 0xfc00 << 112 | addr >> 7,
        5 => 0x2001 << 112 | addr >> 16,
        6 => addr >> 90,
        _ => addr >> 3 | 1 << 125,
    })
}

/// IPv4 addresses, many of them local or near the ends.
fn interesting_v4() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => any::<u32>(),
        1 => any::<u32>().prop_map(|addr| 0x0a00_0000 | addr >> 8),
        1 => any::<u32>().prop_map(|addr| 0xac10_0000 | addr >> 12),
        1 => any::<u32>().prop_map(|addr| addr >> 24),
        1 => any::<u32>().prop_map(|addr| !0 << 8 | addr >> 24),
    ]
}

fn any_networks() -> impl Strategy<Value = Vec<(Network, RegionId)>> {
    let v4 = (interesting_v4(), 0_u8..=32).prop_map(|(addr, len)| Network::around(addr.to_addr(), len));
    let v6 = (any_v6(), 0_u8..=128).prop_map(|(addr, len)| Network::around(addr.to_addr(), len));
    let network = prop_oneof![v4, v6].prop_filter_map("a length beyond the width", |network| network);
    prop::collection::vec((network, (0_usize..3).prop_map(region)), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// RULES G3 over everything at once: places, networks, embedding forms, local blocks, short sources.
    #[test]
    fn every_address_inside_a_returned_scope_gets_the_same_home_from_one_source(
        networks in any_networks(),
        shipped in any::<bool>(),
        v6 in any::<bool>(), addr4 in interesting_v4(), addr6 in any_v6(), len in 1_u8..=128,
        other4 in prop::collection::vec(any::<u32>(), 8), other6 in prop::collection::vec(any::<u128>(), 8),
        source in interesting_v4(),
    ) {
        let rules = Rules { networks, ..rules(&[]) };
        let places = if shipped { small_world() } else { Arc::new(Database::empty()) };
        let table = GeoTable::build(&rules, Some(places));
        let len = if v6 { len } else { len.min(32) };
        let addr: IpAddr = if v6 { Ipv6Addr::from_bits(addr6).into() } else { Ipv4Addr::from_bits(addr4).into() };
        let asked = Network::around(addr, len).unwrap();
        let source = IpAddr::V4(Ipv4Addr::from_bits(source));
        let located = table.locate(Some(Subnet { addr: asked.addr, source: len }), source);
        let width = if v6 { 128 } else { 32 };
        prop_assert!(located.scope <= width);
        let block = Network::around(asked.addr, located.scope).unwrap();
        let inside: Vec<IpAddr> = match block.addr {
            IpAddr::V4(first) => {
                let last = first.to_bits().last_of_block(block.len);
                let host = last ^ first.to_bits();
                other4.iter().map(|bits| (first.to_bits() | bits & host).to_addr()).chain([last.to_addr()]).collect()
            }
            IpAddr::V6(first) => {
                let last = first.to_bits().last_of_block(block.len);
                let host = last ^ first.to_bits();
                other6.iter().map(|bits| (first.to_bits() | bits & host).to_addr()).chain([last.to_addr()]).collect()
            }
        };
        for other in inside.into_iter().chain([block.addr]) {
            let there = table.locate(Some(Subnet { addr: other, source: width }), source);
            prop_assert_eq!(there.home, located.home, "{} of {} asked as {}", other, block, asked);
        }
    }
}

fn small_world() -> Arc<Database> {
    database(&[
        ("5.0.0.0/8", "RU", ""),
        ("10.128.0.0/9", "DE", ""),
        ("110.0.0.0/7", "JP", ""),
        ("112.0.0.0/5", "CN", ""),
        ("198.51.100.0/24", "ZA", ""),
        ("255.0.0.0/8", "FR", ""),
        ("2001:200::/23", "JP", ""),
        ("2400::/12", "CN", ""),
        ("2a00::/11", "DE", ""),
        ("fc00::/8", "US", ""),
    ])
}
