//! RFC 7766, DNS Transport over TCP: Implementation Requirements; over real sockets.

use std::collections::BTreeSet;

use crate::ask::{A, Ask, NOERROR, NXDOMAIN, TXT};
use crate::live::{Tcp, framed, site, udp};

#[test]
fn s5_tcp_is_served_and_has_what_did_not_fit_a_datagram() {
    let site = site();
    let ask = Ask::new("big.example.", TXT).edns(1232);
    assert!(udp(site.ip, &ask).tc());
    let answer = Tcp::connect(site.ip).ask(&ask);
    assert_eq!((answer.tc(), answer.rcode(), answer.answers().len()), (false, NOERROR, 60));
}

#[test]
fn s6_2_1_a_connection_serves_one_query_after_the_other() {
    let site = site();
    let mut tcp = Tcp::connect(site.ip);
    for (name, rcode) in [("a.example.", NOERROR), ("no.example.", NXDOMAIN), ("a.example.", NOERROR)] {
        assert_eq!(tcp.ask(&Ask::new(name, A)).rcode(), rcode);
    }
}

#[test]
fn s6_2_1_1_pipelined_queries_are_all_answered_each_with_its_id() {
    let site = site();
    let mut tcp = Tcp::connect(site.ip);
    let all: Vec<u8> = (0..100).flat_map(|id| framed(&Ask { id, ..Ask::new("a.example.", A) })).collect();
    tcp.send_raw(&all);
    let ids: BTreeSet<u16> = (0..100)
        .map(|_| {
            let answer = tcp.receive();
            assert_eq!(answer.answers().len(), 1);
            u16::from_be_bytes([answer.bytes[0], answer.bytes[1]])
        })
        .collect();
    assert_eq!(ids, (0..100).collect());
}

#[test]
fn s6_2_4_a_client_that_closes_its_side_still_gets_its_answers() {
    let site = site();
    let mut tcp = Tcp::connect(site.ip);
    for id in 0..10 {
        tcp.send(&Ask { id, ..Ask::new("a.example.", A) });
    }
    tcp.half_close();
    (0..10).for_each(|_| assert_eq!(tcp.receive().rcode(), NOERROR));
}

#[test]
fn s8_length_and_message_may_come_in_any_pieces() {
    let site = site();
    let mut tcp = Tcp::connect(site.ip);
    for byte in framed(&Ask::new("a.example.", A)) {
        tcp.send_raw(&[byte]);
    }
    assert_eq!(tcp.receive().answers().len(), 1);
    let two = [framed(&Ask::new("a.example.", A)), framed(&Ask::new("no.example.", A))].concat();
    let (head, tail) = two.split_at(30);
    tcp.send_raw(head);
    tcp.send_raw(tail);
    assert_eq!((tcp.receive().rcode(), tcp.receive().rcode()), (NOERROR, NXDOMAIN));
}
