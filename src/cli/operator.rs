//! What operators do to a running node, one at a time: orders through the admin file, releases, reloads, probes now.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};
use tokio::task::{JoinError, spawn_blocking};

use super::probing::{Probing, specs};
use crate::config::admin::AdminFile;
use crate::config::{Config, Diagnostic, Geo};
use crate::control::admin_source::{AdminSource, Looked};
use crate::control::desk::{Gone, Handle, Message};
use crate::control::geo_source::{self, LoadedGeo};
use crate::control::journal::rfc3339;
use crate::control::load::{GeoInfo, LoadErrors, LoadOptions, Loaded, load, parse_orders};
use crate::control::operate::{
    Done, Ground, Order, Prepared, Refusal, RefusalKind, Verb, prepare, too_many_removed,
};
use crate::control::preview::preview;
use crate::control::status::{StatusParts, Warning};
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
    inner: Arc<Mutex<Inner>>,
    /// Held during a reload: one at a time, while orders go on.
    reloading: Mutex<()>,
}

#[derive(Debug)]
struct Inner {
    config: Arc<Config>,
    generation: u64,
    admin: AdminSource,
    geo: Option<InUse>,
    geo_seen: Option<geo_source::FileState>,
    geo_settled: Option<geo_source::FileState>,
}

/// The geo table in use, and what it is.
type InUse = (Arc<GeoTable>, GeoInfo);

/// A geo file that is new and at rest, and what it is held against.
struct NewGeo {
    geo: Geo,
    config: Arc<Config>,
    in_use: Option<InUse>,
    now: Now,
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
        let geo = geo_in_use(loaded);
        // One that a table stands in for is looked at again at once: it may have been mended meanwhile.
        let geo_settled = geo.as_ref().and_then(|(_, info)| info.file);
        let inner = Inner {
            config: Arc::clone(&loaded.config),
            generation: loaded.generation,
            admin,
            geo,
            geo_seen: None,
            geo_settled,
        };
        let operator = Self {
            handle,
            clock,
            config_path,
            runner,
            probing,
            orders_error: StdMutex::new(None),
            inner: Arc::new(Mutex::new(inner)),
            reloading: Mutex::new(()),
        };
        operator.start_checks(loaded.generation, specs(&loaded.config, &loaded.plan));
        operator
    }

    /// Gives an order, through the admin file.
    pub async fn order(&self, verb: Verb, order: Order, by: &str) -> Result<Done, Refusal> {
        let inner = Arc::clone(&self.inner).lock_owned().await;
        let now = self.clock.now();
        let parts = self.handle.status().await.map_err(stopping)?;
        let dry_run = order.dry_run;
        let reason = order.reason.clone();
        // Off this thread: files are read and synced.
        let written = spawn_blocking(move || write_order(inner, verb, &order, &parts, now)).await;
        let (inner, prepared) = written.map_err(lost)??;
        let Prepared { file, preview, sentence, warnings, .. } = prepared;
        if dry_run {
            let text = format!("would {sentence}");
            return Ok(Done { text, preview: Some(preview), warnings, ..Done::default() });
        }
        let past = lines(&file.warnings);
        let by_text = format!("{by}: {sentence}");
        let message = |done| Message::Orders { file, by: by_text, done: Some(done) };
        let serial = self.handle.ask(message).await.map_err(stopping)?;
        self.tell_of_orders(&inner, &past, &preview.refusals, now).await;
        self.audit(&inner, verb.word(), by, &sentence, &reason, serial).await;
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
        self.audit(&inner, "release", by, &text, "", serial).await;
        Ok(Done { serial: Some(serial), live: true, changed: true, text, ..Done::default() })
    }

    /// Reads everything again; nothing changes when anything is wrong.
    pub async fn reload(&self, accept_geo: bool, force: bool, by: &str) -> Result<Done, Refusal> {
        let _one = self.reloading.lock().await;
        let result = self.try_reload(accept_geo, force, by).await;
        match &result {
            Ok(_) => self.tell(Message::Unwarn("reload")).await,
            Err(refusal) => {
                tracing::error!("reload refused, the old state keeps answering: {}", refusal.text);
                self.tell(Message::ReloadFailed).await;
                let text = format!("the last reload was refused: {}", first_line(&refusal.text));
                self.warn("reload", text, self.clock.now()).await;
            }
        }
        result
    }

    /// Loads beside what is in force, while orders go on; then puts it in force.
    async fn try_reload(&self, accept_geo: bool, force: bool, by: &str) -> Result<Done, Refusal> {
        let now = self.clock.now();
        let path = self.config_path.clone();
        let (generation, in_use) = {
            let inner = self.inner.lock().await;
            (inner.generation + 1, inner.geo.clone())
        };
        let loading = spawn_blocking(move || {
            let in_use = in_use.as_ref().map(|(table, info)| (table, info));
            load(&path, LoadOptions { generation, now, in_use, accept_geo, stand_in: false })
        });
        let loaded = loading.await.map_err(lost)?.map_err(invalid)?;
        let mut inner = self.inner.lock().await;
        needs_restart(&inner.config, &loaded.config)?;
        if !force {
            too_many_removed(&inner.config, &loaded.config)?;
        }
        let accepted = inner.admin.accepted();
        let orders = match accepted.is_empty() {
            true => AdminFile::default(),
            false => {
                parse_orders(accepted, inner.admin.path(), &loaded.config, now.wall_ms).map_err(invalid)?
            }
        };
        self.put_in_force(&mut inner, loaded, orders, by).await
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
        inner.geo = geo_in_use(&loaded);
        inner.geo_settled = inner.geo.as_ref().and_then(|(_, info)| info.file);
        // A file that was refused may be valid under this configuration.
        inner.admin.look_again();
        let specs = specs(&loaded.config, &loaded.plan);
        self.probing.stop().await;
        let generation = loaded.generation;
        let text = format!("configuration {generation} is in force");
        let loaded = Box::new(loaded);
        let serial =
            self.handle.ask(|done| Message::Load { loaded, orders, done }).await.map_err(stopping)?;
        self.start_checks(generation, specs);
        if let Some((table, _)) = inner.geo.clone() {
            self.keep_geo(&inner.config, table).await;
        }
        self.audit(inner, "reload", by, &text, "", serial).await;
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
        let mut inner = Arc::clone(&self.inner).lock_owned().await;
        let now = self.clock.now();
        let looking = spawn_blocking(move || {
            let config = Arc::clone(&inner.config);
            let looked = inner.admin.look(&config, now.mono, now.wall_ms);
            (inner, looked)
        });
        let Ok((inner, looked)) = looking.await else { return };
        match looked {
            Looked::Same => {}
            Looked::Accepted(file) => self.obey(&inner, file, now).await,
            Looked::Refused(errors) => self.refuse_orders(&errors, now).await,
            Looked::Gone => {
                let text = format!("{} is gone; what it said stays in force", inner.admin.path().display());
                self.set_orders_error(None);
                self.warn("admin_file", text, now).await;
            }
        }
        self.warn_while("admin_copy", inner.admin.copy_failed(), now).await;
    }

    /// A file written by hand is obeyed even where the guard would refuse, and says so.
    async fn obey(&self, inner: &Inner, file: AdminFile, now: Now) {
        let Ok(parts) = self.handle.status().await else { return };
        let preview = preview(&inner.config, &parts.snapshot.plan, &parts.inputs, &file, now.wall_ms);
        let past = lines(&file.warnings);
        let by = format!("{} was edited", inner.admin.path().display());
        let message = |done| Message::Orders { file, by: by.clone(), done: Some(done) };
        let Ok(serial) = self.handle.ask(message).await else { return };
        self.tell_of_orders(inner, &past, &preview.refusals, now).await;
        self.audit(inner, "file", "file", &by, "", serial).await;
    }

    /// Other orders are in force: what there is to say of them replaces what was said of the last ones.
    async fn tell_of_orders(&self, inner: &Inner, past: &[String], refusals: &[String], now: Now) {
        self.set_orders_error(None);
        self.tell(Message::Unwarn("admin_file")).await;
        self.warn_while("admin_past", joined(past).as_deref(), now).await;
        self.warn_while("guard", joined(refusals).as_deref(), now).await;
        self.warn_while("admin_copy", inner.admin.copy_failed(), now).await;
    }

    async fn refuse_orders(&self, errors: &LoadErrors, now: Now) {
        tracing::error!("the admin file is refused, what was in force stays:\n{}", errors.text);
        self.set_orders_error(Some(errors.first_line));
        self.warn("admin_file", errors.lines.join("; "), now).await;
    }

    fn set_orders_error(&self, line: Option<usize>) {
        *self.orders_error.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    /// What the start found wrong with the admin file, and what there is to say of what is in force.
    pub async fn tell_of_start(&self, problem: Option<&LoadErrors>, past: &[Diagnostic]) {
        let now = self.clock.now();
        if let Some(errors) = problem {
            self.refuse_orders(errors, now).await;
        }
        self.warn_while("admin_past", joined(&lines(past)).as_deref(), now).await;
    }

    /// Looks at the geo file; a new one is compiled beside the one in use, while everything else goes on.
    pub async fn look_at_geo(&self) {
        let Some(NewGeo { geo, config, in_use, now }) = self.new_geo_file().await else { return };
        let path = geo.database.display().to_string();
        let (held_against, compiled_for) = (in_use.clone(), Arc::clone(&config));
        let compiling = spawn_blocking(move || {
            let in_use = in_use.as_ref().map(|(table, info)| (table, info));
            let options = LoadOptions { generation: 0, now, in_use, accept_geo: false, stand_in: false };
            geo_source::compile(&geo, &geo_source::rules(&config, &geo), options)
        });
        let LoadedGeo { table, info, warnings } = match compiling.await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(refusal)) => {
                let text = format!("{path}: {refusal}; the table in use stays");
                return self.warn("geo_file", text, now).await;
            }
            Err(_) => {
                return self.warn("geo_file", format!("{path}: compiling it failed"), now).await;
            }
        };
        let mut inner = self.inner.lock().await;
        let same = |a: &InUse, b: &InUse| Arc::ptr_eq(&a.0, &b.0);
        let still = match (&inner.geo, &held_against) {
            (Some(a), Some(b)) => same(a, b),
            (None, None) => true,
            _ => false,
        };
        if !Arc::ptr_eq(&inner.config, &compiled_for) || !still {
            // A reload came between, and read the file itself.
            return;
        }
        inner.geo = Some((Arc::clone(&table), info.clone()));
        self.tell(Message::Geo { table: Arc::clone(&table), info, warnings }).await;
        self.keep_geo(&compiled_for, table).await;
    }

    /// A geo file that is not dealt with yet and has come to rest.
    async fn new_geo_file(&self) -> Option<NewGeo> {
        let mut inner = self.inner.lock().await;
        let config = Arc::clone(&inner.config);
        let geo = config.geo.clone().filter(|_| config.dns.is_some())?;
        let now = self.clock.now();
        let at = geo.clone();
        let state = spawn_blocking(move || geo_source::FileState::of(&at)).await.ok()?;
        let Some(state) = state else {
            if inner.geo_settled.take().is_some() {
                let text = format!("{} is gone; the table in use stays", geo.database.display());
                self.warn("geo_file", text, now).await;
            }
            return None;
        };
        let rested = inner.geo_seen.replace(state) == Some(state);
        if inner.geo_settled == Some(state) || !rested {
            return None;
        }
        inner.geo_settled = Some(state);
        let in_use = inner.geo.clone();
        Some(NewGeo { geo, config, in_use, now })
    }

    /// Keeps the compiled table in use for a start without a usable file.
    async fn keep_geo(&self, config: &Config, table: Arc<GeoTable>) {
        let dir = config.state_dir.clone();
        let kept = spawn_blocking(move || geo_source::keep(&dir, &table)).await;
        let trouble = match kept {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                Some(format!("cannot keep the compiled geo table in {}: {error}", config.state_dir.display()))
            }
            Err(_) => Some("keeping the compiled geo table failed".to_owned()),
        };
        self.warn_while("geo_table", trouble.as_deref(), self.clock.now()).await;
    }

    /// Keeps the table that the start found.
    pub async fn keep_first_geo(&self) {
        let (config, geo) = {
            let inner = self.inner.lock().await;
            (Arc::clone(&inner.config), inner.geo.clone())
        };
        if let Some((table, _)) = geo.filter(|(_, info)| !info.stands_in) {
            self.keep_geo(&config, table).await;
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

    async fn warn_while(&self, code: &'static str, text: Option<&str>, now: Now) {
        match text {
            Some(text) => self.warn(code, text.to_owned(), now).await,
            None => self.tell(Message::Unwarn(code)).await,
        }
    }

    async fn warn(&self, code: &'static str, text: String, now: Now) {
        self.tell(Message::Warn(Warning { code, text, since: rfc3339(now.wall_ms) })).await;
    }

    /// Tells the writer, and waits while it has more to do than it can: what is told here must not be lost.
    async fn tell(&self, message: Message) {
        if self.handle.send(message).await.is_err() {
            tracing::debug!("the server is stopping: nobody is left to be told");
        }
    }

    /// Who changed what and why. A disk that can't be written undoes nothing.
    async fn audit(&self, inner: &Inner, action: &str, by: &str, what: &str, reason: &str, serial: u64) {
        let at = rfc3339(self.clock.now().wall_ms);
        let line = serde_json::json!({
            "at": at, "action": action, "by": by, "what": what, "reason": reason, "serial": serial,
        });
        tracing::info!(action, by, serial, "{what}");
        let path = inner.config.state_dir.join("audit.jsonl");
        let shown = path.display().to_string();
        let appending = spawn_blocking(move || {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.write_all(format!("{line}\n").as_bytes())
        });
        match appending.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("cannot write {shown}: {error}"),
            Err(_) => tracing::warn!("cannot write {shown}"),
        }
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
        let on_disk = self.admin.text().map_err(|error| cannot_write(self.admin.path(), "read", &error))?;
        let Some(text) = on_disk else { return Ok(self.admin.accepted().to_owned()) };
        if text != self.admin.accepted() {
            parse_orders(&text, self.admin.path(), &self.config, now.wall_ms).map_err(|errors| {
                invalid(errors).hint("correct the file first: an order must not hide what is wrong with it")
            })?;
        }
        Ok(text)
    }
}

/// Checks an order and, unless that is all that was asked for, writes it into the admin file.
fn write_order(
    mut inner: OwnedMutexGuard<Inner>,
    verb: Verb,
    order: &Order,
    parts: &StatusParts,
    now: Now,
) -> Result<(OwnedMutexGuard<Inner>, Prepared), Refusal> {
    let base = inner.base_text(now)?;
    let ground = Ground {
        base: &base,
        path: inner.admin.path(),
        config: &inner.config,
        plan: &parts.snapshot.plan,
        inputs: &parts.inputs,
        now,
    };
    let prepared = prepare(verb, order, ground)?;
    if !order.dry_run {
        let written = inner.admin.write(&prepared.text, now.mono);
        written.map_err(|error| cannot_write(inner.admin.path(), "write", &error))?;
    }
    Ok((inner, prepared))
}

fn geo_in_use(loaded: &Loaded) -> Option<InUse> {
    loaded.dns.as_ref().map(|dns| Arc::clone(&dns.geo)).zip(loaded.geo.clone())
}

fn lines(warnings: &[Diagnostic]) -> Vec<String> {
    warnings.iter().map(Diagnostic::one_line).collect()
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
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

fn cannot_write(path: &Path, what: &str, error: &io::Error) -> Refusal {
    Refusal::new(RefusalKind::CannotWrite, format!("cannot {what} {}: {error}", path.display()))
}

/// A task panicked: a fault of ours, told by the panic's own message.
fn lost(_: JoinError) -> Refusal {
    let text = "this was lost to a fault of the server; nothing changed".to_owned();
    Refusal::new(RefusalKind::CannotWrite, text).hint("please report it")
}

fn stopping(_: Gone) -> Refusal {
    Refusal::new(RefusalKind::Stopping, "the server is stopping".to_owned())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
