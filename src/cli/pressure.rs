//! Tells operators when answers begin to be limited and when that is over. Reads what the workers count, so that the
//! query path has nothing to do with it, and says little however much comes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::control::Clock;
use crate::control::desk::{Handle, Message};
use crate::control::journal::rfc3339;
use crate::control::status::Warning;
use crate::dns::Counters;
use crate::dns::counters::{Limited, sum};
use crate::health::Mono;

/// Time between two looks at the counters.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Least time between two turns, and how long nothing is limited before that is called the end.
const QUIET: Duration = Duration::from_secs(30);

/// Looks until told to stop. What holds is a warning in `status` for as long as it does; the writer logs its beginning.
pub(super) async fn watch_limits(
    workers: Vec<Arc<Counters>>,
    handle: Handle,
    clock: Clock,
    mut stop: watch::Receiver<bool>,
) {
    let mut limits = Limits::default();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            _ = stop.changed() => return,
        }
        let count = |limited| sum(workers.iter().map(|worker| &**worker), |worker| worker.limited(limited));
        let now = clock.now();
        match limits.look(now.mono, count) {
            Some(News::Holds(text)) => {
                let warning = Warning { code: CODE, text: text.to_owned(), since: rfc3339(now.wall_ms) };
                // A writer that is gone has nobody to tell: the server is stopping.
                let _ = handle.send(Message::Warn(warning)).await;
            }
            Some(News::Over(answers)) => {
                let _ = handle.send(Message::Unwarn(CODE)).await;
                tracing::info!(answers, "clients keep to dns.rate_limit again");
            }
            None => {}
        }
    }
}

/// The warning's code.
const CODE: &str = "rate_limit";

/// What is said while answers are limited.
const LIMITED: &str = "clients ask for more than dns.rate_limit allows: what is beyond it is answered empty and \
    truncated, or with BADCOOKIE; waypost_dns_rate_limited_total counts it";

/// What is said while they would be.
const DRY_RUN: &str = "clients ask for more than dns.rate_limit would allow, but with dry_run all are answered in \
    full; waypost_dns_rate_limited_total{action=\"dry_run\"} counts what is beyond it";

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// This holds now.
    Holds(&'static str),
    /// Nothing is beyond the limit any more; how many answers were.
    Over(u64),
}

/// Limiting, and a dry run of it: a reload may turn one into the other.
#[derive(Debug, Default)]
struct Limits {
    real: Pressure,
    dry_run: Pressure,
    /// Answers of what has ended while the other still goes on.
    ended: u64,
    /// What was said last and still holds.
    told: Option<&'static str>,
}

impl Limits {
    /// Takes the counts of answers beyond the limit, which only grow.
    fn look(&mut self, now: Mono, count: impl Fn(Limited) -> u64) -> Option<News> {
        let real = count(Limited::Slip) + count(Limited::BadCookie);
        for turn in [self.real.look(now, real), self.dry_run.look(now, count(Limited::DryRun))] {
            if let Some(Turn::Ended(answers)) = turn {
                self.ended += answers;
            }
        }
        let holds = match (self.real.on, self.dry_run.on) {
            (true, _) => Some(LIMITED),
            (false, true) => Some(DRY_RUN),
            (false, false) => None,
        };
        if holds == self.told {
            return None;
        }
        self.told = holds;
        Some(holds.map_or_else(|| News::Over(std::mem::take(&mut self.ended)), News::Holds))
    }
}

/// What there is to tell, with the answers beyond the limit since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Began,
    Ended(u64),
}

/// Whether answers are being limited, as far as operators know.
#[derive(Debug, Default)]
struct Pressure {
    /// The count at the last look, and when it last grew.
    seen: u64,
    grew: Mono,
    /// The count when an end was last told.
    told: u64,
    /// Whether a beginning was told last.
    on: bool,
    /// When the last turn was told.
    line: Option<Mono>,
}

impl Pressure {
    /// Takes the count of answers beyond the limit, which only grows.
    fn look(&mut self, now: Mono, count: u64) -> Option<Turn> {
        if count > self.seen {
            (self.seen, self.grew) = (count, now);
        }
        if self.line.is_some_and(|line| now.since(line) < QUIET) {
            return None;
        }
        let answers = self.seen - self.told;
        let turn = match self.on {
            false if answers > 0 => Turn::Began,
            true if now.since(self.grew) >= QUIET => {
                self.told = self.seen;
                Turn::Ended(answers)
            }
            _ => return None,
        };
        self.on = !self.on;
        self.line = Some(now);
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Looks once a second while the count is what `counts` says, and gives the turns with their second.
    fn turns(counts: impl IntoIterator<Item = u64>) -> Vec<(u64, Turn)> {
        let mut pressure = Pressure::default();
        let looks = (0..).zip(counts);
        looks.filter_map(|(at_s, count)| Some((at_s, pressure.look(Mono(at_s * 1000), count)?))).collect()
    }

    #[test]
    fn a_flood_is_told_when_it_begins_and_when_it_has_been_over_for_half_a_minute() {
        let flood = (0..200_u64).map(|at_s| at_s.clamp(9, 99) * 10 - 90);
        assert_eq!(turns(flood), [(10, Turn::Began), (129, Turn::Ended(900))]);
    }

    #[test]
    fn a_flood_that_returns_at_once_is_told_later_and_nothing_is_lost() {
        let floods = (0..200).map(|at_s| match at_s {
            0..10 => 0,
            10..42 => 7,
            _ => 12,
        });
        let told = [(10, Turn::Began), (40, Turn::Ended(7)), (70, Turn::Began), (100, Turn::Ended(5))];
        assert_eq!(turns(floods), told);
    }

    #[test]
    fn nothing_is_said_while_nothing_is_limited() {
        assert_eq!(turns([0; 500]), []);
    }

    /// What is told when the counts are these, a second each: answers limited, and those that would have been.
    fn news(counts: impl IntoIterator<Item = [u64; 2]>) -> Vec<(u64, News)> {
        let mut limits = Limits::default();
        let look = |(at_s, [real, dry_run]): (u64, [u64; 2])| {
            let count = |limited| match limited {
                Limited::Slip => real,
                Limited::BadCookie => 0,
                Limited::DryRun => dry_run,
            };
            Some((at_s, limits.look(Mono(at_s * 1000), count)?))
        };
        (0..).zip(counts).filter_map(look).collect()
    }

    #[test]
    fn a_dry_run_is_told_apart_from_limiting() {
        let flood = |at_s: u64| at_s.clamp(9, 20) - 9;
        assert_eq!(
            news((0..60).map(|at_s| [flood(at_s), 0])),
            [(10, News::Holds(LIMITED)), (50, News::Over(11))]
        );
        assert_eq!(
            news((0..60).map(|at_s| [0, flood(at_s)])),
            [(10, News::Holds(DRY_RUN)), (50, News::Over(11))]
        );
    }

    #[test]
    fn a_dry_run_that_is_ended_amid_a_flood_becomes_limiting_and_ends_once() {
        let counts = (0..100_u64).map(|at_s| [at_s.clamp(20, 40) - 20, at_s.min(20)]);
        let told = [(1, News::Holds(DRY_RUN)), (21, News::Holds(LIMITED)), (70, News::Over(40))];
        assert_eq!(news(counts), told);
    }

    proptest! {
        #[test]
        fn whatever_comes_lines_are_half_a_minute_apart_and_take_turns(
            growth in prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0..1000_u64], 0..400),
        ) {
            let mut count = 0;
            let turns = turns(growth.iter().map(|more| { count += more; count }));
            for pair in turns.windows(2) {
                prop_assert!(pair[1].0 - pair[0].0 >= 30);
                let began = [pair[0].1, pair[1].1].map(|turn| matches!(turn, Turn::Began));
                prop_assert!(began[0] != began[1]);
            }
        }
    }
}
