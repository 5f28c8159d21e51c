//! The names that an answer is about, and where they stand in the message: the question's, then each that an alias led
//! to. Whatever ends like one of them points there (RFC 1035 4.1.4).

use super::answer::RECORD_HEAD_LEN;
use super::reply::MAX_POINTER;
use super::template::REACH;
use super::wire::{HEADER_LEN, MAX_NAME_LEN};

/// Most aliases that one answer follows. A longer chain, or a loop, is answered as far as it was followed: the
/// resolver asks for the rest, or finds the loop itself.
pub const MAX_ALIASES: usize = 16;

/// Where a name ends at the latest if more is to follow it: from there on pointers still reach through a whole
/// [`REACH`]. No chain gets there.
const MAX_END: usize = MAX_POINTER - REACH;

/// The longest chain: each alias and the DNAME that makes it have names of the greatest length.
const LONGEST_CHAIN: usize =
    HEADER_LEN + MAX_NAME_LEN + 4 + MAX_ALIASES * 2 * (RECORD_HEAD_LEN + MAX_NAME_LEN);
const _: () = assert!(LONGEST_CHAIN <= MAX_END);

/// Where one name stands.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    at: u16,
    /// Its length in wire form, uncompressed.
    len: u16,
    /// How many bytes at its end are those of the name before it, in some letter case: a pointer may stand for them.
    shared: u16,
    /// Its [`mark`].
    mark: u64,
}

/// The names, the newest last; at least one.
#[derive(Debug)]
pub(super) struct Names {
    names: [Standing; MAX_ALIASES + 1],
    count: usize,
}

impl Names {
    /// The question's name alone.
    pub(super) fn new(qname: &[u8]) -> Self {
        let mut names = [Standing::default(); MAX_ALIASES + 1];
        names[0] = Standing { at: HEADER_LEN as u16, len: qname.len() as u16, shared: 0, mark: mark(qname) }; // at most 255
        Self { names, count: 1 }
    }

    /// Whether no alias was followed yet.
    pub(super) fn is_question(&self) -> bool {
        self.count == 1
    }

    /// Adds a name that stands at `at`, its last `shared` bytes with the name before it. `false`: it is there already,
    /// or one too many, or too far behind.
    pub(super) fn push(&mut self, message: &[u8], name: &[u8], at: usize, shared: usize) -> bool {
        let mark = mark(name);
        let mut alike = (1..=self.count).filter(|&count| self.is_marked(count, mark, name.len()));
        let is_loop = alike.any(|count| self.is_name(message, count, name));
        if is_loop || at + name.len() > MAX_END {
            return false;
        }
        let Some(free) = self.names.get_mut(self.count) else { return false };
        *free = Standing { at: at as u16, len: name.len() as u16, shared: shared as u16, mark }; // at most MAX_END
        self.count += 1;
        true
    }

    /// Where the newest name stands.
    pub(super) fn at(&self) -> usize {
        self.suffix(self.first(self.count).last().map_or(0, |name| name.len.into()))
    }

    /// Where the last `len` bytes of the newest name stand.
    pub(super) fn suffix(&self, len: usize) -> usize {
        let holder = self.first(self.count).iter().rev().find(|name| len > usize::from(name.shared));
        holder.map_or(HEADER_LEN, |name| usize::from(name.at + name.len).saturating_sub(len))
    }

    /// Whether the name with this number, from 1, may be one with that mark and length.
    fn is_marked(&self, number: usize, mark: u64, len: usize) -> bool {
        self.first(number).last().is_some_and(|name| name.mark == mark && usize::from(name.len) == len)
    }

    /// Whether the name with this number, from 1, is `name` (lower case), which is as long.
    fn is_name(&self, message: &[u8], number: usize, name: &[u8]) -> bool {
        let names = self.first(number);
        let mut rest = name;
        for standing in names.iter().rev() {
            let Some(own_len) = rest.len().checked_sub(standing.shared.into()) else { continue };
            let (own, shared) = rest.split_at_checked(own_len).unwrap_or((rest, &[]));
            let at = usize::from(standing.at + standing.len).saturating_sub(rest.len());
            if !message.get(at..at + own_len).is_some_and(|there| there.eq_ignore_ascii_case(own)) {
                return false;
            }
            rest = shared;
        }
        true
    }

    fn first(&self, count: usize) -> &[Standing] {
        self.names.get(..count).unwrap_or_default()
    }
}

/// Tells a name (lower case) from nearly all others: every step of a chain is compared with all before it, and names of
/// 255 bytes that a chain of DNAMEs leads to differ in a few bytes somewhere.
fn mark(name: &[u8]) -> u64 {
    let (chunks, rest) = name.as_chunks::<8>();
    let tail = rest.iter().fold(0, |tail, byte| tail << 8 | u64::from(*byte));
    chunks.iter().fold(tail, |mark, chunk| mark.rotate_left(7) ^ u64::from_le_bytes(*chunk))
}
