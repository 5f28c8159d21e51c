//! An answer in a form in which answers of different servers can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::name::{MAX_LEN, Name};

const TYPE_NS: u16 = 2;
const TYPE_CNAME: u16 = 5;
const TYPE_DNAME: u16 = 39;
const TYPE_OPT: u16 = 41;

/// Most compression pointers that a name goes through.
const MAX_POINTERS: usize = 128;

/// What tells an RRset from others: owner in lower case, type, class, TTL.
pub(super) type SetKey = (Name, u16, u16, u32);

/// RRsets; the order of sets and of records says nothing (RFC 2181 5), neither does the letter case of names.
pub(super) type Sets = BTreeMap<SetKey, BTreeSet<Vec<u8>>>;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) rcode: u16,
    pub(super) authoritative: bool,
    pub(super) opt: bool,
    pub(super) answer: Sets,
    pub(super) authority: Sets,
    /// Of the additional section what a referral has to have: addresses of name servers at or below the cut (RFC 9471).
    pub(super) glue: Sets,
}

impl Answer {
    /// Whether it has no records.
    pub(super) fn is_empty(&self) -> bool {
        self.answer.is_empty() && self.authority.is_empty() && self.glue.is_empty()
    }

    /// Number of aliases in the answer section.
    pub(super) fn aliases(&self) -> usize {
        self.answer.keys().filter(|(_, rtype, ..)| *rtype == TYPE_CNAME).count()
    }

    /// Where the aliases of the answer section lead from `name`.
    pub(super) fn end_of_chain(&self, name: &Name) -> Name {
        let mut end = name.clone();
        let aliases = || self.answer.iter().filter(|((_, rtype, ..), _)| *rtype == TYPE_CNAME);
        for _ in aliases() {
            let alias = aliases().find(|((owner, ..), _)| *owner == end);
            let Some(target) = alias.and_then(|(_, data)| data.first()) else { break };
            end = Name(target.clone());
        }
        end
    }

    /// Whether a DNAME of the answer section makes a name that is too long of where the aliases lead from `name`.
    pub(super) fn outgrows(&self, name: &Name) -> bool {
        let end = self.end_of_chain(&name.lower());
        let dnames =
            self.answer.iter().filter(|((owner, rtype, ..), _)| *rtype == TYPE_DNAME && end.is_below(owner));
        dnames
            .flat_map(|((owner, ..), data)| {
                data.iter().map(|target| end.0.len() - owner.0.len() + target.len())
            })
            .any(|len| len > MAX_LEN)
    }

    /// This answer's alias chain, with what `rest` says of its end.
    pub(super) fn and_then(self, rest: Self) -> Self {
        let mut answer = self.answer;
        answer.extend(rest.answer);
        Self { answer, authoritative: self.authoritative, opt: self.opt, ..rest }
    }
}

/// Whether all of `part` is in `sets`, each RRset whole.
pub(super) fn contains(sets: &Sets, part: &Sets) -> bool {
    part.iter().all(|(key, data)| sets.get(key) == Some(data))
}

/// A decoded message.
pub(super) struct Decoded {
    pub(super) truncated: bool,
    /// Whether some record stands there twice.
    pub(super) repeats: bool,
    /// The question, letter case kept.
    pub(super) question: Vec<u8>,
    pub(super) answer: Answer,
}

impl Decoded {
    /// `None`: no well-formed message.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let &[_, _, flags, low, rest @ ..] = bytes.first_chunk::<12>()?;
        let [questions, answers, authorities, additionals] =
            [0, 2, 4, 6].map(|at| u16::from_be_bytes([rest[at], rest[at + 1]]));
        let mut reader = Reader { bytes, at: 12 };
        for _ in 0..questions {
            reader.name()?;
            reader.take(4)?;
        }
        let question = bytes.get(12..reader.at)?.to_vec();
        let (mut upper_rcode, mut opt, mut repeats) = (0, false, false);
        let mut sections = [Sets::new(), Sets::new(), Sets::new()];
        for (sets, count) in sections.iter_mut().zip([answers, authorities, additionals]) {
            for _ in 0..count {
                let record = reader.record()?;
                if record.key.1 == TYPE_OPT {
                    (upper_rcode, opt) = ((record.key.3 >> 24) as u16, true);
                } else {
                    repeats |= !sets.entry(record.key).or_default().insert(record.data);
                }
            }
        }
        let [answer, authority, additional] = sections;
        let glue = required_glue(&authority, additional);
        let rcode = upper_rcode << 4 | u16::from(low & 15);
        let authoritative = flags & 4 != 0;
        let answer = Answer { rcode, authoritative, opt, answer, authority, glue };
        let truncated = flags & 2 != 0;
        (reader.at == bytes.len()).then_some(Self { truncated, repeats, question, answer })
    }
}

fn required_glue(authority: &Sets, additional: Sets) -> Sets {
    let cut = authority.iter().find(|((_, rtype, ..), _)| *rtype == TYPE_NS);
    let Some(((cut, ..), servers)) = cut else { return Sets::new() };
    let needed = |(owner, rtype, ..): &SetKey| {
        matches!(rtype, 1 | 28) && owner.is_at_or_below(cut) && servers.contains(&owner.0)
    };
    additional.into_iter().filter(|(key, _)| needed(key)).collect()
}

struct Record {
    key: SetKey,
    data: Vec<u8>,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at + len)?;
        self.at += len;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// A name, in lower case, without compression.
    fn name(&mut self) -> Option<Name> {
        let mut name = Vec::new();
        let (mut at, mut end) = (self.at, None);
        for _ in 0..MAX_POINTERS {
            loop {
                let len = usize::from(*self.bytes.get(at)?);
                if len >= 0xc0 {
                    break;
                }
                name.extend(self.bytes.get(at..=at + len)?);
                at += 1 + len;
                if len == 0 {
                    self.at = end.unwrap_or(at);
                    return (name.len() <= 255).then(|| Name(name).lower());
                }
            }
            end = end.or(Some(at + 2));
            let pointer = u16::from_be_bytes([self.bytes[at], *self.bytes.get(at + 1)?]);
            at = usize::from(pointer & 0x3fff);
        }
        None
    }

    fn record(&mut self) -> Option<Record> {
        let owner = self.name()?;
        let (rtype, class) = (self.number()?, self.number()?);
        let ttl_s = u32::from(self.number()?) << 16 | u32::from(self.number()?);
        let end = usize::from(self.number()?) + self.at;
        // Types whose names may be compressed, and DNAME and SRV; of SVCB letter case counts (RFC 4034 6.2).
        let (before, names) = match rtype {
            2 | 5 | 12 | 39 => (0, 1),
            6 => (0, 2),
            15 => (2, 1),
            33 => (6, 1),
            _ => (0, 0),
        };
        let mut data = self.take(before)?.to_vec();
        for _ in 0..names {
            data.extend(self.name()?.0);
        }
        data.extend(self.take(end.checked_sub(self.at)?)?);
        Some(Record { key: (owner, rtype, class, ttl_s), data })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rcode {}{}", self.rcode, if self.authoritative { " aa" } else { "" })?;
        writeln!(f, "{}", if self.opt { " opt" } else { "" })?;
        let sections = [("answer", &self.answer), ("authority", &self.authority), ("glue", &self.glue)];
        for (section, sets) in sections {
            for ((owner, rtype, class, ttl_s), data) in sets {
                let owner = owner.written();
                write!(f, "      {section}: {owner} {ttl_s} CLASS{class} TYPE{rtype}")?;
                for data in data.iter().take(3) {
                    write!(f, " {}", shown_data(*rtype, data))?;
                }
                writeln!(f, "{}", if data.len() > 3 { " and more" } else { "" })?;
            }
        }
        Ok(())
    }
}

fn shown_data(rtype: u16, data: &[u8]) -> String {
    match rtype {
        2 | 5 | 12 | 39 => Name(data.to_vec()).written(),
        _ => data.iter().take(24).map(|byte| format!("{byte:02x}")).collect(),
    }
}
