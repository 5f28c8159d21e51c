//! Whether others understand Waypost as it is meant: both transports, both front ends, and four readers of DNS that
//! share no code with ours, before one corpus of well-formed queries.
//!
//! The production front end and `serve::portable` serve the same zones side by side on loopback. Everything is asked of
//! both over UDP and over TCP. The answers of the production one are then read by hickory-proto and by dnspython, which
//! have to find the same in each, down to the last byte of data; and dig, which asks by itself, has to take what it gets
//! without a complaint.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // The lints' exception for tests does not reach their helpers.

mod contents;
mod corpus;
mod decoded;
mod dig;
mod dnspython;
mod query;
mod servers;
mod transports;
mod zones;

#[path = "../../fuzz/packet.rs"]
#[allow(dead_code)]
mod packet;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use corpus::Case;
use decoded::Decoded;
use servers::{Answers, Servers};
use waypost::dns::MAX_TCP_SIZE;

/// Every query of the corpus with its four answers: asked once, for all tests.
fn asked() -> &'static Vec<(Case, Answers)> {
    static ASKED: OnceLock<Vec<(Case, Answers)>> = OnceLock::new();
    ASKED.get_or_init(|| {
        let zones = zones::all();
        let cases = corpus::cases(&zones);
        let servers = Servers::start(&zones);
        let answers = servers.ask(&cases);
        cases.into_iter().zip(answers).collect()
    })
}

/// Fails with the first few of these findings, and how many there are.
fn assert_none(what: &str, findings: &[String]) {
    let first: Vec<&str> = findings.iter().take(10).map(String::as_str).collect();
    assert!(findings.is_empty(), "{what}: {} times\n{}", findings.len(), first.join("\n"));
}

#[test]
fn the_corpus_is_large_and_gets_every_kind_of_answer() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, answers) in asked() {
        *kinds.entry(Decoded::read(&answers.tcp).unwrap().kind()).or_default() += 1;
    }
    assert!(asked().len() > 20_000, "{}", asked().len());
    for kind in [
        "BADSIG", // hickory-proto's word for 16, which is BADVERS, too (RFC 6895 2.3)
        "NotImp",
        "NoError answer",
        "NoError nodata",
        "NoError referral",
        "NXDomain negative",
        "Refused",
        "ServFail",
        "YXDomain answer",
    ] {
        assert!(kinds.get(kind).is_some_and(|&count| count >= 3), "{kind}: {kinds:?}");
    }
}

#[test]
fn udp_and_tcp_give_the_same_bytes_but_for_what_does_not_fit() {
    let mut findings = Vec::new();
    let mut cut = 0;
    for (case, answers) in asked() {
        match transports::compare(case, &answers.udp, &answers.tcp) {
            Ok(same) => cut += usize::from(!same),
            Err(finding) => findings.push(format!("{case}: {finding}")),
        }
    }
    assert_none("UDP and TCP differ", &findings);
    assert!(cut >= 20, "answers that do not fit are among them: {cut}");
}

#[test]
fn both_front_ends_give_the_same_message_over_udp() {
    compare_front_ends(|case, answers| (case.udp_limit(), &answers.udp, &answers.portable_udp));
}

#[test]
fn both_front_ends_give_the_same_message_over_tcp() {
    compare_front_ends(|_, answers| (MAX_TCP_SIZE, &answers.tcp, &answers.portable_tcp));
}

/// `pair`: the longest answer that there may be, ours, the portable front end's.
fn compare_front_ends(pair: impl Fn(&Case, &'static Answers) -> (usize, &'static Vec<u8>, &'static Vec<u8>)) {
    let mut findings = Vec::new();
    let mut accepted: BTreeMap<&str, usize> = BTreeMap::new();
    for (case, answers) in asked() {
        let (limit, ours, portable) = pair(case, answers);
        let len = ours.len();
        let (ours, portable) = (Decoded::read(ours).unwrap(), Decoded::read(portable).unwrap());
        if ours == portable {
            continue;
        }
        match decoded::accepted(len, limit, &ours, &portable) {
            Some(reason) => *accepted.entry(reason).or_default() += 1,
            None => findings.push(format!("{case}: {len} bytes\n  {ours:.2000?}\n  {portable:.2000?}")),
        }
    }
    assert_none("the front ends differ", &findings);
    // What is accepted is rare, or it would hide something.
    assert!(accepted.values().sum::<usize>() * 1_000 < asked().len(), "{accepted:?}");
}

#[test]
fn no_answer_over_udp_is_longer_than_client_and_server_allow() {
    for (case, answers) in asked() {
        for answer in [&answers.udp, &answers.portable_udp] {
            assert!(answer.len() <= case.udp_limit(), "{case}: {} bytes", answer.len());
        }
    }
}

#[test]
fn dnspython_finds_the_same_fields_and_data_in_every_answer_as_hickory() {
    // Ids do not matter here, and many answers differ in nothing else.
    let without_id = |message: &Vec<u8>| [&[0, 0], &message[2..]].concat();
    let messages: BTreeSet<Vec<u8>> =
        asked().iter().flat_map(|(_, answers)| [&answers.udp, &answers.tcp]).map(without_id).collect();
    let read = dnspython::read(&messages);
    assert_eq!(read.len(), messages.len());
    let mut findings = Vec::new();
    for (message, python) in messages.iter().zip(&read) {
        let hickory = contents::of(message).unwrap();
        if *python != hickory {
            findings.push(format!("{python:.2000}\n  is, to hickory-proto,\n{hickory:.2000}"));
        }
    }
    assert_none("dnspython", &findings);
}

#[test]
fn dig_asks_the_corpus_and_takes_every_answer_without_a_warning() {
    let zones = zones::all();
    let servers = Servers::start(&zones);
    let cases = corpus::cases(&zones);
    let restated = dig::restated(&cases);
    assert!(restated.len() * 10 > cases.len() * 8, "{} of {}", restated.len(), cases.len());
    assert_none("dig, of the corpus", &dig::ask(servers.production, &restated));
}

#[test]
fn dig_with_its_own_cookies_and_padding_takes_the_answers_of_both_front_ends_without_a_warning() {
    let zones = zones::all();
    let servers = Servers::start(&zones);
    let questions = dig::questions();
    assert!(questions.len() >= 300, "{}", questions.len());
    assert_none("dig", &dig::ask(servers.production, &questions));
    assert_none("dig, of the portable front end", &dig::ask(servers.portable, &questions));
}
