//! An admin file that can't be obeyed changes nothing, and says why where people look.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::harness::*;

const CN_DRAINED: &str = "[[drain]]\nregion = \"cn\"\nreason = \"test\"\n";

/// What is wrong, the text, its first bad line (0: the file as a whole), a word of the reason.
const BAD: [(&str, &str, u32, &str); 6] = [
    ("a typo", "[[drain]]\nregoin = \"eu\"\n", 2, "region"),
    ("an unknown region", "# one\n\n[[drain]]\nregion = \"mars\"\n", 4, "mars"),
    ("a glob that matches nothing", "[[drain]]\nregion = \"eu\"\nservice = \"*.nowhere\"\n", 3, "nowhere"),
    ("half a line", "[[drain]]\nregion = \"eu\"\nreas", 3, "newline"),
    ("no newline at the end", "[[drain]]\nregion = \"us\"", 2, "admin.toml:2:"),
    ("zero bytes", "", 0, "empty"),
];

#[test]
fn a_file_with_something_wrong_in_it_changes_nothing_and_says_why() {
    let site = Site::new();
    site.write("admin.toml", CN_DRAINED);
    let mut site = site;
    site.start();
    site.wait_answer(CN, &EU_A, LIVE);
    for (what, text, line, word) in BAD {
        site.write("admin.toml", text);
        let warning =
            wait_for(what, LIVE, || site.warning("admin_file").filter(|warning| warning.contains(word)));
        assert_eq!(site.metric("waypost_admin_file_valid"), Some(0.0), "{what}");
        let shown_line = site.metric("waypost_admin_file_error_line");
        if line > 0 {
            assert!(warning.contains(&format!("admin.toml:{line}")), "{what}: {warning}");
            assert_eq!(shown_line, Some(f64::from(line)), "{what}");
        }
        assert!(site.log().contains(word), "{what}");
        let answers = [site.ask(CN).addresses(), site.ask(EU).addresses()];
        assert_eq!(answers, [EU_A, EU_A], "{what}");
        let refused = site.run(&["drain", "us", "--reason", "x"]);
        assert_eq!(refused.code, 1, "an order must not hide what is wrong: {refused:?}");
        assert_eq!(fs::read_to_string(site.path("admin.toml")).unwrap(), text, "{what}");
    }

    fs::remove_file(site.path("admin.toml")).unwrap();
    wait_for("told that it is gone", LIVE, || site.warning("admin_file").filter(|w| w.contains("gone")));
    assert_eq!(site.ask(CN).addresses(), EU_A, "a deleted file changes nothing");

    site.write("admin.toml", "# all clear\n");
    site.wait_answer(CN, &CN_A, LIVE);
    site.wait_no_warning("admin_file");
    assert_eq!(site.metric("waypost_admin_file_valid"), Some(1.0));
}

#[test]
fn a_file_put_back_as_it_was_clears_the_complaint() {
    let site = Site::new();
    site.write("admin.toml", CN_DRAINED);
    let mut site = site;
    site.start();
    site.wait_answer(CN, &EU_A, LIVE);
    site.write("admin.toml", "[[drain]]\n");
    site.wait_warning("admin_file");
    site.write("admin.toml", CN_DRAINED);
    site.wait_no_warning("admin_file");
    assert_eq!(site.ask(CN).addresses(), EU_A);
}

#[test]
fn of_two_hundred_rewrites_in_a_row_the_last_one_wins() {
    let mut site = Site::new().started();
    for number in 0..200 {
        let region = ["eu", "us", "cn"][number % 3];
        let text = format!("[[drain]]\nregion = \"{region}\"\nreason = \"number {number}\"\n");
        if number % 2 == 0 {
            site.replace("admin.toml", text.as_bytes());
        } else {
            site.write("admin.toml", &text);
        }
    }
    site.wait_answer(US, &CN_A, LIVE);
    assert_eq!(site.ask(EU).addresses(), EU_A);
    assert_eq!(site.ask(CN).addresses(), CN_A);
    assert_eq!(site.process().exited(), None);
}

#[test]
fn an_order_keeps_a_link_and_who_may_read_the_file() {
    let site = Site::new();
    site.write("orders.toml", "# ours\n");
    fs::set_permissions(site.path("orders.toml"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("orders.toml", site.path("admin.toml")).unwrap();
    let mut site = site;
    site.start();
    site.run(&["drain", "cn", "--reason", "linked"]).done();
    assert!(fs::symlink_metadata(site.path("admin.toml")).unwrap().is_symlink());
    assert!(site.read("orders.toml").contains("linked"));
    assert!(site.read("orders.toml").contains("# ours"));
    let mode = fs::metadata(site.path("orders.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn an_editor_that_moves_the_file_aside_first_causes_no_alarm() {
    let site = Site::new();
    site.write("admin.toml", "# none\n");
    let mut site = site;
    site.start();
    fs::rename(site.path("admin.toml"), site.path("admin.toml~")).unwrap();
    site.write("admin.toml", CN_DRAINED);
    site.wait_answer(CN, &EU_A, LIVE);
    assert!(!site.log().contains("is gone"), "{}", site.log());
}
