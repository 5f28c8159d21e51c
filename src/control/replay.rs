//! Recorded decisions, computed again: as they were, to prove them; or under another configuration or a drain more, to
//! see who would have moved.
//!
//! Time passes from line to line: what a scheduled order of another configuration would have begun or ended between two
//! lines shows at the second one. What rests on results as they came (cooldowns, waiting for a release, put-off turns)
//! is taken from the record, not lived through anew.

mod run;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use self::run::Run;
use super::inputs::Change;
use super::journal::{Homes, Line, Served, feed, hex};
use super::plan::Plan;

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
    /// Lines that could not be used or are not as they were written, with the reason.
    pub unusable: Vec<String>,
    /// Where the result differs from the record.
    pub differences: Vec<Difference>,
    /// Over the decisions of every line: the same journal under the same conditions gives the same.
    pub digest: String,
}

/// The users of one home would have got something else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The serial of the line from which on.
    pub serial: u64,
    /// Its moment.
    pub at: String,
    /// The moment of the line that ended it; absent: it holds to the end, or is one of a record against itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
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
    /// The serial of the last line; absent before the first plan.
    serial: Option<u64>,
    other: Option<Run>,
    /// Differences that hold at present, by service and home: their positions in the report.
    open: BTreeMap<(String, String), usize>,
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
            serial: None,
            other: (!nothing).then(|| Run::new(instead, drains)),
            open: BTreeMap::new(),
            report: Report::default(),
            hash: Sha256::new(),
        }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &Line) {
        self.report.lines += 1;
        let loads = line.changes.iter().any(|change| matches!(change, Change::Plan { .. }));
        if self.serial.is_none() && !loads {
            self.unusable(line, "no plan has been recorded before it");
            return;
        }
        self.follow(line);
        let decided = self.recorded.take(line);
        self.report.decisions += decided
            .keys()
            .filter_map(|service| self.recorded.at(*service))
            .map(|h| h.len() as u64)
            .sum::<u64>();
        self.verify(line, &decided);
        if let Some(other) = &mut self.other {
            let others = other.take(line);
            self.compare(line, loads, &decided, &others);
        }
    }

    /// What came out.
    pub fn report(mut self) -> Report {
        self.report.digest = hex(&self.hash.finalize());
        self.report
    }

    /// Serials count up by one; a line that changes no state has that of the line before, and a start may begin anywhere.
    fn follow(&mut self, line: &Line) {
        let last = self.serial.replace(line.serial);
        let step = if matches!(&*line.cause, "geo" | "checkpoint") { 0 } else { 1 };
        if last.is_some_and(|last| last + step != line.serial) && line.cause != "start" {
            self.unusable(line, "it does not follow the line before it: lines are missing");
        }
    }

    /// Holds what was recorded against what the recorded inputs give.
    fn verify(&mut self, line: &Line, decided: &BTreeMap<u32, Option<Homes>>) {
        let known = self.report.differences.len();
        let mut digest = line.begin_digest();
        for service in decided.keys() {
            let plan = self.recorded.plan();
            let name = plan.services.get(*service as usize).map_or("", |service| &*service.name);
            let Some(homes) = self.recorded.at(*service) else { continue };
            feed(&mut digest, name, homes);
            feed(&mut self.hash, name, homes);
        }
        for touched in &line.touched {
            let replayed = self.recorded.of(&touched.service).cloned().unwrap_or_default();
            for (home, recorded) in &touched.after {
                let replayed = replayed.get(home);
                if replayed != Some(recorded) {
                    self.differ(line, (&touched.service, home), Some(recorded), replayed);
                }
            }
        }
        let before = |touched: &super::journal::Touched| {
            let position = self.recorded.plan().service(&touched.service);
            let before = position.and_then(|service| decided.get(&(service as u32)));
            before.is_some_and(|before| *before == touched.before)
        };
        if self.report.differences.len() > known {
            return;
        }
        if line.touched.len() + line.more != decided.len() {
            self.unusable(line, "it tells of more decisions or of fewer than changed");
        } else if !line.touched.iter().all(before) {
            self.unusable(line, "what it says of the decisions before it is not what they were");
        } else if hex(&digest.finalize()) != line.digest {
            self.unusable(line, "its digest is another one: it is not as it was written");
        }
    }

    /// Holds the other run against the recorded one where either moved, and tells each difference when it begins.
    fn compare(
        &mut self,
        line: &Line,
        loads: bool,
        decided: &BTreeMap<u32, Option<Homes>>,
        others: &BTreeMap<u32, Option<Homes>>,
    ) {
        let Some(other) = &self.other else { return };
        let name = |plan: &Plan, service: &u32| Some(plan.services.get(*service as usize)?.name.clone());
        let of_record = decided.keys().filter_map(|service| name(self.recorded.plan(), service));
        let of_other = others.keys().filter_map(|service| name(other.plan(), service));
        let mut services: BTreeSet<String> = of_record.chain(of_other).collect();
        if loads {
            services.extend(self.open.keys().map(|(service, _)| service.clone()));
        }
        let none = Homes::new();
        let mut pairs = Vec::new();
        for service in services {
            let recorded = self.recorded.of(&service).unwrap_or(&none);
            let replayed = other.of(&service).unwrap_or(&none);
            let open = self.open.keys().filter(|(open, _)| loads && *open == service).map(|(_, home)| home);
            let homes: BTreeSet<&String> = recorded.keys().chain(replayed.keys()).chain(open).collect();
            for home in homes {
                let pair = (recorded.get(home).cloned(), replayed.get(home).cloned());
                pairs.push(((service.clone(), home.clone()), pair));
            }
        }
        for (key, (recorded, replayed)) in pairs {
            self.note(line, key, recorded.as_ref(), replayed.as_ref());
        }
    }

    /// Ends a difference that no longer is the one that it was, and begins one where there is one.
    fn note(
        &mut self,
        line: &Line,
        key: (String, String),
        recorded: Option<&Served>,
        replayed: Option<&Served>,
    ) {
        if let Some(&position) = self.open.get(&key) {
            let Some(open) = self.report.differences.get_mut(position) else { return };
            if same_answer(open.recorded.as_ref(), recorded) && same_answer(open.replayed.as_ref(), replayed)
            {
                return;
            }
            open.until = Some(line.at.clone());
            self.open.remove(&key);
        }
        if !same_answer(recorded, replayed) {
            self.differ(line, (&key.0, &key.1), recorded, replayed);
            self.open.insert(key, self.report.differences.len() - 1);
        }
    }

    fn unusable(&mut self, line: &Line, why: &str) {
        self.report.unusable.push(format!("serial {}: {why}", line.serial));
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
            until: None,
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
