//! One UDP worker: a thread that has a socket and a batch to itself, and receives, answers, sends.
//!
//! Nothing in the loop allocates, locks or logs.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crate::control::Clock;
use crate::dns::Transport;

use super::Responder;
use super::dnstap::{Exchange, Tap};
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
    /// Hears of every exchange; absent: dnstap is off.
    pub(super) tap: Option<UdpTap>,
}

/// A tap, and what its exchanges have in common.
pub(super) struct UdpTap {
    tap: Tap,
    /// The socket's address, unless it is the wildcard: then each datagram has its own.
    local: Option<IpAddr>,
    port: u16,
}

impl UdpTap {
    pub(super) fn new(tap: Tap, socket: &UdpSocket) -> Self {
        let addr = socket.local_addr().ok();
        let local = addr.map(|addr| addr.ip()).filter(|ip| !ip.is_unspecified());
        Self { tap, local, port: addr.map_or(0, |addr| addr.port()) }
    }

    /// The address that the datagram at `index` was sent to.
    fn asked(&self, batch: &Batch, index: usize) -> Option<IpAddr> {
        self.local.or_else(|| batch.destination(index))
    }
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
        let now = self.clock.now();
        let time = self.tap.as_ref().map_or(Duration::ZERO, |_| self.clock.wall());
        let mut next = 0;
        while next < count {
            // A panic skips the datagram in hand; the rest of the batch is answered in another round. The responder
            // may be left between two of its counters' stores, which is harmless, and `queue` was not called.
            let round = panic::catch_unwind(AssertUnwindSafe(|| {
                while next < count {
                    let index = next;
                    next += 1;
                    let local = self.tap.as_ref().and_then(|tap| tap.asked(batch, index));
                    let Some(packet) = batch.packet(index) else {
                        self.stats.udp_port_zero.add(1);
                        continue;
                    };
                    if packet.is_oversize {
                        self.stats.udp_oversize.add(1);
                    }
                    let peer = packet.peer;
                    let (query, out) = packet.into_query(now);
                    let len = self.responder.respond(query, out);
                    if let Some(UdpTap { tap, port, .. }) = &mut self.tap {
                        let (port, query) = (*port, query.bytes);
                        let answer = out.get(..len).unwrap_or_default();
                        let transport = Transport::Udp;
                        tap.record(&Exchange { transport, peer, local, port, time, query, answer });
                    }
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
