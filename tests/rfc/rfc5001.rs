//! RFC 5001, DNS Name Server Identifier (NSID) Option.

use crate::ask::{A, Ask, NOERROR};
use crate::server::{NSID, Server};

const OPTION: u16 = 3;

#[test]
fn s2_1_a_resolver_asks_with_an_empty_option_and_gets_the_servers_identifier() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    for name in ["a.example.", "no.example.", "elsewhere."] {
        assert_eq!(
            server.udp(&Ask::new(name, A).option(OPTION, &[])).option(OPTION).unwrap(),
            NSID,
            "{name}"
        );
    }
}

#[test]
fn s2_1_what_a_query_puts_into_the_option_is_ignored() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    let answer = server.udp(&Ask::new("a.example.", A).option(OPTION, b"who"));
    assert_eq!((answer.rcode(), answer.option(OPTION).unwrap()), (NOERROR, NSID.to_vec()));
}

#[test]
fn s2_2_it_is_never_sent_unasked() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    assert_eq!(server.ask("a.example.", A).option(OPTION), None);
}

#[test]
fn s2_2_a_server_without_an_identifier_answers_as_if_it_did_not_know_the_option() {
    let mut server = Server::zone("example.", "a A 192.0.2.1");
    server.settings().nsid.clear();
    let answer = server.udp(&Ask::new("a.example.", A).option(OPTION, &[]));
    assert_eq!((answer.rcode(), answer.opt().unwrap().options.len()), (NOERROR, 0));
}
