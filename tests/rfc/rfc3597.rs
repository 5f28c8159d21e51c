//! RFC 3597, Handling of Unknown DNS Resource Record (RR) Types.

use crate::ask::{A, Ask, NOERROR, NXDOMAIN, records};
use crate::server::Server;

fn server() -> Server {
    let text = "a TYPE62347 \\# 6 0a00 0001 ff00\na TYPE731 \\# 0\nb TYPE1 \\# 4 c0000207\nto-a CNAME a";
    Server::zone("example.", text)
}

/// The data of the first record.
fn data(message: &[u8]) -> Vec<u8> {
    let (at, _, owner_len) = records(message)[0];
    let len = usize::from(message[at + owner_len + 9]);
    message[at + owner_len + 10..][..len].to_vec()
}

#[test]
fn s3_data_of_unknown_types_goes_through_as_it_is() {
    let answer = server().ask("a.example.", 62_347);
    assert_eq!((answer.rcode(), data(&answer.bytes)), (NOERROR, vec![0x0a, 0, 0, 1, 0xff, 0]));
    // No data at all: the second decoder takes that for an update, so the bytes speak.
    let bytes = server().bytes(&Ask::new("a.example.", 731));
    assert_eq!((records(&bytes).len(), records(&bytes)[0].1, data(&bytes)), (1, 731, Vec::new()));
}

#[test]
fn s3_an_unknown_type_is_an_ordinary_type_to_the_rest_of_the_rules() {
    for qtype in [127, 1000, 9999, 65_280, 65_534] {
        server().ask("a.example.", qtype).assert_negative(NOERROR, "example.");
        server().ask("no.example.", qtype).assert_negative(NXDOMAIN, "example.");
    }
    assert_eq!(server().ask("to-a.example.", 62_347).answers().len(), 2, "an alias leads to it");
}

#[test]
fn s4_no_name_inside_unknown_data_is_compressed() {
    // What looks like the zone's own name stays what it is.
    let server = Server::zone("example.", "a TYPE62347 \\# 9 076578616d706c6500");
    assert_eq!(data(&server.ask("a.example.", 62_347).bytes), b"\x07example\0");
}

#[test]
fn s5_a_known_type_may_be_written_in_the_unknown_ones_form() {
    assert_eq!(server().ask("b.example.", A).answers(), ["b.example. 600 A 192.0.2.7"]);
}

#[test]
fn s5_a_length_that_is_not_that_of_the_data_is_refused() {
    assert!(!Server::refusal("example.", "a TYPE62347 \\# 3 0a00").is_empty());
}
