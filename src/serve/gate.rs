//! The gate at which threads wait to begin, and by which they learn to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// How far the server is; only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Sockets are bound and not read.
    Bound,
    /// Queries are answered.
    Open,
    /// What has arrived is answered, nothing more.
    Stopping,
    /// Stopped before it opened: nothing was read, and nothing is.
    Closed,
}

impl Phase {
    pub(super) fn is_stopping(self) -> bool {
        matches!(self, Self::Stopping | Self::Closed)
    }
}

/// One phase for threads that block (a condition variable) and for tasks (a watch channel).
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether the phase says so: what a UDP worker reads once a batch.
    stopping: AtomicBool,
    phase: watch::Sender<Phase>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    inside: usize,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State { phase: Phase::Bound, inside: 0 }),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
            phase: watch::Sender::new(Phase::Bound),
        }
    }

    pub(super) fn open(&self) {
        self.advance(|phase| if phase == Phase::Bound { Phase::Open } else { phase });
    }

    pub(super) fn stop(&self) {
        self.advance(|phase| match phase {
            Phase::Bound | Phase::Closed => Phase::Closed,
            Phase::Open | Phase::Stopping => Phase::Stopping,
        });
    }

    /// Blocks until the gate opens; false when the server stops before that.
    pub(super) fn wait_open(&self) -> bool {
        let state = self.lock();
        let state = self.changed.wait_while(state, |state| state.phase == Phase::Bound);
        state.unwrap_or_else(PoisonError::into_inner).phase != Phase::Closed
    }

    /// Blocks for `span`, or until the server stops.
    #[cfg(all(target_os = "linux", not(portable_only)))]
    pub(super) fn wait_stopping(&self, span: Duration) {
        let state = self.lock();
        let wait = self.changed.wait_timeout_while(state, span, |state| !state.phase.is_stopping());
        drop(wait);
    }

    /// Blocks until no thread is inside, at most for `span`.
    pub(super) fn wait_idle(&self, span: Duration) {
        let state = self.lock();
        let wait = self.changed.wait_timeout_while(state, span, |state| state.inside > 0);
        drop(wait);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.lock().inside == 0
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// The phase, for tasks.
    pub(super) fn subscribe(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    fn advance(&self, next: impl FnOnce(Phase) -> Phase) {
        let mut state = self.lock();
        state.phase = next(state.phase);
        self.stopping.store(state.phase.is_stopping(), Ordering::Relaxed);
        self.phase.send_replace(state.phase);
        self.changed.notify_all();
    }

    /// A poisoned lock is taken all the same: every write to the state is one assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a thread in until the result is dropped, also when it ends by a panic.
pub(super) fn enter(gate: &Arc<Gate>) -> Inside {
    gate.lock().inside += 1;
    Inside { gate: Arc::clone(gate) }
}

/// A thread that has not ended.
#[derive(Debug)]
pub(super) struct Inside {
    gate: Arc<Gate>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.gate.lock().inside -= 1;
        self.gate.changed.notify_all();
    }
}
