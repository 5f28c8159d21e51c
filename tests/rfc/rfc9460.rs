//! RFC 9460, Service Binding and Parameter Specification via the DNS (SVCB and HTTPS Resource Records).

use crate::ask::{A, Answer, HTTPS, NOERROR, NXDOMAIN, SVCB, records};
use crate::server::Server;

const TEXT: &str = "a HTTPS 1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1
a A 192.0.2.1
alias HTTPS 0 a
alias A 192.0.2.2
_8443._https.a HTTPS 2 a key65400=x
_dns.ns SVCB 1 ns alpn=dot
chain CNAME a";

fn server() -> Server {
    Server::zone("example.", TEXT)
}

/// The data of the first record.
fn data(answer: &Answer) -> Vec<u8> {
    let (at, _, owner_len) = records(&answer.bytes)[0];
    let start = at + owner_len + 10;
    let len = u16::from_be_bytes([answer.bytes[start - 2], answer.bytes[start - 1]]);
    answer.bytes[start..start + usize::from(len)].to_vec()
}

#[test]
fn s2_2_service_mode_has_its_parameters_in_ascending_order_and_an_uncompressed_target() {
    let expected = [
        &[0, 1, 0][..],                              // priority 1, the owner itself
        &[0, 1, 0, 6, 2, b'h', b'2', 2, b'h', b'3'], // alpn
        &[0, 3, 0, 2, 0x20, 0xfb],                   // port
        &[0, 4, 0, 4, 192, 0, 2, 1],                 // ipv4hint
    ];
    assert_eq!(data(&server().ask("a.example.", HTTPS)), expected.concat());
}

#[test]
fn s2_3_names_with_a_port_prefix_are_names_like_others() {
    let answer = server().ask("_8443._https.a.example.", HTTPS);
    assert_eq!((answer.rcode(), answer.answers().len()), (NOERROR, 1));
    server().ask("_8444._https.a.example.", HTTPS).assert_negative(NXDOMAIN, "example.");
    assert_eq!(server().ask("_dns.ns.example.", SVCB).answers().len(), 1);
}

#[test]
fn s2_4_2_alias_mode_is_answered_as_it_stands_and_not_followed() {
    let answer = server().ask("alias.example.", HTTPS);
    assert_eq!(data(&answer), [&[0, 0][..], b"\x01a\x07example\0"].concat());
    assert_eq!(answer.answers().len(), 1);
}

#[test]
fn s2_4_2_alias_mode_leaves_the_names_other_types_alone() {
    assert_eq!(server().ask("alias.example.", A).answers(), ["alias.example. 600 A 192.0.2.2"]);
}

#[test]
fn s2_4_a_cname_leads_to_the_https_record() {
    assert_eq!(server().ask("chain.example.", HTTPS).answers().len(), 2);
}

#[test]
fn s3_a_name_without_https_is_no_data_at_once() {
    server().ask("ns.example.", HTTPS).assert_negative(NOERROR, "example.");
    Server::with_service("example.", "").ask("www.example.", HTTPS).assert_negative(NOERROR, "example.");
}

#[test]
fn s4_1_the_targets_addresses_come_along_when_they_are_here() {
    let answer = server().ask("alias.example.", HTTPS);
    assert_eq!(answer.additionals().len(), 2, "an alias brings its target's own HTTPS record too");
    assert_eq!(answer.additionals().last().map(String::as_str), Some("a.example. 600 A 192.0.2.1"));
    let answer = server().ask("_8443._https.a.example.", HTTPS);
    assert_eq!(answer.additionals(), ["a.example. 600 A 192.0.2.1"], "parameters behind the target");
}

#[test]
fn s4_1_no_addresses_come_along_of_the_root_or_of_what_is_delegated() {
    let text = "a HTTPS 1 . alpn=h2\nb HTTPS 0 .\nc HTTPS 1 x.sub\nsub NS ns\nx.sub A 192.0.2.1\nd HTTPS 1 x.example.org.";
    let server = Server::zone("example.", text);
    for name in ["a.example.", "b.example.", "c.example.", "d.example."] {
        let answer = server.ask(name, HTTPS);
        assert_eq!((answer.answers().len(), answer.additionals().len()), (1, 0), "{name}");
    }
}
