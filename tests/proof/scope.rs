//! Addresses inside one returned scope get one decision: a cache that keeps an answer for a whole scope is never wrong.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use waypost::dns::answer::{AnswerTable, HomeReply, Records, ServiceAnswers, Slot, TtlRule};
use waypost::dns::{View, Worker};
use waypost::health::Mono;
use waypost::region::RegionId;
use waypost::region::geo::{Network, Rules, Subnet};

use crate::world::{ZONE, ask, parts, plan, services, subnet};

/// Bits around which maps are made, so that networks meet, nest and touch what is special.
const SEEDS_V4: [u32; 5] = [0x0a00_0000, 0x1400_0000, 0x6440_0000, 0xc0a8_0000, 0xe000_0000];
const SEEDS_V6: [u128; 7] = [
    0x2a00 << 112,
    0x2002_1400 << 96,
    0x0064_ff9b << 96 | 0x1400_0000,
    0xffff_0a00_0000,
    0x2001_0000 << 96,
    0xfd00 << 112,
    0xfe80 << 112,
];

fn any_addr() -> impl Strategy<Value = IpAddr> {
    let v4 = (0..SEEDS_V4.len(), any::<u32>(), 0_u32..24)
        .prop_map(|(seed, noise, keep)| Ipv4Addr::from_bits(SEEDS_V4[seed] ^ (noise >> keep)).into());
    let v6 = (0..SEEDS_V6.len(), any::<u128>(), 4_u32..112)
        .prop_map(|(seed, noise, keep)| Ipv6Addr::from_bits(SEEDS_V6[seed] ^ (noise >> keep)).into());
    prop_oneof![v4, v6]
}

fn bits(addr: IpAddr) -> u8 {
    if addr.is_ipv4() { 32 } else { 128 }
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let network = (any_addr(), 0_u8..=128, 0_usize..3).prop_map(|(addr, len, home)| {
        (Network::around(addr, len % (bits(addr) + 1)).unwrap(), RegionId::new(home).unwrap())
    });
    prop::collection::vec(network, 0..12)
        .prop_map(|networks| Rules { networks, ..Rules::everybody(RegionId::new(2).unwrap()) })
}

/// A view whose service answers each home with an address of its own.
fn view(rules: &Rules) -> View {
    let specs = &services()[..1];
    let plan = plan(&["cn", "eu", "us"], &[], specs);
    let reply = |home: u8| HomeReply {
        records: Records::Addresses {
            v4: vec![Ipv4Addr::new(192, 0, 2, home)],
            v6: vec![Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, home.into())],
        },
        ttl: TtlRule { ttl_s: 30, min_s: 5, deadline: None },
        slot: Slot::default(),
    };
    let dns = parts(&plan, rules, true);
    View {
        zones: dns.zones,
        geo: dns.geo,
        answers: AnswerTable::new(vec![ServiceAnswers::encode(&[reply(0), reply(1), reply(2)]).into()]),
        settings: dns.settings,
    }
}

/// The home that answers, told by the address, and the scope.
fn decided(view: &View, peer: IpAddr, subnet: Subnet) -> (IpAddr, u8) {
    let question = (&*format!("www.{ZONE}"), 1);
    let wire = ask(view, &mut Worker::uncounted(), Mono(0), question, peer, Some(subnet));
    (wire.addresses()[0], wire.scope().unwrap())
}

/// Another address of the block of `len` bits around `addr`.
fn within(addr: IpAddr, len: u8, noise: u128) -> IpAddr {
    match addr {
        IpAddr::V4(addr) => {
            let host = u32::MAX.checked_shr(len.into()).unwrap_or(0);
            Ipv4Addr::from_bits(addr.to_bits() & !host | noise as u32 & host).into()
        }
        IpAddr::V6(addr) => {
            let host = u128::MAX.checked_shr(len.into()).unwrap_or(0);
            Ipv6Addr::from_bits(addr.to_bits() & !host | noise & host).into()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn addresses_inside_one_returned_scope_get_one_decision(
        rules in any_rules(),
        peer in any_addr(),
        clients in prop::collection::vec((any_addr(), 1_u8..=128, any::<[u128; 6]>()), 6),
    ) {
        let view = view(&rules);
        for (addr, source, noises) in clients {
            let source = source.min(bits(addr));
            let asked = subnet(addr, source);
            let (answer, scope) = decided(&view, peer, asked);
            prop_assert!(scope <= bits(addr));
            // The corners of the block, and places in it.
            for noise in noises.into_iter().chain([0, u128::MAX]) {
                let other = within(asked.addr, scope, noise);
                let whole = Subnet { addr: other, source: bits(addr) };
                let same = decided(&view, peer, whole);
                prop_assert_eq!(same.0, answer, "{:?} is in /{} of {:?}, from {}", other, scope, asked, peer);
            }
        }
    }

    #[test]
    fn a_plain_address_gets_what_its_own_subnet_gets(rules in any_rules(), peer in any_addr(), addr in any_addr()) {
        let view = view(&rules);
        let question = (&*format!("www.{ZONE}"), 1);
        let plain = ask(&view, &mut Worker::uncounted(), Mono(0), question, addr, None);
        let subnet = Subnet { addr, source: bits(addr) };
        if !view.geo.describe(Some(subnet), peer).by_sender {
            prop_assert_eq!(plain.addresses()[0], decided(&view, peer, subnet).0);
        }
        prop_assert_eq!(plain.ecs, None);
    }
}
