//! RFC 8482, Providing Minimal-Sized Responses to DNS Queries That Have QTYPE=ANY.

use crate::ask::{ANY, Ask, NOERROR, NXDOMAIN, REFUSED};
use crate::server::Server;

const TEXT: &str = "a A 192.0.2.1\na TXT \"x\"\nalias CNAME a\nalias2 CNAME alias\nloop CNAME loop\n\
    out CNAME elsewhere.test.\nd DNAME t\nx.t CNAME a\ny.t A 192.0.2.1\n*.w TXT \"wild\"\n*.wa CNAME a\nb.ent A 192.0.2.1\n\
    sub NS ns.sub\nns.sub A 192.0.2.1";

fn server() -> Server {
    Server::zone("example.", TEXT)
}

#[test]
fn s4_2_any_is_answered_with_one_synthesized_hinfo() {
    for name in ["a.example.", "example.", "x.w.example.", "d.example."] {
        let answer = server().ask(name, ANY);
        assert_eq!(answer.answers(), [format!("{name} 3600 HINFO RFC8482 ")], "{name}");
        assert_eq!((answer.rcode(), answer.aa(), answer.authorities().len()), (NOERROR, true, 0));
    }
}

#[test]
fn s4_1_an_alias_is_given_as_it_is_and_not_followed() {
    let aliases = [
        ("alias", "a.example."),
        ("alias2", "alias.example."),
        ("loop", "loop.example."),
        ("out", "elsewhere.test."),
        ("x.wa", "a.example."),
    ];
    for (name, target) in aliases {
        let name = format!("{name}.example.");
        let answer = server().ask(&name, ANY);
        assert_eq!(answer.answers(), [format!("{name} 600 CNAME {target}")]);
        assert_eq!((answer.rcode(), answer.aa(), answer.authorities().len()), (NOERROR, true, 0));
        assert_eq!(answer.additionals().len(), 0);
    }
}

#[test]
fn s4_1_below_a_dname_the_name_that_it_leads_to_is_answered() {
    let below = |name: &str| {
        let answers = server().ask(&format!("{name}.d.example."), ANY).answers();
        assert_eq!(answers[0], "d.example. 600 DNAME t.example.");
        assert_eq!(answers[1], format!("{name}.d.example. 600 CNAME {name}.t.example."));
        answers[2..].to_vec()
    };
    assert_eq!(below("x"), ["x.t.example. 600 CNAME a.example."]);
    assert_eq!(below("y"), ["y.t.example. 3600 HINFO RFC8482 "]);
}

#[test]
fn s4_2_a_service_is_answered_likewise() {
    let answer = Server::with_service("example.", "").ask("www.example.", ANY);
    assert_eq!(answer.answers(), ["www.example. 3600 HINFO RFC8482 "]);
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
    for name in ["a.example.", "alias.example."] {
        assert_eq!(server().tcp(&Ask::new(name, ANY)).answers(), server().ask(name, ANY).answers());
    }
}
