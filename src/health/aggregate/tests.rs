use proptest::prelude::*;

use super::*;

const FAIL: Impact = Impact::Fail;
const DEGRADE: Impact = Impact::Degrade;

fn v4<const N: usize>(checks: [(Level, Impact); N]) -> EndpointInput<[(Level, Impact); N]> {
    EndpointInput { v4: true, checks }
}

fn v6<const N: usize>(checks: [(Level, Impact); N]) -> EndpointInput<[(Level, Impact); N]> {
    EndpointInput { v4: false, checks }
}

fn endpoint(v4: bool, level: Level) -> EndpointInput<[(Level, Impact); 1]> {
    EndpointInput { v4, checks: [(level, FAIL)] }
}

/// A region of `n` IPv4 endpoints, `down` of them down.
fn of_which_down(n: usize, down: usize, up_share: f64) -> Sum {
    let level = |index| if index < down { Level::Down } else { Level::Up };
    sum((0..n).map(|index| endpoint(true, level(index))), [], up_share)
}

#[test]
fn a_region_where_all_is_up_or_not_yet_probed_is_healthy() {
    let sum = sum(
        [
            v4([(Level::Up, FAIL), (Level::Unprobed, FAIL)]),
            v6([(Level::Unprobed, FAIL), (Level::Up, DEGRADE)]),
        ],
        [(Level::Unprobed, FAIL), (Level::Up, FAIL)],
        1.0,
    );
    assert_eq!(sum, Sum { state: Probed::Healthy, up: vec![true, true], cause: None });
}

#[test]
fn a_service_without_endpoints_and_checks_is_healthy() {
    let sum = sum(std::iter::empty::<EndpointInput<[(Level, Impact); 0]>>(), [], 1.0);
    assert_eq!(sum, Sum { state: Probed::Healthy, up: vec![], cause: None });
}

#[test]
fn a_region_whose_database_is_down_has_failed_though_its_web_servers_are_up() {
    let sum = sum([v4([(Level::Up, FAIL)])], [(Level::Up, FAIL), (Level::Down, FAIL)], 0.5);
    assert_eq!(sum.state, Probed::Failed);
    assert_eq!(sum.cause, Some(Cause::RegionCheck { check: 1, level: Level::Down }));
    assert_eq!(sum.up, [true], "who is up is told all the same: an operator may force the region up");
}

#[test]
fn a_region_check_that_may_only_degrade_only_degrades() {
    for level in [Level::Down, Level::Degraded] {
        let sum = sum([v4([(Level::Up, FAIL)])], [(level, DEGRADE)], 0.5);
        assert_eq!(sum.state, Probed::Degraded);
        assert_eq!(sum.cause, Some(Cause::RegionCheck { check: 0, level }));
    }
}

#[test]
fn a_dead_endpoint_leaves_the_answer_and_degrades_its_region() {
    let sum = of_which_down(2, 1, 0.5);
    assert_eq!(sum.state, Probed::Degraded);
    assert_eq!(sum.up, [false, true]);
    assert_eq!(sum.cause, Some(Cause::EndpointCheck { endpoint: 0, check: 0, level: Level::Down }));
}

#[test]
fn a_slow_endpoint_stays_in_the_answer_and_degrades_its_region() {
    let sum = sum([v4([(Level::Up, FAIL)]), v4([(Level::Degraded, FAIL)])], [], 1.0);
    assert_eq!((sum.state, sum.up), (Probed::Degraded, vec![true, true]));
    assert_eq!(sum.cause, Some(Cause::EndpointCheck { endpoint: 1, check: 0, level: Level::Degraded }));
}

#[test]
fn an_endpoint_whose_degrading_check_is_down_stays_in_the_answer() {
    let sum = sum([v4([(Level::Up, FAIL), (Level::Down, DEGRADE)])], [], 1.0);
    assert_eq!((sum.state, sum.up), (Probed::Degraded, vec![true]));
    assert_eq!(sum.cause, Some(Cause::EndpointCheck { endpoint: 0, check: 1, level: Level::Down }));
}

#[test]
fn a_dead_endpoint_is_named_rather_than_a_slow_one_before_it() {
    let sum = sum([v4([(Level::Degraded, FAIL)]), v4([(Level::Down, FAIL)])], [], 0.5);
    assert_eq!(sum.cause, Some(Cause::EndpointCheck { endpoint: 1, check: 0, level: Level::Down }));
}

#[test]
fn one_family_below_its_share_fails_the_region_though_the_other_is_whole() {
    let endpoints = [(true, Level::Up), (true, Level::Up), (false, Level::Down), (false, Level::Down)];
    let sum = sum(endpoints.map(|(v4, level)| endpoint(v4, level)), [], 0.5);
    assert_eq!(sum.state, Probed::Failed);
    assert_eq!(sum.cause, Some(Cause::Family { v4: false, up: 0, needed: 1, of: 2 }));
    assert_eq!(sum.up, [true, true, false, false]);
}

#[test]
fn a_family_that_the_region_lacks_fails_nothing() {
    assert_eq!(sum([endpoint(false, Level::Up)], [], 1.0).state, Probed::Healthy);
    assert_eq!(sum([endpoint(true, Level::Up)], [], 1.0).state, Probed::Healthy);
}

#[test]
fn at_least_one_endpoint_is_needed_however_small_the_share() {
    assert_eq!(of_which_down(5, 5, 0.01).cause, Some(Cause::Family { v4: true, up: 0, needed: 1, of: 5 }));
    assert_eq!(of_which_down(5, 4, 0.01).state, Probed::Degraded);
}

#[test]
fn how_many_endpoints_a_share_asks_for() {
    // For n = 1 to 8.
    let table: [(f64, [usize; 8]); 7] = [
        (0.01, [1, 1, 1, 1, 1, 1, 1, 1]),
        (0.25, [1, 1, 1, 1, 2, 2, 2, 2]),
        (0.3, [1, 1, 1, 2, 2, 2, 3, 3]),
        (0.5, [1, 1, 2, 2, 3, 3, 4, 4]),
        (0.6, [1, 2, 2, 3, 3, 4, 5, 5]),
        (0.75, [1, 2, 3, 3, 4, 5, 6, 6]),
        (1.0, [1, 2, 3, 4, 5, 6, 7, 8]),
    ];
    for (share, wanted) in table {
        let got: Vec<usize> = (1..=8).map(|n| needed(share, n)).collect();
        assert_eq!(got, wanted, "share {share}");
        for (n, &needed) in (1..=8).zip(&wanted) {
            for down in 0..=n {
                let failed = of_which_down(n, down, share).state == Probed::Failed;
                assert_eq!(failed, n - down < needed, "{down} of {n} down, share {share}");
            }
        }
    }
}

#[test]
fn a_share_typed_as_a_decimal_is_not_rounded_up_by_its_last_bit() {
    for (share, of, wanted) in [
        (0.1, 10, 1),
        (0.2, 5, 1),
        (0.3, 10, 3),
        (0.7, 10, 7),
        (0.07, 100, 7),
        (0.29, 100, 29),
        (0.57, 100, 57),
        (0.6666666666666666, 3, 2),
        (0.6667, 3, 3),
        (0.3333333333333333, 3, 1),
        (0.55, 20, 11),
        (0.001, 1000, 1),
        (0.0011, 1000, 2),
    ] {
        assert_eq!(needed(share, of), wanted, "{share} of {of}");
    }
}

#[test]
fn a_share_beyond_its_range_is_taken_as_the_nearest_end() {
    assert_eq!(needed(7.0, 4), 4);
    assert_eq!(needed(f64::INFINITY, 4), 4);
    assert_eq!(needed(-1.0, 4), 1);
    assert_eq!(needed(f64::NAN, 4), 1);
    assert_eq!(needed(0.5, 0), 0);
}

fn any_check() -> impl Strategy<Value = (Level, Impact)> {
    let level = prop::sample::select(vec![Level::Unprobed, Level::Up, Level::Degraded, Level::Down]);
    (level, prop::sample::select(vec![FAIL, DEGRADE]))
}

type Checks = Vec<(Level, Impact)>;

fn any_region() -> impl Strategy<Value = (Vec<(bool, Checks)>, Checks, f64)> {
    let endpoint = (any::<bool>(), prop::collection::vec(any_check(), 0..4));
    let share = (1_u32..=100).prop_map(|percent| f64::from(percent) / 100.0);
    (prop::collection::vec(endpoint, 0..9), prop::collection::vec(any_check(), 0..4), share)
}

fn sum_of(endpoints: &[(bool, Checks)], region: &Checks, share: f64) -> Sum {
    let endpoints =
        endpoints.iter().map(|(v4, checks)| EndpointInput { v4: *v4, checks: checks.iter().copied() });
    sum(endpoints, region.iter().copied(), share)
}

proptest! {
    #[test]
    fn a_hundredth_of_anything_is_what_integers_say(percent in 1_u64..=100, of in 1_usize..5_000) {
        let exact = (percent as usize * of).div_ceil(100).max(1);
        prop_assert_eq!(needed(percent as f64 / 100.0, of), exact);
        let typed: f64 = format!("0.{percent:02}").parse().unwrap();
        if percent < 100 {
            prop_assert_eq!(needed(typed, of), exact);
        }
    }

    #[test]
    fn any_share_asks_for_the_least_that_reaches_it(share in 0.0_f64..=1.0, of in 1_usize..100_000) {
        let needed = needed(share, of);
        prop_assert!((1..=of).contains(&needed));
        prop_assert!(needed as f64 / of as f64 >= share);
        prop_assert!(needed == 1 || ((needed - 1) as f64 / of as f64) < share);
    }

    #[test]
    fn the_sum_is_what_the_rules_say((endpoints, region, share) in any_region()) {
        let sum = sum_of(&endpoints, &region, share);
        let out = |checks: &Checks| checks.contains(&(Level::Down, FAIL));
        let wanted_up: Vec<bool> = endpoints.iter().map(|(_, checks)| !out(checks)).collect();
        prop_assert_eq!(&sum.up, &wanted_up);

        let too_few = [true, false].into_iter().any(|v4| {
            let family = endpoints.iter().zip(&sum.up).filter(|((family, _), _)| *family == v4);
            let up: Vec<bool> = family.map(|(_, &up)| up).collect();
            up.iter().filter(|&&up| up).count() < needed(share, up.len())
        });
        let failed = out(&region) || too_few;
        let mut every = region.iter().chain(endpoints.iter().flat_map(|(_, checks)| checks));
        let flawed = every.any(|(level, _)| matches!(level, Level::Degraded | Level::Down));
        let wanted = if failed { Probed::Failed } else if flawed { Probed::Degraded } else { Probed::Healthy };
        prop_assert_eq!(sum.state, wanted);
        prop_assert_eq!(sum.cause.is_none(), wanted == Probed::Healthy);
    }

    #[test]
    fn a_check_that_gets_worse_never_improves_its_region(
        (endpoints, region, share) in any_region(),
        pick in any::<prop::sample::Index>(),
    ) {
        let mut worse = endpoints.clone();
        let mut checks: Vec<&mut (Level, Impact)> =
            worse.iter_mut().flat_map(|(_, checks)| checks.iter_mut()).collect();
        prop_assume!(!checks.is_empty());
        let index = pick.index(checks.len());
        checks[index].0 = Level::Down;
        prop_assert!(sum_of(&worse, &region, share).state >= sum_of(&endpoints, &region, share).state);
    }
}
