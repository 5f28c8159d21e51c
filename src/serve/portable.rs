//! A second front end: hickory-server reads sockets and queries, and writes answers; decided is where it always is.
//!
//! ```text
//! socket ─▶ hickory-server ─▶ Request ─▶ query written anew ─▶ Responder ─▶ answer read ─▶ hickory-server ─▶ socket
//! ```
//!
//! It serves UDP on systems other than Linux. And since nothing of how it reads and writes is ours, it is a second
//! opinion on what is: both front ends have to say the same.
//!
//! Not as good as the first, all of it hickory-server's way:
//!
//! - a task and some allocations a query, one system call an answer;
//! - what it cannot read gets FORMERR without question and OPT, even what calls itself a response;
//! - options that outrun their record are dropped, and bits beyond a client subnet's prefix are not looked at;
//! - answers leave from the address that the system chooses;
//! - over TCP no limits but idleness, and silence does not close. So elsewhere, too, TCP is served by [`super::tcp`].

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::proto::op::{Edns, Header, HeaderCounts, Message, Metadata, ResponseCode};
use hickory_server::proto::serialize::binary::{BinDecoder, BinEncodable, BinEncoder};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::{MessageResponseBuilder, Queries};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::subscriber::{NoSubscriber, with_default};

use crate::control::Clock;
use crate::dns::edns::MIN_UDP_SIZE;
use crate::dns::{MAX_TCP_SIZE, Query, Transport};

use super::Responder;
use super::gate::Gate;
use super::stats::Stats;

/// How often the responder may let an old state go while nobody asks.
const IDLE_LOOK: Duration = Duration::from_millis(250);

/// How long queries are still read after a stop: hickory-server leaves what it has not read by then in the socket.
const LAST_CALL: Duration = Duration::from_millis(20);

/// Pause before sockets that failed are read again, so that it cannot spin.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

/// Answers that may wait for a TCP client to take them.
const PENDING_ANSWERS: usize = 32;

/// The sockets of a front end that has not begun.
pub(super) struct Server {
    runtime: Runtime,
    udp: Vec<UdpSocket>,
    tcp: Vec<TcpListener>,
    idle: Duration,
    clock: Clock,
    gate: Arc<Gate>,
    stats: Arc<Stats>,
}

impl Server {
    /// A TCP connection may be silent for `idle`. Errors: the runtime cannot be made, or a socket is of no use.
    pub(super) fn new(
        (udp, tcp): (Vec<UdpSocket>, Vec<TcpListener>),
        idle: Duration,
        clock: Clock,
        gate: &Arc<Gate>,
        stats: &Arc<Stats>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        udp.iter().try_for_each(|socket| socket.set_nonblocking(true))?;
        tcp.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        Ok(Self { runtime, udp, tcp, idle, clock, gate: Arc::clone(gate), stats: Arc::clone(stats) })
    }

    /// Answers from the gate's opening to its stop, and a moment longer.
    pub(super) fn run<R: Responder>(self, responder: R) {
        if !self.gate.wait_open() {
            return;
        }
        let engine = Engine::new(responder, self.clock, Arc::clone(&self.stats));
        // hickory-server logs each query, and each fault of one: anybody could fill the log.
        with_default(NoSubscriber::new(), || self.runtime.block_on(self.serve(&engine)));
    }

    async fn serve<R: Responder>(&self, engine: &Engine<R>) {
        let mut phase = self.gate.subscribe();
        let mut looks = interval(IDLE_LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.gate.is_stopping() {
            let mut server = hickory_server::Server::new(engine.clone());
            let registered = self.register(&mut server);
            let ended = async {
                match registered {
                    Ok(()) => server.block_until_done().await.is_ok(),
                    Err(_) => false,
                }
            };
            tokio::pin!(ended);
            loop {
                tokio::select! {
                    biased;
                    // An error means that the gate is gone, which is a stop.
                    _ = phase.wait_for(|phase| phase.is_stopping()) => {
                        // Answers what has come, unless there is nobody to do so.
                        let _ = tokio::time::timeout(LAST_CALL, &mut ended).await;
                        return;
                    }
                    _ = &mut ended => break,
                    _ = looks.tick() => engine.lock().responder.refresh(),
                }
            }
            // It gives a socket up for good on some errors; ours are to be read as long as we run.
            self.stats.udp_receive_failed.add(1);
            sleep(ERROR_PAUSE).await;
        }
    }

    fn register<R: Responder>(&self, server: &mut hickory_server::Server<Engine<R>>) -> io::Result<()> {
        for socket in &self.udp {
            server.register_socket(tokio::net::UdpSocket::from_std(socket.try_clone()?)?);
        }
        for listener in &self.tcp {
            let listener = tokio::net::TcpListener::from_std(listener.try_clone()?)?;
            server.register_listener(listener, self.idle, PENDING_ANSWERS);
        }
        Ok(())
    }
}

/// The decision, as hickory-server's tasks share it.
struct Engine<R> {
    /// Nobody ever waits for it: the tasks run on one thread, and none keeps it across an await.
    desk: Arc<Mutex<Desk<R>>>,
    clock: Clock,
    stats: Arc<Stats>,
}

struct Desk<R> {
    responder: R,
    answer: Box<[u8]>,
}

/// What became of a query.
enum Decision {
    Silence,
    Answer(Message),
    /// There is one, but it can't be told.
    Failure,
}

impl<R: Responder> Engine<R> {
    fn new(responder: R, clock: Clock, stats: Arc<Stats>) -> Self {
        let desk = Desk { responder, answer: vec![0; MAX_TCP_SIZE].into() };
        Self { desk: Arc::new(Mutex::new(desk)), clock, stats }
    }

    fn lock(&self) -> MutexGuard<'_, Desk<R>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, request: &Request) -> Decision {
        let Some(bytes) = write(request) else { return Decision::Failure };
        let begun_ns = self.clock.elapsed().as_nanos() as u64;
        let now = self.clock.now();
        let query = Query {
            bytes: &bytes,
            peer: request.src().ip(),
            transport: transport(request),
            now: now.mono,
            wall_s: now.wall_s(),
        };
        let mut desk = self.lock();
        let Desk { responder, answer } = &mut *desk;
        responder.refresh();
        // A panic costs this query. The responder may be left between two of its counters' stores: harmless.
        let len = panic::catch_unwind(AssertUnwindSafe(|| responder.respond(query, answer)));
        let len = len.unwrap_or_else(|_| {
            self.stats.panics.add(1);
            0
        });
        responder.record_batch(1, (self.clock.elapsed().as_nanos() as u64).saturating_sub(begun_ns));
        match answer.get(..len) {
            Some([]) => Decision::Silence,
            Some(answer) => Message::from_vec(answer).map_or(Decision::Failure, Decision::Answer),
            None => Decision::Failure,
        }
    }

    /// The message to send; `None`: none.
    fn answer(&self, request: &Request) -> Option<Message> {
        let mut message = match self.decide(request) {
            Decision::Silence => return None,
            Decision::Answer(message) => message,
            Decision::Failure => failure(request),
        };
        if transport(request) == Transport::Udp && !fits(&message, request) {
            // It was decided to fit as we write it. As hickory-server does, it takes more: names in the data of some
            // types are not compressed, and a name needs its whole room for a moment even if a pointer takes its place.
            // It would cut an RRset in two then; RFC 2181 section 9 does not want that.
            message.answers.clear();
            message.authorities.clear();
            message.additionals.clear();
            message.metadata.truncation = true;
        }
        Some(message)
    }
}

impl<R> Clone for Engine<R> {
    fn clone(&self) -> Self {
        Self { desk: Arc::clone(&self.desk), clock: self.clock, stats: Arc::clone(&self.stats) }
    }
}

#[async_trait]
impl<R: Responder> RequestHandler for Engine<R> {
    async fn handle_request<H: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut handle: H,
    ) -> ResponseInfo {
        let Some(message) = self.answer(request) else { return untold(request.metadata) };
        let no_queries = Queries::read(&mut BinDecoder::new(&[]), 0).ok();
        let queries = no_queries.as_ref().filter(|_| message.queries.is_empty()).unwrap_or(&request.queries);
        let answer = MessageResponseBuilder::new(queries, message.edns.as_ref()).build(
            message.metadata,
            &message.answers,
            &message.authorities,
            [],
            &message.additionals,
        );
        // An error means that nobody is there to take it.
        handle.send_response(answer).await.unwrap_or_else(|_| untold(message.metadata))
    }
}

/// The query in wire form, from what hickory-server has read of it.
fn write(request: &Request) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    (**request).emit(&mut BinEncoder::new(&mut bytes)).ok()?;
    Some(bytes)
}

fn transport(request: &Request) -> Transport {
    if request.protocol() == Protocol::Udp { Transport::Udp } else { Transport::Tcp }
}

fn failure(request: &Request) -> Message {
    let mut message =
        Message::error_msg(request.metadata.id, request.metadata.op_code, ResponseCode::ServFail);
    message.queries = request.queries.queries().iter().map(|query| query.original().clone()).collect();
    message.metadata.recursion_desired = request.metadata.recursion_desired;
    message.metadata.checking_disabled = request.metadata.checking_disabled;
    message.edns = request.edns.as_ref().map(|_| Edns::new());
    message
}

/// Whether hickory-server gets this answer whole into what the client takes over UDP. Both its limit and ours count, which
/// our OPT record tells.
fn fits(message: &Message, request: &Request) -> bool {
    let ours = message.edns.as_ref().map_or(MIN_UDP_SIZE, Edns::max_payload);
    let mut bytes = Vec::new();
    let mut encoder = BinEncoder::new(&mut bytes);
    encoder.set_max_size(request.max_payload().min(ours).max(MIN_UDP_SIZE));
    // What does not fit is left out, and the TC flag set.
    message.emit(&mut encoder).is_ok()
        && bytes.get(2).is_some_and(|flags| message.truncation || flags & 0x02 == 0)
}

/// For hickory-server's statistics, which are off.
fn untold(metadata: Metadata) -> ResponseInfo {
    ResponseInfo::from(Header { metadata, counts: HeaderCounts::default() })
}

#[cfg(test)]
mod tests;
