//! Sockets to pure functions: UDP in batches, TCP in frames, both around one [`Responder`].
//!
//! ```text
//! bind ─▶ Bound ── start ─▶ Serving ── open ─▶ answering ── stop ─▶ drained, joined
//!         every socket      threads wait       one thread per UDP socket (worker.rs)
//!         exists, or an     at the gate        one thread for all of TCP  (tcp/)
//!         error says why
//! ```
//!
//! Batches of datagrams are Linux's. Elsewhere hickory-server reads the UDP sockets (`portable.rs`), around the same
//! responder; with the feature `portable` it is there on Linux too, for `start_portable`. `--cfg portable_only` makes
//! a build on Linux leave out what is Linux's, to show that it can be left out.
//!
//! Every thread owns its responder, so counters have one writer and nothing on a query's way takes a lock. TCP has a
//! runtime of its own: what the control plane does on its own runtime never delays an answer.

pub mod admin;
mod bind;
pub mod dnstap;
mod gate;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
mod portable;
mod stats;
mod system;
mod tcp;
#[cfg(all(target_os = "linux", not(portable_only)))]
mod udp;
#[cfg(all(target_os = "linux", not(portable_only)))]
mod worker;

#[cfg(test)]
mod tests;

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::config;
use crate::control::{Clock, Reader, Snapshot};
use crate::dns::{self, Query, Worker};

pub use bind::{BACKLOG, BindError, Bound, Proto, RECEIVE_BUFFER_BYTES, bind};
pub use stats::{Counter, Stats};

use gate::Gate;

/// What answers the queries of one thread.
///
/// Never called by two threads at once. A panic in it costs the query in hand, not the thread.
pub trait Responder: Send + 'static {
    /// Looks for a newer state: once a batch (UDP), once a message (TCP), and now and then when idle, so that old
    /// states are let go.
    fn refresh(&mut self);

    /// Answers one query into `out` and returns the answer's length in bytes; zero: silence, and over TCP the end of
    /// the connection. `out` holds at least 4,096 bytes for UDP and 65,535 for TCP.
    fn respond(&mut self, query: Query<'_>, out: &mut [u8]) -> usize;

    /// Hears how long `queries` answers took together, in nanoseconds, from receipt to before the send.
    fn record_batch(&mut self, queries: usize, nanos: u64);
}

/// The production responder: [`dns::respond`] on the current snapshot.
#[derive(Debug)]
pub struct Live {
    reader: Reader,
    snapshot: Arc<Snapshot>,
    worker: Worker,
}

impl Live {
    /// A responder for one thread, counting into `worker`.
    pub fn new(mut reader: Reader, worker: Worker) -> Self {
        let snapshot = Arc::clone(reader.current());
        Self { reader, snapshot, worker }
    }
}

impl Responder for Live {
    fn refresh(&mut self) {
        let current = self.reader.current();
        if !Arc::ptr_eq(current, &self.snapshot) {
            // Frees nothing: the publisher keeps retired snapshots until it is their only owner.
            self.snapshot = Arc::clone(current);
        }
    }

    fn respond(&mut self, query: Query<'_>, out: &mut [u8]) -> usize {
        match &self.snapshot.view {
            Some(view) => dns::respond(view, &mut self.worker, query, out),
            None => 0,
        }
    }

    fn record_batch(&mut self, queries: usize, nanos: u64) {
        self.worker.record_batch(queries, nanos);
    }
}

/// Starts the threads, which wait at the gate until [`Serving::open`].
///
/// `new_worker` is called once a thread: its counters have one writer. Also raises the soft limit of open files to
/// the hard one. Errors: a thread or the TCP runtime cannot be made.
pub fn start(
    bound: Bound,
    reader: &Reader,
    clock: Clock,
    mut new_worker: impl FnMut() -> Worker,
) -> io::Result<Serving> {
    start_with(bound, clock, || Live::new(reader.clone(), new_worker()))
}

/// [`start`] around any responder; `new_responder` is called once a thread.
pub fn start_with<R: Responder>(
    bound: Bound,
    clock: Clock,
    mut new_responder: impl FnMut() -> R,
) -> io::Result<Serving> {
    // Dropped on an early return, which stops the threads made so far.
    let mut serving = Serving::new();
    let threads = bound.udp.len() + usize::from(!bound.tcp.is_empty());
    let (taps, output) = bound.dnstap.map(|settings| dnstap::taps(settings, threads)).unzip();
    serving.dnstap = output.map(|output: dnstap::Output| output.start(clock)).transpose()?;
    let mut taps = taps.unwrap_or_default().into_iter();
    serving.start_udp(bound.udp, clock, &mut new_responder, &mut taps)?;
    if !bound.tcp.is_empty() {
        let limits = tcp_limits(bound.limits, serving.open_files);
        let server = tcp::Server::new(bound.tcp, limits, clock, &serving.gate, &serving.stats)?;
        let responder = new_responder();
        let tap = taps.next();
        serving.spawn("dns-tcp".to_owned(), move || server.run(responder, tap))?;
    }
    Ok(serving)
}

/// [`start_with`], but hickory-server reads and writes everything, UDP and TCP, on one thread.
///
/// A second opinion, not a second server: it has none of the limits on TCP but the idle timeout.
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub fn start_portable<R: Responder>(bound: Bound, clock: Clock, responder: R) -> io::Result<Serving> {
    let mut serving = Serving::new();
    let (sockets, idle) = ((bound.udp, bound.tcp), bound.limits.idle);
    let server = portable::Server::new(sockets, idle, clock, &serving.gate, &serving.stats)?;
    serving.spawn("dns-portable".to_owned(), move || server.run(responder))?;
    Ok(serving)
}

/// The limits, made to fit this process's limit of open files.
fn tcp_limits(configured: config::Tcp, open_files: Option<u64>) -> tcp::Limits {
    let limits = tcp::Limits::new(configured);
    let Some(open_files) = open_files else { return limits };
    let limits = limits.within(open_files);
    if limits.connections < configured.max_connections {
        tracing::warn!(
            "dns.tcp.max_connections = {} does not fit into the limit of {open_files} open files: at most {} TCP \
             connections are taken (raise the limit: systemd's LimitNOFILE=, or `ulimit -n`)",
            configured.max_connections,
            limits.connections
        );
    }
    limits
}

/// Threads that answer, or wait at the gate to begin. Dropped without [`Serving::stop`]: they are told to end, and
/// nobody waits for them.
#[derive(Debug)]
pub struct Serving {
    gate: Arc<Gate>,
    stats: Arc<Stats>,
    threads: Vec<JoinHandle<()>>,
    /// How many files this process may have open; absent: any number, or nobody knows.
    open_files: Option<u64>,
    /// Outlives the threads, whose last messages it sends.
    dnstap: Option<dnstap::Running>,
}

impl Serving {
    /// Without threads yet.
    fn new() -> Self {
        let open_files = system::raise_open_files().unwrap_or_else(|error| {
            tracing::warn!(%error, "the limit of open files stays as it is");
            None
        });
        Self {
            gate: Arc::new(Gate::new()),
            stats: Arc::new(Stats::default()),
            threads: Vec::new(),
            open_files,
            dnstap: None,
        }
    }

    /// A thread a socket.
    #[cfg(all(target_os = "linux", not(portable_only)))]
    fn start_udp<R: Responder>(
        &mut self,
        sockets: Vec<UdpSocket>,
        clock: Clock,
        mut new_responder: impl FnMut() -> R,
        taps: &mut impl Iterator<Item = dnstap::Tap>,
    ) -> io::Result<()> {
        for (index, socket) in sockets.into_iter().enumerate() {
            let responder = new_responder();
            let (gate, stats) = (Arc::clone(&self.gate), Arc::clone(&self.stats));
            let tap = taps.next().map(|tap| worker::UdpTap::new(tap, &socket));
            let worker = worker::Worker { socket, responder, clock, gate, stats, tap };
            self.spawn(format!("dns-udp-{index}"), move || worker.run())?;
        }
        Ok(())
    }

    /// One thread for all sockets, which dnstap does not hear of.
    #[cfg(any(not(target_os = "linux"), portable_only))]
    fn start_udp<R: Responder>(
        &mut self,
        sockets: Vec<UdpSocket>,
        clock: Clock,
        mut new_responder: impl FnMut() -> R,
        _taps: &mut impl Iterator<Item = dnstap::Tap>,
    ) -> io::Result<()> {
        let sockets = (sockets, Vec::new());
        let server = portable::Server::new(sockets, Duration::ZERO, clock, &self.gate, &self.stats)?;
        let responder = new_responder();
        self.spawn("dns-udp".to_owned(), move || server.run(responder))
    }

    /// Begins to read what the sockets have received since they were bound.
    pub fn open(&self) {
        self.gate.open();
    }

    /// What the sockets count: drops, failures, connections.
    pub fn stats(&self) -> Arc<Stats> {
        Arc::clone(&self.stats)
    }

    /// What became of dnstap messages; absent: dnstap is off.
    pub fn dnstap_counts(&self) -> Option<Arc<dnstap::Counts>> {
        self.dnstap.as_ref().map(dnstap::Running::counts)
    }

    /// Takes nothing new, answers what has arrived, and joins the threads; waits at most `deadline`, and after it one
    /// second more for a dnstap collector to take what is queued.
    ///
    /// Blocks: from async code, call it where blocking is allowed. Returns the number of threads that had not ended
    /// in time; they are left to end by themselves.
    pub fn stop(mut self, deadline: Duration) -> usize {
        self.gate.stop();
        self.gate.wait_idle(deadline);
        let mut left = 0;
        for thread in self.threads.drain(..) {
            // A thread leaves the gate as the last thing it does, so its join is short.
            if self.gate.is_idle() || thread.is_finished() {
                let _ = thread.join(); // A panic was already told by the panic hook.
            } else {
                left += 1;
            }
        }
        if let Some(dnstap) = self.dnstap.take() {
            dnstap.stop();
        }
        left
    }

    fn spawn(&mut self, name: String, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let inside = gate::enter(&self.gate);
        let thread = thread::Builder::new().name(name).spawn(move || {
            let _inside = inside;
            body();
        })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.gate.stop();
    }
}
