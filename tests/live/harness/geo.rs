//! Small geo files, good and bad.

use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use mmdb_writer::{IpVersion, MetadataPointers, RecordSize, Value, Writer};

/// First and last address of a block, and its country.
pub(crate) type Place = (&'static str, &'static str, &'static str);

/// The world in three parts: cn's, eu's, us's.
pub(crate) fn three_places() -> Vec<Place> {
    vec![
        ("1.0.0.0", "9.255.255.255", "US"),
        ("11.0.0.0", "126.255.255.255", "CN"),
        ("128.0.0.0", "223.255.255.255", "NL"),
        ("2001:da8::", "2001:da8:ffff:ffff:ffff:ffff:ffff:ffff", "CN"),
    ]
}

/// A country database built at this moment, in seconds since 1970.
pub(crate) fn mmdb<S: AsRef<str>>(places: &[(S, S, &str)], built_s: u64) -> Vec<u8> {
    let records: Vec<_> = (places.iter())
        .map(|(first, last, code)| {
            (first.as_ref(), last.as_ref(), Value::map([("country_code", Value::from(*code))]))
        })
        .collect();
    written(&records, built_s)
}

/// A database in which no record has a place.
pub(crate) fn wrong_type(built_s: u64) -> Vec<u8> {
    written(&[("1.0.0.0", "223.255.255.255", Value::map([("asn", Value::from("64500"))]))], built_s)
}

/// The first half of a file.
pub(crate) fn truncated(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len() / 2].to_vec()
}

fn written(records: &[(&str, &str, Value)], built_s: u64) -> Vec<u8> {
    let mut writer = Writer::builder("Test-Country")
        .ip_version(IpVersion::V6)
        .record_size(RecordSize::Bits24)
        .description(&[("en", "test")])
        .metadata_pointers(MetadataPointers::Disabled)
        .build_epoch(UNIX_EPOCH + Duration::from_secs(built_s))
        .build();
    for (first, last, value) in records {
        let (first, last): (IpAddr, IpAddr) = (first.parse().unwrap(), last.parse().unwrap());
        writer.insert_range(first, last, value).unwrap();
    }
    writer.to_bytes().unwrap()
}
