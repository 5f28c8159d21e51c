//! RFC 3225, Indicating Resolver Support of DNSSEC.

use crate::ask::{A, Ask, DO, NOERROR};
use crate::server::Server;

#[test]
fn s3_the_do_bit_is_copied_and_the_answer_of_an_unsigned_zone_is_the_same() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    let with = server.udp(&Ask::new("a.example.", A).edns_as(0, DO));
    let without = server.udp(&Ask::new("a.example.", A).edns_as(0, 0));
    assert_eq!((with.opt().unwrap().flags, without.opt().unwrap().flags), (DO, 0));
    assert_eq!(
        (with.rcode(), with.answers(), with.authorities()),
        (NOERROR, without.answers(), without.authorities())
    );
}
