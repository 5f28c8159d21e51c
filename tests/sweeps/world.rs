//! Who asks, and what is asked before an axis changes it.

use hickory_proto::op::Message;
use waypost::dns::{MAX_TCP_SIZE, Transport, View, Worker};

use crate::packet::{self, legal};

/// Decoding takes longer than answering: every so many answers one is decoded by the second implementation.
const DECODED_EACH: u64 = 16;

pub(crate) const NOERROR: u16 = 0;
pub(crate) const FORMERR: u16 = 1;
pub(crate) const NXDOMAIN: u16 = 3;
pub(crate) const NOTIMP: u16 = 4;
pub(crate) const REFUSED: u16 = 5;
pub(crate) const BADVERS: u16 = 16;

/// One name of each kind, with the rcode of its answers.
pub(crate) const KINDS: [(&str, u16); 6] = [
    ("www.gslb.example.com", NOERROR),    // a service
    ("static.gslb.example.com", NOERROR), // static data
    ("x.wild.gslb.example.com", NOERROR), // a wildcard
    ("nothing.gslb.example.com", NXDOMAIN),
    ("www.example.org", REFUSED),           // outside every zone
    ("host.sub.gslb.example.com", NOERROR), // delegated
];

/// Somebody who asks and accepts only legal answers.
pub(crate) struct Asker {
    view: View,
    worker: Worker,
    out: Vec<u8>,
    pub(crate) asked: u64,
}

impl Asker {
    pub(crate) fn new() -> Self {
        Self::of(packet::view(0))
    }

    pub(crate) fn of(view: View) -> Self {
        Self { view, worker: Worker::new(), out: vec![0; MAX_TCP_SIZE], asked: 0 }
    }

    /// Asks over UDP and TCP by turns; gives the rcode, 0 for silence.
    pub(crate) fn ask(&mut self, packet: &[u8]) -> u16 {
        let transport = if self.asked.is_multiple_of(2) { Transport::Udp } else { Transport::Tcp };
        self.asked += 1;
        let rcode = self.ask_over(packet, transport);
        if self.asked.is_multiple_of(DECODED_EACH) {
            self.decode_last(packet, transport);
        }
        rcode
    }

    pub(crate) fn ask_over(&mut self, packet: &[u8], transport: Transport) -> u16 {
        let len = packet::ask(&self.view, &mut self.worker, packet, transport, &mut self.out);
        legal::assert_legal(packet, transport, &self.out[..len])
    }

    /// Answers once more and lets the second implementation read it.
    fn decode_last(&mut self, packet: &[u8], transport: Transport) {
        let len = packet::ask(&self.view, &mut self.worker, packet, transport, &mut self.out);
        if len > 0 {
            let decoded = Message::from_vec(&self.out[..len]);
            assert!(decoded.is_ok(), "{decoded:?}: {packet:02x?} {:02x?}", &self.out[..len]);
        }
    }

    /// The parts of the world, for who measures.
    pub(crate) fn parts(&mut self) -> (&View, &mut Worker, &mut [u8]) {
        (&self.view, &mut self.worker, &mut self.out)
    }
}

/// Places of the parts of a query for `name` with an empty OPT record.
pub(crate) struct Places {
    pub(crate) qtype: usize,
    pub(crate) qclass: usize,
    /// The OPT record's class and TTL.
    pub(crate) payload: usize,
    pub(crate) extended: usize,
}

/// A query for A with an empty OPT record.
pub(crate) fn query(name: &str) -> (Vec<u8>, Places) {
    let mut bytes = packet::query(name, 1, None);
    let end = bytes.len();
    bytes[11] = 1;
    bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    (bytes, Places { qtype: end - 4, qclass: end - 2, payload: end + 3, extended: end + 5 })
}

/// Overwrites two bytes.
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
