//! RFC 8914, Extended DNS Errors: the few that are given, as a client sees them.

use crate::harness::*;
use crate::options::*;

const EXTENDED: u16 = 15;

fn extended(server: std::net::Ipv4Addr, query: &[u8]) -> (u16, Option<Vec<u8>>) {
    let reply = udp(server, query);
    (reply.rcode(), reply.option(EXTENDED))
}

#[test]
fn s4_each_error_that_has_more_to_say_says_it() {
    let site = Site::new().started();
    let name = query_bytes("www.example.org", 1, None);
    assert_eq!(extended(site.ip, &name), (5, Some(vec![0, 20])), "4.21: not authoritative");
    let transfer = query_bytes("gslb.example.com", 252, None);
    assert_eq!(extended(site.ip, &transfer), (5, Some(vec![0, 18])), "4.19: prohibited");
    let mut status = query_bytes(WWW, 1, None);
    status[2] = 2 << 3;
    assert_eq!(extended(site.ip, &status), (4, Some(vec![0, 21])), "4.22: not supported");
}

#[test]
fn s4_1_a_service_that_is_to_fail_when_no_region_can_serve_says_so_in_words() {
    let mut site = Site::new();
    let config = site.config("", "requires = []\nall_down = \"servfail\"");
    site.write("waypost.toml", &config);
    let drains: String = ["cn", "eu", "us"]
        .map(|region| format!("[[drain]]\nregion = \"{region}\"\nreason = \"test\"\n"))
        .concat();
    site.write("admin.toml", &drains);
    site.start();
    let query = query_bytes(WWW, 1, None);
    wait_until("the drains", LIVE, || extended(site.ip, &query).0 == 2);
    let (_, option) = extended(site.ip, &query);
    assert_eq!(option.as_deref(), Some(&b"\0\0no region can serve"[..]));
}

#[test]
fn s3_answers_and_queries_without_edns_have_none() {
    let site = Site::new().started();
    assert_eq!(extended(site.ip, &query_bytes(WWW, 1, None)), (0, None));
    assert_eq!(extended(site.ip, &query_bytes("nothing.gslb.example.com", 1, None)), (3, None));
    let mut plain = query_bytes("www.example.org", 1, None);
    plain.truncate(plain.len() - 11);
    plain[11] = 0;
    assert_eq!(extended(site.ip, &plain), (5, None));
}
