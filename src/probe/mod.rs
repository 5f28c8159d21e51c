//! The network becomes observations: each check asks its target again and again and tells what it saw.
//!
//! A probe never decides health. It tells apart three things only: what it saw, that it saw nothing good, and that it
//! could not look. The last one is *unknown* and takes nobody down: a name that does not resolve, a command that is
//! not there, a prober that has run out of file descriptors.
//!
//! ```text
//! config::Probe × region × address ─▶ CheckSpec ─▶ Prober: one task a check ─▶ Runner::run_once ─▶ Observation ─▶ sink
//!                                                    ▲ set_fast                (http, tcp, exec, file)
//! ```

mod exec;
mod file;
mod finding;
mod http;
mod json;
mod net;
mod schedule;
mod steps;
mod template;

pub use schedule::Prober;
pub use template::fill;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::{Probe, ProbeKind};
use crate::health::Observation;
use crate::region::{RegionId, Regions};
use finding::{Finding, Seen};
use steps::Steps;

/// Runs at the same time, over all checks. Bounds sockets and child processes; a run that waits for its turn has not
/// begun, so its timeout does not run.
pub const MAX_IN_FLIGHT: usize = 512;

/// One check: a probe against one target, with nothing left to fill in.
#[derive(Clone, PartialEq)]
pub struct CheckSpec {
    /// What its observations are told under; unique within a [`Prober`].
    pub id: u32,
    /// What it does; its texts hold no placeholders any more.
    pub kind: ProbeKind,
    /// The longest one run may take.
    pub timeout: Duration,
    /// The usual time from the start of one run to the next.
    pub interval: Duration,
    /// The same while results disagree with the check's state.
    pub fast_interval: Duration,
}

impl CheckSpec {
    /// The check of `probe` in `region`, at `address` when the probe is run per endpoint.
    ///
    /// A target configured for the region takes the place of the URL, the address or the path; for a command, it is
    /// what `{address}` stands for.
    pub fn new(id: u32, probe: &Probe, regions: &Regions, region: RegionId, address: Option<IpAddr>) -> Self {
        let target = probe.targets.iter().find(|(of, _)| *of == region).map(|(_, target)| target.as_str());
        Self {
            id,
            kind: template::fill_kind(&probe.kind, target, regions.name(region), address),
            timeout: probe.timeout,
            interval: probe.damping.interval,
            fast_interval: probe.damping.fast_interval,
        }
    }

    /// What is asked, for people: without user, password, query and arguments, where secrets live.
    pub fn target(&self) -> String {
        match &self.kind {
            ProbeKind::Http(probe) => http::redacted(&probe.url),
            ProbeKind::Tcp { address } => address.clone(),
            ProbeKind::Exec { command } => command.first().cloned().unwrap_or_default(),
            ProbeKind::File { path, .. } => path.clone(),
        }
    }
}

/// Shows no header, query or argument, lest a log line does.
impl fmt::Debug for CheckSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckSpec")
            .field("id", &self.id)
            .field("target", &self.target())
            .field("timeout", &self.timeout)
            .field("interval", &self.interval)
            .field("fast_interval", &self.fast_interval)
            .finish_non_exhaustive()
    }
}

/// Runs checks, one at a time each; what they share is in here. Cheap to clone, and outlives a reload.
#[derive(Clone, Debug)]
pub struct Runner {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    http: http::Clients,
    resolver: net::Resolver,
    files: file::Reader,
    in_flight: Semaphore,
}

/// The HTTP client could not be made: a fault of this machine's set-up.
#[derive(Debug)]
pub struct ClientError(reqwest::Error);

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot make the HTTP client of the probes: {}", self.0)
    }
}

impl std::error::Error for ClientError {}

impl Runner {
    /// A runner with a client of its own. Makes ring the process's TLS provider unless it has one.
    ///
    /// Errors: the HTTP client cannot be made.
    pub fn new() -> Result<Self, ClientError> {
        Self::bounded(MAX_IN_FLIGHT)
    }

    fn bounded(in_flight: usize) -> Result<Self, ClientError> {
        let shared = Shared {
            http: http::Clients::new().map_err(ClientError)?,
            resolver: net::Resolver::new(),
            files: file::Reader::new(),
            in_flight: Semaphore::new(in_flight),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Runs a check once: waits until fewer than [`MAX_IN_FLIGHT`] others run, then takes at most the check's timeout.
    ///
    /// Refused, reset, unreachable, a timeout and an answer that is not the promised one are plain failures; when the
    /// probe itself could not work the verdict is unknown.
    pub async fn run_once(&self, spec: &CheckSpec) -> Observation {
        let turn = self.turn().await;
        let observation = self.run(spec).await;
        drop(turn);
        observation
    }

    /// Waits for a turn to run. `None` would mean that the semaphore was closed, which nobody does.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.shared.in_flight.acquire().await.ok()
    }

    async fn run(&self, spec: &CheckSpec) -> Observation {
        let mut steps = Steps::start();
        let seen = match tokio::time::timeout(spec.timeout, self.look(spec, &mut steps)).await {
            Ok(seen) => seen,
            Err(_) => Err(timed_out(spec, &steps)),
        };
        let (verdict, detail) = Finding::told(seen);
        let (took, steps) = steps.finish();
        Observation { verdict, detail, took, steps, lag_s: None }
    }

    async fn look(&self, spec: &CheckSpec, steps: &mut Steps) -> Seen {
        let Shared { http, resolver, files, .. } = &*self.shared;
        match &spec.kind {
            ProbeKind::Http(probe) => http::look(http, resolver, probe, steps).await,
            ProbeKind::Tcp { address } => net::look(resolver, address, steps).await,
            ProbeKind::Exec { command } => exec::look(command, steps).await,
            ProbeKind::File { path, max_age } => files.look(path, *max_age, steps).await,
        }
    }
}

/// The time is up. What had not reached the target by then says nothing about the target.
fn timed_out(spec: &CheckSpec, steps: &Steps) -> Finding {
    let limit = spec.timeout;
    match steps.running() {
        Some("resolve") => Finding::unknown(format!("name not resolved within {limit:?}")),
        Some("read") => Finding::unknown(format!("file not read within {limit:?}")),
        Some(step) => Finding::failed(format!("timed out after {limit:?} ({step})")),
        None => Finding::failed(format!("timed out after {limit:?}")),
    }
}

#[cfg(test)]
mod tests;
