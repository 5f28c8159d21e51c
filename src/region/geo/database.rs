//! What a geo file says, without the file: the whole of both address families, cut into ranges of one place each.
//!
//! It is kept beside the compiled table, for explaining and for compiling anew when only the rules change, and it is
//! what survives a restart. It holds places and no homes, so that it serves whatever the rules say by then.

mod bytes;

pub use bytes::StoredError;

use std::fmt;

use super::super::iso::{Continent, Country};
use super::address::{Bits, Network};

/// How far ahead of the clock a build date may lie, in seconds; beyond, the age is unknown.
const CLOCK_SLACK_S: u64 = 24 * 60 * 60;

/// What a geo file says of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The country.
    pub country: Option<Country>,
    /// The continent that the record names itself.
    pub own_continent: Option<Continent>,
}

impl Place {
    /// The continent: the record's own, else the country's.
    pub fn continent(self) -> Option<Continent> {
        self.own_continent.or_else(|| self.country?.continent())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.country, self.continent()) {
            (Some(country), Some(continent)) => write!(f, "{country} ({continent})"),
            (Some(country), None) => write!(f, "{country}"),
            (None, Some(continent)) => write!(f, "{continent}"),
            (None, None) => f.write_str("not in the database"),
        }
    }
}

/// The number of a place in [`Database`]; 0 is no place.
pub(in crate::region) type PlaceId = u16;

/// The places of both address families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Build date, in seconds since 1970 UTC, as the file says it.
    pub(in crate::region) build_epoch_s: u64,
    /// Networks whose country code does not exist.
    pub(in crate::region) unknown_codes: u64,
    /// By [`PlaceId`]; the first is no place.
    pub(in crate::region) places: Vec<Place>,
    pub(in crate::region) v4: Spans<u32>,
    pub(in crate::region) v6: Spans<u128>,
}

impl Database {
    /// A database that knows no place.
    pub fn empty() -> Self {
        Self {
            build_epoch_s: 0,
            unknown_codes: 0,
            places: vec![Place::default()],
            v4: Spans::new(),
            v6: Spans::new(),
        }
    }

    /// Build date as the file says it, in seconds since 1970 UTC.
    pub const fn build_epoch_s(&self) -> u64 {
        self.build_epoch_s
    }

    /// Build date in seconds since 1970 UTC; `None` when it lies more than a day ahead of `wall_s`, which no age can be
    /// computed from.
    pub const fn build_s(&self, wall_s: u64) -> Option<u64> {
        if self.build_epoch_s > wall_s.saturating_add(CLOCK_SLACK_S) {
            None
        } else {
            Some(self.build_epoch_s)
        }
    }

    /// Whether this file was built before `other`. A build date that no age can be computed from is older than nothing,
    /// and nothing is older than it.
    pub fn older_than(&self, other: &Self, wall_s: u64) -> bool {
        self.build_s(wall_s).zip(other.build_s(wall_s)).is_some_and(|(ours, theirs)| ours < theirs)
    }

    /// Networks of the file whose country code ISO 3166 does not know: their country was left out.
    pub const fn unknown_codes(&self) -> u64 {
        self.unknown_codes
    }

    /// Ranges of one place, in both families.
    pub fn ranges(&self) -> usize {
        self.v4.starts.len() + self.v6.starts.len()
    }

    /// Size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.v4.bytes() + self.v6.bytes() + size_of_val(&*self.places)
    }

    /// The place of an address, with the largest block around it of which the database says the same.
    pub(in crate::region) fn find<A: Bits>(&self, spans: &Spans<A>, addr: A) -> (Place, Network) {
        let (id, first, last) = spans.find(addr);
        let left = if first == A::MIN { 0 } else { addr.common(first.before()) + 1 };
        let right = last.after().map_or(0, |next| addr.common(next) + 1);
        let len = left.max(right);
        let network = Network { addr: addr.first_of_block(len).to_addr(), len };
        (self.places.get(usize::from(id)).copied().unwrap_or_default(), network)
    }
}

/// One family, whole: ascending first addresses, the lowest address first, neighbours of different places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::region) struct Spans<A> {
    starts: Vec<A>,
    places: Vec<PlaceId>,
}

impl<A: Bits> Spans<A> {
    pub(in crate::region) fn new() -> Self {
        Self { starts: vec![A::MIN], places: vec![0] }
    }

    /// Adds a network behind all others. Errors: it begins before the last one ends.
    pub(in crate::region) fn append(&mut self, first: A, len: u8, place: PlaceId) -> Result<(), OutOfOrder> {
        let (&last, &open) = self.starts.last().zip(self.places.last()).ok_or(OutOfOrder)?;
        // Behind each network a range without a place is left open; the next one may begin with it, not before.
        if open != 0 || first < last || first.first_of_block(len) != first {
            return Err(OutOfOrder);
        }
        self.push(first, place);
        if let Some(next) = first.last_of_block(len).after() {
            self.push(next, 0);
        }
        Ok(())
    }

    fn push(&mut self, start: A, place: PlaceId) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.places.pop();
        }
        if self.places.last() != Some(&place) {
            self.starts.push(start);
            self.places.push(place);
        }
    }

    /// The ranges: first address and place.
    pub(super) fn iter(&self) -> impl Iterator<Item = (A, PlaceId)> {
        self.starts.iter().copied().zip(self.places.iter().copied())
    }

    /// The range around an address: place, first and last address.
    fn find(&self, addr: A) -> (PlaceId, A, A) {
        let behind = self.starts.partition_point(|&start| start <= addr);
        let at = behind.saturating_sub(1);
        let first = self.starts.get(at).copied().unwrap_or(A::MIN);
        let last = self.starts.get(behind).map_or(A::MAX, |next| next.before());
        (self.places.get(at).copied().unwrap_or(0), first, last)
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.places)
    }
}

/// A network that overlaps the one before it, or lies before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::region) struct OutOfOrder;
