//! `waypost serve`: runs a node until it is told to end.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::node::{Node, Start, StartError, read_config};
use super::{Context, Exit, Failure, say};
use crate::config::{Log, LogFormat, LogLevel};

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
    let code = runtime.block_on(async {
        // Before the start, which takes a while: a reload that comes too early must not end the process.
        let mut signals = match Signals::listen() {
            Ok(signals) => signals,
            Err(error) => return failed(&StartError::Machine(error)),
        };
        match Node::start(config, Start { config_path, extra: None }).await {
            Ok(node) => until_told(node, &mut signals).await,
            Err(error) => failed(&error),
        }
    });
    // A probe's name lookup may hang for long, and nothing waits for it.
    runtime.shutdown_background();
    code
}

/// The control plane's runtime. At least two threads: an order is synced to disk before it is published, and a slow
/// disk must not hold up the writer and the probes meanwhile.
///
/// Errors: a thread can't be made.
pub(super) fn runtime(name: &str) -> io::Result<Runtime> {
    let threads = thread::available_parallelism().map_or(MIN_THREADS, |cores| cores.get().max(MIN_THREADS));
    Builder::new_multi_thread().worker_threads(threads).enable_all().thread_name(name).build()
}

/// What the process is told from outside.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens from now on; none of them ends the process by itself any more.
    ///
    /// Errors: the system's.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGTERM or SIGINT (false), or SIGHUP (true).
    pub(super) async fn is_hangup(&mut self) -> bool {
        tokio::select! {
            _ = self.terminate.recv() => false,
            _ = self.interrupt.recv() => false,
            _ = self.hangup.recv() => true,
        }
    }
}

async fn until_told(node: Node, signals: &mut Signals) -> ExitCode {
    {
        let opening = node.open_when_ready();
        tokio::pin!(opening);
        let mut open = false;
        loop {
            tokio::select! {
                () = &mut opening, if !open => open = true,
                hangup = signals.is_hangup() => {
                    if !hangup {
                        break;
                    }
                    reload(&node).await;
                }
            }
        }
    }
    tracing::info!("ending");
    node.stop().await;
    ExitCode::SUCCESS
}

async fn reload(node: &Node) {
    // Both outcomes are told by the operator: log, audit, status, metrics.
    let _ = node.operator().reload(false, false, "SIGHUP").await;
}

fn failed(error: &StartError) -> ExitCode {
    eprintln!("{error}");
    match error {
        StartError::Config(_) => Exit::UNUSABLE.into(),
        _ => ExitCode::FAILURE,
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
