//! What changed from one look to the next, for people.

use std::collections::BTreeMap;

use crate::control::journal::{homes, rfc3339};
use crate::control::status::StatusParts;

/// What one look saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picture {
    /// By region and service: the state, and why.
    pub(super) states: BTreeMap<(String, String), (String, String)>,
    /// By home and service: the region that answers, and the reason.
    pub(super) answers: BTreeMap<(String, String), (String, String)>,
    /// By code.
    pub(super) warnings: BTreeMap<&'static str, String>,
}

/// A line as it is printed.
pub(super) fn at(wall_ms: i64, line: &str) -> String {
    let moment = rfc3339(wall_ms);
    format!("{}  {line}", moment.get(11..19).unwrap_or(&moment))
}

impl Picture {
    /// Looks.
    pub(super) fn of(parts: &StatusParts) -> Self {
        let mut picture = Self::default();
        for (region, report) in parts.report(true).regions {
            for (service, place) in report.services {
                let state = (place.state.to_owned(), place.reason);
                picture.states.insert((region.clone(), service), state);
            }
        }
        let plan = &parts.snapshot.plan;
        let states = (0..).zip(plan.services.iter().zip(parts.snapshot.states.iter()));
        for (index, (service, state)) in states {
            for (home, served) in homes(plan, index, state) {
                picture.answers.insert((home, service.name.clone()), (served.answer, served.reason));
            }
        }
        picture.warnings =
            parts.warnings.iter().map(|warning| (warning.code, warning.text.clone())).collect();
        picture
    }

    /// A line for each change: first regions, then where users go, then warnings. Services that change alike share one.
    pub(super) fn changes_since(&self, before: &Self) -> Vec<String> {
        let mut lines = Lines::default();
        for ((region, service), (state, why)) in &self.states {
            let was = before.states.get(&(region.clone(), service.clone()));
            if let Some((was, _)) = was.filter(|(was, _)| was != state) {
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                lines.add((format!("{region} turned {state} (was {was})"), why), service);
            }
        }
        for ((home, service), (answer, reason)) in &self.answers {
            let was = before.answers.get(&(home.clone(), service.clone()));
            if let Some((was, _)) = was.filter(|(was, _)| was != answer) {
                lines.add((format!("users of {home}: {was} → {answer} ({reason})"), String::new()), service);
            }
        }
        let mut lines = lines.finish();
        for (code, text) in &self.warnings {
            if before.warnings.get(code) != Some(text) {
                lines.push(format!("warning: {text}"));
            }
        }
        for (code, text) in &before.warnings {
            if !self.warnings.contains_key(code) {
                lines.push(format!("no longer: {text}"));
            }
        }
        lines
    }
}

/// What happens to services, in the order in which it came up.
#[derive(Debug, Default)]
struct Lines(Vec<((String, String), Vec<String>)>);

impl Lines {
    /// `what`: the words before the services' names, and those behind them.
    fn add(&mut self, what: (String, String), service: &str) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, services)) => services.push(service.to_owned()),
            None => self.0.push((what, vec![service.to_owned()])),
        }
    }

    fn finish(self) -> Vec<String> {
        let line = |((before, behind), services): ((String, String), Vec<String>)| {
            format!("{before} for {}{behind}", services.join(", "))
        };
        self.0.into_iter().map(line).collect()
    }
}
