//! The stored table: comes back equal, or is refused.

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;

fn stored() -> Vec<u8> {
    let places = [("1.0.0.0/24", "AU", ""), ("1.0.1.0/24", "CN", "AS"), ("2a02::/16", "", "EU")];
    database(&places).to_bytes()
}

/// The same bytes under a right digest, as somebody who means harm would write them.
fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len().saturating_sub(32);
    bytes.truncate(body);
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

#[test]
fn a_stored_table_comes_back_equal() {
    let database = Database::from_bytes(&stored()).unwrap();
    assert_eq!(database.to_bytes(), stored());
}

#[test]
fn a_stored_table_serves_under_other_rules_than_it_was_stored_under() {
    let places = Arc::new(Database::from_bytes(&stored()).unwrap());
    let table = GeoTable::build(&rules(&[("1.0.1.0/25", US)]), Some(places));
    assert_eq!(locate(&table, "1.0.1.1/32"), (US, "network", 25));
    assert_eq!(locate(&table, "1.0.1.200/32").0, CN);
}

#[test]
fn damage_is_told_from_a_foreign_file() {
    let whole = stored();
    for len in 0..whole.len() {
        let expected = if len < 8 { StoredError::Foreign } else { StoredError::Damaged };
        assert_eq!(Database::from_bytes(&whole[..len]), Err(expected), "{len}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        assert!(Database::from_bytes(&changed).is_err(), "{at}");
    }
}

#[test]
fn counts_beyond_the_bytes_are_refused_before_anything_is_allocated() {
    for at in [24, 28, 32] {
        let mut bytes = stored();
        bytes[at..at + 4].fill(0xff);
        assert_eq!(Database::from_bytes(&signed(bytes)), Err(StoredError::Invalid));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bytes_under_a_right_digest_never_panic_and_give_a_table_that_works(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        addrs in prop::collection::vec(any::<u32>(), 4),
    ) {
        let mut bytes = stored();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(database) = Database::from_bytes(&signed(bytes)) {
            let table = GeoTable::build(&rules(&[]), Some(Arc::new(database)));
            for addr in addrs {
                table.describe(None, addr.to_addr());
            }
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let with_magic = [b"WAYPGEO1".as_slice(), &bytes].concat();
        prop_assert!(Database::from_bytes(&bytes).is_err());
        prop_assert!(Database::from_bytes(&signed(with_magic)).is_err());
    }
}
