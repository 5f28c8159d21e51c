//! What may be included, in real folders.

use std::os::unix::fs::symlink;

use super::*;
use crate::dns::zone::Zones;

const HEAD: &str = "@ 300 SOA ns1 hostmaster 1 1h 15m 7d 5m\n@ NS ns.other.net.\n";

/// A folder `zones` with these files, beside a `secret` that no zone may read.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret"), "password\n").unwrap();
    for (path, text) in files {
        let path = dir.path().join("zones").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// What building the folder's zones says, with the folder's own path left out; empty when they are good.
fn told(dir: &Path) -> Vec<String> {
    let zones = dir.join("zones");
    let folder = ZoneFolder(&zones);
    let notices = match Zones::build_with(&folder.zones().unwrap(), &[], &folder) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    let place = format!("{}/", dir.display());
    notices.iter().map(|notice| notice.to_string().replace(&place, "")).collect()
}

fn including(what: &str) -> String {
    format!("{HEAD}$INCLUDE {what}\n")
}

#[test]
fn relative_paths_begin_at_the_folder_of_the_file_that_includes() {
    let dir = folder(&[
        ("example.zone", &including("sub/outer.inc")),
        ("sub/outer.inc", "$INCLUDE inner.inc\n$INCLUDE ../side.inc\n$INCLUDE deep/../inner.zone\n"),
        ("sub/inner.inc", "a A 192.0.2.1\n"),
        ("sub/inner.zone", "b A 192.0.2.2\n"),
        ("side.inc", "c A 192.0.2.3\n"),
    ]);
    assert_eq!(told(dir.path()), [""; 0]);
    let zones = dir.path().join("zones");
    let files = ZoneFolder(&zones).zones().unwrap();
    assert_eq!(files.len(), 1, "what is included is no zone of its own");
    let (built, _) = Zones::build_with(&files, &[], &ZoneFolder(&zones)).unwrap();
    assert_eq!(built.iter().next().unwrap().names, 4);
}

#[test]
fn an_absolute_path_inside_the_folder_is_taken() {
    let dir = folder(&[("hosts.inc", "a A 192.0.2.1\n")]);
    let zones = dir.path().join("zones");
    fs::write(zones.join("example.zone"), including(zones.join("hosts.inc").to_str().unwrap())).unwrap();
    assert_eq!(told(dir.path()), [""; 0]);
}

#[test]
fn what_leads_out_of_the_folder_is_refused_unread() {
    let dir = folder(&[("sub/x.inc", "")]);
    let zones = dir.path().join("zones");
    symlink("../secret", zones.join("link.inc")).unwrap();
    symlink("..", zones.join("up")).unwrap();
    let secret = dir.path().join("secret");
    let absolute = secret.to_str().unwrap();
    let cases = [
        "../secret",
        "sub/../../secret",
        "../zones-not/x",
        "link.inc",
        "up/secret",
        "/etc/hostname",
        absolute,
    ];
    for written in cases {
        fs::write(zones.join("example.zone"), including(written)).unwrap();
        let shown = written.replace(&format!("{}/", dir.path().display()), "");
        assert_eq!(
            told(dir.path()),
            [format!(
                "zones/example.zone:3:10: {shown} leads out of the zone folder (put it into {zones}: files are included from there only)",
                zones = "zones"
            )],
            "{written}"
        );
    }
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let dir = folder(&[("example.zone", &including("now.inc")), ("..2026/x.inc", "a A 192.0.2.1\n")]);
    symlink("..2026/x.inc", dir.path().join("zones/now.inc")).unwrap();
    assert_eq!(told(dir.path()), [""; 0]);
}

#[test]
fn a_zone_of_the_folder_a_missing_file_and_a_folder_are_refused() {
    let other = including("x.inc");
    let dir = folder(&[("example.zone", &including("other.zone")), ("other.zone", HEAD), ("sub/x", "")]);
    assert_eq!(
        told(dir.path()),
        [
            "zones/example.zone:3:10: zones/other.zone is a zone of its own (every *.zone of the folder is: give what is only included another ending, as in .inc)"
        ]
    );
    let zone = dir.path().join("zones/example.zone");
    for (written, why) in
        [("x.inc", "No such file or directory (os error 2)"), ("sub", "it is no regular file")]
    {
        fs::write(&zone, other.replace("x.inc", written)).unwrap();
        let hint = "relative paths begin at the folder of the file that includes";
        assert_eq!(
            told(dir.path()),
            [format!("zones/example.zone:3:10: cannot read zones/{written}: {why} ({hint})")]
        );
    }
}

#[test]
fn what_is_too_long_is_refused_unread() {
    let dir = folder(&[("example.zone", &including("long.inc")), ("long.inc", "")]);
    let zones = dir.path().join("zones");
    let lengthen = |name: &str, len: u64| {
        fs::OpenOptions::new().write(true).open(zones.join(name)).unwrap().set_len(len).unwrap();
    };
    // Of which no machine has the memory.
    lengthen("long.inc", 1 << 42);
    assert_eq!(
        told(dir.path()),
        [
            "zones/example.zone:3:10: $INCLUDE and $GENERATE make more than 64 MiB of this zone (split it into several zones)"
        ]
    );
    lengthen("example.zone", 1 << 42);
    let Unreadable { path, error } = ZoneFolder(&zones).zones().unwrap_err();
    assert_eq!((path, error.kind()), (zones.join("example.zone"), io::ErrorKind::FileTooLarge));
}

#[test]
fn a_change_in_an_included_file_is_seen_by_the_next_reading() {
    let dir = folder(&[("example.zone", &including("hosts.inc")), ("hosts.inc", "a A 192.0.2.1\n")]);
    assert_eq!(told(dir.path()), [""; 0]);
    fs::write(dir.path().join("zones/hosts.inc"), "a A 192.0.2\n").unwrap();
    assert_eq!(
        told(dir.path()),
        [
            "zones/hosts.inc:1:5: bad A record: an IPv4 address is expected here (it takes an IPv4 address, as in `www A 192.0.2.1`), included from zones/example.zone:3"
        ]
    );
}

#[test]
fn a_file_that_includes_itself_by_another_name_comes_to_an_end() {
    let dir = folder(&[("example.zone", &including("a.inc")), ("a.inc", "$INCLUDE b.inc\n")]);
    symlink("a.inc", dir.path().join("zones/b.inc")).unwrap();
    let told = told(dir.path());
    assert!(told[0].contains("zones/b.inc includes itself"), "{told:?}");
}
