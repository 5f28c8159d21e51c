//! Bad and odd zones with their messages, word by word.
//!
//! Each text stands in `zones/example.zone`; `HEAD` at its beginning is two lines.

use super::*;

/// Texts that are refused, each with every message, in order.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "zones/example.zone: the file has no SOA record (a zone begins with one, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`)",
        ],
    ),
    (
        "; only a comment\n",
        &[
            "zones/example.zone: the file has no SOA record (a zone begins with one, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`)",
        ],
    ),
    (
        "@ 5 NS ns.other.net.\n",
        &[
            "zones/example.zone: the file has no SOA record (a zone begins with one, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`)",
        ],
    ),
    (
        "@ NS ns.other.net.\nwww A 192.0.2.1\n",
        &[
            "zones/example.zone:1:3: the record has no TTL, and none is given before it (put `$TTL 300` above the first record)",
        ],
    ),
    (
        "@ 300 SOA a. b. 1 2 3 4 5\n",
        &["zones/example.zone:1:1: the zone example has no NS record at its apex (as in `@ NS ns1`)"],
    ),
    (
        "@ 300 SOA a. b. 1 2 3\n@ NS ns.other.net.\n",
        &[
            "zones/example.zone:1:21: bad SOA record: something is missing at its end (it takes primary name server, mailbox, serial, refresh, retry, expire, minimum, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`)",
        ],
    ),
    (
        "@ 300 SOA a. b. 1 2 3 4 5 6\n@ NS ns.other.net.\n",
        &[
            "zones/example.zone:1:27: bad SOA record: it ends here, but the line goes on (it takes primary name server, mailbox, serial, refresh, retry, expire, minimum, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`)",
        ],
    ),
    (
        "@ 300 SOA a. b. one 2 3 4 5\n",
        &[
            "zones/example.zone:1:17: bad SOA record: a number is expected here (it takes primary name server, mailbox, serial, refresh, retry, expire, minimum, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`)",
        ],
    ),
    (
        "@ 300 SOA a. b. 1 2x 3 4 5\n",
        &[
            "zones/example.zone:1:19: `2x` is no time to live (it takes seconds, or numbers with the units w d h m s, as in `1h30m`; at most 2147483647 seconds)",
        ],
    ),
    (
        "HEAD\n@ SOA a. b. 2 2 3 4 5\n",
        &[
            "zones/example.zone:3:1: a second SOA record; the first stands in line 1 (one file holds one zone)",
        ],
    ),
    (
        "HEAD\nsub SOA a. b. 2 2 3 4 5\n",
        &[
            "zones/example.zone:3:1: a second SOA record; the first stands in line 1 (one file holds one zone)",
        ],
    ),
    (
        "HEAD\nwww.other. A 192.0.2.1\n",
        &[
            "zones/example.zone:3:1: www.other lies outside the zone example (its name is that of the SOA record; a missing final dot?)",
        ],
    ),
    (
        "HEAD\nwww A 192.0.2\n",
        &[
            "zones/example.zone:3:7: bad A record: an IPv4 address is expected here (it takes an IPv4 address, as in `www A 192.0.2.1`)",
        ],
    ),
    (
        "HEAD\nwww A 192.0.2.1 192.0.2.2\n",
        &[
            "zones/example.zone:3:17: bad A record: it ends here, but the line goes on (it takes an IPv4 address, as in `www A 192.0.2.1`)",
        ],
    ),
    (
        "HEAD\nwww A\n",
        &[
            "zones/example.zone:3:5: bad A record: it has no data (it takes an IPv4 address, as in `www A 192.0.2.1`)",
        ],
    ),
    (
        "HEAD\nwww AAAA 2001:db8::g\n",
        &[
            "zones/example.zone:3:10: bad AAAA record: an IPv6 address is expected here (it takes an IPv6 address, as in `www AAAA 2001:db8::1`)",
        ],
    ),
    ("HEAD\nwww\n", &["zones/example.zone:3:4: the record has no type (as in `www 300 IN A 192.0.2.1`)"]),
    (
        "HEAD\nwww 300 IN\n",
        &["zones/example.zone:3:11: the record has no type (as in `www 300 IN A 192.0.2.1`)"],
    ),
    (
        "HEAD\nwww CH TXT x\n",
        &["zones/example.zone:3:5: class CH: only IN is served (write IN, or leave the class out)"],
    ),
    (
        "HEAD\nwww AX 192.0.2.1\n",
        &[
            "zones/example.zone:3:5: `AX` is no record type (any type can be written in the generic form of RFC 3597: TYPE65280 \\# LENGTH HEX)",
        ],
    ),
    (
        "HEAD\na AA 192.0.2.1\nb CNMAE www\nc txtt x\nd TEXT x\n",
        &[
            "zones/example.zone:3:3: `AA` is no record type (did you mean `A` or `AAAA`?)",
            "zones/example.zone:4:3: `CNMAE` is no record type (did you mean `CNAME`?)",
            "zones/example.zone:5:3: `txtt` is no record type (did you mean `TXT`?)",
            "zones/example.zone:6:3: `TEXT` is no record type (did you mean `TXT`?)",
        ],
    ),
    (
        "HEAD\nwww 1h30 A 192.0.2.1\n",
        &[
            "zones/example.zone:3:5: `1h30` is no time to live (it takes seconds, or numbers with the units w d h m s, as in `1h30m`; at most 2147483647 seconds)",
        ],
    ),
    (
        "HEAD\nwww 2147483648 A 192.0.2.1\n",
        &[
            "zones/example.zone:3:5: `2147483648` is too long a time (it takes seconds, or numbers with the units w d h m s, as in `1h30m`; at most 2147483647 seconds)",
        ],
    ),
    (
        "www TXT x\n@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns.other.net.\n",
        &[
            "zones/example.zone:1:5: the record has no TTL, and none is given before it (put `$TTL 300` above the first record)",
        ],
    ),
    (
        "HEAD\n@ MX mail\n",
        &[
            "zones/example.zone:3:6: bad MX record: a number is expected here (it takes a preference and a name, as in `@ MX 10 mail`)",
        ],
    ),
    (
        "HEAD\n@ MX 10\n",
        &[
            "zones/example.zone:3:6: bad MX record: something is missing at its end (it takes a preference and a name, as in `@ MX 10 mail`)",
        ],
    ),
    (
        "HEAD\n@ MX 70000 mail\n",
        &[
            "zones/example.zone:3:6: bad MX record: the number is too large (it takes a preference and a name, as in `@ MX 10 mail`)",
        ],
    ),
    (
        "HEAD\n@ MX 10 mail..x\n",
        &["zones/example.zone:3:9: `mail..x` is no name: two dots leave an empty label"],
    ),
    (
        "HEAD\n_x SRV 0 5 x host\n",
        &[
            "zones/example.zone:3:12: bad SRV record: a number is expected here (it takes priority, weight, port and a name, as in `_sip._tcp SRV 0 5 5060 sip`)",
        ],
    ),
    (
        "HEAD\nwww CNAME a\nwww CNAME b\n",
        &["zones/example.zone:4:1: www.example has two CNAME records (a name is an alias of one other name)"],
    ),
    (
        "HEAD\nwww A 192.0.2.1\nwww CNAME b\n",
        &[
            "zones/example.zone:4:1: www.example has a CNAME beside A records; the other stands in line 3 (an alias has no other data: RFC 1034 3.6.2)",
        ],
    ),
    (
        "HEAD\nwww CNAME b\nwww TXT x\n",
        &[
            "zones/example.zone:4:1: www.example has a CNAME beside TXT records; the other stands in line 3 (an alias has no other data: RFC 1034 3.6.2)",
        ],
    ),
    (
        "HEAD\n@ CNAME b\n",
        &[
            "zones/example.zone:3:1: example has a CNAME beside NS records; the other stands in line 2 (an alias has no other data: RFC 1034 3.6.2)",
            "zones/example.zone:3:1: example has a CNAME beside SOA records; the other stands in line 1 (an alias has no other data: RFC 1034 3.6.2)",
        ],
    ),
    (
        "HEAD\nold DNAME new.other.net.\nold DNAME newer.other.net.\n",
        &[
            "zones/example.zone:4:1: old.example has two DNAME records (a name is redirected to one place: RFC 6672 2.4)",
        ],
    ),
    (
        "HEAD\nx.old A 192.0.2.1\nold DNAME new.other.net.\n",
        &[
            "zones/example.zone:3:1: x.old.example A lies below the DNAME of old.example in line 4 (nothing may: RFC 6672 2.4)",
        ],
    ),
    (
        "HEAD\n* NS ns.other.net.\n",
        &["zones/example.zone:3:1: NS at the wildcard *.example has no meaning (see RFC 4592 4.2 and 4.4)"],
    ),
    (
        "HEAD\n*.old DNAME new.other.net.\n",
        &[
            "zones/example.zone:3:1: DNAME at the wildcard *.old.example has no meaning (see RFC 4592 4.2 and 4.4)",
        ],
    ),
    ("$INCLUDE other.zone\nHEAD\n", &["zones/example.zone:1:10: there is no file other.zone to include"]),
    (
        "HEAD\n$GENERATE 1 host$ A 192.0.2.$\n",
        &[
            "zones/example.zone:3:11: `1` is no range (it takes start-stop or start-stop/step, as in `1-100` or `0-254/2`)",
        ],
    ),
    (
        "$ORIGIN\n$TTL x\n$TTL 1 2\n$FOO 1\nHEAD\n",
        &[
            "zones/example.zone:1:8: $ORIGIN needs a value",
            "zones/example.zone:2:6: `x` is no time to live (it takes seconds, or numbers with the units w d h m s, as in `1h30m`; at most 2147483647 seconds)",
            "zones/example.zone:3:8: $TTL takes one value",
            "zones/example.zone:4:1: no directive is called $FOO (there are $ORIGIN, $TTL, $INCLUDE and $GENERATE; a name that begins with a dollar is written \\$)",
        ],
    ),
    (
        " NS ns.other.net.\nHEAD\n",
        &[
            "zones/example.zone:1:2: the line begins with white space, but no record before it has a name to share (begin the line with a name, or with @ for the zone itself)",
        ],
    ),
    (
        "HEAD\nwww TXT \"open\nmail TXT x\n",
        &[
            "zones/example.zone:3:9: a quote that is not closed on its line (put a `\"` at the end of the text; one that belongs to it is written \\\")",
        ],
    ),
    (
        "HEAD\nwww TXT ( x\nmail TXT x\n",
        &[
            "zones/example.zone:3:9: a `(` that no `)` closes (everything up to the end of the file was taken for this record)",
        ],
    ),
    ("HEAD\nwww TXT x )\n", &["zones/example.zone:3:11: a `)` that no `(` opened"]),
    (
        "HEAD\nwww TXT \\256\n",
        &[
            "zones/example.zone:3:9: an escape that is no byte (a backslash before a digit takes three digits, 000 to 255)",
        ],
    ),
    ("HEAD\nwww TXT x\\\n", &["zones/example.zone:3:10: a backslash that escapes nothing"]),
    (
        "HEAD\nwww TXT \u{7}\n",
        &[
            "zones/example.zone:3:9: a control character (U+0007) (is this a text file? Write it as \\DDD, in decimal)",
        ],
    ),
    (
        "HEAD\nwww TXT xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        &[
            "zones/example.zone:3:9: bad TXT record: a text is longer than 255 bytes (it takes texts of up to 255 bytes each, as in `@ TXT \"one\" \"two\"`)",
        ],
    ),
    (
        "HEAD\nwww TXT\n",
        &[
            "zones/example.zone:3:5: bad TXT record: it has no data (it takes texts of up to 255 bytes each, as in `@ TXT \"one\" \"two\"`)",
        ],
    ),
    (
        "HEAD\nllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll A 192.0.2.1\n",
        &[
            "zones/example.zone:3:1: `llllllllllllllllllllllllllllllllllllllll…` is no name: a label is longer than 63 bytes",
        ],
    ),
    (
        "HEAD\nllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll A 192.0.2.1\n",
        &[
            "zones/example.zone:3:1: `llllllllllllllllllllllllllllllllllllllll…` is no name: it is longer than 255 bytes (a name without a final dot is completed with the origin)",
        ],
    ),
    (
        "HEAD\na..b A 192.0.2.1\n",
        &["zones/example.zone:3:1: `a..b` is no name: two dots leave an empty label"],
    ),
    (
        "HEAD\ncafé A 192.0.2.1\n",
        &[
            "zones/example.zone:3:1: `café` is no name: it has letters outside ASCII (write the xn-- form of an internationalised name)",
        ],
    ),
    (
        "HEAD\nwww NS café\n",
        &[
            "zones/example.zone:3:8: `café` is no name: it has letters outside ASCII (write the xn-- form of an internationalised name)",
        ],
    ),
    (
        "HEAD\nwww TYPE65280 x\n",
        &[
            "zones/example.zone:3:15: bad TYPE65280 record: only its generic form is understood: \\# LENGTH HEX",
        ],
    ),
    (
        "HEAD\nwww TYPE65280 \\# 2 abcdef\n",
        &["zones/example.zone:3:20: bad TYPE65280 record: the length in front of its data is wrong"],
    ),
    (
        "HEAD\nwww TYPE1 \\# 3 abcdef\n",
        &[
            "zones/example.zone:3:5: bad A record: its data is malformed (it takes an IPv4 address, as in `www A 192.0.2.1`)",
        ],
    ),
    (
        "HEAD\nwww TYPE5 \\# 2 c000\n",
        &[
            "zones/example.zone:3:5: bad CNAME record: its data is malformed (it takes a name, as in `www CNAME web`)",
        ],
    ),
    (
        "HEAD\nwww TXT gr\u{fffd}n ; caf\u{fffd}\n",
        &[
            "zones/example.zone:3:11: a byte that is not UTF-8 (write it as \\DDD, its value in decimal, which serves the byte as it is (the é of Latin-1 is \\233), or have the whole file in UTF-8: `iconv -f latin1 -t utf-8`)",
        ],
    ),
    ("HEAD\nwww ANY x\n", &["zones/example.zone:3:5: ANY is a type for queries and messages, not for zones"]),
    (
        "HEAD\nwww HIP 2 200100107B1A74DF365639CC39F1D578 AA==\n",
        &["zones/example.zone:3:9: bad HIP record: only its generic form is understood: \\# LENGTH HEX"],
    ),
    (
        "HEAD\nwww CAA 0 is-sue x\n",
        &[
            "zones/example.zone:3:11: bad CAA record: a tag of letters and digits is expected here (it takes flags, a tag and a text, as in `@ CAA 0 issue \"ca.example.net\"`)",
        ],
    ),
    (
        "HEAD\nwww DS 1 13 2 xyz\n",
        &[
            "zones/example.zone:3:15: bad DS record: pairs of hexadecimal digits are expected here (it takes key tag, algorithm, digest type and digest in hexadecimal)",
        ],
    ),
    (
        "HEAD\nwww HTTPS 1 . nonsense=1\n",
        &[
            "zones/example.zone:3:15: bad HTTPS record: `nonsense` is no SvcParamKey; others are written as in key65333=text (it takes priority, target and parameters, as in `@ HTTPS 1 . alpn=h2`)",
        ],
    ),
    (
        "HEAD\nbad..name A 192.0.2.1\n A 192.0.2.2\nwww A 192.0.2.3.4\nmail MX x\n",
        &[
            "zones/example.zone:3:1: `bad..name` is no name: two dots leave an empty label",
            "zones/example.zone:5:7: bad A record: an IPv4 address is expected here (it takes an IPv4 address, as in `www A 192.0.2.1`)",
            "zones/example.zone:6:9: bad MX record: a number is expected here (it takes a preference and a name, as in `@ MX 10 mail`)",
        ],
    ),
];

/// Texts that are odd but served, likewise.
const WARNED: &[(&str, &[&str])] = &[
    (
        "@ SOA a. b. 1 2 3 4 5\n@ NS ns.other.net.\n",
        &[
            "zones/example.zone:1:3: no TTL is given: taking the SOA minimum, 5 (put `$TTL 300` above the first record)",
        ],
    ),
    (
        "HEAD\nwww A 192.0.2.1\nWWW A 192.0.2.1\n",
        &["zones/example.zone:4:1: the same record stands in line 3: dropped"],
    ),
    (
        "HEAD\nwww MX 1 m.other.net.\nwww MX 1 M.other.net.\n",
        &["zones/example.zone:4:1: the same record stands in line 3: dropped"],
    ),
    (
        "HEAD\nwww 60 A 192.0.2.1\nwww 30 A 192.0.2.2\n",
        &[
            "zones/example.zone:4:1: TTL 30 differs from TTL 60 of the A records of www.example above: taking 30 for all (one RRset has one TTL: RFC 2181 5.2)",
        ],
    ),
    (
        "@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns1\n",
        &[
            "zones/example.zone:2:1: the name server ns1.example has no address (resolvers need it: add an A or AAAA record)",
        ],
    ),
    (
        "@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns1\nns1 CNAME ns.other.net.\n",
        &[
            "zones/example.zone:2:1: NS of example points to ns1.example, an alias (point to the name that has the addresses: RFC 2181 10.3)",
        ],
    ),
    (
        "HEAD\nlab NS ns.lab\n",
        &[
            "zones/example.zone:3:1: the name server ns.lab.example has no address (the delegation needs it as glue: add an A or AAAA record)",
        ],
    ),
    (
        "HEAD\nlab NS ns.lab\nns.lab A 192.0.2.1\nwww.lab A 192.0.2.2\nlab TXT x\nns.lab TXT x\n",
        &[
            "zones/example.zone:5:1: www.lab.example A lies below the delegation of lab.example (never answered: only NS, DS and the addresses of its name servers belong here)",
            "zones/example.zone:6:1: lab.example TXT lies at the delegation of lab.example (never answered: only NS, DS and the addresses of its name servers belong here)",
            "zones/example.zone:7:1: ns.lab.example TXT lies below the delegation of lab.example (never answered: only NS, DS and the addresses of its name servers belong here)",
        ],
    ),
    (
        "HEAD\n@ MX 10 mail\nmail CNAME mail.other.net.\n",
        &[
            "zones/example.zone:3:1: MX of example points to mail.example, an alias (point to the name that has the addresses: RFC 2181 10.3)",
        ],
    ),
];

fn told(text: &str) -> (Vec<String>, Vec<String>) {
    let text = text.replace("HEAD\n", HEAD);
    let words = |notices: Vec<Notice>| notices.iter().map(ToString::to_string).collect();
    match Zones::build(&[file("zones/example.zone", &text)], &[]) {
        Ok((_, warnings)) => (Vec::new(), words(warnings)),
        Err(errors) => (words(errors), Vec::new()),
    }
}

#[test]
fn every_bad_zone_is_refused_with_place_and_cause() {
    for (text, expected) in REFUSED {
        assert_eq!(told(text).0, *expected, "{text}");
    }
}

#[test]
fn every_odd_zone_is_served_with_a_warning() {
    for (text, expected) in WARNED {
        assert_eq!(
            told(text),
            (Vec::new(), expected.iter().map(|&text| text.to_owned()).collect()),
            "{text}"
        );
    }
}

fn alias(name: &str) -> BoundService {
    BoundService { cname: true, a: false, aaaa: false, ..service(name) }
}

#[test]
fn every_service_that_clashes_is_refused_with_its_line_in_the_config() {
    let v6_only = |name| BoundService { a: false, ..service(name) };
    let clashes = "the service answers that type itself: remove one of the two";
    let alone = "a service that answers an alias stands alone at its name";
    let cases = [
        ("www A 192.0.2.1\n", service("www.example"), format!("service www.example clashes with the A record of that name (zones/example.zone:3) ({clashes})")),
        ("www AAAA ::1\n", v6_only("www.example"), format!("service www.example clashes with the AAAA record of that name (zones/example.zone:3) ({clashes})")),
        ("www CNAME x\n", service("www.example"), "service www.example clashes with the CNAME record of that name (zones/example.zone:3) (an alias has no other data: remove one of the two)".to_owned()),
        ("www TXT x\n", alias("www.example"), format!("service www.example clashes with the TXT record of that name (zones/example.zone:3) ({alone})")),
        ("", alias("example"), format!("service example clashes with the NS record of that name (zones/example.zone:2) ({alone})")),
        ("lab NS ns.other.net.\n", service("lab.example"), "service lab.example lies under the delegation of lab.example (zones/example.zone:3) (other name servers answer there: remove the NS records or the service)".to_owned()),
        ("lab NS ns.other.net.\n", service("*.www.lab.example"), "service *.www.lab.example lies under the delegation of lab.example (zones/example.zone:3) (other name servers answer there: remove the NS records or the service)".to_owned()),
        ("old DNAME n.other.net.\n", service("x.old.example"), "service x.old.example lies below the DNAME of old.example (zones/example.zone:3) (everything below it is redirected)".to_owned()),
        ("", service("www.exmaple"), "service www.exmaple lies in no zone (did you mean www.example?)".to_owned()),
        ("", service("www.other.net"), "service www.other.net lies in no zone (loaded: example)".to_owned()),
        ("", service("www..example"), "service `www..example` is no name: two dots leave an empty label".to_owned()),
    ];
    for (text, service, expected) in cases {
        let text = format!("{HEAD}{text}");
        let errors = Zones::build(&[file("zones/example.zone", &text)], &[service]).map(|_| ()).unwrap_err();
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(told, [format!("config:7: {expected}")], "{text}");
        assert_eq!(errors[0].service, Some(0));
    }
}

#[test]
fn one_name_has_one_service() {
    let second = BoundService { line: 9, ..service("WWW.example.") };
    let errors =
        Zones::build(&[file("zones/example.zone", HEAD)], &[service("www.example"), second]).map(|_| ());
    let errors = errors.unwrap_err();
    let expected = "config:9: service www.example is already declared in line 7 (a name has one service)";
    assert_eq!((errors[0].to_string().as_str(), errors[0].service), (expected, Some(1)));
}

#[test]
fn one_zone_comes_from_one_file() {
    let errors = Zones::build(&[file("zones/example.zone", HEAD), file("zones/Example.zone", HEAD)], &[]);
    let expected = "zones/Example.zone: the zone example is already in zones/example.zone (one zone comes from one file)";
    assert_eq!(errors.map(|_| ()).unwrap_err()[0].to_string(), expected);
}

#[test]
fn a_service_in_a_zone_that_cannot_be_read_draws_no_second_error() {
    let broken = file("zones/in.example.zone", "@ SOA nonsense\n");
    let outer = file("zones/example.zone", &format!("{HEAD}in NS ns.other.net.\n"));
    for files in [&[broken.clone()][..], &[outer, broken]] {
        let errors = Zones::build(files, &[service("www.in.example")]).map(|_| ()).unwrap_err();
        assert_eq!(errors.len(), 1);
    }
}

#[test]
fn address_hints_beside_a_service_are_warned_of() {
    let text = format!(
        "{HEAD}www HTTPS 1 . alpn=h2 ipv4hint=192.0.2.1\napi HTTPS 1 x.y. ipv6hint=2001:db8::1\nok HTTPS 1 . alpn=h2\n"
    );
    let services = ["www.example", "api.example", "ok.example"].map(service);
    let (_, warnings) = Zones::build(&[file("zones/example.zone", &text)], &services).unwrap();
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let hint = "(clients that follow them pass the service by: leave out ipv4hint and ipv6hint)";
    assert_eq!(
        told,
        [
            format!(
                "zones/example.zone:3:1: HTTPS of www.example has address hints, beside a service {hint}"
            ),
            format!(
                "zones/example.zone:4:1: HTTPS of api.example has address hints, beside a service {hint}"
            ),
        ]
    );
}

#[test]
fn data_that_belongs_into_a_loaded_zone_is_warned_of() {
    let outer = format!("{HEAD}x.in TXT lost\n");
    let files = [file("zones/example.zone", &outer), file("zones/in.example.zone", HEAD)];
    let (_, warnings) = Zones::build(&files, &[]).unwrap();
    let expected = "zones/example.zone:3:1: x.in.example TXT lies in the zone in.example, which is loaded (never answered: \
                    it belongs in that zone's file)";
    assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

#[test]
fn a_file_that_is_no_master_file_has_bounded_errors() {
    let text = "this is not a zone\n".repeat(5000);
    let errors = Zones::build(&[file("zones/example.zone", &text)], &[]).map(|_| ()).unwrap_err();
    assert_eq!(errors.len(), MAX_NOTICES_PER_FILE + 1);
    assert_eq!(errors.last().unwrap().to_string(), "zones/example.zone: 4900 more are not shown");
}

#[test]
fn an_rrset_that_no_message_holds_is_refused() {
    let mut text = HEAD.to_owned();
    for number in 0..300 {
        text.push_str(&format!("big TXT {number:0>250}\n"));
    }
    let errors = Zones::build(&[file("zones/example.zone", &text)], &[]).map(|_| ()).unwrap_err();
    let expected =
        "zones/example.zone:3:1: the TXT records of big.example take 78900 bytes: more than a message holds";
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}
