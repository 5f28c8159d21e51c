//! The writer's desk: takes messages one by one, keeps the model, publishes, and only then tells the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::clock::Now;
use super::journal::{Line, rfc3339};
use super::load::{GeoInfo, Loaded};
use super::model::{Event, Load, Model, Outcome};
use super::plan::CheckIndex;
use super::publish::Press;
use super::recorder::Recorder;
use super::saved::Saved;
use super::slots::ALL_SERVICES;
use super::snapshot::{Publisher, Reader, Snapshot};
use super::status::{CheckStatus, StatusParts, TransitionKey, Warning};
use crate::config::admin::AdminFile;
use crate::health::{Observation, Verdict};
use crate::region::geo::GeoTable;
use crate::region::{RegionId, State};

/// Messages that may wait for the writer; senders of observations drop theirs beyond it.
pub const MAX_MESSAGES: usize = 65_536;

/// Turns of one cause that are logged one by one.
const LOGGED_TURNS: usize = 10;

/// Warnings about the geo file in use; another file brings its own.
const GEO_WARNINGS: [&str; 2] = ["geo_stands_in", "geo_unmapped"];

/// What anybody may tell the writer.
#[derive(Debug)]
pub enum Message {
    /// A probe ran.
    Observed {
        /// The [`Loaded::generation`] that the check belongs to; others are dropped.
        generation: u64,
        /// Which check.
        check: CheckIndex,
        /// What it saw.
        observation: Observation,
    },
    /// Operators ordered something; a valid file.
    Orders {
        /// What.
        file: AdminFile,
        /// Who or what said so, for the journal.
        by: String,
        /// Told the serial, once it is live.
        done: Option<oneshot::Sender<u64>>,
    },
    /// An operator released a region.
    Release {
        /// Which.
        region: RegionId,
        /// Told the serial and whether anything was let go, once it is live.
        done: oneshot::Sender<(u64, bool)>,
    },
    /// Another configuration was loaded.
    Load {
        /// What it says.
        loaded: Box<Loaded>,
        /// What operators order, read against it.
        orders: AdminFile,
        /// Told the serial, once it is live.
        done: oneshot::Sender<u64>,
    },
    /// Another geo file was compiled.
    Geo {
        /// The table.
        table: Arc<GeoTable>,
        /// What it is.
        info: GeoInfo,
        /// What is odd about it.
        warnings: Vec<Warning>,
    },
    /// A reload failed.
    ReloadFailed,
    /// Something is odd, and shown until it is not.
    Warn(Warning),
    /// It no longer is: the code.
    Unwarn(&'static str),
    /// Somebody asks whether every check has run at least once.
    AskRound(oneshot::Sender<bool>),
    /// Somebody asks how everything stands.
    Ask(oneshot::Sender<Box<StatusParts>>),
}

/// The one writer.
#[derive(Debug)]
pub struct Desk {
    loaded: Loaded,
    model: Model,
    press: Press,
    publisher: Publisher,
    current: Arc<Snapshot>,
    checks: Vec<CheckStatus>,
    warnings: BTreeMap<&'static str, Warning>,
    transitions: BTreeMap<TransitionKey, u64>,
    reloads: [u64; 2],
    last_reload_ok: bool,
    recorder: Recorder,
    fast: Vec<CheckIndex>,
}

impl Desk {
    /// Takes its seat: the first snapshot is published when this returns.
    pub fn new(
        loaded: Loaded,
        orders: AdminFile,
        saved: Option<&Saved>,
        recorder: Recorder,
        now: Now,
    ) -> Self {
        let load = Load { plan: loaded.plan.clone(), damping: loaded.damping.clone(), orders };
        let remembered = saved.map(|saved| saved.remembered(&load.plan, now.wall_ms)).unwrap_or_default();
        let model = Model::new(load, &remembered, now);
        let press = Press::new(loaded.dns.clone(), &model, loaded.config.admin.metrics_per_service, now);
        let publisher = Publisher::new(press.snapshot(model.serial()));
        let current = Arc::clone(publisher.reader().current());
        let mut desk = Self {
            checks: CheckStatus::of(model.plan()),
            loaded,
            model,
            press,
            publisher,
            current,
            warnings: BTreeMap::new(),
            transitions: BTreeMap::new(),
            reloads: [0; 2],
            last_reload_ok: true,
            recorder,
            fast: Vec::new(),
        };
        let text = format!("{} starts", desk.loaded.config.node);
        desk.recorder.line(Line::whole(&desk.model, "start", text));
        desk.log_loaded_warnings();
        desk.warn_of_states(now);
        desk
    }

    /// A reader of what this desk publishes.
    pub fn reader(&self) -> Reader {
        self.publisher.reader()
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What is loaded.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Checks whose pace may have changed since the last call.
    pub fn take_repaced(&mut self) -> Vec<CheckIndex> {
        std::mem::take(&mut self.fast)
    }

    /// Takes one message. What it changes is published when this returns.
    pub fn take(&mut self, now: Now, message: Message) {
        match message {
            Message::Observed { generation, check, observation } => {
                if generation == self.loaded.generation {
                    self.observed(now, check, observation);
                }
            }
            Message::Orders { file, by, done } => {
                let outcome = self.model.apply(now, Event::Orders(file));
                self.publish(now, &outcome, "order", by);
                answer(done, self.model.serial());
            }
            Message::Release { region, done } => {
                let outcome = self.model.apply(now, Event::Release(region));
                let held = !outcome.changes.is_empty();
                let text = format!("{} is released", self.model.plan().region_name(region));
                self.publish(now, &outcome, "release", text);
                answer(Some(done), (self.model.serial(), held));
            }
            Message::Load { loaded, orders, done } => {
                self.load(now, *loaded, orders);
                answer(Some(done), self.model.serial());
            }
            Message::Geo { table, info, warnings } => self.geo(now, table, info, warnings),
            Message::ReloadFailed => {
                self.reloads[1] += 1;
                self.last_reload_ok = false;
            }
            Message::Warn(warning) => self.warn(warning),
            Message::Unwarn(code) => drop(self.warnings.remove(code)),
            Message::AskRound(asker) => answer(Some(asker), self.model.round_complete()),
            Message::Ask(asker) => answer(Some(asker), Box::new(self.parts(now))),
        }
    }

    /// Saves the table now: the process is about to end.
    pub fn save(&mut self, now: Now) {
        self.recorder.save(now, &self.model);
    }

    /// Lets time pass: scheduled orders, cooldowns, put-off turns.
    pub fn tick(&mut self, now: Now) {
        let outcome = self.model.apply(now, Event::Tick);
        self.publish(now, &outcome, "time", "time passed".to_owned());
        self.publisher.collect();
        self.recorder.tick(now, &self.model);
        if self.recorder.wants_checkpoint(now.mono) {
            let text = "everything as it stands".to_owned();
            self.recorder.line(Line::whole(&self.model, "checkpoint", text));
        }
        let trouble = self.recorder.trouble();
        self.warn_while("state_dir", trouble, now);
    }

    fn observed(&mut self, now: Now, check: CheckIndex, observation: Observation) {
        let verdict = observation.verdict;
        let Some(before) = self.model.tracker(check).map(|tracker| (tracker.level(), tracker.interval()))
        else {
            return;
        };
        let outcome = self.model.apply(now, Event::Observed { check, verdict });
        let Some(tracker) = self.model.tracker(check) else { return };
        let (level, streak) = (tracker.level(), tracker.streak());
        if tracker.interval() != before.1 {
            self.fast.push(check);
        }
        let mut text = String::new();
        if !outcome.is_empty() {
            text = format!("{} is {level}", self.model.plan().describe(check));
            if level != before.0 {
                text = format!("{text} (was {})", before.0);
            }
            if verdict != Verdict::Ok {
                text = format!("{text}: {}: {}", verdict.word(), observation.detail);
            }
        }
        if let Some(status) = self.checks.get_mut(check as usize) {
            status.ran(now, observation, level, streak);
        }
        self.publish(now, &outcome, "probe", text);
    }

    fn load(&mut self, now: Now, loaded: Loaded, orders: AdminFile) {
        let load = Load { plan: loaded.plan.clone(), damping: loaded.damping.clone(), orders };
        let old = std::mem::replace(&mut self.checks, CheckStatus::of(&load.plan));
        let mut old: BTreeMap<_, CheckStatus> =
            old.into_iter().map(|status| (status.key(), status)).collect();
        for status in &mut self.checks {
            if let Some(known) = old.remove(&status.key()) {
                *status = known;
            }
        }
        self.loaded = loaded;
        let outcome = self.model.apply(now, Event::Load(Box::new(load)));
        self.press.set_parts(self.loaded.dns.clone());
        self.press.reload(&self.model, self.loaded.config.admin.metrics_per_service, now);
        self.reloads[0] += 1;
        self.last_reload_ok = true;
        // A load reads the geo file, too, and succeeds only when it may be used.
        self.warnings.remove("geo_file");
        self.log_loaded_warnings();
        let plan = Arc::clone(self.model.plan());
        self.transitions.retain(|key, _| key.service == ALL_SERVICES || plan.service(&key.service).is_some());
        self.fast = (0..self.checks.len() as u32).collect();
        let text = format!("configuration {} loaded", self.loaded.generation);
        self.publish(now, &outcome, "load", text);
    }

    fn geo(&mut self, now: Now, table: Arc<GeoTable>, info: GeoInfo, warnings: Vec<Warning>) {
        // What is due by now comes first: the journal's moments do not go back.
        self.tick(now);
        if let Some(parts) = &mut self.loaded.dns {
            parts.geo = table;
        }
        let text = format!("geo file of {} loaded", info.build.as_deref().unwrap_or("unknown date"));
        self.loaded.geo = Some(info);
        self.loaded.warnings.retain(|warning| !GEO_WARNINGS.contains(&warning.code));
        for warning in &warnings {
            tracing::warn!(code = warning.code, "{}", warning.text);
        }
        self.loaded.warnings.extend(warnings);
        self.warnings.remove("geo_file");
        self.press.set_parts(self.loaded.dns.clone());
        self.swap();
        let outcome = Outcome { serial: self.model.serial(), ..Outcome::default() };
        self.recorder.line(Line::new(&self.model, &outcome, "geo", text));
    }

    /// Publishes what an event changed; then, and only then, tells the journal.
    fn publish(&mut self, now: Now, outcome: &Outcome, cause: &str, text: String) {
        if outcome.is_empty() {
            return;
        }
        let touched = outcome.touched.iter().map(|(service, _)| *service);
        self.press.update(&self.model, touched, now);
        self.swap();
        self.tell_turns(outcome, &text);
        self.warn_of_states(now);
        self.recorder.line(Line::new(&self.model, outcome, cause, text));
        self.recorder.changed();
    }

    /// Counts turns, and logs the first few: a check that thousands of services share is one cause, not thousands.
    fn tell_turns(&mut self, outcome: &Outcome, text: &str) {
        let plan = Arc::clone(self.model.plan());
        let per_service = self.loaded.config.admin.metrics_per_service;
        for (number, turn) in outcome.turns.iter().enumerate() {
            if number < LOGGED_TURNS {
                let service = plan.services.get(turn.service as usize).map_or("", |service| &service.name);
                let (region, from, to) = (plan.region_name(turn.region), turn.from.word(), turn.to.word());
                let (cause, serial) = (turn.cause, outcome.serial);
                if turn.to == State::Failed {
                    tracing::warn!(service, region, from, to, cause, serial, "region turned: {text}");
                } else {
                    tracing::info!(service, region, from, to, cause, serial, "region turned: {text}");
                }
            }
            *self.transitions.entry(TransitionKey::of(&plan, turn, per_service)).or_default() += 1;
        }
        if let Some(more) = outcome.turns.len().checked_sub(LOGGED_TURNS).filter(|&more| more > 0) {
            tracing::info!(serial = outcome.serial, "and {more} more turns for the same cause");
        }
    }

    fn swap(&mut self) {
        self.publisher.publish(self.press.snapshot(self.model.serial()));
        self.current = Arc::clone(self.publisher.reader().current());
    }

    /// Warnings that the states themselves call for.
    fn warn_of_states(&mut self, now: Now) {
        let plan = Arc::clone(self.model.plan());
        let failing = super::status::failing_open(&plan, self.model.states());
        let text =
            (!failing.is_empty()).then(|| format!("no region is able to serve {}", failing.join(", ")));
        self.warn_while("fail_open", text, now);
        let storm = "most regions fail at the same moment without explicit evidence: turns wait 30 s; look at the prober";
        self.warn_while("mass_failure", self.model.storm().then(|| storm.to_owned()), now);
    }

    fn warn_while(&mut self, code: &'static str, text: Option<String>, now: Now) {
        match text {
            Some(text) => self.warn(Warning { code, text, since: rfc3339(now.wall_ms) }),
            None => drop(self.warnings.remove(code)),
        }
    }

    fn warn(&mut self, warning: Warning) {
        let known = self.warnings.get(warning.code);
        if known.is_some_and(|known| known.text == warning.text) {
            return;
        }
        tracing::warn!(code = warning.code, "{}", warning.text);
        self.warnings.insert(warning.code, warning);
    }

    fn log_loaded_warnings(&self) {
        for warning in &self.loaded.warnings {
            tracing::warn!(code = warning.code, "{}", warning.text);
        }
    }

    fn parts(&self, now: Now) -> StatusParts {
        StatusParts {
            now,
            snapshot: Arc::clone(&self.current),
            config: Arc::clone(&self.loaded.config),
            inputs: self.model.inputs().clone(),
            checks: self.checks.clone(),
            geo: self.loaded.geo.clone(),
            warnings: self.loaded.warnings.iter().cloned().chain(self.warnings.values().cloned()).collect(),
            transitions: self.transitions.clone(),
            slots: self.press.slots().clone(),
            reloads: self.reloads,
            last_reload_ok: self.last_reload_ok,
            journal_dropped: self.recorder.dropped(),
        }
    }
}

fn answer<T>(done: Option<oneshot::Sender<T>>, value: T) {
    if let Some(done) = done {
        // Whoever asked may have gone away.
        let _ = done.send(value);
    }
}

/// What others hold to talk to the writer.
#[derive(Clone, Debug)]
pub struct Handle {
    sender: mpsc::Sender<Message>,
}

/// The writer is gone: the server is stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl Handle {
    /// A handle, and the end that the writer reads.
    pub fn pair() -> (Self, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        (Self { sender }, receiver)
    }

    /// Sends and goes on; whether it was taken.
    pub fn tell(&self, message: Message) -> bool {
        self.sender.try_send(message).is_ok()
    }

    /// Sends, and waits while the writer has more to do than it can.
    pub async fn send(&self, message: Message) -> Result<(), Gone> {
        self.sender.send(message).await.map_err(|_| Gone)
    }

    /// Sends a message that holds the other end of `answer`, and waits for it.
    pub async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, Gone> {
        let (done, answer) = oneshot::channel();
        self.sender.send(message(done)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Whether every check has run at least once.
    pub async fn round_complete(&self) -> Result<bool, Gone> {
        self.ask(Message::AskRound).await
    }

    /// How everything stands.
    pub async fn status(&self) -> Result<Box<StatusParts>, Gone> {
        self.ask(Message::Ask).await
    }
}
