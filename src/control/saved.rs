//! The saved table: what a restart must not forget.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::model::{Model, Remembered};
use super::plan::Plan;
use crate::health::Level;

/// A saved table this old, in milliseconds, no longer says how things stand.
pub const MAX_AGE_MS: i64 = 5 * 60 * 1000;

/// The table as it lies in `health.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Of this format.
    pub version: u32,
    /// When, in milliseconds since 1970.
    pub saved_at_ms: i64,
    /// The serial at that time.
    pub serial: u64,
    /// How each check stood.
    pub checks: Vec<SavedCheck>,
    /// Services' regions that waited for a release, by name; whatever the table's age, they still do.
    pub held: Vec<(String, String)>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SavedCheck {
    pub probe: String,
    pub region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    pub level: Level,
}

impl Saved {
    /// The only version there is.
    pub const VERSION: u32 = 1;

    /// The table of a model.
    pub fn of(model: &Model, wall_ms: i64) -> Self {
        let plan = model.plan();
        let checks = plan.checks.iter().zip(&model.inputs().readings).map(|(check, reading)| SavedCheck {
            probe: check.probe.clone(),
            region: plan.region_name(check.region).to_owned(),
            address: check.address,
            level: reading.level,
        });
        let held = model.inputs().held.iter().filter_map(|&(service, region)| {
            let service = plan.services.get(service as usize)?;
            Some((service.name.clone(), plan.region_name(region).to_owned()))
        });
        Self {
            version: Self::VERSION,
            saved_at_ms: wall_ms,
            serial: model.serial(),
            checks: checks.collect(),
            held: held.collect(),
        }
    }

    /// Whether it still says how things stand.
    pub fn is_fresh(&self, wall_ms: i64) -> bool {
        (0..=MAX_AGE_MS).contains(&wall_ms.saturating_sub(self.saved_at_ms))
    }

    /// What of it holds under `plan`.
    pub fn remembered(&self, plan: &Plan, wall_ms: i64) -> Remembered {
        let fresh = self.checks.iter().filter(|_| self.is_fresh(wall_ms));
        let key = |saved: &'_ SavedCheck| (saved.probe.clone(), saved.region.clone(), saved.address);
        let levels: BTreeMap<_, Level> = fresh.map(|saved| (key(saved), saved.level)).collect();
        let level = |check: &super::plan::Check| {
            let region = plan.region_name(check.region).to_owned();
            levels.get(&(check.probe.clone(), region, check.address)).copied()
        };
        let place = |(service, region): &(String, String)| {
            Some((plan.service(service)? as u32, plan.region(region)?))
        };
        Remembered {
            levels: plan.checks.iter().map(level).collect(),
            held: self.held.iter().filter_map(place).collect(),
            // No server counts this far: it is garbage, and must leave room to count on.
            serial: self.serial.min(u64::MAX / 2),
        }
    }
}

#[cfg(test)]
mod tests;
