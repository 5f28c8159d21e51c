//! Why answers differ: each reason with the RFC section that decides who is right, and how often it was the one.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::{Agreement, Case};
use super::{accepted, deviations};

/// A known difference.
pub(super) struct Reason {
    /// What is different, and by which section of which RFC.
    pub(super) what: &'static str,
    /// Whether it explains this case, whole.
    explains: fn(&Case<'_>) -> bool,
    used: AtomicUsize,
}

impl Reason {
    pub(super) const fn new(what: &'static str, explains: fn(&Case<'_>) -> bool) -> Self {
        Self { what, explains, used: AtomicUsize::new(0) }
    }

    /// How many cases it has explained.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// Every known reason, by who is alone with an answer.
pub(super) struct Reasons {
    /// Waypost is.
    pub(super) accepted: Vec<Reason>,
    /// NSD is.
    pub(super) nsd: Vec<Reason>,
    /// Knot is.
    pub(super) knot: Vec<Reason>,
}

impl Reasons {
    pub(super) fn all() -> Self {
        Self { accepted: accepted::list(), nsd: deviations::of_nsd(), knot: deviations::of_knot() }
    }

    /// Whether one explains this case; the first that does is counted.
    pub(super) fn explain(&self, case: &Case<'_>) -> bool {
        let reasons = match case.agreement() {
            Agreement::Both => return true,
            Agreement::KnotAlone => &self.nsd,
            Agreement::NsdAlone => &self.knot,
            Agreement::Neither => &self.accepted,
        };
        let reason = reasons.iter().find(|reason| (reason.explains)(case));
        if let Some(reason) = reason {
            reason.used.fetch_add(1, Ordering::Relaxed);
        }
        reason.is_some()
    }

    /// With what each means for Waypost.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Reason)> {
        let lists = [("accepted", &self.accepted), ("NSD is off", &self.nsd), ("Knot is off", &self.knot)];
        lists.into_iter().flat_map(|(list, reasons)| reasons.iter().map(move |reason| (list, reason)))
    }
}
