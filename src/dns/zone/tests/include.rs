//! `$INCLUDE`: what holds inside, what holds behind, and how errors are told. What may be had is for the shell to say;
//! here it is a list.

use std::path::Path;

use super::*;

/// Files by path.
struct Files<'f>(&'f [(&'f str, &'f str)]);

impl Include for Files<'_> {
    fn file(&self, from: &Path, written: &Path, most_bytes: usize) -> Result<ZoneFile, IncludeRefusal> {
        let path = from.parent().unwrap().join(written);
        let found = self.0.iter().find(|(known, _)| Path::new(known) == path);
        match found {
            Some((_, text)) if text.len() > most_bytes => Err(IncludeRefusal::TooLong),
            Some((path, text)) => Ok(file(path, text)),
            None => Err(IncludeRefusal::Unusable {
                text: format!("there is no {}", path.display()),
                hint: "look again".to_owned(),
            }),
        }
    }
}

fn build(text: &str, files: &[(&str, &str)]) -> Result<(Zones, Vec<String>), Vec<String>> {
    let text = format!("{HEAD}{text}");
    let words = |notices: Vec<Notice>| notices.iter().map(ToString::to_string).collect();
    let built = Zones::build_with(&[file("zones/example.zone", &text)], &[], &Files(files));
    built.map(|(zones, warnings)| (zones, words(warnings))).map_err(words)
}

fn clean(text: &str, files: &[(&str, &str)]) -> Zones {
    let (zones, warnings) = build(text, files).unwrap();
    assert_eq!(warnings, [""; 0]);
    zones
}

fn refused(text: &str, files: &[(&str, &str)]) -> Vec<String> {
    build(text, files).map(|_| ()).unwrap_err()
}

#[test]
fn rfc1035_5_1_origin_and_owner_are_the_including_file_s_again() {
    let inc = "$ORIGIN deep.example.\nx A 192.0.2.1\n";
    let zones = clean("own TXT before\n$INCLUDE a.inc\n MX 0 .\nrel A 192.0.2.2\n", &[("zones/a.inc", inc)]);
    assert_eq!(look(&zones, "x.deep.example", "A"), "192.0.2.1");
    assert_eq!(look(&zones, "own.example", "MX"), "000000");
    assert_eq!(look(&zones, "rel.example", "A"), "192.0.2.2");
}

#[test]
fn the_file_begins_with_the_origin_that_is_given_else_with_the_one_in_force() {
    let files = [("zones/a.inc", "x A 192.0.2.1\n@ TXT here\n")];
    let zones = clean("$INCLUDE a.inc\n$INCLUDE a.inc Lab\n$INCLUDE \"a.inc\" sub.example.\n", &files);
    for name in ["x.example", "x.lab.example", "x.sub.example"] {
        assert_eq!(look(&zones, name, "A"), "192.0.2.1");
    }
    assert_eq!(look(&zones, "lab.example", "TXT"), "here");
}

#[test]
fn the_file_begins_with_the_owner_in_force_and_its_ttls_go_on_behind_it() {
    let zones = clean("own TXT a\n$INCLUDE a.inc\nb TXT b\n", &[("zones/a.inc", " MX 0 .\n$TTL 7\n")]);
    assert_eq!(look(&zones, "own.example", "MX"), "000000");
    let Found::Node { node, .. } = zones.find(&wire("b.example")) else { panic!() };
    assert_eq!(node.rrset(16).unwrap().records.bytes[6..10], 7_u32.to_be_bytes());
}

#[test]
fn the_soa_may_be_in_an_included_file() {
    let main = file("zones/example.zone", "$INCLUDE apex.inc\nwww A 192.0.2.1\n");
    let (zones, warnings) = Zones::build_with(&[main], &[], &Files(&[("zones/apex.inc", HEAD)])).unwrap();
    assert_eq!((warnings, look(&zones, "www.example", "A").as_str()), (Vec::new(), "192.0.2.1"));
}

#[test]
fn generated_records_come_from_included_files_too() {
    let zones = clean("$INCLUDE a.inc lab\n", &[("zones/a.inc", "$GENERATE 1-2 h$ A 192.0.2.$\n")]);
    assert_eq!(look(&zones, "h2.lab.example", "A"), "192.0.2.2");
}

#[test]
fn errors_name_the_included_file_its_line_and_the_way_there() {
    let files = [("zones/sub/a.inc", "\n$INCLUDE b.inc\n"), ("zones/sub/b.inc", "\n\nwww A 192.0.2\n")];
    let hint = "(it takes an IPv4 address, as in `www A 192.0.2.1`)";
    assert_eq!(
        refused("$INCLUDE sub/a.inc\n", &files),
        [format!(
            "zones/sub/b.inc:3:7: bad A record: an IPv4 address is expected here {hint}, included from zones/sub/a.inc:2, included from zones/example.zone:3"
        )]
    );
}

#[test]
fn bad_directives_are_refused() {
    let hint = "(as in `$INCLUDE hosts.inc` or `$INCLUDE hosts.inc lab.example.com.`)";
    let cases = [
        ("$INCLUDE", format!("3:9: $INCLUDE needs a file {hint}")),
        ("$INCLUDE a b c", format!("3:14: $INCLUDE takes a file and an origin, no more {hint}")),
        ("$INCLUDE \\255", format!("3:10: the name of the file is not UTF-8 {hint}")),
        ("$INCLUDE a.inc x..y", "3:16: `x..y` is no name: two dots leave an empty label".to_owned()),
        ("$INCLUDE b.inc", "3:10: there is no zones/b.inc (look again)".to_owned()),
    ];
    for (line, expected) in cases {
        assert_eq!(
            refused(line, &[("zones/a.inc", "")]),
            [format!("zones/example.zone:{expected}")],
            "{line}"
        );
    }
    let errors = Zones::build(&[file("zones/example.zone", &format!("{HEAD}$INCLUDE x"))], &[]);
    assert_eq!(errors.map(|_| ()).unwrap_err()[0].text, "there is no file x to include");
}

#[test]
fn circles_are_refused() {
    let told = refused(
        "$INCLUDE a.inc\n",
        &[("zones/a.inc", "$INCLUDE b.inc\n"), ("zones/b.inc", "$INCLUDE a.inc\n")],
    );
    assert_eq!(
        told,
        [
            "zones/b.inc:1:10: zones/a.inc includes itself (remove this line, or the one that leads here), included from zones/a.inc:1, included from zones/example.zone:3"
        ]
    );
    let told = refused("$INCLUDE example.zone\n", &[("zones/example.zone", "")]);
    assert_eq!(
        told,
        [
            "zones/example.zone:3:10: zones/example.zone includes itself (remove this line, or the one that leads here)"
        ]
    );
}

#[test]
fn depth_and_number_are_bounded() {
    let chain = |len: usize| -> Vec<(String, String)> {
        let link = |at: usize| if at < len { format!("$INCLUDE {}.inc\n", at + 1) } else { String::new() };
        (1..=len).map(|at| (format!("zones/{at}.inc"), link(at))).collect()
    };
    let borrowed = |files: &[(String, String)], text: &str| {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        build(text, &files).map(|_| ())
    };
    assert_eq!(borrowed(&chain(MAX_INCLUDE_DEPTH), "$INCLUDE 1.inc\n"), Ok(()));
    let told = borrowed(&chain(MAX_INCLUDE_DEPTH + 1), "$INCLUDE 1.inc\n").unwrap_err();
    assert!(told[0].starts_with("zones/16.inc:1:10: files include each other 16 deep (include it from a file further out), included from zones/15.inc:1"), "{told:?}");
    // Each file includes the next one twice: 2^16 readings, were there no bound.
    let doubled: Vec<_> =
        chain(MAX_INCLUDE_DEPTH).into_iter().map(|(path, text)| (path, text.repeat(2))).collect();
    let told = borrowed(&doubled, "$INCLUDE 1.inc\n$INCLUDE 1.inc\nwww A bad\n").unwrap_err();
    assert_eq!(told.len(), 1, "nothing more is read: {told:?}");
    assert!(told[0].contains("the zone includes more than 4096 files"), "{told:?}");
}

#[test]
fn text_is_bounded_also_that_of_files_that_are_refused() {
    let too_much = "$INCLUDE and $GENERATE make more than 64 MiB of this zone (split it into several zones)";
    let comment = format!("; {}\n", "x".repeat(MAX_EXPANDED_BYTES / 4 - 3));
    let five = "$INCLUDE a.inc\n".repeat(5) + "www A bad\n";
    let told = refused(&five, &[("zones/a.inc", &comment)]);
    assert_eq!(told, [format!("zones/example.zone:7:10: {too_much}")], "nothing more is read");
    let circle = format!("{comment}{}", "$INCLUDE a.inc\n".repeat(9));
    let told = refused("$INCLUDE a.inc\n", &[("zones/a.inc", &circle)]);
    assert!(told[0].contains("includes itself") && told[2].contains(too_much), "{told:?}");
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn rules_a4_name_both_files() {
    let files = [
        ("zones/cname.inc", "www CNAME web\n"),
        ("zones/soa.inc", "@ SOA a. b. 1 2 3 4 5\n"),
        ("zones/outside.inc", "www.other. A 192.0.2.1\n"),
        ("zones/below.inc", "x.old A 192.0.2.1\n"),
        ("zones/same.inc", "www A 192.0.2.1\n"),
        ("zones/occluded.inc", "www.lab TXT x\n"),
        ("zones/ns.inc", "@ NS ns1\n"),
    ];
    let cases = [
        (
            "www A 192.0.2.1\n$INCLUDE cname.inc\n",
            "zones/cname.inc:1:1: www.example has a CNAME beside A records; the other stands in zones/example.zone:3 (an alias has no other data: RFC 1034 3.6.2), included from zones/example.zone:4",
        ),
        (
            "$INCLUDE soa.inc\n",
            "zones/soa.inc:1:1: a second SOA record; the first stands in zones/example.zone:1 (one file holds one zone), included from zones/example.zone:3",
        ),
        (
            "$INCLUDE outside.inc\n",
            "zones/outside.inc:1:1: www.other lies outside the zone example (its name is that of the SOA record; a missing final dot?), included from zones/example.zone:3",
        ),
        (
            "old DNAME n.other.net.\n$INCLUDE below.inc\n",
            "zones/below.inc:1:1: x.old.example A lies below the DNAME of old.example in zones/example.zone:3 (nothing may: RFC 6672 2.4), included from zones/example.zone:4",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text, &files), [expected], "{text}");
    }
    let cases = [
        (
            "www A 192.0.2.1\n$INCLUDE same.inc\n",
            "zones/same.inc:1:1: the same record stands in zones/example.zone:3: dropped, included from zones/example.zone:4",
        ),
        (
            "lab NS ns.other.net.\n$INCLUDE occluded.inc\n",
            "zones/occluded.inc:1:1: www.lab.example TXT lies below the delegation of lab.example (never answered: only NS, DS and the addresses of its name servers belong here), included from zones/example.zone:4",
        ),
        (
            "$INCLUDE ns.inc\n",
            "zones/ns.inc:1:1: the name server ns1.example has no address (resolvers need it: add an A or AAAA record), included from zones/example.zone:3",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            build(text, &files).map(|(_, warnings)| warnings),
            Ok(vec![expected.to_owned()]),
            "{text}"
        );
    }
}

#[test]
fn services_that_clash_and_hints_beside_services_name_the_included_file() {
    let files = [("zones/a.inc", "www A 192.0.2.1\n"), ("zones/h.inc", "www HTTPS 1 . ipv4hint=192.0.2.1\n")];
    let text = |name: &str| file("zones/example.zone", &format!("{HEAD}$INCLUDE {name}\n"));
    let services = [service("www.example")];
    let errors = Zones::build_with(&[text("a.inc")], &services, &Files(&files)).map(|_| ()).unwrap_err();
    assert_eq!(errors[0].text, "service www.example clashes with the A record of that name (zones/a.inc:1)");
    let (_, warnings) = Zones::build_with(&[text("h.inc")], &services, &Files(&files)).unwrap();
    assert_eq!((warnings[0].path.as_path(), warnings[0].line), (Path::new("zones/h.inc"), 1));
    assert_eq!(warnings[0].included_from, [(PathBuf::from("zones/example.zone"), 3)]);
}
