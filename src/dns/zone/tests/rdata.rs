//! Record data: text forms to wire forms, against another implementation and against themselves.

use domain::base::iana::Rtype;
use proptest::prelude::*;

use super::super::rdata;
use super::super::rdata::layout::{self, Field};
use super::super::text::Entries;
use super::render::{self, Draws};
use super::*;

/// Every text form with its bytes, as dnspython has them.
const VECTORS: &str = include_str!("vectors.txt");

fn encode(rtype: Rtype, text: &str) -> Result<Vec<u8>, Fault> {
    let entry = Entries::new(text, 0).next().transpose()?;
    let tokens = entry.map(|entry| entry.tokens).unwrap_or_default();
    rdata::encode(rtype, &tokens, &wire("example"), Spot::default())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The generic form of data (RFC 3597 5).
fn generic(data: &[u8]) -> String {
    format!("\\# {} {}", data.len(), hex(data))
}

fn vectors() -> impl Iterator<Item = (&'static str, Rtype, &'static str)> {
    VECTORS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut parts = line.splitn(3, ' ');
        let mut part = || parts.next().unwrap();
        (part(), part().parse().unwrap(), part())
    })
}

/// Every type that has a text form.
fn types() -> Vec<Rtype> {
    (0..=u16::MAX).map(Rtype::from_int).filter(|&rtype| layout::fields(rtype).is_some()).collect()
}

#[test]
fn every_text_form_gives_the_bytes_that_another_implementation_gives() {
    for (bytes, rtype, text) in vectors() {
        let data = encode(rtype, text).unwrap_or_else(|fault| panic!("{rtype} {text}: {fault:?}"));
        assert_eq!(hex(&data), bytes, "{rtype} {text}");
    }
}

#[test]
fn every_type_with_a_text_form_has_a_vector() {
    let shown: BTreeSet<Rtype> = vectors().map(|(_, rtype, _)| rtype).collect();
    // NSAP-PTR, MD, MF and TALINK are one or two names, as PTR and RP are.
    let plain = [Rtype::NSAPPTR, Rtype::MD, Rtype::MF, Rtype::TALINK];
    let missing: Vec<Rtype> =
        types().into_iter().filter(|rtype| !shown.contains(rtype) && !plain.contains(rtype)).collect();
    assert_eq!(missing, []);
}

#[test]
fn rfc3597_5_every_type_takes_the_generic_form_of_its_data() {
    for (bytes, rtype, text) in vectors() {
        let data = encode(rtype, text).unwrap();
        assert_eq!(
            encode(rtype, &generic(&data)).map(|data| hex(&data)),
            Ok(bytes.to_owned()),
            "{rtype} {text}"
        );
    }
}

#[test]
fn rfc9460_2_2_keys_ascend_on_the_wire_whatever_their_order_in_the_text() {
    let data = encode(Rtype::HTTPS, "1 . port=1 key65280=x alpn=h2 mandatory=port,alpn").unwrap();
    assert_eq!(rdata::svc_param_keys(&data).collect::<Vec<_>>(), [0, 1, 3, 65280]);
}

#[test]
fn quotes_around_a_whole_value_make_no_difference() {
    for (plain, quoted) in [("1 . alpn=h2,h3", "1 . alpn=\"h2,h3\""), ("1 . port=8", "1 . port=\"8\"")] {
        assert_eq!(encode(Rtype::HTTPS, plain), encode(Rtype::HTTPS, quoted));
    }
}

/// Data that no text of the type gives, in the generic form.
const MALFORMED: &[(&str, &str)] = &[
    ("A", "c00002"),
    ("NS", "0361626300ff"),
    ("NS", "c00c"),
    ("NS", "40"),
    ("TXT", "05616263"),
    ("CAA", "00000a"),
    ("CAA", "00022d2d61"),
    ("NSEC", "000001400001"),
    ("NSEC", "00000100"),
    ("NSEC", "00010140000140"),
    ("NSEC3", "0100000000000000"),
    ("LOC", "01121612898981868dffffffff00000000"),
    ("LOC", "00a216138981868d8981868d00989680"),
    ("GPOS", "0239310130 0130"),
    ("GPOS", "0130 0130 00"),
    ("APL", "0001180400000000"),
    ("APL", "0001210101"),
    ("IPSECKEY", "0a0002"),
    ("IPSECKEY", "0a0402c0000201ff"),
    ("SVCB", "00010000030002005000010003026832"),
    ("SVCB", "0001000003000200500003000200 51"),
    ("SVCB", "00010000030001 50"),
    ("SVCB", "00010000010000"),
    ("SVCB", "00010000010003036832"),
    ("SVCB", "00010000040003c00002"),
    ("SVCB", "000100ffff0000"),
    ("SVCB", "00010000020000"),
    ("SVCB", "0001000000000200 01"),
    ("SVCB", "00010000000002000000"),
    ("SVCB", "00010000050004000500ff"),
    ("SVCB", "000100000300"),
];

#[test]
fn rfc3597_5_the_generic_form_of_a_known_type_is_held_to_its_layout() {
    for (rtype, hex) in MALFORMED {
        let hex = hex.replace(' ', "");
        let text = format!("\\# {} {hex}", hex.len() / 2);
        let fault = encode(rtype.parse().unwrap(), &text).unwrap_err();
        assert_eq!(fault.text, format!("bad {rtype} record: its data is malformed"), "{text}");
    }
}

/// Bad data, what is wrong, and at which column.
const BAD: &[(&str, &str, &str, usize)] = &[
    ("NULL", "x", "only its generic form is understood: \\# LENGTH HEX", 1),
    (
        "HIP",
        "2 200100107B1A74DF365639CC39F1D578 AA==",
        "only its generic form is understood: \\# LENGTH HEX",
        1,
    ),
    ("TXT", "\\# 2 abc", "pairs of hexadecimal digits are expected here", 6),
    ("TXT", "\\# x 00", "a number is expected here", 4),
    ("TXT", "\\# 65536 00", "the number is too large", 4),
    ("TXT", "\\#", "something is missing at its end", 1),
    ("CERT", "PGPX 0 0 AA==", "a number is expected here", 1),
    ("CERT", "1 0 0 A", "Base64 is expected here, with its `=` at the end", 7),
    ("CERT", "1 0 0 AB==", "Base64 is expected here, with its `=` at the end", 7),
    ("SSHFP", "1 1 abc", "pairs of hexadecimal digits are expected here", 5),
    ("SSHFP", "1 2 abcd", "a digest of its kind has 32 bytes, not 2", 0),
    ("DS", "1 8 2 abcd", "a digest of its kind has 32 bytes, not 2", 0),
    ("TLSA", "3 1 1 ab12", "a digest of its kind has 32 bytes, not 2", 0),
    ("TLSA", "256 1 1 ab12", "the number is too large", 1),
    ("LOC", "91 N 0 E 0", "degrees from 0 to 90 are expected here", 1),
    ("LOC", "90 0 0.001 N 0 E 0", "the angle is more than 90 degrees", 12),
    ("LOC", "1 60 N 0 E 0", "minutes from 0 to 59, or N or S, are expected here", 3),
    ("LOC", "1 2 60 N 0 E 0", "seconds from 0 to 59.999, or N or S, are expected here", 5),
    ("LOC", "1 2 3 4 N 0 E 0", "N or S is expected here", 7),
    ("LOC", "1 2 3 E 0 E 0", "N or S is expected here", 7),
    ("LOC", "1 2 5. N 0 E 0", "seconds from 0 to 59.999, or N or S, are expected here", 5),
    ("LOC", "1 N 181 E 0", "degrees from 0 to 180 are expected here", 5),
    ("LOC", "1 N 1 E", "something is missing at its end", 7),
    ("LOC", "1 N 1 E 1.234m", "an altitude in metres is expected here, as in -24.5m", 9),
    ("LOC", "1 N 1 E -100001m", "an altitude lies between -100000 and 42849672.95 metres", 9),
    ("LOC", "1 N 1 E 1 90000001m", "a size of up to 90000000 metres is expected here, as in 10m", 11),
    ("LOC", "1 N 1 E 1 1 1 1 1", "it ends here, but the line goes on", 17),
    ("URI", "1 2", "something is missing at its end", 3),
    ("URI", "1 2 \"\"", "a URI is expected here, not an empty text", 5),
    ("URI", "\\# 4 00010002", "its data is malformed", 0),
    ("URI", "1 2 \"x\" y", "it ends here, but the line goes on", 9),
    ("CAA", "0 is-sue x", "a tag of letters and digits is expected here", 3),
    ("GPOS", "91 0 0", "degrees from -90 to 90 are expected here", 1),
    ("GPOS", "0 -180.1 0", "degrees from -180 to 180 are expected here", 3),
    ("GPOS", "0 0 1e3", "a decimal number is expected here", 5),
    ("GPOS", "0 . 0", "degrees from -180 to 180 are expected here", 3),
    ("GPOS", "1..2 0 0", "degrees from -90 to 90 are expected here", 1),
    ("GPOS", "\"\" 0 0", "degrees from -90 to 90 are expected here", 1),
    ("GPOS", "inf 0 0", "degrees from -90 to 90 are expected here", 1),
    ("GPOS", "0 0", "something is missing at its end", 3),
    ("APL", "3:1.2.3.4/8", "a prefix is expected here, as in 1:192.0.2.0/24 or !2:2001:db8::/32", 1),
    ("APL", "1:1.2.3.4/33", "a prefix is expected here, as in 1:192.0.2.0/24 or !2:2001:db8::/32", 1),
    ("EUI48", "00-00-5e-00-53", "pairs of hexadecimal digits with hyphens are expected here", 1),
    ("EUI64", "00-00-5e-ef-10-00-00-2", "pairs of hexadecimal digits with hyphens are expected here", 1),
    ("NID", "1 1:2:3", "four groups of four hexadecimal digits are expected here", 3),
    ("NID", "1 1:2:3:+4", "four groups of four hexadecimal digits are expected here", 3),
    (
        "RRSIG",
        "A 8 2 60 20230229000000 1 1 . AA==",
        "a time is expected here: YYYYMMDDHHmmSS, or seconds since 1970",
        10,
    ),
    ("RRSIG", "FOO 8 2 60 1 1 1 . AA==", "a record type is expected here", 1),
    ("NSEC3", "1 0 0 - 2t7w MX", "Base32 with the digits 0 to v is expected here", 9),
    ("NSEC3", "1 0 0 zz 2t7b MX", "hexadecimal digits, or `-` for none, are expected here", 7),
    ("IPSECKEY", "1 4 2 . AA==", "the gateway type is none of 0 to 3", 5),
    ("IPSECKEY", "1 0 2 x AA==", "gateway type 0 has the gateway `.`", 7),
    ("HTTPS", "1 . x=y", "`x` is no SvcParamKey; others are written as in key65333=text", 5),
    ("HTTPS", "1 . key01=y", "`key01` is no SvcParamKey; others are written as in key65333=text", 5),
    ("HTTPS", "1 . key65535=y", "`key65535` is no SvcParamKey; others are written as in key65333=text", 5),
    ("HTTPS", "1 . key65536=y", "`key65536` is no SvcParamKey; others are written as in key65333=text", 5),
    ("HTTPS", "1 . \"alpn=h2\"", "a parameter begins with its key, as in alpn=\"h2\"", 5),
    ("HTTPS", "1 . alpn=h2 alpn=h3", "alpn is given twice", 13),
    ("HTTPS", "1 . alpn=h2 key1=\"\\002h3\"", "key1 is given twice", 13),
    ("HTTPS", "1 . key3=1", "key3 is malformed: write it as in port=8443", 5),
    ("HTTPS", "1 . alpn", "alpn is malformed: write it as in alpn=h2,h3", 5),
    ("HTTPS", "1 . alpn=", "alpn is malformed: write it as in alpn=h2,h3", 5),
    ("HTTPS", "1 . alpn=h2,,h3", "alpn is malformed: write it as in alpn=h2,h3", 5),
    ("HTTPS", "1 . alpn=\"h\\\\2\"", "alpn is malformed: write it as in alpn=h2,h3", 5),
    ("HTTPS", "1 . port=65536", "port is malformed: write it as in port=8443", 5),
    ("HTTPS", "1 . port=+1", "port is malformed: write it as in port=8443", 5),
    ("HTTPS", "1 . ohttp=1", "ohttp is malformed: write it as in ohttp", 5),
    (
        "HTTPS",
        "1 . ipv4hint=2001:db8::1",
        "ipv4hint is malformed: write it as in ipv4hint=192.0.2.1,192.0.2.2",
        5,
    ),
    (
        "HTTPS",
        "1 . ech=AAAA",
        "ech is malformed: write it as in ech=AEX+DQBB... (Base64 of a whole ECHConfigList)",
        5,
    ),
    ("HTTPS", "1 . mandatory=mandatory", "mandatory is malformed: write it as in mandatory=alpn,port", 5),
    (
        "HTTPS",
        "1 . mandatory=port,port port=1",
        "mandatory is malformed: write it as in mandatory=alpn,port",
        5,
    ),
    ("HTTPS", "1 . mandatory=port", "mandatory lists port, which is not given (RFC 9460 8)", 5),
    ("HTTPS", "1 . no-default-alpn port=1", "no-default-alpn needs alpn (RFC 9460 7.1.1)", 21),
    (
        "HTTPS",
        "1 . tls-supported-groups=29,29",
        "tls-supported-groups is malformed: write it as in tls-supported-groups=29,23",
        5,
    ),
];

#[test]
fn rfc3123_4_a_list_of_prefixes_may_be_empty_in_either_form() {
    for text in ["", "\\# 0"] {
        let zone = zone(&format!("{HEAD}none 300 APL {text}\n"));
        let Found::Node { node, .. } = zone.find(&wire("none.example")) else { panic!() };
        assert_eq!(node.rrset(42).unwrap().records.bytes[2..], [0, 42, 0, 1, 0, 0, 1, 44, 0, 0]);
    }
}

#[test]
fn rfc1712_3_degrees_are_decimal_numbers_within_bounds() {
    for text in ["-90 180 0", "+90.000 -180 -1000000.5", "5. .5 99999999999999999999"] {
        assert!(encode(Rtype::GPOS, text).is_ok(), "{text}");
    }
}

#[test]
fn every_bad_text_form_is_refused_with_cause_and_column() {
    for &(rtype, text, why, column) in BAD {
        let fault = encode(rtype.parse().unwrap(), text).unwrap_err();
        assert_eq!(
            (fault.text.as_str(), fault.spot.column),
            (format!("bad {rtype} record: {why}").as_str(), column),
            "{text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_rendered_record_reads_back(
        rtype in prop::sample::select(types()),
        draws in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let fields = layout::fields(rtype).unwrap();
        let data = render::data(fields, &mut Draws::new(&draws));
        match encode(rtype, &generic(&data)) {
            // Random digests rarely have the length that their kind asks for.
            Err(fault) => prop_assert!(fault.text.contains("a digest of its kind"), "{fault:?} {data:?}"),
            Ok(read) => {
                prop_assert_eq!(&read, &data);
                let text = render::text(fields, &data);
                prop_assert_eq!(encode(rtype, &text), Ok(data), "{} {}", rtype, text);
            }
        }
    }

    #[test]
    fn any_bytes_in_the_generic_form_are_refused_or_kept(
        rtype in prop::sample::select(types()),
        data in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        if let Ok(read) = encode(rtype, &generic(&data)) {
            prop_assert_eq!(read, data);
        }
    }
}

#[test]
fn every_field_kind_is_drawn_and_rendered() {
    let kinds: BTreeSet<String> =
        types().into_iter().filter_map(layout::fields).flatten().map(kind).collect();
    assert_eq!(kinds.len(), 27, "{kinds:?}");
}

fn kind(field: &Field) -> String {
    format!("{field:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}
