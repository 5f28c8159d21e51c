use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::changes::Picture;
use super::folder::Folder;
use super::guide::{Guide, quoted};
use super::settings::{Ports, config};
use super::stage::{Part, REGIONS, Stage, Target};
use super::{ADMIN_PORT, DNS_PORT, WEB_PORT, remote};
use crate::config::Config;
use crate::serve::admin::ExtraRoutes as _;

const PORTS: Ports = Ports { dns: DNS_PORT, admin: ADMIN_PORT, web: WEB_PORT };

fn guide(admin_port: u16) -> String {
    let guide = Guide {
        program: "target/release/waypost".to_owned(),
        dns: ([127, 0, 0, 1], 5301).into(),
        admin: ([127, 0, 0, 1], admin_port).into(),
        web_port: 8181,
    };
    guide.text(Path::new("/tmp/waypost-demo.1.0"))
}

fn picture(states: &[[&str; 4]], answers: &[[&str; 4]], warnings: &[&str]) -> Picture {
    let map = |rows: &[[&str; 4]]| -> BTreeMap<_, _> {
        let row = |[a, b, c, d]: &[&str; 4]| (((*a).into(), (*b).into()), ((*c).into(), (*d).into()));
        rows.iter().map(row).collect()
    };
    let warnings = warnings.iter().map(|text| ("fail_open", (*text).to_owned())).collect();
    Picture { states: map(states), answers: map(answers), warnings }
}

#[test]
fn the_configuration_is_one_that_anybody_could_write() {
    let text = config(PORTS);
    let read = Config::parse(&text, Path::new("waypost.toml"), &|_| None, "host");
    let read = read.unwrap_or_else(|errors| panic!("{}", crate::config::render(&errors, &text, false)));
    assert_eq!(read.warnings, []);
    let names: Vec<&str> = read.regions.iter().map(|region| read.regions.name(region)).collect();
    assert_eq!(names, REGIONS);
    assert_eq!(read.dns.unwrap().listen, ["127.0.0.1:5300".parse().unwrap()]);
    assert_eq!(read.admin.listen.port(), ADMIN_PORT);
    assert!(!text.contains("{dns}") && !text.contains("{web}"), "{text}");
}

#[test]
fn without_a_part_both_are_meant() {
    let target = |region: &str, part| Target { region: region.into(), part };
    assert_eq!(remote::parse("cn").unwrap(), target("cn", None));
    assert_eq!(remote::parse("cn:web").unwrap(), target("cn", Some(Part::Web)));
    assert_eq!(remote::parse("cn:db").unwrap(), target("cn", Some(Part::Db)));
    for wrong in ["cn:", "cn:disk", "cn:db:web", "cn:DB"] {
        let refused = remote::parse(wrong).unwrap_err();
        assert_eq!((refused.exit.0, refused.hint.contains("web, db")), (2, true), "{wrong}");
    }
}

#[tokio::test]
async fn what_can_be_broken_can_be_mended_and_nothing_else() {
    let stage = Stage::new(WEB_PORT);
    let mut told = Vec::new();
    for (path, body) in [
        ("/demo/break", json!({"region": "cn", "part": "db"})),
        ("/demo/break", json!({"region": "cn", "part": "web"})),
        ("/demo/mend", json!({"region": "cn", "part": "db"})),
        ("/demo/break", json!({"region": "cn"})),
        ("/demo/mend", json!({"region": "cn"})),
    ] {
        told.push(stage.post(path, body).await.unwrap()["text"].as_str().unwrap().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    cn: its web endpoints answer, its database can't be written
    cn: its web endpoints hang up, its database can't be written
    cn: its web endpoints hang up, its database can be written
    cn: its web endpoints hang up, its database can't be written
    cn: its web endpoints answer, its database can be written
    ");
    let unknown = stage.post("/demo/break", json!({"region": "ch"})).await.unwrap_err();
    assert_eq!(unknown.text, "the demo has no region `ch`");
    assert_eq!(unknown.hint, "regions: cn, eu, us");
    for odd in
        [json!({}), json!([]), json!({"region": "cn", "part": "disk"}), json!({"region": "cn", "x": 1})]
    {
        assert!(stage.post("/demo/break", odd.clone()).await.is_err(), "{odd}");
    }
    assert!(!stage.has("/demo/") && !stage.has("/demo/break/"));
}

#[test]
fn services_that_turn_alike_share_a_line() {
    let before = picture(
        &[["cn", "api", "healthy", ""], ["cn", "www", "healthy", ""], ["eu", "www", "healthy", ""]],
        &[["cn", "api", "cn", "home"], ["cn", "www", "cn", "home"], ["eu", "www", "eu", "home"]],
        &[],
    );
    let why = "db cn is down";
    let after = picture(
        &[["cn", "api", "failed", why], ["cn", "www", "failed", why], ["eu", "www", "healthy", ""]],
        &[["cn", "api", "eu", "fallback"], ["cn", "www", "eu", "fallback"], ["eu", "www", "eu", "home"]],
        &["no region is able"],
    );
    insta::assert_snapshot!(after.changes_since(&before).join("\n"), @r"
    cn turned failed (was healthy) for api, www: db cn is down
    users of cn: cn → eu (fallback) for api, www
    warning: no region is able
    ");
    insta::assert_snapshot!(before.changes_since(&after).join("\n"), @r"
    cn turned healthy (was failed) for api, www
    users of cn: eu → cn (home) for api, www
    no longer: no region is able
    ");
    assert_eq!(after.changes_since(&after), Vec::<String>::new());
}

#[test]
fn every_command_reaches_this_demo_and_no_other_server() {
    for port in [ADMIN_PORT, ADMIN_PORT + 1] {
        let text = guide(port);
        let ours: Vec<&str> = text.lines().filter(|line| line.contains("target/release/waypost")).collect();
        assert_eq!(ours.len(), 8, "{text}");
        for line in ours {
            // `demo` looks for the usual port by itself, whatever a configuration says.
            let is_found = line.contains(" demo --") && port == ADMIN_PORT
                || line.ends_with(" doctor --node-only --config /tmp/waypost-demo.1.0/waypost.toml");
            assert_eq!(line.ends_with(&format!(" --server 127.0.0.1:{port}")), !is_found, "{line}");
        }
    }
}

#[test]
fn the_lines_to_paste_fit_on_a_screen() {
    let text = guide(ADMIN_PORT);
    assert!(text.lines().count() <= 40, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn the_programs_own_name_is_safe_to_paste() {
    assert_eq!(quoted("target/release/waypost"), "target/release/waypost");
    assert_eq!(quoted("/my tools/waypost"), "'/my tools/waypost'");
    assert_eq!(quoted("it's;rm"), r"'it'\''s;rm'");
    assert_eq!(quoted(""), "''");
}

#[test]
fn the_folder_is_private_new_and_gone_in_the_end() {
    let parent = tempfile::tempdir().unwrap();
    let first = Folder::make(parent.path()).unwrap();
    let second = Folder::make(parent.path()).unwrap();
    assert_ne!(first.path(), second.path());
    assert_eq!(fs::metadata(first.path()).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(first.path().join("file"), "x").unwrap();
    first.remove().unwrap();
    drop(second);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn where_nothing_can_be_written_the_message_names_the_folder_and_the_way_out() {
    let parent = tempfile::tempdir().unwrap();
    let refused = Folder::make(&parent.path().join("gone")).unwrap_err();
    assert!(refused.text.contains("gone"), "{}", refused.text);
    assert!(refused.hint.contains("TMPDIR=FOLDER"), "{}", refused.hint);
}
