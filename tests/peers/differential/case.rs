//! One query with the answers to it.

use super::answer::Answer;
use super::queries::Query;
use super::zones::World;

const TYPE_RRSIG: u16 = 46;
const TYPE_NSEC: u16 = 47;
const NOTIMP: u16 = 4;

/// One query with the three answers to it.
pub(super) struct Case<'a> {
    pub(super) query: &'a Query,
    pub(super) world: &'a World,
    pub(super) waypost: &'a Answer,
    pub(super) nsd: &'a Answer,
    pub(super) knot: &'a Answer,
    /// What the peers' answers over UDP left of the space that they had.
    pub(super) room: Room,
    /// What Knot says to a client that asks it as often as it takes; asked only where Waypost says something else.
    pub(super) resolved: Option<Answer>,
}

/// Bytes that an answer over UDP leaves of what the client takes; none where it said that something did not fit (TC), and
/// what counts came over TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) nsd: Option<usize>,
    pub(super) knot: Option<usize>,
}

/// Whose answer Waypost's is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    Both,
    NsdAlone,
    KnotAlone,
    Neither,
}

impl Agreement {
    pub(super) const fn as_text(self) -> &'static str {
        match self {
            Self::Both => "as both peers",
            Self::NsdAlone => "as NSD alone",
            Self::KnotAlone => "as Knot alone",
            Self::Neither => "as neither",
        }
    }
}

impl Case<'_> {
    pub(super) fn agreement(&self) -> Agreement {
        match (self.waypost == self.nsd, self.waypost == self.knot) {
            (true, true) => Agreement::Both,
            (true, false) => Agreement::NsdAlone,
            (false, true) => Agreement::KnotAlone,
            (false, false) => Agreement::Neither,
        }
    }

    /// Whether Knot treats the query's type as no other.
    pub(super) fn is_special_to_knot(&self) -> bool {
        is_special_to_knot(self.query.qtype, self.knot)
    }

    /// Knot's answer, as far as a client can get it.
    pub(super) fn knot_at_last(&self) -> &Answer {
        self.resolved.as_ref().unwrap_or(self.knot)
    }
}

/// Types that Knot does not answer as it answers others: some it does not implement; RRSIG and NSEC it takes for data
/// that an alias has beside itself, which no unsigned zone has.
pub(super) fn is_special_to_knot(qtype: u16, knot: &Answer) -> bool {
    matches!(qtype, TYPE_RRSIG | TYPE_NSEC) || knot.rcode == NOTIMP
}
