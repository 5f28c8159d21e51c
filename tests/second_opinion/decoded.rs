//! A message as hickory-proto reads it, in a form that can be compared.

use hickory_proto::op::Message;
use hickory_proto::rr::Record;
use hickory_proto::rr::rdata::opt::{EdnsCode, EdnsOption};

use crate::corpus::COOKIE;

/// Bytes of the longest name (RFC 1035 2.3.4).
const LONGEST_NAME: usize = 255;

/// Names of a message that hickory-proto compresses.
const COMPRESSED_NAMES: usize = 120;

/// All that an answer says, the order of records left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Id and flags; the upper bits of the rcode are in the OPT record.
    head: [u8; 4],
    rcode: String,
    question: Vec<String>,
    /// Answer, authority, additional.
    sections: [Vec<String>; 3],
    /// Class, TTL field and options of the OPT record.
    opt: Option<(u16, u8, u16, Vec<String>)>,
}

impl Decoded {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let message = Message::from_vec(bytes).ok()?;
        let question =
            message.queries.iter().map(|q| format!("{} {} {}", q.name(), q.query_class(), q.query_type()));
        let opt = message.edns.as_ref().map(|edns| {
            let mut options: Vec<String> =
                edns.options().as_ref().iter().map(|(code, option)| text(*code, option)).collect();
            options.sort();
            (edns.max_payload(), edns.version(), u16::from(*edns.flags()), options)
        });
        Some(Self {
            head: *bytes.first_chunk()?,
            rcode: format!("{:?}", message.metadata.response_code),
            question: question.collect(),
            sections: [&message.answers, &message.authorities, &message.additionals]
                .map(|records| texts(records)),
            opt,
        })
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.head[2] & 0x02 != 0
    }

    pub(crate) fn has_no_records(&self) -> bool {
        self.sections.iter().all(Vec::is_empty)
    }

    /// Whether nothing is here that is not there, and all NS records are: glue may be missing (RFC 9471 3.1).
    pub(crate) fn is_part_of(&self, whole: &Self) -> bool {
        self.sections[..2] == whole.sections[..2]
            && self.sections[2].iter().all(|record| whole.sections[2].contains(record))
    }

    /// Whether only additional records are missing.
    pub(crate) fn is_whole_but_for_help(&self, whole: &Self) -> bool {
        let more = Self { sections: whole.sections.clone(), ..self.clone() };
        self.is_part_of(whole) && more == *whole
    }

    pub(crate) fn without_option(mut self, code: u16) -> Self {
        if let Some((_, _, _, options)) = &mut self.opt {
            options.retain(|option| !option.starts_with(&format!("{code} ")));
        }
        self
    }

    /// What a resolver would call it.
    pub(crate) fn kind(&self) -> String {
        let soa = self.sections[1].iter().any(|record| record.contains(" SOA "));
        let what = match (self.rcode.as_str(), &self.sections) {
            ("NoError" | "YXDomain" | "NXDomain", [answers, ..]) if !answers.is_empty() => " answer",
            ("NoError", _) if self.is_cut() => " cut",
            ("NoError", _) if soa => " nodata",
            ("NoError", [_, authorities, _]) if !authorities.is_empty() => " referral",
            ("NXDomain", _) if soa => " negative",
            _ => "",
        };
        format!("{}{what}", self.rcode)
    }
}

fn texts(records: &[Record]) -> Vec<String> {
    let mut texts: Vec<String> = records.iter().map(|record| format!("{record} {:?}", record.data)).collect();
    texts.sort();
    texts
}

/// An option with its code. Of a cookie only the client's half and the length: the rest tells when it was made.
fn text(code: EdnsCode, option: &EdnsOption) -> String {
    let number = u16::from(code);
    match option {
        EdnsOption::Unknown(_, data) if number == COOKIE => {
            format!("{number} {:?} of {}", data.get(..8), data.len())
        }
        other => format!("{number} {other:?}"),
    }
}

/// Why the portable front end may answer so where ours answers in `len` bytes of at most `limit`; `None`: it may not.
pub(crate) fn accepted(len: usize, limit: usize, ours: &Decoded, portable: &Decoded) -> Option<&'static str> {
    let is_cut =
        portable.is_cut() && !ours.is_cut() && portable.rcode == ours.rcode && portable.opt == ours.opt;
    if !is_cut {
        return None;
    }
    let names: usize = ours.sections.iter().map(Vec::len).sum();
    if len + LONGEST_NAME > limit {
        return Some(
            "hickory-proto writes a name in full before it puts a pointer in its place: the last record needs room \
             that the message does not",
        );
    }
    (names > COMPRESSED_NAMES && len + (names - COMPRESSED_NAMES) * LONGEST_NAME > limit).then_some(
        "hickory-proto compresses the first 120 names of a message, as a bound on the work (RUSTSEC-2026-0120)",
    )
}
