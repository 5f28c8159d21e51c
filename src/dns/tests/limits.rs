//! Beyond the rate limit: what a client gets then, and who is not limited.

use super::packets::{Random, mutate, seeds};
use super::*;
use crate::dns::counters::Limited;
use crate::dns::limit::{Rule, Table};

const SUBNET: u16 = 8;
const NSID: u16 = 3;
const COOKIE: u16 = 10;
const EXTENDED_ERROR: u16 = 15;

/// A view that allows one answer a second.
fn tight(dry_run: bool) -> View {
    let view = view();
    let rate_limit = Some(Rule::new(1, 1, dry_run, &[]));
    View { settings: Arc::new(Settings { rate_limit, ..(*view.settings).clone() }), ..view }
}

/// A worker whose one client so far has had its answer.
fn exhausted(view: &View) -> Worker {
    let mut worker = Worker::limiting(Arc::new(Table::new([1, 2, 3, 4])));
    let first = answer_of(view, &mut worker, Transport::Udp, &query("www", A, None));
    assert!(first.answers().len() == 3 && !first.tc());
    worker
}

fn answer_of(view: &View, worker: &mut Worker, transport: Transport, bytes: &[u8]) -> Answer {
    let mut out = vec![0xee; MAX_TCP_SIZE];
    let query = Query { bytes, peer: [192, 0, 2, 99].into(), transport, now: Mono(0), wall_s: 0 };
    let len = respond(view, worker, query, &mut out);
    out.truncate(len);
    Answer { decoded: Decoded::from_vec(&out).unwrap(), bytes: out, worker: Worker::uncounted() }
}

#[test]
fn beyond_the_limit_comes_the_question_alone_truncated_so_that_the_client_turns_to_tcp() {
    let view = tight(false);
    let mut worker = exhausted(&view);
    for (name, qtype) in [("www", A), ("static", A), ("nope", A), ("x.big", A), ("www", ANY), ("outside.", A)]
    {
        let asked = query(name, qtype, None);
        let answer = answer_of(&view, &mut worker, Transport::Udp, &asked);
        assert!(answer.tc() && !answer.aa() && answer.code() == 0, "{name}");
        assert_eq!(answer.bytes[12..], asked[12..], "{name}");
        let whole = answer_of(&view, &mut worker, Transport::Tcp, &asked);
        assert!(!whole.tc() && whole.bytes.len() >= asked.len(), "{name}");
    }
    assert_eq!(worker.shared().limited(Limited::Slip), 6);
    assert_eq!(worker.shared().limited(Limited::DryRun), 0);
}

#[test]
fn beyond_the_limit_edns_is_answered_and_the_subnet_echoed_but_nothing_that_adds_bytes() {
    let view = tight(false);
    let mut worker = exhausted(&view);
    let subnet = [0, 1, 24, 0, 192, 0, 2];
    let asked = query("www", A, Some(&opt(&[(SUBNET, &subnet), (NSID, &[])])));
    let answer = answer_of(&view, &mut worker, Transport::Udp, &asked);
    assert_eq!(answer.option(SUBNET).unwrap(), subnet);
    assert_eq!(answer.option(NSID), None);
    assert!(answer.tc() && answer.bytes.len() <= asked.len());
}

/// Messages that get an error, with its code: NOTIFY, with a question; a byte too many; no question; EDNS version 1.
fn faulty(options: Option<&[(u16, &[u8])]>) -> [(Vec<u8>, u8); 4] {
    let edns = options.map(opt);
    let mut notify = query("www", A, edns.as_deref());
    notify[2] = 4 << 3;
    let trailing = [query("www", A, edns.as_deref()), vec![0]].concat();
    let none = vec![0; 12];
    let mut newer = opt(options.unwrap_or_default());
    newer[6] = 1;
    [(notify, 4), (trailing, 1), (none, 1), (query("www", A, Some(&newer)), 0)]
}

#[test]
fn errors_use_up_nothing_and_beyond_the_limit_they_are_as_ever_since_tcp_would_give_the_same() {
    let view = tight(false);
    let mut fresh = Worker::limiting(Arc::new(Table::new([1, 2, 3, 4])));
    for (bytes, code) in faulty(None).into_iter().cycle().take(40) {
        let answer = answer_of(&view, &mut fresh, Transport::Udp, &bytes);
        assert_eq!((answer.code(), answer.tc()), (code, false));
    }
    let mut exhausted = exhausted(&view);
    let first = answer_of(&view, &mut fresh, Transport::Udp, &query("www", A, None));
    assert!(!first.tc(), "the one answer is still to be had");
    for (bytes, _) in faulty(None) {
        let [within, beyond] =
            [&mut fresh, &mut exhausted].map(|worker| answer_of(&view, worker, Transport::Udp, &bytes).bytes);
        assert_eq!(within, beyond);
        assert_eq!(answer_of(&view, &mut exhausted, Transport::Tcp, &bytes).bytes, beyond);
    }
    assert_eq!(Limited::ALL.map(|limited| exhausted.shared().limited(limited)), [0; 3]);
}

#[test]
fn while_there_is_a_limit_errors_over_udp_are_no_longer_than_their_queries() {
    let asked: &[(u16, &[u8])] = &[(SUBNET, &[0, 1, 24, 0, 192, 0, 2]), (NSID, &[])];
    for dry_run in [false, true] {
        let view = tight(dry_run);
        let mut worker = exhausted(&view);
        let [(notify, _), _, _, (newer, _)] = faulty(Some(asked));
        let udp = answer_of(&view, &mut worker, Transport::Udp, &notify);
        let tcp = answer_of(&view, &mut worker, Transport::Tcp, &notify);
        assert!(tcp.option(NSID).is_some() && tcp.option(EXTENDED_ERROR).is_some());
        if dry_run {
            assert_eq!(udp.bytes, tcp.bytes, "nothing is limited");
        } else {
            assert_eq!((udp.option(NSID), udp.option(EXTENDED_ERROR)), (None, None));
            assert!(udp.option(SUBNET).is_some() && udp.bytes.len() <= notify.len());
        }
        let badvers = answer_of(&view, &mut worker, Transport::Udp, &newer);
        assert_eq!((badvers.code(), badvers.opt().unwrap().fixed[2], badvers.tc()), (0, 1, false), "16");
        assert!(badvers.bytes.len() <= newer.len());
    }
}

#[test]
fn a_cookie_is_to_be_had_without_a_question_whatever_was_used_up() {
    let view = tight(false);
    let mut worker = exhausted(&view);
    for (cookie, codes) in [(&[7; 8][..], (0, 0)), (&[7; 24], (7, 1))] {
        let mut fetch = vec![0; 12];
        fetch[11] = 1;
        fetch.extend(opt(&[(COOKIE, cookie), (NSID, &[])]));
        let answer = answer_of(&view, &mut worker, Transport::Udp, &fetch);
        assert_eq!((answer.code(), answer.opt().unwrap().fixed[2]), codes);
        assert!(!answer.tc() && answer.option(NSID).is_none());
        let good = answer.option(COOKIE).unwrap();
        let again = query("www", A, Some(&opt(&[(COOKIE, &good)])));
        assert_eq!(answer_of(&view, &mut worker, Transport::Udp, &again).answers().len(), 3);
    }
    assert_eq!(Limited::ALL.map(|limited| worker.shared().limited(limited)), [0; 3]);
}

#[test]
fn what_gets_no_answer_uses_up_nothing() {
    let view = tight(false);
    let mut worker = Worker::limiting(Arc::new(Table::new([1, 2, 3, 4])));
    let mut response = query("www", A, None);
    response[2] = 0x80;
    for bytes in [&response[..], &[0; 11]] {
        let query =
            Query { bytes, peer: [192, 0, 2, 99].into(), transport: Transport::Udp, now: Mono(0), wall_s: 0 };
        assert_eq!(respond(&view, &mut worker, query, &mut [0; 512]), 0);
    }
    assert!(!answer_of(&view, &mut worker, Transport::Udp, &query("www", A, None)).tc());
}

#[test]
fn a_client_that_knows_cookies_is_sent_back_with_a_good_one_and_then_not_limited() {
    let view = tight(false);
    let mut worker = exhausted(&view);
    let cookie_of = |answer: &Answer| answer.option(COOKIE).unwrap();
    let with = |cookie: &[u8]| query("www", A, Some(&opt(&[(COOKIE, cookie)])));
    for cookie in [&[7; 8][..], &[7; 24]] {
        let sent_back = answer_of(&view, &mut worker, Transport::Udp, &with(cookie));
        assert_eq!((sent_back.code(), sent_back.opt().unwrap().fixed[2]), (7, 1), "23, in two parts");
        assert!(!sent_back.tc() && !sent_back.aa() && sent_back.answers().is_empty());
        for _ in 0..10 {
            let again = answer_of(&view, &mut worker, Transport::Udp, &with(&cookie_of(&sent_back)));
            assert_eq!((again.code(), again.answers().len(), again.tc()), (0, 3, false));
        }
    }
    assert_eq!(worker.shared().limited(Limited::BadCookie), 2);
    assert_eq!(worker.shared().limited(Limited::Slip), 0);
}

#[test]
fn a_valid_cookie_uses_up_nothing() {
    let view = tight(false);
    let mut worker = Worker::limiting(Arc::new(Table::new([1, 2, 3, 4])));
    let full = [&[7; 8][..], &secrets().make([7; 8], [192, 0, 2, 99].into(), 0)].concat();
    for _ in 0..10 {
        answer_of(&view, &mut worker, Transport::Udp, &query("www", A, Some(&opt(&[(COOKIE, &full)]))));
    }
    assert!(!answer_of(&view, &mut worker, Transport::Udp, &query("www", A, None)).tc());
}

#[test]
fn tcp_uses_up_nothing_either() {
    let view = tight(false);
    let mut worker = Worker::limiting(Arc::new(Table::new([1, 2, 3, 4])));
    for _ in 0..100 {
        answer_of(&view, &mut worker, Transport::Tcp, &query("www", A, None));
    }
    assert!(!answer_of(&view, &mut worker, Transport::Udp, &query("www", A, None)).tc());
}

#[test]
fn a_dry_run_counts_and_answers_as_ever() {
    let view = tight(true);
    let mut worker = exhausted(&view);
    let answer = answer_of(&view, &mut worker, Transport::Udp, &query("www", A, None));
    assert_eq!(answer.bytes, ask("www", A).bytes);
    let counted = Limited::ALL.map(|limited| worker.shared().limited(limited));
    assert_eq!(counted, Limited::ALL.map(|limited| u64::from(limited == Limited::DryRun)));
}

#[test]
fn no_answer_beyond_the_limit_is_longer_than_its_query_but_for_half_a_cookie() {
    let view = tight(false);
    let mut worker = exhausted(&view);
    let (seeds, mut random) = (seeds(), Random(0x2545_f491_4f6c_dd1d));
    let mut out = vec![0; MAX_TCP_SIZE];
    for _ in 0..100_000 {
        let mut packet = seeds[random.below(seeds.len())].clone();
        mutate(&mut packet, &mut random);
        let query = Query {
            bytes: &packet,
            peer: [192, 0, 2, 99].into(),
            transport: Transport::Udp,
            now: Mono(0),
            wall_s: 0,
        };
        let len = respond(&view, &mut worker, query, &mut out);
        assert!(len <= packet.len() + cookie::SERVER_LEN, "{len} bytes for {packet:x?}");
    }
}
