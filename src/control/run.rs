//! The writer's loop: messages as they come, time as it passes.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::clock::Clock;
use super::desk::{Desk, Message};
use super::plan::CheckIndex;
use crate::health::Mono;

/// The loop looks at the clock at least this often.
const TICK: Duration = Duration::from_millis(200);

/// Messages taken in a row before the clock is looked at.
const BATCH: usize = 256;

/// Takes messages until told to stop; then gives the desk back, with everything saved.
///
/// `repaced` hears of checks that should run fast (`true`) or at their usual pace from now on.
pub async fn run(
    mut desk: Desk,
    mut messages: mpsc::Receiver<Message>,
    clock: Clock,
    mut stop: watch::Receiver<bool>,
    mut repaced: impl FnMut(u64, CheckIndex, bool),
) -> Desk {
    let mut batch = Vec::with_capacity(BATCH);
    while !*stop.borrow() {
        let now = clock.now();
        let wake = desk.model().next_wake(now).map_or(TICK, |at| until(now.mono, at).min(TICK));
        let received = tokio::select! {
            received = timeout(wake, messages.recv_many(&mut batch, BATCH)) => received,
            _ = stop.changed() => continue,
        };
        if received == Ok(0) {
            break;
        }
        for message in batch.drain(..) {
            desk.take(clock.now(), message);
        }
        desk.tick(clock.now());
        for check in desk.take_repaced() {
            let fast = desk.model().tracker(check).is_some_and(|tracker| tracker.is_fast());
            repaced(desk.loaded().generation, check, fast);
        }
    }
    desk.save(clock.now());
    desk
}

/// How long until `at`, never nothing: a due moment is worked off by the tick that follows.
fn until(now: Mono, at: Mono) -> Duration {
    at.since(now).max(Duration::from_millis(1))
}
