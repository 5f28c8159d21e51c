//! Sizes and truncation (RULES A5; RFC 6891 6.2.3, 2181 9, 9471).

use super::*;

fn sized(payload: u16) -> Vec<u8> {
    let mut opt = opt(&[(8, &[0, 1, 24, 0, 192, 0, 2])]);
    opt[3..5].copy_from_slice(&payload.to_be_bytes());
    opt
}

fn is_truncated(answer: &Answer, limit: usize) {
    assert!(answer.tc() && answer.bytes.len() <= limit);
    assert_eq!((answer.code(), answer.aa()), (0, true));
    assert!(answer.answers().is_empty() && answer.authorities().is_empty());
}

#[test]
fn without_edns_an_answer_has_512_bytes() {
    is_truncated(&ask("mid", TXT), 512);
    is_truncated(&ask("many", A), 512);
}

#[test]
fn with_edns_the_clients_size_counts_up_to_the_servers() {
    for (payload, name, fits) in [
        (0, "mid", false),
        (512, "mid", false),
        (1000, "mid", true),
        (65_535, "huge", false),
        (900, "www", true),
    ] {
        let answer = send(&query(name, if name == "www" { A } else { TXT }, Some(&sized(payload))));
        assert_eq!(answer.tc(), !fits, "{payload} {name}");
        assert!(answer.opt().is_some());
        assert!(answer.bytes.len() <= usize::from(payload.clamp(512, 1232)));
    }
}

#[test]
fn a_truncated_answer_has_no_half_rrset_no_scope_and_still_its_opt() {
    let answer = send(&query("many", A, Some(&sized(1232))));
    is_truncated(&answer, 1232);
    assert_eq!(answer.option(8).unwrap()[3], 0);
}

#[test]
fn over_tcp_everything_fits_but_what_no_message_holds() {
    let tcp = |name, qtype| send_as(&view(), Transport::Tcp, &query(name, qtype, Some(&sized(512)))).unwrap();
    let answer = tcp("giant", TXT);
    assert_eq!((answer.tc(), answer.answers().len()), (false, 300));
    assert_eq!(tcp("many", A).answers().len(), 100);
}

#[test]
fn glue_that_is_needed_and_does_not_fit_sets_tc_and_none_is_left() {
    let answer = ask("x.big", A);
    assert_eq!((answer.tc(), answer.aa(), answer.authorities().len()), (true, false, 13));
    assert!(answer.additionals().is_empty() && answer.bytes.len() <= 512);
}

#[test]
fn thirteen_name_servers_with_both_addresses_fit_when_compressed() {
    let answer = send(&query("x.big", A, Some(&sized(1232))));
    assert_eq!((answer.tc(), answer.authorities().len(), answer.additionals().len()), (false, 13, 26));
}

#[test]
fn a_buffer_too_small_for_the_question_is_silence_not_a_panic() {
    let bytes = query("www", A, Some(&sized(1232)));
    for len in 0..200 {
        let query = Query {
            bytes: &bytes,
            peer: [192, 0, 2, 1].into(),
            transport: Transport::Tcp,
            now: Mono(0),
            wall_s: 0,
        };
        let mut out = vec![0; len];
        assert!(respond(&view(), &mut Worker::new(), query, &mut out) <= len);
        if len > 60 {
            break;
        }
    }
}
