//! One check's state machine: leave fast, return slowly.
//!
//! A check stands at a [`Level`]. Results that are worse move it down after `fall` in a row; results that are better
//! move it up after `rise` in a row *and* once a cooldown is over, both running side by side, the cooldown counted from
//! the moment the check left. Only returning is damped: a probe that flaps stays out longer with each departure, while
//! a real outage is acted upon as fast on its tenth day as on its first.
//!
//! Runs belong to the results, not to the state: three degraded results and a failed one leave a run of four "at least
//! degraded" and a run of one "down", whatever turns they caused. So a slide from degraded to down needs no more
//! results than a straight fall.
//!
//! What does not count:
//!
//! - *Unknown* says that the probe could not look. It neither counts nor breaks a run: a flaky resolver must not
//!   hide an outage by resetting the count, nor bring one about.
//! - *Transitional* within `grace` does not count towards leaving, since the server is on its way back by itself. It
//!   does end a run of good results: nobody returns while the server says that it is not ready.

use std::time::Duration;

use super::{Damping, Evidence, Level, Mono, Verdict};

/// A departure within this time of the last return doubles the cooldown.
pub const FLAP_WINDOW: Duration = Duration::from_secs(30 * 60);

/// A cooldown never doubles beyond this (one that is configured longer stays as it is).
pub const MAX_COOLDOWN: Duration = Duration::from_secs(30 * 60);

/// Results in a row that explicit evidence needs at most.
const EXPLICIT_FALL: u32 = 2;

/// One check: what its results add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracker {
    damping: Damping,
    level: Level,
    /// Whether the present [`Level::Down`] rests on explicit evidence.
    explicit: bool,
    /// Results of any kind since the start, saturating.
    seen: u32,
    runs: Runs,
    /// What the last result that says anything asks for.
    last: Option<Level>,
    /// Since when every result was transitional or failed.
    trouble: Option<Mono>,
    /// The end of the cooldown that the last departure began; absent for a restored level until its first result.
    cooldown_end: Option<Mono>,
    /// The length of that cooldown.
    cooldown: Duration,
    last_return: Option<Mono>,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What it was.
    pub from: Level,
    /// What it is.
    pub to: Level,
    /// Whether it is a fall to [`Level::Down`] that the server itself gave the reason for.
    pub explicit: bool,
}

/// Whether a level is likely to stay: what the TTL of an answer that rests on it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing suggests a change.
    Steady,
    /// The last result disagrees with the level.
    Pending,
    /// Out, and not to come back before `until`.
    Cooldown {
        /// The end of the cooldown.
        until: Mono,
    },
    /// Fewer than `fall` results since the start.
    Warming,
}

impl Tracker {
    /// How results are damped.
    pub fn damping(&self) -> Damping {
        self.damping
    }

    /// The same check, its further results damped otherwise.
    pub fn with_damping(self, damping: Damping) -> Self {
        Self { damping, ..self }
    }

    /// A check that was never run.
    pub fn new(damping: Damping) -> Self {
        Self::restored(damping, Level::Unprobed)
    }

    /// A check that stood at `level` when the state was saved. It keeps the level, with the usual damping; when that
    /// is below up, its cooldown starts over with the first result, since nobody knows how much of it was left, and a
    /// restart must not bring a server back early.
    pub fn restored(damping: Damping, level: Level) -> Self {
        // A run of zero is reached before the first result: less than one makes no sense.
        let damping = Damping { fall: damping.fall.max(1), rise: damping.rise.max(1), ..damping };
        Self {
            damping,
            level,
            explicit: false,
            seen: 0,
            runs: Runs::default(),
            last: None,
            trouble: None,
            cooldown_end: None,
            cooldown: damping.cooldown,
            last_return: None,
        }
    }

    /// Takes the result of a run that ended at `now`; tells when that changed the level.
    pub fn observe(&mut self, now: Mono, verdict: Verdict) -> Option<Turn> {
        self.seen = self.seen.saturating_add(1);
        if self.cooldown_end.is_none() && self.level > Level::Up {
            self.cooldown_end = Some(now.after(self.cooldown));
        }
        let (seen, evidence) = self.read(now, verdict)?;
        self.runs.count(seen, evidence);
        let to = self.due(now, seen);
        if to == self.level {
            self.explicit |= self.level == Level::Down && self.proven();
            return None;
        }
        Some(self.turn(now, to))
    }

    /// How the check stands.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Whether the present [`Level::Down`] rests on explicit evidence: the server said so itself, before or since it
    /// went down. False at any other level.
    pub const fn explicit(&self) -> bool {
        self.explicit
    }

    /// Whether the level is likely to stay.
    pub fn settled(&self, now: Mono) -> Settled {
        if self.seen < self.damping.fall {
            return Settled::Warming;
        }
        // Getting worse is the stronger news: it does not wait for any cooldown.
        if self.last.is_some_and(|last| last > self.level) {
            return Settled::Pending;
        }
        match self.cooling(now) {
            Some(until) => Settled::Cooldown { until },
            None if self.disagrees() => Settled::Pending,
            None => Settled::Steady,
        }
    }

    /// Results in a row, for people: above zero that many good ones, below zero that many that were degraded or
    /// worse; zero when there were none, or when a transitional result within `grace` ended a run of good ones.
    pub fn streak(&self) -> i64 {
        if self.runs.good > 0 { i64::from(self.runs.good) } else { -i64::from(self.runs.degraded_or_worse) }
    }

    /// The time from the start of one run to the next: shorter while results disagree with the level.
    pub fn interval(&self) -> Duration {
        if self.disagrees() { self.damping.fast_interval } else { self.damping.interval }
    }

    /// Whether it is to run at its fast interval.
    pub fn is_fast(&self) -> bool {
        self.disagrees()
    }

    /// The next moment at which [`Self::settled`] changes without a new result: the end of a cooldown. The level
    /// itself never changes without one: coming back takes a result that is good *now*.
    pub fn wake(&self, now: Mono) -> Option<Mono> {
        match self.settled(now) {
            Settled::Cooldown { until } => Some(until),
            Settled::Steady | Settled::Pending | Settled::Warming => None,
        }
    }

    /// The level that a result asks for, with its evidence; `None` when it does not count. Keeps the run of trouble
    /// that grace is measured by.
    fn read(&mut self, now: Mono, verdict: Verdict) -> Option<(Level, Evidence)> {
        let (seen, evidence) = match verdict {
            Verdict::Unknown => return None,
            Verdict::Ok => (Level::Up, Evidence::Plain),
            Verdict::Degraded => (Level::Degraded, Evidence::Plain),
            Verdict::Failed(evidence) => (Level::Down, evidence),
            Verdict::Transitional => (Level::Down, Evidence::Plain),
        };
        self.last = Some(seen);
        if seen < Level::Down {
            self.trouble = None;
            return Some((seen, evidence));
        }
        let since = *self.trouble.get_or_insert(now);
        if verdict == Verdict::Transitional && now.since(since) < self.damping.grace {
            self.runs.end_good();
            return None;
        }
        Some((seen, evidence))
    }

    /// The level that the runs call for, with the result just counted.
    fn due(&self, now: Mono, seen: Level) -> Level {
        let Damping { fall, rise, .. } = self.damping;
        let level = self.level;
        if level == Level::Unprobed {
            return seen;
        }
        if level < Level::Down && (self.runs.down >= fall || self.proven()) {
            return Level::Down;
        }
        if level < Level::Degraded && self.runs.degraded_or_worse >= fall {
            return Level::Degraded;
        }
        if self.cooling(now).is_some() {
            level
        } else if level > Level::Up && self.runs.good >= rise {
            Level::Up
        } else if level > Level::Degraded && self.runs.degraded_or_better >= rise {
            Level::Degraded
        } else {
            level
        }
    }

    /// Whether explicit evidence has come often enough in a row.
    fn proven(&self) -> bool {
        self.runs.explicit >= self.damping.fall.min(EXPLICIT_FALL)
    }

    fn turn(&mut self, now: Mono, to: Level) -> Turn {
        let from = self.level;
        self.level = to;
        if to > Level::Up && to > from {
            self.depart(now);
        } else if from != Level::Unprobed {
            self.last_return = Some(now);
        }
        self.explicit =
            to == Level::Down && self.runs.explicit > 0 && (from == Level::Unprobed || self.proven());
        Turn { from, to, explicit: self.explicit }
    }

    /// Starts a cooldown, twice as long as the last one when the last return did not hold.
    fn depart(&mut self, now: Mono) {
        let relapsed = self.last_return.is_some_and(|back| now.since(back) < FLAP_WINDOW);
        self.cooldown = if relapsed {
            self.cooldown.saturating_mul(2).min(MAX_COOLDOWN.max(self.damping.cooldown))
        } else {
            self.damping.cooldown
        };
        self.cooldown_end = Some(now.after(self.cooldown));
    }

    /// The end of the cooldown while it runs.
    fn cooling(&self, now: Mono) -> Option<Mono> {
        self.cooldown_end.filter(|&end| self.level > Level::Up && now < end)
    }

    fn disagrees(&self) -> bool {
        self.last.is_some_and(|last| last != self.level)
    }
}

/// How many results in a row were of each kind; all saturating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Runs {
    good: u32,
    degraded_or_better: u32,
    degraded_or_worse: u32,
    down: u32,
    explicit: u32,
}

impl Runs {
    fn count(&mut self, seen: Level, evidence: Evidence) {
        let extend = |run: &mut u32, goes_on: bool| *run = if goes_on { run.saturating_add(1) } else { 0 };
        extend(&mut self.good, seen <= Level::Up);
        extend(&mut self.degraded_or_better, seen <= Level::Degraded);
        extend(&mut self.degraded_or_worse, seen >= Level::Degraded);
        extend(&mut self.down, seen >= Level::Down);
        extend(&mut self.explicit, seen >= Level::Down && evidence == Evidence::Explicit);
    }

    fn end_good(&mut self) {
        self.good = 0;
        self.degraded_or_better = 0;
    }
}

#[cfg(test)]
mod tests;
