//! RFC 1035, Domain Names: Implementation and Specification.

use crate::ask::{
    A, AA, AD, Answer, Ask, CD, CNAME, FORMERR, MX, NOERROR, NOTIMP, NXDOMAIN, PTR, RA, RD, TC, TXT, Z,
    records,
};
use crate::server::Server;

const MINFO: u16 = 14;

fn server() -> Server {
    let texts: String = (0..20).map(|number| format!("big TXT \"{number:0>60}\"\n")).collect();
    Server::zone("example.", &format!("a A 192.0.2.1\n{texts}"))
}

/// A name of `len` octets in wire form below the zone.
fn name_of(len: usize) -> Vec<u8> {
    let zone = b"\x07example\0";
    let mut name = Vec::new();
    while name.len() + zone.len() < len {
        let label = (len - zone.len() - name.len() - 1).min(63);
        name.push(label as u8);
        name.extend(vec![b'x'; label]);
    }
    [&name, &zone[..]].concat()
}

#[test]
fn s2_3_4_labels_of_63_and_names_of_255_octets_are_names_and_longer_ones_are_not() {
    let ask = |name: Vec<u8>| server().udp(&Ask::raw([name, vec![0, 1, 0, 1]].concat()));
    let longest = name_of(255);
    assert_eq!(longest.len(), 255);
    ask(longest).assert_negative(NXDOMAIN, "example.");
    ask(name_of(256)).assert_empty(FORMERR);
    let label = |len: u8| [&[len][..], &vec![b'x'; len.into()], b"\x07example\0"].concat();
    ask(label(63)).assert_negative(NXDOMAIN, "example.");
    ask(label(64)).assert_empty(FORMERR);
}

#[test]
fn s4_1_1_id_opcode_and_rd_come_back_and_every_other_bit_is_the_servers_own() {
    for id in [0, 1, 0x8000, 0xffff] {
        let ask = Ask { id, ..Ask::new("a.example.", A).flags(AA | TC | RD | RA | Z | AD | CD | 0x000f) };
        let answer = server().udp(&ask);
        assert_eq!(answer.bytes[..4], [&id.to_be_bytes()[..], &[0x85, 0x10]].concat(), "QR AA RD, CD");
    }
}

#[test]
fn s4_1_1_the_counts_say_what_there_is() {
    let answer = server().ask("a.example.", A);
    assert_eq!(answer.bytes[4..12], [0, 1, 0, 1, 0, 0, 0, 1], "a question, an answer, an OPT record");
    assert_eq!(records(&answer.bytes).len(), 2);
}

#[test]
fn s4_1_1_what_is_no_query_is_not_implemented() {
    for opcode in 1..=15 {
        server().udp(&Ask::new("a.example.", A).opcode(opcode)).assert_empty(NOTIMP);
    }
}

#[test]
fn s4_1_2_the_question_comes_back_as_it_was() {
    for (name, qtype) in [("a.example.", A), ("no.example.", MX), ("elsewhere.", TXT)] {
        let ask = Ask::new(name, qtype);
        assert_eq!(server().udp(&ask).bytes[12..12 + ask.questions.len()], ask.questions);
    }
}

#[test]
fn s4_1_4_repeated_names_are_pointers_backwards() {
    let answer = server().ask("a.example.", A);
    let (at, _, owner_len) = records(&answer.bytes)[0];
    assert_eq!((owner_len, &answer.bytes[at..at + 2]), (2, &[0xc0, 12][..]));
}

/// What data of the first record takes, in bytes.
fn data_len(answer: &Answer) -> u8 {
    let (at, _, owner_len) = records(&answer.bytes)[0];
    answer.bytes[at + owner_len + 9]
}

#[test]
fn s4_1_4_names_in_data_point_to_what_they_share_with_the_question() {
    let text = "x MX 5 mail\nx PTR host.other.\nx MINFO a b.example.\n*.w MX 5 mail.w\nto CNAME host\nup CNAME @\n\
                host A 192.0.2.1";
    let server = Server::zone("example.", text);
    for (name, qtype, len, data) in [
        ("x.example.", MX, 9, "MX 5 mail.example."),
        ("x.example.", PTR, 12, "PTR host.other."),
        ("any.w.example.", MX, 9, "MX 5 mail.w.example."),
        ("to.example.", CNAME, 7, "CNAME host.example."),
        ("up.example.", CNAME, 2, "CNAME example."),
    ] {
        let answer = server.ask(name, qtype);
        assert_eq!(data_len(&answer), len, "{data}");
        assert_eq!(answer.answers(), [format!("{name} 600 {data}")]);
    }
    assert_eq!(data_len(&server.ask("x.example.", MINFO)), 8);
}

#[test]
fn s4_1_4_a_chain_of_aliases_points_to_names_that_are_pointers_in_part_themselves() {
    let text = "a CNAME b.b\nb.b CNAME c.B\nc.b CNAME b\nb CNAME x.d\nd DNAME e.b\nx.e.b CNAME @\n@ MX 5 m.e.b\n\
                m.e.b A 192.0.2.1\nloop.b CNAME Loop.c\nloop.c CNAME lOOp.b";
    let server = Server::zone("example.", text);
    let answer = server.ask("A.Example.", MX);
    assert_eq!(
        answer.answers().iter().filter(|record| !record.contains("DNAME")).collect::<Vec<_>>(),
        [
            "A.Example. 600 CNAME b.b.Example.",
            "b.b.Example. 600 CNAME c.b.Example.",
            "c.b.Example. 600 CNAME b.Example.",
            "b.Example. 600 CNAME x.d.Example.",
            "x.d.Example. 600 CNAME x.e.b.example.",
            "x.e.b.example. 600 CNAME example.",
            "example. 600 MX 5 m.e.b.example.",
        ]
    );
    assert_eq!(answer.additionals(), ["m.e.b.example. 600 A 192.0.2.1"]);
    assert_eq!(server.ask("loop.b.example.", A).answers().len(), 2, "a loop is seen through pointers");
    let below = server.ask("a.example.", TXT);
    below.assert_soa("example.");
}

#[test]
fn s4_1_4_beyond_the_reach_of_pointers_names_stand_in_full() {
    let text: String = (0..1300).map(|n| format!("many MX {n} mail-server-{n}.of.other{n}.\n")).collect();
    let answer = Server::zone("example.", &text).tcp(&Ask::new("many.example.", MX));
    assert!(answer.bytes.len() > 2 * 0x4000);
    let answers = answer.answers();
    assert_eq!(answers.len(), 1300);
    assert_eq!(answers[1299], "many.example. 600 MX 1299 mail-server-1299.of.other1299.");
}

#[test]
fn s4_1_4_a_compressed_or_reserved_label_in_the_question_is_malformed() {
    for name in [&[0xc0, 12][..], &[1, b'a', 0xc0, 12], &[0x40, 1, b'a', 0], &[0x80, 0]] {
        server().udp(&Ask::raw([name, &[0, 1, 0, 1]].concat())).assert_empty(FORMERR);
    }
}

#[test]
fn s4_2_1_without_edns_a_datagram_has_512_octets_and_the_rest_is_asked_over_tcp() {
    let ask = Ask::new("big.example.", TXT);
    let answer = server().udp(&ask);
    assert!(answer.tc() && answer.bytes.len() <= 512);
    let answer = server().tcp(&ask);
    assert_eq!((answer.tc(), answer.rcode(), answer.answers().len()), (false, NOERROR, 20));
}

#[test]
fn s7_3_a_response_is_never_answered() {
    assert!(server().datagram(&Ask::new("a.example.", A).flags(0x8000).bytes()).is_none());
}

#[test]
fn s7_3_every_message_cut_short_behind_its_header_is_answered_as_malformed() {
    let bytes = Ask::new("a.example.", A).edns(1232).bytes();
    for len in 0..bytes.len() {
        match server().datagram(&bytes[..len]) {
            None => assert!(len < 12),
            Some(answer) => assert_eq!((len >= 12, answer.rcode()), (true, FORMERR), "{len}"),
        }
    }
}
