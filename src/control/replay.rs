//! Recorded decisions, computed again: as they were, to prove them; or under another configuration or a drain more, to
//! see who would have moved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::derive::{ServiceState, derive};
use super::inputs::{Change, Inputs, Place, Reading};
use super::journal::{Homes, Line, Served, feed, hex, homes};
use super::plan::{Check, CheckIndex, Plan};
use crate::config::admin::Entry;

/// What is different from what was recorded.
#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    /// Another configuration.
    pub plan: Option<Plan>,
    /// Regions that are drained as well, by name, for every service.
    pub drains: Vec<String>,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Lines read.
    pub lines: u64,
    /// Decisions computed again.
    pub decisions: u64,
    /// Lines that could not be used, with the reason.
    pub unusable: Vec<String>,
    /// Where the result differs from the record.
    pub differences: Vec<Difference>,
    /// Over the decisions of every line: the same journal under the same conditions gives the same.
    pub digest: String,
}

/// The users of one home would have got something else from one line on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The line's serial.
    pub serial: u64,
    /// Its moment.
    pub at: String,
    /// The service.
    pub service: String,
    /// The home region.
    pub home: String,
    /// What was served; absent: the record has no such service.
    pub recorded: Option<Served>,
    /// What comes out now; absent: the other configuration has no such service.
    pub replayed: Option<Served>,
}

/// Replays a journal, line by line.
#[derive(Debug)]
pub struct Replay {
    recorded: Run,
    other: Option<Run>,
    told: BTreeMap<(String, String), (Option<Served>, Option<Served>)>,
    report: Report,
    hash: Sha256,
}

impl Replay {
    /// A replay under these conditions; none: what is computed is held against the record.
    pub fn new(what_if: WhatIf) -> Self {
        let WhatIf { plan: instead, drains } = what_if;
        let nothing = instead.is_none() && drains.is_empty();
        Self {
            recorded: Run::default(),
            other: (!nothing).then(|| Run { instead, drains, ..Run::default() }),
            told: BTreeMap::new(),
            report: Report::default(),
            hash: Sha256::new(),
        }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &Line) {
        self.report.lines += 1;
        if self.recorded.plan.is_none()
            && !line.changes.iter().any(|change| matches!(change, Change::Plan { .. }))
        {
            self.report.unusable.push(format!("serial {}: no plan has been recorded before it", line.serial));
            return;
        }
        self.recorded.take(line);
        self.verify(line);
        if let Some(other) = &mut self.other {
            other.take(line);
            self.compare(line);
        }
    }

    /// What came out.
    pub fn report(mut self) -> Report {
        self.report.digest = hex(&self.hash.finalize());
        self.report
    }

    /// Holds what was recorded against what the recorded inputs give.
    fn verify(&mut self, line: &Line) {
        let Some(plan) = self.recorded.plan.clone() else { return };
        let states = self.recorded.derive_all(&plan, line.at_ms);
        self.report.decisions += states.iter().map(|state| state.homes.len() as u64).sum::<u64>();
        let now: Vec<Homes> = (0..).zip(&states).map(|(index, state)| homes(&plan, index, state)).collect();
        for (index, homes) in (0..).zip(&now) {
            feed(&mut self.hash, &plan, index, homes);
        }
        for touched in &line.touched {
            let replayed = plan.service(&touched.service).and_then(|index| now.get(index));
            for (home, recorded) in &touched.after {
                let replayed = replayed.and_then(|homes| homes.get(home));
                if replayed != Some(recorded) {
                    self.differ(line, (&touched.service, home), Some(recorded), replayed);
                }
            }
        }
        let before: Vec<Homes> = std::mem::replace(&mut self.recorded.last, now);
        self.verify_digest(line, &plan, &before);
    }

    /// The digest covers services that the line does not spell out.
    fn verify_digest(&mut self, line: &Line, plan: &Plan, before: &[Homes]) {
        let loaded = line.changes.iter().any(|change| matches!(change, Change::Plan { .. }));
        let mut hash = Sha256::new();
        for (index, homes) in self.recorded.last.iter().enumerate() {
            if loaded || before.get(index) != Some(homes) {
                feed(&mut hash, plan, index as u32, homes);
            }
        }
        if hex(&hash.finalize()) != line.digest && self.report.differences.is_empty() {
            let text = "the digest of its decisions is another one";
            self.report.unusable.push(format!("serial {}: {text}", line.serial));
        }
    }

    /// Holds the other run against the recorded one, and tells each difference when it begins or changes.
    fn compare(&mut self, line: &Line) {
        let Some(run) = &self.other else { return };
        let (Some(plan), Some(other_plan)) = (self.recorded.plan.clone(), run.plan.clone()) else { return };
        let states = run.derive_all(&other_plan, line.at_ms);
        let other: Vec<Homes> =
            (0..).zip(&states).map(|(index, state)| homes(&other_plan, index, state)).collect();
        let by_name = |plan: &Plan, all: &[Homes]| -> BTreeMap<(String, String), Served> {
            let services = plan.services.iter().zip(all);
            let each = services.flat_map(|(service, homes)| {
                homes.iter().map(|(home, served)| ((service.name.clone(), home.clone()), served.clone()))
            });
            each.collect()
        };
        let recorded = by_name(&plan, &self.recorded.last);
        let replayed = by_name(&other_plan, &other);
        let keys: BTreeSet<_> = recorded.keys().chain(replayed.keys()).cloned().collect();
        for key in keys {
            let pair = (recorded.get(&key).cloned(), replayed.get(&key).cloned());
            if same_answer(pair.0.as_ref(), pair.1.as_ref()) {
                self.told.remove(&key);
            } else if self.told.get(&key) != Some(&pair) {
                self.differ(line, (&key.0, &key.1), pair.0.as_ref(), pair.1.as_ref());
                self.told.insert(key, pair);
            }
        }
    }

    fn differ(
        &mut self,
        line: &Line,
        of: (&str, &str),
        recorded: Option<&Served>,
        replayed: Option<&Served>,
    ) {
        self.report.differences.push(Difference {
            serial: line.serial,
            at: line.at.clone(),
            service: of.0.to_owned(),
            home: of.1.to_owned(),
            recorded: recorded.cloned(),
            replayed: replayed.cloned(),
        });
    }
}

/// Whether users get the same addresses from the same region; the TTL alone moves nobody.
fn same_answer(a: Option<&Served>, b: Option<&Served>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (&a.answer, &a.addresses, &a.cname) == (&b.answer, &b.addresses, &b.cname),
        (None, None) => true,
        _ => false,
    }
}

/// Inputs folded from the lines, under the recorded plan or another.
#[derive(Debug, Default)]
struct Run {
    /// Use this plan instead of recorded ones.
    instead: Option<Plan>,
    /// Drain these as well.
    drains: Vec<String>,
    /// The recorded plan that the lines' positions refer to.
    recorded: Plan,
    plan: Option<Arc<Plan>>,
    inputs: Inputs,
    last: Vec<Homes>,
}

impl Run {
    /// Folds a line's changes.
    fn take(&mut self, line: &Line) {
        for change in &line.changes {
            let reordered = matches!(change, Change::Plan { .. } | Change::Orders(_));
            let Some(change) = self.translate(change) else { continue };
            let plan = self.plan.clone().unwrap_or_default();
            if let Some(plan) = self.inputs.fold(change, &plan) {
                self.plan = Some(Arc::new(plan));
            }
            if reordered {
                self.add_drains();
            }
        }
    }

    /// A recorded change as it reads under this run's plan: by names, since positions differ.
    fn translate(&mut self, change: &Change) -> Option<Change> {
        let Some(instead) = &self.instead else { return Some(change.clone()) };
        if let Change::Plan { plan, .. } = change {
            self.recorded = (**plan).clone();
        }
        let recorded = &self.recorded;
        let place = |place: &Place| translate_place(recorded, instead, *place);
        Some(match change {
            Change::Plan { readings, held, put_off, orders, .. } => Change::Plan {
                plan: Box::new(instead.clone()),
                readings: translate_readings(recorded, instead, readings),
                held: held.iter().filter_map(place).collect(),
                put_off: put_off
                    .iter()
                    .filter_map(|(at, frozen)| Some((place(at)?, frozen.clone())))
                    .collect(),
                orders: orders.clone(),
            },
            Change::Reading { check, reading } => {
                let check = translate_check(recorded, instead, *check)?;
                Change::Reading { check, reading: *reading }
            }
            Change::Held { place: at, held } => Change::Held { place: place(at)?, held: *held },
            Change::PutOff { place: at, frozen } => {
                Change::PutOff { place: place(at)?, frozen: frozen.clone() }
            }
            Change::Orders(_) | Change::Clock => change.clone(),
        })
    }

    fn add_drains(&mut self) {
        let Some(plan) = &self.plan else { return };
        let regions = self.drains.iter().filter_map(|name| plan.region(name));
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

    fn derive_all(&self, plan: &Plan, at_ms: i64) -> Vec<ServiceState> {
        (0..plan.services.len() as u32)
            .filter_map(|index| derive(plan, &self.inputs, index, at_ms, None))
            .collect()
    }
}

fn translate_check(from: &Plan, to: &Plan, check: CheckIndex) -> Option<CheckIndex> {
    let check = from.checks.get(check as usize)?;
    let region = to.region(from.region_name(check.region))?;
    let same = |other: &Check| other.key() == (check.probe.as_str(), region, check.address);
    to.checks.iter().position(same).map(|index| index as CheckIndex)
}

fn translate_readings(from: &Plan, to: &Plan, readings: &[Reading]) -> Vec<Reading> {
    let mut translated = vec![Reading::default(); to.checks.len()];
    for (check, reading) in (0..).zip(readings) {
        let to = translate_check(from, to, check);
        if let Some(slot) = to.and_then(|check| translated.get_mut(check as usize)) {
            *slot = *reading;
        }
    }
    translated
}

fn translate_place(from: &Plan, to: &Plan, (service, region): Place) -> Option<Place> {
    let service = to.service(&from.services.get(service as usize)?.name)?;
    Some((service as u32, to.region(from.region_name(region))?))
}
