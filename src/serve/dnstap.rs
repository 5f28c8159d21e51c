//! dnstap: what was asked and answered, told to a collector over a Unix socket.
//!
//! ```text
//! DNS thread ─ Tap ─▶ queue ─┐
//! DNS thread ─ Tap ─▶ queue ─┼─▶ one thread: encode (message) ─▶ frame (frames) ─▶ collector's socket
//! DNS thread ─ Tap ─▶ queue ─┘
//! ```
//!
//! An answer never waits for the collector. Each DNS thread copies query and answer into a queue of its own, which has
//! one writer, one reader and a fixed size; what does not fit is dropped and counted. Everything else (encoding,
//! system calls, connecting again) is done by one thread that nobody waits for. The queues ride out a collector's
//! restart: what was queued meanwhile is told to the new one.
//!
//! Each query is an `AUTH_QUERY` message, each answer an `AUTH_RESPONSE`. Their times are the moment when the batch
//! that they came in began to be answered: telling one query's time from its answer's would cost a look at the clock
//! for each, and the histogram of answer times is in the metrics already.

mod collector;
mod frames;
mod message;
mod queue;
mod sender;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::control::Clock;
use crate::dns::Transport;

use super::stats::Counter;

use message::Encoder;
use queue::Queue;
use sender::{Sender, Stop};

/// Where to, and in whose name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The collector's Unix socket.
    pub socket: PathBuf,
    /// This server's name.
    pub identity: String,
    /// The program and its version.
    pub version: String,
}

/// A query, and what was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange<'a> {
    /// How it came.
    pub transport: Transport,
    /// Who asked.
    pub peer: SocketAddr,
    /// Who was asked; absent where the system does not say.
    pub local: Option<IpAddr>,
    /// On which port.
    pub port: u16,
    /// When it came, since 1970.
    pub time: Duration,
    /// The query; at most 65,535 bytes.
    pub query: &'a [u8],
    /// The answer; empty: none was given. At most 65,535 bytes.
    pub answer: &'a [u8],
}

impl Exchange<'_> {
    /// The messages that it becomes.
    fn messages(&self) -> u64 {
        1 + u64::from(!self.answer.is_empty())
    }
}

/// One DNS thread's end: takes exchanges and never waits.
#[derive(Debug)]
pub struct Tap {
    queue: queue::Writer,
    counts: Arc<Counts>,
    /// Which of the counts' drops is this thread's.
    index: usize,
}

impl Tap {
    /// Takes one exchange, or counts it as dropped when the queue has no room. Allocates nothing, locks nothing, waits
    /// for nothing.
    pub fn record(&mut self, exchange: &Exchange<'_>) {
        if !self.queue.push(exchange)
            && let Some(drops) = self.counts.drops.get(self.index)
        {
            drops.0.add(exchange.messages());
        }
    }
}

/// What became of the messages. All numbers only grow.
#[derive(Debug)]
pub struct Counts {
    sent: Counter,
    connected: AtomicBool,
    drops: Vec<Drops>,
}

/// One thread's drops, on a cache line of their own: a dead collector must not make the DNS threads slow each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Drops(Counter);

impl Counts {
    /// Messages handed to a collector.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// Messages dropped, for the queue was full.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().map(|drops| drops.0.get()).sum()
    }

    /// Whether a collector is connected, now.
    pub fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }
}

/// Taps for `threads` DNS threads, and what empties them once it is started.
pub fn taps(settings: Settings, threads: usize) -> (Vec<Tap>, Output) {
    let drops = (0..threads).map(|_| Drops::default()).collect();
    let counts = Arc::new(Counts { sent: Counter::default(), connected: AtomicBool::new(false), drops });
    let mut queues = Vec::new();
    let mut taps = Vec::new();
    for index in 0..threads {
        let (writer, queue) = queue::new();
        queues.push(queue);
        taps.push(Tap { queue: writer, counts: Arc::clone(&counts), index });
    }
    (taps, Output { settings, queues, counts })
}

/// The reading ends of all taps.
#[derive(Debug)]
pub struct Output {
    settings: Settings,
    queues: Vec<Queue>,
    counts: Arc<Counts>,
}

impl Output {
    /// What became of the messages.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Starts the thread that sends. It connects when a collector is there, as often as that takes.
    ///
    /// Errors: the thread can't be made.
    pub fn start(self, clock: Clock) -> io::Result<Running> {
        let (stop, told) = mpsc::channel();
        let counts = Arc::clone(&self.counts);
        let encoder = Encoder::new(&self.settings.identity, &self.settings.version);
        let sender =
            Sender::new(self.settings.socket, self.queues, encoder, self.counts, Stop::new(told), clock);
        let thread = thread::Builder::new().name("dnstap".to_owned()).spawn(move || sender.run())?;
        Ok(Running { counts, stop, thread })
    }
}

/// The thread that sends. Dropped without [`Running::stop`]: it ends likewise, and nobody waits for it.
#[derive(Debug)]
pub struct Running {
    counts: Arc<Counts>,
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Running {
    /// What became of the messages.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Sends what is queued and takes leave of the collector; blocks for little more than a second at most.
    pub fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join(); // A panic was already told by the panic hook.
    }
}
