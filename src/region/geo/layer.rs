//! Layers: the whole address space of one family, cut into ranges that each have a value. What the database says, what
//! the operator says and which blocks are special are one layer each; the table is what comes out on top.

use super::address::Bits;

/// The whole space, as ascending first addresses of ranges, the lowest address first, neighbours of different value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer<A, T>(Vec<(A, T)>);

impl<A: Bits, T: Copy + Eq> Layer<A, T> {
    /// The same everywhere.
    pub(super) fn uniform(value: T) -> Self {
        Self(vec![(A::MIN, value)])
    }

    /// One value inside the blocks (first and last address; ascending, disjoint), another outside.
    pub(super) fn of_blocks(blocks: &[(A, A)], inside: T, outside: T) -> Self {
        let mut layer = Self::uniform(outside);
        for &(first, last) in blocks {
            layer.push(first, inside);
            if let Some(next) = last.after() {
                layer.push(next, outside);
            }
        }
        layer
    }

    /// A layer of ranges that begin at the ascending addresses of `starts`, and at the lowest one.
    pub(super) fn of_starts(starts: impl Iterator<Item = (A, T)>, before: T) -> Self {
        let mut layer = Self::uniform(before);
        starts.for_each(|(start, value)| layer.push(start, value));
        layer
    }

    /// Both layers' values, combined.
    pub(super) fn zip<U: Copy + Eq, V: Copy + Eq>(
        &self,
        other: &Layer<A, U>,
        combine: impl Fn(T, U) -> V,
    ) -> Layer<A, V> {
        let (&[(_, mut mine), ref own @ ..], &[(_, mut theirs), ref top @ ..]) = (&self.0[..], &other.0[..])
        else {
            return Layer(Vec::new());
        };
        let mut layer = Layer(Vec::with_capacity(self.0.len()));
        layer.push(A::MIN, combine(mine, theirs));
        let (mut own, mut top) = (own.iter().peekable(), top.iter().peekable());
        loop {
            let start = match (own.peek(), top.peek()) {
                (Some(a), Some(b)) => a.0.min(b.0),
                (Some(a), None) => a.0,
                (None, Some(b)) => b.0,
                (None, None) => return layer,
            };
            if let Some(&(_, value)) = own.next_if(|next| next.0 == start) {
                mine = value;
            }
            if let Some(&(_, value)) = top.next_if(|next| next.0 == start) {
                theirs = value;
            }
            layer.push(start, combine(mine, theirs));
        }
    }

    /// The ranges: first address and value.
    pub(super) fn ranges(&self) -> &[(A, T)] {
        &self.0
    }

    /// Begins a range at `start`, at or behind the last one's.
    fn push(&mut self, start: A, value: T) {
        if self.0.last().is_some_and(|&(last, _)| last == start) {
            self.0.pop();
        }
        if self.0.last().is_none_or(|&(_, last)| last != value) {
            self.0.push((start, value));
        }
    }
}
