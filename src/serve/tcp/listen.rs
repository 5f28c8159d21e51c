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
    let mut pause = Pause::default();
    let mut log = LogLimit::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping(&mut phase) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                pause = Pause::default();
                shared.admit(stream, peer);
            }
            Err(error) => {
                shared.stats.tcp_accept_failed.add(1);
                if log.allows(shared.clock.mono()) {
                    tracing::warn!(%error, "a TCP connection could not be accepted");
                }
                if system::is_out_of_files(&error) {
                    shared.evict_most_idle();
                }
                tokio::select! {
                    biased;
                    () = stopping(&mut phase) => break,
                    () = time::sleep(pause.next()) => {}
                }
            }
        }
    }
    for _ in 0..LAST_CALL_CONNECTIONS {
        match time::timeout(LAST_CALL, listener.accept()).await {
            Ok(Ok((stream, peer))) => shared.admit(stream, peer),
            Ok(Err(_)) | Err(_) => break,
        }
    }
}

/// Waits for the stop.
pub(super) async fn stopping(phase: &mut watch::Receiver<Phase>) {
    // An error means that the gate is gone, which is a stop.
    let _ = phase.wait_for(|phase| phase.is_stopping()).await;
}

/// Pauses that double from failure to failure.
#[derive(Debug, Default)]
struct Pause {
    failures: u32,
}

impl Pause {
    fn next(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures += 1;
        pause
    }
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
        let mut pause = Pause::default();
        let pauses: Vec<u128> = (0..10).map(|_| pause.next().as_millis()).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    }

    #[test]
    fn failed_accepts_are_logged_once_a_minute() {
        let mut log = LogLimit::default();
        let said: Vec<bool> = [0, 1, 59_999, 60_000, 60_001].map(|ms| log.allows(Mono(ms))).into();
        assert_eq!(said, [true, false, false, true, false]);
    }
}
