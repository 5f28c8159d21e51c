//! RFC 8906, A Common Operational Problem in DNS Servers: Failure to Communicate. Each test of its section 8.

use crate::ask::{AD, Answer, Ask, BADVERS, CD, DO, NOERROR, NOTIMP, Opt, RD, SOA, TXT, Z};
use crate::server::{NSID, Server};

fn server() -> Server {
    let texts: String = (0..20).map(|number| format!("big TXT \"{number:0>60}\"\n")).collect();
    Server::zone("example.", &texts)
}

fn soa() -> Ask {
    Ask::new("example.", SOA)
}

/// The SOA record, with authority.
fn assert_soa(answer: &Answer) {
    assert_eq!((answer.rcode(), answer.aa(), answer.answers().len()), (NOERROR, true, 1));
    assert!(answer.answers()[0].contains(" SOA "));
}

/// BADVERS, version 0, and nothing else.
fn assert_badvers(answer: &Answer) -> Opt {
    answer.assert_empty(BADVERS);
    assert!(!answer.aa());
    let opt = answer.opt().unwrap();
    assert_eq!((opt.version, opt.options.len()), (0, 0));
    opt
}

#[test]
fn s8_1_1_the_server_is_configured_for_the_zone() {
    assert_soa(&server().udp(&soa()));
}

#[test]
fn s8_1_2_an_unknown_type_is_no_data() {
    server().udp(&Ask::new("example.", 1000)).assert_negative(NOERROR, "example.");
}

#[test]
fn s8_1_3_1_cd_is_no_obstacle() {
    assert_soa(&server().udp(&soa().flags(CD)));
}

#[test]
fn s8_1_3_2_ad_is_no_obstacle() {
    let answer = server().udp(&soa().flags(AD));
    assert_soa(&answer);
    assert!(!answer.has(AD));
}

#[test]
fn s8_1_3_3_the_reserved_bit_is_no_obstacle_and_not_copied() {
    let answer = server().udp(&soa().flags(Z));
    assert_soa(&answer);
    assert!(!answer.has(Z));
}

#[test]
fn s8_1_3_4_a_recursive_query_is_answered_from_the_zone() {
    let answer = server().udp(&soa().flags(RD));
    assert_soa(&answer);
    assert!(answer.has(RD));
}

#[test]
fn s8_1_4_an_unknown_opcode_is_not_implemented_even_without_a_question() {
    let mut bare = Ask::raw(Vec::new()).opcode(15);
    bare.counts = [0; 4];
    for ask in [bare, soa().opcode(15)] {
        let answer = server().udp(&ask);
        answer.assert_empty(NOTIMP);
        assert!(!answer.aa());
    }
}

#[test]
fn s8_1_5_tcp_works() {
    assert_soa(&server().tcp(&soa()));
}

#[test]
fn s8_2_1_plain_edns_works() {
    let answer = server().udp(&soa().edns(1232));
    assert_soa(&answer);
    assert_eq!(answer.opt().unwrap().version, 0);
}

#[test]
fn s8_2_2_version_1_is_badvers() {
    assert_badvers(&server().udp(&soa().edns_as(1, 0)));
}

#[test]
fn s8_2_3_an_unknown_option_is_ignored() {
    let answer = server().udp(&soa().option(100, &[]));
    assert_soa(&answer);
    assert_eq!((answer.option(100), answer.opt().unwrap().version), (None, 0));
}

#[test]
fn s8_2_4_an_unknown_flag_is_ignored() {
    let answer = server().udp(&soa().edns_as(0, 0x40));
    assert_soa(&answer);
    assert_eq!(answer.opt().unwrap().flags, 0);
}

#[test]
fn s8_2_5_version_1_with_an_unknown_flag_is_badvers() {
    assert_eq!(assert_badvers(&server().udp(&soa().edns_as(1, 0x40))).flags, 0);
}

#[test]
fn s8_2_6_version_1_with_an_unknown_option_is_badvers() {
    assert_badvers(&server().udp(&soa().edns_as(1, 0).option(100, b"x")));
}

#[test]
fn s8_2_7_a_truncated_answer_has_its_opt_record() {
    let answer = server().udp(&Ask::new("big.example.", TXT).edns(512));
    assert!(answer.tc() && answer.bytes.len() <= 512);
    assert_eq!((answer.rcode(), answer.opt().unwrap().version), (NOERROR, 0));
}

#[test]
fn s8_2_8_do_is_no_obstacle_and_copied() {
    let answer = server().udp(&soa().edns_as(0, DO));
    assert_soa(&answer);
    assert_eq!(answer.opt().unwrap().flags, DO);
}

#[test]
fn s8_2_9_version_1_with_do_is_badvers_with_do_as_in_version_0() {
    assert_eq!(assert_badvers(&server().udp(&soa().edns_as(1, DO))).flags, DO);
}

#[test]
fn s8_2_10_several_defined_options_at_once_are_answered() {
    // Cookie, NSID, EXPIRE, a subnet of length 0.
    let ask = soa().option(10, &[7; 8]).option(3, &[]).option(9, &[]).option(8, &[0, 1, 0, 0]);
    let answer = server().udp(&ask);
    assert_soa(&answer);
    assert_eq!((answer.option(3).unwrap(), answer.option(8).unwrap()), (NSID.to_vec(), vec![0, 1, 0, 0]));
    assert_eq!(answer.option(9), None);
}

#[test]
fn s3_1_no_type_class_or_opcode_goes_unanswered() {
    let server = server();
    for number in (0..=65_535).step_by(7) {
        server.udp(&Ask::class("example.", number, 1));
        server.udp(&Ask::class("example.", SOA, number));
    }
    for flags in 0..0x8000 {
        server.udp(&soa().flags(flags));
    }
}
