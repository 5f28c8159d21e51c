//! Queries and answers read for the oracle: slowly, by the RFCs' words, with nothing borrowed from the server.

/// Length of a header, in bytes (RFC 1035 4.1.1).
pub(crate) const HEADER_LEN: usize = 12;
const OPT: u16 = 41;

/// A query as it can be understood.
pub(crate) struct Asked<'p> {
    pub(crate) id: [u8; 2],
    pub(crate) flags: [u8; 2],
    pub(crate) questions: u16,
    /// Records that the header promises behind the questions.
    pub(crate) records: usize,
    /// The only question, when there is one and it is whole and uncompressed.
    pub(crate) question: Option<Question<'p>>,
    /// Whether everything that the header promises is there, and nothing behind it.
    pub(crate) is_whole: bool,
    /// OPT records wherever they stand.
    pub(crate) opts: usize,
    /// The first one that stands where it may, under the root (RFC 6891 6.1.1).
    pub(crate) opt: Option<Opt<'p>>,
}

/// A question as it came.
pub(crate) struct Question<'p> {
    pub(crate) raw: &'p [u8],
    pub(crate) qtype: u16,
    pub(crate) qclass: u16,
}

/// An OPT record (RFC 6891 6.1.2).
pub(crate) struct Opt<'p> {
    pub(crate) payload: u16,
    pub(crate) upper_rcode: u8,
    pub(crate) version: u8,
    pub(crate) flags: u16,
    /// Code and data, up to where they can be read.
    pub(crate) options: Vec<(u16, &'p [u8])>,
    pub(crate) is_whole: bool,
}

impl<'p> Opt<'p> {
    fn new(class: u16, ttl: u32, mut data: &'p [u8]) -> Self {
        let mut options = Vec::new();
        while let Some((&[c0, c1, l0, l1], rest)) = data.split_first_chunk() {
            let Some((option, rest)) = rest.split_at_checked(u16::from_be_bytes([l0, l1]).into()) else {
                break;
            };
            options.push((u16::from_be_bytes([c0, c1]), option));
            data = rest;
        }
        let [upper_rcode, version, f0, f1] = ttl.to_be_bytes();
        let flags = u16::from_be_bytes([f0, f1]);
        Self { payload: class, upper_rcode, version, flags, options, is_whole: data.is_empty() }
    }

    /// The first option of that code: further ones do not count (RFC 7873 5.2).
    pub(crate) fn option(&self, code: u16) -> Option<&'p [u8]> {
        self.options.iter().find(|(own, _)| *own == code).map(|&(_, data)| data)
    }
}

impl<'p> Asked<'p> {
    /// `None`: no query at all (too short, or a response).
    pub(crate) fn read(packet: &'p [u8]) -> Option<Self> {
        let header: &[u8; HEADER_LEN] = packet.first_chunk()?;
        if header[2] & 0x80 != 0 {
            return None;
        }
        let mut asked = Self {
            id: [header[0], header[1]],
            flags: [header[2], header[3]],
            questions: count(packet, 0),
            records: (1..4).map(|section| usize::from(count(packet, section))).sum(),
            question: None,
            is_whole: false,
            opts: 0,
            opt: None,
        };
        asked.is_whole = asked.read_body(packet) == Some(packet.len());
        Some(asked)
    }

    pub(crate) fn opcode(&self) -> u8 {
        self.flags[0] >> 3 & 15
    }

    fn read_body(&mut self, packet: &'p [u8]) -> Option<usize> {
        let mut at = HEADER_LEN;
        for _ in 0..self.questions {
            let (name_end, compressed) = skip_name(packet, at)?;
            let raw = packet.get(at..name_end + 4)?;
            at = name_end + 4;
            if self.questions == 1 {
                if compressed {
                    return None;
                }
                self.question = Some(Question {
                    raw,
                    qtype: be16(packet, name_end)?,
                    qclass: be16(packet, name_end + 2)?,
                });
            }
        }
        for section in 1..4 {
            for _ in 0..count(packet, section) {
                at = self.read_record(packet, at, section)?;
            }
        }
        Some(at)
    }

    fn read_record(&mut self, packet: &'p [u8], at: usize, section: usize) -> Option<usize> {
        let (head, _) = skip_name(packet, at)?;
        let end = head + 10 + usize::from(be16(packet, head + 8)?);
        let data = packet.get(head + 10..end)?;
        if be16(packet, head)? == OPT {
            self.opts += 1;
            if section == 3 && head == at + 1 && self.opt.is_none() {
                self.opt = Some(Opt::new(be16(packet, head + 2)?, be32(packet, head + 4)?, data));
            }
        }
        Some(end)
    }
}

/// An answer, every name of it followed.
pub(crate) struct Answer<'p> {
    pub(crate) id: [u8; 2],
    pub(crate) flags: [u8; 2],
    pub(crate) questions: u16,
    /// The question section as it came.
    pub(crate) question: &'p [u8],
    /// Records but for OPT.
    pub(crate) records: Vec<Record<'p>>,
    pub(crate) opt: Option<Opt<'p>>,
    /// The answer and authority sections as they came.
    pub(crate) claims: &'p [u8],
}

/// A record of an answer.
#[derive(PartialEq, Eq)]
pub(crate) struct Record<'p> {
    /// 1: answer, 2: authority, 3: additional.
    pub(crate) section: usize,
    /// In wire form, lower case.
    pub(crate) owner: Vec<u8>,
    pub(crate) rtype: u16,
    pub(crate) class: u16,
    pub(crate) ttl: u32,
    /// For NS, CNAME and DNAME, in wire form, lower case.
    pub(crate) target: Vec<u8>,
    pub(crate) data: &'p [u8],
    /// Bytes that the record takes in its message.
    pub(crate) len: usize,
}

impl<'p> Answer<'p> {
    /// `None`: something is not whole, a name is none, there is more than one OPT record or one where none may be, or
    /// something is left over.
    pub(crate) fn read(packet: &'p [u8]) -> Option<Self> {
        let header: &[u8; HEADER_LEN] = packet.first_chunk()?;
        let mut at = HEADER_LEN;
        for _ in 0..count(packet, 0) {
            at = skip_name(packet, at)?.0 + 4;
        }
        let mut answer = Self {
            id: [header[0], header[1]],
            flags: [header[2], header[3]],
            questions: count(packet, 0),
            question: packet.get(HEADER_LEN..at)?,
            records: Vec::new(),
            opt: None,
            claims: &[],
        };
        let claims = at;
        for section in 1..4 {
            if section == 3 {
                answer.claims = packet.get(claims..at)?;
            }
            for _ in 0..count(packet, section) {
                at = answer.read_record(packet, at, section)?;
            }
        }
        (at == packet.len()).then_some(answer)
    }

    fn read_record(&mut self, packet: &'p [u8], at: usize, section: usize) -> Option<usize> {
        let (owner, head) = name(packet, at)?;
        let (rtype, class) = (be16(packet, head)?, be16(packet, head + 2)?);
        let ttl = be32(packet, head + 4)?;
        let start = head + 10;
        let end = start + usize::from(be16(packet, head + 8)?);
        let data = packet.get(start..end)?;
        if rtype == OPT {
            let opt = Opt::new(class, ttl, data);
            if section != 3 || owner != [0] || self.opt.is_some() || !opt.is_whole {
                return None;
            }
            self.opt = Some(opt);
            return Some(end);
        }
        let mut target = Vec::new();
        if matches!(rtype, 2 | 5 | 39) {
            let (there, target_end) = name(packet, start)?;
            if target_end != end {
                return None;
            }
            target = there;
        }
        self.records.push(Record { section, owner, rtype, class, ttl, target, data, len: end - at });
        Some(end)
    }

    /// With the bits that the OPT record adds (RFC 6891 6.1.3).
    pub(crate) fn rcode(&self) -> u16 {
        let upper = self.opt.as_ref().map_or(0, |opt| opt.upper_rcode);
        u16::from(upper) << 4 | u16::from(self.flags[1] & 15)
    }

    pub(crate) fn section(&self, section: usize) -> impl Iterator<Item = &Record<'p>> {
        self.records.iter().filter(move |record| record.section == section)
    }
}

/// How many records the header promises: questions, answers, authority, additional.
fn count(packet: &[u8], section: usize) -> u16 {
    be16(packet, 4 + 2 * section).unwrap_or(0)
}

fn be16(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

fn be32(packet: &[u8], at: usize) -> Option<u32> {
    packet.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Where a name ends in the record, and whether it ends in a pointer, which is not followed.
fn skip_name(packet: &[u8], start: usize) -> Option<(usize, bool)> {
    let mut at = start;
    loop {
        let len = *packet.get(at)?;
        match len {
            0 => return (at + 1 - start <= 255).then_some((at + 1, false)),
            1..=63 => at += 1 + usize::from(len),
            192.. => return packet.get(at + 1).filter(|_| at - start < 255).map(|_| (at + 2, true)),
            _ => return None,
        }
    }
}

/// A name in wire form, lower case, pointers followed (each leads backwards, RFC 1035 4.1.4), and where it ends.
fn name(packet: &[u8], start: usize) -> Option<(Vec<u8>, usize)> {
    let mut wire = Vec::new();
    let (mut at, mut before, mut end) = (start, start, None);
    loop {
        let len = *packet.get(at)?;
        if len >= 192 {
            end = end.or(Some(at + 2));
            at = usize::from(be16(packet, at)? & 0x3fff);
            if at >= before {
                return None;
            }
            before = at;
            continue;
        }
        let label = packet.get(at..at + 1 + usize::from(len))?;
        if len > 63 || wire.len() + label.len() > 255 {
            return None;
        }
        wire.extend(label.iter().map(u8::to_ascii_lowercase));
        at += label.len();
        if len == 0 {
            return Some((wire, end.unwrap_or(at)));
        }
    }
}
