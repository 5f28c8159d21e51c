//! Inputs folded from a journal's lines, and the decisions that they give.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::config::admin::Entry;
use crate::control::derive::derive;
use crate::control::inputs::{Change, Frozen, Inputs, Place, Reading};
use crate::control::journal::{Homes, Line, homes};
use crate::control::plan::{Check, CheckIndex, Plan};

/// A course of events, under the recorded plan or another.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Use this plan instead of recorded ones.
    instead: Option<Arc<Plan>>,
    /// Drain these as well, by name.
    drains: Vec<String>,
    /// The recorded plan that the lines' positions refer to.
    recorded: Arc<Plan>,
    plan: Arc<Plan>,
    inputs: Inputs,
    /// For each check, the services that depend on it.
    dependents: Vec<Vec<u32>>,
    /// Positions of services by name.
    names: BTreeMap<String, u32>,
    homes: Vec<Homes>,
    /// When each service's next scheduled order begins or ends, in milliseconds since 1970.
    next_change_ms: Vec<Option<i64>>,
    /// The last line's moment.
    at_ms: i64,
}

impl Run {
    pub(super) fn new(instead: Option<Plan>, drains: Vec<String>) -> Self {
        Self { instead: instead.map(Arc::new), drains, ..Self::default() }
    }

    /// Takes a line's changes and its moment. Returns the services that were decided anew, each with its decisions
    /// before where it had others; after another plan all of them, without.
    pub(super) fn take(&mut self, line: &Line) -> BTreeMap<u32, Option<Homes>> {
        let mut dirty = self.due(line.at_ms);
        let mut loaded = false;
        for change in &line.changes {
            let Some(change) = self.translate(change) else { continue };
            match &change {
                Change::Plan { .. } => loaded = true,
                Change::Orders(_) => dirty.extend(0..self.plan.services.len() as u32),
                Change::Reading { check, .. } => {
                    dirty.extend(self.dependents.get(*check as usize).into_iter().flatten());
                }
                Change::Held { place, .. } | Change::PutOff { place, .. } => drop(dirty.insert(place.0)),
                Change::Clock => {}
            }
            let reordered = matches!(change, Change::Plan { .. } | Change::Orders(_));
            if let Some(plan) = self.inputs.fold(change, &self.plan) {
                self.adopt(plan);
            }
            if reordered {
                self.add_drains();
            }
        }
        self.at_ms = line.at_ms;
        if loaded {
            dirty = (0..self.plan.services.len() as u32).collect();
        }
        dirty.into_iter().filter_map(|service| self.decide(service, loaded)).collect()
    }

    pub(super) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The decisions of the service of that name.
    pub(super) fn of(&self, service: &str) -> Option<&Homes> {
        self.homes.get(*self.names.get(service)? as usize)
    }

    /// The decisions of the service at that position.
    pub(super) fn at(&self, service: u32) -> Option<&Homes> {
        self.homes.get(service as usize)
    }

    /// Services whose scheduled orders begin or end by `at_ms`; all of them when the clock was set back.
    fn due(&self, at_ms: i64) -> BTreeSet<u32> {
        let back = at_ms < self.at_ms;
        let services = (0..).zip(&self.next_change_ms);
        let due = services.filter(|(_, next_ms)| back || next_ms.is_some_and(|next_ms| next_ms <= at_ms));
        due.map(|(service, _)| service).collect()
    }

    fn adopt(&mut self, plan: Plan) {
        self.plan = Arc::new(plan);
        self.dependents = self.plan.dependents();
        let services = self.plan.services.iter().map(|service| service.name.clone());
        self.names = services.zip(0..).collect();
        self.homes = vec![Homes::new(); self.plan.services.len()];
        self.next_change_ms = vec![None; self.plan.services.len()];
    }

    /// Decides for a service anew; absent when that gives what it gave, and nothing was loaded.
    fn decide(&mut self, service: u32, loaded: bool) -> Option<(u32, Option<Homes>)> {
        let state = derive(&self.plan, &self.inputs, service, self.at_ms, None)?;
        *self.next_change_ms.get_mut(service as usize)? = state.next_change_ms();
        let known = self.homes.get_mut(service as usize)?;
        let before = std::mem::replace(known, homes(&self.plan, service, &state));
        if loaded {
            return Some((service, None));
        }
        (before != *known).then_some((service, Some(before)))
    }

    /// A recorded change as it reads under this run's plan: by names, since positions differ.
    fn translate(&mut self, change: &Change) -> Option<Change> {
        let Some(instead) = &self.instead else { return Some(change.clone()) };
        if let Change::Plan { plan, .. } = change {
            self.recorded = Arc::new((**plan).clone());
        }
        let recorded = &self.recorded;
        let place = |place: &Place| recorded.translate(*place, instead);
        let put_off = |at: &Place, frozen: &Frozen| {
            let to = place(at)?;
            Some((to, frozen.translate(recorded.at(*at)?, instead.at(to)?)))
        };
        Some(match change {
            Change::Plan { readings, held, put_off: all, orders, .. } => Change::Plan {
                plan: Box::new((**instead).clone()),
                readings: translate_readings(recorded, instead, readings),
                held: held.iter().filter_map(place).collect(),
                put_off: all.iter().filter_map(|(at, frozen)| put_off(at, frozen)).collect(),
                orders: orders.clone(),
            },
            Change::Reading { check, reading } => {
                let check = translate_check(recorded, instead, *check)?;
                Change::Reading { check, reading: *reading }
            }
            Change::Held { place: at, held } => Change::Held { place: place(at)?, held: *held },
            Change::PutOff { place: at, frozen: None } => Change::PutOff { place: place(at)?, frozen: None },
            Change::PutOff { place: at, frozen: Some(frozen) } => {
                let (place, frozen) = put_off(at, frozen)?;
                Change::PutOff { place, frozen: Some(frozen) }
            }
            Change::Orders(_) | Change::Clock => change.clone(),
        })
    }

    fn add_drains(&mut self) {
        let regions = self.drains.iter().filter_map(|name| self.plan.region(name));
        let drains = regions.map(|region| Entry {
            line: 0,
            region,
            service: None,
            from_ms: None,
            until_ms: None,
            reason: "replay".to_owned(),
        });
        self.inputs.orders.drains.extend(drains);
    }
}

fn translate_check(from: &Plan, to: &Plan, check: CheckIndex) -> Option<CheckIndex> {
    let check = from.checks.get(check as usize)?;
    let region = to.region(from.region_name(check.region))?;
    let same = |other: &Check| other.key() == (check.probe.as_str(), region, check.address);
    to.checks.iter().position(same).map(|index| index as CheckIndex)
}

fn translate_readings(from: &Plan, to: &Plan, readings: &[Reading]) -> Vec<Reading> {
    let known = from.checks.iter().zip(readings);
    let known: BTreeMap<_, Reading> = known
        .map(|(check, reading)| ((&*check.probe, from.region_name(check.region), check.address), *reading))
        .collect();
    let reading = |check: &Check| {
        known.get(&(&*check.probe, to.region_name(check.region), check.address)).copied().unwrap_or_default()
    };
    to.checks.iter().map(reading).collect()
}
