//! RFC 2136 (UPDATE), RFC 1996 (NOTIFY), RFC 8490 (DSO): what this server has nothing to do with, it says so.

use crate::ask::{A, Ask, NOTIMP, SOA};
use crate::server::Server;

fn server() -> Server {
    Server::zone("example.", "a A 192.0.2.1")
}

#[test]
fn rfc2136_s2_2_an_update_is_not_implemented_and_its_body_not_read() {
    // Zone section of one SOA question; one record to be added, with a name that points nowhere.
    let mut ask = Ask::new("example.", SOA).opcode(5);
    ask.counts[2] = 1;
    ask.records = vec![0xc0, 0xff, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 9];
    let answer = server().udp(&ask);
    answer.assert_empty(NOTIMP);
    assert_eq!(answer.bytes[2] >> 3 & 15, 5, "the opcode comes back");
    ask.records.truncate(5);
    server().udp(&ask).assert_empty(NOTIMP);
}

#[test]
fn rfc1996_s3_a_notify_is_not_implemented() {
    server().udp(&Ask::new("example.", SOA).opcode(4).flags(0x2400)).assert_empty(NOTIMP);
}

#[test]
fn rfc8490_s5_1_a_stateful_operation_is_not_implemented() {
    // No question; a keepalive TLV behind the header.
    let mut ask = Ask::raw(Vec::new()).opcode(6);
    ask.counts = [0; 4];
    ask.records = vec![0, 1, 0, 8, 0, 0, 0x3a, 0x98, 0, 0, 0x3a, 0x98];
    server().tcp(&ask).assert_empty(NOTIMP);
}

#[test]
fn rfc3425_s3_an_inverse_query_is_not_implemented() {
    server().udp(&Ask::new("a.example.", A).opcode(1)).assert_empty(NOTIMP);
}
