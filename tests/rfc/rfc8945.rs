//! RFC 8945, Secret Key Transaction Authentication (TSIG): not spoken here, and no reason for silence.

use crate::ask::{A, AXFR, Ask, NOERROR, REFUSED};
use crate::server::Server;

/// A TSIG record of a key that nobody knows.
fn tsig() -> Vec<u8> {
    let data = [b"\x0bhmac-sha256\0".as_slice(), &[0, 0, 0x65, 0, 0, 0, 1, 44, 0, 2, 1, 2, 0, 9, 0, 0, 0, 0]]
        .concat();
    [b"\x03key\0", &[0, 250, 0, 255, 0, 0, 0, 0, 0, data.len() as u8][..], &data].concat()
}

#[test]
fn s5_2_a_signed_query_is_answered_unsigned_as_any_other() {
    let server = Server::zone("example.", "a A 192.0.2.1");
    let answer = server.udp(&Ask::new("a.example.", A).additional(&tsig()));
    assert_eq!((answer.rcode(), answer.answers().len(), answer.additionals().len()), (NOERROR, 1, 0));
    assert!(answer.message.signature.is_none());
    server.tcp(&Ask::new("example.", AXFR).additional(&tsig())).assert_empty(REFUSED);
}
