//! One connection: reads frames, answers them in order, and ends when the client, a limit or the server says so.

use std::io;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::{task, time};

use crate::dns::{Query, Transport};
use crate::health::Mono;
use crate::serve::Responder;
use crate::serve::dnstap::Exchange;
use crate::serve::gate::Phase;

use super::Shared;
use super::listen::stopping;
use super::table::Id;

/// Bytes taken by one read.
const READ_BYTES: usize = 16 << 10;

/// The longest message: its length is 16 bits (RFC 1035 section 4.2.2).
const MESSAGE_BYTES: usize = 65_535;

/// Bytes of the length before each message.
const PREFIX_BYTES: usize = 2;

/// A connection keeps no more memory than this, in bytes, while it has nothing to say.
const KEPT_BYTES: usize = 4 << 10;

/// After a stop: how long a connection must be quiet to count as having nothing more under way.
const LAST_CALL: Duration = Duration::from_millis(10);

/// Buffers that all connections of the thread share: each use begins and ends between two awaits.
pub(super) struct Scratch {
    read: Box<[u8]>,
    answer: Box<[u8]>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        Self { read: vec![0; READ_BYTES].into(), answer: vec![0; MESSAGE_BYTES].into() }
    }
}

/// One client's connection.
pub(super) struct Connection<R> {
    stream: TcpStream,
    peer: SocketAddr,
    /// Who was asked; only where a tap wants to know.
    local: Option<SocketAddr>,
    id: Id,
    shared: Rc<Shared<R>>,
    phase: watch::Receiver<Phase>,
    /// Read and not yet answered: less than one message and one read.
    input: Vec<u8>,
    /// Answered and not yet taken: less than the limit and one message.
    pending: Vec<u8>,
    /// The message that has begun to arrive.
    arriving: Option<Arriving>,
    /// What must be taken by when.
    owed: Option<Owed>,
    /// Since when nothing was asked.
    quiet_since: Mono,
    /// How long that may go on.
    idle: Duration,
    /// Whether the server stops: then only what is under way is still answered.
    is_last_call: bool,
    queries_left: u32,
    /// Bytes of memory as last told to the table.
    held: usize,
    /// Whether nothing more is read, and how to part once all answers are taken.
    farewell: Option<Farewell>,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    since: Mono,
    reads: u32,
}

#[derive(Clone, Copy, Debug)]
struct Owed {
    bytes: usize,
    due: Mono,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    /// The client has said all it wants to say.
    Close,
    /// It has not: close our side, and let it notice.
    Linger,
}

/// Why a connection ends before its farewell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Idle,
    SlowWriter,
    SlowReader,
    /// All connections together hold too much, and this one most of it; counted where that is decided.
    Memory,
    /// The socket failed, or nothing more came after a stop.
    Over,
}

impl<R: Responder> Connection<R> {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, shared: Rc<Shared<R>>, id: Id) -> Self {
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let is_tapped = shared.tap.borrow().is_some();
        let local = if is_tapped { stream.local_addr().ok() } else { None };
        Self {
            stream,
            peer,
            local,
            id,
            phase: shared.phase.clone(),
            input: Vec::new(),
            pending: Vec::new(),
            arriving: None,
            owed: None,
            quiet_since: shared.clock.mono(),
            idle: shared.limits.idle,
            is_last_call: false,
            queries_left: shared.limits.queries,
            held: 0,
            farewell: None,
            shared,
        }
    }

    pub(super) async fn run(mut self) {
        let stats = &Rc::clone(&self.shared).stats;
        match self.talk().await {
            Ok(Farewell::Close) | Err(Cut::Over | Cut::Memory) => {}
            Ok(Farewell::Linger) => self.linger().await,
            Err(Cut::Idle) => stats.tcp_idle.add(1),
            Err(Cut::SlowWriter) => stats.tcp_slow_writers.add(1),
            Err(Cut::SlowReader) => stats.tcp_slow_readers.add(1),
        }
    }

    async fn talk(&mut self) -> Result<Farewell, Cut> {
        loop {
            let has_answered = self.answer();
            self.flush()?;
            self.account()?;
            if has_answered && self.is_reading() && frame(&self.input).is_some() {
                // Pending answers were in the way of more; now they are taken.
            } else if let (Some(farewell), true) = (self.farewell, self.pending.is_empty()) {
                return Ok(farewell);
            } else {
                self.wait().await?;
            }
            // Sockets that are always ready would never give way: after each round of answers it is the others' turn.
            if has_answered {
                task::yield_now().await;
                self.shared.memory_allows().await;
            } else {
                task::coop::consume_budget().await;
            }
        }
    }

    /// Answers the complete messages, as long as answers may be pending; true if there was any.
    fn answer(&mut self) -> bool {
        let shared = Rc::clone(&self.shared);
        let begun_ns = shared.clock.elapsed().as_nanos() as u64;
        let moment = shared.clock.now();
        let (now, wall_s) = (moment.mono, moment.wall_s());
        let mut answered = 0;
        let mut at = 0;
        while self.pending.len() < shared.limits.pending_bytes && self.farewell != Some(Farewell::Linger) {
            let Some(message) = self.input.get(at..).and_then(frame) else { break };
            at += PREFIX_BYTES + message.len();
            let (peer, transport) = (self.peer.ip(), Transport::Tcp);
            let query = Query { bytes: message, peer, transport, now, wall_s };
            let answered_from = self.pending.len() + PREFIX_BYTES;
            let has_answer = respond(&shared, query, &mut self.pending);
            let answer = self.pending.get(answered_from..).unwrap_or_default();
            tap(&shared, self.peer, self.local, message, answer);
            answered += 1;
            self.queries_left = self.queries_left.saturating_sub(1);
            if !has_answer || self.queries_left == 0 {
                self.farewell = Some(Farewell::Linger);
                at = self.input.len();
            }
        }
        if answered > 0 {
            self.input.drain(..at);
            shared
                .responder
                .borrow_mut()
                .record_batch(answered, (shared.clock.elapsed().as_nanos() as u64).saturating_sub(begun_ns));
            shared.table.borrow_mut().touch(self.id, now);
            self.quiet_since = now;
        }
        self.note_arriving(answered > 0, now);
        answered > 0
    }

    fn note_arriving(&mut self, is_new: bool, now: Mono) {
        if self.input.is_empty() {
            self.arriving = None;
            give_back(&mut self.input);
        } else if frame(&self.input).is_some() {
            // Complete, and waiting for the client to take answers: not the client's slowness in writing.
            self.arriving = None;
        } else if is_new || self.arriving.is_none() {
            self.arriving = Some(Arriving { since: now, reads: 1 });
        }
    }

    /// Writes what the socket takes.
    fn flush(&mut self) -> Result<(), Cut> {
        while !self.pending.is_empty() {
            match self.stream.try_write(&self.pending) {
                Ok(count) => {
                    self.pending.drain(..count);
                    if let Some(owed) = &mut self.owed {
                        owed.bytes = owed.bytes.saturating_sub(count);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Cut::Over),
            }
        }
        if self.pending.is_empty() {
            self.owed = None;
            give_back(&mut self.pending);
        } else if self.owed.is_none_or(|owed| owed.bytes == 0) {
            // Everything that was pending then is taken: a slow client that reads on is not cut off.
            let due = self.shared.clock.mono().after(self.shared.limits.write);
            self.owed = Some(Owed { bytes: self.pending.len(), due });
        }
        Ok(())
    }

    /// Tells the table what memory this connection has beyond what every connection may keep.
    fn account(&mut self) -> Result<(), Cut> {
        let [input, pending] =
            [&self.input, &self.pending].map(|buffer| buffer.capacity().saturating_sub(KEPT_BYTES));
        let held = input + pending;
        if held == self.held {
            return Ok(());
        }
        self.shared.held.set((self.shared.held.get() + held).saturating_sub(self.held));
        self.held = held;
        if self.shared.hold(self.id, held) { Ok(()) } else { Err(Cut::Memory) }
    }

    /// Waits for the client, the server's stop, or the end of patience.
    async fn wait(&mut self) -> Result<(), Cut> {
        let now = self.shared.clock.mono();
        let is_reading = self.is_reading();
        let interest = match (is_reading, self.pending.is_empty()) {
            (true, true) => Interest::READABLE,
            (true, false) => Interest::READABLE | Interest::WRITABLE,
            (false, _) => Interest::WRITABLE,
        };
        let (due, cut) = self.patience(is_reading);
        let ready = tokio::select! {
            biased;
            () = stopping(&mut self.phase), if !self.is_last_call => {
                self.is_last_call = true;
                self.idle = LAST_CALL;
                self.quiet_since = now;
                return Ok(());
            }
            ready = time::timeout(due.since(now), self.stream.ready(interest)) => ready,
        };
        match ready {
            Ok(Ok(ready)) if is_reading && (ready.is_readable() || ready.is_read_closed()) => {
                self.shared.memory_allows().await;
                self.read()
            }
            Ok(Ok(_)) => {
                if let Some(arriving) = self.arriving.as_mut().filter(|_| !is_reading) {
                    arriving.since = now; // We did not look: the time does not count.
                }
                Ok(())
            }
            Ok(Err(_)) => Err(Cut::Over),
            Err(_) if self.is_last_call && cut == Cut::Idle => Err(Cut::Over),
            Err(_) => Err(cut),
        }
    }

    /// Until when to wait, and what it means that nothing came.
    fn patience(&self, is_reading: bool) -> (Mono, Cut) {
        let limits = &self.shared.limits;
        let arriving = self.arriving.filter(|_| is_reading);
        let message = arriving.map(|arriving| (arriving.since.after(limits.message), Cut::SlowWriter));
        let write = self.owed.map(|owed| (owed.due, Cut::SlowReader));
        match (message, write) {
            (Some(message), Some(write)) => {
                if message.0 < write.0 {
                    message
                } else {
                    write
                }
            }
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => (self.quiet_since.after(self.idle), Cut::Idle),
        }
    }

    fn read(&mut self) -> Result<(), Cut> {
        let mut scratch = self.shared.scratch.borrow_mut();
        match self.stream.try_read(&mut scratch.read) {
            Ok(0) => self.farewell = Some(Farewell::Close),
            Ok(count) => {
                self.input.extend_from_slice(scratch.read.get(..count).unwrap_or_default());
                if let Some(arriving) = &mut self.arriving {
                    arriving.reads += 1;
                    if arriving.reads > self.shared.limits.message_reads && frame(&self.input).is_none() {
                        return Err(Cut::SlowWriter);
                    }
                }
            }
            Err(error) if is_passing(&error) => {}
            Err(_) => return Err(Cut::Over),
        }
        Ok(())
    }

    fn is_reading(&self) -> bool {
        self.farewell.is_none() && self.pending.len() < self.shared.limits.pending_bytes
    }

    /// Closes our side, and discards what comes until the client has closed its own, or long enough.
    async fn linger(&mut self) {
        if self.stream.shutdown().await.is_err() {
            return;
        }
        let limits = self.shared.limits;
        tokio::select! {
            biased;
            () = stopping(&mut self.phase) => {}
            _ = time::timeout(limits.linger, discard(&self.stream, &self.shared, limits.linger_bytes)) => {}
        }
    }
}

impl<R> Drop for Connection<R> {
    fn drop(&mut self) {
        self.shared.held.set(self.shared.held.get().saturating_sub(self.held));
        if !self.pending.is_empty() {
            // A reset, or the kernel would keep the answers, and try to get rid of them for minutes.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

/// Reads up to `left` bytes for nothing, until the client closes.
async fn discard<R>(stream: &TcpStream, shared: &Shared<R>, mut left: usize) -> io::Result<()> {
    while left > 0 {
        stream.readable().await?;
        match stream.try_read(&mut shared.scratch.borrow_mut().read) {
            Ok(0) => break,
            Ok(count) => left = left.saturating_sub(count),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        task::coop::consume_budget().await;
    }
    Ok(())
}

/// Appends the answer to `query`, in its frame, to `pending`; false: there is none, so the connection ends.
fn respond<R: Responder>(shared: &Shared<R>, query: Query<'_>, pending: &mut Vec<u8>) -> bool {
    let mut responder = shared.responder.borrow_mut();
    let mut scratch = shared.scratch.borrow_mut();
    responder.refresh();
    let answer = &mut scratch.answer;
    // A panic costs this connection. The responder may be left between two of its counters' stores: harmless.
    let len = panic::catch_unwind(AssertUnwindSafe(|| responder.respond(query, answer)));
    let len = len.unwrap_or_else(|_| {
        shared.stats.panics.add(1);
        0
    });
    match (u16::try_from(len), answer.get(..len)) {
        (Ok(prefix), Some(answer)) if prefix > 0 => {
            pending.extend_from_slice(&prefix.to_be_bytes());
            pending.extend_from_slice(answer);
            true
        }
        _ => false,
    }
}

/// Tells dnstap, where it is on.
fn tap<R>(shared: &Shared<R>, peer: SocketAddr, local: Option<SocketAddr>, query: &[u8], answer: &[u8]) {
    if let Some(tap) = &mut *shared.tap.borrow_mut() {
        tap.record(&Exchange {
            transport: Transport::Tcp,
            peer,
            local: local.map(|local| local.ip()),
            port: local.map_or(0, |local| local.port()),
            time: shared.clock.wall(),
            query,
            answer,
        });
    }
}

/// The first message of `input`, when it is complete.
fn frame(input: &[u8]) -> Option<&[u8]> {
    let (prefix, rest) = input.split_first_chunk::<2>()?;
    rest.get(..usize::from(u16::from_be_bytes(*prefix)))
}

fn give_back(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
