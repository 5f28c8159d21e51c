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

/// How long reading the files and all questions together may take: what is left is then reported as not asked.
const WHOLE_RUN: Duration = Duration::from_secs(14);

/// Time for questions that is left however long the files took.
const LEAST_FOR_QUESTIONS: Duration = Duration::from_secs(5);

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
    /// The answer is cut short over TCP as well.
    CutShort,
    /// The time of the whole run was up before.
    NotAsked,
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
            Self::Broken => "answers with something that is no DNS answer to what was asked".to_owned(),
            Self::CutShort => "cuts its answer short over TCP as well".to_owned(),
            Self::NotAsked => "was not asked in the time that doctor takes".to_owned(),
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
    /// When the last question must be over, by that clock.
    ends: Duration,
}

impl Network {
    /// Its time has run since this clock started.
    pub(super) fn new(clock: Clock) -> Self {
        let ends = WHOLE_RUN.max(clock.elapsed() + LEAST_FOR_QUESTIONS);
        Self { clock, ends }
    }

    /// Asks once more when nothing comes.
    pub(super) fn ask(&self, server: SocketAddr, proto: Proto, question: &Question) -> Answer {
        let mut last = Trouble::NotAsked;
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
                // Something there that speaks no DNS stays the better clue than the silence after it.
                Err(Trouble::Silent) if last == Trouble::Broken => {}
                Err(trouble) => last = trouble,
            }
        }
        Err(last)
    }

    /// Asks over UDP, and over TCP when the answer did not fit.
    pub(super) fn ask_whole(&self, server: SocketAddr, question: &Question) -> Answer {
        match self.ask(server, Proto::Udp, question) {
            Ok(reply) if reply.truncated => match self.ask(server, Proto::Tcp, question) {
                Ok(whole) if whole.truncated => Err(Trouble::CutShort),
                other => other,
            },
            other => other,
        }
    }

    /// How long the next try may wait; absent when the whole run's time is up.
    fn patience(&self) -> Option<Duration> {
        self.ends
            .checked_sub(self.clock.elapsed())
            .filter(|left| *left > LEAST)
            .map(|left| left.min(PATIENCE))
    }

    fn over_udp(&self, server: SocketAddr, query: &[u8], deadline: Duration) -> Answer {
        let mut bytes = [0; 4096];
        let mut noise = false;
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
                if let Some(reply) = Reply::read(bytes.get(..length).unwrap_or_default(), query) {
                    return Ok(reply);
                }
                // The answer may still come behind it. A late one to the try before went to that try's port.
                noise = true;
            }
        };
        exchange().map_err(|error| match Trouble::of(&error) {
            Trouble::Silent if noise => Trouble::Broken,
            trouble => trouble,
        })
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
    use domain::base::iana::Rtype;

    use super::*;
    use crate::cli::doctor::message::Manner;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let jobs: Vec<usize> = (0..500).collect();
        assert_eq!(at_once(&jobs, |job| job * 2), (0..1000).step_by(2).collect::<Vec<_>>());
        assert_eq!(at_once(&[] as &[usize], |job| *job), Vec::<usize>::new());
    }

    /// What comes of a question to a server that answers each datagram with this one.
    fn asked_of(noise: &[u8]) -> Answer {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = server.local_addr().unwrap();
        let network = Network { clock: Clock::start(), ends: Duration::from_millis(300) };
        let question = Question::new("example.com", Rtype::SOA, Manner::Plain);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut query = [0; 512];
                let (_, client) = server.recv_from(&mut query).unwrap();
                server.send_to(noise, client).unwrap();
            });
            network.ask(addr, Proto::Udp, &question)
        })
    }

    #[test]
    fn a_server_that_answers_noise_over_udp_is_not_called_silent() {
        let other_id = [0xff; 12];
        for noise in [&b""[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", &other_id] {
            assert_eq!(asked_of(noise), Err(Trouble::Broken), "{noise:?}");
        }
    }

    #[test]
    fn a_question_that_comes_after_the_time_is_up_is_not_asked_and_nobody_is_called_silent() {
        let network = Network { clock: Clock::start(), ends: Duration::ZERO };
        let question = Question::new("example.com", Rtype::SOA, Manner::Plain);
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert_eq!(network.ask(server, Proto::Udp, &question), Err(Trouble::NotAsked));
    }

    #[test]
    fn the_time_runs_from_the_start_of_the_program_but_leaves_some_for_questions() {
        let network = Network::new(Clock::start());
        assert_eq!(network.ends, WHOLE_RUN);
    }
}
