//! What a service answers, encoded before anybody asks: service x home x {A, AAAA, CNAME}.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::chunked::Chunked;
use super::reply::{self, Full, Reply, Section};
use crate::health::Mono;
use crate::region::RegionId;

pub(super) const TYPE_A: u16 = 1;
pub(super) const TYPE_CNAME: u16 = 5;
pub(super) const TYPE_AAAA: u16 = 28;

/// Bytes of a record before its data, when its owner is a pointer: pointer, type, class, TTL, length.
pub(super) const RECORD_HEAD_LEN: usize = 12;

/// Longest encoded answer, in bytes: what a 65,535-byte message holds beside header, question and OPT record. Records
/// beyond are left out.
const MAX_ENCODED_LEN: usize = 65_000;

/// A pointer to the question's name (RFC 1035 4.1.4).
const QNAME_POINTER: [u8; 2] = [0xc0, 0x0c];
const CLASS_IN: [u8; 2] = [0, 1];

/// Position of a service in the configuration; the zones and the answer table share it.
pub type ServiceIndex = u32;

/// How long an answer may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlRule {
    /// Seconds while nothing changes.
    pub ttl_s: u32,
    /// Never less than this, in seconds.
    pub min_s: u32,
    /// Never beyond this moment (a drain's start or end), but for `min_s`.
    pub deadline: Option<Mono>,
}

impl TtlRule {
    /// The TTL at `now`, in seconds.
    pub fn at(self, now: Mono) -> u32 {
        match self.deadline {
            None => self.ttl_s,
            Some(deadline) => {
                let left_s = u32::try_from(deadline.since(now).as_secs()).unwrap_or(u32::MAX);
                left_s.min(self.ttl_s).max(self.min_s)
            }
        }
    }
}

/// The data of one answer, before it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// Addresses of both families, in file order; a family that the service lacks is empty.
    Addresses {
        /// For A.
        v4: Vec<Ipv4Addr>,
        /// For AAAA.
        v6: Vec<Ipv6Addr>,
    },
    /// An alias, in uncompressed wire form.
    Cname(Vec<u8>),
    /// Nobody is able and the operator chose silence's loud form.
    Servfail,
}

/// What a service answers to the users of one home, before it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeReply {
    /// The data.
    pub records: Records,
    /// How long it may be kept.
    pub ttl: TtlRule,
    /// The counter of such decisions, when something placed the client and when nothing did.
    pub slot: Slot,
}

/// Which counters a decision adds to: positions in the worker's decision counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// For clients that something placed.
    pub mapped: u32,
    /// For clients that nothing placed.
    pub unmapped: u32,
}

/// What one service answers, encoded, by home.
#[derive(Debug)]
pub struct ServiceAnswers {
    homes: Box<[HomeAnswer]>,
    /// Whether any home's answer has addresses of that family.
    a: bool,
    aaaa: bool,
    /// Whether any home's answer is one to every type: an alias, or a failure.
    every: bool,
}

impl ServiceAnswers {
    /// Encodes the replies, one a home, by [`RegionId::index`].
    pub fn encode(replies: &[HomeReply]) -> Self {
        let homes: Box<[HomeAnswer]> = replies.iter().map(HomeAnswer::encode).collect();
        let addresses =
            |family: fn(&HomeAnswer) -> Option<&Encoded>| homes.iter().any(|home| family(home).is_some());
        let a = addresses(|home| home.encoded(TYPE_A));
        let aaaa = addresses(|home| home.encoded(TYPE_AAAA));
        let every = homes.iter().any(|home| !matches!(home.data, Data::Addresses { .. }));
        Self { homes, a, aaaa, every }
    }

    /// Whether there is a reply for `home`.
    pub fn has(&self, home: RegionId) -> bool {
        self.home(home).is_some()
    }

    /// What it answers to users of `home`.
    pub(super) fn home(&self, home: RegionId) -> Option<&HomeAnswer> {
        self.homes.get(home.index())
    }

    /// Whether the service says anything to such a question. Never depends on who asks: a family is listed by every
    /// region or by none.
    pub const fn covers(&self, qtype: u16) -> bool {
        match qtype {
            TYPE_A => self.a || self.every,
            TYPE_AAAA => self.aaaa || self.every,
            _ => self.every,
        }
    }
}

/// What one service answers to the users of one home, encoded.
#[derive(Debug)]
pub(super) struct HomeAnswer {
    data: Data,
    /// How long it may be kept.
    pub(super) ttl: TtlRule,
    /// The counters of such decisions.
    pub(super) slot: Slot,
}

#[derive(Debug)]
enum Data {
    Addresses { a: Encoded, aaaa: Encoded },
    Alias(Encoded),
    Failure,
}

impl HomeAnswer {
    fn encode(reply: &HomeReply) -> Self {
        let data = match &reply.records {
            Records::Addresses { v4, v6 } => Data::Addresses {
                a: Encoded::new(TYPE_A, v4.iter().map(Ipv4Addr::octets)),
                aaaa: Encoded::new(TYPE_AAAA, v6.iter().map(Ipv6Addr::octets)),
            },
            Records::Cname(target) => Data::Alias(Encoded::new(TYPE_CNAME, [target])),
            Records::Servfail => Data::Failure,
        };
        Self { data, ttl: reply.ttl, slot: reply.slot }
    }

    /// The records for a question of that type, if there are any.
    pub(super) fn encoded(&self, qtype: u16) -> Option<&Encoded> {
        let encoded = match (&self.data, qtype) {
            (Data::Addresses { a, .. }, TYPE_A) => a,
            (Data::Addresses { aaaa, .. }, TYPE_AAAA) => aaaa,
            (Data::Alias(alias), _) => alias,
            _ => return None,
        };
        (encoded.count > 0).then_some(encoded)
    }

    /// Whether the answer is SERVFAIL, to every type.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(self.data, Data::Failure)
    }
}

/// Records of one type and one length, each with the pointer 0xC00C for its owner: copied as they are, from any one
/// of them on, then given their TTL at fixed offsets.
#[derive(Debug)]
pub(super) struct Encoded {
    bytes: Box<[u8]>,
    /// Length of a record, in bytes; at least 12.
    stride: usize,
    count: u16,
}

impl Encoded {
    fn new<D: AsRef<[u8]>>(rtype: u16, data: impl IntoIterator<Item = D>) -> Self {
        let mut bytes = Vec::new();
        let mut stride = RECORD_HEAD_LEN;
        let mut count = 0;
        for data in data {
            let data = data.as_ref();
            stride = RECORD_HEAD_LEN + data.len();
            if bytes.len() + stride > MAX_ENCODED_LEN {
                break;
            }
            bytes.extend_from_slice(&QNAME_POINTER);
            bytes.extend_from_slice(&rtype.to_be_bytes());
            bytes.extend_from_slice(&CLASS_IN);
            bytes.extend_from_slice(&[0; 4]); // the TTL
            bytes.extend_from_slice(&(data.len() as u16).to_be_bytes()); // bounded by MAX_ENCODED_LEN
            bytes.extend_from_slice(data);
            count += 1;
        }
        Self { bytes: bytes.into(), stride, count }
    }

    /// Writes the records into the answer section, beginning with the one at `turn` modulo their number; their owner
    /// stands at `owner` of the message.
    pub(super) fn write(
        &self,
        reply: &mut Reply<'_>,
        owner: usize,
        ttl_s: u32,
        turn: u16,
    ) -> Result<(), Full> {
        let room = reply.reserve(self.bytes.len())?;
        let first = usize::from(turn.checked_rem(self.count).unwrap_or(0)) * self.stride;
        let (tail, head) = self.bytes.split_at_checked(first).ok_or(Full)?;
        let (front, back) = room.split_at_mut_checked(head.len()).ok_or(Full)?;
        front.copy_from_slice(head);
        back.copy_from_slice(tail);
        let (ttl, owner) = (ttl_s.to_be_bytes(), reply::pointer(owner));
        for record in room.chunks_exact_mut(self.stride) {
            if let Some([o0, o1, _, _, _, _, t0, t1, t2, t3, ..]) =
                record.first_chunk_mut::<RECORD_HEAD_LEN>()
            {
                [*o0, *o1] = owner;
                [*t0, *t1, *t2, *t3] = ttl;
            }
        }
        reply.count(Section::Answer, self.count);
        Ok(())
    }
}

/// Every service's answers, in chunks, so that one service's change copies one chunk.
#[derive(Clone, Debug, Default)]
pub struct AnswerTable(Chunked<ServiceAnswers>);

impl AnswerTable {
    /// A table of these services.
    pub fn new(services: Vec<Arc<ServiceAnswers>>) -> Self {
        Self(services.into_iter().collect())
    }

    /// What the service answers.
    pub fn service(&self, index: ServiceIndex) -> Option<&ServiceAnswers> {
        self.0.get(index).map(|answers| &**answers)
    }

    /// Puts other answers in a service's place; out of range: ignored.
    pub fn replace(&mut self, index: ServiceIndex, answers: Arc<ServiceAnswers>) {
        self.0.replace(index, answers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(n: u8) -> Arc<ServiceAnswers> {
        let records = Records::Addresses { v4: vec![[192, 0, 2, n].into()], v6: Vec::new() };
        let ttl = TtlRule { ttl_s: 30, min_s: 5, deadline: None };
        Arc::new(ServiceAnswers::encode(&[HomeReply { records, ttl, slot: Slot::default() }]))
    }

    #[test]
    fn replacing_one_service_leaves_the_others_and_other_tables_as_they_are() {
        let old = AnswerTable::new((0..130).map(service).collect());
        let mut new = old.clone();
        let other = service(200);
        new.replace(129, Arc::clone(&other));
        new.replace(130, Arc::clone(&other));
        assert!(std::ptr::eq(new.service(129).unwrap(), &raw const *other));
        assert!(!std::ptr::eq(old.service(129).unwrap(), &raw const *other));
        assert!((0..129).all(|index| std::ptr::eq(old.service(index).unwrap(), new.service(index).unwrap())));
        assert!(new.service(130).is_none());
    }

    #[test]
    fn a_service_covers_the_families_it_lists_and_an_alias_everything() {
        let encode = |records| {
            let ttl = TtlRule { ttl_s: 30, min_s: 5, deadline: None };
            ServiceAnswers::encode(&[HomeReply { records, ttl, slot: Slot::default() }])
        };
        let v6 = encode(Records::Addresses { v4: Vec::new(), v6: vec![Ipv6Addr::LOCALHOST] });
        assert_eq!([TYPE_A, TYPE_AAAA, 16].map(|qtype| v6.covers(qtype)), [false, true, false]);
        let alias = encode(Records::Cname(vec![1, b'a', 0]));
        assert_eq!([TYPE_A, TYPE_AAAA, 16].map(|qtype| alias.covers(qtype)), [true; 3]);
    }
}
