//! The admin listener: liveness and readiness, metrics, the API, a status page.
//!
//! ```text
//! accept ─▶ connection ─▶ routes::answer ─▶ api, page, metrics     reads: one copy out of the writer's hands
//!  (places)  (deadlines)    (own task)     └▶ Operate               changes: POST, JSON, one operator behind them
//! ```
//!
//! Nothing here can reach what answers DNS: connections are few and short-lived, each request runs in a task of its own,
//! and a panic costs that request alone. There are no CORS headers, changes need a JSON content type (which no other
//! site's form can send) and a `Host` that is no name (which no other site's DNS can point here).

mod api;
mod journal;
pub mod metrics;
mod operate;
mod page;
mod problem;
mod question;
mod request;
mod routes;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::control::Clock;
use crate::control::desk::Handle;

pub use api::{ProbeBody, ProbeRuns, ReleaseBody, ReloadBody};
pub use metrics::{DnsCounts, DnsNumbers, LiveCounts};
pub use operate::{Answer, ExtraRoutes, Operate, ProbeRun, ProbeRunStep};
pub use problem::Problem;
pub use question::{BadQuestion, parse_client, question};

use metrics::ActionCounts;

/// What a client calls itself, for the audit: letters, digits and `._-@+`, at most 64.
pub const USER_HEADER: &str = "x-waypost-user";

/// Says `true` when the journal has more lines than one answer.
pub const MORE_HEADER: &str = "x-waypost-more";

/// Connections at a time; further ones are closed at once.
pub const MAX_CONNECTIONS: usize = 100;

/// Request line and headers, in bytes; longer: 431.
pub const MAX_HEAD_BYTES: usize = 8 * 1024;

/// Headers of a request.
pub const MAX_HEADERS: usize = 64;

/// A request's body, in bytes; longer: 413.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// How long a request's head may take, and a connection be silent between two requests.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(5);

/// How long a request's body may take; longer: 408.
pub const BODY_DEADLINE: Duration = Duration::from_secs(5);

/// After this a connection is closed behind the answer in hand,
const CONNECTION_AGE: Duration = Duration::from_secs(60);

/// and after so much more in any case: a client that does not read gives its place back.
const LAST_ANSWER: Duration = Duration::from_secs(60);

/// At the end of the server answers in hand have this long.
const STOP_DEADLINE: Duration = Duration::from_secs(2);

/// The pause after a failed accept: out of file descriptors, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the listener's answers are made of.
pub struct AdminState {
    /// The writer.
    pub handle: Handle,
    /// Whether DNS is answered.
    pub ready: Arc<AtomicBool>,
    /// The clocks.
    pub clock: Clock,
    /// Who carries out changes.
    pub operator: Arc<dyn Operate>,
    /// What the DNS sockets count; absent on a node without them.
    pub dns: Option<Arc<dyn DnsCounts>>,
    /// Further routes, which only some servers have.
    pub extra: Option<Arc<dyn ExtraRoutes>>,
    /// Where the journal lies.
    pub state_dir: PathBuf,
    started_ms: i64,
    actions: ActionCounts,
    journal_readers: Semaphore,
}

impl AdminState {
    /// A state without DNS counters and further routes.
    pub fn new(
        handle: Handle,
        ready: Arc<AtomicBool>,
        clock: Clock,
        operator: Arc<dyn Operate>,
        state_dir: PathBuf,
    ) -> Self {
        Self {
            handle,
            ready,
            clock,
            operator,
            dns: None,
            extra: None,
            state_dir,
            started_ms: clock.now().wall_ms,
            actions: ActionCounts::default(),
            journal_readers: Semaphore::new(journal::MAX_READERS),
        }
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for AdminState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminState").field("state_dir", &self.state_dir).finish_non_exhaustive()
    }
}

/// Serves until `stop` says true or its sender is gone; then lets answers in hand end, for two seconds at most.
pub async fn serve(listener: TcpListener, state: Arc<AdminState>, mut stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut complained = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                complained = false;
                // Without a place it is closed here: whoever holds the places loses them within the deadlines.
                if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                    tokio::spawn(connection(stream, peer, Arc::clone(&state), stop.clone(), place));
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut complained, true) {
                    tracing::warn!(%error, "the admin listener cannot accept");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let _ = timeout(STOP_DEADLINE, places.acquire_many(MAX_CONNECTIONS as u32)).await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    state: Arc<AdminState>,
    mut stop: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    // Without it small answers wait for the client's acknowledgement; it is no harm when it can't be set.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(routes::guarded(state, peer, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopped(&mut stop) => {}
        () = sleep(CONNECTION_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LAST_ANSWER, connection).await;
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|&stop| stop).await;
}
