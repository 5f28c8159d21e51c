//! Who carries out what the API is asked to change.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::operate::{Done, Order, Refusal, Verb};
use crate::health::Observation;

/// What a change comes to, in time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// Carries out changes, one at a time. A change goes on when whoever asked has gone away.
pub trait Operate: Send + Sync {
    /// Drains, forces, or undoes that, through the admin file. `by`: who, for the audit.
    fn order<'a>(&'a self, verb: Verb, order: Order, by: &'a str) -> Answer<'a, Done>;

    /// Lets a region that waits after a failure serve again.
    fn release<'a>(&'a self, region: &'a str, by: &'a str) -> Answer<'a, Done>;

    /// Reads configuration, zones and geo file again. `accept_geo`: take an older geo file, or one that moves many
    /// networks; `force`: although the guard refuses.
    fn reload<'a>(&'a self, accept_geo: bool, force: bool, by: &'a str) -> Answer<'a, Done>;

    /// Runs a probe now, in every region or in one. What it sees is told, and counts for nothing.
    fn probe<'a>(&'a self, name: &'a str, region: Option<&'a str>) -> Answer<'a, Vec<ProbeRun>>;

    /// The line (0: the file as a whole) for which the admin file on disk can't be obeyed; absent when it can.
    fn admin_file_error(&self) -> Option<usize>;
}

/// Routes that only some servers have: POST with a JSON body, held to the same rules as the API's own.
pub trait ExtraRoutes: Send + Sync {
    /// Whether there is such a route.
    fn has(&self, path: &str) -> bool;

    /// Answers a request to it.
    fn post<'a>(&'a self, path: &'a str, body: Value) -> Answer<'a, Value>;
}

/// One run of a probe, on request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ProbeRun {
    pub probe: String,
    pub region: String,
    /// The endpoint; absent for a check of the region.
    pub address: Option<IpAddr>,
    /// `ok`, `degraded`, `failed`, `transitional`, `unknown`.
    pub verdict: String,
    /// Why; empty when all is well.
    pub detail: String,
    pub duration_ms: u64,
    pub lag_s: Option<f64>,
    pub steps: Vec<ProbeRunStep>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ProbeRunStep {
    pub name: String,
    pub ms: u64,
}

impl ProbeRun {
    /// What a run saw, for people.
    pub fn of(probe: &str, region: &str, address: Option<IpAddr>, observation: &Observation) -> Self {
        let step = |step: &crate::health::ProbeStep| ProbeRunStep {
            name: step.name.to_owned(),
            ms: step.took.as_millis() as u64,
        };
        Self {
            probe: probe.to_owned(),
            region: region.to_owned(),
            address,
            verdict: observation.verdict.word().to_owned(),
            detail: observation.detail.clone(),
            duration_ms: observation.took.as_millis() as u64,
            lag_s: observation.lag_s,
            steps: observation.steps.iter().map(step).collect(),
        }
    }
}
