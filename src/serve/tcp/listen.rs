//! Accepting: goes on whatever `accept` says, and never spins.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time;

use crate::health::Mono;
use crate::serve::Responder;
use crate::serve::gate::Phase;
use crate::serve::system;

use super::Shared;

/// Failures in a row that concern one connection each, and cost no pause: whoever can cause them must not be able to
/// keep others waiting. More of them mean something else.
const FREE_FAILURES: u32 = 64;

/// First pause after a failed accept; each further failure in a row doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Longest pause after a failed accept.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Least time between two log lines about failed accepts of one listener.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// How long a stopping listener waits for the next connection that is already made.
const LAST_CALL: Duration = Duration::from_millis(10);

/// Most connections taken in after a stop: as many as may wait in the kernel.
const LAST_CALL_CONNECTIONS: usize = 1024;

/// Where connections come from; another one in tests, which fails on purpose.
pub(super) trait Listener {
    /// The next connection. Dropping the future loses none.
    fn accept(&mut self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>>;
}

impl Listener for TcpListener {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        Self::accept(self).await
    }
}

/// Takes connections in until the server stops, and then those already made.
pub(super) async fn run<L: Listener, R: Responder>(mut listener: L, shared: Rc<Shared<R>>) {
    let mut phase = shared.phase.clone();
    let mut failures = Failures::default();
    let mut log = LogLimit::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping(&mut phase) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                failures = Failures::default();
                shared.admit(stream, peer).await;
            }
            Err(error) => {
                shared.stats.tcp_accept_failed.add(1);
                if log.allows(shared.clock.mono()) {
                    tracing::warn!(%error, "a TCP connection could not be accepted");
                }
                let remedy = failures.remedy(&error);
                if remedy == Remedy::Evict && shared.evict_most_idle().await {
                    continue;
                }
                let pause = if remedy == Remedy::Retry { Duration::ZERO } else { failures.pause() };
                tokio::select! {
                    biased;
                    () = stopping(&mut phase) => break,
                    // Even without a pause the connections have their turn.
                    () = time::sleep(pause) => {}
                }
            }
        }
    }
    for _ in 0..LAST_CALL_CONNECTIONS {
        match time::timeout(LAST_CALL, listener.accept()).await {
            Ok(Ok((stream, peer))) => shared.admit(stream, peer).await,
            Ok(Err(_)) | Err(_) => break,
        }
    }
}

/// Waits for the stop.
pub(super) async fn stopping(phase: &mut watch::Receiver<Phase>) {
    // An error means that the gate is gone, which is a stop.
    let _ = phase.wait_for(|phase| phase.is_stopping()).await;
}

/// Failed accepts since the last good one.
#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
    pauses: u32,
}

/// What helps against a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// That connection is gone; there may be others.
    Retry,
    /// Somebody must give a descriptor.
    Evict,
    /// Time.
    Pause,
}

impl Failures {
    fn remedy(&mut self, error: &io::Error) -> Remedy {
        self.in_a_row += 1;
        if system::is_out_of_files(error) && self.in_a_row == 1 {
            // Once: when that does not help, somebody else takes the descriptors, and more evictions would only close
            // everybody's connections.
            Remedy::Evict
        } else if is_of_one_connection(error) && self.in_a_row <= FREE_FAILURES {
            Remedy::Retry
        } else {
            Remedy::Pause
        }
    }

    /// The next pause: they double from failure to failure.
    fn pause(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(16)).min(LONGEST_PAUSE);
        self.pauses += 1;
        pause
    }
}

/// Whether accepting failed for the connection in hand only: Linux tells the new socket's errors here (accept(2)).
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::Interrupted
    )
}

/// Lets one log line through per [`LOG_INTERVAL`].
#[derive(Debug, Default)]
struct LogLimit {
    last: Option<Mono>,
}

impl LogLimit {
    fn allows(&mut self, now: Mono) -> bool {
        let is_due = self.last.is_none_or(|last| now.since(last) >= LOG_INTERVAL);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_ten_milliseconds_to_one_second() {
        let mut failures = Failures::default();
        let pauses: Vec<u128> = (0..10).map(|_| failures.pause().as_millis()).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    }

    #[test]
    fn a_shortage_of_descriptors_costs_one_connection_and_then_time() {
        let mut failures = Failures::default();
        let remedies = [(); 3].map(|()| failures.remedy(&io::Error::from_raw_os_error(libc::EMFILE)));
        assert_eq!(remedies, [Remedy::Evict, Remedy::Pause, Remedy::Pause]);
    }

    #[test]
    fn aborted_connections_cost_no_time_until_they_are_suspiciously_many() {
        let mut failures = Failures::default();
        for errno in [libc::ECONNABORTED, libc::EHOSTUNREACH, libc::EPERM, libc::EINTR].repeat(16) {
            assert_eq!(failures.remedy(&io::Error::from_raw_os_error(errno)), Remedy::Retry, "{errno}");
        }
        assert_eq!(failures.remedy(&io::Error::from_raw_os_error(libc::ECONNABORTED)), Remedy::Pause);
    }

    #[test]
    fn what_is_nobodys_fault_waits() {
        for errno in [libc::ENOBUFS, libc::ENOMEM, libc::EINVAL, libc::EPROTO] {
            let remedy = Failures::default().remedy(&io::Error::from_raw_os_error(errno));
            assert_eq!(remedy, Remedy::Pause, "{errno}");
        }
    }

    #[test]
    fn failed_accepts_are_logged_once_a_minute() {
        let mut log = LogLimit::default();
        let said: Vec<bool> = [0, 1, 59_999, 60_000, 60_001].map(|ms| log.allows(Mono(ms))).into();
        assert_eq!(said, [true, false, false, true, false]);
    }
}
