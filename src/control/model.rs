//! The model: events in, states and decisions out. Pure: the same events at the same moments give the same states.

mod settle;
mod take_over;
mod wakes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::clock::Now;
use super::derive::{ServiceState, derive};
use super::inputs::{Change, Inputs, Orders, Place, Reading, Unrest};
use super::plan::{CheckIndex, Plan};
use super::storm::Storms;
use crate::config::admin::AdminFile;
use crate::health::tracker::{Settled, Tracker};
use crate::health::{Damping, Level, Mono, Verdict};
use crate::region::{RegionId, State};
use settle::turns;
use wakes::Wakes;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A probe ran.
    Observed {
        /// Which check.
        check: CheckIndex,
        /// What it saw.
        verdict: Verdict,
    },
    /// Operators ordered something else; a valid file.
    Orders(AdminFile),
    /// An operator released a region that was held.
    Release(RegionId),
    /// Another configuration was loaded.
    Load(Box<Load>),
    /// Time passed.
    Tick,
}

/// Another configuration.
#[derive(Clone, Debug)]
pub struct Load {
    /// What it means.
    pub plan: Plan,
    /// How each check is damped; by [`CheckIndex`].
    pub damping: Vec<Damping>,
    /// What operators order, read against it.
    pub orders: AdminFile,
}

/// What one event changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The serial from here on.
    pub serial: u64,
    /// What changed in the inputs, in order.
    pub changes: Vec<Change>,
    /// Services whose state changed, with the state before; at a load: all, without.
    pub touched: Vec<(u32, Option<Arc<ServiceState>>)>,
    /// Regions whose visible state changed.
    pub turns: Vec<Turn>,
    /// Services that were derived anew: what the event cost.
    pub derived: usize,
}

impl Outcome {
    /// Whether anything changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.touched.is_empty()
    }
}

/// A region's visible state changed for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The service.
    pub service: u32,
    /// The region.
    pub region: RegionId,
    /// Before.
    pub from: State,
    /// After.
    pub to: State,
    /// What made it so: `probe`, `order`, `release`, `load`, `schedule`, `time`.
    pub cause: &'static str,
}

/// Everything that decisions depend on, and the decisions.
#[derive(Clone, Debug)]
pub struct Model {
    plan: Arc<Plan>,
    inputs: Inputs,
    states: Vec<Arc<ServiceState>>,
    serial: u64,
    trackers: Vec<Tracker>,
    runs: Vec<u32>,
    dependents: Vec<Vec<u32>>,
    wakes: Wakes,
    /// Scheduled beginnings and ends of orders: milliseconds since 1970, service.
    scheduled: BTreeSet<(i64, u32)>,
    storms: Storms,
    /// How far the wall clock is ahead of the monotonic one, as of the last time that somebody set it.
    clock_offset_ms: i64,
    /// The moment, in milliseconds since 1970, that the states are derived for.
    wall_ms: i64,
}

/// Levels and held places that outlived the process that knew them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// Levels of checks, by position in the new plan; absent: not known.
    pub levels: Vec<Option<Level>>,
    /// Places that wait for a release.
    pub held: Vec<Place>,
    /// The last serial; 0: none is known.
    pub serial: u64,
}

/// A wall clock that ran this much against the monotonic one has been set: scheduled ends are computed anew.
const CLOCK_STEP_MS: i64 = 500;

impl Model {
    /// A model of a configuration, before anything was seen but what is remembered.
    pub fn new(load: Load, remembered: &Remembered, now: Now) -> Self {
        let level = |check: usize| remembered.levels.get(check).copied().flatten();
        let trackers = load.damping.iter().enumerate().map(|(check, &damping)| match level(check) {
            Some(level) => Tracker::restored(damping, level),
            None => Tracker::new(damping),
        });
        let mut model = Self {
            trackers: trackers.collect(),
            runs: vec![0; load.plan.checks.len()],
            dependents: load.plan.dependents(),
            inputs: Inputs::new(&load.plan, load.orders),
            plan: Arc::new(load.plan),
            states: Vec::new(),
            serial: remembered.serial + 1,
            wakes: Wakes::default(),
            scheduled: BTreeSet::new(),
            storms: Storms::default(),
            clock_offset_ms: offset_ms(now),
            wall_ms: now.wall_ms,
        };
        let held = remembered.held.iter().copied();
        model.inputs.held = held.filter(|place| model.waits_for_release(*place)).collect();
        model.read_all(now);
        model.derive_all(now, |_| None);
        model
    }

    /// The configuration, wired.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Everything that decisions depend on beside the plan.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Each service's state, by position in the plan.
    pub fn states(&self) -> &[Arc<ServiceState>] {
        &self.states
    }

    /// Counts the states that this model went through, from 1.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The moment, in milliseconds since 1970, that the states are derived for: the last event's. It follows the wall
    /// clock, but does not go back with it by less than what counts as setting it: what a clock's discipline does must
    /// not end and begin drains anew.
    pub fn wall_ms(&self) -> i64 {
        self.wall_ms
    }

    /// The tracker of a check.
    pub fn tracker(&self, check: CheckIndex) -> Option<&Tracker> {
        self.trackers.get(check as usize)
    }

    /// Whether a put-off turn to failed waits anywhere.
    pub fn storm(&self) -> bool {
        !self.inputs.put_off.is_empty()
    }

    /// Whether every check has run at least once.
    pub fn round_complete(&self) -> bool {
        self.runs.iter().all(|&runs| runs > 0)
    }

    /// The next moment at which something changes by itself.
    pub fn next_wake(&self, now: Now) -> Option<Mono> {
        let check = self.wakes.first().map(|(at, _)| at);
        let storm = self.storms.next_deadline();
        let order = self.scheduled.first().map(|(at_ms, _)| now.mono_at(*at_ms));
        [check, storm, order].into_iter().flatten().min()
    }

    /// Applies one event. Everything that follows from it has happened when this returns.
    pub fn apply(&mut self, now: Now, event: Event) -> Outcome {
        let mut pass = self.begin(now, cause_of(&event));
        match event {
            Event::Observed { check, verdict } => self.observe(&mut pass, check, verdict),
            Event::Orders(file) => self.order(&mut pass, file),
            Event::Release(region) => self.release(&mut pass, region),
            Event::Load(load) => self.load(&mut pass, *load),
            Event::Tick => {}
        }
        self.wake_checks(&mut pass);
        self.wake_storms(&mut pass);
        self.wake_orders(&mut pass);
        while let Some(service) = pass.dirty.pop_first() {
            self.settle_service(&mut pass, service);
        }
        if !(pass.outcome.changes.is_empty() && pass.touched.is_empty()) {
            self.serial += 1;
        }
        Outcome { serial: self.serial, touched: pass.touched.into_iter().collect(), ..pass.outcome }
    }

    /// Moves to the event's moment.
    fn begin(&mut self, now: Now, cause: &'static str) -> Pass {
        let offset_ms = offset_ms(now);
        let clock_set = (offset_ms - self.clock_offset_ms).abs() > CLOCK_STEP_MS;
        if clock_set {
            self.clock_offset_ms = offset_ms;
            self.wall_ms = now.wall_ms;
        }
        self.wall_ms = self.wall_ms.max(now.wall_ms);
        let now = Now { wall_ms: self.wall_ms, ..now };
        Pass {
            now,
            cause,
            clock_set,
            first: None,
            dirty: BTreeSet::new(),
            touched: BTreeMap::new(),
            outcome: Outcome::default(),
        }
    }

    /// A fingerprint of the whole ordered state.
    pub fn digest(&self) -> String {
        let inputs = serde_json::to_vec(&self.inputs.whole(&self.plan)).unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(self.serial.to_be_bytes());
        hash.update(inputs);
        for state in &self.states {
            hash.update(format!("{state:?}"));
        }
        hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    fn observe(&mut self, pass: &mut Pass, check: CheckIndex, verdict: Verdict) {
        let Some(tracker) = self.trackers.get_mut(check as usize) else { return };
        let turn = tracker.observe(pass.now.mono, verdict);
        pass.first = turn.filter(|turn| turn.from == Level::Unprobed).map(|_| check);
        if let Some(runs) = self.runs.get_mut(check as usize) {
            *runs = runs.saturating_add(1);
        }
        self.read(pass, check);
    }

    /// Takes over what the check's tracker says, and notes when it will say something else by itself.
    fn read(&mut self, pass: &mut Pass, check: CheckIndex) {
        let Some(tracker) = self.trackers.get(check as usize) else { return };
        let reading = reading_of(tracker, pass.now.mono);
        self.wakes.set(check, tracker.wake(pass.now.mono));
        let Some(known) = self.inputs.readings.get_mut(check as usize) else { return };
        if *known != reading {
            *known = reading;
            pass.outcome.changes.push(Change::Reading { check, reading });
            pass.dirty.extend(self.dependents.get(check as usize).into_iter().flatten());
        }
    }

    fn order(&mut self, pass: &mut Pass, file: AdminFile) {
        if Orders::of(&file, &self.plan) != Orders::of(&self.inputs.orders, &self.plan) {
            pass.outcome.changes.push(Change::Orders(Orders::of(&file, &self.plan)));
            pass.dirty.extend(self.every_service());
        }
        self.inputs.orders = file;
    }

    fn release(&mut self, pass: &mut Pass, region: RegionId) {
        // What has failed still is held again at once: releasing that would only look like something.
        let held = self.inputs.held.iter().copied();
        let places: Vec<Place> = held.filter(|place| place.1 == region && !self.failed(*place)).collect();
        for place in places {
            self.inputs.held.remove(&place);
            pass.outcome.changes.push(Change::Held { place, held: false });
            pass.dirty.insert(place.0);
        }
    }

    fn load(&mut self, pass: &mut Pass, load: Load) {
        let old = std::mem::replace(self, Self::new(load, &Remembered::default(), pass.now));
        self.take_over(&old);
        self.read_all(pass.now);
        let same_regions = self.plan.regions == old.plan.regions;
        let names: BTreeMap<&str, &Arc<ServiceState>> =
            old.plan.services.iter().map(|service| &*service.name).zip(&old.states).collect();
        let before = |name: &str| names.get(name).copied().filter(|_| same_regions);
        self.derive_all(pass.now, |name| before(name).map(|state| &**state));
        pass.outcome.changes.push(self.inputs.whole(&self.plan));
        pass.touched = self.every_service().map(|service| (service, None)).collect();
        for (index, (service, state)) in (0..).zip(self.plan.services.iter().zip(&self.states)) {
            pass.outcome.turns.extend(turns(index, before(&service.name), state, pass.cause));
        }
        // Nothing derived above depends on what is dirty; a second pass puts held places right.
        pass.dirty.extend(self.every_service());
    }

    fn wake_checks(&mut self, pass: &mut Pass) {
        while let Some((_, check)) = self.wakes.first().filter(|(at, _)| *at <= pass.now.mono) {
            self.wakes.set(check, None);
            self.read(pass, check);
        }
    }

    fn wake_storms(&mut self, pass: &mut Pass) {
        pass.dirty.extend(self.storms.due(pass.now.mono).map(|place| place.0));
    }

    /// Scheduled orders that begin or end now. When somebody set the clock, any of them may, also such as had begun or
    /// ended for good; and what is not to be kept beyond a moment is that for other moments of the monotonic clock.
    fn wake_orders(&mut self, pass: &mut Pass) {
        let before = pass.dirty.len();
        if pass.clock_set {
            if is_scheduled(&self.inputs.orders) {
                pass.dirty.extend(self.every_service());
            }
        } else {
            let due = self.scheduled.iter().take_while(|(at_ms, _)| *at_ms <= pass.now.wall_ms);
            pass.dirty.extend(due.map(|(_, service)| *service));
        }
        if pass.dirty.len() > before && pass.outcome.changes.is_empty() {
            pass.outcome.changes.push(Change::Clock);
            pass.cause = "schedule";
        }
    }

    fn read_all(&mut self, now: Now) {
        self.wakes = Wakes::default();
        for (check, tracker) in (0..).zip(&self.trackers) {
            self.wakes.set(check, tracker.wake(now.mono));
        }
        self.inputs.readings = self.trackers.iter().map(|tracker| reading_of(tracker, now.mono)).collect();
    }

    /// Derives every service anew; `before` gives a service's last state, where it has one under the same regions.
    fn derive_all<'s>(&mut self, now: Now, before: impl Fn(&str) -> Option<&'s ServiceState>) {
        let services = (0..).zip(&self.plan.services);
        let states = services.filter_map(|(index, service)| {
            derive(&self.plan, &self.inputs, index, now.wall_ms, before(&service.name))
        });
        self.states = states.map(Arc::new).collect();
        let scheduled =
            (0..).zip(&self.states).filter_map(|(service, state)| Some((state.next_change_ms()?, service)));
        self.scheduled = scheduled.collect();
    }

    fn state(&self, service: u32) -> Option<&ServiceState> {
        self.states.get(service as usize).map(|state| &**state)
    }

    fn every_service(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.plan.services.len() as u32
    }
}

/// One event on its way through the model.
struct Pass {
    now: Now,
    cause: &'static str,
    /// Whether somebody set the wall clock since the last event.
    clock_set: bool,
    /// The check whose first result this is.
    first: Option<CheckIndex>,
    dirty: BTreeSet<u32>,
    /// Becomes [`Outcome::touched`].
    touched: BTreeMap<u32, Option<Arc<ServiceState>>>,
    outcome: Outcome,
}

fn cause_of(event: &Event) -> &'static str {
    match event {
        Event::Observed { .. } => "probe",
        Event::Orders(_) => "order",
        Event::Release(_) => "release",
        Event::Load(_) => "load",
        Event::Tick => "time",
    }
}

/// Whether any order begins or ends at a set time.
fn is_scheduled(orders: &AdminFile) -> bool {
    let forces = orders.forces.iter().map(|(entry, _)| entry);
    orders.drains.iter().chain(forces).any(|entry| entry.from_ms.or(entry.until_ms).is_some())
}

fn offset_ms(now: Now) -> i64 {
    now.wall_ms.saturating_sub_unsigned(now.mono.0)
}

fn reading_of(tracker: &Tracker, now: Mono) -> Reading {
    let unrest = match tracker.settled(now) {
        Settled::Steady => None,
        Settled::Pending => Some(Unrest::Pending),
        Settled::Cooldown { .. } => Some(Unrest::Cooldown),
        Settled::Warming => Some(Unrest::Warming),
    };
    Reading { level: tracker.level(), unrest }
}

#[cfg(test)]
mod tests;
