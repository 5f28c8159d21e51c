//! What operators do to a running node, one at a time: orders through the admin file, releases, reloads, probes now.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::sync::{Mutex, mpsc};

use super::probing::{Probing, specs};
use crate::config::Config;
use crate::config::admin::AdminFile;
use crate::control::admin_source::{AdminSource, Looked};
use crate::control::desk::{Gone, Handle, Message};
use crate::control::geo_source::{self, GeoRefusal};
use crate::control::journal::rfc3339;
use crate::control::load::{GeoInfo, LoadErrors, LoadOptions, Loaded, load, parse_orders};
use crate::control::operate::{
    Done, Ground, Order, Prepared, Refusal, RefusalKind, Verb, prepare, too_many_removed,
};
use crate::control::preview::preview;
use crate::control::status::Warning;
use crate::control::{Clock, Now};
use crate::probe::{CheckSpec, Runner};
use crate::region::geo::GeoTable;
use crate::serve::admin::{Answer, Operate, ProbeRun};

/// Observations of one configuration that may wait for the writer.
const MAX_OBSERVATIONS: usize = 16_384;

/// The hand on the controls of a running node.
#[derive(Debug)]
pub struct Operator {
    handle: Handle,
    clock: Clock,
    config_path: PathBuf,
    runner: Runner,
    probing: Probing,
    /// The line for which the admin file on disk can't be obeyed.
    orders_error: StdMutex<Option<usize>>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: Arc<Config>,
    generation: u64,
    admin: AdminSource,
    geo: Option<(Arc<GeoTable>, GeoInfo)>,
    geo_seen: Option<geo_source::FileState>,
    geo_settled: Option<geo_source::FileState>,
}

impl Operator {
    /// Takes the controls; the checks of `loaded` start.
    pub fn start(
        handle: Handle,
        clock: Clock,
        config_path: PathBuf,
        runner: Runner,
        loaded: &Loaded,
        admin: AdminSource,
        probing: Probing,
    ) -> Self {
        let geo = loaded.dns.as_ref().map(|dns| Arc::clone(&dns.geo)).zip(loaded.geo.clone());
        let geo_settled = loaded.config.geo.as_ref().and_then(geo_source::FileState::of);
        let inner = Inner {
            config: Arc::clone(&loaded.config),
            generation: loaded.generation,
            admin,
            geo,
            geo_seen: None,
            geo_settled,
        };
        let (orders_error, inner) = (StdMutex::new(None), Mutex::new(inner));
        let operator = Self { handle, clock, config_path, runner, probing, orders_error, inner };
        operator.start_checks(loaded.generation, specs(&loaded.config, &loaded.plan));
        operator
    }

    /// Gives an order, through the admin file.
    pub async fn order(&self, verb: Verb, order: Order, by: &str) -> Result<Done, Refusal> {
        let mut inner = self.inner.lock().await;
        let now = self.clock.now();
        let parts = self.handle.status().await.map_err(stopping)?;
        let base = inner.base_text(now)?;
        let ground = Ground {
            base: &base,
            path: inner.admin.path(),
            config: &inner.config,
            plan: &parts.snapshot.plan,
            inputs: &parts.inputs,
            now,
        };
        let prepared = prepare(verb, &order, ground)?;
        let Prepared { text, file, preview, sentence, warnings } = prepared;
        if order.dry_run {
            let text = format!("would {sentence}");
            return Ok(Done { text, preview: Some(preview), warnings, ..Done::default() });
        }
        inner.admin.write(&text).map_err(|error| {
            Refusal::new(
                RefusalKind::CannotWrite,
                format!("cannot write {}: {error}", inner.admin.path().display()),
            )
        })?;
        let by_text = format!("{by}: {sentence}");
        let message = |done| Message::Orders { file, by: by_text, done: Some(done) };
        let serial = self.handle.ask(message).await.map_err(stopping)?;
        self.set_orders_error(None);
        self.audit(&inner, verb.word(), by, &sentence, &order.reason, serial);
        Ok(Done {
            serial: Some(serial),
            live: true,
            changed: true,
            text: sentence,
            preview: Some(preview),
            warnings,
        })
    }

    /// Releases a region that was held after a failure.
    pub async fn release(&self, region: &str, by: &str) -> Result<Done, Refusal> {
        let inner = self.inner.lock().await;
        let id = inner.config.regions.find(region).map_err(|error| {
            Refusal::new(RefusalKind::BadRequest, error.to_string())
                .hint(format!("regions: {}", region_names(&inner.config)))
        })?;
        let message = |done| Message::Release { region: id, done };
        let (serial, held) = self.handle.ask(message).await.map_err(stopping)?;
        if !held {
            return Err(Refusal::new(RefusalKind::NothingToDo, format!("{region} is not held"))
                .hint("`waypost status` shows which regions wait for a release"));
        }
        let text = format!("{region} is released");
        self.audit(&inner, "release", by, &text, "", serial);
        Ok(Done { serial: Some(serial), live: true, changed: true, text, ..Done::default() })
    }

    /// Reads everything again; nothing changes when anything is wrong.
    pub async fn reload(&self, accept_geo: bool, force: bool, by: &str) -> Result<Done, Refusal> {
        let mut inner = self.inner.lock().await;
        let result = self.try_reload(&mut inner, accept_geo, force, by).await;
        match &result {
            Ok(_) => drop(self.handle.tell(Message::Unwarn("reload"))),
            Err(refusal) => {
                tracing::error!("reload refused, the old state keeps answering: {}", refusal.text);
                self.handle.tell(Message::ReloadFailed);
                self.handle.tell(Message::Warn(Warning {
                    code: "reload",
                    text: format!("the last reload was refused: {}", first_line(&refusal.text)),
                    since: rfc3339(self.clock.now().wall_ms),
                }));
            }
        }
        result
    }

    async fn try_reload(
        &self,
        inner: &mut Inner,
        accept_geo: bool,
        force: bool,
        by: &str,
    ) -> Result<Done, Refusal> {
        let now = self.clock.now();
        let generation = inner.generation + 1;
        let (path, in_use) = (self.config_path.clone(), inner.geo.clone());
        let loading = tokio::task::spawn_blocking(move || {
            let in_use = in_use.as_ref().map(|(table, info)| (table, info));
            load(&path, LoadOptions { generation, now, in_use, accept_geo, state: true })
        });
        let loaded =
            loading.await.map_err(|_| Refusal::new(RefusalKind::InvalidFile, "loading failed".into()))?;
        let loaded = loaded.map_err(invalid)?;
        needs_restart(&inner.config, &loaded.config)?;
        if !force {
            too_many_removed(&inner.config, &loaded.config)?;
        }
        let orders =
            parse_orders(inner.admin.accepted(), inner.admin.path(), &loaded.config, now.wall_ms)
                .or_else(|errors| {
                    if inner.admin.accepted().is_empty() { Ok(AdminFile::default()) } else { Err(errors) }
                })
                .map_err(invalid)?;
        self.put_in_force(inner, loaded, orders, by).await
    }

    async fn put_in_force(
        &self,
        inner: &mut Inner,
        loaded: Loaded,
        orders: AdminFile,
        by: &str,
    ) -> Result<Done, Refusal> {
        let warnings = loaded.warnings.iter().map(|warning| warning.text.clone()).collect();
        inner.config = Arc::clone(&loaded.config);
        inner.generation = loaded.generation;
        inner.geo = loaded.dns.as_ref().map(|dns| Arc::clone(&dns.geo)).zip(loaded.geo.clone());
        inner.geo_settled = loaded.config.geo.as_ref().and_then(geo_source::FileState::of);
        let specs = specs(&loaded.config, &loaded.plan);
        self.probing.stop().await;
        let generation = loaded.generation;
        let text = format!("configuration {generation} is in force");
        let loaded = Box::new(loaded);
        let serial =
            self.handle.ask(|done| Message::Load { loaded, orders, done }).await.map_err(stopping)?;
        self.start_checks(generation, specs);
        self.audit(inner, "reload", by, &text, "", serial);
        Ok(Done { serial: Some(serial), live: true, changed: true, text, preview: None, warnings })
    }

    /// Runs a probe now, in one region or all, out of turn; results are shown and do not count.
    pub async fn probe(&self, name: &str, region: Option<&str>) -> Result<Vec<ProbeRun>, Refusal> {
        let parts = self.handle.status().await.map_err(stopping)?;
        let plan = &parts.snapshot.plan;
        let wanted = (0..).zip(&plan.checks).filter(|(_, check)| {
            check.probe == name && region.is_none_or(|region| plan.region_name(check.region) == region)
        });
        let wanted: Vec<_> = wanted.collect();
        if wanted.is_empty() {
            let known: BTreeSet<&str> = plan.checks.iter().map(|check| check.probe.as_str()).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let place = region.map_or(String::new(), |region| format!(" in {region}"));
            let refusal =
                Refusal::new(RefusalKind::BadRequest, format!("no check of a probe `{name}` runs{place}"));
            return Err(refusal.hint(format!("probes: {}", known.join(", "))));
        }
        let mut runs = Vec::new();
        for (index, check) in wanted {
            if let Some(seen) = self.probing.run_now(index).await {
                runs.push(ProbeRun::of(name, plan.region_name(check.region), check.address, &seen));
            }
        }
        Ok(runs)
    }

    /// Looks at the admin file.
    pub async fn look_at_orders(&self) {
        let mut inner = self.inner.lock().await;
        let now = self.clock.now();
        let config = Arc::clone(&inner.config);
        match inner.admin.look(&config, now.mono, now.wall_ms) {
            Looked::Same => {}
            Looked::Accepted(file) => self.obey(&inner, file, now).await,
            Looked::Refused(errors) => self.refuse_orders(&errors, now),
            Looked::Gone => {
                let text = format!("{} is gone; what it said stays in force", inner.admin.path().display());
                self.warn("admin_file", text, now);
            }
        }
    }

    /// A file written by hand is obeyed even where the guard would refuse, and says so.
    async fn obey(&self, inner: &Inner, file: AdminFile, now: Now) {
        let Ok(parts) = self.handle.status().await else { return };
        let preview = preview(&inner.config, &parts.snapshot.plan, &parts.inputs, &file, now.wall_ms);
        let warnings: Vec<String> = file.warnings.iter().map(|warning| warning.one_line()).collect();
        let by = format!("{} was edited", inner.admin.path().display());
        let message = |done| Message::Orders { file, by: by.clone(), done: Some(done) };
        let Ok(serial) = self.handle.ask(message).await else { return };
        self.set_orders_error(None);
        self.warn_or_clear("guard", &preview.refusals, now);
        self.warn_or_clear("admin_past", &warnings, now);
        self.audit(inner, "file", "file", &by, "", serial);
    }

    fn refuse_orders(&self, errors: &LoadErrors, now: Now) {
        tracing::error!("the admin file is refused, what was in force stays:\n{}", errors.text);
        self.warn("admin_file", errors.lines.join("; "), now);
        self.set_orders_error(Some(errors.first_line));
    }

    fn set_orders_error(&self, line: Option<usize>) {
        if line.is_none() {
            self.handle.tell(Message::Unwarn("admin_file"));
        }
        *self.orders_error.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    /// What the start found wrong with the admin file.
    pub fn tell_of_start(&self, problem: Option<&LoadErrors>) {
        if let Some(errors) = problem {
            self.refuse_orders(errors, self.clock.now());
        }
    }

    /// Looks at the geo file; a new one is compiled beside the one in use.
    pub async fn look_at_geo(&self) {
        let mut inner = self.inner.lock().await;
        let Some(geo) = inner.config.geo.clone() else { return };
        if inner.config.dns.is_none() {
            return;
        }
        let now = self.clock.now();
        let Some(state) = geo_source::FileState::of(&geo) else {
            if inner.geo_settled.take().is_some() {
                let text = format!("{} is gone; the table in use stays", geo.database.display());
                self.warn("geo_file", text, now);
            }
            return;
        };
        let rested = inner.geo_seen.replace(state) == Some(state);
        if inner.geo_settled == Some(state) || !rested {
            return;
        }
        inner.geo_settled = Some(state);
        let config = Arc::clone(&inner.config);
        let in_use = inner.geo.clone();
        let compiling = tokio::task::spawn_blocking(move || {
            let in_use = in_use.as_ref().map(|(table, info)| (table, info));
            let options = LoadOptions { generation: 0, now, in_use, accept_geo: false, state: false };
            let rules = geo_source::rules(&config, &geo);
            let loaded = geo_source::compile(&geo, &rules, options)?;
            geo_source::keep(&config, &loaded);
            Ok::<_, GeoRefusal>(loaded)
        });
        match compiling.await {
            Ok(Ok(loaded)) => {
                inner.geo = Some((Arc::clone(&loaded.table), loaded.info.clone()));
                self.handle.tell(Message::Geo { table: loaded.table, info: loaded.info });
                for warning in loaded.warnings {
                    self.handle.tell(Message::Warn(warning));
                }
                self.handle.tell(Message::Unwarn("geo_file"));
            }
            Ok(Err(refusal)) => {
                let path = inner.config.geo.as_ref().map(|geo| geo.database.display().to_string());
                self.warn("geo_file", format!("{}: {refusal}", path.unwrap_or_default()), now);
            }
            Err(_) => self.warn("geo_file", "compiling the geo file failed".to_owned(), now),
        }
    }

    /// Ends every check.
    pub async fn stop(&self) {
        self.probing.stop().await;
    }

    fn start_checks(&self, generation: u64, specs: Vec<CheckSpec>) {
        let (sender, mut results) = mpsc::channel(MAX_OBSERVATIONS);
        self.probing.start(generation, specs, sender, self.runner.clone());
        let handle = self.handle.clone();
        tokio::spawn(async move {
            while let Some((check, observation)) = results.recv().await {
                let message = Message::Observed { generation, check, observation };
                if handle.send(message).await.is_err() {
                    break;
                }
            }
        });
    }

    fn warn_or_clear(&self, code: &'static str, texts: &[String], now: Now) {
        if texts.is_empty() {
            self.handle.tell(Message::Unwarn(code));
        } else {
            self.warn(code, texts.join("; "), now);
        }
    }

    fn warn(&self, code: &'static str, text: String, now: Now) {
        self.handle.tell(Message::Warn(Warning { code, text, since: rfc3339(now.wall_ms) }));
    }

    /// Who changed what and why. A disk that can't be written undoes nothing.
    fn audit(&self, inner: &Inner, action: &str, by: &str, what: &str, reason: &str, serial: u64) {
        let at = rfc3339(self.clock.now().wall_ms);
        let line = serde_json::json!({
            "at": at, "action": action, "by": by, "what": what, "reason": reason, "serial": serial,
        });
        let path = inner.config.state_dir.join("audit.jsonl");
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            tracing::warn!("cannot write {}: {error}", path.display());
        }
        tracing::info!(action, by, serial, "{what}");
    }
}

impl Operate for Operator {
    fn order<'a>(&'a self, verb: Verb, order: Order, by: &'a str) -> Answer<'a, Done> {
        Box::pin(self.order(verb, order, by))
    }

    fn release<'a>(&'a self, region: &'a str, by: &'a str) -> Answer<'a, Done> {
        Box::pin(self.release(region, by))
    }

    fn reload<'a>(&'a self, accept_geo: bool, force: bool, by: &'a str) -> Answer<'a, Done> {
        Box::pin(self.reload(accept_geo, force, by))
    }

    fn probe<'a>(&'a self, name: &'a str, region: Option<&'a str>) -> Answer<'a, Vec<ProbeRun>> {
        Box::pin(self.probe(name, region))
    }

    fn admin_file_error(&self) -> Option<usize> {
        *self.orders_error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The text that an order is added to: the file's if it is valid, what is in force if there is no file.
    fn base_text(&self, now: Now) -> Result<String, Refusal> {
        let on_disk = self.admin.text().map_err(|error| {
            Refusal::new(
                RefusalKind::CannotWrite,
                format!("cannot read {}: {error}", self.admin.path().display()),
            )
        })?;
        let Some(text) = on_disk else { return Ok(self.admin.accepted().to_owned()) };
        if text != self.admin.accepted() {
            parse_orders(&text, self.admin.path(), &self.config, now.wall_ms).map_err(|errors| {
                invalid(errors).hint("correct the file first: an order must not hide what is wrong with it")
            })?;
        }
        Ok(text)
    }
}

/// Keys that are fixed when the process starts.
fn needs_restart(old: &Config, new: &Config) -> Result<(), Refusal> {
    let mut keys = Vec::new();
    let mut compare = |key: &'static str, same: bool| {
        if !same {
            keys.push(key);
        }
    };
    let (old_dns, new_dns) = (old.dns.as_ref(), new.dns.as_ref());
    compare("dns", old_dns.is_some() == new_dns.is_some());
    if let (Some(old), Some(new)) = (old_dns, new_dns) {
        compare("dns.listen", old.listen == new.listen);
        compare("dns.udp_workers", old.udp_workers == new.udp_workers);
        compare("dns.tcp", old.tcp == new.tcp);
    }
    compare("admin.listen", old.admin.listen == new.admin.listen);
    compare("state_dir", old.state_dir == new.state_dir);
    compare("admin_file", old.admin_file == new.admin_file);
    compare("node", old.node == new.node);
    compare("log", old.log == new.log);
    if keys.is_empty() {
        return Ok(());
    }
    let text = format!("{} changed, which needs a restart; nothing was reloaded", keys.join(", "));
    Err(Refusal::new(RefusalKind::NeedsRestart, text).hint("restart the server, or put the old values back"))
}

fn region_names(config: &Config) -> String {
    let names: Vec<&str> = config.regions.iter().map(|region| config.regions.name(region)).collect();
    names.join(", ")
}

fn invalid(errors: LoadErrors) -> Refusal {
    Refusal::new(RefusalKind::InvalidFile, errors.text)
}

fn stopping(_: Gone) -> Refusal {
    Refusal::new(RefusalKind::Stopping, "the server is stopping".to_owned())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
