//! When checks run: each in a task of its own, never twice at a time, and none beyond its configuration's life.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{CheckSpec, Runner};
use crate::health::Observation;

/// Jitter is at most one part in so many of the interval.
const JITTER_PART: u128 = 10;

/// The running checks of one configuration. Dropping it ends them; [`Self::stop`] also waits until they have ended.
#[derive(Debug)]
pub struct Prober {
    checks: BTreeMap<u32, Arc<Check>>,
    runner: Runner,
    tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Check {
    spec: CheckSpec,
    /// Whether results disagree with the state.
    fast: watch::Sender<bool>,
    /// Held while it runs, by its task or by somebody who wants to see a run now.
    running: Mutex<()>,
}

impl Prober {
    /// Starts every check at once; what they see goes to `sink` under the check's id. Of several specs with one id the
    /// last one counts. When the sink is full a check waits with its next run; when it is closed the checks end.
    ///
    /// Needs a tokio runtime with time and I/O.
    pub fn start(specs: Vec<CheckSpec>, sink: mpsc::Sender<(u32, Observation)>, runner: Runner) -> Self {
        let check = |spec| Arc::new(Check { spec, fast: watch::Sender::new(false), running: Mutex::new(()) });
        let checks: BTreeMap<_, _> = specs.into_iter().map(|spec| (spec.id, check(spec))).collect();
        let mut tasks = JoinSet::new();
        for check in checks.values() {
            tasks.spawn(run(Arc::clone(check), runner.clone(), sink.clone()));
        }
        // Only the tasks hold the sink: it closes with the last of them.
        drop(sink);
        Self { checks, runner, tasks }
    }

    /// Tells a check whether its results disagree with its state, so that it runs at `fast_interval`. A check that
    /// waits takes notice at once. Unknown ids are ignored.
    pub fn set_fast(&self, id: u32, fast: bool) {
        if let Some(check) = self.checks.get(&id) {
            check.fast.send_if_modified(|now| std::mem::replace(now, fast) != fast);
        }
    }

    /// A run out of turn, for a person who wants to see it; `None` for an unknown id. Waits for a run that is under
    /// way. Its result goes to the caller alone and does not count.
    pub fn run_now(&self, id: u32) -> Option<impl Future<Output = Observation> + Send + use<>> {
        let check = Arc::clone(self.checks.get(&id)?);
        let runner = self.runner.clone();
        Some(async move {
            let _running = check.running.lock().await;
            runner.run_once(&check.spec).await
        })
    }

    /// Ends every check, also in the middle of a run, and waits until all have ended: nothing is sent afterwards.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// The life of one check.
async fn run(check: Arc<Check>, runner: Runner, sink: mpsc::Sender<(u32, Observation)>) {
    let spec = &check.spec;
    let mut fast = check.fast.subscribe();
    for number in 0_u64.. {
        let running = check.running.lock().await;
        let turn = runner.turn().await;
        // Both are counted from the start of the run, so that a slow target is not asked less often.
        let mut usual = Box::pin(sleep(spec.interval.saturating_add(jitter(spec.id, number, spec.interval))));
        let mut sooner = Box::pin(sleep(spec.fast_interval.min(spec.interval)));
        // Boxed, so that a check that waits, as nearly all do, is small.
        let observation = Box::pin(runner.run(spec)).await;
        drop((turn, running));
        if sink.send((spec.id, observation)).await.is_err() {
            return;
        }
        loop {
            let is_fast = *fast.borrow_and_update();
            tokio::select! {
                () = &mut usual => break,
                () = &mut sooner, if is_fast => break,
                changed = fast.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Spreads checks that began together: up to a tenth of the interval, another part for each check and run, but always
/// the same one.
fn jitter(id: u32, number: u64, interval: Duration) -> Duration {
    let share = u128::from(mix(u64::from(id) << 32 ^ number) >> 32);
    let most_us = interval.as_micros() / JITTER_PART;
    Duration::from_micros(u64::try_from(most_us.saturating_mul(share) >> 32).unwrap_or(0))
}

/// A bijection that leaves no pattern (the SplitMix64 finaliser, Steele et al. 2014).
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests;
