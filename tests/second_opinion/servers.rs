//! The two front ends side by side, and everything asked of both.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use waypost::control::{Clock, Publisher, Snapshot};
use waypost::dns::zone::Zones;
use waypost::dns::{View, Worker};
use waypost::serve::{self, Bound, Live, Serving};

use crate::corpus::Case;
use crate::packet;
use crate::zones::Zone;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Datagrams under way at once: few enough for any receive buffer.
const WINDOW: usize = 16;

/// Queries on one connection; fewer than a server answers on one.
const PIPELINED: usize = 200;

/// The answers to one query.
pub(crate) struct Answers {
    pub(crate) udp: Vec<u8>,
    pub(crate) tcp: Vec<u8>,
    pub(crate) portable_udp: Vec<u8>,
    pub(crate) portable_tcp: Vec<u8>,
}

/// Both front ends, answering from the same snapshot.
pub(crate) struct Servers {
    pub(crate) production: SocketAddr,
    pub(crate) portable: SocketAddr,
    serving: Vec<Serving>,
    _publisher: Publisher,
}

impl Servers {
    pub(crate) fn start(zones: &[Zone]) -> Self {
        let snapshot = Snapshot { view: Some(view(zones)), ..Snapshot::nothing(1) };
        let publisher = Publisher::new(snapshot);
        let clock = Clock::start();
        let (bound, production) = bind();
        let first = serve::start(bound, &publisher.reader(), clock, Worker::new).unwrap();
        let (bound, portable) = bind();
        let responder = Live::new(publisher.reader(), Worker::new());
        let second = serve::start_portable(bound, clock, responder).unwrap();
        let serving = vec![first, second];
        serving.iter().for_each(Serving::open);
        Self { production, portable, serving, _publisher: publisher }
    }

    /// Asks everything of both over UDP and TCP.
    pub(crate) fn ask(&self, cases: &[Case]) -> Vec<Answers> {
        let (production, portable) = (self.production, self.portable);
        let [udp, tcp, portable_udp, portable_tcp] = thread::scope(|scope| {
            let asking = [
                scope.spawn(move || ask_udp(production, cases)),
                scope.spawn(move || ask_tcp(production, cases)),
                scope.spawn(move || ask_udp(portable, cases)),
                scope.spawn(move || ask_tcp(portable, cases)),
            ];
            asking.map(|thread| thread.join().unwrap().into_iter())
        });
        let pairs = udp.zip(tcp).zip(portable_udp.zip(portable_tcp));
        pairs
            .map(|((udp, tcp), (portable_udp, portable_tcp))| Answers {
                udp,
                tcp,
                portable_udp,
                portable_tcp,
            })
            .collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for serving in self.serving.drain(..) {
            let left = serving.stop(PATIENCE);
            assert!(left == 0 || thread::panicking(), "every thread ends when told to");
        }
    }
}

/// The fuzzer's world with more zones.
fn view(zones: &[Zone]) -> View {
    let files: Vec<_> = zones.iter().map(|zone| zone.file.clone()).collect();
    let (zones, _) =
        Zones::build(&files, &packet::bound_services()).unwrap_or_else(|errors| panic!("{errors:?}"));
    View { zones: Arc::new(zones), ..packet::view(0) }
}

/// Sockets on a loopback port of their own; not on 127.0.0.1, from where dig asks: among tens of thousands of its ports
/// some are the server's, and what it sends from there to there it receives itself.
fn bind() -> (Bound, SocketAddr) {
    let text = "version = 1\nnode = \"test\"\n[routing]\nfallback = [\"cn\"]\n[geo]\ndatabase = \"none.mmdb\"\nunmapped = \"cn\"\n\
                [dns]\nlisten = [\"127.0.0.2:0\"]\nzones = \"zones\"\nudp_workers = 1\n";
    let config = waypost::control::load::parse(text, Path::new("waypost.toml"))
        .unwrap_or_else(|e| panic!("{}", e.text));
    let bound = serve::bind(config.dns.as_ref().unwrap()).unwrap();
    let addr = bound.local_addrs()[0];
    (bound, addr)
}

fn ask_udp(server: SocketAddr, cases: &[Case]) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = vec![0; 65_535];
    let mut answers = Vec::with_capacity(cases.len());
    for window in cases.chunks(WINDOW) {
        window.iter().for_each(|case| assert!(socket.send(&case.bytes()).is_ok()));
        let mut received: Vec<Vec<u8>> = vec![Vec::new(); window.len()];
        for _ in window {
            let len = socket.recv(&mut buffer).unwrap_or_else(|error| {
                let missing = window.iter().zip(&received).find(|(_, answer)| answer.is_empty()).unwrap().0;
                panic!("{error}: no answer to {missing}")
            });
            let index = window.iter().position(|case| case.id.to_be_bytes() == buffer[..2]).unwrap();
            received[index] = buffer[..len].to_vec();
        }
        answers.extend(received);
    }
    answers
}

fn ask_tcp(server: SocketAddr, cases: &[Case]) -> Vec<Vec<u8>> {
    let mut answers = Vec::with_capacity(cases.len());
    for chunk in cases.chunks(PIPELINED) {
        let mut stream = TcpStream::connect(server).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut frames = Vec::new();
        for bytes in chunk.iter().map(Case::bytes) {
            frames.extend(u16::try_from(bytes.len()).unwrap().to_be_bytes());
            frames.extend(bytes);
        }
        stream.write_all(&frames).unwrap();
        for case in chunk {
            let mut prefix = [0; 2];
            stream.read_exact(&mut prefix).unwrap_or_else(|error| panic!("{error}: no answer to {case}"));
            let mut answer = vec![0; usize::from(u16::from_be_bytes(prefix))];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer[..2], case.id.to_be_bytes(), "answers come in the order of their queries");
            answers.push(answer);
        }
    }
    answers
}
