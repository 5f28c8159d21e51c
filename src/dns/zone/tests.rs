//! Zones, by RFC section, by message, by property. Messages stand in `bad`.

use std::collections::BTreeSet;

use super::*;

mod bad;
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
            (None, Some(rrset)) => records(rrset).join(" "),
        },
    }
}

/// The data of a set's records: addresses, names and texts as they are written, else hexadecimal.
fn records(rrset: &Rrset) -> Vec<String> {
    let mut bytes = &rrset.bytes[..];
    rrset.lens.iter().map(|&len| data(bytes.split_off(..usize::from(len)).unwrap())).collect()
}

fn data(record: &[u8]) -> String {
    assert_eq!(record[..2], [0xc0, 0x0c]);
    let data = &record[12..];
    assert_eq!(usize::from(u16::from_be_bytes([record[10], record[11]])), data.len());
    match u16::from_be_bytes([record[2], record[3]]) {
        1 => data.iter().map(u8::to_string).collect::<Vec<_>>().join("."),
        2 | 5 | 12 | 39 => Written(data).to_string(),
        16 => String::from_utf8_lossy(&data[1..]).into_owned(),
        _ => data.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
