//! What a worker counts: written by one thread, read by anybody, without locks.
//!
//! Each counter has a single writer, so adding is a relaxed load and a relaxed store: a plain add on every machine, and
//! no reader ever sees half a number. Sums over workers are made by whoever reads ([`sum`]).

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::answer::Slot;
use super::cookie::Standing;
use super::wire::{Question, Rcode, Silence};
use super::{Query, Transport, limit};
use crate::region::geo::By;

/// Decision counters of a worker; [`Slot`]s beyond count at position 0.
pub const DECISION_SLOTS: usize = 65_536;

/// Upper bounds of the response durations' buckets, in nanoseconds; one more bucket holds the rest.
pub const DURATION_BOUNDS_NS: [u64; 16] = [
    250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000,
    4_000_000, 16_000_000, 64_000_000,
];

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    /// The family of a peer; an IPv4 address inside an IPv6 one is IPv4.
    pub fn of(peer: IpAddr) -> Self {
        if peer.to_canonical().is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

macro_rules! query_types {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $word:literal;)*) => {
        /// Types that are counted apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum QueryType {
            $($variant,)*
            /// Any other type, or none that could be read.
            Other,
        }

        impl QueryType {
            /// Every one.
            pub const ALL: [Self; 15] = [$(Self::$variant,)* Self::Other];

            /// The class of a type's number.
            pub const fn of(qtype: u16) -> Self {
                match qtype {
                    $($number => Self::$variant,)*
                    _ => Self::Other,
                }
            }

            /// The word that people and scripts see.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other => "other",
                }
            }
        }
    };
}

query_types! {
    A = 1, "A";
    Ns = 2, "NS";
    Cname = 5, "CNAME";
    Soa = 6, "SOA";
    Ptr = 12, "PTR";
    Mx = 15, "MX";
    Txt = 16, "TXT";
    Aaaa = 28, "AAAA";
    Srv = 33, "SRV";
    Ds = 43, "DS";
    Svcb = 64, "SVCB";
    Https = 65, "HTTPS";
    Any = 255, "ANY";
    Caa = 257, "CAA";
}

/// What the rate limit did to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Sent without content, truncated.
    Slip,
    /// Sent without content to a client that knows cookies, with a good one.
    BadCookie,
    /// Sent as it was, because limits are only tried out.
    DryRun,
}

impl Limited {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Slip, Self::BadCookie, Self::DryRun];

    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slip => "slip",
            Self::BadCookie => "badcookie",
            Self::DryRun => "dry_run",
        }
    }
}

type Row<const LEN: usize> = [AtomicU64; LEN];

/// What one worker has counted. Everything only grows.
pub struct Counters {
    queries: [[Row<{ QueryType::ALL.len() }>; 2]; 2],
    responses: [Row<{ Rcode::ALL.len() }>; 2],
    silences: Row<2>,
    cookies: Row<{ Standing::ALL.len() }>,
    limited: Row<{ Limited::ALL.len() }>,
    lookups: Row<{ By::ALL.len() }>,
    durations: Row<{ DURATION_BOUNDS_NS.len() + 1 }>,
    duration_sum_ns: AtomicU64,
    decisions: Box<[AtomicU64]>,
}

impl Counters {
    /// Counters at zero.
    pub fn new() -> Self {
        Self::with_decisions(DECISION_SLOTS)
    }

    fn with_decisions(slots: usize) -> Self {
        let decisions = (0..slots).map(|_| AtomicU64::new(0)).collect();
        Self {
            queries: Default::default(),
            responses: Default::default(),
            silences: Default::default(),
            cookies: Default::default(),
            limited: Default::default(),
            lookups: Default::default(),
            durations: Default::default(),
            duration_sum_ns: AtomicU64::new(0),
            decisions,
        }
    }

    /// Queries of that kind.
    pub fn queries(&self, transport: Transport, family: Family, qtype: QueryType) -> u64 {
        read(&self.queries[transport as usize][family as usize][qtype as usize])
    }

    /// Answers with that code.
    pub fn responses(&self, transport: Transport, rcode: Rcode) -> u64 {
        read(&self.responses[transport as usize][rcode as usize])
    }

    /// Messages that got no answer, for that reason.
    pub fn silences(&self, silence: Silence) -> u64 {
        read(&self.silences[silence as usize])
    }

    /// Well-formed cookies that came, by what they say.
    pub fn cookies(&self, standing: Standing) -> u64 {
        read(&self.cookies[standing as usize])
    }

    /// Answers that the rate limit did this to.
    pub fn limited(&self, limited: Limited) -> u64 {
        read(&self.limited[limited as usize])
    }

    /// Clients looked up, by what placed them.
    pub fn lookups(&self, by: By) -> u64 {
        read(&self.lookups[by as usize])
    }

    /// Decisions counted at that position; 0 beyond [`DECISION_SLOTS`].
    pub fn decisions(&self, position: u32) -> u64 {
        self.decisions.get(position as usize).map_or(0, read)
    }

    /// Answers by duration: one more bucket than [`DURATION_BOUNDS_NS`], each without those below it.
    pub fn durations(&self) -> [u64; DURATION_BOUNDS_NS.len() + 1] {
        self.durations.each_ref().map(read)
    }

    /// What all answers took together, in nanoseconds.
    pub fn duration_sum_ns(&self) -> u64 {
        read(&self.duration_sum_ns)
    }

    pub(super) fn count_query(&self, query: &Query<'_>, question: Option<&Question<'_>>) {
        let qtype = question.map_or(QueryType::Other, |question| QueryType::of(question.qtype));
        add(&self.queries[query.transport as usize][Family::of(query.peer) as usize][qtype as usize], 1);
    }

    pub(super) fn count_response(&self, transport: Transport, rcode: Rcode) {
        add(&self.responses[transport as usize][rcode as usize], 1);
    }

    pub(super) fn count_silence(&self, silence: Silence) {
        add(&self.silences[silence as usize], 1);
    }

    pub(super) fn count_cookie(&self, standing: Standing) {
        add(&self.cookies[standing as usize], 1);
    }

    pub(super) fn count_limited(&self, limited: Limited) {
        add(&self.limited[limited as usize], 1);
    }

    pub(super) fn count_lookup(&self, by: By) {
        add(&self.lookups[by as usize], 1);
    }

    pub(super) fn count_decision(&self, slot: Slot, by: By) {
        let position = if by == By::Unmapped { slot.unmapped } else { slot.mapped };
        if let Some(counter) = self.decisions.get(position as usize).or_else(|| self.decisions.first()) {
            add(counter, 1);
        }
    }

    fn count_batch(&self, queries: u64, nanos: u64) {
        let Some(each_ns) = nanos.checked_div(queries) else { return };
        let bucket = DURATION_BOUNDS_NS.partition_point(|&bound| bound < each_ns);
        add(&self.durations[bucket], queries);
        add(&self.duration_sum_ns, nanos);
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive() // tens of thousands of numbers
    }
}

/// One number of several workers, added up.
pub fn sum<'a>(workers: impl IntoIterator<Item = &'a Counters>, one: impl Fn(&Counters) -> u64) -> u64 {
    workers.into_iter().map(one).sum()
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Adds to a counter that only this thread writes.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

/// What belongs to one worker: the writing end of its counters, and its hold on the table of limits. Not cloned: a
/// counter has one writer.
#[derive(Debug)]
pub struct Worker {
    counters: Arc<Counters>,
    /// Shared with the other workers. Not part of the view: limits outlive reloads.
    limits: Option<Arc<limit::Table>>,
}

impl Worker {
    /// A worker with counters at zero, whose answers are not limited.
    pub fn new() -> Self {
        Self { counters: Arc::new(Counters::new()), limits: None }
    }

    /// A worker with counters at zero, which limits answers by this table when the settings say so.
    pub fn limiting(limits: Arc<limit::Table>) -> Self {
        Self { limits: Some(limits), ..Self::new() }
    }

    /// A worker for questions that nobody counts decisions of: without the half megabyte of counters for them.
    pub fn uncounted() -> Self {
        Self { counters: Arc::new(Counters::with_decisions(0)), limits: None }
    }

    /// The reading end, for metrics.
    pub fn shared(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Notes that `queries` answers took `nanos` nanoseconds together: each counts with the mean.
    pub fn record_batch(&mut self, queries: usize, nanos: u64) {
        self.counters.count_batch(queries as u64, nanos);
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(super) fn limits(&self) -> Option<&limit::Table> {
        self.limits.as_deref()
    }
}

impl Default for Worker {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
