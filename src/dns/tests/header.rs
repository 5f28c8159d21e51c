//! Flags, opcodes, counts, malformed messages (RULES A6; RFC 1035 4.1.1, 8906, 9619).

use super::*;

fn with(mut bytes: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for &(at, value) in changes {
        bytes[at] = value;
    }
    bytes
}

#[test]
fn responses_and_short_datagrams_are_met_with_silence_and_counted() {
    let view = view();
    let mut worker = Worker::new();
    let query = query("www", A, None);
    let response = with(query.clone(), &[(2, 0x80)]);
    for bytes in [&[][..], &query[..11], &response] {
        let query =
            Query { bytes, peer: [192, 0, 2, 1].into(), transport: Transport::Udp, now: Mono(0), wall_s: 0 };
        assert_eq!(respond(&view, &mut worker, query, &mut [0; 512]), 0);
    }
    let counters = worker.shared();
    assert_eq!(counters.silences(wire::Silence::Short), 2);
    assert_eq!(counters.silences(wire::Silence::Response), 1);
}

#[test]
fn id_opcode_rd_and_cd_are_copied_and_every_other_flag_is_the_servers_own() {
    let asked = with(query("static", A, None), &[(0, 0xab), (1, 0xcd), (2, 0x07), (3, 0xff)]);
    let answer = send(&asked);
    assert_eq!(answer.bytes[..4], [0xab, 0xcd, 0x85, 0x10], "QR, AA, RD; CD; AA, TC, RA, Z, AD not copied");
}

#[test]
fn the_question_comes_back_verbatim_with_its_letter_case() {
    let asked = query("sTaTiC", A, None);
    let answer = send(&asked);
    assert_eq!(answer.bytes[12..asked.len()], asked[12..]);
    assert_eq!(answer.answers(), ["sTaTiC 300 A 192.0.2.10"]);
}

#[test]
fn opcodes_other_than_query_are_not_implemented_and_told_so_with_their_question_and_opt() {
    for opcode in 1..16 {
        let answer = send(&with(query("static", A, Some(&opt(&[]))), &[(2, opcode << 3)]));
        assert_eq!((answer.code(), answer.bytes[2] >> 3 & 15), (4, opcode));
        assert_eq!((answer.bytes[5], answer.aa()), (1, false));
        assert!(answer.opt().is_some());
    }
}

#[test]
fn a_stateful_operations_message_without_question_is_not_implemented() {
    let answer = send(&[1, 2, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 4, 0xd2, 0, 0, 0x16, 0x2e]);
    assert_eq!((answer.code(), answer.bytes.len()), (4, 12));
}

#[test]
fn other_than_one_question_is_malformed_and_its_opt_is_still_answered() {
    let one = query("static", A, None);
    let two = [&with(one.clone(), &[(5, 2), (11, 1)]), &one[12..], &opt(&[])[..]].concat();
    let none = [&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], &opt(&[])].concat();
    for bytes in [two, none] {
        let answer = send(&bytes);
        assert_eq!((answer.code(), answer.bytes[5]), (1, 0));
        assert!(answer.opt().is_some());
    }
    assert_eq!(send(&with(one, &[(5, 2)])).bytes.len(), 12, "the second question is not there");
}

#[test]
fn a_malformed_question_is_answered_with_a_bare_header() {
    let names: [&[u8]; 7] = [
        &[0xc0, 0x0c],                                                    // a pointer to itself
        &[1, b'a', 0xc0, 0x0c],                                           // a compressed end
        &[0x40, 0],                                                       // a reserved label type
        &[1, b'a'],                                                       // no end
        &[5, b'a', 0],                                                    // a label beyond the message
        &[],                                                              // nothing
        &[[&[63][..], &[b'x'; 63]].concat().repeat(4), vec![0]].concat(), // 257 bytes
    ];
    for name in names {
        let bytes = [&[0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], name, &[0, 1, 0, 1]].concat();
        let answer = send(&bytes);
        assert_eq!(answer.bytes, [0, 7, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0], "{name:?}");
    }
    let cut = query("static", A, None);
    for len in 12..cut.len() {
        assert_eq!(send(&cut[..len]).code(), 1);
    }
}

#[test]
fn a_name_of_255_bytes_is_looked_up() {
    let name = [[&[63][..], &[b'x'; 63]].concat().repeat(3), vec![61], vec![b'y'; 61], vec![0]].concat();
    assert_eq!(name.len(), 255);
    let answer = send(&[&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], &name[..], &[0, 1, 0, 1]].concat());
    assert_eq!((answer.code(), answer.bytes.len()), (5, 12 + 255 + 4));
}

#[test]
fn whole_records_beside_the_question_are_skipped_and_broken_ones_malformed() {
    let record = [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 192, 0, 2, 1];
    for count_at in [7, 9, 11] {
        let asked = [&with(query("static", A, None), &[(count_at, 1)])[..], &record].concat();
        assert_eq!((send(&asked).code(), send(&asked).answers().len()), (0, 1));
        let answer = send(&asked[..asked.len() - 1]);
        assert_eq!((answer.code(), answer.bytes[5]), (1, 1), "with the question, which was whole");
    }
}

#[test]
fn bytes_behind_the_last_record_are_malformed() {
    let answer = send(&[query("static", A, Some(&opt(&[]))), vec![0]].concat());
    assert_eq!((answer.code(), answer.opt().is_some()), (1, true));
}

#[test]
fn transfers_and_other_classes_are_refused_with_the_question() {
    for qtype in [251, 252] {
        let answer = ask("@", qtype);
        assert_eq!((answer.code(), answer.aa(), answer.bytes[5]), (5, false, 1));
    }
    for class in [3, 4, 254, 255, 0] {
        let asked = query("static", A, None);
        let answer = send(&with(asked.clone(), &[(asked.len() - 1, class)]));
        assert_eq!((answer.code(), answer.answers().len(), answer.aa()), (5, 0, false), "{class}");
    }
}

#[test]
fn queries_and_answers_are_counted_by_kind() {
    let counters = ask("www", AAAA).worker.shared();
    assert_eq!(counters.queries(Transport::Udp, counters::Family::V4, counters::QueryType::Aaaa), 1);
    assert_eq!(counters.responses(Transport::Udp, wire::Rcode::NoError), 1);
    assert_eq!(counters.lookups(By::Network), 1);
    assert_eq!(counters.decisions(10), 1);
    let counters = ask("nothing", 4711).worker.shared();
    assert_eq!(counters.queries(Transport::Udp, counters::Family::V4, counters::QueryType::Other), 1);
    assert_eq!(counters.responses(Transport::Udp, wire::Rcode::NxDomain), 1);
}

/// A query that brings `count` A records without an owner in that section (1 to 3).
fn with_records(section: usize, count: usize) -> Vec<u8> {
    let mut bytes = with(query("static", A, None), &[(5 + 2 * section, count as u8)]);
    bytes.extend([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0].repeat(count));
    bytes
}

#[test]
fn up_to_32_records_that_nobody_needs_are_skipped_and_more_are_malformed() {
    for section in 1..=3 {
        assert_eq!(send(&with_records(section, wire::MAX_RECORDS)).code(), 0, "section {section}");
        let refused = send(&with_records(section, wire::MAX_RECORDS + 1));
        assert_eq!((refused.code(), refused.bytes[5]), (1, 1), "section {section}: its question comes back");
    }
}

#[test]
fn a_message_of_thousands_of_questions_is_malformed_and_not_read() {
    let mut bytes = vec![0, 7, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 1];
    bytes.extend([0, 0, 1, 0, 1].repeat(0x2000));
    bytes.extend(opt(&[]));
    let answer = send(&bytes);
    assert_eq!((answer.code(), answer.bytes.len()), (1, 12), "where its OPT record would be nobody looks");
}
