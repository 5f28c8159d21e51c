//! The thread that empties the queues into a collector, and looks for one while there is none.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::Counts;
use super::collector::{Collector, Trouble};
use super::frames::Frames;
use super::message::Encoder;
use super::queue::Queue;
use crate::control::Clock;

/// How long a stop may take: sending what is queued, and the collector's farewell.
pub(super) const FLUSH: Duration = Duration::from_secs(1);

/// Pause before the first attempt to connect again; each failure in a row doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Longest pause between two attempts. A connection that lasted for less counts as one more failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long a collector may take to answer the greeting.
const GREETING: Duration = Duration::from_secs(2);

/// How long a collector may read nothing before that is told.
const STALL: Duration = Duration::from_secs(1);

/// Bytes of frames that are sent together.
const SEND_BYTES: usize = 64 << 10;

/// Bytes of frames that come from one queue before it is the next one's turn.
const TURN_BYTES: usize = SEND_BYTES / 4;

/// Whether the thread is to end.
#[derive(Debug)]
pub(super) struct Stop {
    /// Says so by being disconnected.
    told: Receiver<()>,
}

impl Stop {
    pub(super) fn new(told: Receiver<()>) -> Self {
        Self { told }
    }

    fn is_told(&self) -> bool {
        self.told.try_recv() != Err(TryRecvError::Empty)
    }

    /// Waits that long; true: it is told.
    fn wait(&self, span: Duration) -> bool {
        self.told.recv_timeout(span) != Err(RecvTimeoutError::Timeout)
    }
}

/// What the thread works with. Its memory is bounded: the queues, and [`SEND_BYTES`] with one exchange more.
#[derive(Debug)]
pub(super) struct Sender {
    socket: PathBuf,
    queues: Vec<Queue>,
    /// The queue that is emptied next: each in turn, so that a busy one starves no other.
    next: usize,
    encoder: Encoder,
    frames: Frames,
    counts: Arc<Counts>,
    stop: Stop,
    clock: Clock,
    /// The last trouble told, so that it is told once.
    told: String,
}

impl Sender {
    pub(super) fn new(
        socket: PathBuf,
        queues: Vec<Queue>,
        encoder: Encoder,
        counts: Arc<Counts>,
        stop: Stop,
        clock: Clock,
    ) -> Self {
        let (next, frames, told) = (0, Frames::default(), String::new());
        Self { socket, queues, next, encoder, frames, counts, stop, clock, told }
    }

    /// Sends until it is told to stop.
    pub(super) fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = self.clock.elapsed();
            let ended = self.greet().and_then(|collector| match collector {
                Some(collector) => self.feed(collector),
                None => Ok(()),
            });
            self.counts.connected.store(false, Ordering::Relaxed);
            let Err(trouble) = ended else { return };
            self.tell(&trouble);
            self.frames.rewind();
            if self.clock.elapsed().saturating_sub(begun) > GREETING + LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            if self.stop.wait(pause) {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A collector that waits for data; `None`: it is time to stop.
    fn greet(&self) -> Result<Option<Collector>, Trouble> {
        let begun = self.clock.elapsed();
        let mut collector = Collector::connect(&self.socket)?;
        while !collector.is_accepted()? {
            if self.stop.is_told() {
                return Ok(None);
            }
            if self.clock.elapsed().saturating_sub(begun) > GREETING {
                return Err(Trouble::Silent);
            }
        }
        Ok(Some(collector))
    }

    /// Sends until a stop, and then what is queued, for a while.
    fn feed(&mut self, mut collector: Collector) -> Result<(), Trouble> {
        self.counts.connected.store(true, Ordering::Relaxed);
        tracing::info!(socket = %self.socket.display(), "dnstap: connected");
        self.told.clear();
        let mut end = None;
        let mut stall = Stall::default();
        loop {
            let now = self.clock.elapsed();
            if end.is_none() && self.stop.is_told() {
                end = Some(now + FLUSH);
            }
            if end.is_some_and(|end| now > end) {
                return Ok(());
            }
            self.refill();
            if self.frames.len() > 0 {
                let sent = collector.send(self.frames.rest())?;
                self.counts.sent.add(self.frames.advance(sent));
                stall.note(now, sent > 0);
            } else if let Some(end) = end {
                // All is sent: a collector that goes without a farewell loses nothing.
                let _ = self.take_leave(collector, end);
                return Ok(());
            } else {
                collector.rest()?;
            }
        }
    }

    /// Encodes what is queued, once everything before it is sent.
    fn refill(&mut self) {
        if self.frames.len() > 0 {
            return;
        }
        let mut empty_left = self.queues.len();
        while empty_left > 0 && self.frames.len() < SEND_BYTES {
            let Some(queue) = self.queues.get_mut(self.next) else { return };
            let before = self.frames.len();
            while self.frames.len() < before + TURN_BYTES
                && let Some(exchange) = queue.pop()
            {
                self.frames.push(|out| self.encoder.query(&exchange, out));
                if !exchange.answer.is_empty() {
                    self.frames.push(|out| self.encoder.response(&exchange, out));
                }
            }
            self.next = (self.next + 1) % self.queues.len();
            empty_left = if self.frames.len() == before { empty_left - 1 } else { self.queues.len() };
        }
    }

    fn take_leave(&self, mut collector: Collector, end: Duration) -> Result<(), Trouble> {
        collector.say_stop()?;
        while !collector.is_finished()? {
            if self.clock.elapsed() > end {
                break;
            }
        }
        Ok(())
    }

    fn tell(&mut self, trouble: &Trouble) {
        let text = trouble.to_string();
        if text != self.told {
            let dropped = self.counts.dropped();
            tracing::warn!(socket = %self.socket.display(), dropped, "dnstap: {text}");
            self.told = text;
        }
    }
}

/// How long the collector has read nothing.
#[derive(Debug, Default)]
struct Stall {
    since: Option<Duration>,
    is_told: bool,
}

impl Stall {
    /// Tells of it once a connection: some collectors pause again and again.
    fn note(&mut self, now: Duration, has_sent: bool) {
        if has_sent {
            self.since = None;
        } else if now.saturating_sub(*self.since.get_or_insert(now)) > STALL && !self.is_told {
            self.is_told = true;
            tracing::warn!(
                "dnstap: the collector does not read; what does not fit into the queues is dropped"
            );
        }
    }
}
