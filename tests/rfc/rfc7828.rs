//! RFC 7828, The edns-tcp-keepalive EDNS0 Option.

use crate::ask::{A, Ask, NOERROR};
use crate::server::Server;

const OPTION: u16 = 11;

fn server() -> Server {
    Server::zone("example.", "a A 192.0.2.1")
}

#[test]
fn s3_3_1_over_udp_the_option_is_ignored() {
    let answer = server().udp(&Ask::new("a.example.", A).option(OPTION, &[]));
    assert_eq!((answer.rcode(), answer.answers().len(), answer.option(OPTION)), (NOERROR, 1, None));
}

#[test]
fn s3_3_2_over_tcp_the_server_tells_how_long_it_waits_in_tenths_of_a_second() {
    let answer = server().tcp(&Ask::new("a.example.", A).option(OPTION, &[]));
    assert_eq!(answer.option(OPTION).unwrap(), 100_u16.to_be_bytes());
}

#[test]
fn s3_3_2_it_is_told_to_those_alone_that_ask() {
    assert_eq!(server().tcp(&Ask::new("a.example.", A).edns(1232)).option(OPTION), None);
}
