//! Clients who do as the RFCs say, while others do not.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use waypost::control::Clock;

use crate::client::{Client, is_answer, query};
use crate::harness::DNS_PORT;

/// Within which every honest query is answered, its connection's making included: less than the five seconds after
/// which a resolver gives up.
pub(crate) const DEADLINE: Duration = Duration::from_millis(4_500);

/// Between two queries of one client.
const PACE: Duration = Duration::from_millis(10);

/// Where honest clients are.
const SOURCE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Connections tried for one query, all within the deadline: a server may close any, and then clients ask again over
/// another (RFC 7766 6.2.4).
const ATTEMPTS: usize = 3;

/// Clients that ask until they are called off.
pub(crate) struct Honest {
    shared: Arc<Shared>,
    threads: Vec<(&'static str, JoinHandle<Result<Served, String>>)>,
}

struct Shared {
    stop: AtomicBool,
    asked: AtomicU64,
}

/// How one client was served.
#[derive(Debug)]
struct Served {
    queries: u64,
    slowest: Duration,
}

impl Honest {
    /// Three clients: over UDP, over a new connection for each query, over a connection that is kept.
    pub(crate) fn ask(server: Ipv4Addr) -> Self {
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), asked: AtomicU64::new(0) });
        let mut honest = Self { shared, threads: Vec::new() };
        let socket = UdpSocket::bind((SOURCE, 0)).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.connect((server, DNS_PORT)).unwrap();
        honest.spawn("over UDP", move |id| over_udp(&socket, id));
        honest.spawn("over new connections", move |id| {
            (0..ATTEMPTS).any(|_| connect(server).is_some_and(|mut tcp| tcp.ask(id)))
        });
        let mut kept: Option<Client> = None;
        honest.spawn("over a kept connection", move |id| {
            (0..ATTEMPTS).any(|_| {
                let mut tcp = kept.take().or_else(|| connect(server));
                let is_answered = tcp.as_mut().is_some_and(|tcp| tcp.ask(id));
                kept = tcp.filter(|_| is_answered);
                is_answered
            })
        });
        honest
    }

    /// Queries answered so far, of all clients.
    pub(crate) fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// Calls them off; fails unless every query was answered in time.
    pub(crate) fn were_served(mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for (who, thread) in self.threads.drain(..) {
            let served = thread.join().unwrap().unwrap_or_else(|why| panic!("{who}: {why}"));
            eprintln!("{who}: {} queries, the slowest in {:?}", served.queries, served.slowest);
        }
    }

    fn spawn(&mut self, who: &'static str, mut asks: impl FnMut(u16) -> bool + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        let thread = thread::spawn(move || {
            let clock = Clock::start();
            let mut served = Served { queries: 0, slowest: Duration::ZERO };
            // At least once, however short the test.
            loop {
                let begun = clock.elapsed();
                let is_answered = asks(served.queries as u16);
                let took = clock.elapsed() - begun;
                if !is_answered || took > DEADLINE {
                    return Err(format!("query {} was not served; {took:?} passed", served.queries));
                }
                served.queries += 1;
                served.slowest = served.slowest.max(took);
                shared.asked.fetch_add(1, Ordering::Relaxed);
                if shared.stop.load(Ordering::Relaxed) {
                    return Ok(served);
                }
                thread::park_timeout(PACE);
            }
        });
        self.threads.push((who, thread));
    }
}

impl Drop for Honest {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

fn over_udp(socket: &UdpSocket, id: u16) -> bool {
    let mut bytes = [0; 512];
    socket.send(&query(id)).is_ok() && socket.recv(&mut bytes).is_ok_and(|len| is_answer(&bytes[..len], id))
}

fn connect(server: Ipv4Addr) -> Option<Client> {
    Client::from(SOURCE, server, None).ok()
}
