//! The wall clock is set: orders have their moments there, everything else has its own.

use super::*;

fn set(sim: &mut Sim, by_ms: i64) -> Outcome {
    sim.now.wall_ms += by_ms;
    sim.apply(Event::Tick);
    sim.outcomes.last().unwrap().clone()
}

#[test]
fn a_clock_set_back_before_a_drains_start_takes_it_out_of_force() {
    let mut sim = Sim::steady();
    let from_ms = Some(sim.now.wall_ms + 600_000);
    sim.order(vec![Entry { from_ms, ..entry(CN) }], vec![]);
    sim.pass(600);
    assert_eq!(sim.region_of(CN), "eu");
    set(&mut sim, -60_000);
    assert_eq!(sim.region_of(CN), "cn", "it has not begun");
    sim.pass(60);
    assert_eq!(sim.region_of(CN), "eu", "and begins again");
}

#[test]
fn a_clock_set_beyond_a_drains_end_ends_it() {
    let mut sim = Sim::steady();
    let until_ms = Some(sim.now.wall_ms + 600_000);
    sim.order(vec![Entry { until_ms, ..entry(CN) }], vec![]);
    let outcome = set(&mut sim, 3_600_000);
    assert_eq!(outcome.changes, [Change::Clock]);
    assert_eq!(sim.region_of(CN), "cn");
}

#[test]
fn what_is_kept_up_to_a_moment_is_dated_anew_when_the_clock_is_set() {
    let mut sim = Sim::steady();
    let from_ms = Some(sim.now.wall_ms + 7_200_000);
    sim.order(vec![Entry { from_ms, ..entry(CN) }], vec![]);
    let outcome = set(&mut sim, -3_000);
    assert_eq!(outcome.touched.len(), 1, "its answers hold a moment of the other clock");
    assert!(outcome.turns.is_empty());
    assert!(set(&mut sim, 0).is_empty(), "once");
}

#[test]
fn a_clock_that_is_only_kept_in_step_ends_and_begins_nothing() {
    let mut sim = Sim::steady();
    let from_ms = sim.now.wall_ms + 600_000;
    sim.order(vec![Entry { from_ms: Some(from_ms), ..entry(CN) }], vec![]);
    sim.pass(600);
    let serial = sim.model.serial();
    for by_ms in [-400, 300, -390, 480, -100] {
        set(&mut sim, by_ms);
        assert_eq!((sim.region_of(CN).as_str(), sim.model.serial()), ("eu", serial), "{by_ms} ms");
        assert!(sim.model.wall_ms() >= from_ms, "the states' moment does not go back");
    }
}

#[test]
fn without_scheduled_orders_a_set_clock_is_nothing() {
    let mut sim = Sim::steady();
    sim.order(vec![entry(CN)], vec![]);
    assert!(set(&mut sim, 86_400_000).is_empty());
}
