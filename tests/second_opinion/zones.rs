//! What is served: the example zone with its services, the shipped zone, and the zones of other test suites.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use waypost::dns::zone::ZoneFile;

/// A zone's text, and its names.
pub(crate) struct Zone {
    pub(crate) file: ZoneFile,
    /// Every owner, absolute, without doubles.
    pub(crate) names: Vec<String>,
}

/// Every zone.
pub(crate) fn all() -> Vec<Zone> {
    let example = include_str!("../../src/dns/tests/example.zone").to_owned();
    let mut shipped = fs::read_to_string(root().join("zones/gslb.example.com.zone")).unwrap();
    // The same name as the example zone's, so it is served under another.
    shipped = shipped.replace("$ORIGIN gslb.example.com.", "$ORIGIN shipped.example.");
    let mut zones = vec![
        master("gslb.example.com.zone", example, "gslb.example.com."),
        master("shipped.example.zone", shipped, "shipped.example."),
    ];
    for file in ["ferret", "knot_gdnsd_static", "pdns_static", "protocol_probes"] {
        let text = fs::read_to_string(root().join(format!("tests/cases/{file}.json"))).unwrap();
        let cases: Value = serde_json::from_str(&text).unwrap();
        zones.extend(cases["zones"].as_object().unwrap().values().map(restated));
    }
    zones
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// A zone in a master file whose relative names all stand below `origin`.
fn master(path: &str, text: String, origin: &str) -> Zone {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', ';', '$', ')'])) {
        match line.split_whitespace().next() {
            Some("@") => push(&mut names, origin),
            Some(owner) if owner.ends_with('.') => push(&mut names, owner),
            Some(owner) => push(&mut names, &format!("{owner}.{origin}")),
            None => {}
        }
    }
    Zone { file: ZoneFile { path: path.into(), text }, names }
}

/// A zone as the cases give it: owner, TTL, type, data.
fn restated(zone: &Value) -> Zone {
    let mut text = "$ORIGIN .\n".to_owned();
    let mut names = Vec::new();
    for record in zone["records"].as_array().unwrap() {
        let field = |index: usize| record[index].as_str().unwrap();
        text += &format!("{} {} IN {} {}\n", field(0), record[1], field(2), field(3));
        push(&mut names, field(0));
    }
    Zone { file: ZoneFile { path: format!("{}zone", zone["origin"].as_str().unwrap()).into(), text }, names }
}

fn push(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
