//! Plan, inputs and a moment make the states and decisions of one service. Pure, and the only place that does: the
//! running server, `explain`, `replay` and the dry run of a drain all call it.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::inputs::{Inputs, Unrest};
use super::plan::{CheckIndex, Plan, RegionPlan, ServicePlan};
use crate::config::admin::{Entry, Forced};
use crate::health::aggregate::{self, Cause, EndpointInput, Probed};
use crate::region::{Chosen, Decision, HealthTable, Reason, RegionId, Standing, State, Step, decide_traced};

/// What is known and decided of one service at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceState {
    /// How each region stands, seen from each home.
    pub table: HealthTable,
    /// By region; absent: the service has nothing there.
    pub regions: Vec<Option<RegionState>>,
    /// By home.
    pub homes: Vec<HomeDecision>,
}

/// One region of one service.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionState {
    /// How it stands.
    pub standing: Standing,
    /// What probes make of it, whatever is ordered.
    pub probed: Probed,
    /// The force that holds here.
    pub forced: Option<(Forced, HoldingOrder)>,
    /// The drain that holds here.
    pub drained: Option<HoldingOrder>,
    /// Which endpoints are up; by position in the plan.
    pub up: Vec<bool>,
    /// Which families have as many endpoints up as they need.
    pub enough: Enough,
    /// What made it worse than healthy.
    pub cause: Option<Cause>,
    /// Why a check of it isn't steady, the strongest reason, with the check.
    pub unrest: Option<(Unrest, CheckIndex)>,
    /// Whether its turn to failed is put off.
    pub put_off: bool,
    /// When the next scheduled order begins or ends here, in milliseconds since 1970.
    pub next_change_ms: Option<i64>,
    /// Since when it shows the state that it shows, in milliseconds since 1970.
    pub since_ms: i64,
}

/// An operator's order that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingOrder {
    /// Why; may be empty.
    pub reason: String,
    /// For which services; absent: all.
    pub service: Option<String>,
    /// When it ends, in milliseconds since 1970; absent: when it is removed.
    pub until_ms: Option<i64>,
}

impl HoldingOrder {
    fn of(entry: &Entry) -> Self {
        let service = entry.service.as_ref().map(|glob| glob.0.clone());
        Self { reason: entry.reason.clone(), service, until_ms: entry.until_ms }
    }
}

/// What the users of one home get.
#[derive(Clone, Debug, PartialEq)]
pub struct HomeDecision {
    /// Who answers, and why.
    pub decision: Decision,
    /// For how long it may be kept.
    pub ttl: Ttl,
}

/// How long an answer may be kept, and why so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl {
    /// Seconds.
    pub ttl_s: u32,
    /// Never less than this, in seconds.
    pub min_s: u32,
    /// Never beyond this moment (but for `min_s`), in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// Why.
    pub because: TtlBecause,
}

/// Why an answer's TTL is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TtlBecause {
    /// Everything looked at is steady: the full TTL.
    Steady,
    /// A check has not run often enough since the start.
    Warming,
    /// A check left its state not long ago.
    Cooldown,
    /// A check's last results disagree with its state.
    Pending,
    /// Something looked at waits for its release.
    Held,
    /// Something looked at is forced.
    Forced,
    /// Something looked at is drained.
    Drained,
    /// No region is able.
    FailOpen,
}

impl TtlBecause {
    /// The words that people see.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Warming => "ttl_min: a check has not run often enough since the start",
            Self::Cooldown => "ttl_min: a check is in its cooldown",
            Self::Pending => "ttl_min: a check's last results disagree with its state",
            Self::Held => "ttl_min: a region looked at waits for its release",
            Self::Forced => "ttl_min: a region looked at is forced",
            Self::Drained => "ttl_min: a region looked at is drained",
            Self::FailOpen => "ttl_min: no region is able",
        }
    }
}

/// Derives the state of the service at `index` of the plan at a moment (milliseconds since 1970); absent when the plan
/// has no such service. `before` is the service's last state under the same regions: what still shows the same state
/// keeps its age.
pub fn derive(
    plan: &Plan,
    inputs: &Inputs,
    index: u32,
    wall_ms: i64,
    before: Option<&ServiceState>,
) -> Option<ServiceState> {
    let service = plan.services.get(index as usize)?;
    let regions: Vec<Option<RegionState>> = plan
        .region_ids()
        .map(|region| {
            let listed = service.regions.get(region.index())?.as_ref()?;
            let mut state = region_state(plan, inputs, service, (index, region), listed, wall_ms);
            let known = before.and_then(|before| before.regions.get(region.index())?.as_ref());
            if let Some(known) = known.filter(|known| known.state() == state.state()) {
                state.since_ms = known.since_ms;
            }
            Some(state)
        })
        .collect();
    Some(settle(service, regions))
}

/// Decides for every home, from the regions' states.
pub fn settle(service: &ServicePlan, regions: Vec<Option<RegionState>>) -> ServiceState {
    let standings: Vec<Standing> = regions
        .iter()
        .map(|state| state.as_ref().map_or(Standing::NoEndpoints, |state| state.standing))
        .collect();
    let table = HealthTable::uniform(&standings);
    let homes = table.regions().map(|home| home_decision(service, &table, &regions, home).0).collect();
    ServiceState { table, regions, homes }
}

/// What the users of `home` get, with each look at a region.
pub fn home_decision(
    service: &ServicePlan,
    table: &HealthTable,
    regions: &[Option<RegionState>],
    home: RegionId,
) -> (HomeDecision, Vec<Step>) {
    let mut trace = Vec::new();
    let decision = decide_traced(home, table, service.all_down, &mut |step| trace.push(step));
    let fail_open = decision.reason == Reason::FailOpen;
    let ttl = ttl(service, regions, &trace, fail_open);
    (HomeDecision { decision, ttl }, trace)
}

fn region_state(
    plan: &Plan,
    inputs: &Inputs,
    service: &ServicePlan,
    place: (u32, RegionId),
    listed: &RegionPlan,
    wall_ms: i64,
) -> RegionState {
    let mut sum = sum_up(plan, inputs, service, listed);
    let frozen = inputs.put_off.get(&place);
    if let Some(frozen) = frozen {
        sum = aggregate::Sum { state: frozen.state, up: frozen.up.clone(), cause: None };
    }
    let in_force = inputs.orders.in_force(place.1, &service.name, wall_ms);
    let drained = in_force.drained.map(HoldingOrder::of);
    let forced = in_force.forced.map(|(entry, forced)| (forced, HoldingOrder::of(entry)));
    let unrest = listed.all_checks().filter_map(|check| Some((inputs.reading(check).unrest?, check)));
    // The strongest reason is the smallest, and among equals the first check.
    let unrest = unrest.min();

    let held = inputs.held.contains(&place);
    let force = forced.as_ref().map(|(forced, _)| *forced);
    let standing = match (force, sum.state) {
        _ if drained.is_some() => Standing::Drained,
        (Some(Forced::Down), _) => Standing::ForcedDown,
        (None, Probed::Failed) => Standing::Failed,
        _ if held => Standing::Held,
        (Some(Forced::Up), _) | (None, Probed::Healthy) => Standing::Healthy,
        (None, Probed::Degraded) => Standing::Degraded,
    };
    RegionState {
        standing,
        probed: sum.state,
        forced,
        drained,
        enough: enough(service, listed, &sum.up),
        up: sum.up,
        cause: sum.cause,
        unrest,
        put_off: frozen.is_some(),
        next_change_ms: in_force.next_change_ms,
        since_ms: wall_ms,
    }
}

/// Which families have as many endpoints up as they need; a family without endpoints needs none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Enough {
    pub v4: bool,
    pub v6: bool,
}

impl Enough {
    /// Whether the address's family has enough.
    pub const fn for_address(self, address: &IpAddr) -> bool {
        if address.is_ipv4() { self.v4 } else { self.v6 }
    }
}

/// Sums the checks of one region up, whatever is ordered or put off.
pub fn sum_up(plan: &Plan, inputs: &Inputs, service: &ServicePlan, listed: &RegionPlan) -> aggregate::Sum {
    let input = |&check: &CheckIndex| {
        let impact = plan.checks.get(check as usize).map(|check| check.impact).unwrap_or_default();
        (inputs.reading(check).level, impact)
    };
    let endpoints = listed.endpoints.iter().map(|endpoint| EndpointInput {
        v4: endpoint.address.is_ipv4(),
        checks: endpoint.checks.iter().map(input),
    });
    aggregate::sum(endpoints, listed.checks.iter().map(input), service.up_share)
}

/// Which families have as many endpoints up as they need.
fn enough(service: &ServicePlan, listed: &RegionPlan, up: &[bool]) -> Enough {
    let family = |v4: bool| {
        let of_family =
            listed.endpoints.iter().zip(up).filter(|(endpoint, _)| endpoint.address.is_ipv4() == v4);
        let (of, up) = of_family.fold((0, 0), |(of, count), (_, &up)| (of + 1, count + usize::from(up)));
        up >= aggregate::needed(service.up_share, of)
    };
    Enough { v4: family(true), v6: family(false) }
}

fn ttl(service: &ServicePlan, regions: &[Option<RegionState>], trace: &[Step], fail_open: bool) -> Ttl {
    let mut because = TtlBecause::Steady;
    let mut until_ms = None;
    let looked_at = trace.iter().filter_map(|step| regions.get(step.region.index())?.as_ref());
    for state in looked_at {
        because = because.max(state.restless());
        until_ms = match (until_ms, state.next_change_ms) {
            (Some(a), Some(b)) => Some(i64::min(a, b)),
            (a, b) => a.or(b),
        };
    }
    if fail_open {
        because = TtlBecause::FailOpen;
    }
    let ttl_s = if because == TtlBecause::Steady { service.ttl_s } else { service.ttl_min_s };
    Ttl { ttl_s, min_s: service.ttl_min_s, until_ms, because }
}

impl RegionState {
    /// The state that people see.
    pub fn state(&self) -> State {
        self.standing.state()
    }

    /// Why an answer that looked at this region may not be kept for long.
    fn restless(&self) -> TtlBecause {
        if self.drained.is_some() {
            return TtlBecause::Drained;
        }
        if self.forced.is_some() {
            return TtlBecause::Forced;
        }
        if self.standing == Standing::Held {
            return TtlBecause::Held;
        }
        if self.put_off {
            return TtlBecause::Pending;
        }
        match self.unrest {
            None => TtlBecause::Steady,
            Some((Unrest::Pending, _)) => TtlBecause::Pending,
            Some((Unrest::Cooldown, _)) => TtlBecause::Cooldown,
            Some((Unrest::Warming, _)) => TtlBecause::Warming,
        }
    }
}

impl ServiceState {
    /// When the next scheduled order for any region begins or ends, in milliseconds since 1970.
    pub fn next_change_ms(&self) -> Option<i64> {
        self.regions.iter().flatten().filter_map(|region| region.next_change_ms).min()
    }

    /// The endpoints that the users of `home` are answered with, in order: those that are up, or a region's full set
    /// when it answers as a last resort or an operator forced it up against its checks.
    pub fn endpoints<'p>(
        &'p self,
        service: &'p ServicePlan,
        home: RegionId,
    ) -> impl Iterator<Item = (RegionId, IpAddr)> + 'p {
        let decision = self.homes.get(home.index()).map(|home| home.decision);
        let regions = decision.map(|decision| decision.regions()).unwrap_or_default();
        let fail_open = decision.is_some_and(|decision| decision.reason == Reason::FailOpen);
        regions.iter().flat_map(move |region| {
            let listed = service.regions.get(region.index()).and_then(Option::as_ref);
            let state = self.regions.get(region.index()).and_then(Option::as_ref);
            let endpoints = listed.map_or(&[][..], |listed| &listed.endpoints);
            let answered = move |index: usize, address: &IpAddr| {
                let up = |state: &RegionState| state.up.get(index).copied().unwrap_or(true);
                fail_open || state.is_none_or(|state| up(state) || !state.enough.for_address(address))
            };
            let endpoints = endpoints.iter().enumerate();
            let endpoints = endpoints.filter(move |(index, endpoint)| answered(*index, &endpoint.address));
            endpoints.map(move |(_, endpoint)| (region, endpoint.address))
        })
    }
}

/// Whether even one region of the service is able.
pub fn any_able(state: &ServiceState) -> bool {
    state.regions.iter().flatten().any(|region| region.standing.able())
}

/// The name of who answers: a region's, `all` or `none`.
pub fn chosen_word(plan: &Plan, chosen: Chosen) -> &str {
    match chosen {
        Chosen::One(region) => plan.region_name(region),
        Chosen::Several(_) => "all",
        Chosen::Nobody => "none",
    }
}
