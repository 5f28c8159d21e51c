//! One service after an event: put-off turns, held regions, and what follows from them.

use std::sync::Arc;

use super::{Model, Pass, Turn};
use crate::control::derive::{ServiceState, derive, sum_up};
use crate::control::inputs::{Change, Place};
use crate::control::plan::CheckIndex;
use crate::health::aggregate::Probed;
use crate::health::tracker::Tracker;
use crate::region::RegionId;

impl Model {
    /// Derives one service anew, once its put-off turns and held places are right.
    pub(super) fn settle_service(&mut self, pass: &mut Pass, service: u32) {
        self.weigh_turns(pass, service);
        self.hold_failed(pass, service);
        let Some(state) = derive(&self.plan, &self.inputs, service, pass.now.wall_ms, self.state(service))
        else {
            return;
        };
        pass.outcome.derived += 1;
        let Some(known) = self.states.get_mut(service as usize) else { return };
        let redated = pass.clock_set && state.next_change_ms().is_some();
        if **known == state && !redated {
            return;
        }
        if let Some(at_ms) = known.next_change_ms() {
            self.scheduled.remove(&(at_ms, service));
        }
        self.scheduled.extend(state.next_change_ms().map(|at_ms| (at_ms, service)));
        let before = std::mem::replace(known, Arc::new(state));
        let new_turns = turns(service, Some(&before), known, pass.cause);
        pass.outcome.turns.extend(new_turns);
        pass.touched.entry(service).or_insert(Some(before));
    }

    /// Puts off what looks more like a fault of the prober than of the regions, and ends what waited long enough.
    fn weigh_turns(&mut self, pass: &mut Pass, service: u32) {
        let regions: Vec<RegionId> = self.plan.region_ids().collect();
        let trackers = &self.trackers;
        let first = pass.first;
        let evident = |check: CheckIndex| {
            first == Some(check) || trackers.get(check as usize).is_some_and(Tracker::explicit)
        };
        let known = self.states.get(service as usize).cloned();
        for region in regions {
            let place = (service, region);
            let Some(state) = known.as_ref().and_then(|state| state.regions.get(region.index())?.as_ref())
            else {
                continue;
            };
            let verdict = self.storms.weigh(&self.plan, &self.inputs, place, state, &evident, pass.now.mono);
            if let Some(frozen) = verdict {
                match frozen.clone() {
                    Some(frozen) => drop(self.inputs.put_off.insert(place, frozen)),
                    None => drop(self.inputs.put_off.remove(&place)),
                }
                pass.outcome.changes.push(Change::PutOff { place, frozen });
            }
        }
    }

    /// After a failure a region with manual failback waits for its release.
    fn hold_failed(&mut self, pass: &mut Pass, service: u32) {
        for region in self.plan.region_ids() {
            let place = (service, region);
            if self.waits_for_release(place) && !self.inputs.held.contains(&place) && self.failed(place) {
                self.inputs.held.insert(place);
                pass.outcome.changes.push(Change::Held { place, held: true });
            }
        }
    }

    /// Whether the checks of a place have failed, put-off turns aside.
    pub(super) fn failed(&self, place: Place) -> bool {
        let Some(service) = self.plan.services.get(place.0 as usize) else { return false };
        let Some(Some(listed)) = service.regions.get(place.1.index()) else { return false };
        !self.inputs.put_off.contains_key(&place)
            && sum_up(&self.plan, &self.inputs, service, listed).state == Probed::Failed
    }
}

/// Regions whose visible state is another one than before.
pub(super) fn turns(
    service: u32,
    before: Option<&Arc<ServiceState>>,
    after: &ServiceState,
    cause: &'static str,
) -> Vec<Turn> {
    let Some(before) = before else { return Vec::new() };
    let pairs = after.table.regions().zip(before.regions.iter().zip(&after.regions));
    let turned = pairs.filter_map(|(region, pair)| match pair {
        (Some(old), Some(new)) if old.state() != new.state() => {
            Some(Turn { service, region, from: old.state(), to: new.state(), cause })
        }
        _ => None,
    });
    turned.collect()
}
