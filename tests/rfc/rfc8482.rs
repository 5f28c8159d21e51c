//! RFC 8482, Providing Minimal-Sized Responses to DNS Queries That Have QTYPE=ANY.

use crate::ask::{ANY, Ask, NOERROR, NXDOMAIN, REFUSED};
use crate::server::Server;

const TEXT: &str = "a A 192.0.2.1\na TXT \"x\"\nalias CNAME a\n*.w TXT \"wild\"\nb.ent A 192.0.2.1\nsub NS ns.sub\nns.sub A 192.0.2.1";

fn server() -> Server {
    Server::zone("example.", TEXT)
}

#[test]
fn s4_2_any_is_answered_with_one_synthesized_hinfo() {
    for name in ["a.example.", "example.", "x.w.example.", "alias.example."] {
        let answer = server().ask(name, ANY);
        assert_eq!(answer.answers(), [format!("{name} 3600 HINFO RFC8482 ")], "{name}");
        assert_eq!((answer.rcode(), answer.aa(), answer.authorities().len()), (NOERROR, true, 0));
    }
}

#[test]
fn s4_2_a_service_is_answered_likewise() {
    assert_eq!(Server::with_service("example.", "").ask("www.example.", ANY).answers().len(), 1);
}

#[test]
fn s4_2_what_does_not_exist_or_is_not_here_is_answered_as_ever() {
    server().ask("no.example.", ANY).assert_negative(NXDOMAIN, "example.");
    server().ask("ent.example.", ANY).assert_negative(NOERROR, "example.");
    assert_eq!(server().ask("sub.example.", ANY).authorities().len(), 1);
    server().ask("elsewhere.", ANY).assert_empty(REFUSED);
}

#[test]
fn s4_4_over_tcp_it_is_the_same() {
    assert_eq!(
        server().tcp(&Ask::new("a.example.", ANY)).answers(),
        server().ask("a.example.", ANY).answers()
    );
}
