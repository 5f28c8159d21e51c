//! Zones, by RFC section, by message, by property. Messages stand in `bad`.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::names::Names;
use super::*;

mod bad;
mod compose;
mod generate;
mod include;
mod lookup;
mod properties;
mod rdata;
mod render;
mod wire;

/// The start of a zone that draws no warning: two lines.
const HEAD: &str = "@ 300 SOA ns1 hostmaster 1 1h 15m 7d 5m\n@ NS ns.other.net.\n";

fn file(path: &str, text: &str) -> ZoneFile {
    ZoneFile { path: PathBuf::from(path), text: text.to_owned() }
}

fn service(name: &str) -> BoundService {
    BoundService { name: name.to_owned(), line: 7, a: true, aaaa: true, cname: false }
}

/// Builds one zone called `example`, which must be free of errors and warnings.
fn zone(text: &str) -> Zones {
    zones(&[("zones/example.zone", text)], &[])
}

fn zones(files: &[(&str, &str)], services: &[BoundService]) -> Zones {
    let files: Vec<ZoneFile> = files.iter().map(|(path, text)| file(path, text)).collect();
    let (zones, warnings) = Zones::build(&files, services).unwrap();
    assert_eq!(warnings, []);
    zones
}

fn wire(name: &str) -> Vec<u8> {
    name::parse(name, name::ROOT).unwrap().to_ascii_lowercase()
}

/// What a question finds, in words.
fn look(zones: &Zones, qname: &str, qtype: &str) -> String {
    let qtype: domain::base::iana::Rtype = qtype.parse().unwrap();
    let qname = wire(qname);
    match zones.find(&qname) {
        Found::Outside => "outside".to_owned(),
        Found::NoName { zone, .. } => format!("no name in {}", zone.name()),
        Found::Cut { zone, cut } => {
            let owner = &qname[qname.len() - cut.owner_len..];
            format!("{} refers to {}", zone.name(), Written(owner))
        }
        Found::Node { node, .. } => match (node.service, node.rrset(qtype.to_int())) {
            (Some(service), _) => format!("service {service}"),
            (None, None) => "no data".to_owned(),
            (None, Some(rrset)) => records(&qname, rrset).join(" "),
        },
    }
}

/// A message to the question `qname`, with the records of these templates, encoded together, as its answer.
fn message(qname: &[u8], templates: &[&Template]) -> Vec<u8> {
    let answers = templates.iter().map(|template| template.count).sum();
    let counts = [1, answers, 0, 0].map(u16::to_be_bytes).concat();
    let mut message = [&[0, 0, 0x84, 0][..], &counts, qname, &[0, 1, 0, 1]].concat();
    let (start, names) = (message.len(), Names::new(qname));
    for template in templates {
        let mut room = vec![0; template.bytes.len()];
        template.write(&mut room, start, &names);
        message.extend(room);
    }
    message
}

/// The data of a set's records: addresses, names and texts as they are written, else hexadecimal.
fn records(qname: &[u8], rrset: &Rrset) -> Vec<String> {
    let message = message(qname, &[&rrset.records]);
    let mut at = 12 + qname.len() + 4;
    let mut records = Vec::new();
    for _ in 0..rrset.records.count {
        assert_eq!(message[at..at + 2], [0xc0, 0x0c]);
        let rtype = u16::from_be_bytes([message[at + 2], message[at + 3]]);
        let len = usize::from(u16::from_be_bytes([message[at + 10], message[at + 11]]));
        records.push(data(&message, rtype, at + 12..at + 12 + len));
        at += 12 + len;
    }
    assert_eq!(at, message.len());
    records
}

fn data(message: &[u8], rtype: u16, range: Range<usize>) -> String {
    let data = &message[range.clone()];
    match rtype {
        1 => data.iter().map(u8::to_string).collect::<Vec<_>>().join("."),
        2 | 5 | 12 | 39 => Written(&uncompressed(message, range.start)).to_string(),
        15 => hex(&[&data[..2], &uncompressed(message, range.start + 2)].concat()),
        16 => String::from_utf8_lossy(&data[1..]).into_owned(),
        _ => hex(data),
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name that stands there; a pointer points to the front (RFC 1035 4.1.4).
fn uncompressed(message: &[u8], mut at: usize) -> Vec<u8> {
    let (mut name, mut before) = (Vec::new(), at);
    loop {
        let len = usize::from(message[at]);
        match len {
            0 => break name.push(0),
            1..64 => {
                name.extend(&message[at..=at + len]);
                at += 1 + len;
            }
            _ => {
                at = usize::from(u16::from_be_bytes([message[at] & 0x3f, message[at + 1]]));
                assert!(at < before);
                before = at;
            }
        }
    }
    name
}
