//! Cookies in whole messages (RULES A5, A6; RFC 7873, 9018).

use super::cookie::Standing;
use super::*;

const COOKIE: u16 = 10;
const CLIENT: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// Some time in 2026.
const NOW_S: u32 = 1_796_000_000;

fn ask_at(view: &View, transport: Transport, bytes: &[u8], wall_s: u32) -> Answer {
    let mut worker = Worker::new();
    let mut out = vec![0xee; MAX_TCP_SIZE];
    let query = Query { bytes, peer: [192, 0, 2, 99].into(), transport, now: Mono(0), wall_s };
    let len = respond(view, &mut worker, query, &mut out);
    out.truncate(len);
    Answer { decoded: Decoded::from_vec(&out).unwrap(), bytes: out, worker }
}

fn with_cookie(name: &str, qtype: u16, cookie: &[u8]) -> Vec<u8> {
    query(name, qtype, Some(&opt(&[(COOKIE, cookie)])))
}

/// A cookie that was made for the tests' client so long ago.
fn full(age_s: u32) -> Vec<u8> {
    let server = secrets().make(CLIENT, [192, 0, 2, 99].into(), NOW_S - age_s);
    [&CLIENT[..], &server].concat()
}

/// The rcode, its upper bits from the OPT record.
fn rcode(answer: &Answer) -> u16 {
    let upper = answer.opt().map_or(0, |opt| opt.fixed[2]);
    u16::from(upper) << 4 | u16::from(answer.code())
}

/// A message without question, with these options.
fn questionless(options: &[(u16, &[u8])]) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], &opt(options)].concat()
}

fn counted(answer: &Answer, standing: Standing) -> u64 {
    answer.worker.shared().cookies(standing)
}

#[test]
fn a_client_without_server_cookie_gets_its_answer_and_a_full_cookie() {
    for transport in [Transport::Udp, Transport::Tcp] {
        let answer = ask_at(&view(), transport, &with_cookie("www", A, &CLIENT), NOW_S);
        assert_eq!((rcode(&answer), answer.answers().len()), (0, 3));
        assert_eq!(answer.option(COOKIE).unwrap(), full(0));
        assert_eq!(counted(&answer, Standing::ClientOnly), 1);
    }
}

#[test]
fn a_valid_cookie_comes_back_as_it_is_and_an_aging_one_anew() {
    let young = ask_at(&view(), Transport::Udp, &with_cookie("www", A, &full(1799)), NOW_S);
    assert_eq!(young.option(COOKIE).unwrap(), full(1799));
    assert_eq!(counted(&young, Standing::Valid), 1);
    let old = ask_at(&view(), Transport::Udp, &with_cookie("www", A, &full(1800)), NOW_S);
    assert_eq!(old.option(COOKIE).unwrap(), full(0));
    assert_eq!(counted(&old, Standing::Valid), 1);
}

#[test]
fn a_bad_server_cookie_is_answered_as_if_it_were_not_there_with_a_good_one() {
    let forged = [&CLIENT[..], &[0xaa; 16]].concat();
    for bad in [forged, full(3601), vec![1; 16], vec![1; 40], [&full(0)[..], &[0]].concat()] {
        let answer = ask_at(&view(), Transport::Udp, &with_cookie("www", A, &bad), NOW_S);
        let cookie = answer.option(COOKIE).unwrap();
        assert_eq!((rcode(&answer), answer.answers().len(), cookie.len()), (0, 3, 24));
        assert_eq!((&cookie[..8], &cookie[8..12]), (&bad[..8], &[1, 0, 0, 0][..]));
        assert_ne!(cookie[8..], bad[8..]);
        assert_eq!(counted(&answer, Standing::Invalid), 1);
    }
}

#[test]
fn the_cookie_is_in_errors_negative_answers_and_truncated_ones() {
    for (name, qtype, code) in [("nothing", A, 3), ("down", A, 2), ("outside.", A, 5), ("many", A, 0)] {
        let answer = ask_at(&view(), Transport::Udp, &with_cookie(name, qtype, &CLIENT), NOW_S);
        assert_eq!((rcode(&answer), answer.option(COOKIE)), (code, Some(full(0))), "{name}");
    }
    let mut notify = with_cookie("www", A, &CLIENT);
    notify[2] = 4 << 3;
    let answer = ask_at(&view(), Transport::Udp, &notify, NOW_S);
    assert_eq!((rcode(&answer), answer.option(COOKIE)), (4, Some(full(0))));
}

#[test]
fn a_cookie_of_a_length_that_none_has_is_formerr_without_the_option() {
    for len in (0..8).chain(9..16).chain([41, 48]) {
        for transport in [Transport::Udp, Transport::Tcp] {
            let answer = ask_at(&view(), transport, &with_cookie("www", A, &vec![7; len]), NOW_S);
            assert_eq!((rcode(&answer), answer.bytes[5], answer.option(COOKIE)), (1, 1, None), "{len}");
            assert!(answer.opt().is_some());
        }
    }
}

#[test]
fn of_several_cookies_the_first_counts() {
    for (second, bytes) in [(&CLIENT[..], &[9; 3][..]), (&full(0), &[9; 8])] {
        let twice = query("www", A, Some(&opt(&[(COOKIE, second), (COOKIE, bytes)])));
        let answer = ask_at(&view(), Transport::Udp, &twice, NOW_S);
        assert_eq!((rcode(&answer), answer.option(COOKIE).unwrap()), (0, full(0)));
        assert_eq!(answer.opt().unwrap().options.len(), 1);
    }
}

#[test]
fn a_message_that_asks_for_nothing_but_a_cookie_gets_one() {
    for transport in [Transport::Udp, Transport::Tcp] {
        for cookie in [CLIENT.to_vec(), full(0)] {
            let answer = ask_at(&view(), transport, &questionless(&[(COOKIE, &cookie)]), NOW_S);
            assert_eq!((rcode(&answer), &answer.bytes[4..12]), (0, &[0, 0, 0, 0, 0, 0, 0, 1][..]));
            assert_eq!(answer.option(COOKIE).unwrap(), full(0));
        }
    }
}

#[test]
fn a_cookie_that_is_sent_to_be_confirmed_and_is_bad_is_badcookie_with_a_good_one() {
    let answer = ask_at(&view(), Transport::Udp, &questionless(&[(COOKIE, &full(3601))]), NOW_S);
    assert_eq!((rcode(&answer), answer.option(COOKIE).unwrap()), (23, full(0)));
    assert_eq!(answer.worker.shared().responses(Transport::Udp, wire::Rcode::BadCookie), 1);
}

#[test]
fn no_question_without_a_cookie_or_with_anything_wrong_is_formerr() {
    let fetch = questionless(&[(COOKIE, &CLIENT)]);
    let bad = [
        fetch[..12].iter().copied().map(|byte| byte & !1).collect::<Vec<u8>>(),
        questionless(&[]),
        questionless(&[(COOKIE, &[1; 9])]),
        questionless(&[(COOKIE, &CLIENT), (8, &[0, 3, 0, 0])]),
        [&fetch[..], &[0]].concat(),
        fetch[..fetch.len() - 1].to_vec(),
    ];
    for bytes in bad {
        assert_eq!(rcode(&ask_at(&view(), Transport::Udp, &bytes, NOW_S)), 1, "{bytes:?}");
    }
    let mut off = view();
    Arc::make_mut(&mut off.settings).cookies = None;
    assert_eq!(rcode(&ask_at(&off, Transport::Udp, &fetch, NOW_S)), 1);
}

#[test]
fn switched_off_the_option_is_one_that_nobody_knows() {
    let mut view = view();
    Arc::make_mut(&mut view.settings).cookies = None;
    for cookie in [&CLIENT[..], &full(0), &[1; 9]] {
        let answer = ask_at(&view, Transport::Udp, &with_cookie("www", A, cookie), NOW_S);
        assert_eq!((rcode(&answer), answer.answers().len(), answer.option(COOKIE)), (0, 3, None));
    }
}

#[test]
fn a_client_that_shows_no_valid_cookie_gets_no_more_than_unverified_udp() {
    let limited = |unverified_udp| {
        let mut view = view();
        Arc::make_mut(&mut view.settings).cookies = Some(Cookies { secrets: secrets(), unverified_udp });
        view
    };
    // `mid` has more than 512 bytes and fewer than 1,000.
    for unverified_udp in [0, 512] {
        let view = limited(unverified_udp);
        let asked =
            |cookie: &[u8], transport| ask_at(&view, transport, &with_cookie("mid", TXT, cookie), NOW_S);
        assert!(!asked(&full(0), Transport::Udp).tc());
        for cookie in [&CLIENT[..], &full(3601)] {
            let answer = asked(cookie, Transport::Udp);
            assert!(answer.tc() && answer.bytes.len() <= 512 && answer.option(COOKIE).is_some());
            assert!(!asked(cookie, Transport::Tcp).tc());
        }
        assert!(ask_at(&view, Transport::Udp, &query("mid", TXT, Some(&opt(&[]))), NOW_S).tc());
    }
    assert!(!ask_at(&limited(1232), Transport::Udp, &with_cookie("mid", TXT, &CLIENT), NOW_S).tc());
    let mut off = view();
    Arc::make_mut(&mut off.settings).cookies = None;
    assert!(!ask_at(&off, Transport::Udp, &with_cookie("mid", TXT, &CLIENT), NOW_S).tc());
}

#[test]
fn the_longest_question_with_every_option_still_gets_its_answer_within_512_bytes() {
    let name = [[&[63][..], &[b'x'; 63]].concat().repeat(3), vec![61], vec![b'y'; 61], vec![0]].concat();
    let subnet = [&[0, 2, 128, 0][..], &[0x20; 16]].concat();
    let options = opt(&[(8, &subnet), (3, &[]), (COOKIE, &CLIENT)]);
    let mut view = view();
    Arc::make_mut(&mut view.settings).nsid = vec![b'n'; edns::MAX_NSID_LEN];
    let mut small = options;
    small[3..5].copy_from_slice(&512_u16.to_be_bytes());
    let bytes = [&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1], &name[..], &[0, 1, 0, 1], &small].concat();
    let answer = ask_at(&view, Transport::Udp, &bytes, NOW_S);
    assert_eq!(
        (rcode(&answer), answer.opt().unwrap().options.len()),
        (5, 4),
        "the fourth is the extended error"
    );
    assert!(answer.bytes.len() <= 512);
}
