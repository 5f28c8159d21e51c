//! Records to templates: names are compressed at load, as far as what they end in is sure to stand in the message.
//!
//! Owners are compressed in every type; names in data in the types of RFC 1035 alone, as a reader may not look for
//! pointers in the data of others (RFC 3597 4), and nothing points into the data of those. Names that differ in letter
//! case are one (RFC 4343): what is compressed takes the letters of what stands there, for the end of the question's
//! name those of the question.

use std::collections::BTreeMap;

use domain::base::iana::Rtype;

use super::super::template::{Code, Template};
use super::draft::DraftSet;
use super::name::{self, Name};

/// Bytes of a record before its data, when its owner is a pointer: pointer, type, class, TTL, length.
pub(super) const RECORD_HEAD_LEN: usize = POINTER_LEN + TAIL_HEAD_LEN;
/// Longest template, in bytes: what a 65,535-byte message holds beside header, question and OPT record.
pub(super) const MAX_LEN: usize = 65_000;
const POINTER_LEN: usize = 2;
/// Type, class, TTL, length.
const TAIL_HEAD_LEN: usize = 10;
/// Class IN.
const CLASS_IN: [u8; 2] = [0, 1];

/// Composes templates that follow one another in a message.
#[derive(Debug)]
pub(super) struct Composer<'n> {
    /// What the newest of the message's names is known to end in.
    ending: &'n [u8],
    /// The owner of [`Self::own`] records.
    owner: Code,
    /// Names that can be pointed to, in lower case.
    known: BTreeMap<Name, Code>,
    /// The length of the templates that were taken.
    taken_len: usize,
    bytes: Vec<u8>,
    pointers: Vec<u16>,
    count: u16,
}

impl<'n> Composer<'n> {
    /// For a message whose newest name is `owner`, or ends in it; a wildcard stands for a name of any length.
    pub(super) fn new(owner: &'n [u8]) -> Self {
        let (ending, code) = match name::parent(owner).filter(|_| name::is_wildcard(owner)) {
            Some(parent) => (parent, Code::NAME),
            None => (owner, Code::suffix(owner.len())),
        };
        let (known, bytes, pointers) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { ending, owner: code, known, taken_len: 0, bytes, pointers, count: 0 }
    }

    /// Adds the owner's own records.
    pub(super) fn own(&mut self, rtype: Rtype, ttl_s: u32, set: &DraftSet) {
        for (data, _) in &set.records {
            if self.has_room(POINTER_LEN, data) {
                self.pointer(self.owner);
                self.tail(rtype, ttl_s, data);
            }
        }
    }

    /// Adds records of another name.
    pub(super) fn other(&mut self, owner: &[u8], rtype: Rtype, set: &DraftSet) {
        for (data, _) in &set.records {
            if self.has_room(owner.len(), data) {
                self.name(owner);
                self.tail(rtype, set.ttl_s, data);
            }
        }
    }

    /// Takes what was added since the last time.
    pub(super) fn take(&mut self) -> Template {
        self.taken_len += self.bytes.len();
        Template {
            bytes: std::mem::take(&mut self.bytes).into(),
            pointers: std::mem::take(&mut self.pointers).into(),
            count: std::mem::take(&mut self.count),
        }
    }

    /// Whether a record fits even uncompressed: of optional data, what fits is kept. Other data was checked.
    fn has_room(&self, owner_len: usize, data: &[u8]) -> bool {
        self.bytes.len() + owner_len + TAIL_HEAD_LEN + data.len() <= MAX_LEN
    }

    /// Type, class, TTL, length and data of a record.
    fn tail(&mut self, rtype: Rtype, ttl_s: u32, data: &[u8]) {
        self.bytes.extend_from_slice(&rtype.to_int().to_be_bytes());
        self.bytes.extend_from_slice(&CLASS_IN);
        self.bytes.extend_from_slice(&ttl_s.to_be_bytes());
        let len_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.data(rtype, data);
        let len = self.bytes.len() - len_at - 2;
        if let Some(bytes) = self.bytes.get_mut(len_at..len_at + 2) {
            bytes.copy_from_slice(&(len as u16).to_be_bytes()); // longer data was refused when it was read
        }
        self.count = self.count.saturating_add(1);
    }

    fn data(&mut self, rtype: Rtype, data: &[u8]) {
        let (before_len, names) = compressible(rtype);
        let (before, mut rest) = data.split_at_checked(before_len).unwrap_or((data, &[]));
        self.bytes.extend_from_slice(before);
        for _ in 0..names {
            let end = name::wire_len(rest).unwrap_or(0);
            let (name, behind) = rest.split_at_checked(end).unwrap_or_default();
            self.name(name);
            rest = behind;
        }
        self.bytes.extend_from_slice(rest);
    }

    /// A name: its labels up to what is known, and a pointer there.
    fn name(&mut self, name: &[u8]) {
        if self.known.is_empty() {
            let endings = name::ancestors(self.ending).filter(|ending| *ending != name::ROOT);
            self.known = endings.map(|ending| (ending.into(), Code::suffix(ending.len()))).collect();
        }
        let lower = name.to_ascii_lowercase();
        for (rest, lower) in name::ancestors(name).zip(name::ancestors(&lower)) {
            if let Some(&known) = self.known.get(lower) {
                return self.pointer(known);
            }
            let label_len = rest.first().map_or(0, |&len| 1 + usize::from(len));
            if let Some(here) = Code::within(self.taken_len + self.bytes.len()).filter(|_| label_len > 1) {
                self.known.insert(lower.into(), here);
            }
            self.bytes.extend_from_slice(rest.get(..label_len).unwrap_or_default());
        }
    }

    fn pointer(&mut self, to: Code) {
        self.pointers.push(self.bytes.len() as u16); // at most MAX_LEN
        self.bytes.extend_from_slice(&to.to_bytes());
    }
}

/// Where the names in data of that type begin that may be compressed, and how many follow one another there.
const fn compressible(rtype: Rtype) -> (usize, usize) {
    match rtype {
        Rtype::NS | Rtype::MD | Rtype::MF | Rtype::CNAME | Rtype::MB | Rtype::MG | Rtype::MR | Rtype::PTR => {
            (0, 1)
        }
        Rtype::SOA | Rtype::MINFO => (0, 2),
        Rtype::MX => (2, 1),
        _ => (0, 0),
    }
}
