//! RFC 6604, xNAME RCODE and Status Bits Clarification.

use crate::ask::{A, NOERROR, NXDOMAIN, REFUSED};
use crate::server::Server;

const TEXT: &str = "to-sub CNAME a.sub
to-no CNAME no
to-out CNAME www.example.org.
sub NS ns.sub
ns.sub A 192.0.2.1
moved DNAME there";

#[test]
fn s2_1_aa_speaks_of_the_first_name_of_the_answer() {
    let server = Server::zone("example.", TEXT);
    for name in ["to-sub.example.", "to-no.example.", "to-out.example.", "x.moved.example."] {
        assert!(server.ask(name, A).aa(), "{name}");
    }
    assert!(!server.ask("a.sub.example.", A).aa());
}

#[test]
fn s3_the_rcode_is_that_of_the_last_name_of_the_chain() {
    let server = Server::zone("example.", TEXT);
    for (name, rcode) in [
        ("to-sub.example.", NOERROR), // a referral
        ("to-no.example.", NXDOMAIN),
        ("x.moved.example.", NXDOMAIN),
        ("to-out.example.", NOERROR), // never REFUSED: the resolver goes on by itself
        ("www.example.org.", REFUSED),
    ] {
        assert_eq!(server.ask(name, A).rcode(), rcode, "{name}");
    }
}
