//! One UDP worker: a thread that has a socket and a batch to itself, and receives, answers, sends.
//!
//! Nothing in the loop allocates, locks or logs.

use std::io;
use std::net::UdpSocket;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crate::control::Clock;

use super::Responder;
use super::gate::Gate;
use super::stats::Stats;
use super::system;
use super::udp::{Batch, Wait};

/// How long a stopping worker goes on while datagrams keep coming: far longer than a full receive buffer takes.
const DRAIN: Duration = Duration::from_secs(1);

/// Pause after a receive call that failed for no reason that passes by itself, so that it cannot spin.
const ERROR_PAUSE: Duration = Duration::from_millis(10);

/// What a UDP worker's thread needs.
pub(super) struct Worker<R> {
    pub(super) socket: UdpSocket,
    pub(super) responder: R,
    pub(super) clock: Clock,
    pub(super) gate: Arc<Gate>,
    pub(super) stats: Arc<Stats>,
}

impl<R: Responder> Worker<R> {
    /// Answers from the gate's opening to its stop, and then what the socket holds.
    pub(super) fn run(mut self) {
        let mut batch = Batch::new();
        if !self.gate.wait_open() {
            return;
        }
        while !self.gate.is_stopping() {
            match batch.receive(&self.socket, Wait::One) {
                Ok(count) => self.serve(&mut batch, count),
                Err(error) => self.endure(&error),
            }
        }
        self.drain(&mut batch);
    }

    fn drain(&mut self, batch: &mut Batch) {
        let end = self.clock.mono().after(DRAIN);
        while self.clock.mono() < end {
            match batch.receive(&self.socket, Wait::None) {
                Ok(count) => self.serve(batch, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted || system::is_stale(&error) => {}
                Err(_) => return,
            }
        }
    }

    fn serve(&mut self, batch: &mut Batch, count: usize) {
        let begun_ns = self.clock.elapsed().as_nanos() as u64;
        // After the receive: the answers are as fresh as they can be.
        self.responder.refresh();
        self.answer(batch, count);
        self.responder.record_batch(count, (self.clock.elapsed().as_nanos() as u64).saturating_sub(begun_ns));
        let sent = batch.send(&self.socket);
        if sent.refused > 0 {
            self.stats.udp_send_failed.add(sent.refused as u64);
        }
    }

    fn answer(&mut self, batch: &mut Batch, count: usize) {
        let now = self.clock.mono();
        let mut next = 0;
        while next < count {
            // A panic skips the datagram in hand; the rest of the batch is answered in another round. The responder
            // may be left between two of its counters' stores, which is harmless, and `queue` was not called.
            let round = panic::catch_unwind(AssertUnwindSafe(|| {
                while next < count {
                    let index = next;
                    next += 1;
                    let Some(packet) = batch.packet(index) else {
                        self.stats.udp_port_zero.add(1);
                        continue;
                    };
                    if packet.is_oversize {
                        self.stats.udp_oversize.add(1);
                    }
                    let (query, out) = packet.into_query(now);
                    let len = self.responder.respond(query, out);
                    batch.queue(index, len);
                }
            }));
            if round.is_err() {
                self.stats.panics.add(1);
            }
        }
    }

    fn endure(&mut self, error: &io::Error) {
        match error.kind() {
            // Nothing came: the moment to let an old snapshot go.
            io::ErrorKind::WouldBlock => self.responder.refresh(),
            io::ErrorKind::Interrupted => {}
            _ if system::is_stale(error) => {}
            _ => {
                self.stats.udp_receive_failed.add(1);
                self.gate.wait_stopping(ERROR_PAUSE);
            }
        }
    }
}
