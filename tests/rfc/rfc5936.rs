//! RFC 5936, DNS Zone Transfer Protocol, and RFC 1995, Incremental Zone Transfer: this server gives no zone away.

use crate::ask::{AXFR, Ask, IXFR, REFUSED};
use crate::server::Server;

/// The asker's SOA record, as an IXFR query has it in its authority section.
fn ixfr() -> Ask {
    let mut ask = Ask::new("example.", IXFR);
    ask.counts[2] = 1;
    ask.records = [&[0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 0, 0, 22, 0, 0][..], &[0; 20]].concat();
    ask
}

#[test]
fn s2_2_a_transfer_that_policy_forbids_is_refused_over_tcp() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    for name in ["example.", "a.example.", "no.example.", "elsewhere."] {
        server.tcp(&Ask::new(name, AXFR)).assert_empty(REFUSED);
    }
}

#[test]
fn s4_2_over_udp_there_is_none_either() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    server.udp(&Ask::new("example.", AXFR)).assert_empty(REFUSED);
}

#[test]
fn rfc1995_s2_an_incremental_transfer_is_refused_over_both() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    server.udp(&ixfr()).assert_empty(REFUSED);
    server.tcp(&ixfr()).assert_empty(REFUSED);
}
