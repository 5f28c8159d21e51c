//! Encoded forms, and the file format.

use super::compose::decoded;
use super::*;

fn rrset<'z>(zones: &'z Zones, name: &str, rtype: u16) -> &'z Rrset {
    let Found::Node { node, .. } = zones.find(&wire(name)) else { panic!("{name}") };
    node.rrset(rtype).unwrap()
}

#[test]
fn records_are_pointer_type_class_ttl_length_data() {
    let zones = zone(&format!("{HEAD}www 60 A 192.0.2.1\nwww 60 A 192.0.2.2\n"));
    let set = rrset(&zones, "www.example", 1);
    assert_eq!((set.records.count, &*set.records.pointers), (2, &[0, 16][..]));
    let message = message(&wire("www.example"), &[&set.records]);
    assert_eq!(message[29..], *b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x02");
}

#[test]
fn names_in_data_keep_their_case_and_targets_are_lower() {
    let zones = zone(&format!("{HEAD}www CNAME WEB.Other.NET.\n"));
    let set = rrset(&zones, "www.example", 5);
    assert_eq!(&set.records.bytes[12..], b"\x03WEB\x05Other\x03NET\0");
    assert_eq!(*set.target, *wire("web.other.net"));
}

#[test]
fn rfc2308_3_negative_answers_live_as_long_as_soa_and_minimum_allow() {
    let ttl = |text: &str| {
        let zones = zone(text);
        let [zone] = zones.iter().collect::<Vec<_>>()[..] else { panic!() };
        assert_eq!(zone.negative_soa.bytes[2..6], [0, 6, 0, 1]);
        u32::from_be_bytes(zone.negative_soa.bytes[6..10].try_into().unwrap())
    };
    assert_eq!(ttl("@ 300 SOA a. b. 1 2 3 4 60\n@ NS ns.other.net.\n"), 60);
    assert_eq!(ttl("@ 30 SOA a. b. 1 2 3 4 60\n@ NS ns.other.net.\n"), 30);
}

#[test]
fn the_soa_itself_has_its_own_ttl() {
    let zones = zone("@ 300 SOA a. b. 9 2 3 4 60\n@ NS ns.other.net.\n");
    let set = rrset(&zones, "example", 6);
    assert_eq!(set.records.bytes[6..10], 300_u32.to_be_bytes());
    assert_eq!(set.records.bytes[12..], *b"\x01a\0\x01b\0\0\0\0\x09\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x3c");
}

#[test]
fn rfc1034_4_3_2_step_6_targets_bring_their_static_addresses() {
    let services = [service("svc.example")];
    let text = "@ 300 SOA ns1 h 1 2 3 4 5\n@ NS ns1\n@ NS svc\n@ NS ns.other.net.\nns1 A 192.0.2.1\nns1 AAAA 2001:db8::1\n\
                @ MX 10 mail\n@ MX 20 mail\nmail A 192.0.2.2\n_x._tcp SRV 0 0 1 mail\nplain TXT x\n";
    let zones = zones(&[("zones/example.zone", text)], &services);
    let added = |name, rtype| rrset(&zones, name, rtype).additional.as_ref().map_or(0, |added| added.count);
    assert_eq!(
        added("example", 2),
        2,
        "the service's addresses are not fixed, the other zone's are not ours"
    );
    assert_eq!(added("example", 15), 1, "each target once");
    assert_eq!(added("_x._tcp.example", 33), 1);
    assert_eq!(added("plain.example", 16), 0);
}

#[test]
fn rfc9471_glue_below_the_cut_comes_first_and_is_required() {
    let zones = zone(&format!(
        "{HEAD}lab NS a.sib\nlab NS ns.lab\nlab NS ns.other.net.\nlab NS host\nns.lab A 192.0.2.1\nns.lab AAAA 2001:db8::1\n\
         sib NS a.sib\na.sib A 192.0.2.2\nhost A 192.0.2.3\n"
    ));
    let Found::Cut { cut, .. } = zones.find(&wire("www.lab.example")) else { panic!() };
    assert_eq!((cut.ns.count, cut.glue.count, cut.sibling_glue.count), (4, 2, 2));
}

#[test]
fn rfc1035_5_1_origin_at_parentheses_comments_and_inherited_owners() {
    let zones = zone(
        "$ORIGIN example. ; the zone\n$TTL 1h30m\n@ IN SOA ( ns1 h ; two names\n  1 1h (2h) 3h 4m ) \r\n\
         \tIN NS ns.other.net.\n$ORIGIN sub ; relative\nwww IN 5 A 192.0.2.1\n 5 IN TXT ( \"a;b\"\n\n \"c d\" ) ; end\n\
         here 60 MX 5 @\n",
    );
    assert_eq!(look(&zones, "www.sub.example", "A"), "192.0.2.1");
    assert_eq!(rrset(&zones, "www.sub.example", 16).records.bytes[12..], *b"\x03a;b\x03c d");
    assert_eq!(rrset(&zones, "here.sub.example", 15).records.bytes[12..], *b"\0\x05\0\x0d");
    assert_eq!(rrset(&zones, "example", 2).records.bytes[6..10], 5400_u32.to_be_bytes());
    let soa = &rrset(&zones, "example", 6).records.bytes;
    let times: Vec<u8> = [1, 3600, 7200, 10800, 240_u32].map(u32::to_be_bytes).concat();
    assert!(soa.ends_with(&times), "{soa:?}");
}

#[test]
fn rfc3597_5_generic_forms_of_unknown_and_known_types() {
    let zones = zone(&format!(
        "{HEAD}x TYPE65280 \\# 3 ab cdef\nx TYPE1 \\# 4 c0000201\nx CLASS1 TXT \\# 3 02 4142\ny TYPE65281 \\# 0\n"
    ));
    assert_eq!(look(&zones, "x.example", "TYPE65280"), "abcdef");
    assert_eq!(look(&zones, "x.example", "A"), "192.0.2.1");
    assert_eq!(look(&zones, "x.example", "TXT"), "AB");
    assert_eq!(look(&zones, "y.example", "TYPE65281"), "");
}

#[test]
fn ttl_is_the_stated_one_else_the_default_else_the_last() {
    let ttl = |zones: &Zones, name: &str| {
        u32::from_be_bytes(rrset(zones, name, 16).records.bytes[6..10].try_into().unwrap())
    };
    let zones = zone(&format!("{HEAD}a TXT x\nb 1w2d TXT x\nc TXT x\n$TTL 7\nd TXT x\ne 8 TXT x\nf TXT x\n"));
    let ttls = ["a", "b", "c", "d", "e", "f"].map(|name| ttl(&zones, &format!("{name}.example")));
    assert_eq!(ttls, [300, 777_600, 777_600, 7, 8, 7]);
}

#[test]
fn texts_may_hold_any_byte() {
    let zones = zone(&format!("{HEAD}a TXT \"gr\u{fc}\u{df}e\" \\255 \"tab\there\" \"q\\\"q\" @\n"));
    let bytes = &rrset(&zones, "a.example", 16).records.bytes[12..];
    assert_eq!(*bytes, *b"\x07gr\xc3\xbc\xc3\x9fe\x01\xff\x08tab\there\x03q\"q\x01@");
}

#[test]
fn every_common_type_is_read() {
    let zones = zone(&format!(
        "{HEAD}a HTTPS 1 . alpn=\"h2,h3\" port=8443\na CAA 128 issue \"ca.example.net; x=y\"\na SSHFP 1 1 {}\n\
         a NAPTR 1 2 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b!\" .\na TLSA 3 1 1 {}\na PTR b\na RP b c\na HINFO x y\nd HTTPS 0 a\n",
        "ab".repeat(20),
        "cd".repeat(32),
    ));
    let Found::Node { node, .. } = zones.find(&wire("a.example")) else { panic!() };
    let types: Vec<u16> = node.rrsets.iter().map(|set| set.rtype).collect();
    assert_eq!(types, [12, 13, 17, 35, 44, 52, 65, 257]);
    assert_eq!(look(&zones, "d.example", "HTTPS"), "00000161076578616d706c6500");
}

#[test]
fn duplicates_are_dropped_and_the_lowest_ttl_holds_for_the_set() {
    let text = format!("{HEAD}a 60 A 192.0.2.1\na 60 A 192.0.2.1\na 30 A 192.0.2.2\n");
    let (zones, warnings) = Zones::build(&[file("zones/example.zone", &text)], &[]).unwrap();
    let set = rrset(&zones, "a.example", 1);
    assert_eq!(
        (set.records.count, &set.records.bytes[6..10], &set.records.bytes[22..26]),
        (2, &[0, 0, 0, 30][..], &[0, 0, 0, 30][..])
    );
    assert_eq!(warnings.len(), 2);
}

#[test]
fn the_zone_that_ships_is_clean_and_leaves_room_for_its_services() {
    let text = include_str!("../../../../zones/gslb.example.com.zone");
    let services = ["www.gslb.example.com", "api.gslb.example.com"].map(service);
    let zones = zones(&[("zones/gslb.example.com.zone", text)], &services);
    assert_eq!(look(&zones, "www.gslb.example.com", "A"), "service 0");
    assert_eq!(look(&zones, "shop.gslb.example.com", "CNAME"), "www.gslb.example.com");
    assert_eq!(look(&zones, "feature-1.preview.gslb.example.com", "A"), "192.0.2.81");
    assert_eq!(look(&zones, "_tcp.gslb.example.com", "A"), "no data");
    assert_eq!(
        look(&zones, "host.lab.gslb.example.com", "A"),
        "gslb.example.com refers to lab.gslb.example.com"
    );
    assert_eq!(look(&zones, "nope.gslb.example.com", "A"), "no name in gslb.example.com");
}

/// Owners and types of the records that an answer with this set adds.
fn added(zones: &Zones, name: &str, rtype: u16) -> Vec<String> {
    let set = rrset(zones, name, rtype);
    let Some(additional) = &set.additional else { return Vec::new() };
    let records = decoded(&wire(name), &[&set.records, additional]);
    let added = records.iter().skip(set.records.count.into());
    added.map(|record| format!("{} {}", record.name, record.record_type())).collect()
}

#[test]
fn rfc9460_4_1_svcb_targets_bring_what_the_client_asks_next() {
    let text = format!(
        "{HEAD}www HTTPS 1 . alpn=h2\nwww A 192.0.2.1\nwww AAAA 2001:db8::1\n\
         pool HTTPS 1 a\npool HTTPS 2 b.lab alpn=h2\npool HTTPS 3 c.other.net.\npool HTTPS 4 A port=1\na A 192.0.2.2\n\
         to HTTPS 0 www\nnowhere HTTPS 0 .\nnowhere A 192.0.2.3\n*.w HTTPS 1 .\n*.w A 192.0.2.4\n\
         lab NS b.lab\nb.lab A 192.0.2.5\nx HTTPS 1 svc\n"
    );
    let zones = zones(&[("zones/example.zone", &text)], &[service("svc.example")]);
    assert_eq!(added(&zones, "www.example", 65), ["www.example. A", "www.example. AAAA"]);
    assert_eq!(
        added(&zones, "pool.example", 65),
        ["a.example. A"],
        "once, and only what this zone has to say"
    );
    assert_eq!(
        added(&zones, "to.example", 65),
        ["www.example. HTTPS", "www.example. A", "www.example. AAAA"]
    );
    assert_eq!(added(&zones, "nowhere.example", 65), [""; 0], "an alias to nothing");
    assert_eq!(added(&zones, "*.w.example", 65), [""; 0], "the owner is not known yet");
    assert_eq!(added(&zones, "x.example", 65), [""; 0], "a service's addresses depend on who asks");
}

#[test]
fn letter_case_makes_no_second_record_but_in_svcb_records_which_are_compared_byte_by_byte() {
    let mail = "a MX 1 b\na MX 1 B\n";
    let web = "a HTTPS 1 X.y. key700=A\na HTTPS 1 x.Y. key700=A\na HTTPS 1 x.Y. key700=a\na HTTPS 1 X.y. key700=A\n";
    let (zones, warnings) =
        Zones::build(&[file("zones/example.zone", &format!("{HEAD}{mail}{web}"))], &[]).unwrap();
    let counts = [15, 65].map(|rtype| rrset(&zones, "a.example", rtype).records.count);
    assert_eq!((counts, warnings.len()), ([1, 3], 2));
}
