//! What outlives a reload: checks keep their results, regions their state of waiting.

use std::collections::BTreeMap;

use super::Model;
use crate::control::inputs::Place;

impl Model {
    /// Takes over from the model of the last configuration what is still the same under this one.
    pub(super) fn take_over(&mut self, old: &Self) {
        self.serial = old.serial;
        self.wall_ms = old.wall_ms;
        self.clock_offset_ms = old.clock_offset_ms;
        self.take_over_checks(old);
        let place = |place| old.plan.translate(place, &self.plan);
        let held = old.inputs.held.iter().copied().filter_map(place);
        // A region that no longer waits for releases lets go of what it held.
        self.inputs.held = held.filter(|place| self.waits_for_release(*place)).collect();
        // A reload must not bring about at once what is put off: the prober's view of the world is no better now.
        let put_off = old.inputs.put_off.iter().filter_map(|(at, frozen)| {
            let (from, to) = (old.plan.at(*at)?, place(*at)?);
            Some((to, frozen.translate(from, self.plan.at(to)?)))
        });
        self.inputs.put_off = put_off.collect();
        self.storms = old.storms.translate(place);
    }

    fn take_over_checks(&mut self, old: &Self) {
        let old_checks: BTreeMap<_, usize> = (old.plan.checks.iter().enumerate())
            .map(|(index, check)| {
                ((check.probe.as_str(), old.plan.region_name(check.region), check.address), index)
            })
            .collect();
        for (index, check) in self.plan.checks.iter().enumerate() {
            let key = (check.probe.as_str(), self.plan.region_name(check.region), check.address);
            let Some(&known) = old_checks.get(&key) else { continue };
            if let (Some(new), Some(old)) = (self.trackers.get_mut(index), old.trackers.get(known)) {
                *new = old.clone().with_damping(new.damping());
            }
            if let Some(runs) = self.runs.get_mut(index) {
                *runs = old.runs.get(known).copied().unwrap_or(0);
            }
        }
    }

    /// Whether a place waits for a release after a failure.
    pub(super) fn waits_for_release(&self, (_, region): Place) -> bool {
        self.plan.manual_failback.get(region.index()).copied().unwrap_or(false)
    }
}
