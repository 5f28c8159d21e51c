//! Static data (RULES A4; RFC 1034 4.3.2, 2308, 4592, 6604, 6672, 8020, 8482).

use super::*;

fn is_negative(answer: &Answer, code: u8) {
    assert_eq!((answer.code(), answer.aa()), (code, true));
    let [soa] = &answer.authorities()[..] else { panic!("{:?}", answer.authorities()) };
    assert!(soa.starts_with("gslb.example.com. 60 SOA ns1.gslb.example.com. "), "{soa}");
}

#[test]
fn data_is_answered_with_authority_and_the_addresses_it_needs() {
    let answer = ask("gslb.example.com.", NS);
    assert_eq!(answer.answers().len(), 2);
    assert_eq!((answer.aa(), answer.additionals().len(), answer.authorities().len()), (true, 3, 0));
    assert_eq!(ask("gslb.example.com.", SOA).answers().len(), 1);
}

#[test]
fn rfc9460_4_1_an_https_answer_brings_what_its_target_needs() {
    assert_eq!(ask("web", HTTPS).additionals(), ["static 300 A 192.0.2.10"]);
    assert_eq!(ask("to-web", HTTPS).additionals().len(), 1, "the target's own HTTPS record");
}

#[test]
fn nodata_and_nxdomain_carry_the_zones_soa() {
    is_negative(&ask("static", TXT), 0);
    is_negative(&ask("nothing", A), 3);
    is_negative(&ask("below.static", A), 3);
}

#[test]
fn an_empty_non_terminal_is_nodata_to_any_too() {
    is_negative(&ask("b.ent", A), 0);
    is_negative(&ask("b.ent", ANY), 0);
    is_negative(&ask("x.ent", A), 3);
}

#[test]
fn names_outside_every_zone_are_refused_without_a_referral() {
    for name in [".", "com.", "example.com.", "xgslb.example.com."] {
        let answer = ask(name, NS);
        assert_eq!((answer.code(), answer.aa()), (5, false));
        assert_eq!((answer.answers().len(), answer.authorities().len()), (0, 0));
    }
}

#[test]
fn a_wildcard_answers_under_the_name_that_was_asked() {
    assert_eq!(ask("x.y.wild", A).answers(), ["x.y.wild 300 A 192.0.2.31"]);
    is_negative(&ask("x.wild", TXT), 0);
    assert_eq!(
        ask("q.wildalias", A).answers(),
        ["q.wildalias 300 CNAME static.gslb.example.com.", "static 300 A 192.0.2.10"]
    );
    assert_eq!(ask("to-wild", A).answers()[1], "x.wild 300 A 192.0.2.31");
}

#[test]
fn any_is_answered_with_hinfo_for_any_name_that_holds_something_but_an_alias() {
    for name in ["www", "static", "x.wild", "down", "gslb.example.com."] {
        let answer = ask(name, ANY);
        assert_eq!((answer.answers().len(), answer.aa()), (1, true));
        assert!(answer.answers()[0].contains("3600 HINFO RFC8482"), "{:?}", answer.answers());
    }
    assert_eq!(ask("alias", ANY).answers(), ["alias 300 CNAME static.gslb.example.com."]);
    assert_eq!(ask("q.wildalias", ANY).answers(), ["q.wildalias 300 CNAME static.gslb.example.com."]);
    is_negative(&ask("nothing", ANY), 3);
}

#[test]
fn an_alias_is_followed_and_asked_for_by_its_own_type_it_is_the_answer() {
    assert_eq!(
        ask("alias", A).answers(),
        ["alias 300 CNAME static.gslb.example.com.", "static 300 A 192.0.2.10"]
    );
    assert_eq!(ask("alias", CNAME).answers(), ["alias 300 CNAME static.gslb.example.com."]);
}

#[test]
fn the_rcode_is_that_of_the_chains_last_name() {
    let answer = ask("alias", TXT);
    is_negative(&answer, 0);
    assert_eq!(answer.answers().len(), 1);
    let answer = ask("to-nothing", A);
    is_negative(&answer, 3);
    assert_eq!(answer.answers(), ["to-nothing 300 CNAME nothing.gslb.example.com."]);
}

#[test]
fn a_chain_that_leaves_the_zones_is_answered_as_far_as_it_is_ours() {
    let answer = ask("to-outside", A);
    assert_eq!((answer.code(), answer.aa(), answer.authorities().len()), (0, true, 0));
    assert_eq!(answer.answers(), ["to-outside 300 CNAME www.example.net."]);
}

#[test]
fn a_loop_of_aliases_answers_its_head_with_noerror() {
    let answer = ask("loop1", A);
    assert_eq!((answer.code(), answer.aa(), answer.authorities().len()), (0, true, 0));
    let owners: Vec<String> = answer.answers().iter().map(|text| text[..5].to_owned()).collect();
    assert_eq!(owners, ["loop1", "loop2", "loop3"], "each alias once");
}

#[test]
fn sixteen_aliases_are_followed_and_no_more() {
    let tcp = |name| send_as(&view(), Transport::Tcp, &query(name, A, None)).unwrap();
    let answer = tcp("d0");
    assert_eq!(answer.answers().len(), 17);
    assert_eq!(answer.answers()[16], "d16 300 A 192.0.2.71");
    let answer = tcp("c0");
    assert_eq!(
        (answer.code(), answer.answers().len()),
        (0, 1 + lookup::MAX_ALIASES),
        "where the last leads to"
    );
    assert!(answer.answers().iter().all(|text| text.contains("CNAME")));
}

#[test]
fn a_dname_redirects_what_is_below_it_and_shows_the_alias_it_makes() {
    assert_eq!(
        ask("www.moved", A).answers(),
        [
            "moved 300 DNAME BnRhcmdldARnc2xiB2V4YW1wbGUDY29tAA==", // target.gslb.example.com., as the decoder shows it
            "www.moved 300 CNAME www.target.gslb.example.com.",
            "www.target 300 A 192.0.2.60"
        ]
    );
    assert_eq!(ask("www.moved", CNAME).answers().len(), 2);
    is_negative(&ask("nope.moved", A), 3);
    is_negative(&ask("moved", A), 0);
}

#[test]
fn a_dname_that_a_chain_meets_again_stands_in_the_answer_once() {
    let answers = ask("host.up.up.back", A).answers();
    assert_eq!(
        answers[1..],
        [
            "host.up.up.back 300 CNAME host.up.back.gslb.example.com.",
            "host.up.back 300 CNAME host.back.gslb.example.com.",
            "host.back 300 A 192.0.2.62"
        ]
    );
    assert!(answers[0].starts_with("up.back 300 DNAME "), "{answers:?}");
    let answers = ask("round.up.back", DNAME).answers();
    let types: Vec<&str> = answers.iter().filter_map(|text| text.split(' ').nth(2)).collect();
    assert_eq!(types, ["DNAME", "CNAME", "CNAME"], "as redirection and as what was asked for");
}

#[test]
fn a_dname_that_makes_the_name_too_long_is_yxdomain() {
    let label = "x".repeat(63);
    let name = format!("{label}.{label}.{label}.{}.rec", "x".repeat(40));
    let answer = ask(&name, A);
    assert_eq!((answer.code(), answer.answers().len()), (6, 1));
}

#[test]
fn at_and_below_a_cut_the_server_refers_without_authority() {
    for (name, qtype) in [("sub", A), ("sub", NS), ("sub", ANY), ("deep.host.sub", A), ("host.sub", DS)] {
        let answer = ask(name, qtype);
        assert_eq!((answer.code(), answer.aa(), answer.answers().len()), (0, false, 0), "{name}");
        assert_eq!(
            answer.authorities(),
            [
                "sub 300 NS ns.sub.gslb.example.com.",
                "sub 300 NS ns.elsewhere.example.",
                "sub 300 NS ns2.other.gslb.example.com."
            ]
        );
        assert_eq!(answer.additionals(), ["ns.sub 300 A 192.0.2.50", "ns2.other 300 A 192.0.2.51"]);
    }
}

#[test]
fn ds_of_a_cut_is_answered_from_this_side_of_it() {
    let answer = ask("sub", DS);
    assert_eq!((answer.code(), answer.aa(), answer.authorities().len()), (0, true, 0));
    assert!(answer.answers()[0].starts_with("sub 300 DS AAENAgAB"), "{:?}", answer.answers());
    is_negative(&ask("nods", DS), 0);
}

#[test]
fn an_alias_into_a_delegated_zone_ends_in_its_referral() {
    let answer = ask("to-cut", A);
    assert_eq!((answer.code(), answer.aa()), (0, true));
    assert_eq!(answer.answers(), ["to-cut 300 CNAME host.sub.gslb.example.com."]);
    assert_eq!(answer.authorities()[0], "sub 300 NS ns.sub.gslb.example.com.");
    assert_eq!(answer.additionals().len(), 2);
}
