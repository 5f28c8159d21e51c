//! `waypost serve`: runs a node until it is told to end.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::node::{Node, Start, StartError, read_config};
use super::operator::Operator;
use super::{Context, Exit, Failure, say};
use crate::config::{Config, Log, LogFormat, LogLevel};

/// Threads of the control plane's runtime, at least.
const MIN_THREADS: usize = 2;

/// Serves until SIGTERM or SIGINT; SIGHUP reloads.
pub(super) fn run(context: &Context) -> ExitCode {
    let config_path = match context.config_path() {
        Ok(path) => path,
        Err(failure) => return say(Err(Failure { exit: Exit::UNUSABLE, ..failure }), context.json).into(),
    };
    let config = match read_config(&config_path) {
        Ok(config) => config,
        Err(error) => return failed(&error),
    };
    start_logging(config.log);
    limit_panic_reports();
    let runtime = match runtime("control") {
        Ok(runtime) => runtime,
        Err(error) => return failed(&StartError::Machine(error)),
    };
    let code = runtime.block_on(serve(config, config_path));
    // A probe's name lookup may hang for long, and nothing waits for it.
    runtime.shutdown_background();
    code
}

/// The control plane's runtime. At least two threads: what is slow must not hold up the writer and the probes.
///
/// Errors: a thread can't be made.
pub(super) fn runtime(name: &str) -> io::Result<Runtime> {
    let threads = thread::available_parallelism().map_or(MIN_THREADS, |cores| cores.get().max(MIN_THREADS));
    Builder::new_multi_thread().worker_threads(threads).enable_all().thread_name(name).build()
}

/// The signals that end the process; from the first moment on, they no longer do so by themselves.
pub(super) struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    /// Listens for SIGTERM and SIGINT from now on.
    ///
    /// Errors: the system's.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub(super) async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// SIGHUP, from now on; it no longer ends the process.
///
/// Errors: the system's.
pub(super) fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Runs a node from its start to its end. Signals are heard from the first moment on: a SIGHUP during the start is a
/// reload after it, and must not kill the process.
async fn serve(config: Config, config_path: PathBuf) -> ExitCode {
    let (mut ends, hangups) = match Ends::listen().and_then(|ends| Ok((ends, hangups()?))) {
        Ok(signals) => signals,
        Err(error) => return failed(&StartError::Machine(error)),
    };
    let node = tokio::select! {
        node = Node::start(config, Start { config_path, extra: None }) => node,
        () = ends.told() => return ExitCode::SUCCESS,
    };
    let node = match node {
        Ok(node) => node,
        Err(error) => return failed(&error),
    };
    let reloads = tokio::spawn(reload_on(hangups, Arc::clone(node.operator())));
    let told = async {
        let mut told = std::pin::pin!(ends.told());
        tokio::select! {
            () = &mut told => return,
            () = node.open_when_ready() => {}
        }
        told.await;
    };
    told.await;
    tracing::info!("ending");
    reloads.abort();
    node.stop().await;
    ExitCode::SUCCESS
}

/// Signals that come during a reload are one more reload after it, however many they are.
async fn reload_on(mut hangups: Signal, operator: Arc<Operator>) {
    while hangups.recv().await.is_some() {
        // Both outcomes are told by the operator: log, status, metrics; what changed something also by the audit.
        let _ = operator.reload(false, false, "SIGHUP").await;
    }
}

/// Tells why nothing runs: faults of the configuration as `check` prints them, everything else as a line of the log,
/// which has begun by then.
fn failed(error: &StartError) -> ExitCode {
    match error {
        StartError::Config(_) => {
            eprintln!("{error}");
            Exit::UNUSABLE.into()
        }
        _ => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A fault that packets can trigger must not fill a disk with its reports: the first few are told, then every
/// thousandth.
fn limit_panic_reports() {
    const TOLD: u64 = 10;
    let count = AtomicU64::new(0);
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        if number < TOLD || number.is_multiple_of(1000) {
            report(info);
        }
    }));
}

/// Logs as the configuration says, to stderr.
pub fn start_logging(log: Log) {
    let level = match log.level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_target(false);
    // A second start in one process (tests, the demo) keeps the first one's logging.
    let _ = match log.format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}
