//! Geo files that are replaced under a running server, and at its start.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::harness::*;

const BUILT: u64 = 1_700_000_000;

/// cn and eu change places.
fn swapped() -> Vec<Place> {
    let mut places = three_places();
    (places[1].2, places[2].2) = ("NL", "CN");
    places
}

fn wait_geo_warning(site: &Site, word: &str) -> String {
    wait_for(&format!("a warning with {word:?}"), SOON, || {
        site.warning("geo_file").filter(|warning| warning.contains(word))
    })
}

#[test]
fn a_geo_file_that_cannot_be_used_leaves_the_old_one_in_use_and_a_good_one_is_taken() {
    let mut site = Site::new().started();
    let good = fs::read(site.path("country.mmdb")).unwrap();
    let mut corrupt = good.clone();
    corrupt[..200].fill(0xff);
    let bad = [
        ("corrupt", corrupt, ""),
        ("truncated", truncated(&good), ""),
        ("empty", Vec::new(), ""),
        ("older", mmdb(&three_places(), BUILT - 86_400), "accept-geo"),
        ("wrong type", wrong_type(BUILT + 1), "country"),
        ("moves too much", mmdb(&swapped(), BUILT + 2), "max_moved"),
    ];
    for (what, bytes, word) in bad {
        site.replace("country.mmdb", &bytes);
        let warning = wait_geo_warning(&site, word);
        println!("{what}: {warning}");
        assert_eq!(site.ask(CN).addresses(), CN_A, "{what}");
        assert_eq!(site.status()["geo"]["build"], "2023-11-14T22:13:20Z", "{what}");
        fs::remove_file(site.path("country.mmdb")).unwrap();
        wait_geo_warning(&site, "gone");
        assert_eq!(site.ask(CN).addresses(), CN_A, "{what}");
    }

    // Nothing stands in for a file at a reload: it is refused as a whole.
    let refused = site.run(&["reload"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("country.mmdb"), "{refused:?}");
    assert_eq!(site.ask(CN).addresses(), CN_A);

    let mut more = three_places();
    more.push(("2a02::", "2a02:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "NL"));
    site.replace("country.mmdb", &mmdb(&more, BUILT + 3600));
    site.wait_no_warning("geo_file");
    assert_eq!(site.status()["geo"]["build"], "2023-11-14T23:13:20Z");

    assert_eq!(site.stop(), Some(0));
    let replayed = site.run(&["replay", "state/journal.jsonl"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_geo_file_that_is_cut_short_in_place_while_it_is_in_use_stops_no_answer() {
    let site = Site::new().started();
    let path = site.path("country.mmdb");
    let (inode, length) = (fs::metadata(&path).unwrap().ino(), fs::metadata(&path).unwrap().len());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length / 2).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "the same file, shorter");
    // Read into memory at load, never mapped: there is nothing to fault on.
    assert_eq!(site.ask(CN).addresses(), CN_A);
    wait_geo_warning(&site, "the table in use stays");
    for (client, addresses) in [(CN, CN_A), (EU, EU_A), (US, US_A)] {
        assert_eq!(site.ask(client).addresses(), addresses);
    }
}

#[test]
fn a_geo_file_that_moves_too_many_is_taken_when_somebody_says_so() {
    let site = Site::new().started();
    site.replace("country.mmdb", &mmdb(&swapped(), BUILT + 1));
    wait_geo_warning(&site, "max_moved");
    let refused = site.run(&["reload"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("--accept-geo"), "{refused:?}");
    assert_eq!(site.ask(CN).addresses(), CN_A);

    site.run(&["reload", "--accept-geo"]).done();
    assert_eq!(site.ask(CN).addresses(), EU_A);
    site.wait_no_warning("geo_file");
    // What is in use now is what the next start without a file would use.
    let mut site = site;
    assert_eq!(site.stop(), Some(0));
    fs::remove_file(site.path("country.mmdb")).unwrap();
    site.start();
    assert_eq!(site.ask(CN).addresses(), EU_A);
}

#[test]
fn with_a_broken_geo_file_a_server_starts_from_the_last_good_table_and_without_one_not_at_all() {
    let mut site = Site::new().started();
    wait_until("the table is kept", SOON, || site.path("state/geo.table").exists());
    assert_eq!(site.stop(), Some(0));
    let good = fs::read(site.path("country.mmdb")).unwrap();
    site.replace("country.mmdb", &truncated(&good));
    site.start();
    assert_eq!(site.ask(CN).addresses(), CN_A);
    let warning = site.wait_warning("geo_stands_in");
    assert!(warning.contains("country.mmdb"), "{warning}");
    site.replace("country.mmdb", &good);
    site.wait_no_warning("geo_stands_in");
    site.wait_no_warning("geo_file");

    assert_eq!(site.stop(), Some(0));
    site.replace("country.mmdb", &truncated(&good));
    fs::remove_file(site.path("state/geo.table")).unwrap();
    site.spawn();
    assert_eq!(site.process().wait_exit(), 78);
    assert!(site.log().contains("country.mmdb"), "{}", site.log());
}
