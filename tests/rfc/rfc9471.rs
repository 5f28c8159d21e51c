//! RFC 9471, DNS Glue Requirements in Referral Responses.

use crate::ask::{A, Answer, Ask, NOERROR};
use crate::server::Server;

/// The additional section, in a fixed order.
fn glue(answer: &Answer) -> Vec<String> {
    let mut glue = answer.additionals();
    glue.sort();
    glue
}

#[test]
fn s2_1_name_servers_inside_the_delegated_zone_come_with_their_addresses() {
    let server = Server::zone(
        "test.",
        "foo NS ns1.foo\nfoo NS ns2.foo\nns1.foo A 192.0.2.1\nns2.foo AAAA 2001:db8::2:2",
    );
    let answer = server.ask("www.foo.test.", A);
    assert_eq!(
        (answer.rcode(), answer.aa(), answer.tc(), answer.answers().len()),
        (NOERROR, false, false, 0)
    );
    assert_eq!(answer.authorities(), ["foo.test. 600 NS ns1.foo.test.", "foo.test. 600 NS ns2.foo.test."]);
    assert_eq!(glue(&answer), ["ns1.foo.test. 600 A 192.0.2.1", "ns2.foo.test. 600 AAAA 2001:db8::2:2"]);
}

#[test]
fn s2_2_name_servers_in_a_sibling_zone_come_with_theirs_too() {
    let server = Server::zone(
        "test.",
        "foo NS ns1.bar\nbar NS ns1.bar\nns1.bar A 192.0.2.1\nns1.bar AAAA 2001:db8::1",
    );
    let expected = ["ns1.bar.test. 600 A 192.0.2.1", "ns1.bar.test. 600 AAAA 2001:db8::1"];
    assert_eq!(glue(&server.ask("www.foo.test.", A)), expected);
}

#[test]
fn s2_3_two_zones_that_need_each_others_name_servers_can_be_found() {
    let text = "bar NS ns1.foo\nfoo NS ns1.bar\nns1.foo A 192.0.2.1\nns1.bar A 192.0.2.2";
    let server = Server::zone("test.", text);
    assert_eq!(glue(&server.ask("www.foo.test.", A)), ["ns1.bar.test. 600 A 192.0.2.2"]);
    assert_eq!(glue(&server.ask("www.bar.test.", A)), ["ns1.foo.test. 600 A 192.0.2.1"]);
}

#[test]
fn s2_4_missing_glue_makes_no_error() {
    let answer = Server::zone("test.", "foo NS ns1.foo\nfoo NS ns.elsewhere.").ask("www.foo.test.", A);
    assert_eq!((answer.tc(), answer.authorities().len(), answer.additionals().len()), (false, 2, 0));
}

/// A delegation to thirteen servers below `place`, each with addresses of both families.
fn thirteen(place: &str) -> Server {
    let text: String = (0..13)
        .map(|n| format!("foo NS long-name-of-server-{n:0>20}{place}\nlong-name-of-server-{n:0>20}{place} A 192.0.2.{n}\nlong-name-of-server-{n:0>20}{place} AAAA 2001:db8::{n}\n"))
        .collect();
    Server::zone("test.", &format!("{text}bar NS ns.bar\nns.bar A 192.0.2.99"))
}

#[test]
fn s3_1_glue_inside_the_zone_that_does_not_fit_sets_tc() {
    let server = thirteen(".foo");
    let ask = Ask::new("www.foo.test.", A);
    let cut = server.udp(&ask.clone().edns(1232));
    assert!(cut.tc() && cut.bytes.len() <= 1232);
    let whole = server.tcp(&ask);
    assert_eq!((whole.tc(), whole.authorities().len(), whole.additionals().len()), (false, 13, 26));
}

#[test]
fn s3_2_glue_of_a_sibling_that_does_not_fit_does_not() {
    let answer = thirteen(".bar").udp(&Ask::new("www.foo.test.", A).edns(1232));
    assert_eq!((answer.tc(), answer.authorities().len()), (false, 13));
    assert!(answer.additionals().len() < 26);
}
