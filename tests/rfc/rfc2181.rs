//! RFC 2181, Clarifications to the DNS Specification.

use crate::ask::{A, Ask, NOERROR, NS, NXDOMAIN, SOA, TXT};
use crate::server::Server;

#[test]
fn s5_a_record_that_is_there_twice_is_answered_once() {
    let server = Server::zone("example.", "a A 192.0.2.1\na A 192.0.2.1\nA.EXAMPLE. A 192.0.2.1");
    assert_eq!(server.ask("a.example.", A).answers().len(), 1);
}

#[test]
fn s5_2_every_record_of_an_rrset_has_one_ttl_the_lowest_that_was_written() {
    let server =
        Server::zone("example.", "a 300 A 192.0.2.1\na 60 A 192.0.2.2\na 900 A 192.0.2.3\na 900 TXT \"x\"");
    let ttls: Vec<u32> =
        server.ask("a.example.", A).message.answers.iter().map(|record| record.ttl).collect();
    assert_eq!(ttls, [60, 60, 60]);
    assert_eq!(server.ask("a.example.", TXT).message.answers[0].ttl, 900, "an RRset is of one type");
}

#[test]
fn s6_1_at_a_cut_the_parent_has_no_authority_and_at_its_apex_the_child_has() {
    let server = Server::zone("example.", "sub NS ns.sub\nns.sub A 192.0.2.1");
    let referral = server.ask("sub.example.", NS);
    assert_eq!((referral.aa(), referral.answers().len(), referral.authorities().len()), (false, 0, 1));
    let apex = server.ask("example.", NS);
    assert_eq!((apex.aa(), apex.answers().len()), (true, 1));
}

#[test]
fn s7_1_the_soa_of_a_negative_answer_stands_in_the_authority_section() {
    let server = Server::zone("example.", "");
    server.ask("no.example.", A).assert_negative(NXDOMAIN, "example.");
    let asked = server.ask("example.", SOA);
    assert_eq!((asked.answers().len(), asked.authorities().len()), (1, 0));
}

#[test]
fn s8_ttls_are_numbers_of_31_bits() {
    let server = Server::zone("example.", "a 2147483647 A 192.0.2.1\nb 0 A 192.0.2.1");
    assert_eq!(server.ask("a.example.", A).message.answers[0].ttl, 0x7fff_ffff);
    assert_eq!(server.ask("b.example.", A).message.answers[0].ttl, 0);
    let refusal = Server::refusal("example.", "a 2147483648 A 192.0.2.1");
    assert!(refusal.contains("at most 2147483647"), "{refusal}");
}

#[test]
fn s9_tc_is_set_when_an_rrset_had_to_be_left_out_and_not_for_extra_data() {
    let texts: String = (0..20).map(|number| format!("big TXT \"{number:0>60}\"\n")).collect();
    let server = Server::zone("example.", &texts);
    let cut = server.udp(&Ask::new("big.example.", TXT).edns(512));
    assert_eq!((cut.tc(), cut.answers().len()), (true, 0), "no part of an RRset");

    // Fifteen mail servers whose addresses do not fit beside them.
    let many: String = (0..15)
        .map(|n| format!("a MX {n} long-name-of-a-mail-server-{n:0>30}\nlong-name-of-a-mail-server-{n:0>30} A 192.0.2.{n}\n"))
        .collect();
    let server = Server::zone("example.", &many);
    let whole = server.udp(&Ask::new("a.example.", 15).edns(1232));
    assert_eq!((whole.tc(), whole.answers().len(), whole.rcode()), (false, 15, NOERROR));
    assert!(whole.additionals().len() < 15, "what is helpful goes without a word");
}

#[test]
fn s10_1_an_alias_stands_alone_and_not_at_the_apex() {
    for text in ["a CNAME b\na TXT \"x\"", "a CNAME b\na CNAME c", "@ CNAME b"] {
        assert!(Server::refusal("example.", text).contains("CNAME"), "{text}");
    }
}

#[test]
fn s11_a_label_is_any_octets() {
    let server = Server::zone("example.", "\\000\\255\\032 A 192.0.2.1\n_x A 192.0.2.2\na/b A 192.0.2.3");
    for (name, count) in [("\\000\\255\\032.example.", 1), ("_x.example.", 1), ("a/b.example.", 1)] {
        assert_eq!(server.ask(name, A).answers().len(), count, "{name}");
    }
}
