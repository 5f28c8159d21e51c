//! The operators' file `admin.toml`: what is drained and what is forced, by whom it was meant, from when to when.

mod edit;
mod glob;
mod parse;

pub use edit::{EditError, NewEntry, Removal, Wider, add_drain, add_force, remove_drain, remove_force};
pub use glob::Glob;

use crate::region::RegionId;

use super::Diagnostic;

/// A valid admin file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdminFile {
    /// `[[drain]]`, in file order.
    pub drains: Vec<Entry>,
    /// `[[force]]`, in file order, with the forced state.
    pub forces: Vec<(Entry, Forced)>,
    /// What is odd, but not wrong: an entry whose end has passed.
    pub warnings: Vec<Diagnostic>,
}

/// One entry: a region, for the services that a glob matches, between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line of the file, from 1.
    pub line: usize,
    /// The region.
    pub region: RegionId,
    /// Which services; absent: every one.
    pub service: Option<Glob>,
    /// When it begins, in milliseconds since 1970 UTC; absent: it has begun.
    pub from_ms: Option<i64>,
    /// When it ends, likewise; absent: when it is removed.
    pub until_ms: Option<i64>,
    /// Why; may be empty.
    pub reason: String,
}

/// What an operator says, whatever the probes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forced {
    /// Counts as healthy.
    Up,
    /// Counts as failed, and as drained when nothing is able.
    Down,
}

/// What the file says about one service in one region at one moment. A drain goes before a force; of two forces, down
/// goes before up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InForce<'f> {
    /// The drain in force, the first of the file.
    pub drained: Option<&'f Entry>,
    /// The force in force; shown beside a drain, without effect then.
    pub forced: Option<(&'f Entry, Forced)>,
    /// When an entry next begins or ends, in milliseconds since 1970 UTC; whether that changes anything or not.
    pub next_change_ms: Option<i64>,
}

impl AdminFile {
    /// What the file says about `service` in `region` at `now_ms` (milliseconds since 1970 UTC).
    pub fn in_force(&self, region: RegionId, service: &str, now_ms: i64) -> InForce<'_> {
        let concerns = |entry: &Entry| entry.concerns(region, service);
        let drains = self.drains.iter().filter(|entry| concerns(entry));
        let forces = self.forces.iter().filter(|(entry, _)| concerns(entry));
        let entries = drains.clone().chain(forces.clone().map(|(entry, _)| entry));
        InForce {
            drained: drains.clone().find(|entry| entry.holds_at(now_ms)),
            // `min_by_key` takes the first of equals, so the file's order decides between two alike.
            forced: forces
                .filter(|(entry, _)| entry.holds_at(now_ms))
                .min_by_key(|(_, forced)| std::cmp::Reverse(*forced))
                .map(|(entry, forced)| (entry, *forced)),
            next_change_ms: entries.filter_map(|entry| entry.next_change_ms(now_ms)).min(),
        }
    }
}

impl Entry {
    /// Whether it is about `service` in `region`.
    pub fn concerns(&self, region: RegionId, service: &str) -> bool {
        self.region == region && self.service.as_ref().is_none_or(|glob| glob.matches(service))
    }

    /// Whether it holds at `now_ms`: from its beginning on, and no longer at its end.
    pub fn holds_at(&self, now_ms: i64) -> bool {
        self.from_ms.is_none_or(|from_ms| from_ms <= now_ms)
            && self.until_ms.is_none_or(|until_ms| now_ms < until_ms)
    }

    /// The next of its two moments after `now_ms`, in milliseconds since 1970 UTC.
    pub fn next_change_ms(&self, now_ms: i64) -> Option<i64> {
        [self.from_ms, self.until_ms].into_iter().flatten().filter(|&moment_ms| moment_ms > now_ms).min()
    }
}

#[cfg(test)]
mod tests;
