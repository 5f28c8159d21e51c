//! Moments at which checks change without a new result: the ends of cooldowns.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::CheckIndex;
use crate::health::Mono;

/// When checks say something else by themselves.
#[derive(Clone, Debug, Default)]
pub struct Wakes {
    by_time: BTreeSet<(Mono, CheckIndex)>,
    by_check: BTreeMap<CheckIndex, Mono>,
}

impl Wakes {
    /// The next one.
    pub fn first(&self) -> Option<(Mono, CheckIndex)> {
        self.by_time.first().copied()
    }

    /// Sets when a check speaks next; absent: not by itself.
    pub fn set(&mut self, check: CheckIndex, at: Option<Mono>) {
        if let Some(old) = self.by_check.remove(&check) {
            self.by_time.remove(&(old, check));
        }
        if let Some(at) = at {
            self.by_check.insert(check, at);
            self.by_time.insert((at, check));
        }
    }
}
