//! Tells operators when dnstap loses messages: no collector is there, or it is slower than the queries. Reads what the
//! sending thread counts, and leaves alone what passes within seconds: a collector's restart loses nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::control::Clock;
use crate::control::desk::{Handle, Message};
use crate::control::journal::rfc3339;
use crate::control::status::Warning;
use crate::health::Mono;
use crate::serve::dnstap::Counts;

/// Time between two looks at the counters.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a collector may be away before that is told: above the two seconds between two attempts to connect.
const AWAY: Duration = Duration::from_secs(5);

/// How long nothing is dropped before a collector counts as fast enough again.
const QUIET: Duration = Duration::from_secs(30);

/// The warning's code.
const CODE: &str = "dnstap";

/// Looks until told to stop.
pub(super) async fn watch_dnstap(
    counts: Arc<Counts>,
    socket: PathBuf,
    handle: Handle,
    clock: Clock,
    mut stop: watch::Receiver<bool>,
) {
    let mut collector = Collector::new(clock.mono());
    let mut told = None;
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            _ = stop.changed() => return,
        }
        let now = clock.now();
        let trouble = collector.look(now.mono, counts.is_connected(), counts.dropped());
        if trouble == told {
            continue;
        }
        told = trouble;
        let socket = socket.display();
        let message = match trouble {
            Some(trouble) => Message::Warn(Warning {
                code: CODE,
                text: match trouble {
                    Trouble::Away => format!(
                        "no dnstap collector takes messages at {socket}: what does not fit into the queues is lost; start \
                         it, and let this server's user write to its socket"
                    ),
                    Trouble::Slow => format!(
                        "the dnstap collector at {socket} is slower than the queries: messages are lost; \
                         waypost_dns_dnstap_dropped_total counts them"
                    ),
                },
                since: rfc3339(now.wall_ms),
            }),
            None => Message::Unwarn(CODE),
        };
        // A writer that is gone has nobody to tell: the server is stopping.
        let _ = handle.send(message).await;
    }
}

/// Why messages are lost, or soon will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// Nobody is connected.
    Away,
    /// Somebody is, and does not keep up.
    Slow,
}

/// How the collector does.
#[derive(Debug)]
struct Collector {
    /// When it was last there; at first: when looking began.
    there: Mono,
    /// Messages dropped by the last look.
    dropped: u64,
    /// When that last grew while it was there.
    lost: Option<Mono>,
}

impl Collector {
    fn new(now: Mono) -> Self {
        Self { there: now, dropped: 0, lost: None }
    }

    /// Takes whether one is connected, and the count of drops, which only grows.
    fn look(&mut self, now: Mono, is_connected: bool, dropped: u64) -> Option<Trouble> {
        if !is_connected {
            // What is dropped now is no sign of a slow one.
            self.dropped = dropped;
            return (now.since(self.there) >= AWAY).then_some(Trouble::Away);
        }
        self.there = now;
        if dropped > self.dropped {
            (self.dropped, self.lost) = (dropped, Some(now));
        }
        self.lost.is_some_and(|lost| now.since(lost) < QUIET).then_some(Trouble::Slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told when each second finds this: connected or not, messages dropped so far.
    fn told(looks: impl IntoIterator<Item = (bool, u64)>) -> Vec<(u64, Option<Trouble>)> {
        let mut collector = Collector::new(Mono(0));
        let looks = (0..).zip(looks).map(|(at_s, (is_connected, dropped))| {
            (at_s, collector.look(Mono(at_s * 1000), is_connected, dropped))
        });
        let mut before = None;
        looks.filter(|(_, trouble)| std::mem::replace(&mut before, *trouble) != *trouble).collect()
    }

    #[test]
    fn a_collector_that_never_comes_is_told_after_five_seconds_and_taken_back_when_it_does() {
        let looks = (0..60).map(|at_s| (at_s >= 20, 0));
        assert_eq!(told(looks), [(5, Some(Trouble::Away)), (20, None)]);
    }

    #[test]
    fn a_collectors_restart_is_no_trouble() {
        assert_eq!(told((0..60).map(|at_s| (!(20..24).contains(&at_s), 0))), []);
    }

    #[test]
    fn a_collector_that_loses_messages_is_slow_until_half_a_minute_after_the_last() {
        let looks = (0..60_u64).map(|at_s| (true, at_s.clamp(9, 15) - 9));
        assert_eq!(told(looks), [(10, Some(Trouble::Slow)), (45, None)]);
    }

    #[test]
    fn what_was_lost_while_nobody_was_there_makes_nobody_slow() {
        let looks = (0..60_u64).map(|at_s| (at_s >= 20, at_s.min(19) * 100));
        assert_eq!(told(looks), [(5, Some(Trouble::Away)), (20, None)]);
    }
}
