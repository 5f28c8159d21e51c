//! `waypost serve`: runs a node until it is told to end.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::node::{Node, Start, StartError, read_config};
use super::{Context, Exit, Failure, say};
use crate::config::{Log, LogFormat, LogLevel};

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
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("control").build() {
            Ok(runtime) => runtime,
            Err(error) => return failed(&StartError::Machine(error)),
        };
    let code = runtime.block_on(async {
        match Node::start(config, Start { config_path: config_path.clone(), extra: None }).await {
            Ok(node) => until_told(node, &config_path).await,
            Err(error) => failed(&error),
        }
    });
    // A probe's name lookup may hang for long, and nothing waits for it.
    runtime.shutdown_background();
    code
}

async fn until_told(node: Node, config_path: &Path) -> ExitCode {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals else {
        return failed(&StartError::Machine(std::io::Error::other("cannot listen for signals")));
    };
    let told = async {
        let opening = node.open_when_ready();
        tokio::pin!(opening);
        let mut open = false;
        loop {
            tokio::select! {
                () = &mut opening, if !open => open = true,
                _ = hangup.recv() => reload(&node, config_path).await,
                () = either(&mut terminate, &mut interrupt) => break,
            }
        }
    };
    told.await;
    tracing::info!("ending");
    node.stop().await;
    ExitCode::SUCCESS
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

async fn reload(node: &Node, config_path: &Path) {
    // A refusal is told by the operator's own log, status and metrics.
    if let Ok(done) = node.operator().reload(false, false, "SIGHUP").await {
        tracing::info!(config = %config_path.display(), "{}", done.text);
    }
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
    let lines =
        tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // A second start in one process (tests, the demo) keeps the first one's logging.
    let _ = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}
