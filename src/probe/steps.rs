//! How long each step of a run took.

use std::time::Duration;

use crate::control::Clock;
use crate::health::ProbeStep;

/// The steps of a run, recorded as they happen, so that a run that is cut off still tells how far it came.
#[derive(Debug)]
pub(super) struct Steps {
    clock: Clock,
    done: Vec<ProbeStep>,
    running: Option<(&'static str, Duration)>,
}

impl Steps {
    pub(super) fn start() -> Self {
        Self { clock: Clock::start(), done: Vec::new(), running: None }
    }

    /// Ends the running step and begins another.
    pub(super) fn begin(&mut self, name: &'static str) {
        self.end();
        self.running = Some((name, self.clock.elapsed()));
    }

    /// The step that is running.
    pub(super) fn running(&self) -> Option<&'static str> {
        self.running.map(|(name, _)| name)
    }

    /// Ends the running step: how long the run took, and its steps in order.
    pub(super) fn finish(mut self) -> (Duration, Vec<ProbeStep>) {
        self.end();
        (self.clock.elapsed(), self.done)
    }

    fn end(&mut self) {
        if let Some((name, since)) = self.running.take() {
            self.done.push(ProbeStep { name, took: self.clock.elapsed().saturating_sub(since) });
        }
    }
}
