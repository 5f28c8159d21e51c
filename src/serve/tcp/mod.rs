//! DNS over TCP (RFC 7766): frames, pipelining, and limits that no client can stretch.
//!
//! One thread runs all listeners and connections. They share one responder, one buffer to read into and one to answer
//! into, so an idle connection costs a task and a socket, and nothing is locked. Answers go out in the order of their
//! queries, as many in one write as there are.
//!
//! Who does not play along is cut off: silent longer than `idle`, a message longer than [`Limits::message`] on its way,
//! answers not taken for [`Limits::write`]. When a limit on connections is reached, the most idle connection makes
//! room for the new one (RFC 7766 section 6.2.3 lets a server close idle connections as it sees fit): in all, or
//! among those of the same client. When all connections together hold more than [`Limits::held_bytes`], the one that
//! holds most goes: who reads the answers to whole queries holds next to nothing.

mod connection;
mod listen;
mod table;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{self, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};
use tokio::task::{self, AbortHandle, LocalSet};

use crate::config;
use crate::control::Clock;

use super::Responder;
use super::dnstap::Tap;
use super::gate::{Gate, Phase};
use super::stats::Stats;

use connection::{Connection, Scratch};
use listen::Listener;
use table::{Client, Id, Table};

/// Longest wait for connections to end after a stop.
const DRAIN: Duration = Duration::from_secs(3);

/// What a connection may do, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections in all: no more, not even for a moment.
    pub(super) connections: usize,
    /// Connections a client.
    pub(super) per_client: usize,
    /// Longest silence between messages.
    pub(super) idle: Duration,
    /// Longest time from a message's first byte to its last.
    pub(super) message: Duration,
    /// Most reads that a message may take: the longest one in segments of 536 bytes (RFC 9293 section 3.7.1) takes 123.
    pub(super) message_reads: u32,
    /// Bytes of answers not taken, from which on no more queries are read or answered.
    pub(super) pending_bytes: usize,
    /// Memory for incomplete messages and for answers not taken, of all connections together, in bytes; what a connection
    /// may keep while it is idle does not count.
    pub(super) held_bytes: usize,
    /// Longest time in which a client must take the answers that it has pending.
    pub(super) write: Duration,
    /// Queries answered before the connection is closed, so that one client does not keep a place for good.
    pub(super) queries: u32,
    /// Longest wait for the client to close, after we have: until then its input is discarded, since closing with
    /// unread input resets the connection and destroys the last answers.
    pub(super) linger: Duration,
    /// Most bytes discarded meanwhile.
    pub(super) linger_bytes: usize,
}

impl Limits {
    /// What the operator set, and the rest as it is for everybody.
    pub(super) fn new(tcp: config::Tcp) -> Self {
        Self {
            connections: tcp.max_connections.max(1),
            per_client: tcp.per_client.max(1),
            idle: tcp.idle,
            message: Duration::from_secs(2),
            message_reads: 128,
            pending_bytes: 64 << 10,
            held_bytes: 32 << 20,
            write: Duration::from_secs(2),
            queries: 1_000,
            linger: Duration::from_secs(1),
            linger_bytes: 256 << 10,
        }
    }

    /// The same with no more connections than leave a quarter of this process's `open_files` to everything else:
    /// probes, the API, files. A crowd must not be able to blind the probes.
    pub(super) fn within(self, open_files: u64) -> Self {
        let most = usize::try_from(open_files / 4 * 3).unwrap_or(usize::MAX).max(1);
        Self { connections: self.connections.min(most), ..self }
    }
}

/// The TCP side of a server that has not begun.
pub(super) struct Server {
    runtime: Runtime,
    listeners: Vec<TcpListener>,
    limits: Limits,
    clock: Clock,
    gate: Arc<Gate>,
    stats: Arc<Stats>,
}

impl Server {
    /// Errors: the runtime cannot be made.
    pub(super) fn new(
        listeners: Vec<net::TcpListener>,
        limits: Limits,
        clock: Clock,
        gate: &Arc<Gate>,
        stats: &Arc<Stats>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let inside = runtime.enter();
        let listeners = listeners.into_iter().map(TcpListener::from_std).collect::<io::Result<_>>()?;
        drop(inside);
        Ok(Self { runtime, listeners, limits, clock, gate: Arc::clone(gate), stats: Arc::clone(stats) })
    }

    /// Answers from the gate's opening to its stop, and then what has arrived.
    pub(super) fn run<R: Responder>(self, responder: R, tap: Option<Tap>) {
        let Self { runtime, listeners, limits, clock, gate, stats } = self;
        let shared = Rc::new(Shared::new(responder, tap, limits, clock, gate.subscribe(), stats));
        let tasks = LocalSet::new();
        tasks.block_on(&runtime, serve(listeners, shared));
    }
}

/// Runs the listeners until the server stops, and then the connections to their ends.
async fn serve<L: Listener + 'static, R: Responder>(listeners: Vec<L>, shared: Rc<Shared<R>>) {
    let mut phase = shared.phase.clone();
    // An error means that the gate is gone, which is a stop.
    let opened =
        phase.wait_for(|phase| *phase != Phase::Bound).await.is_ok_and(|phase| *phase != Phase::Closed);
    if !opened {
        return;
    }
    let listening: Vec<_> = listeners
        .into_iter()
        .map(|listener| task::spawn_local(listen::run(listener, Rc::clone(&shared))))
        .collect();
    for task in listening {
        let _ = task.await;
    }
    // What is left after the wait is dropped with the task set.
    let _ = tokio::time::timeout(DRAIN, shared.wait_empty()).await;
}

/// What the tasks of the TCP thread share. No borrow of a cell outlives the statement, nor crosses an await.
struct Shared<R> {
    responder: RefCell<R>,
    /// Hears of every exchange; absent: dnstap is off.
    tap: RefCell<Option<Tap>>,
    scratch: RefCell<Scratch>,
    table: RefCell<Table<AbortHandle>>,
    /// Connections whose task has not ended; more than in the table, for a moment, after an eviction.
    alive: Cell<usize>,
    ended: Notify,
    /// What all connections whose task has not ended hold, in bytes.
    held: Cell<usize>,
    limits: Limits,
    clock: Clock,
    phase: watch::Receiver<Phase>,
    stats: Arc<Stats>,
}

impl<R: Responder> Shared<R> {
    fn new(
        responder: R,
        tap: Option<Tap>,
        limits: Limits,
        clock: Clock,
        phase: watch::Receiver<Phase>,
        stats: Arc<Stats>,
    ) -> Self {
        Self {
            responder: RefCell::new(responder),
            tap: RefCell::new(tap),
            scratch: RefCell::new(Scratch::new()),
            table: RefCell::new(Table::new(limits.connections, limits.per_client)),
            alive: Cell::new(0),
            ended: Notify::new(),
            held: Cell::new(0),
            limits,
            clock,
            phase,
            stats,
        }
    }

    /// Takes a new connection in, in place of the most idle one if a limit is reached.
    async fn admit(self: &Rc<Self>, stream: TcpStream, peer: SocketAddr) {
        self.stats.tcp_accepted.add(1);
        let client = Client::of(peer.ip());
        // Again after the wait: another listener may have taken the place.
        while let Some(task) = self.make_room(client) {
            self.evict(&task).await;
        }
        let id = self.table.borrow_mut().next_id();
        let presence = Presence::new(Rc::clone(self), id);
        let connection = Connection::new(stream, peer, Rc::clone(self), id);
        let task = task::spawn_local(async move {
            let _presence = presence;
            connection.run().await;
        });
        self.table.borrow_mut().insert(id, client, self.clock.mono(), task.abort_handle());
    }

    fn make_room(&self, client: Client) -> Option<AbortHandle> {
        self.table.borrow_mut().make_room(client)
    }

    /// Closes the most idle connection, as its file descriptor is needed; false: there are not two to choose from.
    ///
    /// Linux takes a descriptor before it looks whether anybody waits, so this happens also behind the connection that
    /// got the last one. The descriptor is then spare, for the next; but that connection itself must not be the victim.
    async fn evict_most_idle(&self) -> bool {
        if self.table.borrow().len() < 2 {
            return false;
        }
        let victim = self.table.borrow_mut().remove_most_idle();
        match victim {
            Some(task) => {
                self.evict(&task).await;
                true
            }
            None => false,
        }
    }

    /// Ends a connection that is no longer in the table, and waits until its descriptor is free.
    async fn evict(&self, task: &AbortHandle) {
        self.stats.tcp_evicted.add(1);
        task.abort();
        while self.alive.get() > self.table.borrow().len() {
            self.ended.notified().await;
        }
    }

    /// Notes what memory a connection holds, in bytes, and ends those that hold most while it is too much in all; false: the
    /// caller is one of them.
    fn hold(&self, id: Id, bytes: usize) -> bool {
        self.table.borrow_mut().hold(id, bytes);
        loop {
            let Some((largest, task)) = self.table.borrow_mut().remove_largest_over(self.limits.held_bytes)
            else {
                return true;
            };
            self.stats.tcp_over_memory.add(1);
            if largest == id {
                return false;
            }
            task.abort();
        }
    }

    /// Waits while connections that were told to end still hold what nobody may have before they did.
    async fn memory_allows(&self) {
        while self.held.get() > self.limits.held_bytes {
            task::yield_now().await;
        }
    }

    /// Waits until no connection is left.
    async fn wait_empty(&self) {
        while self.alive.get() > 0 {
            self.ended.notified().await;
        }
    }
}

/// A connection's place in the counts, given back however its task ends.
struct Presence<R: Responder> {
    shared: Rc<Shared<R>>,
    id: Id,
}

impl<R: Responder> Presence<R> {
    fn new(shared: Rc<Shared<R>>, id: Id) -> Self {
        shared.alive.set(shared.alive.get() + 1);
        shared.stats.tcp_connections.add(1);
        Self { shared, id }
    }
}

impl<R: Responder> Drop for Presence<R> {
    fn drop(&mut self) {
        self.shared.table.borrow_mut().remove(self.id);
        self.shared.stats.tcp_connections.sub(1);
        self.shared.alive.set(self.shared.alive.get().saturating_sub(1));
        // Who waits has looked at the count in the same poll, on this same thread: no end is missed.
        self.shared.ended.notify_waiters();
    }
}
