//! Every name of every zone in one open-addressing table.
//!
//! A name that exists costs one hash and, nearly always, one comparison. A name that does not costs one more lookup when
//! the name right above it exists, and at most fourteen, however deep question and zones are: the table holds everything
//! above its names, so that a name exists in it whenever one below does, and halving finds where that ends.

use std::collections::BTreeMap;

use super::name::{self, Name};

/// Most labels of a name: it has 255 bytes, and the root takes one (RFC 1035 2.3.4).
const MAX_LABELS: usize = 127;

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
    names: Vec<Stored>,
    /// The names' bytes, one after the other.
    arena: Vec<u8>,
    /// Labels of the shallowest and of the deepest entry.
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
    stands: Stands,
}

/// What a stored name is there for.
#[derive(Clone, Copy, Debug)]
enum Stands {
    /// It is one of the entries.
    For(Entry),
    /// It lies above an entry and is none; the position (from 1) of its closest encloser, 0: it has none.
    Between(u32),
}

impl Table {
    pub(super) fn new(entries: &BTreeMap<Name, Entry>) -> Self {
        let mut table = Self {
            slots: vec![Slot::default(); ((entries.len() + between(entries).len()) * 2).next_power_of_two()]
                .into(),
            labels: (usize::MAX, 0),
            ..Self::default()
        };
        for (name, &entry) in entries {
            let labels = name::labels(name).count();
            table.labels = (table.labels.0.min(labels), table.labels.1.max(labels));
            table.store(name, Stands::For(entry));
        }
        for (name, encloser) in between(entries) {
            let position = encloser.and_then(|above| table.position(above)).unwrap_or(0);
            table.store(name, Stands::Between(position));
        }
        table
    }

    fn store(&mut self, name: &[u8], stands: Stands) {
        self.names.push(Stored { offset: self.arena.len() as u32, len: name.len() as u8, stands });
        self.arena.extend_from_slice(name);
        self.insert(hash(name), self.names.len() as u32);
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
        match self.stored(self.position(name)?)?.stands {
            Stands::For(entry) => Some(entry),
            Stands::Between(_) => None,
        }
    }

    /// The closest encloser (RFC 4592 3.3.1): the nearest name above this one that exists.
    pub(super) fn encloser(&self, name: &[u8]) -> Option<(&[u8], Entry)> {
        // Where the labels begin. Written out: there may be 127, and each step of a chain of aliases comes through here.
        let mut starts = [0; MAX_LABELS + 1];
        let (mut labels, mut at): (usize, usize) = (0, 0);
        for start in &mut starts {
            *start = at as u8; // a name has 255 bytes
            let Some(&len @ 1..) = name.get(at) else { break };
            labels += 1;
            at += 1 + usize::from(len);
        }
        let found = self.deepest_stored(name, &starts, labels)?;
        let mut stored = self.stored(found)?;
        if let Stands::Between(encloser) = stored.stands {
            stored = self.stored(encloser)?;
        }
        match stored.stands {
            Stands::For(entry) => Some((self.name(stored), entry)),
            Stands::Between(_) => None,
        }
    }

    /// The position of the deepest stored name above this one, whose labels begin at `starts`. What is stored stays so
    /// with more labels taken off: so the likeliest is tried, the name right above, and then there are steps down from
    /// the root's side, ever wider and halved where they went too far. Names there are short, and most that do not exist
    /// end not far below the apex.
    fn deepest_stored(&self, name: &[u8], starts: &[u8], labels: usize) -> Option<u32> {
        let (shallowest, deepest) = self.labels;
        let position = |taken: usize| self.position(name.get(usize::from(*starts.get(taken)?)..)?);
        let mut missing = labels.saturating_sub(deepest).max(1);
        let mut present = (labels + 1).checked_sub(shallowest)?;
        if missing >= present {
            return None;
        }
        let mut found = position(missing);
        if found.is_some() {
            return found;
        }
        let mut step = 1;
        while present - missing > 1 {
            let taken = present - step.min((present - missing) / 2);
            match position(taken) {
                Some(position) => {
                    found = Some(position);
                    present = taken;
                    step *= 2;
                }
                None => missing = taken,
            }
        }
        found
    }

    /// The position of a stored name, from 1.
    fn position(&self, name: &[u8]) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let hash = hash(name);
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots.get(at)?;
            // A free slot ends the search, and half of them are free.
            let stored = self.stored(slot.position)?;
            if slot.tag == (hash >> 32) as u32 && self.name(stored) == name {
                return Some(slot.position);
            }
            at = (at + 1) & mask;
        }
    }

    fn stored(&self, position: u32) -> Option<&Stored> {
        self.names.get((position as usize).checked_sub(1)?)
    }

    fn name(&self, stored: &Stored) -> &[u8] {
        let offset = stored.offset as usize;
        self.arena.get(offset..offset + usize::from(stored.len)).unwrap_or_default()
    }
}

/// Names above entries that are none themselves, each with its closest encloser among the entries.
fn between(entries: &BTreeMap<Name, Entry>) -> BTreeMap<&[u8], Option<&[u8]>> {
    let mut between = BTreeMap::new();
    for name in entries.keys() {
        let above = || name::ancestors(name).skip(1);
        let encloser = above().find(|above| entries.contains_key(*above));
        let gap = above().take_while(|above| Some(*above) != encloser);
        between.extend(gap.map(|above| (above, encloser)));
    }
    between
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

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// Up to six labels of two, so that names often lie above one another.
    fn any_name() -> impl Strategy<Value = Name> {
        vec(prop_oneof![Just(b'a'), Just(b'b')], 0..7).prop_map(|labels| {
            let wire: Vec<u8> = labels.into_iter().flat_map(|label| [1, label]).chain([0]).collect();
            wire.into()
        })
    }

    proptest! {
        #[test]
        fn every_name_has_the_encloser_that_a_look_at_each_name_above_it_finds(
            names in btree_set(any_name(), 0..20),
            asked in vec(any_name(), 20),
        ) {
            let entry = |at| Entry { zone: 0, at: At::Cut(at) };
            let entries: BTreeMap<Name, Entry> = names.into_iter().zip((0..).map(entry)).collect();
            let table = Table::new(&entries);
            for name in asked {
                prop_assert_eq!(table.exact(&name), entries.get(&name).copied());
                let above = name::ancestors(&name).skip(1).find_map(|above| entries.get_key_value(above));
                let expected = above.map(|(above, entry)| (&**above, *entry));
                prop_assert_eq!(table.encloser(&name), expected);
            }
        }
    }
}
