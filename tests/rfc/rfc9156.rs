//! RFC 9156, DNS Query Name Minimisation: what a minimising resolver asks on its way down.

use crate::ask::{A, NOERROR, NS, NXDOMAIN};
use crate::server::Server;

#[test]
fn s2_3_every_name_on_the_way_to_a_name_that_exists_is_noerror() {
    let server = Server::zone("example.", "_ldap._tcp.dc._msdcs A 192.0.2.1");
    for name in
        ["_msdcs.example.", "dc._msdcs.example.", "_tcp.dc._msdcs.example.", "_ldap._tcp.dc._msdcs.example."]
    {
        server.ask(name, NS).assert_negative(NOERROR, "example.");
    }
    server.ask("_tcp.example.", A).assert_negative(NXDOMAIN, "example.");
}

#[test]
fn s2_3_names_under_a_wildcard_exist_on_every_level() {
    let server = Server::zone("example.", "*.w A 192.0.2.1");
    for name in ["w.example.", "c.w.example.", "b.c.w.example.", "a.b.c.w.example."] {
        server.ask(name, NS).assert_negative(NOERROR, "example.");
    }
}

#[test]
fn s2_3_a_cut_and_an_apex_answer_ns() {
    let server = Server::zone("example.", "sub NS ns.sub\nns.sub A 192.0.2.1");
    assert_eq!(server.ask("example.", NS).answers().len(), 1);
    assert_eq!(server.ask("sub.example.", NS).authorities().len(), 1);
}
