//! Cases that say what they want in prose, and those where our rules decide.

use std::path::Path;

use hickory_proto::rr::RecordType;
use waypost::config::Config;
use waypost::config::admin::Forced;
use waypost::dns::zone::{ZoneFile, Zones};
use waypost::dns::{View, Worker};
use waypost::region::AllDown;

use super::{Pool, Stage};
use crate::world::{after_ms, ask};

/// Each case with what shows it.
pub(super) const CASES: [(&str, fn()); 25] = [
    ("g-subset-order", a_region_that_the_service_lacks_is_passed_over),
    ("g-ignore-ecs-eu", with_ecs_off_the_source_decides_and_the_scope_is_zero),
    ("g-family-missing-noecs", one_family_in_some_regions_only_is_refused_at_load),
    ("g-family-missing-ecs", one_family_in_some_regions_only_is_refused_at_load),
    ("g-family-present", one_family_in_some_regions_only_is_refused_at_load),
    ("a-region-down", a_region_forced_down_answers_with_the_next_one_and_the_short_ttl),
    ("a-all-regions-down", when_all_are_forced_down_home_answers),
    ("a-forced-up-region", a_region_forced_up_answers),
    ("a-down-plus-real-down", the_failed_one_goes_before_the_drained_one),
    ("z-add-zone", zones_come_and_go_with_reloads),
    ("l-sets-first-with-up", a_healthy_region_goes_before_one_with_half_its_addresses),
    ("l-all-down-all", with_all_down_all_every_address_is_answered),
    ("gi-scope-32", neighbours_of_two_regions_have_a_scope_of_32),
    ("gi-apex", a_service_at_the_apex_stands_beside_soa_ns_and_mx),
    ("k-geo", each_of_248_networks_gets_its_own_answer),
    ("k-any", any_is_answered_with_hinfo),
    ("k-nodata", a_family_that_the_service_lacks_is_nodata_with_soa),
    ("k-no-shadow", static_data_of_another_family_stays_visible),
    ("k-reload-bad-map", a_bad_network_refuses_the_reload),
    ("rfc-scope-longer-than-source", the_scope_may_exceed_the_source),
    ("rfc-scope-shorter-than-source", the_scope_may_be_shorter_than_the_source),
    ("rfc-private-ecs", a_private_subnet_is_located_by_its_sender),
    ("rfc-echo-fields", family_source_and_address_come_back_as_sent),
    ("rfc-zero-bits-not-refused", a_source_length_of_zero_is_the_source_address_and_scope_zero),
    ("rfc-tcp-same", the_same_over_tcp),
];

fn addresses(list: &[&str]) -> Pool {
    Pool::Addresses(list.iter().map(|address| address.parse().unwrap()).collect())
}

/// Two regions with an address each; 20.0.0.0/8 is at home in `two`, the rest in `one`.
fn two_regions() -> Stage {
    let mut stage = Stage::new(&["one", "two"]);
    stage.pools.insert("one".into(), addresses(&["192.0.2.1"]));
    stage.pools.insert("two".into(), addresses(&["192.0.2.2"]));
    stage.networks = vec![("20.0.0.0/8".into(), "two".into())];
    stage
}

fn told(stage: &Stage, source: &str, ecs: Option<&str>) -> (Vec<String>, Option<u8>) {
    let wire = stage.ask("svc", "A", source, ecs);
    (wire.addresses().iter().map(ToString::to_string).collect(), wire.scope())
}

fn a_region_that_the_service_lacks_is_passed_over() {
    let mut stage = Stage::new(&["a", "b", "c"]);
    stage.pools.insert("b".into(), addresses(&["192.0.2.180"]));
    stage.pools.insert("c".into(), addresses(&["192.0.2.181"]));
    stage.networks = vec![("0.0.0.0/1".into(), "c".into()), ("128.0.0.0/1".into(), "a".into())];
    assert_eq!(told(&stage, "127.0.0.1", Some("192.0.2.0/24")), (vec!["192.0.2.180".into()], Some(1)));
}

fn with_ecs_off_the_source_decides_and_the_scope_is_zero() {
    let stage = Stage { ecs: false, ..two_regions() };
    assert_eq!(told(&stage, "20.1.1.1", Some("192.0.2.1/32")), (vec!["192.0.2.2".into()], Some(0)));
}

fn one_family_in_some_regions_only_is_refused_at_load() {
    let endpoints =
        "dc1 = [\"192.0.2.10\", \"2001:db8::10\"]\ndc2 = [\"2001:db8::11\"]\ndc3 = [\"192.0.2.11\"]";
    let errors = refused(endpoints, "[\"0.0.0.0/1\"]");
    assert!(errors.iter().any(|error| error.contains("IPv4") && error.contains("dc2")), "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("IPv6") && error.contains("dc3")), "{errors:?}");
}

/// Why a configuration with these endpoints and networks is refused.
fn refused(endpoints: &str, networks: &str) -> Vec<String> {
    let text = format!(
        "version = 1\n[routing]\nfallback = [\"dc1\", \"dc2\", \"dc3\"]\n[regions.dc2]\nnetworks = {networks}\n\
         [geo]\ndatabase = \"country.mmdb\"\nunmapped = \"dc1\"\n[dns]\nlisten = [\"127.0.0.1:5300\"]\nzones = \"zones\"\n\
         [[services]]\nname = \"svc.example.com\"\nrequires = []\n[services.endpoints]\n{endpoints}\n"
    );
    match Config::parse(&text, Path::new("waypost.toml"), &|_| None, "host") {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(waypost::config::Diagnostic::one_line).collect(),
    }
}

fn a_region_forced_down_answers_with_the_next_one_and_the_short_ttl() {
    let stage = Stage { forced: vec![("one".into(), Forced::Down)], ..two_regions() };
    let wire = stage.ask("svc", "A", "127.0.0.1", None);
    assert_eq!((stage.region_of(&wire), wire.ttl()), (Some("two"), Some(5)));
}

fn when_all_are_forced_down_home_answers() {
    let forced = vec![("one".into(), Forced::Down), ("two".into(), Forced::Down)];
    let stage = Stage { forced, ..two_regions() };
    let wire = stage.ask("svc", "A", "127.0.0.1", None);
    assert_eq!((stage.region_of(&wire), wire.ttl()), (Some("one"), Some(5)));
    let wire = stage.ask("svc", "A", "20.0.0.1", None);
    assert_eq!(stage.region_of(&wire), Some("two"), "home, not the first");
}

fn a_region_forced_up_answers() {
    let mut stage = two_regions();
    stage.pools.insert("one".into(), Pool::Alias("m1cname.example.net.".into()));
    stage.pools.insert("two".into(), Pool::Alias("other.example.net.".into()));
    stage.forced = vec![("one".into(), Forced::Up), ("two".into(), Forced::Down)];
    stage.down = vec!["one".into()];
    let wire = stage.ask("svc", "A", "127.0.0.1", None);
    let answers: Vec<_> = wire.answers.iter().map(|(rtype, data, _)| (*rtype, data.as_str())).collect();
    assert_eq!(answers, [(RecordType::CNAME, "m1cname.example.net.")]);
}

fn the_failed_one_goes_before_the_drained_one() {
    let forced = vec![("one".into(), Forced::Down)];
    let stage = Stage { forced, down: vec!["two".into()], ..two_regions() };
    let wire = stage.ask("svc", "A", "127.0.0.1", None);
    assert_eq!(stage.region_of(&wire), Some("two"));
}

fn zones_come_and_go_with_reloads() {
    let zone = |origin: &str, address: &str| ZoneFile {
        path: format!("{origin}.zone").into(),
        text: format!(
            "$ORIGIN {origin}.\n$TTL 60\n@ IN SOA ns1 h 1 2 3 4 5\n@ IN NS ns1\nns1 IN A {address}\n"
        ),
    };
    let base = two_regions().view();
    let told = |files: &[ZoneFile], name: &str| {
        let (zones, _) = Zones::build(files, &[]).unwrap();
        let view = View { zones: zones.into(), ..base.clone() };
        let source = [127, 0, 0, 1].into();
        let wire = ask(&view, &mut Worker::uncounted(), after_ms(0).mono, (name, 1), source, None);
        (wire.rcode.clone(), wire.aa, wire.addresses().first().map(ToString::to_string))
    };
    let refused = ("REFUSED".to_owned(), false, None);
    let data = |address: &str| ("NOERROR".to_owned(), true, Some(address.to_owned()));
    let first = zone("one.example", "192.0.2.1");
    assert_eq!(told(std::slice::from_ref(&first), "ns1.two.example"), refused);
    let both = [first.clone(), zone("two.example", "192.0.2.2")];
    assert_eq!(told(&both, "ns1.two.example"), data("192.0.2.2"));
    let changed = [zone("one.example", "192.0.2.9"), zone("two.example", "192.0.2.2")];
    assert_eq!(told(&changed, "ns1.one.example"), data("192.0.2.9"));
    assert_eq!(told(std::slice::from_ref(&first), "ns1.two.example"), refused);
    let back = [first, zone("two.example", "192.0.2.7")];
    assert_eq!(told(&back, "ns1.two.example"), data("192.0.2.7"));
}

fn a_healthy_region_goes_before_one_with_half_its_addresses() {
    let mut stage = Stage::new(&["one", "two", "three"]);
    stage.pools.insert("one".into(), addresses(&["192.168.42.23"]));
    stage.pools.insert("two".into(), addresses(&["192.168.42.21", "127.0.0.102"]));
    stage.pools.insert("three".into(), addresses(&["127.0.0.101"]));
    stage.down = vec!["192.168.42.23".into(), "192.168.42.21".into()];
    assert_eq!(told(&stage, "127.0.0.1", None).0, ["127.0.0.101"]);
    stage.down.push("127.0.0.101".into());
    assert_eq!(told(&stage, "127.0.0.1", None).0, ["127.0.0.102"], "and one with half before none");
}

fn with_all_down_all_every_address_is_answered() {
    let stage = Stage { all_down: AllDown::All, down: vec!["all".into()], ..two_regions() };
    assert_eq!(told(&stage, "127.0.0.1", None).0, ["192.0.2.1", "192.0.2.2"]);
}

fn neighbours_of_two_regions_have_a_scope_of_32() {
    let mut stage = two_regions();
    stage.networks = vec![("127.0.0.2/32".into(), "two".into()), ("127.0.0.3/32".into(), "one".into())];
    assert_eq!(told(&stage, "127.0.0.1", Some("127.0.0.2/32")), (vec!["192.0.2.2".into()], Some(32)));
}

fn a_service_at_the_apex_stands_beside_soa_ns_and_mx() {
    let mut stage = two_regions();
    stage.records += "@ IN MX 10 mail\n";
    let wire = stage.ask("@", "A", "20.1.1.1", None);
    assert_eq!((stage.region_of(&wire), wire.rcode.as_str()), (Some("two"), "NOERROR"));
    assert_eq!(stage.ask("@", "MX", "20.1.1.1", None).answers.len(), 1);
}

fn each_of_248_networks_gets_its_own_answer() {
    // At most 32 regions: the networks are given to them in turns.
    let names: Vec<String> = (0..31).map(|number| format!("r{number}")).collect();
    let mut stage = Stage::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (number, name) in names.iter().enumerate() {
        stage.pools.insert(name.clone(), addresses(&[&format!("127.255.{number}.0")]));
    }
    stage.networks = (0..248).map(|n| (format!("127.255.{n}.0/24"), names[n % 31].clone())).collect();
    let view = stage.view();
    for number in 0..248_u8 {
        for host in [0, 1, 77, 255] {
            let source = [127, 255, number, host].into();
            let question = ("svc.example.com", 1);
            let wire = ask(&view, &mut Worker::uncounted(), after_ms(0).mono, question, source, None);
            assert_eq!(wire.addresses(), [std::net::IpAddr::from([127, 255, number % 31, 0])]);
        }
    }
}

fn any_is_answered_with_hinfo() {
    let wire = two_regions().ask("svc", "ANY", "127.255.77.0", None);
    assert_eq!(wire.answers.iter().map(|(rtype, ..)| *rtype).collect::<Vec<_>>(), [RecordType::HINFO]);
}

fn a_family_that_the_service_lacks_is_nodata_with_soa() {
    let wire = two_regions().ask("svc", "AAAA", "127.255.77.0", None);
    assert_eq!((wire.rcode.as_str(), wire.answers.len()), ("NOERROR", 0));
    assert_eq!(wire.authorities, [RecordType::SOA]);
}

fn static_data_of_another_family_stays_visible() {
    let mut stage = two_regions();
    stage.records += "svc IN AAAA 1::4\n";
    let wire = stage.ask("svc", "AAAA", "127.0.0.1", None);
    assert_eq!(wire.addresses(), ["1::4".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(told(&stage, "127.0.0.1", None).0, ["192.0.2.1"]);
}

fn a_bad_network_refuses_the_reload() {
    let endpoints = "dc1 = [\"192.0.2.10\"]";
    assert_eq!(refused(endpoints, "[\"126.255.7.0/24\"]"), Vec::<String>::new());
    let errors = refused(endpoints, "[\"126.257.7.0/24\"]");
    assert!(errors.iter().any(|error| error.contains("126.257.7.0/24")), "{errors:?}");
}

fn the_scope_may_exceed_the_source() {
    let mut stage = two_regions();
    stage.networks = vec![("20.1.0.0/16".into(), "two".into())];
    assert_eq!(told(&stage, "127.0.0.1", Some("20.0.0.0/8")), (vec!["192.0.2.1".into()], Some(16)));
}

fn the_scope_may_be_shorter_than_the_source() {
    assert_eq!(told(&two_regions(), "127.0.0.1", Some("20.9.9.9/32")), (vec!["192.0.2.2".into()], Some(8)));
}

fn a_private_subnet_is_located_by_its_sender() {
    let stage = two_regions();
    for (source, address) in [("20.1.1.1", "192.0.2.2"), ("30.1.1.1", "192.0.2.1")] {
        assert_eq!(told(&stage, source, Some("10.0.0.0/24")), (vec![address.into()], Some(8)));
    }
}

fn family_source_and_address_come_back_as_sent() {
    for ecs in ["198.51.100.0/22", "198.51.100.128/25", "20.0.0.0/7", "2001:db8::/33"] {
        let echoed = two_regions().ask("svc", "A", "127.0.0.1", Some(ecs)).ecs.unwrap();
        let mut sent = crate::world::ecs_value(super::parse_subnet(ecs));
        sent[3] = echoed[3];
        assert_eq!(echoed, sent);
    }
}

fn a_source_length_of_zero_is_the_source_address_and_scope_zero() {
    assert_eq!(told(&two_regions(), "20.1.1.1", Some("0.0.0.0/0")), (vec!["192.0.2.2".into()], Some(0)));
}

fn the_same_over_tcp() {
    // `ask` asks over both.
    assert_eq!(told(&two_regions(), "127.0.0.1", Some("198.51.100.0/24")).0, ["192.0.2.1"]);
}
