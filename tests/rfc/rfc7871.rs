//! RFC 7871, Client Subnet in DNS Queries: the authoritative server's side.

use crate::ask::{A, AAAA, Answer, Ask, FORMERR, NOERROR, NXDOMAIN, REFUSED, TXT};
use crate::server::Server;

const OPTION: u16 = 8;

/// Home of 198.18.0.0/15 and 2001:db8::/32: `192.0.0.*`; of everybody else: `192.0.1.*`.
fn server() -> Server {
    Server::with_service("example.", "static A 192.0.2.1\nto-www CNAME www")
}

fn ask(name: &str, qtype: u16, subnet: &[u8]) -> Answer {
    server().udp(&Ask::new(name, qtype).option(OPTION, subnet))
}

/// The third byte of the first address: which home it was.
fn home(answer: &Answer) -> u8 {
    let address = answer.answers().into_iter().find(|text| text.contains(" A ")).expect("an address");
    address.rsplit('.').nth(1).unwrap().parse().unwrap()
}

#[test]
fn s6_the_answer_repeats_family_source_length_and_address() {
    for subnet in [
        &[0, 1, 24, 0, 198, 18, 7][..],
        &[0, 1, 32, 0, 198, 18, 7, 1],
        &[0, 1, 9, 0, 198, 0],
        &[0, 2, 56, 0, 0x20, 1, 0x0d, 0xb8, 1, 2, 3],
        &[0, 1, 0, 0],
        &[0, 2, 0, 0],
    ] {
        let option = ask("www.example.", A, subnet).option(OPTION).unwrap();
        assert_eq!((&option[..3], &option[4..]), (&subnet[..3], &subnet[4..]));
    }
}

#[test]
fn s7_1_1_the_subnet_decides_and_not_the_resolvers_address() {
    let near = Ask::new("www.example.", A).option(OPTION, &[0, 1, 24, 0, 198, 18, 7]);
    assert_eq!(home(&server().from("203.0.113.1", &near)), 0);
    let far = Ask::new("www.example.", A).option(OPTION, &[0, 1, 24, 0, 203, 0, 113]);
    assert_eq!(home(&server().from("198.18.0.1", &far)), 1);
}

#[test]
fn s7_1_2_a_source_length_of_zero_asks_for_the_resolvers_own_address_and_scope_zero() {
    let ask = Ask::new("www.example.", A).option(OPTION, &[0, 1, 0, 0]);
    let answer = server().from("198.18.0.1", &ask);
    assert_eq!((home(&answer), answer.option(OPTION).unwrap()), (0, vec![0, 1, 0, 0]));
}

#[test]
fn s7_1_2_without_the_option_there_is_none_in_the_answer() {
    for ask in [Ask::new("www.example.", A), Ask::new("www.example.", A).edns(1232)] {
        assert_eq!(server().udp(&ask).option(OPTION), None);
    }
}

#[test]
fn s7_1_2_a_malformed_option_is_formerr() {
    for subnet in [
        &[][..],
        &[0, 1, 24],
        &[0, 1, 24, 1, 198, 18, 7], // a scope in a query
        &[0, 1, 33, 0, 198, 18, 7, 1, 0],
        &[0, 1, 24, 0, 198, 18],       // too short
        &[0, 1, 24, 0, 198, 18, 7, 0], // too long
        &[0, 1, 23, 0, 198, 18, 7],    // a bit behind the length
        &[0, 0, 0, 0],
        &[0, 3, 8, 0, 1],
    ] {
        let answer = ask("www.example.", A, subnet);
        answer.assert_empty(FORMERR);
        assert_eq!(answer.option(OPTION), None, "{subnet:?}");
    }
}

#[test]
fn s7_2_1_the_scope_is_the_block_for_which_the_answer_holds() {
    for (subnet, scope) in [
        (&[0, 1, 24, 0, 198, 18, 7][..], 15), // all of 198.18.0.0/15: shorter than the source
        (&[0, 1, 8, 0, 198], 12), // 198.0.0.0/12, which leaves that block out: longer than the source
        (&[0, 2, 48, 0, 0x20, 1, 0x0d, 0xb8, 0, 1], 32),
    ] {
        assert_eq!(ask("www.example.", A, subnet).option(OPTION).unwrap()[3], scope, "{subnet:?}");
    }
}

#[test]
fn s7_2_1_what_is_the_same_for_everybody_has_scope_zero() {
    for (name, qtype, rcode) in [
        ("static.example.", A, NOERROR),
        ("static.example.", TXT, NOERROR),
        ("no.example.", A, NXDOMAIN),
        ("elsewhere.", A, REFUSED),
        ("www.example.", TXT, NOERROR),
    ] {
        let answer = ask(name, qtype, &[0, 1, 24, 0, 198, 18, 7]);
        assert_eq!((answer.rcode(), answer.option(OPTION).unwrap()[3]), (rcode, 0), "{name} {qtype}");
    }
}

#[test]
fn s7_2_1_an_alias_that_ends_in_a_tailored_name_is_tailored() {
    let answer = ask("to-www.example.", A, &[0, 1, 24, 0, 198, 18, 7]);
    assert_eq!((home(&answer), answer.option(OPTION).unwrap()[3]), (0, 15));
}

#[test]
fn s7_2_1_addresses_of_both_families_have_the_same_scope() {
    let scope = |qtype| ask("www.example.", qtype, &[0, 1, 24, 0, 198, 18, 7]).option(OPTION).unwrap()[3];
    assert_eq!(scope(A), scope(AAAA));
}

#[test]
fn s11_3_with_subnets_switched_off_they_decide_nothing_and_have_scope_zero() {
    let mut server = server();
    server.settings().ecs = false;
    let answer = server.udp(&Ask::new("www.example.", A).option(OPTION, &[0, 1, 24, 0, 198, 18, 7]));
    assert_eq!((home(&answer), answer.option(OPTION).unwrap()[3]), (1, 0));
}
