//! A query as a client would send it, and its answer read for people.

use std::net::IpAddr;

use domain::base::iana::Rtype;
use domain::base::opt::ClientSubnet;
use domain::base::{Message, ParsedRecord};
use domain::rdata::AllRecordData;

use crate::region::geo::Subnet;

/// Type CNAME.
pub(super) const CNAME: u16 = 5;

/// Type ANY.
pub(super) const ANY: u16 = 255;

/// What an answer says.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) rcode: String,
    /// The answer section in presentation format.
    pub(super) answers: Vec<String>,
    /// The lowest TTL of the answer section, in seconds.
    pub(super) ttl: Option<u32>,
    /// The scope that came back with a client subnet, in bits.
    pub(super) scope: Option<u8>,
}

/// A type's name; `TYPE123` for one without.
pub(super) fn type_name(rtype: u16) -> String {
    Rtype::from_int(rtype).to_string()
}

/// A query for a name in wire form (RFC 1035 4.1), with a client subnet option (RFC 7871 6) if there is one.
pub(super) fn query(wire: &[u8], rtype: u16, subnet: Option<Subnet>) -> Vec<u8> {
    let mut message = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(subnet.is_some())];
    message.extend_from_slice(wire);
    message.extend_from_slice(&rtype.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    if let Some(subnet) = subnet {
        let (family, address) = match subnet.addr {
            IpAddr::V4(address) => (1_u8, address.octets().to_vec()),
            IpAddr::V6(address) => (2, address.octets().to_vec()),
        };
        let address = &address[..usize::from(subnet.source.div_ceil(8)).min(address.len())];
        let length = (address.len() + 4) as u8;
        // Root, OPT, 1232 bytes, no extended flags; one option.
        message.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, length + 4]);
        message.extend_from_slice(&[0, 8, 0, length, 0, family, subnet.source, 0]);
        message.extend_from_slice(address);
    }
    message
}

/// Reads an answer.
pub(super) fn read(bytes: &[u8]) -> Reply {
    let Ok(message) = Message::from_octets(bytes) else { return Reply::default() };
    let mut reply = Reply { rcode: message.header().rcode().to_string(), ..Reply::default() };
    let option = message.opt().and_then(|opt| opt.opt().iter::<ClientSubnet>().flatten().next());
    reply.scope = option.map(|option| option.scope_prefix_len());
    let Ok(section) = message.answer() else { return reply };
    for record in section.flatten() {
        let ttl = record.ttl().as_secs();
        reply.ttl = Some(reply.ttl.map_or(ttl, |known| known.min(ttl)));
        reply.answers.push(line(&record));
    }
    reply
}

/// One record as it would stand in a master file.
fn line(record: &ParsedRecord<'_, &[u8]>) -> String {
    match record.to_any_record::<AllRecordData<_, _>>() {
        Ok(known) => {
            format!("{} {} {} {}", known.owner(), known.ttl().as_secs(), record.rtype(), known.data())
        }
        Err(_) => format!("{} {} {}", record.owner(), record.ttl().as_secs(), record.rtype()),
    }
}
