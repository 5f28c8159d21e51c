//! Records as they stand in a message, encoded before anybody asks, but for their compression pointers: what those point
//! to stands elsewhere in every message.
//!
//! Writing one is a copy, then a store for each pointer. A pointer is kept as its two bytes' `Code` until then.

use super::names::Names;
use super::reply::{MAX_POINTER, pointer};

/// How far into a template its own pointers reach: what stands behind is written, but not pointed to. Far more than a
/// UDP message holds, and little enough that a chain of aliases may stand before it (RFC 1035 4.1.4).
pub(super) const REACH: usize = 6 * 1024;

const _: () = assert!(REACH < MAX_POINTER && REACH < Code::WITHIN as usize);

/// Some records.
#[derive(Debug, Default)]
pub struct Template {
    /// The records; at most 65,000 bytes.
    pub bytes: Box<[u8]>,
    /// Where in `bytes` a `Code` stands for a pointer, in ascending order.
    pub pointers: Box<[u16]>,
    /// Number of records.
    pub count: u16,
}

impl Template {
    /// Fills `room`, which is as long as the template. What it follows in the message, and may point into, begins at
    /// `start`: itself, or templates that were encoded together with it.
    pub(super) fn write(&self, room: &mut [u8], start: usize, names: &Names) {
        room.copy_from_slice(&self.bytes);
        for &at in &self.pointers {
            let Some(bytes) = room.get_mut(at.into()..).and_then(<[u8]>::first_chunk_mut) else { continue };
            *bytes = pointer(Code(u16::from_be_bytes(*bytes)).place(start, names));
        }
    }

    /// The TTL of the first record, whose owner is a pointer.
    pub(super) fn ttl(&self) -> [u8; 4] {
        self.bytes.get(6..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
    }

    /// How much of the name at its end, in bytes, stands in the message already, as the end of the owner.
    pub(super) fn shared(&self) -> usize {
        let last = self
            .bytes
            .last_chunk()
            .filter(|_| self.pointers.last().is_some_and(|&at| usize::from(at) + 2 == self.bytes.len()));
        last.and_then(|code| Code(u16::from_be_bytes(*code)).suffix_len()).unwrap_or(0)
    }
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(u16);

impl Code {
    /// The newest of the message's names, whole, however long it is.
    pub(super) const NAME: Self = Self(0);
    /// Set in what counts from where the templates begin, else it is a suffix.
    const WITHIN: u16 = 0x8000;

    /// The last `len` bytes of the newest of the message's names.
    pub(super) fn suffix(len: usize) -> Self {
        Self(len as u16) // a name's: at most 255
    }

    /// So many bytes behind where the templates begin; absent beyond [`REACH`].
    pub(super) fn within(offset: usize) -> Option<Self> {
        (offset <= REACH).then_some(Self(Self::WITHIN | offset as u16))
    }

    /// As it is kept in a template.
    pub(super) fn to_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    fn suffix_len(self) -> Option<usize> {
        (self.0 & Self::WITHIN == 0).then_some(self.0.into())
    }

    fn place(self, start: usize, names: &Names) -> usize {
        match self.suffix_len() {
            Some(0) => names.at(),
            Some(len) => names.suffix(len),
            None => start + usize::from(self.0 & !Self::WITHIN),
        }
    }
}
