//! Queries, byte by byte, so that malformed ones can be said too; and what came back, decoded.

use hickory_proto::op::Message;
use hickory_proto::rr::{RData, Record};

/// Record types by number (IANA, "Resource Record (RR) TYPEs").
pub(crate) const A: u16 = 1;
pub(crate) const NS: u16 = 2;
pub(crate) const CNAME: u16 = 5;
pub(crate) const SOA: u16 = 6;
pub(crate) const PTR: u16 = 12;
pub(crate) const MX: u16 = 15;
pub(crate) const TXT: u16 = 16;
pub(crate) const AAAA: u16 = 28;
pub(crate) const SRV: u16 = 33;
pub(crate) const DNAME: u16 = 39;
pub(crate) const OPT: u16 = 41;
pub(crate) const DS: u16 = 43;
pub(crate) const SVCB: u16 = 64;
pub(crate) const HTTPS: u16 = 65;
pub(crate) const IXFR: u16 = 251;
pub(crate) const AXFR: u16 = 252;
pub(crate) const ANY: u16 = 255;

/// Response codes by number.
pub(crate) const NOERROR: u16 = 0;
pub(crate) const FORMERR: u16 = 1;
pub(crate) const NXDOMAIN: u16 = 3;
pub(crate) const NOTIMP: u16 = 4;
pub(crate) const REFUSED: u16 = 5;
pub(crate) const YXDOMAIN: u16 = 6;
pub(crate) const BADVERS: u16 = 16;

/// A query in the making.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// As it is to stand in the message.
    pub(crate) id: u16,
    /// Opcode and flags.
    pub(crate) flags: u16,
    /// Name, type and class of each question.
    pub(crate) questions: Vec<u8>,
    /// Records by section: question, answer, authority, additional.
    pub(crate) counts: [u16; 4],
    /// What stands behind the questions, but for the OPT record.
    pub(crate) records: Vec<u8>,
    pub(crate) edns: Option<Edns>,
}

/// An OPT record.
#[derive(Clone, Debug)]
pub(crate) struct Edns {
    pub(crate) payload: u16,
    pub(crate) version: u8,
    pub(crate) flags: u16,
    /// Codes and values.
    pub(crate) options: Vec<(u16, Vec<u8>)>,
}

impl Ask {
    /// A query without EDNS.
    pub(crate) fn new(name: &str, qtype: u16) -> Self {
        Self::class(name, qtype, 1)
    }

    pub(crate) fn class(name: &str, qtype: u16, class: u16) -> Self {
        Self::raw([wire(name), qtype.to_be_bytes().to_vec(), class.to_be_bytes().to_vec()].concat())
    }

    /// A query with these bytes for its one question.
    pub(crate) fn raw(questions: Vec<u8>) -> Self {
        Self { id: 0xbeef, flags: 0, questions, counts: [1, 0, 0, 0], records: Vec::new(), edns: None }
    }

    pub(crate) fn flags(self, flags: u16) -> Self {
        Self { flags, ..self }
    }

    pub(crate) fn opcode(self, opcode: u16) -> Self {
        Self { flags: self.flags & !0x7800 | opcode << 11, ..self }
    }

    /// With an OPT record that offers this many bytes.
    pub(crate) fn edns(self, payload: u16) -> Self {
        Self { edns: Some(Edns { payload, version: 0, flags: 0, options: Vec::new() }), ..self }
    }

    /// With an OPT record of this version and these flags.
    pub(crate) fn edns_as(self, version: u8, flags: u16) -> Self {
        Self { edns: Some(Edns { payload: 1232, version, flags, options: Vec::new() }), ..self }
    }

    /// With one more option; an OPT record of 1,232 bytes if there is none yet.
    pub(crate) fn option(self, code: u16, value: &[u8]) -> Self {
        let mut ask = if self.edns.is_some() { self } else { self.edns(1232) };
        if let Some(edns) = &mut ask.edns {
            edns.options.push((code, value.to_vec()));
        }
        ask
    }

    /// With a record behind the question, in the additional section.
    pub(crate) fn additional(mut self, record: &[u8]) -> Self {
        self.records.extend_from_slice(record);
        self.counts[3] += 1;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut counts = self.counts;
        counts[3] += u16::from(self.edns.is_some());
        let header = [[self.id, self.flags], [counts[0], counts[1]], [counts[2], counts[3]]];
        let mut bytes: Vec<u8> = header.as_flattened().iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend_from_slice(&self.questions);
        bytes.extend_from_slice(&self.records);
        bytes.extend(self.edns.iter().flat_map(Edns::bytes));
        bytes
    }
}

impl Edns {
    fn bytes(&self) -> Vec<u8> {
        let mut data = Vec::new();
        for (code, value) in &self.options {
            data.extend([code.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat());
            data.extend_from_slice(value);
        }
        let mut bytes =
            [&[0][..], &OPT.to_be_bytes(), &self.payload.to_be_bytes(), &[0, self.version]].concat();
        bytes.extend([self.flags.to_be_bytes(), (data.len() as u16).to_be_bytes()].concat());
        bytes.extend(data);
        bytes
    }
}

/// A name in wire form, letter case kept; `\ddd` is the octet of that number. A final dot may be left out.
pub(crate) fn wire(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        let mut octets = Vec::new();
        let mut parts = label.split('\\');
        octets.extend(parts.next().unwrap_or_default().bytes());
        for part in parts {
            let (number, rest) = part.split_at(3);
            octets.push(number.parse::<u8>().unwrap());
            octets.extend(rest.bytes());
        }
        wire.push(octets.len() as u8);
        wire.extend(octets);
    }
    wire.push(0);
    wire
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) message: Message,
}

impl Answer {
    pub(crate) fn decode(bytes: Vec<u8>) -> Self {
        let message = Message::from_vec(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
        Self { bytes, message }
    }

    /// The response code, with the OPT record's upper bits.
    pub(crate) fn rcode(&self) -> u16 {
        let upper = self.opt().map_or(0, |opt| opt.extended_rcode);
        u16::from(upper) << 4 | u16::from(self.bytes[3] & 0x0f)
    }

    /// One flag or several, as they stand in the header's second word.
    pub(crate) fn has(&self, flags: u16) -> bool {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]]) & flags == flags
    }

    pub(crate) fn aa(&self) -> bool {
        self.has(AA)
    }

    pub(crate) fn tc(&self) -> bool {
        self.has(TC)
    }

    /// The answer section, each record as `owner ttl type data`.
    pub(crate) fn answers(&self) -> Vec<String> {
        self.message.answers.iter().map(text).collect()
    }

    pub(crate) fn authorities(&self) -> Vec<String> {
        self.message.authorities.iter().map(text).collect()
    }

    /// The additional section without its OPT record.
    pub(crate) fn additionals(&self) -> Vec<String> {
        self.message.additionals.iter().map(text).collect()
    }

    /// The OPT record; there is at most one.
    pub(crate) fn opt(&self) -> Option<Opt> {
        let mut found = records(&self.bytes).into_iter().filter(|(_, rtype, _)| *rtype == OPT);
        let (at, _, owner_len) = found.next()?;
        assert!(found.next().is_none() && owner_len == 1, "one OPT record, at the root");
        let at = at + owner_len;
        let word = |at: usize| u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]);
        let (mut options, mut next) = (Vec::new(), at + 10);
        let end = next + usize::from(word(at + 8));
        while next < end {
            let len = usize::from(word(next + 2));
            options.push((word(next), self.bytes[next + 4..next + 4 + len].to_vec()));
            next += 4 + len;
        }
        assert_eq!(next, end, "the options fill their record");
        Some(Opt {
            payload: word(at + 2),
            extended_rcode: self.bytes[at + 4],
            version: self.bytes[at + 5],
            flags: word(at + 6),
            options,
        })
    }

    /// The value of an option, which stands there once.
    pub(crate) fn option(&self, code: u16) -> Option<Vec<u8>> {
        let mut values = self.opt()?.options.into_iter().filter(|(found, _)| *found == code);
        let value = values.next();
        assert!(values.next().is_none(), "option {code} once");
        value.map(|(_, value)| value)
    }

    /// No such name, or none of that type: the zone's SOA and nothing else (RFC 2308 2).
    pub(crate) fn assert_negative(&self, rcode: u16, apex: &str) {
        assert_eq!((self.rcode(), self.aa(), self.answers().len()), (rcode, true, 0), "{self:?}");
        self.assert_soa(apex);
    }

    /// The authority section is the zone's SOA.
    pub(crate) fn assert_soa(&self, apex: &str) {
        let authorities = self.authorities();
        let [soa] = &authorities[..] else { panic!("one SOA: {authorities:?}") };
        assert!(soa.starts_with(&format!("{apex} ")) && soa.contains(" SOA "), "{soa}");
        assert!(self.additionals().is_empty());
    }

    /// Nothing in any section.
    pub(crate) fn assert_empty(&self, rcode: u16) {
        let sections = [self.answers(), self.authorities(), self.additionals()];
        assert_eq!((self.rcode(), sections), (rcode, [const { Vec::new() }; 3]));
    }
}

/// AA, TC, RD, RA, Z, AD and CD in the header's second word (RFC 1035 4.1.1, RFC 4035 3.1.6).
pub(crate) const AA: u16 = 0x0400;
pub(crate) const TC: u16 = 0x0200;
pub(crate) const RD: u16 = 0x0100;
pub(crate) const RA: u16 = 0x0080;
pub(crate) const Z: u16 = 0x0040;
pub(crate) const AD: u16 = 0x0020;
pub(crate) const CD: u16 = 0x0010;

/// The DO bit of an OPT record's flags (RFC 3225 3).
pub(crate) const DO: u16 = 0x8000;

/// An answer's OPT record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    pub(crate) payload: u16,
    pub(crate) extended_rcode: u8,
    pub(crate) version: u8,
    pub(crate) flags: u16,
    pub(crate) options: Vec<(u16, Vec<u8>)>,
}

/// `owner ttl type data`, names as they stand in the message.
fn text(record: &Record) -> String {
    // The decoder knows DNAME as an unknown type: what it holds is a name.
    let (rtype, data) = match &record.data {
        RData::Unknown { code, rdata } if u16::from(*code) == DNAME => {
            ("DNAME".to_owned(), dotted(&rdata.anything))
        }
        data => (record.record_type().to_string(), data.to_string()),
    };
    format!("{} {} {rtype} {data}", record.name, record.ttl)
}

/// An uncompressed name as text.
fn dotted(wire: &[u8]) -> String {
    let (mut text, mut at) = (String::new(), 0);
    while wire[at] != 0 {
        let end = at + 1 + usize::from(wire[at]);
        text += &format!("{}.", String::from_utf8_lossy(&wire[at + 1..end]));
        at = end;
    }
    if text.is_empty() { ".".to_owned() } else { text }
}

/// Where each record of a message begins, its type, and the length of its owner there.
pub(crate) fn records(bytes: &[u8]) -> Vec<(usize, u16, usize)> {
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mut at = 12;
    for _ in 0..word(4) {
        at = name_end(bytes, at) + 4;
    }
    let mut found = Vec::new();
    for _ in 0..word(6) + word(8) + word(10) {
        let owner_end = name_end(bytes, at);
        found.push((at, word(owner_end), owner_end - at));
        at = owner_end + 10 + usize::from(word(owner_end + 8));
    }
    assert_eq!(at, bytes.len(), "nothing behind the last record");
    found
}

fn name_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes[at] {
            0 => return at + 1,
            len @ 1..=63 => at += 1 + usize::from(len),
            _ => return at + 2,
        }
    }
}
