//! Tells the log when answers begin to be limited and when that is over. Reads what the workers count, so that the
//! query path has nothing to do with it, and says little however much comes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::control::Clock;
use crate::dns::Counters;
use crate::dns::counters::{Limited, sum};
use crate::health::Mono;

/// Time between two looks at the counters.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Least time between two lines, and how long nothing is limited before that is called the end.
const QUIET: Duration = Duration::from_secs(30);

/// Looks until told to stop.
pub(super) async fn watch_limits(workers: Vec<Arc<Counters>>, clock: Clock, mut stop: watch::Receiver<bool>) {
    let mut pressure = Pressure::default();
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            _ = stop.changed() => return,
        }
        let all = |worker: &Counters| Limited::ALL.map(|limited| worker.limited(limited)).iter().sum();
        match pressure.look(clock.mono(), sum(workers.iter().map(|worker| &**worker), all)) {
            Some(Turn::Began(answers)) => {
                tracing::warn!(answers, "clients ask for more than dns.rate_limit allows");
            }
            Some(Turn::Ended(answers)) => tracing::info!(answers, "clients keep to dns.rate_limit again"),
            None => {}
        }
    }
}

/// What there is to tell, with the answers beyond the limit since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Began(u64),
    Ended(u64),
}

/// Whether answers are being limited, as far as the log knows.
#[derive(Debug, Default)]
struct Pressure {
    /// The count at the last look, and when it last grew.
    seen: u64,
    grew: Mono,
    /// The count when the log was last told of an end.
    told: u64,
    /// Whether the log's last word was a beginning.
    on: bool,
    /// When the last line was written.
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
            false if answers > 0 => Turn::Began(answers),
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
        assert_eq!(turns(flood), [(10, Turn::Began(10)), (129, Turn::Ended(900))]);
    }

    #[test]
    fn a_flood_that_returns_at_once_is_told_later_and_nothing_is_lost() {
        let floods = (0..200).map(|at_s| match at_s {
            0..10 => 0,
            10..42 => 7,
            _ => 12,
        });
        let told = [(10, Turn::Began(7)), (40, Turn::Ended(7)), (70, Turn::Began(5)), (100, Turn::Ended(5))];
        assert_eq!(turns(floods), told);
    }

    #[test]
    fn nothing_is_said_while_nothing_is_limited() {
        assert_eq!(turns([0; 500]), []);
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
                let began = [pair[0].1, pair[1].1].map(|turn| matches!(turn, Turn::Began(_)));
                prop_assert!(began[0] != began[1]);
            }
        }
    }
}
