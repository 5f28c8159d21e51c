//! What a server knew when it ended, it knows when it starts.

use std::fs;

use crate::harness::*;

/// A probe that says nothing for a long time when its endpoint hangs.
const SLOW: &str = "interval = \"200ms\"\nfast_interval = \"100ms\"\ntimeout = \"20s\"\nfall = 2\nrise = 2\ncooldown = \"1s\"";

/// Drained eu, failed cn; everything hangs, so that nothing new is learned.
fn eu_drained_and_cn_failed() -> Site {
    let site = Site::probed(SLOW).started();
    site.run(&["drain", "eu", "--reason", "kept"]).done();
    site.endpoints[..2].iter().for_each(|endpoint| endpoint.behave(Behave::Badly));
    site.wait_answer(CN, &US_A, SOON);
    wait_until("cn's failure saved", SOON, || {
        let saved: serde_json::Value = serde_json::from_str(&site.read("state/health.json")).unwrap();
        let checks = saved["checks"].as_array().unwrap();
        checks.iter().filter(|check| check["region"] == "cn").all(|check| check["level"] == "down")
    });
    site.endpoints.iter().for_each(|endpoint| endpoint.behave(Behave::Hang));
    site
}

fn still_knows(site: &Site, what: &str) {
    let answers = [CN, EU, US].map(|client| site.ask(client).addresses());
    assert_eq!(answers, [US_A, US_A, US_A], "{what}");
    assert_eq!(site.status()["regions"]["eu"]["drained"], true, "{what}");
    assert_eq!(site.status()["regions"]["cn"]["state"], "failed", "{what}");
}

#[test]
fn drains_and_health_outlive_restarts_also_when_the_admin_file_is_broken_or_deleted_meanwhile() {
    let mut site = eu_drained_and_cn_failed();
    assert_eq!(site.stop(), Some(0));
    site.start();
    still_knows(&site, "a restart");
    assert_eq!(site.warning("admin_file"), None);

    assert_eq!(site.stop(), Some(0));
    site.write("admin.toml", "[[drain]]\nregion = \"mars\"\n");
    site.start();
    still_knows(&site, "broken meanwhile");
    let warning = wait_for("the reason", SOON, || site.warning("admin_file"));
    assert!(warning.contains("admin.toml:2") && warning.contains("mars"), "{warning}");

    assert_eq!(site.stop(), Some(0));
    fs::remove_file(site.path("admin.toml")).unwrap();
    site.start();
    still_knows(&site, "deleted meanwhile");
    let warning = site.wait_warning("admin_file");
    assert!(warning.contains("gone"), "{warning}");

    // The next order goes on from what is in force.
    site.run(&["undrain", "eu"]).done();
    site.wait_answer(CN, &EU_A, SOON);
    site.wait_no_warning("admin_file");
}

#[test]
fn drains_and_health_outlive_a_crash() {
    let mut site = eu_drained_and_cn_failed();
    site.kill();
    site.start();
    still_knows(&site, "killed");
    let replayed = site.run(&["replay", "state/journal.jsonl"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_first_start_without_an_admin_file_is_no_error() {
    let site = Site::new().started();
    assert_eq!(site.warning("admin_file"), None);
    assert_eq!(site.metric("waypost_admin_file_valid"), Some(1.0));
}
