//! The fake regions: real HTTP servers on loopback, two web endpoints and a "database" for each.
//!
//! A web endpoint says 200 on `/healthz` whatever its database does, as in real life. A broken one hangs up on whoever
//! connects, as a process that died does. The database tells on `/db` whether it can be written.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::control::operate::{Refusal, RefusalKind};
use crate::serve::admin::{Answer, ExtraRoutes};

/// The regions, in fallback order.
pub(super) const REGIONS: [&str; 3] = ["cn", "eu", "us"];

/// The last byte of the web endpoints' loopback addresses.
pub(super) const WEB_HOSTS: [u8; 2] = [11, 12];

/// The last byte of the databases' loopback addresses.
const DB_HOST: u8 = 100;

/// Connections of one server at a time; further ones wait.
const MAX_CONNECTIONS: usize = 32;

/// How long one connection may last: a probe takes milliseconds.
const CONNECTION_DEADLINE: Duration = Duration::from_secs(5);

/// The pause after a failed accept: out of file descriptors, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Everything that can be broken.
#[derive(Debug)]
pub(super) struct Stage {
    port: u16,
    regions: Vec<FakeRegion>,
}

#[derive(Debug)]
struct FakeRegion {
    name: &'static str,
    web_up: AtomicBool,
    db_writable: AtomicBool,
}

/// One part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Part {
    /// Its web endpoints.
    Web,
    /// Its database.
    Db,
}

/// What to break or to mend; the body of `/demo/break` and `/demo/mend`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    /// The region's name.
    pub(super) region: String,
    /// Absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<Part>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// In a sentence.
    pub(super) text: String,
}

/// The loopback address of a host of the region at `index`.
pub(super) fn address(index: usize, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 1, u8::try_from(index + 1).unwrap_or(u8::MAX), host)
}

/// The loopback address of the database of the region at `index`.
pub(super) fn db_address(index: usize) -> Ipv4Addr {
    address(index, DB_HOST)
}

impl Stage {
    /// Opens every server on the first port from `first` on, of at most `tried`, that is free on all their addresses.
    ///
    /// Errors: there is none, or these addresses can't be had.
    pub(super) async fn open(first: u16, tried: u16) -> io::Result<Arc<Self>> {
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for port in first..first.saturating_add(tried) {
            match Listeners::bind(port).await {
                Ok(listeners) => {
                    let stage = Arc::new(Self::new(port));
                    for (listener, region, part) in listeners.0 {
                        tokio::spawn(serve(listener, Arc::clone(&stage), region, part));
                    }
                    return Ok(stage);
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Regions without servers, all of which work.
    pub(super) fn new(port: u16) -> Self {
        let region = |name| FakeRegion { name, web_up: true.into(), db_writable: true.into() };
        Self { port, regions: REGIONS.map(region).into() }
    }

    /// The port that all servers have.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Breaks (`works` is false) or mends.
    ///
    /// Errors: there is no such region.
    fn set(&self, target: &Target, works: bool) -> Result<Told, Refusal> {
        let Some(region) = self.regions.iter().find(|region| region.name == target.region) else {
            let text = format!("the demo has no region `{}`", target.region);
            return Err(
                Refusal::new(RefusalKind::BadRequest, text).hint(format!("regions: {}", REGIONS.join(", ")))
            );
        };
        if target.part != Some(Part::Db) {
            region.web_up.store(works, Ordering::Relaxed);
        }
        if target.part != Some(Part::Web) {
            region.db_writable.store(works, Ordering::Relaxed);
        }
        Ok(Told { text: region.describe() })
    }
}

impl FakeRegion {
    fn is_web_up(&self) -> bool {
        self.web_up.load(Ordering::Relaxed)
    }

    fn is_db_writable(&self) -> bool {
        self.db_writable.load(Ordering::Relaxed)
    }

    fn describe(&self) -> String {
        let web = if self.is_web_up() { "web endpoints answer" } else { "web endpoints hang up" };
        let db = if self.is_db_writable() { "can be written" } else { "can't be written" };
        format!("{}: its {web}, its database {db}", self.name)
    }
}

impl ExtraRoutes for Stage {
    fn has(&self, path: &str) -> bool {
        matches!(path, "/demo/break" | "/demo/mend")
    }

    fn post<'a>(&'a self, path: &'a str, body: Value) -> Answer<'a, Value> {
        Box::pin(async move {
            let wrong = |error: serde_json::Error| {
                Refusal::new(RefusalKind::BadRequest, format!("the body is not understood: {error}"))
                    .hint(r#"write {"region":"cn"}, or {"region":"cn","part":"db"} or "web""#)
            };
            let target: Target = serde_json::from_value(body).map_err(wrong)?;
            let told = self.set(&target, path == "/demo/mend")?;
            Ok(json!(told))
        })
    }
}

/// A socket for each server: its region's index, and its part.
struct Listeners(Vec<(TcpListener, usize, Part)>);

impl Listeners {
    async fn bind(port: u16) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for region in 0..REGIONS.len() {
            for host in WEB_HOSTS {
                listeners.push((TcpListener::bind((address(region, host), port)).await?, region, Part::Web));
            }
            listeners.push((TcpListener::bind((db_address(region), port)).await?, region, Part::Db));
        }
        Ok(Self(listeners))
    }
}

/// Serves until the runtime ends.
async fn serve(listener: TcpListener, stage: Arc<Stage>, region: usize, part: Part) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            if let Some(region) = stage.regions.get(region) {
                // A client that is too slow, or goes away, is its own business.
                let _ = timeout(CONNECTION_DEADLINE, converse(stream, region, part)).await;
            }
            drop(place);
        });
    }
}

async fn converse(stream: TcpStream, region: &FakeRegion, part: Part) {
    if part == Part::Web && !region.is_web_up() {
        // Without lingering, closing resets the connection: nobody is home.
        let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        return;
    }
    let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request, region, part)) });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).keep_alive(false);
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

fn answer(request: &Request<Incoming>, region: &FakeRegion, part: Part) -> Response<Full<Bytes>> {
    match (part, request.uri().path()) {
        (Part::Web, "/healthz") => reply(StatusCode::OK, "text/plain", "ok\n".to_owned()),
        (Part::Db, "/db") => {
            let writable = region.is_db_writable();
            let state = json!({ "region": region.name, "writable": writable, "lag_s": 0.2 });
            reply(StatusCode::OK, "application/json", format!("{state}\n"))
        }
        _ => reply(StatusCode::NOT_FOUND, "text/plain", "not found\n".to_owned()),
    }
}

fn reply(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(Bytes::from(body)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(content_type));
    reply
}
