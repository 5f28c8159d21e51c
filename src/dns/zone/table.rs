//! Every name of every zone in one open-addressing table.
//!
//! A name that exists costs one hash and, nearly always, one comparison. A name that does not costs one more lookup
//! for each label between it and its closest encloser, and never more lookups than the deepest name of any zone has
//! labels, however long the question is.

use std::collections::BTreeMap;

use super::name::{self, Name};

/// What a name stands for. The numbers are positions in the lists of [`super::Zones`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) zone: u32,
    pub(super) at: At,
}

/// The two kinds of name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// A name of the zone, with the wildcard right below it, if there is one.
    Node { node: u32, wildcard: Option<u32> },
    /// A name where another zone begins.
    Cut(u32),
}

/// The table, never changed once made.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// A power of two of them, at most half of them taken; none when the table is empty.
    slots: Box<[Slot]>,
    names: Box<[Stored]>,
    /// The names' bytes, one after the other.
    arena: Box<[u8]>,
    /// Labels of the shallowest and of the deepest name.
    labels: (usize, usize),
}

/// Where a name is found.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The upper half of the hash.
    tag: u32,
    /// Position of the name, from 1; 0: the slot is free.
    position: u32,
}

#[derive(Debug)]
struct Stored {
    offset: u32,
    len: u8,
    entry: Entry,
}

impl Table {
    pub(super) fn new(entries: &BTreeMap<Name, Entry>) -> Self {
        let mut table = Self {
            slots: vec![Slot::default(); (entries.len() * 2).next_power_of_two()].into(),
            labels: (usize::MAX, 0),
            ..Self::default()
        };
        let (mut names, mut arena) = (Vec::with_capacity(entries.len()), Vec::new());
        for (name, &entry) in entries {
            let labels = name::labels(name).count();
            table.labels = (table.labels.0.min(labels), table.labels.1.max(labels));
            names.push(Stored { offset: arena.len() as u32, len: name.len() as u8, entry });
            arena.extend_from_slice(name);
            table.insert(hash(name), names.len() as u32);
        }
        table.names = names.into();
        table.arena = arena.into();
        table
    }

    fn insert(&mut self, hash: u64, position: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].position != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = Slot { tag: (hash >> 32) as u32, position };
    }

    /// What stands at exactly this name.
    pub(super) fn exact(&self, name: &[u8]) -> Option<Entry> {
        self.search(name).map(|stored| stored.entry)
    }

    /// The closest encloser (RFC 4592 3.3.1): the nearest name above this one that exists.
    pub(super) fn encloser(&self, name: &[u8]) -> Option<(&[u8], Entry)> {
        let (shallowest, deepest) = self.labels;
        let labels = name::ancestors(name).count().saturating_sub(1);
        let skipped = labels.saturating_sub(deepest).max(1);
        let left = (labels + 1).saturating_sub(shallowest.saturating_add(skipped));
        name::ancestors(name).skip(skipped).take(left).find_map(|above| {
            let hit = self.search(above)?;
            Some((self.name(hit), hit.entry))
        })
    }

    fn search(&self, name: &[u8]) -> Option<&Stored> {
        let mask = self.slots.len().checked_sub(1)?;
        let hash = hash(name);
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots.get(at)?;
            // A free slot ends the search, and half of them are free.
            let stored = self.names.get((slot.position as usize).checked_sub(1)?)?;
            if slot.tag == (hash >> 32) as u32 && self.name(stored) == name {
                return Some(stored);
            }
            at = (at + 1) & mask;
        }
    }

    fn name(&self, stored: &Stored) -> &[u8] {
        let offset = stored.offset as usize;
        self.arena.get(offset..offset + usize::from(stored.len)).unwrap_or_default()
    }
}

/// FNV-1a's shape over eight bytes at a time: xor, multiply; the shift brings what the multiplication carries up back
/// down to the bits that choose the slot. Keys are the operator's own, so nobody can choose them to collide.
fn hash(name: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ name.len() as u64;
    let mut mix = |chunk: [u8; 8]| {
        hash = (hash ^ u64::from_le_bytes(chunk)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    };
    let (chunks, rest) = name.as_chunks::<8>();
    for chunk in chunks {
        mix(*chunk);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    mix(last);
    hash
}
