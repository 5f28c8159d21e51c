//! Any bytes as a file that people write or download: zone, geo file, admin file, config.

#![allow(clippy::expect_used)] // A fixture: what fails here is the fixture.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use waypost::config::admin::AdminFile;
use waypost::config::{Config, Diagnostic, render};
use waypost::dns::answer::AnswerTable;
use waypost::dns::zone::{BoundService, ZoneFile, Zones};
use waypost::region::geo::{Database, GeoTable, Rules, Subnet};
use waypost::region::{RegionId, Regions};

use crate::packet::legal::Setup;
use crate::packet::{self, World};

/// 2026-12-01T00:00:00Z.
const NOON_MS: i64 = 1_796_083_200_000;
const HOUR_MS: i64 = 3_600_000;

const SERVICES: [&str; 2] = ["www.gslb.example.com", "api.gslb.example.com"];

/// Messages that are printed of one file: many errors in a small file take long and show nothing new.
const MAX_PRINTED: usize = 8;

/// Words of a zone that are asked for.
const MAX_WORDS: usize = 24;

/// A, CNAME, TXT, DS, ANY.
const TYPES: [u16; 5] = [1, 5, 16, 43, 255];

/// Reads a zone; when it is good, asks it for the names that its text has.
pub(crate) fn fuzz_zone(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let file = ZoneFile { path: "example.com.zone".into(), text: text.to_owned() };
    let service =
        BoundService { name: "geo.example.com".to_owned(), line: 1, a: true, aaaa: false, cname: false };
    match Zones::build(&[file], &[service]) {
        Ok((zones, warnings)) => {
            drop(warnings.iter().map(|notice| format!("{notice:?}")).collect::<Vec<_>>());
            ask_for_its_words(zones, text);
        }
        Err(notices) => assert!(!notices.is_empty(), "a refusal says why"),
    }
}

fn ask_for_its_words(zones: Zones, text: &str) {
    let view = packet::view_of(zones, AnswerTable::new(vec![Arc::new(packet::answers("geo", 0))]));
    let mut worlds = [World::of(view, Setup::ORDINARY)];
    let words = text.split_whitespace().filter(|word| word.len() < 200).take(MAX_WORDS);
    for word in words.chain(["example.com.", "geo", "x.y.z"]) {
        let word = word.replace("*.", "x.");
        let name = if word.ends_with('.') { word } else { format!("{word}.example.com.") };
        if name.split('.').any(|label| label.len() > 63) {
            continue;
        }
        for qtype in TYPES {
            packet::fuzz_packet(&mut worlds, &packet::query(&name, qtype, None));
        }
    }
}

/// Reads a geo file; when it is good, places addresses by it. No two ends of a scope have different homes.
pub(crate) fn fuzz_mmdb(data: &[u8]) {
    let Ok(database) = Database::from_mmdb(data.to_vec()) else { return };
    let table =
        GeoTable::build(&Rules::everybody(RegionId::new(0).expect("one region")), Some(Arc::new(database)));
    let peer = IpAddr::from([192, 0, 2, 1]);
    for seed in data.iter().rev().take(16) {
        let bits = u128::from(*seed) * 0x0101_0101_0101_0101_0101_0101_0101_0101;
        let v4 = Ipv4Addr::from_bits(bits as u32);
        for addr in [IpAddr::from(v4), Ipv6Addr::from_bits(bits).into()] {
            let located = table.locate(Some(Subnet { addr, source: 24 }), peer);
            let there = table.locate(None, addr);
            assert!(located.scope <= if addr.is_ipv4() { 32 } else { 128 });
            assert!(there.scope == 0);
        }
    }
}

/// Reads an admin file and asks what is in force; or prints what is wrong with it.
pub(crate) fn fuzz_admin(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let path = Path::new("admin.toml");
    let regions = Regions::new(["cn", "eu", "us"]).expect("three regions");
    match AdminFile::parse(text, path, &regions, &SERVICES, NOON_MS) {
        Ok(file) => {
            for region in regions.iter() {
                let _ = file.in_force(region, SERVICES[0], NOON_MS + HOUR_MS);
            }
        }
        Err(found) => print(&found, text),
    }
}

/// Reads `waypost.toml`; prints what is wrong with it.
pub(crate) fn fuzz_config(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let env = |name: &str| (name == "TOKEN").then(|| "s3cr3t".to_owned());
    match Config::parse(text, Path::new("waypost.toml"), &env, "ns1.example.com") {
        Ok(config) if config.warnings.is_empty() => {}
        Ok(config) => print(&config.warnings, text),
        Err(found) => print(&found, text),
    }
}

fn print(found: &[Diagnostic], text: &str) {
    let first = &found[..found.len().min(MAX_PRINTED)];
    assert!(!render(first, text, false).is_empty(), "a refusal says why");
}
