use std::net::Ipv4Addr;

use super::*;
use crate::config::admin::{AdminFile, Entry};
use crate::control::derive::derive;
use crate::control::inputs::{Inputs, Reading};
use crate::control::model::tests::{CN, DOWN, EU, Sim, US, entry, web_of};
use crate::health::Level;
use crate::region::{AllDown, Decision};

fn replies_of(sim: &Sim) -> Vec<HomeReply> {
    let service = &sim.model.plan().services[0];
    replies(service, &sim.model.states()[0], sim.now, |_, _| Slot::default())
}

fn v4(region: RegionId) -> Vec<Ipv4Addr> {
    [11, 12].map(|host| Ipv4Addr::new(192, 0, 2 + region.index() as u8, host)).to_vec()
}

fn addresses(v4: Vec<Ipv4Addr>) -> Records {
    Records::Addresses { v4, v6: Vec::new() }
}

#[test]
fn each_home_is_answered_with_its_own_regions_addresses() {
    let sim = Sim::steady();
    let answered: Vec<Records> = replies_of(&sim).into_iter().map(|reply| reply.records).collect();
    assert_eq!(answered, [CN, EU, US].map(|region| addresses(v4(region))));
}

#[test]
fn a_scheduled_moment_becomes_a_deadline_on_the_monotonic_clock() {
    let mut sim = Sim::steady();
    let from_ms = sim.now.wall_ms + 20_000;
    sim.order(vec![Entry { from_ms: Some(from_ms), ..entry(CN) }], vec![]);
    let ttl = replies_of(&sim)[CN.index()].ttl;
    assert_eq!(ttl, TtlRule { ttl_s: 30, min_s: 5, deadline: Some(sim.now.mono_at(from_ms)) });
    let at = |seconds: u64| ttl.at(crate::health::Mono(sim.now.mono.0 + seconds * 1_000));
    assert_eq!((at(0), at(10), at(16), at(99)), (20, 10, 5, 5), "never beyond it, but never below ttl_min");
}

#[test]
fn only_touched_services_answers_are_replaced() {
    let mut sim = Sim::steady();
    let mut press = Press::new(None, &sim.model, true, sim.now);
    let before = press.snapshot(1);
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { crate::health::Verdict::Ok });
    press.update(&sim.model, [7], sim.now);
    assert!(
        Arc::ptr_eq(before.states.get(0).unwrap(), press.snapshot(2).states.get(0).unwrap()),
        "7 is none"
    );
    press.update(&sim.model, [0], sim.now);
    let after = press.snapshot(3);
    assert!(Arc::ptr_eq(&sim.model.states()[0], after.states.get(0).unwrap()));
    assert!(
        !Arc::ptr_eq(before.states.get(0).unwrap(), after.states.get(0).unwrap()),
        "who reads the old one keeps it"
    );
    assert!(after.view.is_none(), "a node without zones serves no DNS");
}

/// One service whose every region is down, with that policy.
fn all_down(all_down: AllDown, alias: bool) -> (ServicePlan, ServiceState) {
    let mut plan = crate::control::model::tests::plan();
    plan.services[0].all_down = all_down;
    if alias {
        for (region, name) in plan.services[0].regions.iter_mut().flatten().zip(["cn", "eu", "us"]) {
            region.endpoints.clear();
            region.cname = Some(format!("{name}.cdn.example.net"));
        }
    }
    let mut inputs = Inputs::new(&plan, AdminFile::default());
    inputs.readings.fill(Reading { level: Level::Down, unrest: None });
    let state = derive(&plan, &inputs, 0, 0, None).unwrap();
    (plan.services.remove(0), state)
}

#[test]
fn with_nobody_able_the_answer_is_the_policys() {
    let records = |policy, alias| {
        let (service, state) = all_down(policy, alias);
        let mut decisions = Vec::new();
        let replies = replies(&service, &state, Now::default(), |_, decision: Decision| {
            decisions.push(decision.reason);
            Slot::default()
        });
        assert!(decisions.iter().all(|reason| *reason == crate::region::Reason::FailOpen));
        replies[EU.index()].records.clone()
    };
    assert_eq!(records(AllDown::Home, false), addresses(v4(EU)));
    assert_eq!(records(AllDown::All, false), addresses([v4(CN), v4(EU), v4(US)].concat()));
    assert_eq!(records(AllDown::Servfail, false), Records::Servfail);
    assert_eq!(records(AllDown::Servfail, true), Records::Servfail);
    assert_eq!(
        records(AllDown::All, true),
        Records::Cname(wire_name("cn.cdn.example.net")),
        "one alias only"
    );
}

#[test]
fn names_become_wire_names() {
    assert_eq!(wire_name("www.Example.net."), b"\x03www\x07Example\x03net\x00");
    assert_eq!(wire_name(""), b"\x00");
    assert_eq!(wire_name("."), b"\x00");
    assert_eq!(wire_name("*.a"), b"\x01*\x01a\x00");
}
