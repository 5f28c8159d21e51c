//! What stands at a name.

use super::*;

/// The example zone of RFC 4592 2.2.1.
fn rfc4592_zone() -> Zones {
    zone(
        r#"$ORIGIN example.
example.                 3600 IN  SOA   ns.example.com. host.example.com. 1 2 3 4 5
example.                 3600     NS    ns.example.com.
example.                 3600     NS    ns.example.net.
*.example.               3600     TXT   "this is a wildcard"
*.example.               3600     MX    10 host1.example.
sub.*.example.           3600     TXT   "this is not a wildcard"
host1.example.           3600     A     192.0.2.1
_ssh._tcp.host1.example. 3600     SRV   0 0 22 host1.example.
_ssh._tcp.host2.example. 3600     SRV   0 0 22 host1.example.
subdel.example.          3600     NS    ns.example.com.
subdel.example.          3600     NS    ns.example.net.
"#,
    )
}

#[test]
fn rfc4592_2_2_1_names_that_do_not_exist_are_synthesised_from_the_wildcard() {
    let zones = rfc4592_zone();
    assert_eq!(look(&zones, "host3.example", "MX"), "000a05686f737431076578616d706c6500");
    assert_eq!(look(&zones, "host3.example", "A"), "no data");
    assert_eq!(look(&zones, "foo.bar.example", "TXT"), "this is a wildcard");
}

#[test]
fn rfc4592_2_2_1_names_that_exist_block_the_wildcard() {
    let zones = rfc4592_zone();
    assert_eq!(look(&zones, "host1.example", "MX"), "no data");
    assert_eq!(look(&zones, "sub.*.example", "MX"), "no data");
    assert_eq!(look(&zones, "_telnet._tcp.host1.example", "SRV"), "no name in example");
    assert_eq!(look(&zones, "host.subdel.example", "A"), "example refers to subdel.example");
    assert_eq!(look(&zones, "ghost.*.example", "MX"), "no name in example");
}

#[test]
fn rfc4592_2_2_2_empty_non_terminals_exist_and_block_the_wildcard() {
    let zones = rfc4592_zone();
    assert_eq!(look(&zones, "_tcp.host1.example", "TXT"), "no data");
    assert_eq!(look(&zones, "host2.example", "TXT"), "no data");
    assert_eq!(look(&zones, "_tcp.host2.example", "TXT"), "no data");
    assert_eq!(look(&zones, "x.host2.example", "TXT"), "no name in example");
}

#[test]
fn rfc4592_2_1_1_an_asterisk_is_special_only_as_a_whole_first_label() {
    let zones = zone(&format!("{HEAD}*a TXT one\nb.*.c TXT two\n\\042.d TXT three\n"));
    assert_eq!(look(&zones, "xa.example", "TXT"), "no name in example");
    assert_eq!(
        look(&zones, "b.x.c.example", "TXT"),
        "no data",
        "*.c is an empty non-terminal and a wildcard"
    );
    assert_eq!(look(&zones, "x.d.example", "TXT"), "three", "\\042 is an asterisk");
}

#[test]
fn rfc4592_a_wildcard_asked_for_by_its_own_name_is_found() {
    assert_eq!(look(&rfc4592_zone(), "*.example", "TXT"), "this is a wildcard");
}

#[test]
fn rfc8020_nothing_is_below_a_name_that_does_not_exist() {
    let zones = zone(&format!("{HEAD}a.b.c TXT deep\n"));
    assert_eq!(look(&zones, "a.b.c.example", "TXT"), "deep");
    assert_eq!(look(&zones, "b.c.example", "TXT"), "no data");
    assert_eq!(look(&zones, "c.example", "TXT"), "no data");
    assert_eq!(look(&zones, "d.example", "TXT"), "no name in example");
    assert_eq!(look(&zones, "z.a.b.c.example", "TXT"), "no name in example");
    assert_eq!(look(&zones, "other", "TXT"), "outside");
    assert_eq!(look(&zones, ".", "TXT"), "outside");
}

#[test]
fn rfc1034_4_3_2_names_at_and_below_a_cut_are_referred_even_where_a_wildcard_would_match() {
    let (zones, warnings) = Zones::build(
        &[file(
            "zones/example.zone",
            &format!(
                "{HEAD}* TXT wild\nlab NS ns.lab\nns.lab A 192.0.2.1\nhost.lab A 192.0.2.2\n*.lab TXT hidden\n\
                 deep.lab NS ns.lab\n"
            ),
        )],
        &[],
    )
    .unwrap();
    for name in ["lab", "ns.lab", "host.lab", "x.lab", "deep.lab", "x.deep.lab"] {
        assert_eq!(look(&zones, &format!("{name}.example"), "A"), "example refers to lab.example");
    }
    assert_eq!(look(&zones, "x.example", "TXT"), "wild");
    let lines: Vec<usize> = warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [6, 7, 8], "occluded: host, the wildcard, the cut below the cut; glue is not");
}

#[test]
fn rfc4343_letter_case_does_not_matter() {
    let zones = zone("@ 300 SOA ns1 h 1 2 3 4 5\nEXAMPLE. NS ns.other.net.\nWwW.eXample. TXT found\n");
    assert_eq!(look(&zones, "www.example", "TXT"), "found");
}

#[test]
fn rfc1035_5_1_escapes_name_any_byte() {
    let zones = zone(&format!("{HEAD}a\\.b TXT dot\n\\255\\000 TXT bytes\nsemi\\;colon TXT semicolon\n"));
    assert_eq!(look(&zones, "a\\.b.example", "TXT"), "dot");
    assert_eq!(look(&zones, "a.b.example", "TXT"), "no name in example");
    assert_eq!(look(&zones, "semi\\;colon.example", "TXT"), "semicolon");
    assert_eq!(look(&zones, "\\255\\000.example", "TXT"), "bytes");
}

#[test]
fn rfc1035_2_3_4_the_longest_names_and_labels_are_found() {
    let label = "l".repeat(63);
    // Four labels of 63 bytes leave no room; with the last one shortened the name has exactly 255 bytes.
    let longest = format!("{label}.{label}.{label}.{}.example", "l".repeat(53));
    assert_eq!(wire(&longest).len(), 255);
    let zones = zone(&format!("{HEAD}{longest}. TXT longest\n"));
    assert_eq!(look(&zones, &longest, "TXT"), "longest");
}

#[test]
fn names_of_as_many_labels_as_there_can_be_are_found_missed_and_synthesised() {
    let deepest = format!("{}example", "a.".repeat(123));
    assert_eq!(wire(&deepest).len(), 255);
    let deep = zone(&format!("{HEAD}{deepest}. TXT deepest\n"));
    assert_eq!(look(&deep, &deepest, "TXT"), "deepest");
    assert_eq!(look(&deep, &deepest[2..], "TXT"), "no data");
    assert_eq!(look(&deep, &deepest.replacen('a', "b", 1), "TXT"), "no name in example");
    let flat = zone(&format!("{HEAD}* TXT wild\n"));
    assert_eq!(look(&flat, &deepest, "TXT"), "wild");
    assert_eq!(look(&flat, &deepest.replace("example", "elsewhr"), "TXT"), "outside");
}

#[test]
fn rfc6672_2_3_a_dname_does_not_redirect_its_own_name() {
    let zones = zone(&format!("{HEAD}old TXT here\nold DNAME new.other.net.\n"));
    assert_eq!(look(&zones, "old.example", "TXT"), "here");
    assert_eq!(look(&zones, "x.old.example", "TXT"), "no name in example");
    let redirect = |name: &str| match zones.find(&wire(name)) {
        Found::NoName { redirect, .. } => redirect.map(|there| (there.owner_len, there.rrset.target.clone())),
        _ => None,
    };
    let target = wire("new.other.net").into();
    assert_eq!(redirect("x.y.old.example"), Some((wire("old.example").len(), target)));
    assert_eq!((redirect("old.example"), redirect("x.example")), (None, None));
}

#[test]
fn the_root_and_a_top_level_domain_can_be_zones() {
    let zones = zones(
        &[
            (
                "zones/root.zone",
                ". 60 SOA a.net. b.net. 1 2 3 4 5\n. NS a.net.\n. TXT root\na.net. A 192.0.2.1\n",
            ),
            ("zones/org.zone", "org. 60 SOA a.net. b.net. 1 2 3 4 5\norg. NS a.net.\nx TXT of-org\n"),
        ],
        &[],
    );
    assert_eq!(look(&zones, ".", "TXT"), "root");
    assert_eq!(look(&zones, "net", "TXT"), "no data");
    assert_eq!(look(&zones, "com", "TXT"), "no name in .");
    assert_eq!(look(&zones, "x.org", "TXT"), "of-org");
    assert_eq!(look(&zones, "y.org", "TXT"), "no name in org");
}

#[test]
fn a_zone_inside_a_zone_answers_for_its_own_names_delegated_or_not() {
    let outer =
        format!("{HEAD}* TXT outer\nin NS ns.in\nin DS 1 13 2 {}\nns.in A 192.0.2.1\n", "ab".repeat(32));
    let zones = zones(
        &[
            ("zones/example.zone", &outer),
            ("zones/in.example.zone", &format!("{HEAD}x TXT inner\nns A 192.0.2.1\n")),
            ("zones/far.away.example.zone", HEAD),
        ],
        &[],
    );
    assert_eq!(look(&zones, "x.in.example", "TXT"), "inner");
    assert_eq!(look(&zones, "y.in.example", "TXT"), "no name in in.example");
    assert_eq!(look(&zones, "y.example", "TXT"), "outer");
    assert_eq!(look(&zones, "away.example", "TXT"), "no data", "a name above a loaded zone exists");
    assert_eq!(look(&zones, "x.away.example", "TXT"), "no name in example");

    // RFC 4035 3.1.4.1: DS is the outer zone's to answer.
    let [outer, inner, far] = zones.iter().collect::<Vec<_>>()[..] else { panic!() };
    let Found::Cut { zone, cut } = zones.above(inner) else { panic!() };
    assert_eq!((zone.name().as_str(), cut.owner_len, cut.ds.count), ("example", inner.apex.len(), 1));
    let Found::Node { zone, node } = zones.above(far) else { panic!() };
    assert_eq!((zone.name().as_str(), node.rrsets.len()), ("example", 0));
    assert!(matches!(zones.above(outer), Found::Outside));
}

#[test]
fn rfc4035_3_1_4_1_ds_at_a_cut_is_kept_for_this_side() {
    let digest = "ab".repeat(32);
    let zones = zone(&format!("{HEAD}lab NS ns.other.net.\nlab 60 DS 1 13 2 {digest}\n"));
    let Found::Cut { cut, .. } = zones.find(&wire("lab.example")) else { panic!() };
    assert_eq!(cut.ds.bytes[2..12], [0, 43, 0, 1, 0, 0, 0, 60, 0, 36]);
    assert_eq!(cut.owner_len, wire("lab.example").len());
}

#[test]
fn services_answer_at_plain_wildcard_and_apex_names() {
    let services = ["www.example", "*.example", "example", "*.deep.example"].map(service);
    let zones =
        zones(&[("zones/example.zone", &format!("{HEAD}host TXT static\nwww TXT beside\n"))], &services);
    assert_eq!(zones.services_bound(), 4);
    assert_eq!(look(&zones, "www.example", "A"), "service 0");
    assert_eq!(look(&zones, "any.example", "A"), "service 1");
    assert_eq!(look(&zones, "x.y.example", "A"), "service 1");
    assert_eq!(look(&zones, "example", "A"), "service 2");
    assert_eq!(look(&zones, "x.deep.example", "A"), "service 3");
    assert_eq!(
        look(&zones, "deep.example", "A"),
        "no data",
        "an empty non-terminal blocks the wildcard service"
    );
    assert_eq!(look(&zones, "host.example", "TXT"), "static");
    let Found::Node { node, .. } = zones.find(&wire("www.example")) else { panic!() };
    assert_eq!(node.rrsets.len(), 1, "static data stands beside a service");
}

#[test]
fn a_service_binds_to_the_innermost_zone() {
    let zones = zones(
        &[("zones/example.zone", HEAD), ("zones/in.example.zone", HEAD)],
        &["x.in.example", "x.example"].map(service),
    );
    let Found::Node { zone, .. } = zones.find(&wire("x.in.example")) else { panic!() };
    assert_eq!(zone.name(), "in.example");
}

#[test]
fn a_family_the_service_lacks_may_be_static_data() {
    let only_v6 = BoundService { a: false, ..service("www.example") };
    let zones = zones(&[("zones/example.zone", &format!("{HEAD}www A 192.0.2.1\n"))], &[only_v6]);
    let Found::Node { node, .. } = zones.find(&wire("www.example")) else { panic!() };
    assert_eq!(
        (node.service, records(&wire("www.example"), &node.rrsets[0])),
        (Some(0), vec!["192.0.2.1".to_owned()])
    );
}

#[test]
fn bytes_that_are_no_name_find_nothing() {
    let zones = zone(HEAD);
    for bytes in [&b""[..], b"\x07exam", b"\x3f", b"\xc0\x0c", b"\x07example", b"\x00\x00", &[1; 300]] {
        assert!(matches!(zones.find(bytes), Found::Outside), "{bytes:?}");
    }
    assert!(matches!(Zones::default().find(b"\x00"), Found::Outside));
}

#[test]
fn zones_tell_their_name_serial_file_and_size() {
    let zones = zone(&format!("{HEAD}a.b TXT x\nlab NS ns.other.net.\n"));
    let [zone] = zones.iter().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((zone.name().as_str(), zone.serial, zone.names), ("example", 1, 3));
    assert_eq!(zone.path.to_str(), Some("zones/example.zone"));
}
