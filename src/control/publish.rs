//! From the model's states to the snapshot that the data plane reads: answers encoded, the rest shared.

use std::net::IpAddr;
use std::sync::Arc;

use super::clock::Now;
use super::derive::ServiceState;
use super::model::Model;
use super::plan::{Plan, ServicePlan};
use super::slots::{Numbers, Slots};
use super::snapshot::Snapshot;
use crate::dns::answer::{AnswerTable, HomeReply, Records, ServiceAnswers, Slot, TtlRule};
use crate::dns::chunked::Chunked;
use crate::dns::zone::Zones;
use crate::dns::{Settings, View};
use crate::region::geo::GeoTable;
use crate::region::{Chosen, RegionId};

/// What answers need beside states; absent on a node that serves no DNS.
#[derive(Clone, Debug)]
pub struct DnsParts {
    /// Every name of every zone.
    pub zones: Arc<Zones>,
    /// Where clients are.
    pub geo: Arc<GeoTable>,
    /// What the operator set.
    pub settings: Arc<Settings>,
}

/// Keeps the last snapshot's parts and makes the next one by replacing what changed.
#[derive(Debug)]
pub struct Press {
    parts: Option<DnsParts>,
    answers: AnswerTable,
    states: Chunked<ServiceState>,
    plan: Arc<Plan>,
    slots: Slots,
    numbers: Numbers,
}

impl Press {
    /// Encodes everything.
    pub fn new(parts: Option<DnsParts>, model: &Model, per_service: bool, now: Now) -> Self {
        let mut press = Self {
            parts,
            answers: AnswerTable::default(),
            states: model.states().iter().cloned().collect(),
            plan: Arc::clone(model.plan()),
            slots: Slots::default(),
            numbers: Numbers::default(),
        };
        press.reload(model, per_service, now);
        press
    }

    /// Encodes everything anew, after another configuration was loaded.
    pub fn reload(&mut self, model: &Model, per_service: bool, now: Now) {
        self.plan = Arc::clone(model.plan());
        self.numbers = self.slots.number(&self.plan, per_service);
        self.states = model.states().iter().cloned().collect();
        let answers = (0..).zip(model.states()).map(|(service, state)| self.encode(service, state, now));
        let answers: Vec<_> = answers.collect();
        self.answers = AnswerTable::new(answers);
    }

    /// Answers from other zones, geo data or settings from the next snapshot on.
    pub fn set_parts(&mut self, parts: Option<DnsParts>) {
        self.parts = parts;
    }

    /// The parts in use.
    pub fn parts(&self) -> Option<&DnsParts> {
        self.parts.as_ref()
    }

    /// What the decision counters count.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Takes over the states of these services.
    pub fn update(&mut self, model: &Model, touched: impl IntoIterator<Item = u32>, now: Now) {
        for service in touched {
            let Some(state) = model.states().get(service as usize) else { continue };
            let answers = self.encode(service, state, now);
            self.answers.replace(service, answers);
            self.states.replace(service, Arc::clone(state));
        }
    }

    /// The snapshot of everything as it stands.
    pub fn snapshot(&self, serial: u64) -> Snapshot {
        let view = self.parts.as_ref().map(|parts| View {
            zones: Arc::clone(&parts.zones),
            geo: Arc::clone(&parts.geo),
            answers: self.answers.clone(),
            settings: Arc::clone(&parts.settings),
        });
        Snapshot { serial, view, plan: Arc::clone(&self.plan), states: self.states.clone() }
    }

    fn encode(&mut self, service: u32, state: &ServiceState, now: Now) -> Arc<ServiceAnswers> {
        let plan = Arc::clone(&self.plan);
        let Some(listed) = plan.services.get(service as usize) else {
            return Arc::new(ServiceAnswers::encode(&[]));
        };
        let slot = |home: RegionId, decision| self.slots.slot(&self.numbers, service, home, decision);
        Arc::new(ServiceAnswers::encode(&replies(listed, state, now, slot)))
    }
}

/// What the service answers to each home, with the counters that `slot` gives.
pub fn replies(
    service: &ServicePlan,
    state: &ServiceState,
    now: Now,
    mut slot: impl FnMut(RegionId, crate::region::Decision) -> Slot,
) -> Vec<HomeReply> {
    let homes = state.table.regions().zip(&state.homes);
    homes
        .map(|(home, decided)| {
            let ttl = TtlRule {
                ttl_s: decided.ttl.ttl_s,
                min_s: decided.ttl.min_s,
                deadline: decided.ttl.until_ms.map(|at_ms| now.mono_at(at_ms)),
            };
            let records = records(service, state, home, decided.decision.chosen);
            HomeReply { records, ttl, slot: slot(home, decided.decision) }
        })
        .collect()
}

fn records(service: &ServicePlan, state: &ServiceState, home: RegionId, chosen: Chosen) -> Records {
    if chosen == Chosen::Nobody {
        return Records::Servfail;
    }
    // Several regions' aliases can't stand beside each other (RFC 2181 10.1): the first one answers.
    let regions = state.homes.get(home.index()).map(|home| home.decision.regions()).unwrap_or_default();
    let alias =
        regions.iter().find_map(|region| service.regions.get(region.index())?.as_ref()?.cname.as_ref());
    if let Some(alias) = alias {
        return Records::Cname(wire_name(alias));
    }
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for (_, address) in state.endpoints(service, home) {
        match address {
            IpAddr::V4(address) => v4.push(address),
            IpAddr::V6(address) => v6.push(address),
        }
    }
    Records::Addresses { v4, v6 }
}

/// A checked name in wire form. Labels longer than the protocol allows can't occur: the configuration refused them.
pub fn wire_name(name: &str) -> Vec<u8> {
    let mut wire = Vec::with_capacity(name.len() + 2);
    for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
        wire.push(label.len().min(63) as u8);
        wire.extend(label.bytes().take(63));
    }
    wire.push(0);
    wire
}

#[cfg(test)]
mod tests;
