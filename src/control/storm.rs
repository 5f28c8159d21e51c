//! When most regions fail at the same moment, that says more about the prober than about them.
//!
//! Turns to failed that come within [`WINDOW`] in two or more regions, and in more than half of them, without explicit
//! evidence, are put off for [`PUT_OFF`], as far as they are not published yet, and happen only if they are still true
//! then.

use std::collections::BTreeMap;
use std::time::Duration;

use super::derive::{RegionState, sum_up};
use super::inputs::{Frozen, Inputs, Place};
use super::plan::{CheckIndex, Plan};
use crate::health::aggregate::Probed;
use crate::health::{Impact, Level, Mono};
use crate::region::RegionId;

/// Turns this close together count as one event.
pub const WINDOW: Duration = Duration::from_secs(10);

/// How long a suspicious turn waits.
pub const PUT_OFF: Duration = Duration::from_secs(30);

/// Recent turns to failed, and those that wait.
#[derive(Clone, Debug, Default)]
pub struct Storms {
    turned: BTreeMap<u32, BTreeMap<RegionId, Mono>>,
    waiting: BTreeMap<Place, Mono>,
}

impl Storms {
    /// The same under another plan, in which `place` says where a place is found.
    pub fn translate(&self, place: impl Fn(Place) -> Option<Place>) -> Self {
        let mut other = Self::default();
        for (&service, turned) in &self.turned {
            for (&region, &at) in turned {
                if let Some((service, region)) = place((service, region)) {
                    other.turned.entry(service).or_default().insert(region, at);
                }
            }
        }
        other.waiting = self.waiting.iter().filter_map(|(at, until)| Some((place(*at)?, *until))).collect();
        other
    }

    /// When the next put-off turn is looked at again.
    pub fn next_deadline(&self) -> Option<Mono> {
        self.waiting.values().min().copied()
    }

    /// Put-off turns whose wait is over.
    pub fn due(&self, now: Mono) -> impl Iterator<Item = Place> + '_ {
        self.waiting.iter().filter(move |(_, until)| **until <= now).map(|(place, _)| *place)
    }

    /// Weighs what the checks of a place come to now. `Some(Some(_))`: its turn is put off, and it counts as this
    /// meanwhile. `Some(None)`: what was put off no longer is. `None`: nothing changes.
    pub fn weigh(
        &mut self,
        plan: &Plan,
        inputs: &Inputs,
        place: Place,
        known: &RegionState,
        evident: &impl Fn(CheckIndex) -> bool,
        now: Mono,
    ) -> Option<Option<Frozen>> {
        let service = plan.services.get(place.0 as usize)?;
        let listed = service.regions.get(place.1.index())?.as_ref()?;
        let put_off = inputs.put_off.contains_key(&place);
        if sum_up(plan, inputs, service, listed).state != Probed::Failed {
            if let Some(turned) = self.turned.get_mut(&place.0) {
                turned.remove(&place.1);
            }
            self.waiting.remove(&place);
            return put_off.then_some(None);
        }
        let down = |check: &CheckIndex| {
            let impact = plan.checks.get(*check as usize).map(|check| check.impact);
            inputs.reading(*check).level == Level::Down && impact == Some(Impact::Fail)
        };
        let evident = listed.all_checks().filter(down).any(evident);
        if put_off {
            let over = self.waiting.get(&place).is_none_or(|&until| until <= now);
            if over || evident {
                self.waiting.remove(&place);
                return Some(None);
            }
            return None;
        }
        if known.probed == Probed::Failed || evident {
            return None;
        }
        let turned = self.turned.entry(place.0).or_default();
        turned.insert(place.1, now);
        let recent = turned.values().filter(|&&at| now.since(at) <= WINDOW).count();
        let regions = service.regions.iter().flatten().count();
        if recent < 2 || recent * 2 <= regions {
            return None;
        }
        self.waiting.insert(place, now.after(PUT_OFF));
        Some(Some(Frozen { state: known.probed, up: known.up.clone() }))
    }
}

#[cfg(test)]
mod tests;
