//! Limits, with shorter patience than in production, on real sockets.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use proptest::prelude::*;

use super::*;
use crate::dns::Query;
use crate::serve::tests::{Echo, PATIENCE, answer, connect, framed, message, read_framed, until};

/// Far longer than a test takes.
const NEVER: Duration = Duration::from_secs(3600);

/// Short enough to wait for.
const SOON: Duration = Duration::from_millis(100);

fn patient() -> Limits {
    Limits {
        message: NEVER,
        write: NEVER,
        ..Limits::new(config::Tcp { max_connections: 64, per_client: 64, idle: NEVER })
    }
}

struct Running {
    addr: SocketAddr,
    gate: Arc<Gate>,
    stats: Arc<Stats>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn new(limits: Limits) -> Self {
        Self::with(limits, Echo::default())
    }

    fn with(limits: Limits, responder: impl Responder) -> Self {
        let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let addr = listener.local_addr().unwrap();
        let (gate, stats) = (Arc::new(Gate::new()), Arc::new(Stats::default()));
        let server = Server::new(vec![listener], limits, Clock::start(), &gate, &stats).unwrap();
        let thread = thread::spawn(move || server.run(responder, None));
        gate.open();
        Self { addr, gate, stats, thread: Some(thread) }
    }

    fn connections(&self) -> u64 {
        self.stats.tcp_connections.get()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.gate.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ask(stream: &mut net::TcpStream, id: u16) {
    stream.write_all(&framed(&message(id, b"x"))).unwrap();
    assert_eq!(read_framed(stream).unwrap(), answer(id, b"x"));
}

/// Whether the server has closed the connection, for good or by a reset.
fn is_closed(stream: &mut net::TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(count) => count == 0,
        Err(error) => matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
    }
}

#[test]
fn pipelined_queries_are_answered_in_order() {
    let server = Running::new(patient());
    let mut stream = connect(server.addr);
    let queries: Vec<u8> = (0..500).flat_map(|id| framed(&message(id, b"pipelined"))).collect();
    stream.write_all(&queries).unwrap();
    for id in 0..500 {
        assert_eq!(read_framed(&mut stream).unwrap(), answer(id, b"pipelined"));
    }
}

/// Notes whose turn it is, and gives long answers; does not begin before it is told to.
struct Turns {
    order: Arc<Mutex<Vec<u16>>>,
    may_begin: Arc<AtomicBool>,
}

impl Responder for Turns {
    fn refresh(&mut self) {}

    fn respond(&mut self, query: Query<'_>, out: &mut [u8]) -> usize {
        let id = u16::from_be_bytes([query.bytes[0], query.bytes[1]]);
        self.order.lock().unwrap().push(id);
        while id == 1 && !self.may_begin.load(Ordering::Acquire) {
            thread::yield_now();
        }
        out[..2].copy_from_slice(&query.bytes[..2]);
        1500
    }

    fn record_batch(&mut self, _queries: usize, _nanos: u64) {}
}

#[test]
fn a_long_pipeline_does_not_keep_another_client_waiting() {
    const HONEST: u16 = 5000;
    let (order, may_begin) = (Arc::default(), Arc::new(AtomicBool::new(false)));
    let responder = Turns { order: Arc::clone(&order), may_begin: Arc::clone(&may_begin) };
    let server = Running::with(patient(), responder);
    let mut honest = connect(server.addr);
    honest.write_all(&framed(&message(0, b"x"))).unwrap();
    assert_eq!(read_framed(&mut honest).unwrap().len(), 1500, "it has its connection");

    let mut greedy = connect(server.addr);
    let queries: Vec<u8> = (1..=900).flat_map(|id| framed(&message(id, b"x"))).collect();
    greedy.write_all(&queries).unwrap();
    until("the pipeline begins", || order.lock().unwrap().last() == Some(&1));
    honest.write_all(&framed(&message(HONEST, b"x"))).unwrap();
    may_begin.store(true, Ordering::Release);
    for _ in 0..900 {
        assert_eq!(read_framed(&mut greedy).unwrap().len(), 1500);
    }
    let turn = order.lock().unwrap().iter().position(|&id| id == HONEST);
    // A round ends when 64 KiB of answers wait: after 44 of these. A few rounds pass until the socket is looked at.
    assert!(turn.is_some_and(|turn| turn < 450), "after {turn:?} of 900 answers");
}

#[test]
fn a_message_that_comes_byte_by_byte_is_answered() {
    let server = Running::new(patient());
    let mut stream = connect(server.addr);
    stream.set_nodelay(true).unwrap();
    for byte in framed(&message(1, b"slowly")) {
        stream.write_all(&[byte]).unwrap();
        thread::yield_now();
    }
    assert_eq!(read_framed(&mut stream).unwrap(), answer(1, b"slowly"));
}

#[test]
fn the_longest_message_is_answered() {
    let server = Running::new(patient());
    let mut stream = connect(server.addr);
    let text = vec![b'x'; 65_535 - 12];
    for id in 0..3 {
        stream.write_all(&framed(&message(id, &text))).unwrap();
        assert_eq!(read_framed(&mut stream).unwrap(), answer(id, &text));
    }
}

#[test]
fn a_client_that_closes_its_side_still_gets_its_answers() {
    let server = Running::new(patient());
    let mut stream = connect(server.addr);
    stream.write_all(&[framed(&message(1, b"a")), framed(&message(2, b"b"))].concat()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_framed(&mut stream).unwrap(), answer(1, b"a"));
    assert_eq!(read_framed(&mut stream).unwrap(), answer(2, b"b"));
    assert!(is_closed(&mut stream));
}

#[test]
fn what_gets_no_answer_closes_the_connection_behind_the_answers_before_it() {
    let server = Running::new(patient());
    for nonsense in [framed(b""), framed(b"too short"), framed(&message(2, b"silent"))] {
        let mut stream = connect(server.addr);
        let queries = [framed(&message(1, b"good")), nonsense, framed(&message(3, b"late"))].concat();
        stream.write_all(&queries).unwrap();
        assert_eq!(read_framed(&mut stream).unwrap(), answer(1, b"good"));
        assert!(is_closed(&mut stream));
    }
}

#[test]
fn a_silent_connection_is_closed() {
    let server = Running::new(Limits { idle: SOON, ..patient() });
    let mut stream = connect(server.addr);
    ask(&mut stream, 1);
    assert!(is_closed(&mut stream));
    until("the count of idle ones", || server.stats.tcp_idle.get() == 1 && server.connections() == 0);
}

#[test]
fn a_message_that_does_not_arrive_in_time_is_not_waited_for() {
    let server = Running::new(Limits { message: SOON, ..patient() });
    let mut stream = connect(server.addr);
    ask(&mut stream, 1);
    stream.write_all(&framed(&message(2, b"half"))[..9]).unwrap();
    assert!(is_closed(&mut stream));
    until("the count of slow writers", || server.stats.tcp_slow_writers.get() == 1);
}

#[test]
fn a_message_in_too_many_pieces_is_not_waited_for() {
    let server = Running::new(Limits { message_reads: 4, ..patient() });
    let mut stream = connect(server.addr);
    stream.set_nodelay(true).unwrap();
    let bytes = framed(&message(1, &[b'x'; 1000]));
    let mut pieces = bytes.iter();
    until("the cut", || {
        if let Some(&piece) = pieces.next() {
            let _ = stream.write_all(&[piece]);
        }
        server.stats.tcp_slow_writers.get() == 1
    });
    assert!(is_closed(&mut stream));
}

#[test]
fn a_client_that_does_not_take_its_answers_is_cut_off_and_others_are_not() {
    let server = Running::new(Limits { write: SOON, queries: u32::MAX, ..patient() });
    let mut other = connect(server.addr);
    let mut stream = connect(server.addr);
    stream.set_write_timeout(Some(SOON)).unwrap();
    let query = framed(&message(1, b"big"));
    let mut id = 0;
    until("the cut", || {
        let _ = stream.write_all(&query.repeat(100));
        id += 1;
        ask(&mut other, id);
        server.stats.tcp_slow_readers.get() == 1
    });
    ask(&mut other, 0);
}

#[test]
fn a_slow_reader_that_reads_on_gets_everything() {
    // Answers pend many times over the limit, and longer than the patience in all.
    let server = Running::new(Limits { write: PATIENCE, pending_bytes: 8_000, ..patient() });
    let mut stream = connect(server.addr);
    let mut writer = stream.try_clone().unwrap();
    let asker = thread::spawn(move || writer.write_all(&framed(&message(1, b"big")).repeat(900)));
    for _ in 0..900 {
        assert_eq!(read_framed(&mut stream).unwrap().len(), 4012);
    }
    asker.join().unwrap().unwrap();
}

#[test]
fn after_the_last_allowed_query_the_connection_closes_with_all_answers_delivered() {
    let server = Running::new(Limits { queries: 10, ..patient() });
    let mut stream = connect(server.addr);
    let queries: Vec<u8> = (0..3000).flat_map(|id| framed(&message(id, b"more"))).collect();
    stream.write_all(&queries).unwrap();
    for id in 0..10 {
        assert_eq!(read_framed(&mut stream).unwrap(), answer(id, b"more"));
    }
    assert!(is_closed(&mut stream));
}

#[test]
fn when_full_the_most_idle_connection_is_closed_for_the_new_one() {
    let server = Running::new(Limits { connections: 3, ..patient() });
    let mut streams: Vec<_> = (0..3).map(|_| connect(server.addr)).collect();
    let clock = Clock::start();
    for stream in [1, 0, 2].map(|index: usize| index) {
        ask(&mut streams[stream], 1);
        // Idleness is told apart by the millisecond.
        let then = clock.mono();
        until("the next millisecond", || clock.mono().since(then) >= Duration::from_millis(2));
    }
    let mut new = connect(server.addr);
    ask(&mut new, 2);
    assert!(is_closed(&mut streams[1]));
    ask(&mut streams[0], 3);
    ask(&mut streams[2], 3);
    until("the count", || server.stats.tcp_evicted.get() == 1 && server.connections() == 3);
}

#[test]
fn one_client_cannot_take_more_than_its_share() {
    let server = Running::new(Limits { per_client: 2, ..patient() });
    let mut streams: Vec<_> = (0..6).map(|_| connect(server.addr)).collect();
    until("every arrival", || server.stats.tcp_accepted.get() == 6 && server.connections() == 2);
    assert_eq!(server.stats.tcp_evicted.get(), 4);
    ask(&mut streams[5], 1);
    ask(&mut streams[4], 1);
    assert!(is_closed(&mut streams[0]));
}

#[test]
fn many_idle_connections_leave_room_for_a_query() {
    let server = Running::new(Limits { connections: 400, per_client: 1000, ..patient() });
    let idle: Vec<_> = (0..600).map(|_| connect(server.addr)).collect();
    let mut stream = connect(server.addr);
    ask(&mut stream, 1);
    until("the limit", || server.connections() == 400);
    drop(idle);
    until("their ends", || server.connections() == 1);
}

#[test]
fn a_stop_waits_for_the_message_that_is_on_its_way() {
    let server = Running::new(patient());
    let mut stream = connect(server.addr);
    ask(&mut stream, 1);
    let query = framed(&message(2, b"under way"));
    stream.write_all(&query[..7]).unwrap();
    server.gate.stop();
    stream.write_all(&query[7..]).unwrap();
    assert_eq!(read_framed(&mut stream).unwrap(), answer(2, b"under way"));
    assert!(is_closed(&mut stream));
}

/// Fails as told before it accepts anything.
struct Failing {
    errors: VecDeque<i32>,
    listener: TcpListener,
}

impl Listener for Failing {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        match self.errors.pop_front() {
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => self.listener.accept().await,
        }
    }
}

/// Runs a server around another listener than the usual one, as long as `body`.
fn with_listener<L: Listener + 'static>(
    wrap: impl FnOnce(TcpListener) -> L + Send,
    stats: &Arc<Stats>,
    body: impl FnOnce(SocketAddr),
) {
    let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    let gate = Gate::new();
    gate.open();
    thread::scope(|scope| {
        let phase = gate.subscribe();
        scope.spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let (responder, clock) = (Echo::default(), Clock::start());
            let shared = Rc::new(Shared::new(responder, None, patient(), clock, phase, Arc::clone(stats)));
            LocalSet::new().block_on(&runtime, async {
                serve(vec![wrap(TcpListener::from_std(listener).unwrap())], shared).await;
            });
        });
        body(addr);
        gate.stop();
    });
}

/// How long the first query takes, behind these failures to accept.
fn first_query_behind(errors: &[i32]) -> Duration {
    let stats = Arc::new(Stats::default());
    let clock = Clock::start();
    let mut took = Duration::ZERO;
    with_listener(
        |listener| Failing { errors: errors.to_vec().into(), listener },
        &stats,
        |addr| {
            ask(&mut connect(addr), 1);
            took = clock.elapsed();
        },
    );
    assert_eq!(stats.tcp_accept_failed.get(), errors.len() as u64);
    took
}

#[test]
fn accepting_survives_every_error_without_spinning() {
    let took = first_query_behind(&[
        libc::EMFILE,
        libc::ENFILE,
        libc::EPROTO,
        libc::ENOBUFS,
        libc::ENOMEM,
        libc::EINVAL,
    ]);
    // 10 + 20 + 40 + 80 + 160 + 320 ms of pauses: with nobody to evict, each failure costs one.
    assert!(took >= Duration::from_millis(630));
}

#[test]
fn connections_aborted_before_they_are_accepted_keep_nobody_waiting_but_never_spin() {
    // 64 for nothing, and then pauses as above.
    let took = first_query_behind(&[libc::ECONNABORTED; 64 + 6]);
    assert!(took >= Duration::from_millis(630));
}

/// Has descriptors for so many connections, and like Linux fails for lack of one before it looks whether anybody waits.
struct Narrow {
    descriptors: u64,
    stats: Arc<Stats>,
    listener: TcpListener,
}

impl Listener for Narrow {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        if self.stats.tcp_connections.get() >= self.descriptors {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        self.listener.accept().await
    }
}

#[test]
fn out_of_descriptors_the_most_idle_connection_gives_its_own() {
    let (descriptors, stats) = (5, Arc::new(Stats::default()));
    let narrow = |listener| Narrow { descriptors, stats: Arc::clone(&stats), listener };
    with_listener(narrow, &stats, |addr| {
        let mut streams = Vec::new();
        for id in 0..100 {
            let mut stream = connect(addr);
            ask(&mut stream, id);
            streams.push(stream);
            assert!(stats.tcp_connections.get() <= descriptors);
        }
        assert!(is_closed(&mut streams[0]));
        assert!(stats.tcp_accept_failed.get() >= 100 - descriptors);
    });
}

#[test]
fn connections_leave_a_quarter_of_the_descriptors_to_others() {
    let limits = |open_files| patient().within(open_files).connections;
    assert_eq!([limits(u64::MAX), limits(1_024), limits(40), limits(0)], [64, 64, 30, 1]);
}

#[test]
fn of_all_that_hold_memory_the_one_that_holds_most_goes() {
    let server = Running::new(Limits { held_bytes: 60_000, ..patient() });
    let mut largest = connect(server.addr);
    largest.write_all(&framed(&message(1, &[b'x'; 60_000]))[..40_000]).unwrap();
    let mut small = connect(server.addr);
    let query = framed(&message(2, &[b'x'; 20_000]));
    small.write_all(&query[..17_000]).unwrap();
    until("the cut", || {
        // More by more, until it is too much together.
        let _ = largest.write(&[b'x'; 1_000]);
        server.stats.tcp_over_memory.get() == 1
    });
    assert!(is_closed(&mut largest));
    small.write_all(&query[17_000..]).unwrap();
    assert_eq!(read_framed(&mut small).unwrap(), answer(2, &[b'x'; 20_000]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn however_the_stream_is_cut_every_query_gets_its_answer(
        sizes in prop::collection::vec(0_usize..600, 1..30),
        cuts in prop::collection::vec(1_usize..900, 1..40),
    ) {
        thread_local! {
            static SERVER: Running = Running::new(patient());
        }
        let addr = SERVER.with(|server| server.addr);
        let mut stream = connect(addr);
        stream.set_nodelay(true).unwrap();
        let texts: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![b'x'; size]).collect();
        let bytes: Vec<u8> = (0..).zip(&texts).flat_map(|(id, text)| framed(&message(id, text))).collect();
        let mut rest = bytes.as_slice();
        for &cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            stream.write_all(piece).unwrap();
            rest = after;
        }
        for (id, text) in (0..).zip(&texts) {
            prop_assert_eq!(read_framed(&mut stream).unwrap(), answer(id, text));
        }
    }
}
