//! Real files, generated ones, and broken ones.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use mmdb_writer::{IpVersion, MetadataPointers, RecordSize, Value, Writer};

use super::super::geo::{Bits, Network};
use super::*;

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn shipped() -> Vec<u8> {
    std::fs::read(project("geoip/dbip-country.mmdb")).unwrap()
}

/// A country database with one record a network.
fn written(version: IpVersion, size: RecordSize, networks: &[(&str, Value)]) -> Vec<u8> {
    let mut writer = Writer::builder("Test-Country")
        .ip_version(version)
        .record_size(size)
        .description(&[("en", "test")])
        .metadata_pointers(MetadataPointers::Disabled)
        .build_epoch(UNIX_EPOCH + Duration::from_secs(1_700_000_000))
        .build();
    for (network, value) in networks {
        let network: Network = network.parse().unwrap();
        let (first, last) = match network.ends::<u32>() {
            Some((first, last)) => (first.to_addr(), last.to_addr()),
            None => network.ends::<u128>().map(|(first, last)| (first.to_addr(), last.to_addr())).unwrap(),
        };
        writer.insert_range(first, last, value).unwrap();
    }
    writer.to_bytes().unwrap()
}

fn flat(code: &str) -> Value {
    Value::map([("country_code", Value::from(code))])
}

fn nested(field: &'static str, key: &'static str, code: &str) -> (&'static str, Value) {
    (field, Value::map([(key, Value::from(code)), ("geoname_id", Value::from("1"))]))
}

fn small() -> Vec<u8> {
    let networks = [
        ("1.0.0.0/24", flat("AU")),
        ("1.0.1.0/24", flat("CN")),
        ("8.8.8.0/24", Value::map([nested("country", "iso_code", "US"), nested("continent", "code", "NA")])),
        ("2001:da8::/32", flat("CN")),
        ("2a02:d500::/29", Value::map([nested("continent", "code", "EU")])),
    ];
    written(IpVersion::V6, RecordSize::Bits24, &networks)
}

fn place(database: &Database, addr: &str) -> String {
    match addr.parse().unwrap() {
        IpAddr::V4(addr) => database.find(&database.v4, addr.to_bits()).0.to_string(),
        IpAddr::V6(addr) => database.find(&database.v6, addr.to_bits()).0.to_string(),
    }
}

#[test]
fn both_schemas_are_read_and_the_continent_alone_will_do() {
    let database = Database::from_mmdb(small()).unwrap();
    assert_eq!(place(&database, "1.0.1.77"), "CN (AS)");
    assert_eq!(place(&database, "8.8.8.8"), "US (NA)");
    assert_eq!(place(&database, "2001:da8::1"), "CN (AS)");
    assert_eq!(place(&database, "2a02:d507::1"), "EU");
    assert_eq!(place(&database, "9.9.9.9"), "not in the database");
    assert_eq!(database.build_epoch_s(), 1_700_000_000);
}

#[test]
fn a_records_own_continent_beats_the_built_in_table() {
    let record = Value::map([nested("country", "iso_code", "RU"), nested("continent", "code", "AS")]);
    let bytes = written(IpVersion::V4, RecordSize::Bits28, &[("5.0.0.0/8", record)]);
    assert_eq!(place(&Database::from_mmdb(bytes).unwrap(), "5.5.5.5"), "RU (AS)");
}

#[test]
fn registered_and_represented_countries_never_stand_in() {
    let record = Value::map([
        nested("registered_country", "iso_code", "US"),
        nested("represented_country", "iso_code", "US"),
        nested("continent", "code", "EU"),
    ]);
    let bytes = written(IpVersion::V6, RecordSize::Bits32, &[("214.78.0.0/19", record)]);
    assert_eq!(place(&Database::from_mmdb(bytes).unwrap(), "214.78.0.1"), "EU");
}

#[test]
fn country_names_beside_codes_are_no_codes() {
    let record = Value::map([
        ("country", Value::from("Germany")),
        ("country_code", Value::from("DE")),
        ("continent", Value::from("Europe")),
        ("continent_code", Value::from("EU")),
    ]);
    let bytes = written(IpVersion::V4, RecordSize::Bits24, &[("5.0.0.0/8", record)]);
    assert_eq!(place(&Database::from_mmdb(bytes).unwrap(), "5.5.5.5"), "DE (EU)");
}

#[test]
fn unknown_country_codes_are_counted_and_left_out_while_the_continent_serves() {
    let odd = Value::map([nested("country", "iso_code", "ZZ"), nested("continent", "code", "EU")]);
    let networks = [("5.0.0.0/8", odd), ("6.0.0.0/8", flat("UK")), ("7.0.0.0/8", flat("FR"))];
    let database = Database::from_mmdb(written(IpVersion::V4, RecordSize::Bits24, &networks)).unwrap();
    assert_eq!(database.unknown_codes(), 2);
    assert_eq!(place(&database, "5.0.0.1"), "EU");
    assert_eq!(place(&database, "6.0.0.1"), "not in the database");
}

#[test]
fn a_database_of_another_kind_is_refused_whatever_it_is_called() {
    let record = Value::map([("autonomous_system_number", Value::from(64_512_u32))]);
    let bytes = written(IpVersion::V4, RecordSize::Bits24, &[("5.0.0.0/8", record)]);
    let error = Database::from_mmdb(bytes).unwrap_err();
    assert_eq!(error, MmdbError::WrongType("Test-Country".into()));
    assert!(error.to_string().contains("use a country or city database"), "{error}");
}

#[test]
fn a_build_date_beyond_the_clocks_type_is_no_reason_to_refuse_a_file() {
    let mut bytes = small();
    let key = b"\x4bbuild_epoch";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len();
    // The writer shortens integers: the eight-byte form goes in the place of the short one.
    let short = usize::from(bytes[at] & 0x1f);
    bytes.splice(at..at + 2 + short, [0x08, 0x02].into_iter().chain([0xff; 8]));
    let database = Database::from_mmdb(bytes).unwrap();
    assert_eq!(database.build_epoch_s(), u64::MAX);
    assert_eq!(database.build_s(1_800_000_000), None);
}

#[test]
fn a_build_date_counts_up_to_a_day_ahead_of_the_clock() {
    let database = Database::from_mmdb(small()).unwrap();
    assert_eq!(database.build_s(1_700_000_000 - 86_400), Some(1_700_000_000));
    assert_eq!(database.build_s(1_700_000_000 - 86_401), None);
    assert_eq!(database.build_s(u64::MAX), Some(1_700_000_000));
    let mut newer = database.clone();
    newer.build_epoch_s += 1;
    assert!(database.older_than(&newer, 1_800_000_000));
    assert!(!newer.older_than(&database, 1_800_000_000) && !database.older_than(&database, 1_800_000_000));
    newer.build_epoch_s = u64::MAX;
    assert!(!newer.older_than(&database, 1_800_000_000) && !database.older_than(&newer, 1_800_000_000));
}

/// What a file is refused for or read as, the bytes being whatever they are: the point is to come back.
fn survives(bytes: Vec<u8>) -> Result<Database, MmdbError> {
    let read = Database::from_mmdb(bytes);
    if let Ok(database) = &read {
        assert_eq!(Database::from_bytes(&database.to_bytes()).as_ref(), Ok(database));
    }
    read
}

#[test]
fn every_truncation_is_refused_and_no_bit_flip_panics() {
    let whole = small();
    for len in 0..whole.len() {
        assert!(survives(whole[..len].to_vec()).is_err(), "{len} of {} bytes", whole.len());
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = survives(flipped);
    }
    assert!(survives(Vec::new()).is_err());
    assert!(survives(vec![0; 4096]).is_err());
}

#[test]
fn the_shipped_database_cut_off_anywhere_is_refused() {
    let whole = shipped();
    for part in 1..16 {
        assert!(Database::from_mmdb(whole[..whole.len() * part / 16].to_vec()).is_err());
    }
}

#[test]
fn a_file_without_a_description_is_read_and_still_verified() {
    // DB-IP's own files are such.
    let description = b"\x4bdescription\xe1\x42en\x44test";
    let mut bytes = small();
    let at = bytes.windows(description.len()).position(|window| window == description).unwrap();
    bytes.splice(at..at + description.len(), *b"\x4bdescription\xe0");
    assert_eq!(place(&Database::from_mmdb(bytes.clone()).unwrap(), "1.0.1.77"), "CN (AS)");
    bytes[3..6].fill(0);
    assert!(matches!(Database::from_mmdb(bytes), Err(MmdbError::Damaged(_))));
}

#[test]
fn a_tree_that_runs_in_circles_is_refused() {
    let mut bytes = small();
    // The root's right record points at the root.
    bytes[3..6].fill(0);
    assert!(matches!(Database::from_mmdb(bytes), Err(MmdbError::Damaged(_))));
}

/// The public test files lie beside the project where it is developed; `None` elsewhere.
fn outside_files() -> Option<PathBuf> {
    let folder = project("../shared/cases/mmdb");
    if !folder.is_dir() {
        println!("skipped: {} does not exist", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn every_outside_file_is_read_or_refused_without_a_panic() {
    let Some(folder) = outside_files() else { return };
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "mmdb") {
            let read = survives(std::fs::read(&path).unwrap());
            println!("{}: {:?}", path.display(), read.map(|database| database.ranges()));
            files += 1;
        }
    }
    assert!(files >= 20);
}

/// Each line of the case file that names a file: which are served, which are refused as another kind, which as damaged.
#[test]
fn outside_files_come_out_as_the_case_file_says() {
    let cases = std::fs::read_to_string(project("tests/cases/mmdb_files.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_str(&cases).unwrap();
    let Some(folder) = outside_files() else { return };
    for case in cases["cases"].as_array().unwrap() {
        let Some(file) = case["file"].as_str() else { continue };
        let name = Path::new(file).file_name().unwrap();
        let read = survives(std::fs::read(folder.join(name)).unwrap());
        match (case["kind"].as_str().unwrap(), case["id"].as_str().unwrap()) {
            ("good", id) => assert!(read.is_ok(), "{id} {file}: {read:?}"),
            // Files that open, but hold no places: well-formed and of another kind.
            ("wrong-type" | "layout", id) | (_, id @ ("mm-16" | "mm-18" | "mm-24" | "mm-28" | "mm-36")) => {
                assert!(matches!(read, Err(MmdbError::WrongType(_))), "{id} {file}: {read:?}");
            }
            (_, id) => assert!(matches!(read, Err(MmdbError::Damaged(_))), "{id} {file}: {read:?}"),
        }
    }
}

#[test]
fn the_outside_country_file_keeps_country_and_continent_apart() {
    let Some(folder) = outside_files() else { return };
    let bytes = std::fs::read(folder.join("GeoLite2-Country-Test.mmdb")).unwrap();
    let database = Database::from_mmdb(bytes).unwrap();
    for (addr, expected) in [
        ("111.235.163.255", "CN (AS)"),
        ("214.78.0.1", "US (NA)"),
        ("81.2.69.160", "GB (EU)"),
        ("2001:218::1", "JP (AS)"),
        ("2a02:d500::1", "EU"),
        ("127.0.0.1", "not in the database"),
    ] {
        assert_eq!(place(&database, addr), expected, "{addr}");
    }
}
