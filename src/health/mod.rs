//! Observations become states: what probes saw, damped per check, summed up per region.
//!
//! Pure: time is an argument, so thousands of outages run in a test second.

pub mod aggregate;
pub mod tracker;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment on the monotonic clock: milliseconds since the process (or the simulation) began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

impl Mono {
    /// The moment `span` later; the end of time at most.
    pub fn after(self, span: Duration) -> Self {
        let span_ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(span_ms))
    }

    /// How long after `earlier` this is; zero when it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// How a failure was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Something did not work: refused, reset, timed out, wrong status.
    Plain,
    /// The server said so itself: read-only, disk full.
    Explicit,
}

/// What one run of a probe saw. "Could not observe" is not "is down".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well.
    Ok,
    /// Works, but not well.
    Degraded,
    /// Does not work.
    Failed(Evidence),
    /// On its way through a failover of its own: starting up, in recovery.
    Transitional,
    /// The probe itself could not work: wrong password, unresolvable name.
    Unknown,
}

impl Verdict {
    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Failed(_) => "failed",
            Self::Transitional => "transitional",
            Self::Unknown => "unknown",
        }
    }
}

/// One step of a probe run, for `waypost probe` and `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeStep {
    /// `resolve`, `connect`, `request`, `body`, …
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// One run of one probe against one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// What it saw.
    pub verdict: Verdict,
    /// Why, for people; empty when all is well. Never a secret.
    pub detail: String,
    /// The whole run.
    pub took: Duration,
    /// Its steps, in order.
    pub steps: Vec<ProbeStep>,
    /// A lag that the probe measured, in seconds.
    pub lag_s: Option<f64>,
}

impl Observation {
    /// An observation without steps.
    pub fn new(verdict: Verdict, detail: impl Into<String>, took: Duration) -> Self {
        Self { verdict, detail: detail.into(), took, steps: Vec::new(), lag_s: None }
    }
}

/// The state of one check, as it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Never seen; counts as up.
    #[default]
    Unprobed,
    /// Up.
    Up,
    /// Up, but not well.
    Degraded,
    /// Down.
    Down,
}

impl Level {
    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unprobed => "unprobed",
            Self::Up => "up",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }

    /// Whether what is checked counts as up.
    pub const fn is_up(self) -> bool {
        !matches!(self, Self::Down)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How fast a check leaves a state and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damping {
    /// Bad results in a row to leave a state; at least 1. Explicit evidence needs at most 2.
    pub fall: u32,
    /// Better results in a row to come back; at least 1.
    pub rise: u32,
    /// Least time away before coming back. Doubles with each departure soon after a return.
    pub cooldown: Duration,
    /// How long transitional results do not count.
    pub grace: Duration,
    /// The usual time between two runs.
    pub interval: Duration,
    /// The time between two runs while results disagree with the state.
    pub fast_interval: Duration,
}

/// The worst that a check may make of its region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// May take it out.
    #[default]
    Fail,
    /// May only degrade it.
    Degrade,
}
