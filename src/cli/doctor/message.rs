//! The messages that doctor sends, and what it reads of the answers.

use std::net::IpAddr;

use domain::base::iana::{OptRcode, Rtype};
use domain::base::opt::UnknownOptData;
use domain::base::{Message, Name, ParsedRecord, RecordSection};
use domain::rdata::AllRecordData;

/// What doctor says it can take over UDP, in bytes.
const PAYLOAD: u16 = 1232;

/// The client subnet that doctor shows (RFC 7871 6): family, source length, scope, three bytes. A block kept for
/// documentation: nobody is at home there, and every server must still answer with a scope.
const SUBNET: [u8; 7] = [0, 1, 24, 0, 203, 0, 113];

/// The option code of a client subnet.
const SUBNET_CODE: u16 = 8;

/// Where in the option the scope stands: the one byte that an answer may change.
pub(super) const SCOPE_AT: usize = 3;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// As written in a master file, with or without the final dot.
    pub(super) name: String,
    pub(super) rtype: Rtype,
    pub(super) manner: Manner,
}

/// How it is asked. Always with EDNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// As a resolver asks a name server.
    Plain,
    /// As a client asks a resolver.
    Recursive,
    /// For a client subnet.
    Subnet,
    /// In a version of EDNS that does not exist.
    Version1,
}

impl Question {
    pub(super) fn new(name: &str, rtype: Rtype, manner: Manner) -> Self {
        Self { name: name.to_owned(), rtype, manner }
    }

    /// The query's bytes; absent when the name is none.
    pub(super) fn bytes(&self, id: u16) -> Option<Vec<u8>> {
        let name = Name::vec_from_str(&self.name).ok()?;
        let recursion_desired = u8::from(self.manner == Manner::Recursive);
        let mut message = id.to_be_bytes().to_vec();
        message.extend([recursion_desired, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        message.extend_from_slice(name.as_slice());
        message.extend(self.rtype.to_int().to_be_bytes());
        message.extend([0, 1]);
        // The OPT record (RFC 6891 6.1.2): root, type, payload, extended rcode, version, flags, length.
        message.extend([0, 0, 41]);
        message.extend(PAYLOAD.to_be_bytes());
        message.extend([0, u8::from(self.manner == Manner::Version1), 0, 0]);
        if self.manner == Manner::Subnet {
            message.extend([0, SUBNET.len() as u8 + 4]);
            message.extend(SUBNET_CODE.to_be_bytes());
            message.extend([0, SUBNET.len() as u8]);
            message.extend(SUBNET);
        } else {
            message.extend([0, 0]);
        }
        Some(message)
    }
}

/// What an answer says, as far as doctor looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// With the upper bits from OPT.
    pub(super) rcode: u16,
    pub(super) authoritative: bool,
    pub(super) truncated: bool,
    /// The server offers recursion.
    pub(super) recursion: bool,
    pub(super) answers: Vec<Record>,
    pub(super) authority: Vec<Record>,
    pub(super) additional: Vec<Record>,
    pub(super) edns: Option<Edns>,
}

/// The OPT record of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edns {
    pub(super) version: u8,
    /// In bytes.
    pub(super) payload: u16,
    /// The client subnet option's bytes.
    pub(super) subnet: Option<Vec<u8>>,
}

impl Edns {
    /// The scope, when the option is the one that was sent but for it.
    pub(super) fn echoed_scope(&self) -> Option<u8> {
        let mut option: [u8; SUBNET.len()] = self.subnet.as_deref()?.try_into().ok()?;
        let scope = std::mem::take(option.get_mut(SCOPE_AT)?);
        (option == SUBNET).then_some(scope)
    }
}

/// A record. Names are in lower case and without the final dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) owner: String,
    pub(super) ttl_s: u32,
    pub(super) data: Data,
}

/// What it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Address(IpAddr),
    NameServer(String),
    Serial(u32),
    Ds,
    Other,
}

impl Reply {
    /// Reads the answer to a query; absent when it is none, or belongs to another query.
    pub(super) fn read(bytes: &[u8], query: &[u8]) -> Option<Self> {
        let message = Message::from_octets(bytes).ok()?;
        let asked = Message::from_octets(query).ok()?;
        // A server that can't read a question may leave it out.
        let mine = message.header().id() == asked.header().id() && message.header().qr();
        if !mine || (message.header_counts().qdcount() > 0 && !message.is_answer(&asked)) {
            return None;
        }
        let edns = message.opt().map(|opt| Edns {
            version: opt.version(),
            payload: opt.udp_payload_size(),
            subnet: (opt.opt().iter::<UnknownOptData<_>>().flatten())
                .find(|option| option.code().to_int() == SUBNET_CODE)
                .map(|option| option.as_slice().to_vec()),
        });
        Some(Self {
            rcode: message.opt_rcode().to_int(),
            authoritative: message.header().aa(),
            truncated: message.header().tc(),
            recursion: message.header().ra(),
            answers: message.answer().map(records).unwrap_or_default(),
            authority: message.authority().map(records).unwrap_or_default(),
            additional: message.additional().map(records).unwrap_or_default(),
            edns,
        })
    }

    /// The serial of the SOA record in the answer.
    pub(super) fn serial(&self) -> Option<u32> {
        self.answers.iter().find_map(|record| match record.data {
            Data::Serial(serial) => Some(serial),
            _ => None,
        })
    }

    /// The addresses in the answer.
    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.answers.iter().filter_map(|record| record.address())
    }

    /// What the response code is called.
    pub(super) fn rcode_name(&self) -> String {
        OptRcode::masked_from_int(self.rcode).to_string()
    }
}

impl Record {
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.data {
            Data::Address(address) => Some(address),
            _ => None,
        }
    }

    pub(super) fn name_server(&self) -> Option<&str> {
        match &self.data {
            Data::NameServer(name) => Some(name),
            _ => None,
        }
    }
}

/// A name as it is compared: lower case, without the final dot; the root is `.`.
pub(super) fn folded(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_suffix('.') {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => name,
    }
}

/// Whether a name is the zone's or lies below it. Both as [`folded`] gives them.
pub(super) fn is_in(name: &str, zone: &str) -> bool {
    zone == "." || name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'))
}

fn records(section: RecordSection<'_, &[u8]>) -> Vec<Record> {
    section
        .flatten()
        .filter(|record| record.rtype() != Rtype::OPT)
        .map(|record| read_record(&record))
        .collect()
}

fn read_record(record: &ParsedRecord<'_, &[u8]>) -> Record {
    let data = match record.to_any_record::<AllRecordData<_, _>>().map(|known| known.into_data()) {
        Ok(AllRecordData::A(a)) => Data::Address(IpAddr::V4(a.addr())),
        Ok(AllRecordData::Aaaa(aaaa)) => Data::Address(IpAddr::V6(aaaa.addr())),
        Ok(AllRecordData::Ns(ns)) => Data::NameServer(folded(&ns.nsdname().to_string())),
        Ok(AllRecordData::Soa(soa)) => Data::Serial(soa.serial().into_int()),
        Ok(AllRecordData::Ds(_)) => Data::Ds,
        Ok(_) | Err(_) => Data::Other,
    };
    Record { owner: folded(&record.owner().to_string()), ttl_s: record.ttl().as_secs(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subnet_comes_back_byte_for_byte_or_is_not_echoed() {
        let edns = |subnet: &[u8]| Edns { subnet: Some(subnet.to_vec()), ..Edns::default() };
        assert_eq!(edns(&[0, 1, 24, 17, 203, 0, 113]).echoed_scope(), Some(17));
        assert_eq!(edns(&[0, 1, 16, 17, 203, 0, 113]).echoed_scope(), None);
        assert_eq!(edns(&[0, 1, 24, 17, 203, 0, 113, 0]).echoed_scope(), None);
        assert_eq!(edns(&[0, 1, 24]).echoed_scope(), None);
        assert_eq!(Edns::default().echoed_scope(), None);
    }

    #[test]
    fn a_name_is_below_its_own_zone_only_at_a_dot() {
        assert!(is_in("ns1.gslb.example.com", "gslb.example.com"));
        assert!(is_in("gslb.example.com", "gslb.example.com"));
        assert!(!is_in("xgslb.example.com", "gslb.example.com"));
        assert!(is_in("anything", "."));
        assert_eq!(folded("NS1.Example.COM."), "ns1.example.com");
        assert_eq!(folded("."), ".");
    }

    #[test]
    fn an_answer_to_another_query_is_not_read() {
        let question = Question::new("example.com", Rtype::SOA, Manner::Subnet);
        let query = question.bytes(7).unwrap();
        let mut answer = query.clone();
        assert_eq!(Reply::read(&answer, &query), None, "it is no answer at all");
        answer[2] |= 0x84;
        let reply = Reply::read(&answer, &query).unwrap();
        assert!(reply.authoritative && !reply.recursion);
        assert_eq!(reply.edns.as_ref().and_then(Edns::echoed_scope), Some(0));
        assert_eq!(reply.edns.unwrap().payload, 1232);
        assert_eq!(Reply::read(&answer, &question.bytes(8).unwrap()), None);
        let other = Question::new("example.net", Rtype::SOA, Manner::Subnet);
        assert_eq!(Reply::read(&answer, &other.bytes(7).unwrap()), None);
    }
}
