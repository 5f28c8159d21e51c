//! When checks say something else by themselves: ends of cooldowns, soonest first.

use std::collections::{BTreeMap, BTreeSet};

use crate::control::plan::CheckIndex;
use crate::health::Mono;

/// Which check says something else when.
#[derive(Clone, Debug, Default)]
pub(super) struct Wakes {
    by_time: BTreeSet<(Mono, CheckIndex)>,
    by_check: BTreeMap<CheckIndex, Mono>,
}

impl Wakes {
    /// The check that is next, and when.
    pub(super) fn first(&self) -> Option<(Mono, CheckIndex)> {
        self.by_time.first().copied()
    }

    /// Notes when a check says something else; `None`: not by itself.
    pub(super) fn set(&mut self, check: CheckIndex, at: Option<Mono>) {
        if let Some(old) = self.by_check.remove(&check) {
            self.by_time.remove(&(old, check));
        }
        if let Some(at) = at {
            self.by_check.insert(check, at);
            self.by_time.insert((at, check));
        }
    }
}
