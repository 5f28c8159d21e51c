//! `waypost serve`: runs a node until it is told to end.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::node::{Node, Start, StartError, read_config};
use super::operator::Operator;
use super::{Context, Exit, Failure, say};
use crate::config::{Config, Log, LogFormat, LogLevel};

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
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("control").build() {
            Ok(runtime) => runtime,
            Err(error) => return failed(&StartError::Machine(error)),
        };
    let code = runtime.block_on(serve(config, config_path));
    // A probe's name lookup may hang for long, and nothing waits for it.
    runtime.shutdown_background();
    code
}

/// Runs a node from its start to its end. Signals are heard from the first moment on: a SIGHUP during the start is a
/// reload after it, and must not kill the process.
async fn serve(config: Config, config_path: PathBuf) -> ExitCode {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt), Ok(hangup)] = signals else {
        return failed(&StartError::Machine(io::Error::other("cannot listen for signals")));
    };
    let start = Start { config_path: config_path.clone(), extra: None };
    let node = tokio::select! {
        node = Node::start(config, start) => node,
        () = either(&mut terminate, &mut interrupt) => return ExitCode::SUCCESS,
    };
    let node = match node {
        Ok(node) => node,
        Err(error) => return failed(&error),
    };
    let reloads = tokio::spawn(reload_on(hangup, Arc::clone(node.operator()), config_path));
    let told = async {
        let mut told = std::pin::pin!(either(&mut terminate, &mut interrupt));
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

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Signals that come during a reload are one more reload after it, however many they are.
async fn reload_on(mut hangup: Signal, operator: Arc<Operator>, config_path: PathBuf) {
    while hangup.recv().await.is_some() {
        // A refusal is told by the operator's own log, status and metrics.
        if let Ok(done) = operator.reload(false, false, "SIGHUP").await {
            tracing::info!(config = %config_path.display(), "{}", done.text);
        }
    }
}

fn failed(error: &StartError) -> ExitCode {
    eprintln!("{error}");
    match error {
        StartError::Config(_) => Exit::UNUSABLE.into(),
        _ => ExitCode::FAILURE,
    }
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
        LogFormat::Text => lines.with_ansi(io::IsTerminal::is_terminal(&io::stderr())).try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}
