//! The operators' file `admin.toml`: what is drained and what is forced, by whom it was meant, from when to when.

use crate::region::RegionId;

/// A valid admin file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdminFile {
    /// `[[drain]]`, in file order.
    pub drains: Vec<Entry>,
    /// `[[force]]`, in file order, with the forced state.
    pub forces: Vec<(Entry, Forced)>,
    /// What is odd, but not wrong: an entry whose end has passed.
    pub warnings: Vec<String>,
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

/// A shell glob over service names: `*` crosses dots, `?` is one byte; letter case and a trailing dot do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(pub String);

/// What holds for one region and service at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InForce<'f> {
    /// The drain that holds.
    pub drained: Option<&'f Entry>,
    /// The force that holds.
    pub forced: Option<(&'f Entry, Forced)>,
    /// When the next entry begins or ends.
    pub next_change_ms: Option<i64>,
}

impl AdminFile {
    /// STUB until the config branch lands.
    pub fn in_force(&self, region: RegionId, service: &str, now_ms: i64) -> InForce<'_> {
        let applies = |e: &&Entry| {
            e.region == region
                && e.service.as_ref().is_none_or(|g| {
                    g.0 == "*"
                        || service == g.0
                        || (g.0.ends_with("*") && service.starts_with(g.0.trim_end_matches('*')))
                })
        };
        let on = |e: &&Entry| e.from_ms.is_none_or(|f| f <= now_ms) && e.until_ms.is_none_or(|u| u > now_ms);
        let drained = self.drains.iter().filter(applies).find(on);
        let mut forced = self
            .forces
            .iter()
            .filter(|(e, _)| applies(&e) && on(&e))
            .map(|(e, f)| (e, *f))
            .collect::<Vec<_>>();
        forced.sort_by_key(|(_, f)| *f == Forced::Up);
        let all = self.drains.iter().chain(self.forces.iter().map(|(e, _)| e)).filter(applies);
        let next_change_ms =
            all.flat_map(|e| [e.from_ms, e.until_ms]).flatten().filter(|t| *t > now_ms).min();
        InForce { drained, forced: forced.first().copied(), next_change_ms }
    }
}

impl AdminFile {
    /// STUB.
    pub fn parse(
        text: &str,
        path: &std::path::Path,
        regions: &crate::region::Regions,
        services: &[&str],
        now_ms: i64,
    ) -> Result<Self, Vec<super::Diagnostic>> {
        let _ = (text, path, regions, services, now_ms);
        Ok(Self::default())
    }
}
