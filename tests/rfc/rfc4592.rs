//! RFC 4592, The Role of Wildcards in the Domain Name System.

use crate::ask::{A, Ask, CNAME, MX, NOERROR, NXDOMAIN, SRV, TXT};
use crate::server::Server;

/// The zone of section 2.2.1.
const ZONE: &str = "@ 3600 SOA ns.example.com. hostmaster 1 7200 900 1209600 300
@ 3600 NS ns.example.com.
@ 3600 NS ns.example.net.
* 3600 TXT \"this is a wildcard\"
* 3600 MX 10 host1
sub.* 3600 TXT \"this is not a wildcard\"
host1 3600 A 192.0.2.1
_ssh._tcp.host1 3600 SRV 0 0 22 host1
_ssh._tcp.host2 3600 SRV 0 0 22 host1
subdel 3600 NS ns.example.com.
subdel 3600 NS ns.example.net.";

fn server() -> Server {
    Server::bare("example.", ZONE)
}

#[test]
fn s2_1_1_only_a_leftmost_label_of_one_asterisk_makes_a_wildcard() {
    let server = Server::zone(
        "example.",
        "a.*.mid A 192.0.2.1\n** TXT \"two\"\nx* TXT \"a letter\"\n*.w TXT \"wild\"",
    );
    server.ask("a.x.mid.example.", A).assert_negative(NOERROR, "example."); // below an empty wildcard, see 4.9
    server.ask("b.example.", TXT).assert_negative(NXDOMAIN, "example.");
    assert_eq!(
        server.ask("**.example.", TXT).answers(),
        ["*\\*.example. 600 TXT two"],
        "as the decoder writes it"
    );
    assert_eq!(server.ask("x*.example.", TXT).answers(), ["x\\*.example. 600 TXT a letter"]);
}

#[test]
fn s2_2_1_what_the_wildcard_answers() {
    assert_eq!(server().ask("host3.example.", MX).answers(), ["host3.example. 3600 MX 10 host1.example."]);
    server().ask("host3.example.", A).assert_negative(NOERROR, "example.");
    assert_eq!(
        server().ask("foo.bar.example.", TXT).answers(),
        ["foo.bar.example. 3600 TXT this is a wildcard"]
    );
}

#[test]
fn s2_2_1_what_the_wildcard_does_not_answer() {
    server().ask("host1.example.", MX).assert_negative(NOERROR, "example."); // the name exists
    server().ask("sub.*.example.", MX).assert_negative(NOERROR, "example."); // so does this
    server().ask("_telnet._tcp.host1.example.", SRV).assert_negative(NXDOMAIN, "example."); // and what is above
    let referral = server().ask("host.subdel.example.", A); // below a cut
    assert_eq!((referral.aa(), referral.answers().len(), referral.authorities().len()), (false, 0, 2));
    server().ask("ghost.*.example.", MX).assert_negative(NXDOMAIN, "example."); // `*.example.` exists
}

#[test]
fn s2_2_2_an_empty_non_terminal_exists_and_stops_the_wildcard() {
    for name in ["_tcp.host1.example.", "_tcp.host2.example.", "host2.example."] {
        server().ask(name, TXT).assert_negative(NOERROR, "example.");
    }
}

#[test]
fn s2_2_3_the_wildcards_own_name_is_a_name_like_any_other() {
    assert_eq!(server().ask("*.example.", TXT).answers(), ["*.example. 3600 TXT this is a wildcard"]);
    server().ask("*.example.", A).assert_negative(NOERROR, "example.");
    assert_eq!(
        server().ask("sub.*.example.", TXT).answers(),
        ["sub.*.example. 3600 TXT this is not a wildcard"]
    );
}

/// The names of the section's table, each with its source of synthesis.
#[test]
fn s3_3_1_closest_encloser_and_source_of_synthesis() {
    for (name, is_synthesized) in [
        ("host3.example.", true),
        ("_telnet._tcp.host1.example.", false), // closest encloser _tcp.host1.example.
        ("_dns._udp.host2.example.", false),    // closest encloser host2.example.
        ("_telnet._tcp.host3.example.", true),
        ("_chat._udp.host3.example.", true),
        ("foobar.*.example.", false), // closest encloser *.example.
    ] {
        let answer = server().ask(name, TXT);
        if is_synthesized {
            assert_eq!(answer.answers(), [format!("{name} 3600 TXT this is a wildcard")]);
        } else {
            answer.assert_negative(NXDOMAIN, "example.");
        }
    }
}

#[test]
fn s3_3_2_the_synthesized_owner_is_the_name_that_was_asked() {
    let answer = server().udp(&Ask::new("A.b.C.example.", TXT));
    assert_eq!(answer.answers(), ["A.b.C.example. 3600 TXT this is a wildcard"]);
}

#[test]
fn s3_3_3_the_nearest_wildcard_is_the_source_and_none_above_it_helps() {
    let server =
        Server::zone("example.", "* TXT \"far\"\n*.a TXT \"near\"\nb.a A 192.0.2.1\nc.d A 192.0.2.1");
    assert_eq!(server.ask("x.a.example.", TXT).answers(), ["x.a.example. 600 TXT near"]);
    server.ask("x.a.example.", A).assert_negative(NOERROR, "example.");
    server.ask("x.b.a.example.", TXT).assert_negative(NXDOMAIN, "example.");
    server.ask("x.d.example.", TXT).assert_negative(NXDOMAIN, "example.");
}

#[test]
fn s4_2_ns_at_a_wildcard_is_refused_when_the_zone_is_read() {
    assert!(Server::refusal("example.", "*.a NS ns").contains("NS at the wildcard"));
}

#[test]
fn s4_3_an_alias_at_a_wildcard_is_synthesized_and_followed() {
    let server = Server::zone("example.", "*.a CNAME host\nhost A 192.0.2.1\n*.loop CNAME x.loop");
    assert_eq!(
        server.ask("x.a.example.", A).answers(),
        ["x.a.example. 600 CNAME host.example.", "host.example. 600 A 192.0.2.1"]
    );
    assert_eq!(server.ask("x.a.example.", CNAME).answers().len(), 1);
    let answer = server.ask("y.loop.example.", A);
    assert_eq!(answer.rcode(), NOERROR, "an alias that leads into its own wildcard ends");
    assert_eq!(
        answer.answers(),
        ["y.loop.example. 600 CNAME x.loop.example.", "x.loop.example. 600 CNAME x.loop.example."]
    );
}

#[test]
fn s4_4_dname_at_a_wildcard_is_refused_when_the_zone_is_read() {
    assert!(Server::refusal("example.", "*.a DNAME host").contains("DNAME at the wildcard"));
}

#[test]
fn s4_5_srv_at_a_wildcard_is_synthesized_under_underscored_names() {
    let server = Server::zone("example.", "*.a SRV 0 0 443 host\nhost A 192.0.2.1");
    let answer = server.ask("_https._tcp.a.example.", SRV);
    assert_eq!(answer.answers(), ["_https._tcp.a.example. 600 SRV 0 0 443 host.example."]);
    assert_eq!(answer.additionals(), ["host.example. 600 A 192.0.2.1"]);
}

#[test]
fn s4_9_an_empty_non_terminal_may_be_a_wildcard() {
    // `*.a` has nothing itself, but a name below it: what it stands in for exists and is empty.
    let server = Server::zone("example.", "x.*.a TXT \"below\"");
    server.ask("y.a.example.", TXT).assert_negative(NOERROR, "example.");
    server.ask("x.y.a.example.", TXT).assert_negative(NOERROR, "example.");
}
