//! Compressed names (RFC 1035 4.1.4), read back by another implementation.

use domain::base::iana::Rtype;
use hickory_proto::op::Message;
use hickory_proto::rr::Record;
use proptest::prelude::*;

use super::super::compose::Composer;
use super::super::draft::DraftSet;
use super::*;

/// As another implementation reads it.
pub(super) fn decoded(qname: &[u8], templates: &[&Template]) -> Vec<Record> {
    Message::from_vec(&message(qname, templates)).unwrap().answers
}

fn set(data: impl IntoIterator<Item = Vec<u8>>) -> DraftSet {
    DraftSet { ttl_s: 60, records: data.into_iter().map(|data| (data, Spot::default())).collect() }
}

/// A name in wire form, letter case kept.
fn cased(name: &str) -> Vec<u8> {
    name::parse(name, name::ROOT).unwrap().into()
}

fn encoded(owner: &str, rtype: Rtype, data: &[Vec<u8>]) -> Template {
    let owner = wire(owner);
    let mut composer = Composer::new(&owner);
    composer.own(rtype, 60, &set(data.to_vec()));
    composer.take()
}

#[test]
fn a_name_in_data_points_to_what_it_shares_with_the_question() {
    let ns = |name| encoded("example.com", Rtype::NS, &[cased(name)]).bytes[12..].to_vec();
    assert_eq!(ns("ns1.example.com"), b"\x03ns1\0\x0d");
    assert_eq!(ns("example.com"), b"\0\x0d");
    assert_eq!(ns("ns.other.com"), b"\x02ns\x05other\0\x05");
    assert_eq!(ns("ns.other.net"), b"\x02ns\x05other\x03net\0");
    assert_eq!(ns("."), b"\0");
}

#[test]
fn rfc4343_a_name_written_in_other_letters_is_the_same_and_its_own_letters_are_kept() {
    let mx = encoded("example.com", Rtype::MX, &[[&[0, 5][..], &cased("MaiL.EXAMPLE.com")].concat()]);
    assert_eq!(mx.bytes[12..], *b"\0\x05\x04MaiL\0\x0d");
}

#[test]
fn a_name_points_to_one_in_the_records_before_it() {
    let soa = encoded("z", Rtype::SOA, &[[cased("a.b.net"), cased("host.b.net"), vec![7; 20]].concat()]);
    assert_eq!(soa.bytes[12..35], *b"\x01a\x01b\x03net\0\x04host\x80\x0e\x07\x07\x07\x07\x07\x07\x07");
    assert_eq!(soa.bytes[10..12], [0, 36], "the length is that of what is written");
}

#[test]
fn rfc3597_4_names_in_data_of_later_types_stand_in_full_and_are_not_pointed_to() {
    let target = cased("mail.example.com");
    for (rtype, before) in
        [(Rtype::SRV, 6), (Rtype::SVCB, 2), (Rtype::DNAME, 0), (Rtype::RP, 0), (Rtype::AFSDB, 2)]
    {
        let data = [&vec![0; before], &target[..]].concat();
        let owner = wire("x.example.com");
        let mut composer = Composer::new(&owner);
        composer.own(rtype, 60, &set([data.clone()]));
        assert_eq!(composer.take().bytes[12..], data, "{rtype}");
        composer.other(&target, Rtype::A, &set([vec![192, 0, 2, 1]]));
        assert_eq!(composer.take().bytes[..7], *b"\x04mail\0\x0d", "{rtype}");
    }
}

#[test]
fn rfc1035_4_1_4_what_no_pointer_reaches_is_written_in_full() {
    let names: Vec<String> = (0..900).map(|n| format!("server-{n}.of-zone-{n}.net")).collect();
    let owner = wire("example.com");
    let mut composer = Composer::new(&owner);
    composer.own(Rtype::NS, 60, &set(names.iter().map(|name| cased(name))));
    let ns = composer.take();
    for name in &names {
        composer.other(&wire(name), Rtype::A, &set([vec![192, 0, 2, 1]]));
    }
    let glue = composer.take();
    assert!(ns.bytes.len() > 0x4000);
    let records = decoded(&owner, &[&ns, &glue]);
    for (n, name) in names.iter().enumerate() {
        assert_eq!(records[n].data.to_string(), format!("{name}."));
        assert_eq!(records[900 + n].name.to_string(), format!("{name}."));
    }
}

/// Names that often share their ends, in any letter case.
fn any_name() -> impl Strategy<Value = String> {
    let label = prop::sample::select(vec!["a", "B", "b", "com", "Com", "long-label", "x"]);
    prop::collection::vec(label, 1..6).prop_map(|labels| labels.join("."))
}

fn any_type() -> impl Strategy<Value = Rtype> {
    prop::sample::select(vec![Rtype::NS, Rtype::PTR, Rtype::MX, Rtype::CNAME, Rtype::SRV, Rtype::SVCB])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_is_compressed_reads_as_it_was_written(
        owner in any_name(),
        wildcard: bool,
        below in any_name(),
        rtype in any_type(),
        targets in prop::collection::vec(any_name(), 1..8),
        others in prop::collection::vec(any_name(), 0..8),
    ) {
        let (owner, qname) =
            if wildcard { (format!("*.{owner}"), format!("{below}.{owner}")) } else { (owner.clone(), owner) };
        let before_len = match rtype { Rtype::MX | Rtype::SVCB => 2, Rtype::SRV => 6, _ => 0 };
        let owner = wire(&owner);
        let mut composer = Composer::new(&owner);
        let data = targets.iter().map(|name| [vec![0; before_len], cased(name)].concat());
        composer.own(rtype, 60, &set(data));
        let first = composer.take();
        for name in &others {
            composer.other(&wire(name), Rtype::A, &set([vec![192, 0, 2, 1]]));
        }
        let second = composer.take();
        let records = decoded(&wire(&qname), &[&first, &second]);
        prop_assert_eq!(records.len(), targets.len() + others.len());
        for (record, target) in records.iter().zip(&targets) {
            prop_assert_eq!(record.name.to_string().to_lowercase(), format!("{qname}.").to_lowercase());
            let data = record.data.to_string().to_lowercase();
            let name = data.split(' ').nth(match rtype { Rtype::MX | Rtype::SVCB => 1, Rtype::SRV => 3, _ => 0 });
            prop_assert_eq!(name, Some(&*format!("{target}.").to_lowercase()));
        }
        for (record, name) in records.iter().skip(targets.len()).zip(&others) {
            prop_assert_eq!(record.name.to_string().to_lowercase(), format!("{name}.").to_lowercase());
        }
    }
}
