//! Bad and odd zones with their messages, word by word.
//!
//! Each text stands in `zones/example.zone`; `HEAD` at its beginning is two lines.

use super::*;

/// Texts that are refused, each with every message, in order.
const REFUSED: &[(&str, &[&str])] = &[
    ("", &["?"]),
    ("; only a comment\n", &["?"]),
    ("@ NS ns.other.net.\n", &["?"]),
    ("@ 300 SOA a. b. 1 2 3 4 5\n", &["?"]),
    ("@ 300 SOA a. b. 1 2 3\n@ NS ns.other.net.\n", &["?"]),
    ("@ 300 SOA a. b. 1 2 3 4 5 6\n@ NS ns.other.net.\n", &["?"]),
    ("@ 300 SOA a. b. one 2 3 4 5\n", &["?"]),
    ("@ 300 SOA a. b. 1 2x 3 4 5\n", &["?"]),
    ("HEAD\n@ SOA a. b. 2 2 3 4 5\n", &["?"]),
    ("HEAD\nsub SOA a. b. 2 2 3 4 5\n", &["?"]),
    ("HEAD\nwww.other. A 192.0.2.1\n", &["?"]),
    ("HEAD\nwww A 192.0.2\n", &["?"]),
    ("HEAD\nwww A 192.0.2.1 192.0.2.2\n", &["?"]),
    ("HEAD\nwww A\n", &["?"]),
    ("HEAD\nwww AAAA 2001:db8::g\n", &["?"]),
    ("HEAD\nwww\n", &["?"]),
    ("HEAD\nwww 300 IN\n", &["?"]),
    ("HEAD\nwww CH TXT x\n", &["?"]),
    ("HEAD\nwww AX 192.0.2.1\n", &["?"]),
    ("HEAD\nwww 1h30 A 192.0.2.1\n", &["?"]),
    ("HEAD\nwww 2147483648 A 192.0.2.1\n", &["?"]),
    ("www TXT x\n@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns.other.net.\n", &["?"]),
    ("HEAD\n@ MX mail\n", &["?"]),
    ("HEAD\n@ MX 10\n", &["?"]),
    ("HEAD\n@ MX 70000 mail\n", &["?"]),
    ("HEAD\n@ MX 10 mail..x\n", &["?"]),
    ("HEAD\n_x SRV 0 5 x host\n", &["?"]),
    ("HEAD\nwww CNAME a\nwww CNAME b\n", &["?"]),
    ("HEAD\nwww A 192.0.2.1\nwww CNAME b\n", &["?"]),
    ("HEAD\nwww CNAME b\nwww TXT x\n", &["?"]),
    ("HEAD\n@ CNAME b\n", &["?"]),
    ("HEAD\nold DNAME new.other.net.\nold DNAME newer.other.net.\n", &["?"]),
    ("HEAD\nx.old A 192.0.2.1\nold DNAME new.other.net.\n", &["?"]),
    ("HEAD\n* NS ns.other.net.\n", &["?"]),
    ("HEAD\n*.old DNAME new.other.net.\n", &["?"]),
    ("$INCLUDE other.zone\nHEAD\n", &["?"]),
    ("HEAD\n$GENERATE 1-9 host$ A 192.0.2.$\n", &["?"]),
    ("$ORIGIN\n$TTL x\n$TTL 1 2\n$FOO 1\nHEAD\n", &["?"]),
    (" NS ns.other.net.\nHEAD\n", &["?"]),
    ("HEAD\nwww TXT \"open\nmail TXT x\n", &["?"]),
    ("HEAD\nwww TXT ( x\nmail TXT x\n", &["?"]),
    ("HEAD\nwww TXT x )\n", &["?"]),
    ("HEAD\nwww TXT \\256\n", &["?"]),
    ("HEAD\nwww TXT x\\\n", &["?"]),
    ("HEAD\nwww TXT \u{7}\n", &["?"]),
    ("HEAD\nwww TXT xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", &["?"]),
    ("HEAD\nwww TXT\n", &["?"]),
    ("HEAD\nllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll A 192.0.2.1\n", &["?"]),
    ("HEAD\nllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll A 192.0.2.1\n", &["?"]),
    ("HEAD\na..b A 192.0.2.1\n", &["?"]),
    ("HEAD\ncafé A 192.0.2.1\n", &["?"]),
    ("HEAD\nwww NS café\n", &["?"]),
    ("HEAD\nwww TYPE65280 x\n", &["?"]),
    ("HEAD\nwww TYPE65280 \\# 2 abcdef\n", &["?"]),
    ("HEAD\nwww TYPE1 \\# 3 abcdef\n", &["?"]),
    ("HEAD\nwww TYPE5 \\# 2 c000\n", &["?"]),
    ("HEAD\nwww ANY x\n", &["?"]),
    ("HEAD\nwww LOC 52 22 23.000 N 4 53 32.000 E -2.00m\n", &["?"]),
    ("HEAD\nwww CAA 0 is-sue x\n", &["?"]),
    ("HEAD\nwww DS 1 13 2 xyz\n", &["?"]),
    ("HEAD\nwww HTTPS 1 . nonsense=1\n", &["?"]),
    ("HEAD\nbad..name A 192.0.2.1\n A 192.0.2.2\nwww A 192.0.2.3.4\nmail MX x\n", &["?"]),
];

/// Texts that are odd but served, likewise.
const WARNED: &[(&str, &[&str])] = &[
    ("@ SOA a. b. 1 2 3 4 5\n@ NS ns.other.net.\n", &["?"]),
    ("HEAD\nwww A 192.0.2.1\nWWW A 192.0.2.1\n", &["?"]),
    ("HEAD\nwww MX 1 m.other.net.\nwww MX 1 M.other.net.\n", &["?"]),
    ("HEAD\nwww 60 A 192.0.2.1\nwww 30 A 192.0.2.2\n", &["?"]),
    ("@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns1\n", &["?"]),
    ("@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns1\nns1 CNAME ns.other.net.\n", &["?"]),
    ("HEAD\nlab NS ns.lab\n", &["?"]),
    ("HEAD\nlab NS ns.lab\nns.lab A 192.0.2.1\nwww.lab A 192.0.2.2\nlab TXT x\nns.lab TXT x\n", &["?"]),
    ("HEAD\n@ MX 10 mail\nmail CNAME mail.other.net.\n", &["?"]),
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
        assert_eq!(told(text), (Vec::new(), expected.iter().map(|&text| text.to_owned()).collect()), "{text}");
    }
}

#[test]
fn dump() {
    for (text, _) in REFUSED.iter().chain(WARNED) {
        let (errors, warnings) = told(text);
        println!("DUMP {}", serde_json::to_string(&(text, errors, warnings)).unwrap());
    }
}
