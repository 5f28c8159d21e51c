//! What the sockets count. Shared by all threads: everything here is rare, or once a connection.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that several threads change and anybody reads.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }
}

/// Counters of the serving sockets; all but [`Stats::tcp_connections`] only grow.
#[derive(Debug, Default)]
pub struct Stats {
    /// Datagrams dropped because they came from port 0, or from no address at all: nobody can be answered there.
    pub udp_port_zero: Counter,
    /// Datagrams longer than the receive buffer; answered by what of them fitted, which is a format error.
    pub udp_oversize: Counter,
    /// Answers that the kernel did not take: no buffer space, no route, a firewall.
    pub udp_send_failed: Counter,
    /// Receive calls that failed for another reason than having nothing to give.
    pub udp_receive_failed: Counter,
    /// Queries, over either transport, lost to a panic while they were answered.
    pub panics: Counter,
    /// Open TCP connections, now.
    pub tcp_connections: Counter,
    /// TCP connections accepted.
    pub tcp_accepted: Counter,
    /// TCP connections closed, the most idle first, to make room under a limit.
    pub tcp_evicted: Counter,
    /// TCP connections closed for being silent too long.
    pub tcp_idle: Counter,
    /// TCP connections closed because a message did not arrive in time, or in too many pieces.
    pub tcp_slow_writers: Counter,
    /// TCP connections closed because the client did not take its answers.
    pub tcp_slow_readers: Counter,
    /// TCP connections closed because they held most of the memory that all may have together.
    pub tcp_over_memory: Counter,
    /// Failures to accept a TCP connection.
    pub tcp_accept_failed: Counter,
}
