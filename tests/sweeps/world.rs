//! Who asks, and what is asked before an axis changes it.

use hickory_proto::op::Message;

use crate::packet::{self, World, legal::Setup};

/// Decoding takes longer than answering: so many queries have one whose answers the second implementation decodes. Odd, so
/// that no axis skips a bit by it.
const DECODED_EACH: u64 = 17;

pub(crate) const NOERROR: u16 = 0;
pub(crate) const FORMERR: u16 = 1;
pub(crate) const NXDOMAIN: u16 = 3;
pub(crate) const NOTIMP: u16 = 4;
pub(crate) const REFUSED: u16 = 5;
pub(crate) const BADVERS: u16 = 16;

const A: u16 = 1;
const TXT: u16 = 16;

/// A question, and the rcode of its answer.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) qtype: u16,
    pub(crate) rcode: u16,
}

/// One of each kind whose answer fits everywhere.
pub(crate) const KINDS: [Kind; 6] = [
    Kind { name: "www.gslb.example.com", qtype: A, rcode: NOERROR }, // a service
    Kind { name: "static.gslb.example.com", qtype: A, rcode: NOERROR }, // static data
    Kind { name: "x.wild.gslb.example.com", qtype: A, rcode: NOERROR }, // a wildcard
    Kind { name: "nothing.gslb.example.com", qtype: A, rcode: NXDOMAIN },
    Kind { name: "www.example.org", qtype: A, rcode: REFUSED }, // outside every zone
    Kind { name: "host.sub.gslb.example.com", qtype: A, rcode: NOERROR }, // delegated
];

/// Those whose answers are too long for a datagram, or for most: what they get depends on the sizes.
pub(crate) const LONG: [Kind; 5] = [
    Kind { name: "mid.gslb.example.com", qtype: TXT, rcode: NOERROR }, // between 512 and 1,232 bytes
    Kind { name: "many.gslb.example.com", qtype: A, rcode: NOERROR },  // a service with a hundred addresses
    Kind { name: "x.big.gslb.example.com", qtype: A, rcode: NOERROR }, // a referral with much glue
    Kind { name: "huge.gslb.example.com", qtype: TXT, rcode: NOERROR }, // more than 1,232 bytes
    Kind { name: "giant.gslb.example.com", qtype: TXT, rcode: NOERROR }, // nearly all that TCP has room for
];

/// Somebody who asks everything over UDP and TCP and accepts only legal answers.
pub(crate) struct Asker {
    pub(crate) world: World,
    pub(crate) asked: u64,
}

impl Asker {
    pub(crate) fn new() -> Self {
        Self::of(World::new(Setup::ORDINARY))
    }

    pub(crate) fn of(world: World) -> Self {
        Self { world, asked: 0 }
    }

    /// Gives the rcodes over UDP and TCP, 0 for silence.
    pub(crate) fn ask(&mut self, packet: &[u8]) -> [u16; 2] {
        self.asked += 1;
        let rcodes = self.world.rcodes(packet);
        if self.asked.is_multiple_of(DECODED_EACH) {
            self.world.answers(packet).iter().for_each(|answer| decode(packet, answer));
        }
        rcodes
    }
}

/// Lets the second implementation read an answer.
fn decode(packet: &[u8], answer: &[u8]) {
    if !answer.is_empty() {
        let decoded = Message::from_vec(answer);
        assert!(decoded.is_ok(), "{decoded:?}: {packet:02x?} {answer:02x?}");
    }
}

/// Places of the parts of a query with an empty OPT record.
pub(crate) struct Places {
    pub(crate) qtype: usize,
    pub(crate) qclass: usize,
    /// The OPT record's class and TTL.
    pub(crate) payload: usize,
    pub(crate) extended: usize,
}

/// A query with an empty OPT record.
pub(crate) fn query(kind: Kind) -> (Vec<u8>, Places) {
    let mut bytes = packet::query(kind.name, kind.qtype, None);
    let end = bytes.len();
    bytes[11] = 1;
    bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    (bytes, Places { qtype: end - 4, qclass: end - 2, payload: end + 3, extended: end + 5 })
}

/// Overwrites two bytes.
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
