//! Which request goes where, and which methods it may have.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;

use super::problem::Problem;
use super::request::check_host;
use super::{AdminState, api, metrics, page};
use crate::control::operate::Verb;

/// Every answer of this listener.
pub(super) type Reply = Response<Full<Bytes>>;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Read(Read),
    Change(Change),
    /// There will be something here.
    Later(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Live,
    Ready,
    Metrics,
    Page,
    Status,
    Explain,
    Journal,
}

/// A change that the API takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Order(Verb),
    Release,
    Reload,
    Probe,
    Extra,
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/livez" => Self::Read(Read::Live),
            "/readyz" => Self::Read(Read::Ready),
            "/metrics" => Self::Read(Read::Metrics),
            "/" => Self::Read(Read::Page),
            "/api/v1/status" => Self::Read(Read::Status),
            "/api/v1/explain" => Self::Read(Read::Explain),
            "/api/v1/journal" => Self::Read(Read::Journal),
            "/api/v1/drain" => Self::Change(Change::Order(Verb::Drain)),
            "/api/v1/undrain" => Self::Change(Change::Order(Verb::Undrain)),
            "/api/v1/force" => Self::Change(Change::Order(Verb::Force)),
            "/api/v1/unforce" => Self::Change(Change::Order(Verb::Unforce)),
            "/api/v1/release" => Self::Change(Change::Release),
            "/api/v1/reload" => Self::Change(Change::Reload),
            "/api/v1/probe" => Self::Change(Change::Probe),
            "/api/v1/events" | "/api/v1/stream" => {
                Self::Later("events are not built yet: poll /api/v1/journal?since=SERIAL")
            }
            _ => return None,
        })
    }
}

/// Answers in a task of its own, so that a panic costs this request alone, and a change that has begun is finished when
/// the client goes away.
pub(super) async fn guarded(state: Arc<AdminState>, peer: SocketAddr, request: Request<Incoming>) -> Reply {
    let task = tokio::spawn(async move {
        let head = (request.method().clone(), request.uri().path().to_owned());
        answer(&state, peer, request).await.unwrap_or_else(|problem| {
            if problem.status >= 500 {
                tracing::error!(method = %head.0, path = head.1, "{}", problem.detail);
            }
            refuse(&problem)
        })
    });
    match task.await {
        Ok(reply) => reply,
        Err(error) => {
            tracing::error!("an admin request was lost: {error}");
            refuse(&Problem::new(500, "this request was lost to a fault of the server; please report it"))
        }
    }
}

async fn answer(state: &AdminState, peer: SocketAddr, request: Request<Incoming>) -> Result<Reply, Problem> {
    let path = request.uri().path();
    let extra =
        || state.extra.as_ref().is_some_and(|extra| extra.has(path)).then_some(Route::Change(Change::Extra));
    match Route::of(path).or_else(extra) {
        Some(Route::Read(read)) => {
            allow(&request, &[Method::GET, Method::HEAD], "GET, HEAD")?;
            self::read(state, read, &request).await
        }
        Some(Route::Change(change)) => {
            allow(&request, &[Method::POST], "POST")?;
            check_host(&request)?;
            api::change(state, change, peer.ip(), request).await
        }
        Some(Route::Later(text)) => Err(Problem::new(404, text)),
        None if path == "/api/v1/emergency" => {
            let text = "the emergency switch needs the split, which is not built yet";
            Err(Problem::new(501, text).rule("the emergency switch is the split's"))
        }
        None => Err(Problem::new(404, "there is nothing here").hint("see /api/v1/status, /metrics or /")),
    }
}

async fn read(state: &AdminState, read: Read, request: &Request<Incoming>) -> Result<Reply, Problem> {
    let uri = request.uri();
    match read {
        Read::Live => Ok(plain(StatusCode::OK, "live\n")),
        Read::Ready if state.is_ready() => Ok(plain(StatusCode::OK, "ready\n")),
        Read::Ready => Ok(plain(StatusCode::SERVICE_UNAVAILABLE, "starting\n")),
        Read::Metrics => {
            metrics::scrape(state).await.map(|text| reply(StatusCode::OK, metrics::CONTENT_TYPE, text))
        }
        Read::Page => {
            let parts = state.handle.status().await.map_err(|_| Problem::stopping())?;
            let mut reply = reply(
                StatusCode::OK,
                "text/html; charset=utf-8",
                page::render(&parts.report(state.is_ready())),
            );
            reply.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(page::POLICY));
            Ok(reply)
        }
        Read::Status => api::status(state).await,
        Read::Explain => api::explain(state, uri).await,
        Read::Journal => api::journal(state, uri).await,
    }
}

fn allow<B>(request: &Request<B>, methods: &[Method], listed: &'static str) -> Result<(), Problem> {
    if methods.contains(request.method()) {
        return Ok(());
    }
    let mut problem = Problem::new(405, format!("{} does not go with this path", request.method()));
    problem.allow = Some(listed);
    Err(problem.hint(format!("use {listed}")))
}

/// An answer of any kind. Nothing is kept by caches, guessed at, or framed.
pub(super) fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
    reply
}

/// A JSON document.
pub(super) fn document(value: &impl Serialize) -> Result<Reply, Problem> {
    match serde_json::to_vec(value) {
        Ok(body) => Ok(reply(StatusCode::OK, "application/json", body)),
        Err(error) => Err(Problem::new(500, format!("the answer can't be written as JSON: {error}"))),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Reply {
    reply(status, "text/plain; charset=utf-8", text)
}

fn refuse(problem: &Problem) -> Reply {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply =
        reply(status, "application/problem+json", serde_json::to_vec(problem).unwrap_or_default());
    if let Some(allow) = problem.allow {
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    }
    reply
}
