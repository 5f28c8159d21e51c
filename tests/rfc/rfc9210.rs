//! RFC 9210, DNS Transport over TCP: Operational Requirements; over real sockets.

use std::time::Duration;

use crate::ask::{A, Ask, NOERROR};
use crate::harness::SOON;
use crate::live::{Tcp, site, udp};

#[test]
fn s3_every_answer_is_to_be_had_over_both_transports() {
    let site = site();
    for name in ["a.example.", "no.example.", "elsewhere."] {
        let ask = Ask::new(name, A).edns(1232);
        assert_eq!(udp(site.ip, &ask).bytes, Tcp::connect(site.ip).ask(&ask).bytes, "{name}");
    }
}

#[test]
fn s4_2_a_silent_connection_is_closed_and_others_are_served_meanwhile() {
    let mut site = site();
    site.stop();
    let config = site.read("waypost.toml").replace("[admin]", "tcp = { idle = \"1s\" }\n[admin]");
    site.write("waypost.toml", &config);
    site.start();
    let mut silent = Tcp::connect(site.ip);
    assert_eq!(Tcp::connect(site.ip).ask(&Ask::new("a.example.", A)).rcode(), NOERROR);
    assert!(silent.is_closed_within(SOON));
}

#[test]
fn s4_1_a_message_that_can_not_be_one_closes_the_connection() {
    let site = site();
    let mut tcp = Tcp::connect(site.ip);
    tcp.send_raw(&[0, 3, 1, 2, 3]);
    assert!(tcp.is_closed_within(Duration::from_secs(5)), "shorter than a header");
}
