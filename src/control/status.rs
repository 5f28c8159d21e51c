//! How everything stands, for people and scripts: one consistent copy out of the writer's hands, and the document made
//! of it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use super::clock::Now;
use super::derive::{HoldingOrder, RegionState, ServiceState};
use super::inputs::{Inputs, Order, Ordered, Orders};
use super::journal::rfc3339;
use super::load::GeoInfo;
use super::model::Turn;
use super::plan::{Plan, RegionPlan};
use super::slots::{ALL_SERVICES, MAX_COUNTED_SERVICES, Slots};
use super::snapshot::Snapshot;
use crate::config::Config;
use crate::config::admin::Forced;
use crate::health::aggregate::Cause;
use crate::health::{Level, Observation, Verdict};
use crate::region::{Reason, RegionId, State};

/// A copy of everything that status, metrics and previews are made of.
#[derive(Clone, Debug)]
pub struct StatusParts {
    /// When it was taken.
    pub now: Now,
    /// What is published.
    pub snapshot: Arc<Snapshot>,
    /// What is configured.
    pub config: Arc<Config>,
    /// What is known and ordered.
    pub inputs: Inputs,
    /// Each check's last run, by position in the plan.
    pub checks: Vec<CheckStatus>,
    /// The geo file in use.
    pub geo: Option<GeoInfo>,
    /// What is odd.
    pub warnings: Vec<Warning>,
    /// How often regions turned.
    pub transitions: BTreeMap<TransitionKey, u64>,
    /// What the decision counters count.
    pub slots: Slots,
    /// Reloads that succeeded, and that failed.
    pub reloads: [u64; 2],
    /// Whether the last one succeeded.
    pub last_reload_ok: bool,
    /// Journal lines that were dropped.
    pub journal_dropped: u64,
}

/// Something odd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// One word for scripts.
    pub code: &'static str,
    /// For people.
    pub text: String,
    /// RFC 3339.
    pub since: String,
}

/// What a turn is counted under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct TransitionKey {
    pub service: String,
    pub region: String,
    pub to: &'static str,
    pub cause: &'static str,
}

impl TransitionKey {
    /// The key of a turn; services are counted in sum when they are many, or `per_service` is false.
    pub fn of(plan: &Plan, turn: &Turn, per_service: bool) -> Self {
        let one_by_one = per_service && plan.services.len() <= MAX_COUNTED_SERVICES;
        let service = plan.services.get(turn.service as usize).filter(|_| one_by_one);
        Self {
            service: service.map_or(ALL_SERVICES, |service| &service.name).to_owned(),
            region: plan.region_name(turn.region).to_owned(),
            to: turn.to.word(),
            cause: turn.cause,
        }
    }
}

/// One check's last run, and its results so far.
#[derive(Clone, Debug)]
pub struct CheckStatus {
    /// The probe.
    pub probe: String,
    /// The region.
    pub region: String,
    /// The endpoint; absent for a check of the region.
    pub address: Option<IpAddr>,
    /// How it stands.
    pub level: Level,
    /// Good results in a row, or bad ones as a negative number.
    pub streak: i64,
    /// What the last run saw that was not good.
    pub last_error: Option<Arc<str>>,
    /// Its last run.
    pub last: Option<Arc<Observation>>,
    /// When that ended, in milliseconds since 1970.
    pub last_run_ms: Option<i64>,
    /// Runs by result: ok, degraded, failed, transitional, unknown.
    pub runs: [u64; 5],
    /// Time that runs took in all, in seconds.
    pub took_s: f64,
}

impl CheckStatus {
    /// The checks of a plan, not run yet.
    pub fn of(plan: &Plan) -> Vec<Self> {
        let status = |check: &super::plan::Check| Self {
            probe: check.probe.clone(),
            region: plan.region_name(check.region).to_owned(),
            address: check.address,
            level: Level::Unprobed,
            streak: 0,
            last_error: None,
            last: None,
            last_run_ms: None,
            runs: [0; 5],
            took_s: 0.0,
        };
        plan.checks.iter().map(status).collect()
    }

    /// What makes two checks the same one, also across a reload.
    pub fn key(&self) -> (String, String, Option<IpAddr>) {
        (self.probe.clone(), self.region.clone(), self.address)
    }

    /// Results in the order of [`Self::runs`].
    pub const RESULTS: [&'static str; 5] = ["ok", "degraded", "failed", "transitional", "unknown"];

    /// Notes a run.
    pub fn ran(&mut self, now: Now, observation: Observation, level: Level, streak: i64) {
        let result = match observation.verdict {
            Verdict::Ok => 0,
            Verdict::Degraded => 1,
            Verdict::Failed(_) => 2,
            Verdict::Transitional => 3,
            Verdict::Unknown => 4,
        };
        self.runs[result] += 1;
        self.took_s += observation.took.as_secs_f64();
        self.level = level;
        self.streak = streak;
        self.last_error = (result != 0).then(|| observation.detail.as_str().into());
        self.last_run_ms = Some(now.wall_ms);
        self.last = Some(Arc::new(observation));
    }
}

/// Services for which no region is able: at most ten names, then how many more.
pub fn failing_open(plan: &Plan, states: &[Arc<ServiceState>]) -> Vec<String> {
    let fails =
        |state: &&Arc<ServiceState>| state.homes.iter().any(|h| h.decision.reason == Reason::FailOpen);
    let failing = plan.services.iter().zip(states).filter(|(_, state)| fails(state));
    let mut names: Vec<String> = failing.map(|(service, _)| service.name.clone()).collect();
    if names.len() > 10 {
        let more = names.len() - 10;
        names.truncate(10);
        names.push(format!("and {more} more"));
    }
    names
}

/// The `status` document.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    pub serial: u64,
    pub node: String,
    pub version: &'static str,
    pub ready: bool,
    pub at: String,
    /// Seconds since any probe last told something; absent before the first result.
    pub age_s: Option<f64>,
    /// For each home, who stands in for it, in order.
    pub fallback: BTreeMap<String, Vec<String>>,
    pub regions: BTreeMap<String, RegionReport>,
    /// Drains and forces of the admin file that is in force, those to come and those that are past too.
    pub orders: Vec<OrderReport>,
    pub probes: Vec<ProbeReport>,
    pub geo: Option<GeoInfo>,
    pub warnings: Vec<Warning>,
}

/// One region, over all services.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct RegionReport {
    /// Drained for every service that it has.
    pub drained: bool,
    /// Its worst state for any service.
    pub state: &'static str,
    pub services: BTreeMap<String, PlaceReport>,
}

/// One region for one service.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PlaceReport {
    pub state: &'static str,
    pub probed: Option<&'static str>,
    pub forced: Option<&'static str>,
    pub held: bool,
    pub since: String,
    pub reason: String,
    pub endpoints: Vec<EndpointReport>,
}

/// One endpoint as one probe sees it.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct EndpointReport {
    pub address: IpAddr,
    pub probe: Option<String>,
    pub state: &'static str,
}

/// One drain or force.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct OrderReport {
    /// `drain`, `up` or `down`.
    pub what: Ordered,
    pub region: String,
    /// A glob; absent: every service.
    pub service: Option<String>,
    /// RFC 3339; absent: from the start.
    pub from: Option<String>,
    /// RFC 3339; absent: until it is removed.
    pub until: Option<String>,
    pub reason: String,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ProbeReport {
    pub name: String,
    pub region: String,
    pub address: Option<IpAddr>,
    pub state: &'static str,
    pub streak: i64,
    pub last_error: Option<String>,
    pub last_run: Option<String>,
    pub duration_ms: Option<u64>,
    pub lag_s: Option<f64>,
    pub steps: Vec<StepReport>,
}

/// One step of a check's last run.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct StepReport {
    pub name: &'static str,
    pub ms: u64,
}

impl StatusParts {
    /// Seconds since any probe last told something; absent before the first result.
    pub fn age_s(&self) -> Option<f64> {
        let last_ms = self.checks.iter().filter_map(|check| check.last_run_ms).max()?;
        Some((self.now.wall_ms - last_ms).max(0) as f64 / 1000.0)
    }

    /// The `status` document.
    pub fn report(&self, ready: bool) -> Report {
        let plan = &self.snapshot.plan;
        let name = |region: RegionId| plan.region_name(region).to_owned();
        let others =
            |home: RegionId| plan.region_ids().filter(move |&region| region != home).map(name).collect();
        Report {
            serial: self.snapshot.serial,
            node: self.config.node.clone(),
            version: env!("CARGO_PKG_VERSION"),
            ready,
            at: rfc3339(self.now.wall_ms),
            age_s: self.age_s(),
            fallback: plan.region_ids().map(|home| (name(home), others(home))).collect(),
            regions: plan.region_ids().map(|region| (name(region), self.region(region))).collect(),
            orders: Orders::of(&self.inputs.orders, plan).entries.into_iter().map(order_report).collect(),
            probes: self.checks.iter().map(probe_report).collect(),
            geo: self.geo.clone(),
            warnings: self.warnings.clone(),
        }
    }

    fn region(&self, region: RegionId) -> RegionReport {
        let plan = &self.snapshot.plan;
        let places = plan.services.iter().zip(self.snapshot.states.iter()).filter_map(|(service, state)| {
            let listed = service.regions.get(region.index())?.as_ref()?;
            let state = state.regions.get(region.index())?.as_ref()?;
            Some((service.name.clone(), (state, self.place(listed, state))))
        });
        let places: BTreeMap<String, (&RegionState, PlaceReport)> = places.collect();
        let worst = places.values().map(|(state, _)| state.state()).max().unwrap_or(State::Healthy);
        RegionReport {
            drained: !places.is_empty() && places.values().all(|(state, _)| state.drained.is_some()),
            state: worst.word(),
            services: places.into_iter().map(|(service, (_, report))| (service, report)).collect(),
        }
    }

    fn place(&self, listed: &RegionPlan, state: &RegionState) -> PlaceReport {
        let plan = &self.snapshot.plan;
        let probed = listed.all_checks().any(|check| self.inputs.reading(check).level != Level::Unprobed);
        let endpoints = listed.endpoints.iter().flat_map(|endpoint| {
            let unprobed = endpoint.checks.is_empty().then_some((None, "unprobed"));
            let each = endpoint.checks.iter().map(|&check| {
                let status = self.checks.get(check as usize);
                let probe = plan.checks.get(check as usize).map(|check| check.probe.clone());
                (probe, status.map_or("unprobed", |status| self.level_word(check, status)))
            });
            let each = unprobed.into_iter().chain(each);
            each.map(|(probe, state)| EndpointReport { address: endpoint.address, probe, state })
        });
        PlaceReport {
            state: state.state().word(),
            probed: probed.then_some(state.probed.word()),
            forced: state.forced.as_ref().map(|(forced, _)| match forced {
                Forced::Up => "up",
                Forced::Down => "down",
            }),
            held: state.standing == crate::region::Standing::Held,
            since: rfc3339(state.since_ms),
            reason: reason(plan, listed, state),
            endpoints: endpoints.collect(),
        }
    }

    /// A check's level; `unknown` while its probe can't work and nothing was ever seen.
    fn level_word(&self, check: u32, status: &CheckStatus) -> &'static str {
        let level = self.inputs.reading(check).level;
        let unknown = status.last.as_ref().is_some_and(|last| last.verdict == Verdict::Unknown);
        if level == Level::Unprobed && unknown { "unknown" } else { level.word() }
    }
}

fn order_report(order: Order) -> OrderReport {
    let Order { region, what, service, from_ms, until_ms, reason } = order;
    OrderReport { what, region, service, from: from_ms.map(rfc3339), until: until_ms.map(rfc3339), reason }
}

fn probe_report(status: &CheckStatus) -> ProbeReport {
    let last = status.last.as_deref();
    let step =
        |step: &crate::health::ProbeStep| StepReport { name: step.name, ms: step.took.as_millis() as u64 };
    ProbeReport {
        name: status.probe.clone(),
        region: status.region.clone(),
        address: status.address,
        state: status.level.word(),
        streak: status.streak,
        last_error: status.last_error.as_deref().map(str::to_owned),
        last_run: status.last_run_ms.map(rfc3339),
        duration_ms: last.map(|last| last.took.as_millis() as u64),
        lag_s: last.and_then(|last| last.lag_s),
        steps: last.map(|last| last.steps.iter().map(step).collect()).unwrap_or_default(),
    }
}

/// Why a region shows the state that it shows, in a sentence's worth of words.
pub fn reason(plan: &Plan, listed: &RegionPlan, state: &RegionState) -> String {
    if let Some(order) = &state.drained {
        return ordered("drained", order);
    }
    if let Some((forced, order)) = &state.forced {
        return ordered(if *forced == Forced::Up { "forced up" } else { "forced down" }, order);
    }
    if state.standing == crate::region::Standing::Held {
        return "held after a failure: waits for `waypost release`".to_owned();
    }
    if state.put_off {
        return "its failure is put off: most regions failed at the same moment".to_owned();
    }
    match state.cause {
        None => String::new(),
        Some(Cause::Family { v4, up, needed, of }) => {
            let family = if v4 { "IPv4" } else { "IPv6" };
            format!("{up} of {of} {family} endpoints up, {needed} needed")
        }
        Some(Cause::RegionCheck { check, level }) => {
            let check = listed.checks.get(check).map(|&check| plan.describe(check).to_string());
            format!("{} is {level}", check.unwrap_or_default())
        }
        Some(Cause::EndpointCheck { endpoint, check, level }) => {
            let check = listed.endpoints.get(endpoint).and_then(|endpoint| endpoint.checks.get(check));
            format!("{} is {level}", check.map(|&check| plan.describe(check).to_string()).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests;

/// An order in words: what, for which services, until when, why.
fn ordered(what: &str, order: &HoldingOrder) -> String {
    let mut text = what.to_owned();
    if let Some(glob) = &order.service {
        text = format!("{text} for {glob}");
    }
    if let Some(until_ms) = order.until_ms {
        text = format!("{text} until {}", rfc3339(until_ms));
    }
    if order.reason.is_empty() { text } else { format!("{text}: {}", order.reason) }
}
