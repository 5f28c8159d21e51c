//! The message as it came: parsed where it lies, every read bounded, nothing allocated (RFC 1035 4).
//!
//! Strict where two readers could understand a message differently, because a name server stands behind caches and
//! filters that read the same bytes: compression in the question, OPT outside the additional section, and bytes behind
//! the last record are malformed. Records that have no business in a query but are whole are skipped.

use std::ops::Range;

use super::edns::Edns;
use super::extended::ExtendedError;

/// Length of a message's header, in bytes; the question's name begins here.
pub const HEADER_LEN: usize = 12;

/// Longest name in wire form, in bytes (RFC 1035 2.3.4).
pub const MAX_NAME_LEN: usize = 255;

/// Longest label, in bytes; length bytes above are compression pointers or reserved.
const MAX_LABEL_LEN: u8 = 63;

/// Most records, and most questions, that are read of one message. A query has one or two; what brings more only wants
/// them skipped, at our cost.
pub const MAX_RECORDS: usize = 32;

/// Type OPT (RFC 6891 6.1.1).
const OPT: u16 = 41;

/// Response codes that this server gives (RFC 1035 4.1.1, 2136 2.2, 6891 9, 7873 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Rcode {
    NoError,
    FormErr,
    ServFail,
    NxDomain,
    NotImp,
    Refused,
    YxDomain,
    BadVers,
    BadCookie,
}

impl Rcode {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::NoError,
        Self::FormErr,
        Self::ServFail,
        Self::NxDomain,
        Self::NotImp,
        Self::Refused,
        Self::YxDomain,
        Self::BadVers,
        Self::BadCookie,
    ];

    /// The number; above 15 the upper bits go into the OPT record.
    pub const fn code(self) -> u16 {
        match self {
            Self::NoError => 0,
            Self::FormErr => 1,
            Self::ServFail => 2,
            Self::NxDomain => 3,
            Self::NotImp => 4,
            Self::Refused => 5,
            Self::YxDomain => 6,
            Self::BadVers => 16,
            Self::BadCookie => 23,
        }
    }

    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoError => "noerror",
            Self::FormErr => "formerr",
            Self::ServFail => "servfail",
            Self::NxDomain => "nxdomain",
            Self::NotImp => "notimp",
            Self::Refused => "refused",
            Self::YxDomain => "yxdomain",
            Self::BadVers => "badvers",
            Self::BadCookie => "badcookie",
        }
    }
}

/// Why a datagram gets no answer at all: answering it could start a loop, or there is nothing to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Shorter than a header.
    Short,
    /// A response: answering responses is how loops begin.
    Response,
}

/// What keeps a message from being looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An opcode other than QUERY.
    Opcode,
    /// More than one question (RFC 9619 4).
    QuestionCount,
    /// No question in a message that is whole otherwise: all right if it asks for a cookie (RFC 7873 5.4).
    NoQuestion,
    /// The question ends early, is compressed, or has a label or name that is too long.
    Question,
    /// A record ends early, an OPT record lies outside the additional section, or there are more than
    /// [`MAX_RECORDS`].
    Record,
    /// Bytes behind the last record.
    TrailingBytes,
    /// A second OPT record, one whose owner is not the root, or an option that outruns it (RFC 6891 6.1).
    Opt,
    /// An EDNS version above 0 (RFC 6891 6.1.3).
    EdnsVersion,
    /// A malformed client subnet (RFC 7871 6 and 7.1.2).
    Subnet,
    /// A cookie of a length that none has (RFC 7873 5.2.2).
    Cookie,
    /// A timeout in a query over TCP, where only answers have one (RFC 7828 3.1).
    Keepalive,
}

impl Fault {
    /// What it is answered with.
    pub const fn rcode(self) -> Rcode {
        match self {
            Self::Opcode => Rcode::NotImp,
            Self::EdnsVersion => Rcode::BadVers,
            Self::QuestionCount
            | Self::NoQuestion
            | Self::Question
            | Self::Record
            | Self::TrailingBytes
            | Self::Opt
            | Self::Subnet
            | Self::Cookie
            | Self::Keepalive => Rcode::FormErr,
        }
    }

    /// What else there is to say about it.
    pub(super) const fn extended(self) -> Option<ExtendedError> {
        match self {
            Self::Opcode => Some(ExtendedError::NotSupported),
            _ => None,
        }
    }
}

/// What a header says, as far as an answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's mark.
    pub id: u16,
    /// The third byte: QR, opcode, AA, TC, RD.
    flags_high: u8,
    /// The fourth byte: RA, Z, AD, CD, rcode.
    flags_low: u8,
    /// Records by section: question, answer, authority, additional.
    counts: [u16; 4],
}

impl Header {
    /// Reads a query's header.
    pub fn parse(bytes: &[u8]) -> Result<Self, Silence> {
        let Some(&[i0, i1, flags_high, flags_low, q0, q1, a0, a1, n0, n1, r0, r1]) =
            bytes.first_chunk::<HEADER_LEN>()
        else {
            return Err(Silence::Short);
        };
        if flags_high & 0x80 != 0 {
            return Err(Silence::Response);
        }
        let counts = [[q0, q1], [a0, a1], [n0, n1], [r0, r1]].map(u16::from_be_bytes);
        Ok(Self { id: u16::from_be_bytes([i0, i1]), flags_high, flags_low, counts })
    }

    const fn is_query(self) -> bool {
        self.flags_high & 0x78 == 0
    }

    /// The two flag bytes of an answer: QR set, opcode, RD and CD copied, RA, Z and AD clear.
    pub(super) const fn answer_flags(self, authoritative: bool, truncated: bool, rcode: Rcode) -> [u8; 2] {
        [
            0x80 | self.flags_high & 0x79 | (authoritative as u8) << 2 | (truncated as u8) << 1,
            self.flags_low & 0x10 | (rcode.code() & 0x0f) as u8,
        ]
    }
}

/// A name in uncompressed wire form, lower case, on the stack.
#[derive(Clone, Copy)]
pub struct Name {
    bytes: [u8; FOLD_ROOM],
    len: usize,
}

/// Bytes folded at once: whole vectors, instead of a loop over what is left of a short name.
const FOLD_STEP: usize = 32;
/// A name's room, a multiple of [`FOLD_STEP`].
const FOLD_ROOM: usize = 256;

impl Name {
    /// No name yet.
    pub const EMPTY: Self = Self { bytes: [0; FOLD_ROOM], len: 0 };

    /// The name.
    pub fn as_wire(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Takes `parts`, one after the other, folded to lower case (RFC 4343 3). False when they are longer than a name
    /// can be.
    pub(super) fn set(&mut self, parts: &[&[u8]]) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len > MAX_NAME_LEN {
            return false;
        }
        let mut at = 0;
        for part in parts {
            if let Some(room) = self.bytes.get_mut(at..at + part.len()) {
                room.copy_from_slice(part);
            }
            at += part.len();
        }
        // Length bytes are below `A`, so folding the whole wire form folds the labels alone.
        self.bytes
            .chunks_exact_mut(FOLD_STEP)
            .take(len.div_ceil(FOLD_STEP))
            .for_each(<[u8]>::make_ascii_lowercase);
        self.len = len;
        true
    }
}

/// The one question of a query.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Name, type and class as they came, letter case kept.
    pub raw: &'a [u8],
    /// The name in wire form, lower case.
    pub name: &'a [u8],
    /// The type.
    pub qtype: u16,
    /// The class.
    pub qclass: u16,
}

impl<'a> Question<'a> {
    /// Reads the question behind the header, folding its name into `name`.
    fn parse(bytes: &'a [u8], name: &'a mut Name) -> Result<Self, Fault> {
        let name_end = plain_name_end(bytes, HEADER_LEN).ok_or(Fault::Question)?;
        let raw_name = bytes.get(HEADER_LEN..name_end).ok_or(Fault::Question)?;
        let &[t0, t1, c0, c1] = bytes.get(name_end..).and_then(<[u8]>::first_chunk).ok_or(Fault::Question)?;
        let raw = bytes.get(HEADER_LEN..name_end + 4).ok_or(Fault::Question)?;
        if !name.set(&[raw_name]) {
            return Err(Fault::Question);
        }
        let (qtype, qclass) = (u16::from_be_bytes([t0, t1]), u16::from_be_bytes([c0, c1]));
        Ok(Self { raw, name: name.as_wire(), qtype, qclass })
    }

    fn end(&self) -> usize {
        HEADER_LEN + self.raw.len()
    }
}

/// What could be read of a message. A fault does not hide what was read before it: it belongs into the error's answer.
#[derive(Debug)]
pub struct Message<'a> {
    /// The question, if there is exactly one and it is whole.
    pub question: Option<Question<'a>>,
    /// The OPT record, if there is exactly one and it can be answered.
    pub edns: Option<Edns<'a>>,
    /// What is wrong.
    pub fault: Option<Fault>,
}

impl<'a> Message<'a> {
    /// Reads what follows `header`; `name` gives the folded name its room.
    pub fn parse(header: Header, bytes: &'a [u8], name: &'a mut Name) -> Self {
        let mut message = Self { question: None, edns: None, fault: None };
        message.fault = if header.is_query() && header.counts[0] <= 1 {
            message.read(header, bytes, name).err()
        } else {
            message.read_leniently(header, bytes, name);
            Some(if header.is_query() { Fault::QuestionCount } else { Fault::Opcode })
        };
        message
    }

    fn read(&mut self, header: Header, bytes: &'a [u8], name: &'a mut Name) -> Result<(), Fault> {
        let mut at = HEADER_LEN;
        if header.counts[0] == 1 {
            let question = Question::parse(bytes, name)?;
            at = question.end();
            self.question = Some(question);
        }
        let end = self.read_sections(header, bytes, at)?;
        if end != bytes.len() {
            return Err(Fault::TrailingBytes);
        }
        self.edns.map_or(Ok(()), Edns::check_version)?;
        if self.question.is_some() { Ok(()) } else { Err(Fault::NoQuestion) }
    }

    /// Looks for question and OPT in a message that gets an error anyway; what can't be read is not told.
    fn read_leniently(&mut self, header: Header, bytes: &'a [u8], name: &'a mut Name) {
        let mut at = HEADER_LEN;
        if header.counts[0] == 1 {
            let Ok(question) = Question::parse(bytes, name) else { return };
            at = question.end();
            self.question = Some(question);
        } else {
            if usize::from(header.counts[0]) > MAX_RECORDS {
                return;
            }
            for _ in 0..header.counts[0] {
                let Some(end) = any_name_end(bytes, at).filter(|end| end + 4 <= bytes.len()) else { return };
                at = end + 4;
            }
        }
        if self.read_sections(header, bytes, at).is_err() {
            self.edns = None;
        }
    }

    /// Walks the three sections of records from `at` and returns where they end.
    fn read_sections(&mut self, header: Header, bytes: &'a [u8], mut at: usize) -> Result<usize, Fault> {
        let [_, answers, authorities, additionals] = header.counts.map(usize::from);
        if answers + authorities + additionals > MAX_RECORDS {
            return Err(Fault::Record);
        }
        for _ in 0..answers + authorities {
            let record = Record::read(bytes, at).ok_or(Fault::Record)?;
            if record.rtype == OPT {
                return Err(Fault::Record);
            }
            at = record.data.end;
        }
        for _ in 0..additionals {
            let record = Record::read(bytes, at).ok_or(Fault::Record)?;
            at = record.data.end;
            if record.rtype == OPT {
                self.take_opt(&record, bytes)?;
            }
        }
        Ok(at)
    }

    fn take_opt(&mut self, record: &Record, bytes: &'a [u8]) -> Result<(), Fault> {
        if self.edns.take().is_some() || !record.owner_is_root {
            return Err(Fault::Opt);
        }
        let edns = self.edns.insert(Edns::new(record.class, record.ttl));
        edns.read_options(bytes.get(record.data.clone()).unwrap_or_default())
    }
}

/// A record, as far as skipping it and knowing an OPT record needs.
struct Record {
    owner_is_root: bool,
    rtype: u16,
    class: u16,
    ttl: u32,
    data: Range<usize>,
}

impl Record {
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let owner_end = any_name_end(bytes, at)?;
        let &[t0, t1, c0, c1, l0, l1, l2, l3, d0, d1] = bytes.get(owner_end..)?.first_chunk()?;
        let data_start = owner_end + 10;
        let data = data_start..data_start + usize::from(u16::from_be_bytes([d0, d1]));
        if data.end > bytes.len() {
            return None;
        }
        Some(Self {
            owner_is_root: owner_end == at + 1,
            rtype: u16::from_be_bytes([t0, t1]),
            class: u16::from_be_bytes([c0, c1]),
            ttl: u32::from_be_bytes([l0, l1, l2, l3]),
            data,
        })
    }
}

/// Where an uncompressed name ends.
fn plain_name_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            len @ 1..=MAX_LABEL_LEN => at += 1 + usize::from(len),
            _ => return None,
        }
        if at - start >= MAX_NAME_LEN {
            return None;
        }
    }
}

/// Where a name ends that may end in a pointer. The pointer is not followed: nobody needs to know the name.
fn any_name_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            len @ 1..=MAX_LABEL_LEN => at += 1 + usize::from(len),
            0xc0.. => return bytes.get(at + 1).map(|_| at + 2),
            _ => return None,
        }
        if at - start >= MAX_NAME_LEN {
            return None;
        }
    }
}

#[cfg(test)]
mod tests;
