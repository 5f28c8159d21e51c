//! RFC 9619, In the DNS, QDCOUNT Is (Usually) One.

use crate::ask::{A, AAAA, Ask, FORMERR, NOERROR};
use crate::server::Server;

#[test]
fn s4_a_query_with_more_than_one_question_is_malformed() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    let questions = [Ask::new("a.example.", A).questions, Ask::new("a.example.", AAAA).questions].concat();
    for (count, raw) in [(2, questions.clone()), (3, questions.repeat(2)), (65_535, questions)] {
        let ask = Ask { counts: [count, 0, 0, 0], ..Ask::raw(raw) };
        let answer = server.udp(&ask);
        answer.assert_empty(FORMERR);
        assert_eq!(answer.bytes[4..6], [0, 0], "no question is told from another");
    }
}

#[test]
fn s4_a_query_without_a_question_is_malformed_here() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    let ask = Ask { counts: [0; 4], ..Ask::raw(Vec::new()) };
    server.udp(&ask).assert_empty(FORMERR);
    assert_eq!(server.udp(&ask.edns(1232)).rcode(), FORMERR);
}

#[test]
fn s4_one_question_is_a_query() {
    assert_eq!(Server::zone("example.", "a A 192.0.2.1").ask("a.example.", A).rcode(), NOERROR);
}
