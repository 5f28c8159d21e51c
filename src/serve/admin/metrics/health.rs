//! Regions, decisions in force, and probes.

use std::collections::BTreeMap;

use super::text::{Kind, Text};
use crate::control::derive::ServiceState;
use crate::control::plan::ServicePlan;
use crate::control::slots::{ALL_SERVICES, MAX_COUNTED_SERVICES};
use crate::control::status::{CheckStatus, StatusParts};
use crate::health::Level;
use crate::region::{Reason, State};

pub(super) fn write(text: &mut Text, parts: &StatusParts) {
    regions(text, parts);
    fail_open(text, parts);
    turns(text, parts);
    serial(text, parts);
    probes(text, parts);
}

/// Each service with its state, and the label that it is counted under: its name while there are few.
fn services(parts: &StatusParts) -> impl Iterator<Item = (&str, &ServicePlan, &ServiceState)> {
    let plan = &parts.snapshot.plan;
    let each = parts.config.admin.metrics_per_service && plan.services.len() <= MAX_COUNTED_SERVICES;
    plan.services.iter().zip(parts.snapshot.states.iter()).map(move |(service, state)| {
        let label = if each { service.name.as_str() } else { ALL_SERVICES };
        (label, service, state.as_ref())
    })
}

fn regions(text: &mut Text, parts: &StatusParts) {
    let plan = &parts.snapshot.plan;
    let mut counts: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for (label, _, state) in services(parts) {
        for (region, place) in plan.region_ids().zip(&state.regions) {
            let Some(place) = place else { continue };
            for state in State::ALL {
                let shown = u64::from(place.state() == state);
                *counts.entry((label, plan.region_name(region), state.word())).or_default() += shown;
            }
        }
    }
    let mut family = text.family(
        "waypost_region_state",
        Kind::Gauge,
        "1 for the state that a region shows for a service; over all services, how many show it.",
    );
    for ((service, region, state), count) in counts {
        family.put(&[("service", service), ("region", region), ("state", state)], count);
    }
}

fn fail_open(text: &mut Text, parts: &StatusParts) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (label, _, state) in services(parts) {
        let open = state.homes.iter().any(|home| home.decision.reason == Reason::FailOpen);
        *counts.entry(label).or_default() += u64::from(open);
    }
    let mut family = text.family(
        "waypost_fail_open",
        Kind::Gauge,
        "1 while no region is able to serve some users of a service; over all services, how many.",
    );
    for (service, count) in counts {
        family.put(&[("service", service)], count);
    }
}

fn turns(text: &mut Text, parts: &StatusParts) {
    let mut family = text.family(
        "waypost_region_transitions_total",
        Kind::Counter,
        "How often regions turned to a state for a service, and why.",
    );
    for (key, count) in &parts.transitions {
        let labels = [
            ("service", key.service.as_str()),
            ("region", key.region.as_str()),
            ("to", key.to),
            ("cause", key.cause),
        ];
        family.put(&labels, count);
    }
}

fn serial(text: &mut Text, parts: &StatusParts) {
    text.family("waypost_health_serial", Kind::Gauge, "The serial of the published state.")
        .put(&[], parts.snapshot.serial);
    let mut age = text.family(
        "waypost_health_age_seconds",
        Kind::Gauge,
        "Time since any probe last told something; absent before the first result.",
    );
    if let Some(age_s) = parts.age_s() {
        age.put(&[], age_s);
    }
}

fn probes(text: &mut Text, parts: &StatusParts) {
    let mut up = text.family(
        "waypost_probe_up",
        Kind::Gauge,
        "Whether a check counts as up; absent before it has told anything. endpoint is empty for a region's check.",
    );
    for check in parts.checks.iter().filter(|check| check.level != Level::Unprobed) {
        let endpoint = check.address.map(|address| address.to_string()).unwrap_or_default();
        let labels = [("probe", check.probe.as_str()), ("region", &check.region), ("endpoint", &endpoint)];
        up.put(&labels, u8::from(check.level.is_up()));
    }
    let mut runs: BTreeMap<(&str, &str), [u64; 5]> = BTreeMap::new();
    let mut took: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for check in &parts.checks {
        let sums = runs.entry((&check.probe, &check.region)).or_default();
        sums.iter_mut().zip(check.runs).for_each(|(sum, runs)| *sum += runs);
        let (sum_s, count) = took.entry(&check.probe).or_default();
        *sum_s += check.took_s;
        *count += check.runs.iter().sum::<u64>();
    }
    let mut family = text.family("waypost_probe_runs_total", Kind::Counter, "Probe runs, by what they saw.");
    for ((probe, region), runs) in runs {
        for (result, count) in CheckStatus::RESULTS.into_iter().zip(runs) {
            family.put(&[("probe", probe), ("region", region), ("result", result)], count);
        }
    }
    let mut family =
        text.family("waypost_probe_duration_seconds", Kind::Summary, "How long probe runs took.");
    for (probe, (sum_s, count)) in took {
        family.put_as("_sum", &[("probe", probe)], sum_s).put_as("_count", &[("probe", probe)], count);
    }
}
