//! The collector's end of a Unix socket, as a stream of frames. No call here blocks for longer than [`PATIENCE`].

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use super::frames::{Control, Heard, hear};

/// Longest time in one call that sends or connects, so that a stop is noticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// Longest time in one call that listens: also how long the sender rests while nothing is queued.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Kernel buffer for what the collector has not yet read, in bytes; what `net.core.wmem_max` allows of it is taken.
const SEND_BUFFER_BYTES: usize = 1 << 20;

/// A connected collector.
#[derive(Debug)]
pub(super) struct Collector {
    stream: UnixStream,
    /// What it said and we did not yet understand.
    heard: Vec<u8>,
}

/// Why there is no collector.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nobody can be reached there.
    Connect(io::Error),
    /// It was reached and is gone.
    Lost(io::Error),
    /// It has closed the connection.
    Closed,
    /// It said nothing to our greeting.
    Silent,
    /// It takes something else than dnstap.
    OtherContent,
    /// It does not speak Frame Streams.
    Nonsense,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    write!(f, "{error}; no collector listens there: start it, or correct dns.dnstap.socket")
                }
                io::ErrorKind::PermissionDenied => {
                    write!(f, "{error}; this user needs write permission on the socket")
                }
                io::ErrorKind::WouldBlock => write!(f, "the collector takes no connections"),
                _ => write!(f, "{error}"),
            },
            Self::Lost(error) => write!(f, "the connection broke: {error}"),
            Self::Closed => write!(f, "the collector closed the connection"),
            Self::Silent => write!(
                f,
                "the collector does not answer the greeting; it must speak Frame Streams in both directions, as \
                `fstrm_capture -t protobuf:dnstap.Dnstap -u SOCKET` does"
            ),
            Self::OtherContent => {
                write!(f, "the collector does not take protobuf:dnstap.Dnstap; give it that content type")
            }
            Self::Nonsense => write!(f, "what listens there does not speak Frame Streams"),
        }
    }
}

impl Collector {
    /// Connects, and greets.
    ///
    /// Errors: the system's, also when the greeting does not fit into an empty buffer, which does not happen.
    pub(super) fn connect(path: &Path) -> Result<Self, Trouble> {
        let stream = open(path).map_err(Trouble::Connect)?;
        let mut collector = Self { stream, heard: Vec::new() };
        collector.say(Control::Ready)?;
        Ok(collector)
    }

    /// Listens for one [`TICK`]; true once the greeting is answered and data may come.
    pub(super) fn is_accepted(&mut self) -> Result<bool, Trouble> {
        match self.listen()? {
            Heard::Part => Ok(false),
            Heard::Accept => {
                self.heard.clear();
                self.say(Control::Start)?;
                Ok(true)
            }
            Heard::OtherContent => Err(Trouble::OtherContent),
            Heard::Finish | Heard::Nonsense => Err(Trouble::Nonsense),
        }
    }

    /// Sends what the socket takes of `bytes` in the time that a call may take, and returns how much; zero: it is full.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, Trouble> {
        match self.stream.write(bytes) {
            Ok(count) => Ok(count),
            Err(error) if is_passing(&error) => Ok(0),
            Err(error) => Err(Trouble::Lost(error)),
        }
    }

    /// Rests for one [`TICK`], or until the collector ends the connection: it has nothing else to say.
    pub(super) fn rest(&mut self) -> Result<(), Trouble> {
        match self.listen()? {
            Heard::Part => Ok(()),
            Heard::Finish => Err(Trouble::Closed),
            Heard::Accept | Heard::OtherContent | Heard::Nonsense => Err(Trouble::Nonsense),
        }
    }

    /// Says that no more will come.
    pub(super) fn say_stop(&mut self) -> Result<(), Trouble> {
        self.say(Control::Stop)
    }

    /// Listens for one [`TICK`]; true once the collector has taken everything.
    pub(super) fn is_finished(&mut self) -> Result<bool, Trouble> {
        Ok(self.listen()? == Heard::Finish)
    }

    fn listen(&mut self) -> Result<Heard, Trouble> {
        let mut bytes = [0; 64];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(Trouble::Closed),
            Ok(count) => self.heard.extend(bytes.iter().take(count)),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(Trouble::Lost(error)),
        }
        Ok(hear(&self.heard))
    }

    fn say(&mut self, control: Control) -> Result<(), Trouble> {
        self.stream.write_all(&control.frame()).map_err(Trouble::Lost)
    }
}

fn open(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let _ = socket.set_send_buffer_size(SEND_BUFFER_BYTES);
    // Before connecting, which otherwise waits for as long as the collector's backlog is full.
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.set_read_timeout(Some(TICK))?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(socket.into())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
