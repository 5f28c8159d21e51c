//! RFC 7828, The edns-tcp-keepalive EDNS0 Option.

use crate::harness::*;
use crate::options::*;

const KEEPALIVE: u16 = 11;

#[test]
fn s3_2_1_over_udp_the_option_is_ignored_whatever_it_holds() {
    let site = Site::new().started();
    for data in [&[][..], &[0, 100], &[1, 2, 3]] {
        let reply = udp(site.ip, &with_options(&[(KEEPALIVE, data)]));
        assert_eq!((reply.rcode(), reply.has_addresses(), reply.option(KEEPALIVE)), (0, true, None));
    }
}

#[test]
fn s3_3_2_over_tcp_the_answer_tells_how_long_the_connection_may_be_silent() {
    let site = Site::new().started();
    assert_eq!(tcp(site.ip, &with_options(&[(KEEPALIVE, &[])])).option(KEEPALIVE), Some(vec![0, 100]));
    assert_eq!(tcp(site.ip, &with_options(&[])).option(KEEPALIVE), None);
}

#[test]
fn s3_1_a_query_has_no_timeout_to_tell() {
    let site = Site::new().started();
    for data in [&[0, 100][..], &[1], &[0; 3]] {
        let reply = tcp(site.ip, &with_options(&[(KEEPALIVE, data)]));
        assert_eq!(
            (reply.rcode(), reply.has_addresses(), reply.option(KEEPALIVE)),
            (1, false, None),
            "{data:?}"
        );
    }
}
