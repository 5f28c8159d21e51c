//! One DNS thread's queue: exchanges as bytes, one behind the other, in a ring of fixed size.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rtrb::{Consumer, Producer, RingBuffer};

use super::Exchange;
use crate::dns::Transport;

/// Bytes of a queue. Some 10,000 exchanges of usual size: at 200,000 queries a second, 50 ms in which the sender may be
/// off the processor. Also more than the longest exchange, so that each fits when the queue is empty.
pub(super) const QUEUE_BYTES: usize = 2 << 20;

/// Bytes before each exchange's query and answer.
const HEADER_BYTES: usize = 54;

/// Bits of a header's first byte.
const TCP: u8 = 1;
const V6: u8 = 2;
const HAS_LOCAL: u8 = 4;

/// The two ends of a new queue.
pub(super) fn new() -> (Writer, Queue) {
    let (producer, consumer) = RingBuffer::new(QUEUE_BYTES);
    (Writer { ring: producer }, Queue { ring: consumer, bytes: Vec::new() })
}

/// The writing end.
#[derive(Debug)]
pub(super) struct Writer {
    ring: Producer<u8>,
}

impl Writer {
    /// Queues all of an exchange, or nothing: false.
    pub(super) fn push(&mut self, exchange: &Exchange<'_>) -> bool {
        let (Ok(query_len), Ok(answer_len)) =
            (u16::try_from(exchange.query.len()), u16::try_from(exchange.answer.len()))
        else {
            return false;
        };
        let len = HEADER_BYTES + exchange.query.len() + exchange.answer.len();
        // The first number is this thread's own and often enough.
        if self.ring.cached_slots() < len && self.ring.slots() < len {
            return false;
        }
        // The parts become visible one by one; the reader waits until an exchange is whole.
        [&header(exchange, query_len, answer_len)[..], exchange.query, exchange.answer]
            .iter()
            .all(|part| self.ring.push_entire_slice(part).is_ok())
    }
}

/// The reading end.
#[derive(Debug)]
pub(super) struct Queue {
    ring: Consumer<u8>,
    /// The exchange taken last.
    bytes: Vec<u8>,
}

impl Queue {
    /// Takes the oldest exchange out.
    pub(super) fn pop(&mut self) -> Option<Exchange<'_>> {
        let mut header = [0; HEADER_BYTES];
        let chunk = self.ring.read_chunk(HEADER_BYTES).ok()?;
        let (first, second) = chunk.as_slices();
        // Not committed: the header stays until the rest is there.
        header.iter_mut().zip(first.iter().chain(second)).for_each(|(to, from)| *to = *from);
        let (query_len, answer_len) = lengths(&header);
        self.bytes.resize(HEADER_BYTES + query_len + answer_len, 0);
        self.ring.pop_entire_slice(&mut self.bytes).ok()?;
        let (query, answer) = self.bytes.get(HEADER_BYTES..)?.split_at_checked(query_len)?;
        Some(exchange(&header, query, answer))
    }
}

fn header(exchange: &Exchange<'_>, query_len: u16, answer_len: u16) -> [u8; HEADER_BYTES] {
    let mut flags = 0;
    for (flag, is_set) in [
        (TCP, exchange.transport == Transport::Tcp),
        (V6, exchange.peer.is_ipv6()),
        (HAS_LOCAL, exchange.local.is_some()),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    let mut header = [0; HEADER_BYTES];
    header[0] = flags;
    header[2..4].copy_from_slice(&exchange.peer.port().to_ne_bytes());
    header[4..6].copy_from_slice(&exchange.port.to_ne_bytes());
    header[6..8].copy_from_slice(&query_len.to_ne_bytes());
    header[8..10].copy_from_slice(&answer_len.to_ne_bytes());
    header[10..14].copy_from_slice(&exchange.time.subsec_nanos().to_ne_bytes());
    header[14..22].copy_from_slice(&exchange.time.as_secs().to_ne_bytes());
    header[22..38].copy_from_slice(&wide(exchange.peer.ip()));
    header[38..54].copy_from_slice(&exchange.local.map_or([0; 16], wide));
    header
}

fn lengths(header: &[u8; HEADER_BYTES]) -> (usize, usize) {
    let at = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    (at(6), at(8))
}

fn exchange<'a>(header: &[u8; HEADER_BYTES], query: &'a [u8], answer: &'a [u8]) -> Exchange<'a> {
    let flags = header[0];
    let is_v6 = flags & V6 != 0;
    let peer = SocketAddr::new(narrow(part(header, 22), is_v6), u16::from_ne_bytes(part(header, 2)));
    let (secs, nanos) = (u64::from_ne_bytes(part(header, 14)), u32::from_ne_bytes(part(header, 10)));
    Exchange {
        transport: if flags & TCP != 0 { Transport::Tcp } else { Transport::Udp },
        peer,
        local: (flags & HAS_LOCAL != 0).then(|| narrow(part(header, 38), is_v6)),
        port: u16::from_ne_bytes(part(header, 4)),
        time: Duration::new(secs, nanos),
        query,
        answer,
    }
}

fn part<const LEN: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; LEN] {
    let mut part = [0; LEN];
    part.copy_from_slice(&header[at..at + LEN]);
    part
}

/// 16 bytes of either family.
fn wide(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

fn narrow(bytes: [u8; 16], is_v6: bool) -> IpAddr {
    let v6 = Ipv6Addr::from(bytes);
    if is_v6 { v6.into() } else { v6.to_ipv4_mapped().map_or(v6.into(), IpAddr::from) }
}
