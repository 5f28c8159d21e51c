//! What operators do to a running node, one at a time: orders through the admin file, releases, reloads, probes now.

mod geo_watch;
mod reload;
mod told;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard, mpsc};
use tokio::task::{JoinError, spawn_blocking};

use super::probing::{Probing, specs};
use crate::config::admin::AdminFile;
use crate::config::{Config, Diagnostic};
use crate::control::admin_source::{AdminSource, Looked};
use crate::control::desk::{Gone, Handle, Message};
use crate::control::geo_source;
use crate::control::load::{GeoInfo, LoadErrors, Loaded, parse_orders};
use crate::control::operate::{Done, Ground, Order, Prepared, Refusal, RefusalKind, Verb, prepare};
use crate::control::preview::preview;
use crate::control::status::StatusParts;
use crate::control::{Clock, Now};
use crate::dns::cookie::Secrets;
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
    /// What cookies are made with; should the file become unreadable, they stay.
    cookie_secrets: Option<Secrets>,
    geo_seen: Option<geo_source::FileState>,
    geo_settled: Option<geo_source::FileState>,
}

/// The geo table in use, and what it is.
type InUse = (Arc<GeoTable>, GeoInfo);

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
            cookie_secrets: cookie_secrets(loaded),
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
        let Prepared { file, preview, sentence, warnings, still, .. } = prepared;
        if dry_run {
            let text = format!("would {sentence}");
            return Ok(Done { text, preview: Some(preview), warnings, still, ..Done::default() });
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
            still,
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
            let text = format!("{region} has nothing to release: it is not held, or its checks still fail");
            return Err(Refusal::new(RefusalKind::NothingToDo, text).hint(
                "`waypost status` shows which regions wait for a release; `waypost force REGION up` overrules checks",
            ));
        }
        let text = format!("{region} is released");
        self.audit(&inner, "release", by, &text, "", serial).await;
        Ok(Done { serial: Some(serial), live: true, changed: true, text, ..Done::default() })
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

    /// What the start found wrong with the admin file, and what there is to say of what is in force.
    pub async fn tell_of_start(&self, problem: Option<&LoadErrors>, past: &[Diagnostic]) {
        let now = self.clock.now();
        if let Some(errors) = problem {
            self.refuse_orders(errors, now).await;
        }
        self.warn_while("admin_past", joined(&lines(past)).as_deref(), now).await;
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

fn cookie_secrets(loaded: &Loaded) -> Option<Secrets> {
    loaded.dns.as_ref()?.settings.cookies.map(|cookies| cookies.secrets)
}

fn lines(warnings: &[Diagnostic]) -> Vec<String> {
    warnings.iter().map(Diagnostic::one_line).collect()
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
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
