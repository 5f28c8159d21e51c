//! The API: `status`, `explain`, the journal; and the changes, told to whoever carries them out.

use std::net::IpAddr;

use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operate::ProbeRun;
use super::problem::Problem;
use super::question::question;
use super::request::{Params, asker, json};
use super::routes::{Change, Reply, document, reply};
use super::{AdminState, MORE_HEADER, journal};
use crate::control::explain::{CannotExplain, explain as explain_question};
use crate::control::operate::{Order, Refusal, RefusalKind, Verb};

/// Which region to release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseBody {
    /// Its name.
    pub region: String,
}

/// How to reload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReloadBody {
    /// Take an older geo file, or one that moves many networks.
    #[serde(default)]
    pub accept_geo: bool,
    /// Although the guard refuses.
    #[serde(default)]
    pub force: bool,
}

/// Which probe to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeBody {
    /// Its name.
    pub name: String,
    /// The region; absent: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
}

/// What a probe's runs saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeRuns {
    /// One a target.
    pub runs: Vec<ProbeRun>,
}

pub(super) async fn status(state: &AdminState) -> Result<Reply, Problem> {
    let parts = state.handle.status().await.map_err(|_| Problem::stopping())?;
    document(&parts.report(state.is_ready()))
}

pub(super) async fn explain(state: &AdminState, uri: &Uri) -> Result<Reply, Problem> {
    let params = Params::of(uri, &["name", "type", "client", "down"])?;
    let (name, client) = (params.required("name")?, params.required("client")?);
    let down: Vec<String> = params.all("down").map(str::to_owned).collect();
    let parts = state.handle.status().await.map_err(|_| Problem::stopping())?;
    let question = question(&parts.snapshot.plan, name, params.first("type"), client, &down)
        .map_err(|error| Problem::new(400, error.to_string()))?;
    match explain_question(&parts.snapshot, &question, parts.now) {
        Ok(explanation) => document(&explanation),
        Err(error @ CannotExplain::BadName(_)) => Err(Problem::new(400, error.to_string())),
        Err(error) => Err(Problem::new(404, error.to_string())),
    }
}

pub(super) async fn journal(state: &AdminState, uri: &Uri) -> Result<Reply, Problem> {
    let params = Params::of(uri, &["since"])?;
    let since = params.first("since").unwrap_or("0");
    let since: u64 =
        since.parse().map_err(|_| Problem::new(400, format!("`since={since}` is not a serial")))?;
    let _reader = state.journal_readers.acquire().await.map_err(|_| Problem::stopping())?;
    let dir = state.state_dir.clone();
    // On a thread that may wait for the disk.
    let page = tokio::task::spawn_blocking(move || journal::since(&dir, since)).await;
    let page = match page {
        Ok(Ok(page)) => page,
        Ok(Err(error)) => return Err(Problem::new(500, format!("the journal can't be read: {error}"))),
        Err(error) => return Err(Problem::new(500, format!("the journal's reader was lost: {error}"))),
    };
    let mut reply = reply(StatusCode::OK, "application/x-ndjson", page.lines);
    let more = HeaderValue::from_static(if page.more { "true" } else { "false" });
    reply.headers_mut().insert(HeaderName::from_static(MORE_HEADER), more);
    Ok(reply)
}

/// Carries out a change and counts it.
pub(super) async fn change(
    state: &AdminState,
    change: Change,
    peer: IpAddr,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let by = asker(request.headers(), peer);
    match change {
        Change::Order(verb) => order(state, verb, &by, json(request).await?).await,
        Change::Release => {
            let body: ReleaseBody = json(request).await?;
            let done = state.operator.release(&body.region, &by).await;
            finish(state, "release", false, done)
        }
        Change::Reload => {
            let body: ReloadBody = json(request).await?;
            let done = state.operator.reload(body.accept_geo, body.force, &by).await;
            finish(state, "reload", false, done)
        }
        Change::Probe => {
            let body: ProbeBody = json(request).await?;
            let runs = state.operator.probe(&body.name, body.region.as_deref()).await;
            finish(state, "probe", false, runs.map(|runs| ProbeRuns { runs }))
        }
        Change::Extra => {
            let path = request.uri().path().to_owned();
            let body: Value = json(request).await?;
            let Some(extra) = &state.extra else { return Err(Problem::new(404, "there is nothing here")) };
            document(&extra.post(&path, body).await?)
        }
    }
}

async fn order(state: &AdminState, verb: Verb, by: &str, order: Order) -> Result<Reply, Problem> {
    let dry_run = order.dry_run;
    let done = state.operator.order(verb, order, by).await;
    finish(state, verb.word(), dry_run, done)
}

fn finish<T: Serialize>(
    state: &AdminState,
    action: &'static str,
    dry_run: bool,
    outcome: Result<T, Refusal>,
) -> Result<Reply, Problem> {
    let result = match &outcome {
        Ok(_) if dry_run => "dry_run",
        Ok(_) => "done",
        Err(Refusal { kind: RefusalKind::CannotWrite | RefusalKind::Stopping, .. }) => "failed",
        Err(_) => "refused",
    };
    state.actions.count(action, result);
    document(&outcome?)
}
