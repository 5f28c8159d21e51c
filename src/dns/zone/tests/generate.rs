//! `$GENERATE`: what it writes, and what it refuses.

use super::*;

/// The addresses, names and texts at these names of a zone with this line.
fn made(line: &str, rtype: &str, names: &[&str]) -> Vec<String> {
    let zones = zone(&format!("{HEAD}{line}\n"));
    names.iter().map(|name| look(&zones, &format!("{name}.example"), rtype)).collect()
}

fn refused(text: &str) -> Vec<String> {
    let text = format!("{HEAD}{text}");
    let errors = Zones::build(&[file("zones/example.zone", &text)], &[]).map(|_| ()).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn owner_and_data_take_each_value_of_the_range() {
    let zones = zone(&format!("{HEAD}$GENERATE 1-3 host$ A 192.0.2.$\n"));
    assert_eq!(zones.iter().next().unwrap().names, 4);
    assert_eq!(look(&zones, "host1.example", "A"), "192.0.2.1");
    assert_eq!(look(&zones, "host3.example", "A"), "192.0.2.3");
    assert_eq!(look(&zones, "host4.example", "A"), "no name in example");
    assert_eq!(
        made("$GENERATE 0-254/127 h$ 60 IN A 192.0.2.$", "A", &["h0", "h127", "h254"]),
        ["192.0.2.0", "192.0.2.127", "192.0.2.254"]
    );
}

#[test]
fn bind_s_forms_of_the_value() {
    // Form, value, text.
    let forms = [
        ("$", 7, "7"),
        ("${0}", 7, "7"),
        ("${10}", 7, "17"),
        ("${-7}", 7, "0"),
        ("${0,3}", 7, "007"),
        ("${0,3,d}", 1234, "1234"),
        ("${0,3,o}", 8, "010"),
        ("${0,4,x}", 171, "00ab"),
        ("${0,4,X}", 171, "00AB"),
        ("${0,0,n}", 0x12ab, "b.a.2.1"),
        ("${0,7,n}", 0xab, "b.a.0.0"),
        ("${0,8,N}", 0xab, "B.A.0.0."),
        ("\\$-$$-$", 7, "$-$-7"),
        ("a$b${1}c", 7, "a7b8c"),
    ];
    for (form, value, text) in forms {
        let line = format!("$GENERATE {value}-{value} x TXT {form}");
        assert_eq!(made(&line, "TXT", &["x"]), [text], "{form}");
    }
}

#[test]
fn reverse_zones_are_what_it_is_for() {
    let text = "@ 300 SOA ns1 h 1 2 3 4 5\n@ NS ns.other.net.\n$GENERATE 0-255 ${0,3,n} PTR host-${0,2,x}.example.com.\n";
    let zones = zones(&[("zones/0.8.b.d.0.1.0.0.2.ip6.arpa.zone", text)], &[]);
    assert_eq!(look(&zones, "f.2.0.8.b.d.0.1.0.0.2.ip6.arpa", "PTR"), "host-2f.example.com");
    assert_eq!(look(&zones, "5.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "PTR"), "host-05.example.com");
}

#[test]
fn several_words_of_data_stand_in_one_pair_of_quotes_or_in_none() {
    for data in ["\"10 mail$\"", "10 mail$"] {
        assert_eq!(
            made(&format!("$GENERATE 1-2 x$ MX {data}"), "MX", &["x2"]),
            ["000a056d61696c32076578616d706c6500"]
        );
    }
    assert_eq!(made("$GENERATE 1-2 x$ TXT \"a $\" \"b\"", "TXT", &["x2"]), ["a 2\u{1}b"]);
    assert_eq!(made("$GENERATE 1-2 x$ TXT \"\\\"a $\\\"\"", "TXT", &["x2"]), ["a 2"]);
    assert_eq!(made("$GENERATE 1-1 x HTTPS \"1 . port=80$\"", "HTTPS", &["x"]), ["000100000300020321"]);
}

#[test]
fn a_quoted_text_that_becomes_several_is_warned_of_with_the_form_that_stays_one() {
    let text = |line: &str| file("zones/example.zone", &format!("{HEAD}{line}\n"));
    let warned = |line: &str| Zones::build(&[text(line)], &[]).unwrap().1;
    let warnings = warned("$GENERATE 1-3 p$ TXT \"hello $ world\"");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(
        warning.to_string(),
        "zones/example.zone:3:22: the quotes hold several texts here, one a word (one text has quotes of its own: \"\\\"hello $ world\\\"\")"
    );
    let one = "$GENERATE 1-3 p$ TXT \"\\\"hello $ world\\\"\"";
    assert_eq!(made(one, "TXT", &["p2"]), ["hello 2 world"]);
    for line in
        [one, "$GENERATE 1-3 p$ TXT \"hello$\"", "$GENERATE 1-3 p$ TXT a $", "$GENERATE 1-3 p$ MX \"1 m$\""]
    {
        assert_eq!(warned(line), [], "{line}");
    }
}

#[test]
fn the_owner_and_ttl_of_what_follows_stay_as_they_were() {
    let zones = zone(&format!("{HEAD}a 60 TXT x\n$GENERATE 1-2 b$ A 192.0.2.$\n MX 0 .\n"));
    assert_eq!(look(&zones, "a.example", "MX"), "000000");
    assert_eq!(look(&zones, "b1.example", "A"), "192.0.2.1");
}

#[test]
fn errors_name_the_line_and_the_value() {
    let range = "(it takes start-stop or start-stop/step, as in `1-100` or `0-254/2`)";
    let form = "(it takes an offset, a width up to 255 and a base out of d o x X n N, as in ${0,3,d}; a dollar is written \\$)";
    let address = "(it takes an IPv4 address, as in `www A 192.0.2.1`)";
    let cases = [
        ("$GENERATE 1-2", "3:14: $GENERATE needs a range, an owner, a type and data (as in `$GENERATE 1-100 host$ A 192.0.2.$`)".to_owned()),
        ("$GENERATE 1-2 a$ A", "3:19: $GENERATE has no data behind the type (as in `$GENERATE 1-100 host$ A 192.0.2.$`)".to_owned()),
        ("$GENERATE 1-2 a$ 60 IN", "3:23: the record has no type (as in `www 300 IN A 192.0.2.1`)".to_owned()),
        ("$GENERATE 1 a$ A 192.0.2.$", format!("3:11: `1` is no range {range}")),
        ("$GENERATE 2-1 a$ A 192.0.2.$", format!("3:11: `2-1` is no range {range}")),
        ("$GENERATE 1-2/0 a$ A 192.0.2.$", format!("3:11: `1-2/0` is no range {range}")),
        ("$GENERATE -1-2 a$ A 192.0.2.$", format!("3:11: `-1-2` is no range {range}")),
        ("$GENERATE 1-+2 a$ A 192.0.2.$", format!("3:11: `1-+2` is no range {range}")),
        ("$GENERATE 0-2147483648 a$ A 192.0.2.$", format!("3:11: `0-2147483648` is no range {range}")),
        ("$GENERATE 0-65536 a$ A 192.0.2.$", "3:11: the range has 65537 values, more than 65536 (write several $GENERATE lines, or a wildcard)".to_owned()),
        ("$GENERATE 250-300 a$ A 192.0.2.$", format!("3:24: bad A record: an IPv4 address is expected here, generated for 256 {address}")),
        ("$GENERATE 1-2 a$ A 192.0.2.${0,3,z}", format!("3:20: `${{0,3,z}}` is no form of a value {form}")),
        ("$GENERATE 1-2 a$ A 192.0.2.${0,256}", format!("3:20: `${{0,256}}` is no form of a value {form}")),
        ("$GENERATE 1-2 a${ A 192.0.2.1", format!("3:15: `${{}}` is no form of a value {form}")),
        ("$GENERATE 1-2 a$ A 192.0.2.${-2}", format!("3:20: the offset -2 leads out of 0 to 4294967295, generated for 1 {form}")),
        ("$GENERATE 1-2 a..$ A 192.0.2.$", "3:15: `a..1` is no name: two dots leave an empty label, generated for 1".to_owned()),
        ("$GENERATE 1-2 a$ TXT \"x ( y\"", "3:22: a `(` that no `)` closes, generated for 1 (everything up to the end of the file was taken for this record)".to_owned()),
        ("$GENERATE 1-2 a$ TXT \" \"", "3:18: bad TXT record: it has no data, generated for 1 (it takes texts of up to 255 bytes each, as in `@ TXT \"one\" \"two\"`)".to_owned()),
    ];
    for (line, expected) in cases {
        assert_eq!(refused(&format!("{line}\n")), [format!("zones/example.zone:{expected}")], "{line}");
    }
}

#[test]
fn rules_a4_hold_for_generated_records() {
    assert_eq!(
        refused("www3 A 192.0.2.1\n$GENERATE 2-4 www$ CNAME web$\n"),
        [
            "zones/example.zone:4:1: www3.example has a CNAME beside A records; the other stands in line 3, generated for 3 (an alias has no other data: RFC 1034 3.6.2)"
        ]
    );
    assert_eq!(
        refused("$GENERATE 1-2 sub$ SOA \"a. b. 1 2 3 4 5\"\n"),
        [1, 2].map(|value| format!("zones/example.zone:3:1: a second SOA record; the first stands in line 1, generated for {value} (one file holds one zone)"))
    );
    assert_eq!(
        refused("$GENERATE 1-1 www$.other. A 192.0.2.$\n"),
        [
            "zones/example.zone:3:1: www1.other lies outside the zone example, generated for 1 (its name is that of the SOA record; a missing final dot?)"
        ]
    );
}

#[test]
fn what_it_makes_of_a_zone_is_bounded() {
    // Told before the first record is made.
    let line = format!("$GENERATE 0-65535 a$ TXT \"{}\"\n", "${0,255} ".repeat(20));
    let told = refused(&format!("{line}www A bad\n"));
    assert_eq!(told.len(), 1, "nothing more is read: {told:?}");
    assert!(
        told[0]
            .starts_with("zones/example.zone:3:1: $INCLUDE and $GENERATE make more than 64 MiB of this zone"),
        "{told:?}"
    );
}
