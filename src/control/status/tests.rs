use super::*;
use crate::config::admin::Entry;
use crate::control::model::tests::{CN, DOWN, EU, OK, Sim, entry, plan, web_of};
use crate::health::Evidence;

fn reason_of(sim: &Sim, region: RegionId) -> String {
    let plan = sim.model.plan();
    let listed = plan.at((0, region)).unwrap();
    reason(plan, listed, sim.model.states()[0].regions[region.index()].as_ref().unwrap())
}

#[test]
fn a_region_that_is_well_needs_no_reason() {
    assert_eq!(reason_of(&Sim::steady(), CN), "");
}

#[test]
fn a_failed_region_names_what_failed() {
    let mut sim = Sim::steady();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    assert_eq!(reason_of(&sim, CN), "0 of 2 IPv4 endpoints up, 1 needed");
    let mut sim = Sim::steady();
    let read_only = Verdict::Failed(Evidence::Explicit);
    sim.rounds(2, |check| if check.probe == "db" && check.region == EU { read_only } else { OK });
    assert_eq!(reason_of(&sim, EU), "db eu is down");
}

#[test]
fn a_degraded_region_names_the_endpoint() {
    let mut sim = Sim::steady();
    let second = IpAddr::from([192, 0, 2, 12]);
    sim.rounds(3, |check| if check.address == Some(second) { DOWN } else { OK });
    assert_eq!(reason_of(&sim, CN), "web cn 192.0.2.12 is down");
}

#[test]
fn orders_go_before_what_the_checks_say_with_their_reasons() {
    let mut sim = Sim::steady();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.order(vec![], vec![(entry(CN), Forced::Up)]);
    assert_eq!(reason_of(&sim, CN), "forced up: test");
    sim.order(vec![entry(CN)], vec![(entry(CN), Forced::Up)]);
    assert_eq!(reason_of(&sim, CN), "drained: test");
    sim.order(vec![Entry { reason: String::new(), ..entry(CN) }], vec![]);
    assert_eq!(reason_of(&sim, CN), "drained");
}

#[test]
fn a_held_region_says_how_it_is_let_go() {
    let mut sim = Sim::new(Plan { manual_failback: vec![true; 3], ..plan() });
    sim.rounds(3, |_| OK);
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.rounds(100, |_| OK);
    assert_eq!(reason_of(&sim, CN), "held after a failure: waits for `waypost release`");
}

#[test]
fn a_put_off_failure_says_so() {
    let mut sim = Sim::steady();
    sim.rounds(3, |_| DOWN);
    assert_eq!(reason_of(&sim, EU), "its failure is put off: most regions failed at the same moment");
}

#[test]
fn services_that_fail_open_are_named_ten_at_most() {
    let mut many = plan();
    let first = many.services[0].clone();
    many.services = vec![first; 13];
    for (number, service) in many.services.iter_mut().enumerate() {
        service.name = format!("s{number:02}.gslb.example.com");
    }
    let mut sim = Sim::new(many);
    sim.rounds(1, |_| DOWN);
    let named = failing_open(sim.model.plan(), sim.model.states());
    assert_eq!(
        (named.len(), named[0].as_str(), named[10].as_str()),
        (11, "s00.gslb.example.com", "and 3 more")
    );
}
