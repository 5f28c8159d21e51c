//! Everything beside the plan that a decision depends on, as plain data that can be written down and read again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::plan::{CheckIndex, EndpointPlan, Plan, RegionPlan};
use crate::config::admin::{AdminFile, Entry, Forced, Glob};
use crate::health::Level;
use crate::health::aggregate::Probed;
use crate::region::RegionId;

/// What is known and ordered at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// How each check stands; by [`CheckIndex`].
    pub readings: Vec<Reading>,
    /// What operators ordered.
    pub orders: AdminFile,
    /// Services' regions that wait for a release after a failure.
    pub held: BTreeSet<Place>,
    /// Services' regions whose turn to failed is put off, with what they count as meanwhile.
    pub put_off: BTreeMap<Place, Frozen>,
}

/// One service in one region.
pub type Place = (u32, RegionId);

/// How one check stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Its damped level.
    pub level: Level,
    /// Why it isn't steady; absent when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrest: Option<Unrest>,
}

/// Why a check isn't steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unrest {
    /// Its last results disagree with its level.
    Pending,
    /// It left its level not long ago.
    Cooldown,
    /// It has not run often enough since the start.
    Warming,
}

/// What a region counts as while its turn to failed is put off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The state before.
    pub state: Probed,
    /// Which endpoints were up before.
    pub up: Vec<bool>,
}

impl Frozen {
    /// The same where the region's addresses are listed otherwise; one that was not there counts as up.
    pub fn translate(&self, from: &RegionPlan, to: &RegionPlan) -> Self {
        let known = || from.endpoints.iter().zip(&self.up);
        let up = |endpoint: &EndpointPlan| {
            known().find(|(old, _)| old.address == endpoint.address).is_none_or(|(_, up)| *up)
        };
        Self { state: self.state, up: to.endpoints.iter().map(up).collect() }
    }
}

/// One change of the inputs, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Another plan, with how everything stands under it.
    Plan {
        /// The plan.
        plan: Box<Plan>,
        /// By check.
        readings: Vec<Reading>,
        /// Places that wait for a release.
        held: Vec<Place>,
        /// Places whose turn is put off.
        put_off: Vec<(Place, Frozen)>,
        /// What is ordered.
        orders: Orders,
    },
    /// A check stands otherwise.
    Reading {
        /// Which.
        check: CheckIndex,
        /// How.
        reading: Reading,
    },
    /// A place waits for a release, or no longer.
    Held {
        /// Where.
        place: Place,
        /// Whether it waits.
        held: bool,
    },
    /// A turn is put off, or no longer.
    PutOff {
        /// Where.
        place: Place,
        /// What it counts as meanwhile; absent: the turn counts.
        frozen: Option<Frozen>,
    },
    /// Operators ordered something else.
    Orders(Orders),
    /// Time alone: a scheduled drain or force began or ended.
    Clock,
}

/// Operators' orders as the journal keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Drains and forces, in file order.
    pub entries: Vec<Order>,
}

/// One drain or force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The region's name.
    pub region: String,
    /// `drain`, `up` or `down`.
    pub what: Ordered,
    /// For which services; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<i64>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What an order does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Ordered {
    Drain,
    Up,
    Down,
}

impl Inputs {
    /// The inputs at the start of a plan: nothing seen, nothing held, these orders.
    pub fn new(plan: &Plan, orders: AdminFile) -> Self {
        let readings = vec![Reading::default(); plan.checks.len()];
        Self { readings, orders, held: BTreeSet::new(), put_off: BTreeMap::new() }
    }

    /// How a check stands; one that is not known stands as never seen.
    pub fn reading(&self, check: CheckIndex) -> Reading {
        self.readings.get(check as usize).copied().unwrap_or_default()
    }

    /// Folds one change into the inputs; a plan change returns the plan to use from here on.
    pub fn fold(&mut self, change: Change, regions: &Plan) -> Option<Plan> {
        match change {
            Change::Plan { plan, readings, held, put_off, orders } => {
                let orders = orders.to_file(&plan);
                let (held, put_off) = (held.into_iter().collect(), put_off.into_iter().collect());
                *self = Self { readings, orders, held, put_off };
                return Some(*plan);
            }
            Change::Reading { check, reading } => {
                if let Some(slot) = self.readings.get_mut(check as usize) {
                    *slot = reading;
                }
            }
            Change::Held { place, held: true } => drop(self.held.insert(place)),
            Change::Held { place, held: false } => drop(self.held.remove(&place)),
            Change::PutOff { place, frozen: Some(frozen) } => drop(self.put_off.insert(place, frozen)),
            Change::PutOff { place, frozen: None } => drop(self.put_off.remove(&place)),
            Change::Orders(orders) => self.orders = orders.to_file(regions),
            Change::Clock => {}
        }
        None
    }

    /// The change that, folded, gives these inputs under `plan`.
    pub fn whole(&self, plan: &Plan) -> Change {
        Change::Plan {
            plan: Box::new(plan.clone()),
            readings: self.readings.clone(),
            held: self.held.iter().copied().collect(),
            put_off: self.put_off.iter().map(|(place, frozen)| (*place, frozen.clone())).collect(),
            orders: Orders::of(&self.orders, plan),
        }
    }
}

impl Orders {
    /// What a file orders.
    pub fn of(file: &AdminFile, plan: &Plan) -> Self {
        let order = |entry: &Entry, what| Order {
            region: plan.region_name(entry.region).to_owned(),
            what,
            service: entry.service.as_ref().map(|glob| glob.0.clone()),
            from_ms: entry.from_ms,
            until_ms: entry.until_ms,
            reason: entry.reason.clone(),
        };
        let drains = file.drains.iter().map(|entry| order(entry, Ordered::Drain));
        let forces = file.forces.iter().map(|(entry, forced)| match forced {
            Forced::Up => order(entry, Ordered::Up),
            Forced::Down => order(entry, Ordered::Down),
        });
        Self { entries: drains.chain(forces).collect() }
    }

    /// The same as a file; orders for regions that the plan lacks are left out.
    pub fn to_file(&self, plan: &Plan) -> AdminFile {
        let mut file = AdminFile::default();
        for order in &self.entries {
            let Some(region) = plan.region(&order.region) else { continue };
            let entry = Entry {
                line: 0,
                region,
                service: order.service.clone().map(Glob),
                from_ms: order.from_ms,
                until_ms: order.until_ms,
                reason: order.reason.clone(),
            };
            match order.what {
                Ordered::Drain => file.drains.push(entry),
                Ordered::Up => file.forces.push((entry, Forced::Up)),
                Ordered::Down => file.forces.push((entry, Forced::Down)),
            }
        }
        file
    }
}
