//! RFC 8020, NXDOMAIN: There Really Is Nothing Underneath.

use crate::ask::{A, ANY, NOERROR, NS, NXDOMAIN, TXT};
use crate::server::Server;

#[test]
fn s2_nxdomain_is_said_only_of_names_with_nothing_below_them() {
    let server = Server::zone("example.", "a.b.c A 192.0.2.1\nd.e NS ns\n*.f.g A 192.0.2.1\nh.i DNAME a");
    for name in ["b.c.example.", "c.example.", "e.example.", "f.g.example.", "g.example.", "i.example."] {
        for qtype in [A, TXT, NS, ANY, 65_280] {
            server.ask(name, qtype).assert_negative(NOERROR, "example.");
        }
    }
    for name in ["x.c.example.", "x.b.c.example.", "x.a.b.c.example.", "x.e.example.", "x.g.example."] {
        server.ask(name, A).assert_negative(NXDOMAIN, "example.");
    }
}

#[test]
fn s2_the_names_above_a_service_exist_too() {
    let server = Server::with_service_at("www.far.down", "example.", "");
    for name in ["down.example.", "far.down.example."] {
        server.ask(name, A).assert_negative(NOERROR, "example.");
    }
    server.ask("x.down.example.", A).assert_negative(NXDOMAIN, "example.");
    server.ask("x.www.far.down.example.", A).assert_negative(NXDOMAIN, "example.");
}

#[test]
fn s2_the_names_above_another_loaded_zone_exist_too() {
    let server = Server::zones(&[("example.", ""), ("a.b.example.", "")]);
    server.ask("b.example.", A).assert_negative(NOERROR, "example.");
}
