//! RFC 6891, Extension Mechanisms for DNS (EDNS(0)).

use crate::ask::{A, Ask, BADVERS, DO, FORMERR, NOERROR, NXDOMAIN, REFUSED, TXT};
use crate::server::{MAX_UDP_SIZE, Server};

/// An OPT record without options.
const OPT_RECORD: [u8; 11] = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];

fn server() -> Server {
    let texts: String = (0..12).map(|number| format!("mid TXT \"{number:0>60}\"\n")).collect();
    let more: String = (0..40).map(|number| format!("big TXT \"{number:0>60}\"\n")).collect();
    Server::zone("example.", &format!("a A 192.0.2.1\n{texts}{more}"))
}

#[test]
fn s6_1_1_an_answer_has_an_opt_record_exactly_when_the_query_has() {
    for (name, rcode) in [("a.example.", NOERROR), ("no.example.", NXDOMAIN), ("elsewhere.", REFUSED)] {
        let without = server().udp(&Ask::new(name, A));
        assert_eq!((without.rcode(), without.opt()), (rcode, None));
        let with = server().udp(&Ask::new(name, A).edns(1232));
        assert_eq!((with.rcode(), with.opt().is_some()), (rcode, true));
    }
}

#[test]
fn s6_1_1_a_second_opt_record_is_malformed() {
    let ask = Ask::new("a.example.", A).additional(&OPT_RECORD).edns(1232);
    assert_eq!(server().udp(&ask).rcode(), FORMERR);
}

#[test]
fn s6_1_1_it_may_stand_anywhere_in_the_additional_section() {
    let other = [&[0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 2][..], b"\x01x"].concat();
    let first = Ask::new("a.example.", A).additional(&OPT_RECORD).additional(&other);
    let last = Ask::new("a.example.", A).additional(&other).edns(1232);
    for ask in [first, last] {
        let answer = server().udp(&ask);
        assert_eq!((answer.rcode(), answer.opt().is_some()), (NOERROR, true));
    }
}

#[test]
fn s6_1_1_in_another_section_it_is_malformed() {
    for section in [1, 2] {
        let mut ask = Ask::new("a.example.", A);
        ask.records = OPT_RECORD.to_vec();
        ask.counts[section] = 1;
        assert_eq!(server().udp(&ask).rcode(), FORMERR);
    }
}

#[test]
fn s6_1_2_its_owner_is_the_root() {
    let ask = Ask::new("a.example.", A).additional(&[&[1, b'x'], &OPT_RECORD[..]].concat());
    assert_eq!(server().udp(&ask).rcode(), FORMERR);
}

#[test]
fn s6_1_2_options_that_are_not_known_are_ignored_and_not_sent_back() {
    for code in [4, 100, 20_000, 65_001, 65_534, 65_535] {
        for value in [&[][..], b"x", &[0; 64]] {
            let answer = server().udp(&Ask::new("a.example.", A).option(code, value));
            assert_eq!((answer.rcode(), answer.answers().len()), (NOERROR, 1));
            assert!(answer.opt().unwrap().options.is_empty(), "{code}");
        }
    }
}

#[test]
fn s6_1_2_an_option_that_outruns_its_record_is_malformed() {
    for data in [&[0, 100, 0][..], &[0, 100, 0, 1], &[0, 3, 0, 0, 9]] {
        let record = [&OPT_RECORD[..9], &[0, data.len() as u8], data].concat();
        assert_eq!(server().udp(&Ask::new("a.example.", A).additional(&record)).rcode(), FORMERR);
    }
}

#[test]
fn s6_1_3_a_higher_version_is_badvers_with_the_version_that_is_spoken() {
    for version in [1, 2, 127, 255] {
        let answer = server().udp(&Ask::new("a.example.", A).edns_as(version, 0));
        let opt = answer.opt().unwrap();
        assert_eq!((answer.rcode(), opt.version, opt.extended_rcode), (BADVERS, 0, 1));
        assert_eq!((answer.answers().len(), answer.aa(), answer.bytes[3] & 15), (0, false, 0));
    }
}

#[test]
fn s6_1_3_the_upper_bits_of_the_rcode_are_zero_in_ordinary_answers() {
    let opt = server().ask("a.example.", A).opt().unwrap();
    assert_eq!((opt.extended_rcode, opt.version), (0, 0));
}

#[test]
fn s6_1_4_flags_that_are_not_known_are_ignored_and_not_sent_back() {
    for bit in 0..15 {
        let answer = server().udp(&Ask::new("a.example.", A).edns_as(0, 1 << bit));
        assert_eq!((answer.rcode(), answer.opt().unwrap().flags), (NOERROR, 0), "{bit}");
    }
    assert_eq!(server().udp(&Ask::new("a.example.", A).edns_as(0, 0xffff)).opt().unwrap().flags, DO);
}

#[test]
fn s6_2_3_sizes_below_512_count_as_512() {
    let at_512 = server().udp(&Ask::new("mid.example.", TXT).edns(512));
    for size in [0, 1, 12, 511] {
        let answer = server().udp(&Ask::new("mid.example.", TXT).edns(size));
        assert!(answer.tc() && answer.bytes == at_512.bytes, "{size}");
        assert_eq!(server().udp(&Ask::new("a.example.", A).edns(size)).answers().len(), 1);
    }
}

#[test]
fn s6_2_4_the_server_tells_its_own_size() {
    for size in [0, 512, 1232, 4096, 65_535] {
        assert_eq!(server().udp(&Ask::new("a.example.", A).edns(size)).opt().unwrap().payload, MAX_UDP_SIZE);
    }
}

#[test]
fn s6_2_5_an_answer_is_no_longer_than_both_sizes_and_whole_when_it_fits() {
    for size in (0..2000).step_by(50) {
        for name in ["mid.example.", "big.example."] {
            let answer = server().udp(&Ask::new(name, TXT).edns(size));
            assert!(answer.bytes.len() <= usize::from(size.clamp(512, MAX_UDP_SIZE)));
            assert_eq!(answer.tc(), answer.answers().is_empty(), "{size} {name}");
        }
    }
    assert!(!server().udp(&Ask::new("mid.example.", TXT).edns(1232)).tc());
    assert!(server().udp(&Ask::new("big.example.", TXT).edns(65_535)).tc(), "RFC 9715 3: no fragments");
}

#[test]
fn s7_errors_carry_the_opt_record_too() {
    // An opcode that is not implemented, a subnet that is malformed, a question too many.
    let asks = [
        Ask::new("a.example.", A).opcode(9).edns(1232),
        Ask::new("a.example.", A).option(8, &[0, 1, 24]),
        Ask { counts: [2, 0, 0, 0], ..Ask::raw([Ask::new("a.example.", A).questions; 1].concat().repeat(2)) }
            .edns(1232),
    ];
    for ask in asks {
        let answer = server().udp(&ask);
        assert!(answer.rcode() != NOERROR && answer.opt().is_some(), "{}", answer.rcode());
    }
}
