use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::thread;

use proptest::prelude::*;

use super::*;

const KEY: [u64; 4] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 7];

fn rule(per_second: u32, burst: u32) -> Rule {
    Rule::new(per_second, burst, false, &[])
}

fn default_rule() -> Rule {
    rule(1000, 2500)
}

fn v4(bits: u32) -> IpAddr {
    Ipv4Addr::from_bits(bits).into()
}

fn network(text: &str) -> Network {
    text.parse().unwrap()
}

/// How many of `count` answers to `peer` pass at that moment.
fn passed(table: &Table, rule: &Rule, peer: IpAddr, now_ms: u64, count: usize) -> usize {
    (0..count).filter(|_| table.admit(rule, peer, Mono(now_ms))).count()
}

/// A generator good enough to spread sources (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[test]
fn an_address_gets_its_burst_at_once_and_then_its_rate() {
    let (table, rule, peer) = (Table::new(KEY), default_rule(), v4(0xc000_0201));
    assert_eq!(passed(&table, &rule, peer, 0, 10_000), 2500);
    for second in 1..=5 {
        assert_eq!(passed(&table, &rule, peer, second * 1000, 10_000), 1000, "second {second}");
    }
    assert_eq!(passed(&table, &rule, peer, 7_500, 10_000), 2500, "2.5 s of rest give the whole burst back");
    assert_eq!(
        passed(&table, &rule, peer, 7_600, 10_000),
        100,
        "and a tenth of a second a tenth of the rate"
    );
}

#[test]
fn what_is_limited_costs_nothing_so_that_a_flood_does_not_shut_its_source_out() {
    let (table, rule, peer) = (Table::new(KEY), rule(10, 10), v4(1));
    let mut total = 0;
    for now_ms in 0..10_000 {
        total += passed(&table, &rule, peer, now_ms, 20);
    }
    assert_eq!(total, 10 + 99, "the burst, and ten a second for 9.999 s");
}

#[test]
fn each_wider_prefix_has_its_multiple_of_an_addresss_rate() {
    let rule = rule(10, 10);
    for (len, multiple) in V4_PREFIXES {
        let table = Table::new(KEY);
        // As many addresses as the prefix has, or enough to use it up, spread over the next narrower prefixes.
        let count = (1_u32 << (32 - len)).min(20_000);
        let stride = (1_u32 << (32 - len)) / count;
        let total: usize =
            (0..count).map(|host| passed(&table, &rule, v4(0x0a00_0000 + host * stride), 0, 10)).sum();
        // Prices are rounded up: at most one answer less.
        assert!((10 * multiple - 1..=10 * multiple).contains(&(total as u64)), "/{len}: {total}");
    }
    for (len, multiple) in V6_PREFIXES {
        let table = Table::new(KEY);
        // 200 networks of the next narrower length.
        let step = V6_PREFIXES.iter().map(|(narrower, _)| *narrower).filter(|narrower| *narrower > len).min();
        let sources = if len == 128 { 1 } else { 200_u128 };
        let base = 0x2001_0db8_u128 << 96;
        let peer = |n: u128| IpAddr::from(Ipv6Addr::from_bits(base + (n << (128 - step.unwrap_or(128)))));
        let total: usize = (0..sources).map(|n| passed(&table, &rule, peer(n), 0, 10)).sum();
        assert!((10 * multiple - 1..=10 * multiple).contains(&(total as u64)), "/{len}: {total}");
    }
}

#[test]
fn a_resolver_may_ask_once_for_each_of_thousands_of_subnets() {
    // What is asked is no argument at all; a thousand questions a second go on for ever, 2,500 may come at once.
    let (table, rule, peer) = (Table::new(KEY), default_rule(), v4(0x0808_0808));
    for now_ms in 0..60_000 {
        assert!(table.admit(&rule, peer, Mono(now_ms)), "at {now_ms} ms");
    }
    assert_eq!(passed(&table, &rule, peer, 62_500, 5_000), 2_500);
    // A farm of resolvers in one /24: 5,000 a second from eight addresses, evenly, for ten seconds.
    for query in 0..50_000_u64 {
        let peer = v4(0x0101_0100 + (query % 8) as u32);
        assert!(table.admit(&rule, peer, Mono(100_000 + query / 5)), "query {query}");
    }
}

#[test]
fn five_thousand_sources_of_twenty_queries_a_second_are_left_alone() {
    let (table, rule) = (Table::new(KEY), default_rule());
    let mut random = Random(5);
    let sources: Vec<IpAddr> = (0..5_000).map(|_| v4(random.next() as u32)).collect();
    for now_ms in (0..10_000).step_by(50) {
        assert!(sources.iter().all(|peer| table.admit(&rule, *peer, Mono(now_ms))), "at {now_ms} ms");
    }
}

#[test]
fn two_workers_share_one_limit_to_the_last_answer() {
    for round in 0..20 {
        let (table, rule) = (Table::new([round, 1, 2, 3]), rule(1000, 1000));
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    total.fetch_add(passed(&table, &rule, v4(9), 0, 2_000), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(total.into_inner(), 1000);
    }
}

#[test]
fn an_ipv4_client_on_an_ipv6_socket_is_the_same_client() {
    let (table, rule) = (Table::new(KEY), rule(10, 10));
    let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().into();
    assert_eq!(passed(&table, &rule, mapped, 0, 6), 6);
    assert_eq!(passed(&table, &rule, Ipv4Addr::new(192, 0, 2, 1).into(), 0, 6), 4);
}

#[test]
fn exempt_sources_are_never_limited_and_use_up_nobodys_share() {
    let exempt =
        ["192.0.2.0/26", "192.0.2.16/28", "0.0.0.0/32", "2001:db8::/32", "2001:db8:1::/48"].map(network);
    let rule = Rule::new(10, 10, false, &exempt);
    let table = Table::new(KEY);
    for peer in ["192.0.2.0", "192.0.2.17", "192.0.2.63", "0.0.0.0", "2001:db8:ffff::1", "::ffff:192.0.2.9"] {
        assert_eq!(passed(&table, &rule, peer.parse().unwrap(), 0, 1_000), 1_000, "{peer}");
    }
    for peer in ["192.0.2.64", "192.0.1.255", "0.0.0.1", "2001:db7::1", "2001:db9::1", "::192.0.2.9"] {
        assert_eq!(passed(&table, &rule, peer.parse().unwrap(), 0, 1_000), 10, "{peer}");
    }
    let all = Rule::new(1, 1, false, &["0.0.0.0/0", "::/0"].map(network));
    assert_eq!(passed(&table, &all, "203.0.113.1".parse().unwrap(), 0, 9), 9);
    assert_eq!(passed(&table, &all, "2001:db8::".parse().unwrap(), 0, 9), 9);
}

#[test]
fn a_reload_keeps_what_was_used_up_but_no_debt_beyond_the_new_burst() {
    let (table, peer) = (Table::new(KEY), v4(77));
    // A million at one a second: eleven days of debt.
    let generous = rule(1, 1_000_000);
    assert_eq!(passed(&table, &generous, peer, 0, 1_100_000), 1_000_000);
    let usual = default_rule();
    assert_eq!(passed(&table, &usual, peer, 0, 100), 0, "the counters are still there");
    assert_eq!(passed(&table, &usual, peer, 1_000, 5_000), 1_000);
    assert_eq!(passed(&table, &usual, peer, 3_500, 5_000), 2_500);
}

#[test]
fn a_worker_whose_clock_is_behind_gives_nothing_away() {
    let (table, rule, peer) = (Table::new(KEY), rule(100, 100), v4(5));
    assert_eq!(passed(&table, &rule, peer, 10_000, 500), 100);
    assert_eq!(passed(&table, &rule, peer, 9_990, 500), 0);
    assert_eq!(passed(&table, &rule, peer, 9_000, 500), 0);
    assert_eq!(passed(&table, &rule, peer, 10_000, 500), 0, "and has not given anything back");
}

#[test]
fn numbers_at_the_ends_of_their_range_are_limits_too() {
    for (per_second, burst) in [(1, 1), (1, 1_000_000), (1_000_000, 1_000_000), (0, 0), (u32::MAX, u32::MAX)]
    {
        let (table, rule) = (Table::new(KEY), rule(per_second, burst));
        for now_ms in [0, 1, u64::MAX / 2, u64::MAX] {
            let _ = table.admit(&rule, v4(1), Mono(now_ms));
        }
        let most = burst.clamp(1, 1_000_000) as usize;
        assert!(passed(&Table::new(KEY), &rule, v4(1), 0, most) == most, "{per_second}, {burst}");
    }
}

/// How many sources of a hundred thousand, five queries a second each, are limited though they keep to their rate,
/// while `flooded` others send far too much.
fn falsely_limited(flooded: usize) -> usize {
    let (table, rule) = (Table::new(KEY), default_rule());
    let mut random = Random(11);
    let mut sources = |count: usize| -> Vec<IpAddr> {
        (0..count)
            .map(|_| match random.next() {
                bits if bits & 1 == 0 => v4((bits >> 32) as u32),
                bits => Ipv6Addr::from_bits(u128::from(bits) << 64 | u128::from(random.next())).into(),
            })
            .collect()
    };
    let (honest, forged) = (sources(100_000), sources(flooded));
    let mut limited = vec![false; honest.len()];
    for now_ms in (0..1_000).step_by(200) {
        for peer in &forged {
            passed(&table, &rule, *peer, now_ms, if now_ms == 0 { 2_600 } else { 300 });
        }
        for (peer, limited) in honest.iter().zip(&mut limited) {
            *limited |= !table.admit(&rule, *peer, Mono(now_ms));
        }
    }
    limited.iter().filter(|limited| **limited).count()
}

#[test]
fn among_a_hundred_thousand_sources_collisions_limit_next_to_nobody() {
    assert_eq!(falsely_limited(0), 0);
    // Expected: an honest source has four or five counters, and each is one of the 100 full ones of 2^19 with a
    // chance of 100 / 2^19: 0.09 % of them.
    let limited = falsely_limited(100);
    assert!((20..300).contains(&limited), "{limited} of 100,000");
}

#[test]
fn which_prefixes_collide_depends_on_the_key() {
    let rule = rule(1, 1);
    let victims = |key: [u64; 4]| -> Vec<u32> {
        let table = Table::new(key);
        for attacker in 0..20_000_u32 {
            table.admit(&rule, v4(attacker << 16), Mono(0));
        }
        (0..2_000).filter(|host| !table.admit(&rule, v4(host << 20 | 0x8000), Mono(0))).collect()
    };
    let (one, other) = (victims(KEY), victims([1, 2, 3, 4]));
    assert!(!one.is_empty() && !other.is_empty() && one != other, "{one:?} {other:?}");
}

/// First address and length.
type Prefix = (IpAddr, u8);

fn prefix(peer: IpAddr, len: u8) -> Prefix {
    (Network::around(peer, len).unwrap().addr, len)
}

/// Sources that share prefixes of every length, and some that do not.
fn sources() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        (0..2_u32, 0..2_u32, 0..3_u32, 0..3_u32).prop_map(|(a, b, c, d)| v4(a << 20 | b << 12 | c << 8 | d)),
        (0..2_u128, 0..2_u128, 0..3_u128).prop_map(|(a, b, c)| {
            Ipv6Addr::from_bits(0x2001_0db8_u128 << 96 | a << 80 | b << 64 | c).into()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bound, over every window that begins and ends with a passed answer (no other can be worse): at most
    /// `burst + rate × t`, times the multiple, for every prefix of every source, collisions or not.
    #[test]
    fn over_any_window_at_most_rate_times_time_and_a_burst_pass_for_any_prefix(
        per_second in 1..200_u32,
        more in 0..100_u32,
        queries in prop::collection::vec((sources(), 0..40_u64, 1..40_usize), 1..40),
        key in any::<[u64; 4]>(),
    ) {
        let burst = per_second + more;
        let (table, rule) = (Table::new(key), rule(per_second, burst));
        let mut passed_at: BTreeMap<Prefix, (u64, Vec<u64>)> = BTreeMap::new();
        let mut now_ms = 0;
        for (peer, pause_ms, count) in queries {
            now_ms += pause_ms;
            let passed = passed(&table, &rule, peer, now_ms, count);
            let prefixes: &[(u8, u64)] = if peer.is_ipv4() { &V4_PREFIXES } else { &V6_PREFIXES };
            for (len, multiple) in prefixes {
                let (_, moments) = passed_at.entry(prefix(peer, *len)).or_insert((*multiple, Vec::new()));
                moments.extend(std::iter::repeat_n(now_ms, passed));
            }
        }
        for (multiple, moments) in passed_at.values() {
            for (first, from_ms) in moments.iter().enumerate() {
                for (last, until_ms) in moments.iter().enumerate().skip(first) {
                    let passed = (last - first + 1) as u64;
                    let most = u64::from(burst) * 1000 + u64::from(per_second) * (until_ms - from_ms);
                    prop_assert!(passed * 1000 <= most * multiple);
                }
            }
        }
    }

    /// Nobody who keeps to the rate is limited while the table holds few others.
    #[test]
    fn a_source_that_keeps_to_its_rate_is_never_limited(
        per_second in 1..1000_u32,
        burst in 1..50_u32,
        offset_ms in 0..1000_u64,
    ) {
        let (table, rule) = (Table::new(KEY), rule(per_second, burst));
        let gap_ms = 1000_u64.div_ceil(per_second.into());
        for query in 0..200 {
            prop_assert!(table.admit(&rule, v4(42), Mono(offset_ms + query * gap_ms)));
        }
    }
}
