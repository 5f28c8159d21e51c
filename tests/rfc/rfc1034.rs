//! RFC 1034, Domain Names: Concepts and Facilities.

use crate::ask::{A, AA, ANY, Ask, CNAME, MX, NOERROR, NS, NXDOMAIN, RA, RD, REFUSED, SOA, TXT};
use crate::server::Server;

const TEXT: &str = "a A 192.0.2.1
a MX 10 mail
mail A 192.0.2.25
mail AAAA 2001:db8::25
alias CNAME a
out CNAME www.example.org.
two CNAME alias
sub NS ns.sub
ns.sub A 192.0.2.54
* TXT \"any\"";

fn server() -> Server {
    Server::zone("example.", TEXT)
}

#[test]
fn s3_6_2_an_alias_is_answered_with_the_alias_and_what_it_leads_to() {
    let answer = server().ask("alias.example.", A);
    assert_eq!(answer.answers(), ["alias.example. 600 CNAME a.example.", "a.example. 600 A 192.0.2.1"]);
    assert!(answer.aa() && answer.authorities().is_empty());
}

#[test]
fn s3_6_2_a_question_for_the_alias_itself_is_not_led_further() {
    assert_eq!(server().ask("two.example.", CNAME).answers(), ["two.example. 600 CNAME alias.example."]);
}

#[test]
fn s3_6_2_an_alias_has_no_other_data() {
    let refusal = Server::refusal("example.", "alias CNAME a\nalias A 192.0.2.1");
    assert!(refusal.contains("alias.example has a CNAME beside A records"), "{refusal}");
}

#[test]
fn s3_7_1_classes_other_than_in_are_not_served_here() {
    for class in [2, 3, 4, 254, 255, 65_535] {
        server().udp(&Ask::class("a.example.", A, class)).assert_empty(REFUSED);
    }
}

#[test]
fn s4_3_1_recursion_is_never_offered_nor_done() {
    let answer = server().udp(&Ask::new("www.example.org.", A).flags(RD));
    answer.assert_empty(REFUSED);
    assert!(answer.has(RD) && !answer.has(RA) && !answer.has(AA));
    let answer = server().udp(&Ask::new("a.example.", A).flags(RD | RA));
    assert!(answer.has(RD | AA) && !answer.has(RA));
}

#[test]
fn s4_3_2_step_2_the_nearest_zone_answers() {
    let server = Server::zones(&[
        ("example.", "sub NS ns.sub\nns.sub A 192.0.2.1"),
        ("sub.example.", "a A 192.0.2.2"),
    ]);
    assert_eq!(server.ask("a.sub.example.", A).answers(), ["a.sub.example. 600 A 192.0.2.2"]);
    server.ask("b.sub.example.", A).assert_negative(NXDOMAIN, "sub.example.");
    assert!(server.ask("sub.example.", NS).aa(), "the child's own NS records");
}

#[test]
fn s4_3_2_step_3a_a_chain_out_of_the_zones_is_told_as_far_as_it_is_known() {
    let answer = server().ask("out.example.", A);
    assert_eq!(answer.answers(), ["out.example. 600 CNAME www.example.org."]);
    assert_eq!((answer.rcode(), answer.aa(), answer.authorities().len()), (NOERROR, true, 0));
}

#[test]
fn s4_3_2_step_3b_below_a_cut_the_answer_is_a_referral() {
    for (name, qtype) in
        [("sub.example.", A), ("deep.sub.example.", TXT), ("sub.example.", SOA), ("sub.example.", ANY)]
    {
        let answer = server().ask(name, qtype);
        assert_eq!((answer.rcode(), answer.aa(), answer.answers().len()), (NOERROR, false, 0));
        assert_eq!(answer.authorities(), ["sub.example. 600 NS ns.sub.example."]);
        assert_eq!(answer.additionals(), ["ns.sub.example. 600 A 192.0.2.54"]);
    }
}

#[test]
fn s4_3_2_step_3c_a_wildcard_stands_in_where_no_name_is() {
    assert_eq!(server().ask("no.such.example.", TXT).answers(), ["no.such.example. 600 TXT any"]);
    server().ask("no.such.example.", A).assert_negative(NOERROR, "example.");
}

#[test]
fn s4_3_2_step_6_addresses_that_the_answer_needs_come_with_it() {
    let answer = server().ask("a.example.", MX);
    assert_eq!(answer.answers(), ["a.example. 600 MX 10 mail.example."]);
    let mut additionals = answer.additionals();
    additionals.sort();
    assert_eq!(additionals, ["mail.example. 600 A 192.0.2.25", "mail.example. 600 AAAA 2001:db8::25"]);
}

#[test]
fn s4_3_4_a_negative_answer_carries_the_soa_of_its_zone() {
    server().ask("a.example.", TXT).assert_negative(NOERROR, "example.");
    server().ask("x.a.example.", A).assert_negative(NXDOMAIN, "example.");
}
