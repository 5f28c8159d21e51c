//! One query and its answer, over UDP or TCP, within a time that is bounded for the whole run.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::message::{Question, Reply};
use crate::control::Clock;

/// How long one try waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a question is asked before its server counts as silent.
const TRIES: usize = 2;

/// How long all questions together may take: what is left is then reported as not answered.
const WHOLE_RUN: Duration = Duration::from_secs(14);

/// Least time that a socket is given, since none at all would mean no limit.
const LEAST: Duration = Duration::from_millis(1);

/// Questions that are under way at a time.
const AT_ONCE: usize = 32;

/// How a question travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proto {
    Udp,
    Tcp,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing came in time.
    Silent,
    /// The port is closed.
    Refused,
    /// This machine has no way there, for instance no IPv6.
    NoRoute,
    /// Something came that is no answer, or the connection ended.
    Broken,
    /// This machine could not ask.
    Here(String),
}

impl Trouble {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Self::Silent,
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => Self::NoRoute,
            io::ErrorKind::HostUnreachable => Self::Silent,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Broken,
            _ => Self::Here(error.to_string()),
        }
    }

    /// In words, as the end of "it …".
    pub(super) fn text(&self) -> String {
        match self {
            Self::Silent => "does not answer in time".to_owned(),
            Self::Refused => "refuses: nothing listens on that port".to_owned(),
            Self::NoRoute => "cannot be reached from this machine: it has no route there".to_owned(),
            Self::Broken => "answers with something that is no DNS answer".to_owned(),
            Self::Here(error) => format!("could not be asked: {error}"),
        }
    }
}

/// What became of a question.
pub(super) type Answer = Result<Reply, Trouble>;

/// The network, asked within one budget of time.
#[derive(Debug)]
pub(super) struct Network {
    clock: Clock,
}

impl Network {
    /// Its time runs from now on.
    pub(super) fn new() -> Self {
        Self { clock: Clock::start() }
    }

    /// Asks once more when nothing comes.
    pub(super) fn ask(&self, server: SocketAddr, proto: Proto, question: &Question) -> Answer {
        let mut last = Trouble::Silent;
        for _ in 0..TRIES {
            let Some(patience) = self.patience() else { break };
            let deadline = self.clock.elapsed() + patience;
            let Some(query) = question.bytes(random_id()) else {
                return Err(Trouble::Here(format!("`{}` is no name", question.name)));
            };
            let answer = match proto {
                Proto::Udp => self.over_udp(server, &query, deadline),
                Proto::Tcp => self.over_tcp(server, &query, deadline),
            };
            match answer {
                Ok(reply) => return Ok(reply),
                Err(trouble) => last = trouble,
            }
        }
        Err(last)
    }

    /// Asks over UDP, and over TCP when the answer did not fit.
    pub(super) fn ask_whole(&self, server: SocketAddr, question: &Question) -> Answer {
        match self.ask(server, Proto::Udp, question) {
            Ok(reply) if reply.truncated => self.ask(server, Proto::Tcp, question),
            other => other,
        }
    }

    /// How long the next try may wait; absent when the whole run's time is up.
    fn patience(&self) -> Option<Duration> {
        WHOLE_RUN
            .checked_sub(self.clock.elapsed())
            .filter(|left| *left > LEAST)
            .map(|left| left.min(PATIENCE))
    }

    fn over_udp(&self, server: SocketAddr, query: &[u8], deadline: Duration) -> Answer {
        let mut bytes = [0; 4096];
        let mut exchange = || -> io::Result<Reply> {
            let socket = match server {
                SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
                SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
            };
            // Connected, so that a closed port is told, and nobody else's datagrams come in.
            socket.connect(server)?;
            socket.send(query)?;
            loop {
                socket.set_read_timeout(Some(self.left(deadline)?))?;
                let length = socket.recv(&mut bytes)?;
                // What is no answer to this query, such as a late one to the try before, is not waited for less.
                if let Some(reply) = Reply::read(bytes.get(..length).unwrap_or_default(), query) {
                    return Ok(reply);
                }
            }
        };
        exchange().map_err(|error| Trouble::of(&error))
    }

    fn over_tcp(&self, server: SocketAddr, query: &[u8], deadline: Duration) -> Answer {
        let exchange = || -> io::Result<Vec<u8>> {
            let mut stream = TcpStream::connect_timeout(&server, self.left(deadline)?)?;
            stream.set_write_timeout(Some(self.left(deadline)?))?;
            let mut framed = (query.len() as u16).to_be_bytes().to_vec();
            framed.extend_from_slice(query);
            stream.write_all(&framed)?;
            let mut length = [0; 2];
            self.fill(&mut stream, &mut length, deadline)?;
            let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
            self.fill(&mut stream, &mut bytes, deadline)?;
            Ok(bytes)
        };
        let bytes = exchange().map_err(|error| Trouble::of(&error))?;
        Reply::read(&bytes, query).ok_or(Trouble::Broken)
    }

    /// Reads as many bytes as there is room for. The deadline is for all of them: a server that sends one a second must
    /// not hold the run.
    fn fill(&self, stream: &mut TcpStream, mut room: &mut [u8], deadline: Duration) -> io::Result<()> {
        while !room.is_empty() {
            stream.set_read_timeout(Some(self.left(deadline)?))?;
            match stream.read(room)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => room = room.get_mut(read..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// Errors: nothing is left.
    fn left(&self, deadline: Duration) -> io::Result<Duration> {
        let left = deadline.saturating_sub(self.clock.elapsed());
        if left < LEAST { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// The standard library's own seed for hashing is the randomness at hand: enough that nobody guesses an id.
fn random_id() -> u16 {
    RandomState::new().build_hasher().finish() as u16
}

/// Runs `work` on every job, several at once, and gives the results in the jobs' order.
pub(super) fn at_once<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return done };
            done.push((at, work(job)));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        let joined =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let jobs: Vec<usize> = (0..500).collect();
        assert_eq!(at_once(&jobs, |job| job * 2), (0..1000).step_by(2).collect::<Vec<_>>());
        assert_eq!(at_once(&[] as &[usize], |job| *job), Vec::<usize>::new());
    }
}
