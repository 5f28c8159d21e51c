//! `waypost demo`: a whole Waypost on loopback, with three fake regions that can be broken and mended.
//!
//! ```text
//! Folder ─▶ Stage ───────────▶ settings ──────────▶ Node ─▶ guide ─▶ changes, until told to end
//!  (temp)    (fake regions)     (waypost.toml,       (what `serve` runs,
//!                                zone, geo file)      and /demo/break, /demo/mend)
//! ```
//!
//! It runs what `serve` runs, on a configuration that could be copied. All that it writes lies in one folder, which is
//! gone when it ends.

mod changes;
mod folder;
mod guide;
mod remote;
mod settings;
mod stage;

#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::args::Demo;
use super::client::DEFAULT_SERVER;
use super::node::{Node, Start, StartError, read_config};
use super::{Context, Exit, Failure, Said, say, serve};
use changes::Picture;
use folder::Folder;
use guide::Guide;
use settings::Ports;
use stage::Stage;

/// Where the demo answers DNS; when it is taken, on the next free port.
const DNS_PORT: u16 = 5300;

/// Where its admin API is, likewise: where the command line looks when nothing else is said.
const ADMIN_PORT: u16 = DEFAULT_SERVER.port();

/// Where the fake regions listen, likewise.
const WEB_PORT: u16 = 8180;

/// Ports that are tried, from the usual one on.
const PORTS_TRIED: u16 = 100;

/// Time between two looks for changes to print.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs the demo, or breaks and mends the regions of one that runs.
pub(super) fn run(context: &Context, args: &Demo) -> ExitCode {
    let said = match (&args.broken, &args.mend) {
        (Some(target), _) => remote::order(context, remote::Verb::Break, target),
        (None, Some(target)) => remote::order(context, remote::Verb::Mend, target),
        (None, None) => here(),
    };
    say(said, context.json).into()
}

fn here() -> Result<Said, Failure> {
    let runtime = serve::runtime("demo")
        .map_err(|error| Failure::new(Exit::BAD, format!("cannot start a runtime: {error}")))?;
    let ended = runtime.block_on(perform());
    runtime.shutdown_background();
    ended.map(|()| Said::done(""))
}

/// From the first signal handler to the last file.
async fn perform() -> Result<(), Failure> {
    // Before there is anything to clean up, so that nothing is left behind.
    let (mut ends, mut hangups) = serve::Ends::listen()
        .and_then(|ends| Ok((ends, serve::hangups()?)))
        .map_err(|error| Failure::new(Exit::BAD, format!("cannot listen for signals: {error}")))?;
    let folder = Folder::make(&std::env::temp_dir())?;
    let stage = Stage::open(WEB_PORT, PORTS_TRIED).await.map_err(|error| {
        let text = format!("cannot open the fake regions on 127.1.0.0/16, from port {WEB_PORT} on: {error}");
        Failure::new(Exit::BAD, text)
    })?;
    eprintln!(
        "waypost: starting: reading zones and geo database; queries wait until what to paste is printed"
    );
    let node = start(&folder, &stage).await?;
    let shown = tokio::select! {
        shown = show(&node, &stage, &folder) => shown,
        // Also when its terminal is closed (SIGHUP): there is nothing to read again.
        () = ends.told() => say_line("\nending"),
        _ = hangups.recv() => say_line("\nending"),
    };
    node.stop().await;
    folder.remove()?;
    // Whoever read what it prints has gone away: it ended, and that is no error.
    shown
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(|error| Failure::new(Exit::BAD, format!("cannot write to standard output: {error}")))
}

/// Starts the node on the first ports from the usual ones on that are free. Binding is the test, so nobody can take a
/// port between a look and its use.
async fn start(folder: &Folder, stage: &Arc<Stage>) -> Result<Node, Failure> {
    let mut ports = Ports { dns: DNS_PORT, admin: ADMIN_PORT, web: stage.port() };
    settings::write_data(folder.path()).map_err(|error| folder.cannot_write(&error))?;
    loop {
        let config_path =
            settings::write_config(folder.path(), ports).map_err(|error| folder.cannot_write(&error))?;
        let config = read_config(&config_path).map_err(|error| failed(&error))?;
        serve::start_logging(config.log);
        let start = Start { config_path, extra: Some(Arc::clone(stage) as _) };
        match Node::start(config, start).await {
            Ok(node) => return Ok(node),
            Err(StartError::Bind(error)) if is_taken(&error.source) && ports.dns < DNS_PORT + PORTS_TRIED => {
                ports.dns += 1;
            }
            Err(StartError::BindAdmin(_, error))
                if is_taken(&error) && ports.admin < ADMIN_PORT + PORTS_TRIED =>
            {
                ports.admin += 1;
            }
            Err(error) => return Err(failed(&error)),
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

fn failed(error: &StartError) -> Failure {
    Failure::new(Exit::BAD, format!("the demo cannot start: {error}"))
}

/// Prints what to paste, then each change as it happens. Ends only when it can't print.
async fn show(node: &Node, stage: &Stage, folder: &Folder) -> io::Result<()> {
    node.open_when_ready().await;
    let dns = node.dns_addrs.first().copied().unwrap_or(SocketAddr::new(DEFAULT_SERVER.ip(), DNS_PORT));
    let (program, admin) = (guide::program(), node.admin_addr);
    let guide = Guide { program, dns, admin, web_port: stage.port() };
    say_line(&guide.text(folder.path()))?;
    let mut before = None;
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        // The writer outlives this loop; without it there is nothing to tell.
        let Ok(parts) = node.handle.status().await else { continue };
        let now = Picture::of(&parts);
        if let Some(before) = before.replace(now.clone()) {
            for line in now.changes_since(&before) {
                say_line(&changes::at(parts.now.wall_ms, &line))?;
            }
        }
    }
}

fn say_line(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}
