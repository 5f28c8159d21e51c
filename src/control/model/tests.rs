//! Outages, drains and releases under a moved clock.

use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::config::admin::{Entry, Forced, Glob};
use crate::control::derive::TtlBecause;
use crate::control::journal::homes;
use crate::control::plan::{Check, EndpointPlan, RegionPlan, ServicePlan};
use crate::health::{Evidence, Impact};
use crate::region::{AllDown, Reason};

const OK: Verdict = Verdict::Ok;
const DOWN: Verdict = Verdict::Failed(Evidence::Plain);
const READ_ONLY: Verdict = Verdict::Failed(Evidence::Explicit);

const CN: RegionId = region(0);
const EU: RegionId = region(1);
const US: RegionId = region(2);

const fn region(index: usize) -> RegionId {
    match RegionId::new(index) {
        Some(region) => region,
        None => panic!("a region"),
    }
}

/// One service in three regions, two addresses each, a web check per address and a database check per region.
fn plan() -> Plan {
    let mut plan = Plan {
        regions: ["cn", "eu", "us"].map(str::to_owned).to_vec(),
        manual_failback: vec![false; 3],
        ..Plan::default()
    };
    let mut regions = Vec::new();
    for region in plan.region_ids() {
        let mut endpoints = Vec::new();
        for host in [11, 12] {
            let address = IpAddr::from([192, 0, 2 + region.index() as u8, host]);
            endpoints.push(EndpointPlan { address, checks: vec![plan.checks.len() as u32] });
            let check = Check { probe: "web".into(), region, address: Some(address), impact: Impact::Fail };
            plan.checks.push(check);
        }
        let checks = vec![plan.checks.len() as u32];
        plan.checks.push(Check { probe: "db".into(), region, address: None, impact: Impact::Fail });
        regions.push(Some(RegionPlan { endpoints, cname: None, checks }));
    }
    plan.services.push(ServicePlan {
        name: "www.gslb.example.com".into(),
        ttl_s: 30,
        ttl_min_s: 5,
        all_down: AllDown::Home,
        up_share: 0.5,
        regions,
    });
    plan
}

fn damping() -> Damping {
    Damping {
        fall: 3,
        rise: 3,
        cooldown: Duration::from_secs(90),
        grace: Duration::ZERO,
        interval: Duration::from_secs(5),
        fast_interval: Duration::from_secs(1),
    }
}

/// A model with a clock that only the test moves.
struct Sim {
    model: Model,
    now: Now,
    outcomes: Vec<Outcome>,
}

impl Sim {
    fn new(plan: Plan) -> Self {
        let now = Now { mono: Mono(1_000), wall_ms: 1_796_000_000_000 };
        let damping = vec![damping(); plan.checks.len()];
        let load = Load { plan, damping, orders: AdminFile::default() };
        let model = Model::new(load, &Remembered::default(), now);
        Self { model, now, outcomes: Vec::new() }
    }

    /// All checks good until nothing is warming any more.
    fn steady() -> Self {
        let mut sim = Self::new(plan());
        sim.rounds(3, |_| OK);
        sim
    }

    fn pass(&mut self, seconds: u64) {
        self.now.mono.0 += seconds * 1000;
        self.now.wall_ms += seconds as i64 * 1000;
        self.apply(Event::Tick);
    }

    fn apply(&mut self, event: Event) {
        let outcome = self.model.apply(self.now, event);
        self.outcomes.push(outcome);
    }

    /// Each check runs once, a second after the last round.
    fn rounds(&mut self, count: u32, verdict: impl Fn(&Check) -> Verdict) {
        for _ in 0..count {
            self.pass(1);
            let plan = Arc::clone(self.model.plan());
            for (index, check) in (0..).zip(&plan.checks) {
                self.apply(Event::Observed { check: index, verdict: verdict(check) });
            }
        }
    }

    fn order(&mut self, drains: Vec<Entry>, forces: Vec<(Entry, Forced)>) {
        self.apply(Event::Orders(AdminFile { drains, forces, ..AdminFile::default() }));
    }

    fn served(&self, home: RegionId) -> (String, Reason, u32) {
        let plan = self.model.plan();
        let state = &self.model.states()[0];
        let decided = &state.homes[home.index()];
        let word = crate::control::derive::chosen_word(plan, decided.decision.chosen);
        (word.to_owned(), decided.decision.reason, decided.ttl.ttl_s)
    }

    fn region_of(&self, home: RegionId) -> String {
        self.served(home).0
    }

    fn because(&self, home: RegionId) -> TtlBecause {
        self.model.states()[0].homes[home.index()].ttl.because
    }

    fn addresses(&self, home: RegionId) -> usize {
        homes(self.model.plan(), 0, &self.model.states()[0])[self.model.plan().region_name(home)]
            .addresses
            .len()
    }
}

fn entry(region: RegionId) -> Entry {
    Entry { line: 1, region, service: None, from_ms: None, until_ms: None, reason: "test".into() }
}

fn web_of(region: RegionId) -> impl Fn(&Check) -> bool {
    move |check| check.probe == "web" && check.region == region
}

#[test]
fn everybody_is_at_home_while_all_is_well() {
    let sim = Sim::steady();
    for (home, name) in [(CN, "cn"), (EU, "eu"), (US, "us")] {
        assert_eq!(sim.served(home), (name.to_owned(), Reason::Home, 30));
    }
}

#[test]
fn the_ttl_is_short_until_each_check_has_run_fall_times() {
    let mut sim = Sim::new(plan());
    sim.rounds(2, |_| OK);
    assert_eq!((sim.served(CN).2, sim.because(CN)), (5, TtlBecause::Warming));
    sim.rounds(1, |_| OK);
    assert_eq!((sim.served(CN).2, sim.because(CN)), (30, TtlBecause::Steady));
}

#[test]
fn when_cns_web_dies_its_users_go_to_eu_while_us_is_up_too() {
    let mut sim = Sim::steady();
    let cn = web_of(CN);
    let verdict = |check: &Check| if cn(check) { DOWN } else { OK };
    sim.rounds(1, verdict);
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 5), "ttl_min from the first bad result on");
    assert_eq!(sim.because(CN), TtlBecause::Pending);
    sim.rounds(2, verdict);
    assert_eq!(sim.served(CN), ("eu".to_owned(), Reason::Fallback, 5), "eu before us, though both are up");
    assert_eq!(sim.region_of(US), "us");
}

#[test]
fn users_return_only_after_rise_and_cooldown() {
    let mut sim = Sim::steady();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.rounds(60, |_| OK);
    assert_eq!(sim.region_of(CN), "eu", "rise was reached long ago, the cooldown was not");
    sim.rounds(31, |_| OK);
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 30));
}

#[test]
fn a_dead_endpoint_leaves_the_answer_and_its_region_stays() {
    let mut sim = Sim::steady();
    let first = IpAddr::from([192, 0, 2, 11]);
    sim.rounds(3, |check| if check.address == Some(first) { DOWN } else { OK });
    assert_eq!((sim.region_of(CN), sim.addresses(CN)), ("cn".to_owned(), 1));
    assert_eq!(sim.served(CN).1, Reason::Degraded);
    assert_eq!(sim.addresses(EU), 2);
}

#[test]
fn a_degraded_region_takes_others_users_only_when_nobody_is_healthy() {
    let mut sim = Sim::steady();
    let cn_web = IpAddr::from([192, 0, 2, 11]);
    let eu = web_of(EU);
    sim.rounds(3, |check| if check.address == Some(cn_web) || eu(check) { DOWN } else { OK });
    assert_eq!(sim.region_of(EU), "us", "cn comes first in the list, but it is degraded");
}

#[test]
fn a_read_only_database_takes_its_region_out_after_two_results() {
    let mut sim = Sim::steady();
    let verdict = |check: &Check| if check.probe == "db" && check.region == CN { READ_ONLY } else { OK };
    sim.rounds(1, verdict);
    assert_eq!(sim.region_of(CN), "cn");
    sim.rounds(1, verdict);
    assert_eq!(sim.region_of(CN), "eu");
}

#[test]
fn a_probe_that_cannot_work_takes_nobody_out() {
    let mut sim = Sim::steady();
    sim.rounds(50, |check| if check.region == CN { Verdict::Unknown } else { OK });
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 30));
}

#[test]
fn all_regions_failing_at_once_waits_half_a_minute_then_fails_open_at_home() {
    let mut sim = Sim::steady();
    sim.rounds(3, |_| DOWN);
    assert!(sim.model.storm(), "the second and third turn are put off");
    assert_eq!(sim.region_of(EU), "eu", "the previous state holds");
    assert_eq!(sim.served(EU).2, 5);
    sim.rounds(29, |_| DOWN);
    assert_eq!(sim.region_of(EU), "eu");
    sim.rounds(2, |_| DOWN);
    assert!(!sim.model.storm());
    for (home, name) in [(CN, "cn"), (EU, "eu"), (US, "us")] {
        assert_eq!(sim.served(home), (name.to_owned(), Reason::FailOpen, 5));
        assert_eq!(sim.addresses(home), 2, "the full address set");
    }
}

#[test]
fn a_put_off_turn_that_is_no_longer_true_never_happens() {
    let mut sim = Sim::steady();
    sim.rounds(3, |check| if check.probe == "db" && check.region != US { DOWN } else { OK });
    assert_eq!(sim.region_of(CN), "eu", "cn's turn is published, eu's is put off");
    sim.rounds(29, |_| OK);
    assert!(sim.model.storm(), "eu's database is in its cooldown: the turn is still true, and still waits");
    let turned = |sim: &Sim| sim.outcomes.iter().flat_map(|o| &o.turns).any(|t| t.region == EU);
    assert!(!turned(&sim));
    let mut sim = Sim::steady();
    let cn = web_of(CN);
    let eu_web = [IpAddr::from([192, 0, 3, 11]), IpAddr::from([192, 0, 3, 12])];
    sim.rounds(3, |check| if cn(check) || eu_web.map(Some).contains(&check.address) { DOWN } else { OK });
    assert!(sim.model.storm());
    let without_endpoints = Plan { services: Vec::new(), ..plan() };
    let damping = vec![damping(); without_endpoints.checks.len()];
    sim.apply(Event::Load(Box::new(Load { plan: without_endpoints, damping, orders: AdminFile::default() })));
    assert!(!sim.model.storm(), "what no longer exists waits for nothing");
}

#[test]
fn explicit_evidence_never_waits() {
    let mut sim = Sim::steady();
    sim.rounds(2, |check| if check.probe == "db" { READ_ONLY } else { OK });
    assert!(!sim.model.storm());
    assert_eq!(sim.served(CN).1, Reason::FailOpen);
}

#[test]
fn first_results_never_wait() {
    let mut sim = Sim::new(plan());
    sim.rounds(1, |_| DOWN);
    assert!(!sim.model.storm());
    assert_eq!(sim.served(EU), ("eu".to_owned(), Reason::FailOpen, 5));
}

#[test]
fn a_drain_moves_users_at_once_and_its_end_brings_them_back() {
    let mut sim = Sim::steady();
    let until_ms = Some(sim.now.wall_ms + 600_000);
    sim.order(vec![Entry { until_ms, ..entry(CN) }], vec![]);
    assert_eq!(sim.served(CN), ("eu".to_owned(), Reason::Fallback, 5));
    assert_eq!(sim.because(CN), TtlBecause::Drained);
    sim.pass(599);
    assert_eq!(sim.region_of(CN), "eu");
    sim.pass(1);
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 30));
}

#[test]
fn a_scheduled_drain_bounds_the_ttl_before_it_begins() {
    let mut sim = Sim::steady();
    let from_ms = Some(sim.now.wall_ms + 600_000);
    sim.order(vec![Entry { from_ms, ..entry(CN) }], vec![]);
    let ttl = sim.model.states()[0].homes[CN.index()].ttl;
    assert_eq!((sim.region_of(CN), ttl.ttl_s, ttl.until_ms), ("cn".to_owned(), 30, from_ms));
    let eu = sim.model.states()[0].homes[EU.index()].ttl;
    assert_eq!(eu.until_ms, None, "eu's users did not look at cn");
    sim.pass(600);
    assert_eq!(sim.region_of(CN), "eu");
}

#[test]
fn the_next_wake_is_the_scheduled_moment_even_when_the_wall_clock_is_set() {
    let mut sim = Sim::steady();
    let from_ms = Some(sim.now.wall_ms + 600_000);
    sim.order(vec![Entry { from_ms, ..entry(CN) }], vec![]);
    assert_eq!(sim.model.next_wake(sim.now), Some(Mono(sim.now.mono.0 + 600_000)));
    sim.now.wall_ms += 300_000;
    sim.apply(Event::Tick);
    assert_eq!(sim.model.next_wake(sim.now), Some(Mono(sim.now.mono.0 + 300_000)));
}

#[test]
fn a_drain_beats_a_force_up_and_a_force_down_counts_as_drained_when_nothing_is_able() {
    let mut sim = Sim::steady();
    sim.order(vec![entry(CN)], vec![(entry(CN), Forced::Up)]);
    assert_eq!(sim.region_of(CN), "eu");
    sim.order(vec![], vec![(entry(CN), Forced::Down), (entry(EU), Forced::Down), (entry(US), Forced::Down)]);
    assert_eq!(sim.served(EU), ("eu".to_owned(), Reason::FailOpen, 5), "all withdrawn: home");
    let us = web_of(US);
    sim.order(vec![], vec![(entry(CN), Forced::Down), (entry(EU), Forced::Down)]);
    sim.rounds(3, |check| if us(check) { DOWN } else { OK });
    assert_eq!(sim.served(EU), ("us".to_owned(), Reason::FailOpen, 5), "failed beats forced down");
}

#[test]
fn forced_up_with_too_few_endpoints_answers_the_full_set() {
    let mut sim = Sim::steady();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.order(vec![], vec![(entry(CN), Forced::Up)]);
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 5));
    assert_eq!(sim.addresses(CN), 2);
}

#[test]
fn an_order_for_other_services_does_not_touch_this_one() {
    let mut sim = Sim::steady();
    sim.order(vec![Entry { service: Some(Glob("api.*".into())), ..entry(CN) }], vec![]);
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 30));
}

fn manual() -> Sim {
    let mut sim = Sim::new(Plan { manual_failback: vec![true, false, false], ..plan() });
    sim.rounds(3, |_| OK);
    sim
}

#[test]
fn with_manual_failback_users_return_only_after_a_release() {
    let mut sim = manual();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.rounds(100, |_| OK);
    assert_eq!(sim.region_of(CN), "eu");
    assert_eq!(sim.because(CN), TtlBecause::Held);
    sim.apply(Event::Release(CN));
    assert_eq!(sim.served(CN), ("cn".to_owned(), Reason::Home, 30));
}

#[test]
fn releasing_a_region_that_has_failed_still_changes_nothing() {
    let mut sim = manual();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    let serial = sim.model.serial();
    sim.apply(Event::Release(CN));
    assert!(sim.outcomes.last().is_some_and(Outcome::is_empty), "it would be held again in the same moment");
    assert_eq!(sim.model.serial(), serial);
    assert!(sim.model.inputs().held.contains(&(0, CN)));
}

#[test]
fn a_held_region_serves_when_nobody_else_is_able() {
    let mut sim = manual();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.rounds(100, |_| OK);
    sim.rounds(40, |check| if check.region == CN { OK } else { DOWN });
    assert_eq!(sim.region_of(US), "cn", "held, but its checks are good");
    assert_eq!(sim.served(US).1, Reason::Fallback);
}

#[test]
fn a_restart_forgets_neither_levels_nor_held_regions() {
    let mut sim = manual();
    let (cn, eu) = (web_of(CN), web_of(EU));
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.rounds(100, |_| OK);
    sim.rounds(3, |check| if eu(check) { DOWN } else { OK });
    let saved = crate::control::saved::Saved::of(&sim.model, sim.now.wall_ms);
    let plan = (**sim.model.plan()).clone();
    let later = Now { mono: Mono(0), wall_ms: sim.now.wall_ms + 60_000 };
    let load = Load { damping: vec![damping(); plan.checks.len()], plan, orders: AdminFile::default() };
    let model = Model::new(load.clone(), &saved.remembered(&load.plan, later.wall_ms), later);
    let restarted = Sim { model, now: later, outcomes: Vec::new() };
    assert_eq!(restarted.region_of(CN), "us", "cn is held, eu is down");
    assert_eq!(restarted.because(CN), TtlBecause::Held);

    let tomorrow = Now { wall_ms: later.wall_ms + 86_400_000, ..later };
    let model = Model::new(load.clone(), &saved.remembered(&load.plan, tomorrow.wall_ms), tomorrow);
    let restarted = Sim { model, now: tomorrow, outcomes: Vec::new() };
    assert_eq!(restarted.region_of(CN), "eu", "levels are too old to count, the wait for a release is not");
}

#[test]
fn a_reload_keeps_levels_streaks_and_held_places_by_name() {
    let mut sim = manual();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    let mut plan = (**sim.model.plan()).clone();
    let mut other = plan.services[0].clone();
    other.name = "api.gslb.example.com".into();
    plan.services.insert(0, other);
    let load = Load { damping: vec![damping(); plan.checks.len()], plan, orders: AdminFile::default() };
    sim.apply(Event::Load(Box::new(load)));
    let state = &sim.model.states()[1];
    assert_eq!(state.homes[CN.index()].decision.reason, Reason::Fallback);
    assert!(sim.model.inputs().held.contains(&(1, CN)));
    assert!(sim.model.inputs().held.contains(&(0, CN)), "the new service's region has failed, too");
}

#[test]
fn the_same_events_give_the_same_digest() {
    let run = || {
        let mut sim = manual();
        let cn = web_of(CN);
        sim.rounds(5, |check| if cn(check) { DOWN } else { OK });
        sim.order(vec![entry(EU)], vec![(entry(US), Forced::Up)]);
        sim.rounds(5, |_| OK);
        sim.model.digest()
    };
    assert_eq!(run(), run());
}

#[test]
fn an_event_that_changes_nothing_leaves_the_serial() {
    let mut sim = Sim::steady();
    let serial = sim.model.serial();
    sim.rounds(10, |_| OK);
    assert_eq!(sim.model.serial(), serial);
}
