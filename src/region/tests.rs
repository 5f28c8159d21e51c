//! The source's tests of the routing function, the one it lacks, and the exhaustive table.

use super::*;

const H: Standing = Standing::Healthy;
const D: Standing = Standing::Degraded;
const F: Standing = Standing::Failed;
const X: Standing = Standing::Drained;

fn regions() -> Regions {
    Regions::new(["cn", "eu", "us"]).unwrap()
}

/// The source's boolean table: a region that is not named has failed.
fn table(up: &[&str]) -> HealthTable {
    let regions = regions();
    let mut table = HealthTable::new(3, F);
    for name in up {
        table.set_for_all(regions.find(name).unwrap(), H);
    }
    table
}

fn route_name(home: &str, up: &[&str]) -> Result<String, RouteError> {
    let regions = regions();
    route(home, &regions, &table(up)).map(|region| regions.name(region).to_owned())
}

#[test]
fn home_is_preferred_when_all_are_healthy() {
    for home in ["cn", "eu", "us"] {
        assert_eq!(route_name(home, &["cn", "eu", "us"]).unwrap(), home);
    }
}

#[test]
fn cn_falls_to_us_when_cn_and_eu_are_down() {
    assert_eq!(route_name("cn", &["us"]).unwrap(), "us");
}

#[test]
fn cn_falls_to_eu_first_when_eu_and_us_are_up() {
    assert_eq!(route_name("cn", &["eu", "us"]).unwrap(), "eu");
}

#[test]
fn eu_falls_to_cn_first_when_cn_and_us_are_up() {
    assert_eq!(route_name("eu", &["cn", "us"]).unwrap(), "cn");
}

#[test]
fn us_falls_to_eu_when_cn_is_down() {
    assert_eq!(route_name("us", &["eu"]).unwrap(), "eu");
}

#[test]
fn us_falls_to_cn_when_eu_is_down() {
    assert_eq!(route_name("us", &["cn"]).unwrap(), "cn");
}

/// The test that the source lacks: both candidates could win, and the scan starts at the head of the list.
#[test]
fn us_falls_to_cn_when_cn_and_eu_are_up() {
    assert_eq!(route_name("us", &["cn", "eu"]).unwrap(), "cn");
}

#[test]
fn cn_has_no_healthy_region_when_nothing_is_up() {
    assert_eq!(route_name("cn", &[]), Err(RouteError::NoHealthyRegion("cn".into())));
}

#[test]
fn an_empty_table_means_no_healthy_region() {
    let nothing = HealthTable::new(0, H);
    assert_eq!(route("eu", &regions(), &nothing), Err(RouteError::NoHealthyRegion("eu".into())));
}

#[test]
fn an_unknown_region_is_an_error_that_names_it_and_never_a_default() {
    assert_eq!(route_name("ap", &["cn"]), Err(RouteError::UnknownRegion("ap".into())));
}

#[test]
fn the_table_is_the_same_after_a_call() {
    let table = table(&["eu"]);
    let before = table.clone();
    route("cn", &regions(), &table).unwrap();
    assert_eq!(table, before);
}

#[test]
fn the_expanded_order_is_the_declared_list_without_home() {
    let regions = regions();
    let order = |home: &str| -> Vec<String> {
        let home = regions.find(home).unwrap();
        regions.fallback_of(home).map(|region| regions.name(region).to_owned()).collect()
    };
    assert_eq!(order("cn"), ["eu", "us"]);
    assert_eq!(order("eu"), ["cn", "us"]);
    assert_eq!(order("us"), ["cn", "eu"]);
}

fn decide_words(home: usize, standings: [Standing; 3], all_down: AllDown) -> (Chosen, &'static str) {
    let home = RegionId::new(home).unwrap();
    let decision = decide(home, &HealthTable::uniform(&standings), all_down);
    (decision.chosen, decision.reason.word())
}

fn one(index: usize) -> Chosen {
    Chosen::One(RegionId::new(index).unwrap())
}

#[test]
fn a_degraded_home_keeps_its_own_users_while_a_healthy_region_is_there() {
    assert_eq!(decide_words(0, [D, H, H], AllDown::Home), (one(0), "degraded"));
}

#[test]
fn others_users_go_to_a_healthy_region_before_an_earlier_degraded_one() {
    assert_eq!(decide_words(2, [D, H, F], AllDown::Home), (one(1), "fallback"));
    assert_eq!(decide_words(2, [D, D, F], AllDown::Home), (one(0), "degraded"));
}

#[test]
fn fail_open_gives_home_then_the_first_undrained_region_then_home_again() {
    assert_eq!(decide_words(1, [F, F, F], AllDown::Home), (one(1), "fail_open"));
    assert_eq!(decide_words(1, [X, X, F], AllDown::Home), (one(2), "fail_open"));
    assert_eq!(decide_words(1, [F, X, F], AllDown::Home), (one(0), "fail_open"));
    assert_eq!(decide_words(1, [X, X, X], AllDown::Home), (one(1), "fail_open"));
}

#[test]
fn fail_open_with_all_gives_every_undrained_region() {
    let undrained: RegionSet = [0, 2].into_iter().filter_map(RegionId::new).collect();
    assert_eq!(decide_words(1, [F, X, F], AllDown::All), (Chosen::Several(undrained), "fail_open"));
    assert_eq!(decide_words(1, [X, X, X], AllDown::All), (one(1), "fail_open"));
    assert_eq!(decide_words(1, [F, F, F], AllDown::Servfail), (Chosen::Nobody, "fail_open"));
}

#[test]
fn forced_down_counts_as_drained_when_nothing_is_able() {
    assert_eq!(decide_words(0, [Standing::ForcedDown, F, F], AllDown::Home), (one(1), "fail_open"));
}

#[test]
fn a_service_without_endpoints_at_home_fails_open_elsewhere() {
    assert_eq!(decide_words(0, [Standing::NoEndpoints, X, X], AllDown::Home), (one(1), "fail_open"));
}

#[test]
fn held_regions_are_tried_before_failing_open_home_first() {
    let held = Standing::Held;
    assert_eq!(decide_words(2, [held, H, held], AllDown::Home), (one(1), "fallback"));
    assert_eq!(decide_words(2, [held, F, held], AllDown::Home), (one(2), "home"));
    assert_eq!(decide_words(1, [held, F, held], AllDown::Servfail), (one(0), "fallback"));
}

#[test]
fn a_stale_copy_bars_a_region_for_one_home_only() {
    let mut table = HealthTable::uniform(&[F, H, H]);
    let [cn, eu, us] = [0, 1, 2].map(|index| RegionId::new(index).unwrap());
    table.set(cn, eu, Standing::StaleCopy);
    assert_eq!(decide(cn, &table, AllDown::Home).chosen, Chosen::One(us));
    assert_eq!(decide(eu, &table, AllDown::Home).chosen, Chosen::One(eu));
}

#[test]
fn the_trace_names_each_region_looked_at_and_why() {
    let [cn, eu, us] = [0, 1, 2].map(|index| RegionId::new(index).unwrap());
    let mut trace = Vec::new();
    let table = HealthTable::uniform(&[F, D, H]);
    decide_traced(cn, &table, AllDown::Home, &mut |step| trace.push((step.region, step.chosen, step.why)));
    assert_eq!(trace, [(cn, false, "failed"), (eu, false, "degraded"), (us, true, "fallback")]);
}

/// Every standing of every region, every home, every policy: 8 x 8 x 8 x 3 x 3, against the rules read off the page.
#[test]
fn the_exhaustive_table_of_three_regions_follows_the_rules() {
    for a in Standing::ALL {
        for b in Standing::ALL {
            for c in Standing::ALL {
                for home in 0..3 {
                    check_against_the_page(home, [a, b, c]);
                }
            }
        }
    }
}

/// An independent reading of the rules: filter and pick, instead of scanning.
fn check_against_the_page(home: usize, standings: [Standing; 3]) {
    let order: Vec<usize> = [0, 1, 2].into_iter().filter(|&region| region != home).collect();
    let with_home = || std::iter::once(home).chain(order.iter().copied());
    let first = |wanted: &[Standing]| order.iter().copied().find(|&r| wanted.contains(&standings[r]));
    let is = |region: usize, wanted: &[Standing]| wanted.contains(&standings[region]);
    let expected = if is(home, &[H, D]) {
        home
    } else if let Some(region) = first(&[H]).or_else(|| first(&[D])) {
        region
    } else if let Some(region) = with_home().find(|&r| is(r, &[Standing::Held])) {
        region
    } else if let Some(region) = with_home().find(|&r| is(r, &[F, Standing::StaleCopy])) {
        region
    } else if let Some(region) = with_home().find(|&r| !is(r, &[Standing::NoEndpoints])) {
        region
    } else {
        for all_down in [AllDown::Home, AllDown::All, AllDown::Servfail] {
            assert_eq!(decide_words(home, standings, all_down).0, Chosen::Nobody);
        }
        return;
    };
    assert_eq!(decide_words(home, standings, AllDown::Home).0, one(expected), "{home} {standings:?}");

    // The other policies differ only where nobody is able and nobody waits for a release.
    let last_resort = !standings.iter().any(|standing| [H, D, Standing::Held].contains(standing));
    let open: RegionSet =
        (0..3).filter(|&r| is(r, &[F, Standing::StaleCopy])).filter_map(RegionId::new).collect();
    let all = if last_resort && !open.is_empty() { Chosen::Several(open) } else { one(expected) };
    assert_eq!(decide_words(home, standings, AllDown::All).0, all, "{home} {standings:?}");
    let servfail = if last_resort { Chosen::Nobody } else { one(expected) };
    assert_eq!(decide_words(home, standings, AllDown::Servfail).0, servfail, "{home} {standings:?}");
}
