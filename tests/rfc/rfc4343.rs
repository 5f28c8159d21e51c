//! RFC 4343, Domain Name System (DNS) Case Insensitivity Clarification.

use crate::ask::{A, Ask, CNAME, NXDOMAIN, records};
use crate::server::Server;

fn server() -> Server {
    Server::zone(
        "Example.",
        "Host A 192.0.2.1\n\\193 A 192.0.2.2\n[ A 192.0.2.3\nalias CNAME HOST.Example.\n*.Wild A 192.0.2.4\nMoved DNAME Target\nwww.target A 192.0.2.5",
    )
}

#[test]
fn s3_ascii_letters_match_in_either_case() {
    for name in ["host.example.", "HOST.EXAMPLE.", "hOsT.ExAmPlE."] {
        assert_eq!(server().ask(name, A).answers().len(), 1, "{name}");
    }
}

#[test]
fn s3_2_only_ascii_letters_do() {
    assert_eq!(server().ask("\\193.example.", A).answers().len(), 1);
    server().ask("\\225.example.", A).assert_negative(NXDOMAIN, "example.");
    // `[` and `{` differ by the bit that makes a letter's case.
    assert_eq!(server().ask("[.example.", A).answers().len(), 1);
    server().ask("{.example.", A).assert_negative(NXDOMAIN, "example.");
}

#[test]
fn s4_1_the_question_and_the_owner_that_points_to_it_keep_the_askers_case() {
    let ask = Ask::new("hOsT.eXaMpLe.", A);
    let answer = server().udp(&ask);
    assert_eq!(answer.bytes[12..12 + ask.questions.len()], ask.questions);
    let (at, ..) = records(&answer.bytes)[0];
    assert_eq!(answer.bytes[at..at + 2], [0xc0, 12]);
    assert_eq!(answer.answers(), ["hOsT.eXaMpLe. 600 A 192.0.2.1"]);
}

#[test]
fn s4_1_wildcards_aliases_and_redirections_match_in_any_case_too() {
    assert_eq!(server().ask("X.wILD.example.", A).answers(), ["X.wILD.example. 600 A 192.0.2.4"]);
    assert_eq!(server().ask("ALIAS.example.", A).answers().len(), 2);
    assert_eq!(server().ask("WWW.MOVED.example.", A).answers().len(), 3);
}

#[test]
fn s4_1_a_names_own_letters_in_data_are_kept_and_what_it_shares_with_the_question_has_the_askers() {
    let answer = server().ask("alias.eXample.", CNAME);
    assert_eq!(answer.answers(), ["alias.eXample. 600 CNAME HOST.eXample."]);
}
