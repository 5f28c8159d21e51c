//! The table against a naive reading of the same zones, and the parser against any text.

use proptest::prelude::*;

use super::*;

/// Record kinds of random zones: what is written, and its type.
const KINDS: [(&str, u16); 3] = [("A 192.0.2.1", 1), ("TXT t", 16), ("NS ns.other.net.", 2)];

/// A random zone's record: labels from the left, below the apex, and the kind's position.
type Line = (Vec<&'static str>, usize);

fn label() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just("a"), 4 => Just("b"), 2 => Just("*"), 1 => Just("c")]
}

fn line() -> impl Strategy<Value = Line> {
    (prop::collection::vec(label(), 1..5), prop_oneof![4 => Just(0), 4 => Just(1), 1 => Just(2)])
        .prop_filter("no NS at a wildcard", |(labels, kind)| *kind != 2 || labels[0] != "*")
}

/// Zones as lists, and lookups as RFC 1034 and RFC 4592 tell them, without any index.
struct Naive {
    apexes: Vec<String>,
    /// Owner and type, by zone.
    records: Vec<BTreeSet<(String, u16)>>,
}

#[derive(Debug, PartialEq)]
enum Expected {
    Outside,
    Node { zone: String, types: Vec<u16> },
    NoName { zone: String },
    Cut { zone: String, owner: String },
}

impl Naive {
    fn find(&self, name: &str) -> Expected {
        let inside = self.apexes.iter().filter(|apex| below(name, apex));
        let Some(apex) = inside.max_by_key(|apex| apex.len()) else { return Expected::Outside };
        let zone = apex.clone();
        let records = &self.records[self.apexes.iter().position(|other| other == apex).unwrap()];
        let cuts: Vec<&String> = records
            .iter()
            .filter(|(owner, rtype)| *rtype == 2 && owner != apex)
            .map(|(owner, _)| owner)
            .chain(self.apexes.iter().filter(|other| *other != apex && below(other, apex)))
            .collect();
        if let Some(cut) = cuts.iter().filter(|cut| below(name, cut)).min_by_key(|cut| cut.len()) {
            return Expected::Cut { zone, owner: (*cut).clone() };
        }
        let occluded = |owner: &str| cuts.iter().any(|cut| owner != *cut && below(owner, cut));
        let exists = |name: &str| {
            let owners = records.iter().map(|(owner, _)| owner).chain(cuts.iter().copied());
            owners.filter(|owner| !occluded(owner)).any(|owner| below(owner, name))
        };
        let types = |name: &str| -> Vec<u16> {
            records.iter().filter(|(owner, _)| owner == name).map(|(_, rtype)| *rtype).collect()
        };
        if exists(name) {
            return Expected::Node { zone, types: types(name) };
        }
        let mut encloser = name;
        while !exists(encloser) {
            encloser = encloser.split_once('.').unwrap().1;
        }
        let wildcard = format!("*.{encloser}");
        if exists(&wildcard) {
            return Expected::Node { zone, types: types(&wildcard) };
        }
        Expected::NoName { zone }
    }
}

fn below(name: &str, ancestor: &str) -> bool {
    name == ancestor || name.ends_with(&format!(".{ancestor}"))
}

fn found(zones: &Zones, name: &str) -> Expected {
    let qname = wire(name);
    match zones.find(&qname) {
        Found::Outside => Expected::Outside,
        Found::NoName { zone, .. } => Expected::NoName { zone: zone.name() },
        Found::Cut { zone, cut } => {
            let owner = Written(&qname[qname.len() - cut.owner_len..]).to_string();
            Expected::Cut { zone: zone.name(), owner }
        }
        Found::Node { zone, node } => {
            for rrset in &node.rrsets {
                assert_eq!(records(&qname, rrset).len(), usize::from(rrset.records.count));
            }
            let types = node.rrsets.iter().map(|rrset| rrset.rtype).collect();
            Expected::Node { zone: zone.name(), types }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn find_agrees_with_a_naive_reading_of_the_zones(
        outer in prop::collection::vec(line(), 0..12),
        inner in prop::option::of((prop::collection::vec(label(), 1..3), prop::collection::vec(line(), 0..6))),
        questions in prop::collection::vec((prop::collection::vec(label(), 0..8), any::<bool>()), 60),
    ) {
        let mut naive = Naive { apexes: Vec::new(), records: Vec::new() };
        let mut files = Vec::new();
        let zones = [("z".to_owned(), outer)].into_iter().chain(
            inner.map(|(labels, lines)| (format!("{}.z", labels.join(".").replace('*', "w")), lines)));
        for (apex, lines) in zones {
            let mut text = "@ 300 SOA a. b. 1 2 3 4 5\n@ NS ns.other.net.\n".to_owned();
            let mut records = BTreeSet::from([(apex.clone(), 6), (apex.clone(), 2)]);
            for (labels, kind) in lines {
                let (written, rtype) = KINDS[kind];
                text.push_str(&format!("{} {written}\n", labels.join(".")));
                records.insert((format!("{}.{apex}", labels.join(".")), rtype));
            }
            files.push(file(&format!("zones/{apex}.zone"), &text));
            naive.apexes.push(apex);
            naive.records.push(records);
        }
        let (zones, _) = Zones::build(&files, &[]).unwrap();
        for (labels, below_apex) in questions {
            let mut name = labels.join(".");
            if below_apex || name.is_empty() {
                name = format!("{name}.z").trim_start_matches('.').to_owned();
            }
            prop_assert_eq!(found(&zones, &name), naive.find(&name), "{}", name);
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        let _ = Zones::build(&[file("zones/example.zone", &text)], &[]);
    }

    #[test]
    fn any_soup_of_master_file_words_is_read_without_a_panic(
        words in prop::collection::vec(word(), 0..60),
    ) {
        let text = format!("{HEAD}{}", words.concat());
        let _ = Zones::build(&[file("zones/example.zone", &text)], &[service("www.example")]);
    }

    #[test]
    fn any_data_behind_any_type_is_read_without_a_panic(
        rtype in prop::sample::select(TYPES),
        words in prop::collection::vec(word(), 0..10),
    ) {
        let text = format!("{HEAD}x {rtype} {}\n", words.join(" "));
        let _ = Zones::build(&[file("zones/example.zone", &text)], &[]);
    }

    #[test]
    fn any_bytes_are_looked_up_without_a_panic(name in prop::collection::vec(any::<u8>(), 0..300)) {
        let zones = zone(HEAD);
        let _ = zones.find(&name);
    }

    #[test]
    fn written_names_read_back(labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..10)) {
        let mut name: Vec<u8> = labels.iter().flat_map(|label| [&[label.len() as u8], label.as_slice()].concat()).collect();
        name.push(0);
        let written = Written(&name).to_string();
        prop_assert_eq!(&*name::parse(&written, name::ROOT).unwrap(), &*name, "{}", written);
    }
}

const TYPES: &[&str] = &[
    "A",
    "AAAA",
    "NS",
    "CNAME",
    "SOA",
    "PTR",
    "MX",
    "TXT",
    "SRV",
    "CAA",
    "DNAME",
    "DS",
    "SVCB",
    "HTTPS",
    "NAPTR",
    "TLSA",
    "SSHFP",
    "RRSIG",
    "NSEC",
    "NSEC3",
    "NSEC3PARAM",
    "DNSKEY",
    "CDS",
    "CDNSKEY",
    "ZONEMD",
    "OPENPGPKEY",
    "IPSECKEY",
    "HINFO",
    "MINFO",
    "RP",
    "LOC",
    "URI",
    "TYPE65280",
    "TYPE1",
    "TYPE0",
    "OPT",
    "ANY",
    "NULL",
    "APL",
    "CERT",
    "DSYNC",
    "EUI48",
    "L64",
    "SMIMEA",
];

/// Words that master files are made of, well-formed and broken.
fn word() -> impl Strategy<Value = String> {
    let fixed = [
        "@",
        "\n",
        "\n ",
        " ",
        "\t",
        "(",
        ")",
        "\"",
        "\"\"",
        ";",
        "\\",
        "\\#",
        "\\300",
        "\\065",
        ".",
        "..",
        "*",
        "IN",
        "CH",
        "0",
        "1",
        "300",
        "4294967296",
        "1h",
        "$TTL",
        "$ORIGIN",
        "$INCLUDE",
        "$INCLUDE x",
        "$GENERATE 1-3 ",
        "$GENERATE 0-4/2 a$ A 192.0.2.${1,2,x}",
        "${-1,9,N}",
        "${",
        "$$",
        "1-70000",
        "52 22 N",
        "-",
        "!1:192.0.2.0/24",
        "00-00-5e-00-53-2a",
        "a",
        "a.b.",
        "www",
        "\r\n",
        "192.0.2.1",
        "2001:db8::1",
        "abcd",
        "AB==",
        "-",
        "alpn=\"h2\"",
        "alpn=h2,h3",
        "ipv4hint=1.2.3.4",
        "mandatory=alpn",
        "key65333=x",
        "no-default-alpn",
        "20260101000000",
        "caf\u{e9}",
        "=",
        "\u{0}",
    ];
    prop_oneof![
        6 => prop::sample::select(fixed.map(str::to_owned).to_vec()),
        2 => prop::sample::select(TYPES).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        1 => "[0-9a-fA-F]{2,80}",
    ]
}
