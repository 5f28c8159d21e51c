//! Which counter a decision adds to: positions in the workers' decision counters, given out as decisions first occur
//! and never taken back, so that counters survive reloads.

use std::collections::BTreeMap;

use super::plan::Plan;
use crate::dns::answer::Slot;
use crate::dns::counters::DECISION_SLOTS;
use crate::region::{Chosen, Decision, Reason, RegionId};

/// Counters that a worker has for decisions. The first takes what finds no other.
pub const MAX_SLOTS: u32 = DECISION_SLOTS as u32;

/// Beyond so many services decisions are counted in sum.
pub const MAX_COUNTED_SERVICES: usize = 500;

/// The label of services that are counted in sum.
pub const ALL_SERVICES: &str = "all";

/// The given-out positions.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    known: BTreeMap<Key, u32>,
}

/// What a position counts: numbers of the service's, the home's and the answer's name, and the reason.
type Key = (u32, u32, u32, Reason);

/// What one position counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'s> {
    /// The position.
    pub slot: u32,
    /// The service, or [`ALL_SERVICES`].
    pub service: &'s str,
    /// The home region.
    pub home: &'s str,
    /// The region that answers, `all` or `none`.
    pub answer: &'s str,
    /// Why.
    pub reason: &'static str,
}

/// The numbers of a plan's names, looked up once a plan.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    services: Vec<u32>,
    regions: Vec<u32>,
    several: u32,
    nobody: u32,
}

impl Slots {
    /// Numbers the names of `plan`; one by one services when `per_service` and there are few enough.
    pub fn number(&mut self, plan: &Plan, per_service: bool) -> Numbers {
        let each = per_service && plan.services.len() <= MAX_COUNTED_SERVICES;
        let service = |service: &super::plan::ServicePlan| match each {
            true => self.name(&service.name),
            false => self.name(ALL_SERVICES),
        };
        Numbers {
            services: plan.services.iter().map(service).collect(),
            regions: plan.regions.iter().map(|region| self.name(region)).collect(),
            several: self.name("all"),
            nobody: self.name("none"),
        }
    }

    /// The counters of one decision for the users of `home`, when something placed them and when nothing did.
    pub fn slot(&mut self, numbers: &Numbers, service: u32, home: RegionId, decision: Decision) -> Slot {
        let number = |region: RegionId| numbers.regions.get(region.index()).copied().unwrap_or(0);
        let answer = match decision.chosen {
            Chosen::One(region) => number(region),
            Chosen::Several(_) => numbers.several,
            Chosen::Nobody => numbers.nobody,
        };
        let service = numbers.services.get(service as usize).copied().unwrap_or(0);
        let mut position = |reason| self.position((service, number(home), answer, reason));
        Slot { mapped: position(decision.reason), unmapped: position(decision.reason.for_unmapped()) }
    }

    /// What each position counts.
    pub fn labels(&self) -> impl Iterator<Item = Label<'_>> {
        let name = |number: &u32| self.names.get(*number as usize).map_or("", |name| name);
        self.known.iter().map(move |((service, home, answer, reason), &slot)| Label {
            slot,
            service: name(service),
            home: name(home),
            answer: name(answer),
            reason: reason.word(),
        })
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn position(&mut self, key: Key) -> u32 {
        let next = self.known.len() as u32 + 1;
        match self.known.get(&key) {
            Some(&position) => position,
            None if next < MAX_SLOTS => *self.known.entry(key).or_insert(next),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests;
