//! A running node: everything that `serve` runs, started in order and ended in order.
//!
//! Sockets are bound before anything starts, so that a port that is taken is an error and not a surprise; they are
//! read only when there is something to answer with.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::operator::Operator;
use super::pressure::watch_limits;
use super::probing::Probing;
use super::tapped::watch_dnstap;
use crate::config::{self, Config};
use crate::control::admin_source::{AdminSource, LOOK_EVERY};
use crate::control::cookie_key::Access;
use crate::control::desk::{Desk, Handle};
use crate::control::files;
use crate::control::load::{LoadErrors, LoadOptions, Loaded, load_named, parse};
use crate::control::recorder::{Recorder, read_saved};
use crate::control::saved::Saved;
use crate::control::{Clock, Reader, run};
use crate::dns::{Worker, limit};
use crate::probe::{ClientError, Runner};
use crate::serve::admin::{self, AdminState, DnsCounts, ExtraRoutes, LiveCounts};
use crate::serve::dnstap::Settings;
use crate::serve::{self, BindError, Bound, Serving};

/// Without a saved table, answering begins at the latest after this, seen or not.
const FIRST_ROUND: Duration = Duration::from_secs(5);

/// Time between two looks at the geo file.
const GEO_LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long ending may take in all: below the five seconds that an operator is promised.
const STOP_DEADLINE: Duration = Duration::from_millis(4_500);

/// How long of it the answers in hand may take.
const ANSWERS_DEADLINE: Duration = Duration::from_millis(2_000);

/// Everything that runs.
pub struct Node {
    /// Where DNS is answered.
    pub dns_addrs: Vec<SocketAddr>,
    /// Where API and metrics are.
    pub admin_addr: SocketAddr,
    /// The writer.
    pub handle: Handle,
    operator: Arc<Operator>,
    ready: Arc<AtomicBool>,
    stop: watch::Sender<bool>,
    serving: Option<Serving>,
    writer: JoinHandle<Desk>,
    tasks: Vec<JoinHandle<()>>,
    /// Keeps other servers out of `state_dir` for as long as it is open.
    state_dir: Option<File>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("dns", &self.dns_addrs)
            .field("admin", &self.admin_addr)
            .finish_non_exhaustive()
    }
}

/// Why a node did not start.
#[derive(Debug)]
pub enum StartError {
    /// The configuration, or something that it names, can't be used.
    Config(LoadErrors),
    /// A DNS socket can't be bound.
    Bind(BindError),
    /// The admin socket can't be bound.
    BindAdmin(SocketAddr, io::Error),
    /// `state_dir` can't be made.
    StateDir(PathBuf, io::Error),
    /// Another server keeps its state there: two would overwrite each other's.
    StateDirInUse(PathBuf),
    /// A thread or a runtime can't be made, or the system refuses something else that it should not.
    Machine(io::Error),
    /// The probes' client can't be made.
    Probes(ClientError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(errors) => write!(f, "{}", errors.text),
            Self::Bind(error) => write!(f, "{error}"),
            Self::BindAdmin(addr, error) => {
                write!(
                    f,
                    "cannot listen on {addr} (admin.listen): {error}; `ss -ltnp` shows who holds the port"
                )
            }
            Self::StateDir(path, error) => write!(
                f,
                "cannot use state_dir {}: {error}; it must be a folder, or a place where this user may make one",
                path.display()
            ),
            Self::StateDirInUse(path) => write!(
                f,
                "another waypost keeps its state in {}: give each server a state_dir of its own",
                path.display()
            ),
            Self::Machine(error) => write!(f, "cannot start: {error}"),
            Self::Probes(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// What a node is started with.
pub struct Start {
    /// The configuration file.
    pub config_path: PathBuf,
    /// Further API routes.
    pub extra: Option<Arc<dyn ExtraRoutes>>,
}

/// Reads the configuration alone, so that logging can begin as it says.
pub fn read_config(path: &Path) -> Result<Config, StartError> {
    let text = files::read_text(path).map_err(|error| {
        let mut line = format!("{}: error: cannot read it: {error}", path.display());
        let hint = super::config_remedy(&error);
        if !hint.is_empty() {
            line.push_str(&format!("\n  hint: {hint}"));
        }
        StartError::Config(LoadErrors::one(line))
    })?;
    parse(&text, path).map_err(StartError::Config)
}

impl Node {
    /// Starts everything that `config` says. Needs a tokio runtime.
    ///
    /// Errors: the first thing that can't be had; then nothing runs.
    pub async fn start(config: Config, start: Start) -> Result<Self, StartError> {
        let clock = Clock::start();
        let now = clock.now();
        make_state_dir(&config.state_dir)?;
        let bound = config.dns.as_ref().map(|dns| bind_dns(dns, &config.node)).transpose()?;
        let admin = TcpListener::bind(config.admin.listen)
            .await
            .map_err(|error| StartError::BindAdmin(config.admin.listen, error))?;
        let state_dir = claim(&config.state_dir)?;
        sweep(&config.state_dir);
        let options = LoadOptions {
            generation: 1,
            now,
            in_use: None,
            accept_geo: false,
            stand_in: true,
            cookie_key: Access::Kept(None),
        };
        // Ports are open from here on and answer when there is something to answer with: reading may take seconds.
        tracing::info!("starting: reading zones and geo database; queries wait until \"ready\"");
        let loading = spawn_blocking(move || load_named(config, options));
        let loaded = loading.await.map_err(io::Error::other).map_err(StartError::Machine)?;
        let loaded = loaded.map_err(StartError::Config)?;
        let mut node = Self::run(&loaded, clock, start, bound, admin).await?;
        node.state_dir = state_dir;
        Ok(node)
    }

    async fn run(
        loaded: &Loaded,
        clock: Clock,
        start: Start,
        bound: Option<Bound>,
        admin: TcpListener,
    ) -> Result<Self, StartError> {
        let now = clock.now();
        let config = Arc::clone(&loaded.config);
        let saved = saved_table(&config.state_dir);
        let recorder = Recorder::start(&config.state_dir).map_err(StartError::Machine)?;
        let admin_file = AdminSource::start(&config, now.mono, now.wall_ms);
        let runner = Runner::new().map_err(StartError::Probes)?;
        let (handle, messages) = Handle::pair();
        let (stop, stopped) = watch::channel(false);
        let past = admin_file.file.warnings.clone();
        let desk = Desk::new(loaded.clone(), admin_file.file, saved.as_ref(), recorder, now);
        let reader = desk.reader();
        let at_once = desk.model().plan().checks.is_empty() || fresh(saved.as_ref(), now.wall_ms);

        let dns_addrs = bound.as_ref().map(|bound| bound.local_addrs().to_vec()).unwrap_or_default();
        let dns = bound.map(|bound| start_dns(bound, &reader, clock)).transpose();
        let (serving, counts) = dns.map_err(StartError::Machine)?.unzip();
        let probing = Probing::default();
        let pace = probing.clone();
        let (path, admin_source) = (start.config_path, admin_file.source);
        let operator = Operator::start(handle.clone(), clock, path, runner, loaded, admin_source, probing);
        let operator = Arc::new(operator);
        operator.tell_of_start(admin_file.problem.as_ref(), &past).await;
        let repaced = move |generation, check, fast| pace.set_fast(generation, check, fast);
        let writer = tokio::spawn(run::run(desk, messages, clock, stopped.clone(), repaced));

        let ready = Arc::new(AtomicBool::new(false));
        let admin_addr = admin.local_addr().map_err(StartError::Machine)?;
        let dir = config.state_dir.clone();
        let mut state = AdminState::new(handle.clone(), Arc::clone(&ready), clock, operator.clone(), dir);
        state.extra = start.extra;
        state.dns = counts.clone().map(|counts| counts as Arc<dyn DnsCounts>);
        let admin = admin::serve(admin, Arc::new(state), stopped.clone());
        let mut tasks = watch_counts(counts.as_deref(), &config, &handle, clock, &stopped);
        tasks.extend([
            tokio::spawn(admin),
            tokio::spawn(watch_orders(Arc::clone(&operator), stopped.clone())),
            tokio::spawn(watch_geo(Arc::clone(&operator), stopped)),
        ]);
        let node = Self {
            dns_addrs,
            admin_addr,
            handle,
            operator,
            ready,
            stop,
            serving,
            writer,
            tasks,
            state_dir: None,
        };
        if at_once {
            node.open();
        }
        Ok(node)
    }

    /// Waits until there is something to answer with, and answers.
    pub async fn open_when_ready(&self) {
        let deadline = sleep(FIRST_ROUND);
        tokio::pin!(deadline);
        while !self.ready.load(Ordering::Acquire) {
            if self.handle.round_complete().await.is_ok_and(|complete| complete) {
                break;
            }
            tokio::select! {
                () = &mut deadline => break,
                () = sleep(Duration::from_millis(50)) => {}
            }
        }
        self.open();
    }

    fn open(&self) {
        if let Some(serving) = &self.serving {
            serving.open();
        }
        if !self.ready.swap(true, Ordering::AcqRel) {
            tracing::info!(dns = ?self.dns_addrs, admin = %self.admin_addr, "ready");
        }
    }

    /// Who carries out changes.
    pub fn operator(&self) -> &Arc<Operator> {
        &self.operator
    }

    /// Ends everything: answers what has arrived, saves the table. Takes less than five seconds, whatever hangs.
    pub async fn stop(self) {
        if timeout(STOP_DEADLINE, self.end()).await.is_err() {
            tracing::warn!("not everything ended in time");
        }
    }

    async fn end(mut self) {
        if let Some(serving) = self.serving.take() {
            let _ = spawn_blocking(move || serving.stop(ANSWERS_DEADLINE)).await;
        }
        let _ = self.stop.send(true);
        if let Ok(desk) = self.writer.await {
            // Joins the journal's thread: everything is on disk after this.
            let _ = spawn_blocking(move || drop(desk)).await;
        }
        self.operator.stop().await;
        for task in self.tasks {
            let _ = task.await;
        }
    }
}

/// Binds the DNS sockets, tapped if so configured.
fn bind_dns(dns: &config::Dns, node: &str) -> Result<Bound, StartError> {
    let bound = serve::bind(dns).map_err(StartError::Bind)?;
    Ok(match &dns.dnstap {
        Some(dnstap) => bound.tapped(Settings {
            socket: dnstap.socket.clone(),
            identity: node.to_owned(),
            version: concat!("waypost ", env!("CARGO_PKG_VERSION")).to_owned(),
        }),
        None => bound,
    })
}

/// Starts the threads that answer, which wait until they are told to; with what they count.
fn start_dns(bound: Bound, reader: &Reader, clock: Clock) -> io::Result<(Serving, Arc<LiveCounts>)> {
    let limits = Arc::new(limit::Table::new(random_key()));
    let mut workers = Vec::new();
    let serving = serve::start(bound, reader, clock, || {
        let worker = Worker::limiting(Arc::clone(&limits));
        workers.push(worker.shared());
        worker
    })?;
    let sockets = serving.stats();
    let dnstap = serving.dnstap_counts();
    Ok((serving, Arc::new(LiveCounts { workers, sockets, dnstap })))
}

/// Watches for what the DNS threads' counters tell operators.
fn watch_counts(
    counts: Option<&LiveCounts>,
    config: &Config,
    handle: &Handle,
    clock: Clock,
    stopped: &watch::Receiver<bool>,
) -> Vec<JoinHandle<()>> {
    let Some(counts) = counts else { return Vec::new() };
    let limits = watch_limits(counts.workers.clone(), handle.clone(), clock, stopped.clone());
    let mut tasks = vec![tokio::spawn(limits)];
    let dnstap = config.dns.as_ref().and_then(|dns| dns.dnstap.as_ref());
    if let (Some(dnstap), Some(counts)) = (dnstap, &counts.dnstap) {
        let (counts, socket) = (Arc::clone(counts), dnstap.socket.clone());
        tasks.push(tokio::spawn(watch_dnstap(counts, socket, handle.clone(), clock, stopped.clone())));
    }
    tasks
}

/// A key that nobody can guess, from the keys that the standard library gives its hash tables.
fn random_key() -> [u64; 4] {
    [0, 1, 2, 3].map(|number: u64| RandomState::new().hash_one(number))
}

async fn watch_orders(operator: Arc<Operator>, mut stop: watch::Receiver<bool>) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => operator.look_at_orders().await,
            _ = stop.changed() => return,
        }
    }
}

async fn watch_geo(operator: Arc<Operator>, mut stop: watch::Receiver<bool>) {
    operator.keep_first_geo().await;
    let mut looks = interval(GEO_LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => operator.look_at_geo().await,
            _ = stop.changed() => return,
        }
    }
}

fn saved_table(state_dir: &Path) -> Option<Saved> {
    read_saved(state_dir).unwrap_or_else(|error| {
        tracing::warn!("the saved table is not used: {error}");
        None
    })
}

fn fresh(saved: Option<&Saved>, wall_ms: i64) -> bool {
    saved.is_some_and(|saved| saved.is_fresh(wall_ms))
}

/// Takes away what a killed server left half-written in its folder. Nobody else writes there.
fn sweep(path: &Path) {
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            // What can't be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Claims the folder for this server, until the file that is returned is closed. Absent where the file system knows no
/// locks: then nothing is claimed.
fn claim(path: &Path) -> Result<Option<File>, StartError> {
    let Ok(folder) = File::open(path) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(StartError::StateDirInUse(path.to_owned())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// Makes the folder, for this user alone. One that can't be written is no error: answers do not need it, and what
/// can't be kept there is told when it comes to that.
fn make_state_dir(path: &Path) -> Result<(), StartError> {
    let failed = |error| StartError::StateDir(path.to_owned(), error);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(())
}
