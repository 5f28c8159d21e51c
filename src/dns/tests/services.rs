//! Answers of services (RULES A1–A4, G3).

use super::*;

fn ask_at(view: &View, name: &str, qtype: u16, id: u16) -> Answer {
    let mut bytes = query(name, qtype, None);
    bytes[..2].copy_from_slice(&id.to_be_bytes());
    send_as(view, Transport::Udp, &bytes).unwrap()
}

#[test]
fn each_home_gets_its_own_regions_addresses_of_both_families() {
    let (cn, eu) = (view_at(0), view_at(1));
    assert_eq!(
        ask_at(&cn, "www", A, 0).answers(),
        ["www 30 A 192.0.0.1", "www 30 A 192.0.0.2", "www 30 A 192.0.0.3"]
    );
    assert_eq!(ask_at(&eu, "www", A, 0).answers()[0], "www 30 A 192.0.1.1");
    assert_eq!(
        ask_at(&eu, "www", AAAA, 0).answers(),
        ["www 30 AAAA 2001:db8:1::1", "www 30 AAAA 2001:db8:1::2"]
    );
}

#[test]
fn addresses_are_rotated_left_by_the_query_id() {
    for id in [0_u16, 1, 2, 3, 4, 0xffff] {
        let answers = ask_at(&view(), "www", A, id).answers();
        let expected: Vec<String> =
            (0..3).map(|n| format!("www 30 A 192.0.0.{}", (n + usize::from(id)) % 3 + 1)).collect();
        assert_eq!(answers, expected, "{id}");
    }
}

#[test]
fn the_ttl_never_reaches_beyond_the_next_scheduled_change() {
    let view = view();
    let bytes = query("www", A, None);
    for (now_ms, ttl) in [(0, 30), (970_000, 30), (985_500, 14), (999_999, 5), (2_000_000, 5)] {
        let mut out = [0; 512];
        let query = Query {
            bytes: &bytes,
            peer: [192, 0, 2, 1].into(),
            transport: Transport::Udp,
            now: Mono(now_ms),
            wall_s: 0,
        };
        let len = respond(&view, &mut Worker::new(), query, &mut out);
        let decoded = Decoded::from_vec(&out[..len]).unwrap();
        assert!(decoded.answers.iter().all(|record| record.ttl == ttl), "{now_ms}");
    }
}

#[test]
fn a_service_and_static_data_share_a_name() {
    assert_eq!(ask("www", TXT).answers(), ["www 300 TXT static beside a service"]);
    let answer = ask("www", MX);
    assert_eq!(answer.answers(), ["www 300 MX 10 mail.gslb.example.com."]);
    assert_eq!(answer.additionals(), ["mail 300 A 192.0.2.25"]);
}

#[test]
fn a_type_that_the_service_does_not_have_is_nodata_whoever_asks() {
    for (name, qtype) in [("v4", AAAA), ("www", HTTPS), ("v4", TXT), ("many", AAAA)] {
        let answer = ask(name, qtype);
        assert_eq!((answer.code(), answer.aa(), answer.answers().len()), (0, true, 0));
        assert!(
            answer.authorities()[0].starts_with("gslb.example.com. 60 SOA "),
            "{:?}",
            answer.authorities()
        );
        assert_eq!(answer.worker.shared().lookups(By::Network), 0, "nobody looks up who asks");
    }
}

#[test]
fn an_alias_service_gives_just_that_alias_to_every_type_but_any() {
    for qtype in [A, AAAA, TXT, CNAME, HTTPS, 4711] {
        let answer = ask("cdn", qtype);
        assert_eq!(answer.answers(), ["cdn 30 CNAME edge.cdn.example.net."]);
        assert_eq!((answer.aa(), answer.authorities().len()), (true, 0));
    }
    assert!(ask("cdn", ANY).answers()[0].starts_with("cdn 3600 HINFO"));
}

#[test]
fn a_service_that_fails_on_purpose_is_servfail_with_the_scope_of_the_decision() {
    let answer = send(&query("down", A, Some(&opt(&[(8, &[0, 1, 24, 0, 192, 0, 2])]))));
    assert_eq!((answer.code(), answer.aa(), answer.answers().len()), (2, false, 0));
    assert_eq!(answer.option(8).unwrap()[3], 22, "another home may be served");
    assert_eq!(answer.worker.shared().decisions(10), 1);
}

#[test]
fn a_client_that_nothing_places_is_counted_apart() {
    let answer = ask_at(&view_with(&Rules::everybody(region(1))), "www", A, 0);
    let counters = answer.worker.shared();
    assert_eq!((counters.decisions(21), counters.decisions(11), counters.lookups(By::Unmapped)), (1, 0, 1));
}

#[test]
fn a_home_or_service_without_an_answer_is_servfail_and_never_a_negative_one() {
    let mut view = view_at(7);
    assert_eq!(ask_at(&view, "www", A, 0).code(), 2);
    view.answers = AnswerTable::default();
    assert_eq!(ask_at(&view, "www", A, 0).code(), 2);
}

#[test]
fn a_chain_of_aliases_that_ends_in_a_service_is_tailored() {
    let subnet: &[u8] = &[0, 1, 24, 0, 192, 0, 2];
    let mut asked = query("to-www", A, Some(&opt(&[(8, subnet)])));
    asked[1] = 1;
    let answer = send(&asked);
    assert_eq!(
        answer.answers(),
        [
            "to-www 300 CNAME to-www2.gslb.example.com.",
            "to-www2 300 CNAME www.gslb.example.com.",
            "www 30 A 192.0.0.2",
            "www 30 A 192.0.0.3",
            "www 30 A 192.0.0.1"
        ]
    );
    assert_eq!(answer.option(8).unwrap()[3], 22);
    assert_eq!(ask("to-cdn", A).answers()[1], "cdn 30 CNAME edge.cdn.example.net.");
}
