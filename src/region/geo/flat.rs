//! The hot table of one address family: sorted ranges, an index over their first addresses, and beside each range what
//! the scope needs, so that a lookup reads one place in each of three arrays.
//!
//! Ranges are split by what a client gets *and* by what placed it, because both are counted; but the scope is about
//! what a client gets alone: it belongs to the *run* of neighbouring ranges that give the same. Let the run be [S, E] and
//! the range in it [s, e]. Of three addresses in order the outer two have the shorter of both prefixes in common:
//!
//! ```text
//! S-1 < s <= a   so   common(a, S-1) = min(common(a, s), common(s, S-1))
//! ```
//!
//! The second term does not depend on the address: it is kept beside the range. The other end likewise. The block of
//! `max(common(a, S-1), common(a, E+1)) + 1` bits around `a` is the largest aligned one that leaves out both neighbours.

use super::address::Bits;
use super::layer::Layer;
use super::{By, RegionId};

/// What an address gets, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) home: RegionId,
    pub(super) by: By,
    /// As a client subnet it says nothing: whoever sent it is looked at instead.
    pub(super) local: bool,
    /// Scope prefix length in bits.
    pub(super) scope: u8,
}

/// The value of a range: eight bits, and a ninth for blocks that this table only has as neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(u16);

impl Code {
    /// IPv6 addresses that are read as IPv4: never looked up here, but nothing may merge with them.
    pub(super) const ELSEWHERE: Self = Self(1 << 8);

    pub(super) const fn new(home: RegionId, by: By, local: bool) -> Self {
        Self((home.index() as u16) << 3 | (by as u16) << 1 | local as u16)
    }

    /// What decides whether two ranges give the same: the home, but for local addresses, whose home is their sender's.
    const fn gives(self) -> u16 {
        match self {
            Self::ELSEWHERE => 1 << 8,
            Self(code) if code & 1 == 1 => 1 << 9,
            Self(code) => code >> 3,
        }
    }
}

/// A range beside its first address.
#[derive(Clone, Copy, Debug)]
struct Cell {
    code: u8,
    /// Bits that the range's first address has in common with the address before its run, plus one; 0: there is none.
    left: u8,
    /// Bits that the range's last address has in common with the address behind its run, plus one; 0: there is none.
    right: u8,
}

impl Cell {
    #[inline]
    fn spot(self, scope: u8) -> Spot {
        let by = By::ALL[usize::from(self.code >> 1 & 3)];
        let home = RegionId::new(usize::from(self.code >> 3)).unwrap_or(RegionId(0));
        Spot { home, by, local: self.code & 1 == 1, scope }
    }
}

/// Where an index lies in the address space, and how fine it may become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<A> {
    /// The first address.
    pub(super) base: A,
    /// Prefix length of the window.
    pub(super) len: u8,
    /// Most bits behind the window's prefix that the index tells apart.
    pub(super) bits: u8,
}

/// Sorted ranges of one family.
#[derive(Debug)]
pub(super) struct Flat<A> {
    base: A,
    shift: u8,
    /// For each bin of the window, and the one behind: the range that holds its first address.
    index: Box<[u32]>,
    starts: Box<[A]>,
    cells: Box<[Cell]>,
}

impl<A: Bits> Flat<A> {
    pub(super) fn build(layer: &Layer<A, Code>, window: Window<A>) -> Self {
        let starts: Box<[A]> = layer.ranges().iter().map(|&(start, _)| start).collect();
        // A small table gets a small index: about four bins a range.
        let bits = window.bits.min((starts.len().ilog2() + 2) as u8);
        let shift = A::WIDTH - window.len - bits;
        let index = (0..=1_usize << bits).map(|bin| match A::nth_block(window.base, shift, bin) {
            Some(first) => starts.partition_point(|&start| start <= first).saturating_sub(1) as u32,
            None => (starts.len() - 1) as u32,
        });
        Self { base: window.base, shift, index: index.collect(), cells: cells(layer), starts }
    }

    /// Looks an address up: one place in the index, few in the ranges.
    #[inline]
    pub(super) fn find(&self, addr: A) -> Spot {
        let at = self.position(addr);
        let cell = self.cells[at];
        let left = cell.left.min(addr.common(self.starts[at]) + 1);
        let right = match self.starts.get(at + 1) {
            Some(next) => cell.right.min(addr.common(next.before()) + 1),
            None => 0,
        };
        cell.spot(left.max(right))
    }

    #[inline]
    fn position(&self, addr: A) -> usize {
        let bin = addr.blocks_from(self.base, self.shift);
        let (first, last) = match self.index.get(bin..).and_then(|bins| bins.first_chunk::<2>()) {
            Some(&[first, last]) => (first as usize, last as usize),
            None => (0, self.starts.len() - 1),
        };
        first + self.starts[first + 1..=last].partition_point(|&start| start <= addr)
    }

    /// How many ranges there are.
    pub(super) fn ranges(&self) -> usize {
        self.starts.len()
    }

    /// Size of the arrays in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.index) + size_of_val(&*self.starts) + size_of_val(&*self.cells)
    }
}

fn cells<A: Bits>(layer: &Layer<A, Code>) -> Box<[Cell]> {
    let ranges = layer.ranges();
    let mut cells: Vec<Cell> =
        ranges.iter().map(|&(_, code)| Cell { code: code.0 as u8, left: 0, right: 0 }).collect();
    let mut run_start = A::MIN;
    for (at, &(start, code)) in ranges.iter().enumerate() {
        if at > 0 && ranges[at - 1].1.gives() != code.gives() {
            run_start = start;
        }
        if run_start != A::MIN {
            cells[at].left = start.common(run_start.before()) + 1;
        }
    }
    let mut behind_run = None;
    for at in (0..ranges.len().saturating_sub(1)).rev() {
        let (next, next_code) = ranges[at + 1];
        if next_code.gives() != ranges[at].1.gives() {
            behind_run = Some(next);
        }
        if let Some(behind) = behind_run {
            cells[at].right = next.before().common(behind) + 1;
        }
    }
    cells.into()
}
