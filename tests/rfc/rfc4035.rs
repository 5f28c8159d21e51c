//! RFC 4035, Protocol Modifications for the DNS Security Extensions: what concerns an unsigned server too.

use crate::ask::{A, AD, Ask, CD, DS, NOERROR};
use crate::server::Server;

const TEXT: &str = "signed NS ns.signed
ns.signed A 192.0.2.1
signed DS 12345 13 2 3490a6806d47f17a34c29e2ce80e8a999ffbe4be3490a6806d47f17a34c29e2c
plain NS ns.plain
ns.plain A 192.0.2.2";

#[test]
fn s3_1_4_1_ds_of_a_cut_is_the_parents_to_answer() {
    let server = Server::zone("example.", TEXT);
    let answer = server.ask("signed.example.", DS);
    assert_eq!((answer.rcode(), answer.aa(), answer.answers().len()), (NOERROR, true, 1));
    server.ask("plain.example.", DS).assert_negative(NOERROR, "example.");
    assert!(!server.ask("x.signed.example.", DS).aa(), "below the cut it is the child's");
}

#[test]
fn s3_1_4_1_a_server_of_parent_and_child_answers_ds_from_the_parent() {
    let server =
        Server::zones(&[("example.", TEXT), ("signed.example.", "a A 192.0.2.3"), ("plain.example.", "")]);
    assert_eq!(server.ask("signed.example.", DS).answers().len(), 1);
    server.ask("plain.example.", DS).assert_negative(NOERROR, "example.");
}

#[test]
fn s3_1_4_1_a_server_of_the_child_alone_answers_that_it_has_none() {
    Server::zone("example.", "").ask("example.", DS).assert_negative(NOERROR, "example.");
}

#[test]
fn s3_1_6_cd_is_copied_and_ad_never_set() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    let answer = server.udp(&Ask::new("a.example.", A).flags(CD | AD));
    assert_eq!((answer.has(CD), answer.has(AD)), (true, false));
}
