//! Real sockets on loopback, around a responder that echoes. No test sleeps: each waits on a condition, with an end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use super::*;
use crate::config;
use crate::control::Publisher;
use crate::dns::Transport;

/// Longest wait for anything that should happen.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Answers a query with itself, QR set, and obeys some words behind the header.
#[derive(Clone, Debug, Default)]
pub(super) struct Echo {
    pub(super) refreshed: Arc<AtomicU64>,
    pub(super) recorded: Arc<AtomicU64>,
}

impl Responder for Echo {
    fn refresh(&mut self) {
        self.refreshed.fetch_add(1, Ordering::Relaxed);
    }

    fn respond(&mut self, query: Query<'_>, out: &mut [u8]) -> usize {
        let room = match query.transport {
            Transport::Udp => 4096,
            Transport::Tcp => 65_535,
        };
        assert!(out.len() >= room);
        let bytes = &query.bytes[..query.bytes.len().min(room)];
        if bytes.len() < 12 {
            return 0;
        }
        match &bytes[12..] {
            [b'p', b'a', b'n', b'i', b'c', ..] => panic!("as asked"),
            [b's', b'i', b'l', b'e', b'n', b't', ..] => return 0,
            [b'p', b'e', b'e', b'r', ..] => return say(out, bytes, query.peer.to_string().as_bytes()),
            [b'b', b'i', b'g', ..] => return say(out, bytes, &[b'.'; 4000]),
            _ => {}
        }
        say(out, bytes, &bytes[12..])
    }

    fn record_batch(&mut self, queries: usize, _nanos: u64) {
        self.recorded.fetch_add(queries as u64, Ordering::Relaxed);
    }
}

fn say(out: &mut [u8], header: &[u8], text: &[u8]) -> usize {
    out[..12].copy_from_slice(&header[..12]);
    out[2] |= 0x80;
    out[12..12 + text.len()].copy_from_slice(text);
    12 + text.len()
}

/// A message with this id and these bytes behind the header.
pub(super) fn message(id: u16, text: &[u8]) -> Vec<u8> {
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend_from_slice(&[0; 10]);
    bytes.extend_from_slice(text);
    bytes
}

pub(super) fn answer(id: u16, text: &[u8]) -> Vec<u8> {
    let mut bytes = message(id, text);
    bytes[2] |= 0x80;
    bytes
}

pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    [&u16::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

pub(super) fn read_framed(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(prefix))];
    stream.read_exact(&mut message)?;
    Ok(message)
}

pub(super) fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(super) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let clock = Clock::start();
    while !condition() {
        assert!(clock.mono().since(Default::default()) < PATIENCE, "in vain: {what}");
        thread::park_timeout(Duration::from_millis(1));
    }
}

fn settings(listen: &[&str]) -> config::Dns {
    config::Dns {
        listen: listen.iter().map(|addr| addr.parse().unwrap()).collect(),
        zones: PathBuf::new(),
        udp_workers: 2,
        max_udp_size: 1232,
        nsid: String::new(),
        ecs: true,
        tcp: config::Tcp { max_connections: 16, per_client: 8, idle: Duration::from_secs(10) },
        cookies: config::Cookies { enabled: false, unverified_udp: 1232 },
        chaos: config::Chaos::default(),
        rate_limit: None,
        dnstap: None,
    }
}

fn serve(listen: &[&str]) -> (Serving, Vec<SocketAddr>) {
    let bound = bind(&settings(listen)).unwrap();
    let addrs = bound.local_addrs().to_vec();
    let serving = start_with(bound, Clock::start(), Echo::default).unwrap();
    serving.open();
    (serving, addrs)
}

fn client(from: impl Into<IpAddr>) -> UdpSocket {
    let socket = UdpSocket::bind((from.into(), 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut bytes = [0; 8192];
    let (len, from) = socket.recv_from(&mut bytes).unwrap();
    (bytes[..len].to_vec(), from)
}

fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

#[test]
fn a_batch_of_udp_queries_is_answered_each_by_its_own_answer() {
    let (serving, addrs) = serve(&["127.0.0.1:0"]);
    let socket = client(Ipv4Addr::LOCALHOST);
    for id in 0..200 {
        socket.send_to(&message(id, &vec![b'x'; usize::from(id)]), addrs[0]).unwrap();
    }
    let mut answers: Vec<_> = (0..200).map(|_| receive(&socket).0).collect();
    answers.sort();
    let expected: Vec<_> = (0..200).map(|id| answer(id, &vec![b'x'; usize::from(id)])).collect();
    assert_eq!(answers, expected);
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn both_families_and_both_protocols_are_answered_and_told_who_asks() {
    if !has_ipv6() {
        return;
    }
    let (serving, addrs) = serve(&["127.0.0.1:0", "[::1]:0"]);
    for addr in addrs {
        let socket = client(addr.ip());
        socket.send_to(&message(7, b"peer"), addr).unwrap();
        let expected = answer(7, addr.ip().to_string().as_bytes());
        assert_eq!(receive(&socket).0, expected);
        let mut stream = connect(addr);
        stream.write_all(&framed(&message(7, b"peer"))).unwrap();
        assert_eq!(read_framed(&mut stream).unwrap(), expected);
    }
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn on_the_wildcard_address_the_answer_leaves_from_the_address_that_was_asked() {
    let (serving, addrs) = serve(&["0.0.0.0:0"]);
    for last in [1, 2, 200] {
        let asked = SocketAddr::from(([127, 0, 0, last], addrs[0].port()));
        let socket = client(Ipv4Addr::LOCALHOST);
        socket.send_to(&message(1, b""), asked).unwrap();
        assert_eq!(receive(&socket).1, asked);
    }
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn the_ipv6_wildcard_leaves_ipv4_alone_and_answers_from_the_address_that_was_asked() {
    if !has_ipv6() {
        return;
    }
    let bound = bind(&settings(&["[::]:0"])).unwrap();
    assert!(bound.udp.iter().all(|socket| SockRef::from(socket).only_v6().unwrap()));
    assert!(bound.tcp.iter().all(|socket| SockRef::from(socket).only_v6().unwrap()));
    let asked = SocketAddr::from((Ipv6Addr::LOCALHOST, bound.local_addrs()[0].port()));
    let serving = start_with(bound, Clock::start(), Echo::default).unwrap();
    serving.open();
    let socket = client(Ipv6Addr::LOCALHOST);
    socket.send_to(&message(1, b""), asked).unwrap();
    assert_eq!(receive(&socket).1, asked);
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn silence_in_the_middle_of_a_batch_costs_no_other_query_its_answer() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let addr = bound.local_addrs()[0];
    let serving = start_with(bound, Clock::start(), Echo::default).unwrap();
    let socket = client(Ipv4Addr::LOCALHOST);
    // Sent before the gate opens, so that they are batches of the full width.
    for id in 0..100 {
        let text: &[u8] = if id % 3 == 0 { b"silent" } else { b"loud" };
        socket.send_to(&message(id, text), addr).unwrap();
    }
    serving.open();
    let mut ids: Vec<u16> =
        (0..66).map(|_| receive(&socket).0).map(|a| u16::from_be_bytes([a[0], a[1]])).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..100).filter(|id| id % 3 != 0).collect::<Vec<_>>());
    assert_eq!(serving.stop(PATIENCE), 0);
    assert!(socket.set_nonblocking(true).is_ok());
    assert_eq!(socket.recv(&mut [0; 16]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_panic_costs_one_query_and_the_rest_of_its_batch_is_answered() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let addr = bound.local_addrs()[0];
    let serving = start_with(bound, Clock::start(), Echo::default).unwrap();
    let socket = client(Ipv4Addr::LOCALHOST);
    for id in 0..20 {
        let text: &[u8] = if id == 5 { b"panic" } else { b"calm" };
        socket.send_to(&message(id, text), addr).unwrap();
    }
    serving.open();
    let mut ids: Vec<u16> =
        (0..19).map(|_| receive(&socket).0).map(|a| u16::from_be_bytes([a[0], a[1]])).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).filter(|&id| id != 5).collect::<Vec<_>>());
    assert_eq!(serving.stats().panics.get(), 1);
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn a_panic_over_tcp_costs_one_connection() {
    let (serving, addrs) = serve(&["127.0.0.1:0"]);
    let mut poisoned = connect(addrs[0]);
    poisoned.write_all(&framed(&message(1, b"panic"))).unwrap();
    assert_eq!(read_framed(&mut poisoned).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let mut calm = connect(addrs[0]);
    calm.write_all(&framed(&message(2, b"calm"))).unwrap();
    assert_eq!(read_framed(&mut calm).unwrap(), answer(2, b"calm"));
    assert_eq!(serving.stats().panics.get(), 1);
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn a_datagram_longer_than_the_buffer_is_answered_by_what_fits_and_counted() {
    let (serving, addrs) = serve(&["127.0.0.1:0"]);
    let socket = client(Ipv4Addr::LOCALHOST);
    socket.send_to(&message(3, &[b'x'; 6000]), addrs[0]).unwrap();
    assert_eq!(receive(&socket).0.len(), 4096);
    assert_eq!(serving.stats().udp_oversize.get(), 1);
    // The next one finds its buffers as they were.
    socket.send_to(&message(4, b"short"), addrs[0]).unwrap();
    assert_eq!(receive(&socket).0, answer(4, b"short"));
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn clients_that_are_gone_do_not_disturb_others() {
    let (serving, addrs) = serve(&["127.0.0.1:0"]);
    for id in 0..50 {
        // Closed at once: its answer meets a closed port, and an ICMP error comes back.
        client(Ipv4Addr::LOCALHOST).send_to(&message(id, b""), addrs[0]).unwrap();
        let socket = client(Ipv4Addr::LOCALHOST);
        socket.send_to(&message(id, b"here"), addrs[0]).unwrap();
        assert_eq!(receive(&socket).0, answer(id, b"here"));
    }
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn nothing_is_read_before_the_gate_opens_and_nothing_is_lost_by_it() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let addr = bound.local_addrs()[0];
    let echo = Echo::default();
    let serving = start_with(bound, Clock::start(), || echo.clone()).unwrap();
    let socket = client(Ipv4Addr::LOCALHOST);
    socket.send_to(&message(1, b"early"), addr).unwrap();
    let mut stream = connect(addr);
    stream.write_all(&framed(&message(2, b"early"))).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(socket.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(echo.refreshed.load(Ordering::Relaxed), 0);
    serving.open();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(receive(&socket).0, answer(1, b"early"));
    assert_eq!(read_framed(&mut stream).unwrap(), answer(2, b"early"));
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn a_server_that_never_opened_stops() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let serving = start_with(bound, Clock::start(), Echo::default).unwrap();
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn a_server_stopped_right_after_it_opened_answers_what_was_sent_before() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let addr = bound.local_addrs()[0];
    let serving = start_with(bound, Clock::start(), Echo::default).unwrap();
    let socket = client(Ipv4Addr::LOCALHOST);
    // As many answers as the client's own receive buffer holds.
    for id in 0..200 {
        socket.send_to(&message(id, b""), addr).unwrap();
    }
    let mut streams: Vec<_> = (0..8).map(|_| connect(addr)).collect();
    for stream in &mut streams {
        stream.write_all(&framed(&message(9, b"last"))).unwrap();
    }
    serving.open();
    assert_eq!(serving.stop(PATIENCE), 0);
    for _ in 0..200 {
        receive(&socket);
    }
    for stream in &mut streams {
        assert_eq!(read_framed(stream).unwrap(), answer(9, b"last"));
        assert_eq!(read_framed(stream).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}

#[test]
fn a_stop_under_load_answers_everything_that_was_sent_before_it() {
    let (serving, addrs) = serve(&["127.0.0.1:0"]);
    let addr = addrs[0];
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let askers: Vec<_> = (0..2)
        .map(|_| {
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
            thread::spawn(move || {
                let socket = client(Ipv4Addr::LOCALHOST);
                let mut asked = 0_u16;
                while !is_over.load(Ordering::Acquire) {
                    socket.send_to(&message(asked, b""), addr).unwrap();
                    receive(&socket);
                    answered.fetch_add(1, Ordering::Relaxed);
                    asked += 1;
                }
                // The last one is in the socket before the stop begins.
                socket.send_to(&message(asked, b"last"), addr).unwrap();
                (socket, asked)
            })
        })
        .collect();
    until("some load", || answered.load(Ordering::Relaxed) >= 1_000);
    is_over.store(true, Ordering::Release);
    let sockets: Vec<_> = askers.into_iter().map(|asker| asker.join().unwrap()).collect();
    assert_eq!(serving.stop(PATIENCE), 0);
    for (socket, asked) in sockets {
        assert_eq!(receive(&socket).0, answer(asked, b"last"));
    }
}

#[test]
fn an_idle_worker_keeps_looking_for_the_current_state() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let echo = Echo::default();
    let serving = start_with(bound, Clock::start(), || echo.clone()).unwrap();
    serving.open();
    until("two looks of idle workers", || echo.refreshed.load(Ordering::Relaxed) >= 4);
    assert_eq!(serving.stop(PATIENCE), 0);
}

#[test]
fn the_live_responder_moves_on_to_the_published_snapshot_and_lets_the_old_one_go() {
    let mut publisher = Publisher::new(Snapshot::nothing(1));
    let mut live = Live::new(publisher.reader(), Worker::default());
    publisher.publish(Snapshot::nothing(2));
    let old = Arc::downgrade(&live.snapshot);
    live.refresh();
    assert_eq!(live.snapshot.serial, 2);
    assert_eq!(old.strong_count(), 1, "the publisher frees it, not the worker");
    publisher.collect();
    assert_eq!(old.strong_count(), 0);
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let taken = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let addr = taken.local_addrs()[0];
    let error = bind(&settings(&[&addr.to_string()])).unwrap_err();
    assert_eq!((error.addr, error.proto), (addr, Proto::Tcp));
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot listen on {addr} (TCP): ")), "{text}");
    assert!(text.contains(&format!("sport = :{}", addr.port())), "{text}");
}

#[test]
fn a_port_that_a_foreign_udp_server_has_is_named() {
    // A chosen port may be taken for TCP too, by another test: then another one is tried.
    let is_named = (0..20).any(|_| {
        let foreign = client(Ipv4Addr::LOCALHOST);
        let addr = foreign.local_addr().unwrap();
        let error = bind(&settings(&[&addr.to_string()])).unwrap_err();
        assert_eq!(error.addr, addr);
        error.proto == Proto::Udp
    });
    assert!(is_named);
}

#[test]
fn an_address_that_the_machine_lacks_is_named_with_what_to_do() {
    let error = bind(&settings(&["192.0.2.1:0"])).unwrap_err();
    assert!(error.to_string().contains("`ip address`"), "{error}");
}

#[test]
fn a_forbidden_port_is_named_with_the_capability() {
    let source = io::Error::from(ErrorKind::PermissionDenied);
    let error = BindError { addr: SocketAddr::from(([127, 0, 0, 1], 53)), proto: Proto::Tcp, source };
    assert!(error.to_string().contains("CAP_NET_BIND_SERVICE"), "{error}");
}

#[test]
fn port_zero_gives_udp_and_tcp_the_same_port() {
    let bound = bind(&settings(&["127.0.0.1:0", "127.0.0.2:0"])).unwrap();
    assert_eq!(bound.local_addrs().len(), 2);
    let tcp: Vec<_> = bound.tcp.iter().map(|socket| socket.local_addr().unwrap()).collect();
    let udp: Vec<_> = bound.udp.iter().map(|socket| socket.local_addr().unwrap()).collect();
    assert_eq!(tcp, bound.local_addrs());
    assert_eq!(udp, [tcp[0], tcp[0], tcp[1], tcp[1]]);
}

#[test]
fn the_kernel_keeps_no_megabytes_of_answers_for_one_tcp_client() {
    let bound = bind(&settings(&["127.0.0.1:0"])).unwrap();
    let _client = TcpStream::connect(bound.local_addrs()[0]).unwrap();
    bound.tcp[0].set_nonblocking(false).unwrap();
    let (accepted, _) = bound.tcp[0].accept().unwrap();
    assert!(SockRef::from(&accepted).send_buffer_size().unwrap() <= 128 << 10);
}
