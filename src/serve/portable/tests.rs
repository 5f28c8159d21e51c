//! The adapter alone, before responders that misbehave. What it answers in earnest is compared with the production front
//! end's answers in `tests/second_opinion`.

use hickory_server::proto::op::OpCode;

use super::*;

/// Says what it was told to say, or panics.
struct Parrot(fn(&[u8]) -> Vec<u8>);

impl Responder for Parrot {
    fn refresh(&mut self) {}

    fn respond(&mut self, query: Query<'_>, out: &mut [u8]) -> usize {
        let words = (self.0)(query.bytes);
        out[..words.len()].copy_from_slice(&words);
        words.len()
    }

    fn record_batch(&mut self, _queries: usize, _nanos: u64) {}
}

/// `a.example. IN SRV`, RD set, under id 7, with an OPT record of 512 bytes payload.
const QUERY: &[u8] =
    b"\0\x07\x01\0\0\x01\0\0\0\0\0\x01\x01a\x07example\0\0\x21\0\x01\0\0\x29\x02\0\0\0\0\0\0\0";

fn engine(parrot: fn(&[u8]) -> Vec<u8>) -> Engine<Parrot> {
    Engine::new(Parrot(parrot), Clock::start(), Arc::new(Stats::default()))
}

fn request(protocol: Protocol) -> Request {
    Request::from_bytes(QUERY.to_vec(), ([192, 0, 2, 1], 4000).into(), protocol).unwrap()
}

/// The query as a response, with `count` SRV records whose owner and target are pointers to the question's name: 20 bytes
/// each, but 29 to who does not compress targets (RFC 2782).
fn compressed(query: &[u8], count: u8) -> Vec<u8> {
    let (opt, mut bytes) = (query[QUERY.len() - 11..].to_vec(), query[..QUERY.len() - 11].to_vec());
    bytes[2] |= 0x80;
    bytes[7] = count;
    for index in 0..count {
        bytes.extend([0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, 8, 0, index, 0, 0, 0, 80, 0xc0, 12]);
    }
    [bytes, opt].concat()
}

#[test]
fn the_responder_sees_the_query_as_it_was_sent() {
    let engine = engine(|bytes| {
        assert_eq!(bytes, QUERY);
        compressed(bytes, 1)
    });
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let message = engine.answer(&request(protocol)).unwrap();
        assert_eq!((message.answers.len(), message.metadata.truncation), (1, false));
    }
    assert_eq!(engine.stats.panics.get(), 0);
}

#[test]
fn silence_stays_silence() {
    assert!(engine(|_| Vec::new()).answer(&request(Protocol::Udp)).is_none());
}

#[test]
fn a_panic_costs_one_query_and_is_counted() {
    let engine = engine(|_| panic!("on purpose"));
    assert!(engine.answer(&request(Protocol::Udp)).is_none());
    assert!(engine.answer(&request(Protocol::Tcp)).is_none());
    assert_eq!(engine.stats.panics.get(), 2);
}

#[test]
fn an_answer_that_nobody_can_read_becomes_servfail() {
    let message = engine(|_| vec![0xff; 40]).answer(&request(Protocol::Udp)).unwrap();
    assert_eq!(message.metadata.response_code, ResponseCode::ServFail);
    assert_eq!((message.metadata.id, message.metadata.op_code), (7, OpCode::Query));
    assert_eq!((message.queries.len(), message.metadata.recursion_desired), (1, true));
    assert!(message.edns.is_some());
}

#[test]
fn an_answer_that_grows_beyond_the_limit_is_emptied_over_udp_alone() {
    // 20 records take 448 bytes as they come, and 628 as hickory-proto writes them.
    let engine = engine(|bytes| compressed(bytes, 20));
    assert_eq!(compressed(QUERY, 20).len(), 438);
    let udp = engine.answer(&request(Protocol::Udp)).unwrap();
    assert_eq!((udp.answers.len(), udp.metadata.truncation), (0, true));
    assert!(udp.edns.is_some());
    let tcp = engine.answer(&request(Protocol::Tcp)).unwrap();
    assert_eq!((tcp.answers.len(), tcp.metadata.truncation), (20, false));
}
