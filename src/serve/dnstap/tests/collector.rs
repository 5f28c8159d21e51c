//! The sender, and collectors good and bad.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use tempfile::TempDir;

use super::*;

/// Several times every promised bound.
const PATIENCE: Duration = Duration::from_secs(10);

/// The contents of the whole frames that `bytes` begin with; control frames count as empty ones.
pub(super) fn whole_frames(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some((prefix, rest)) = bytes.split_first_chunk::<4>() {
        let Some((frame, rest)) = rest.split_at_checked(u32::from_be_bytes(*prefix) as usize) else { break };
        frames.push(frame.to_vec());
        bytes = rest;
    }
    frames
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let clock = Clock::start();
    while !condition() {
        assert!(clock.elapsed() < PATIENCE, "in vain: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// A tap whose sender runs.
struct Tapped {
    dir: TempDir,
    tap: Tap,
    running: Running,
}

impl Tapped {
    fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let (taps, output) = taps(Settings { socket: dir.path().join("tap.sock"), ..settings() }, 1);
        let running = output.start(Clock::start()).unwrap();
        Self { dir, tap: taps.into_iter().next().unwrap(), running }
    }

    fn listen(&self) -> UnixListener {
        let path = self.dir.path().join("tap.sock");
        let _ = std::fs::remove_file(&path);
        UnixListener::bind(path).unwrap()
    }

    /// Records exchanges number `from` to before `to`, each recognisable.
    fn record(&mut self, numbers: std::ops::Range<u32>) {
        for number in numbers {
            let bytes = number.to_be_bytes();
            self.tap.record(&exchange(&bytes, &[&bytes[..], &[0; 200]].concat()));
        }
    }
}

/// Takes a connection and does the handshake.
fn accept(listener: &UnixListener) -> UnixStream {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    expect(&mut stream, Control::Ready);
    stream.write_all(&Control::Accept.frame()).unwrap();
    expect(&mut stream, Control::Start);
    stream
}

fn expect(stream: &mut UnixStream, control: Control) {
    let mut bytes = vec![0; control.frame().len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, control.frame(), "{control:?}");
}

/// The next data frame; `None`: a control frame begins.
fn next(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).unwrap();
    let len = u32::from_be_bytes(prefix) as usize;
    let mut frame = vec![0; len];
    stream.read_exact(&mut frame).unwrap();
    (len > 0).then_some(frame)
}

fn message(number: u32, is_response: bool) -> Vec<u8> {
    let mut encoder = Encoder::new("ns1", "waypost 1");
    let bytes = number.to_be_bytes();
    let answer = [&bytes[..], &[0; 200]].concat();
    let mut out = Vec::new();
    if is_response {
        encoder.response(&exchange(&bytes, &answer), &mut out);
    } else {
        encoder.query(&exchange(&bytes, &answer), &mut out);
    }
    out
}

fn expect_messages(stream: &mut UnixStream, numbers: std::ops::Range<u32>) {
    for number in numbers {
        assert_eq!(next(stream), Some(message(number, false)), "query {number}");
        assert_eq!(next(stream), Some(message(number, true)), "answer {number}");
    }
}

#[test]
fn a_collector_gets_everything_in_order_and_a_farewell() {
    let mut tapped = Tapped::start();
    let listener = tapped.listen();
    tapped.record(0..100);
    let mut stream = accept(&listener);
    expect_messages(&mut stream, 0..100);
    let counts = tapped.running.counts();
    wait_until("counted", || counts.sent() == 200);
    assert!(counts.is_connected());
    tapped.record(100..5_000);
    let stopping = thread::spawn(move || tapped.running.stop());
    expect_messages(&mut stream, 100..5_000);
    assert_eq!(next(&mut stream), None);
    let mut rest = [0; 8];
    stream.read_exact(&mut rest).unwrap();
    assert_eq!(rest, [0, 0, 0, 4, 0, 0, 0, Control::Stop as u8]);
    stream.write_all(&Control::Finish.frame()).unwrap();
    stopping.join().unwrap();
    assert_eq!((counts.sent(), counts.dropped(), counts.is_connected()), (10_000, 0, false));
}

#[test]
fn a_collector_that_comes_back_gets_what_was_queued_meanwhile() {
    let mut tapped = Tapped::start();
    let listener = tapped.listen();
    tapped.record(0..10);
    let mut stream = accept(&listener);
    expect_messages(&mut stream, 0..10);
    drop((stream, listener));
    let counts = tapped.running.counts();
    wait_until("its end is noticed, also when nothing is sent", || !counts.is_connected());
    tapped.record(10..20);
    let listener = tapped.listen();
    expect_messages(&mut accept(&listener), 10..20);
}

#[test]
fn a_collector_that_never_reads_costs_messages_and_nothing_else() {
    let mut tapped = Tapped::start();
    let listener = tapped.listen();
    let stream = accept(&listener);
    let counts = tapped.running.counts();
    let clock = Clock::start();
    tapped.record(0..100_000);
    wait_until("the queue is full", || {
        let before = counts.dropped();
        tapped.record(0..1);
        counts.dropped() > before
    });
    assert!(counts.dropped() > 50_000, "{}", counts.dropped());
    let before_ms = clock.mono();
    tapped.running.stop();
    let took = clock.mono().since(before_ms);
    assert!(took < sender::FLUSH * 3, "a stop is bounded: {took:?}");
    drop(stream);
}

#[test]
fn who_does_not_answer_the_greeting_or_wants_something_else_gets_nothing() {
    let mut tapped = Tapped::start();
    tapped.record(0..10);
    let listener = tapped.listen();
    for answer in [b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Control::Finish.frame()] {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        expect(&mut stream, Control::Ready);
        stream.write_all(&answer).unwrap();
        assert_eq!(stream.read(&mut [0; 64]).unwrap_or(0), 0, "it hangs up");
    }
    let (mut silent, _) = listener.accept().unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    expect(&mut silent, Control::Ready);
    assert_eq!(silent.read(&mut [0; 64]).unwrap_or(0), 0, "it hangs up in the end");
    expect_messages(&mut accept(&listener), 0..10);
}

#[test]
fn a_stop_does_not_wait_for_a_collector_that_is_not_there() {
    let mut tapped = Tapped::start();
    tapped.record(0..10);
    let clock = Clock::start();
    tapped.running.stop();
    assert!(clock.elapsed() < sender::FLUSH * 3);
    assert!(!Path::new("nowhere.sock").exists());
}
