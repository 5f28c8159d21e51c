//! Clients of resolvers when a region is taken out: how long they are led there.

use std::time::Duration;

use waypost::control::Clock;

use super::internet::Internet;
use super::port_53::where_port_53_is_ours;
use super::{LIVE, SLACK, TTL_MIN, announce_drain};
use crate::harness::{SOON, WWW, exchange, query_bytes, wait_until};

/// The service's TTL while all is steady: long, so that whoever keeps an answer that long into a drain is seen.
const TTL: Duration = Duration::from_secs(30);

/// How long before a drain both resolvers are asked again: time for both to ask anew.
const JUST_BEFORE: Duration = Duration::from_secs(2);

/// Of cn, eu: addresses of the shipped service.
const CN: [&str; 2] = ["192.0.2.11", "192.0.2.12"];
const EU: [&str; 2] = ["198.51.100.11", "198.51.100.12"];

#[test]
fn clients_of_unbound_and_knot_resolver_follow_a_drain_within_ttl_min_and_two_seconds() {
    where_port_53_is_ours(
        "resolvers::drains::clients_of_unbound_and_knot_resolver_follow_a_drain_within_ttl_min_and_two_seconds",
        || {
            let internet = Internet::start("cn", "30s");
            follow(&internet, &CN, "start", Clock::start(), SOON);

            // Announced by more than the TTL, and nobody asks until what was given before has run out. What both
            // resolvers get just before is what they keep: with the whole TTL it would lead there for half a minute.
            assert_eq!(given_ttl(&internet), TTL, "while all is steady");
            let clock = Clock::start();
            let begin = announce_drain(&internet.waypost, &clock, TTL + JUST_BEFORE + LIVE);
            wait_until("the drain is near", begin, || clock.elapsed() >= begin.saturating_sub(JUST_BEFORE));
            let answers = answers(&internet);
            assert!(clock.elapsed() < begin, "the machine is too slow to ask before the drain begins");
            assert_eq!(answers, [CN, CN], "just before the drain");
            wait_until("the drain begins", begin + SOON, || clock.elapsed() >= begin);
            follow(&internet, &EU, "an announced drain", Clock::start(), TTL_MIN + LIVE);

            // Its end is seen as fast: answers given meanwhile have the short TTL.
            let clock = Clock::start();
            internet.waypost.run(&["undrain", "cn"]).done();
            follow(&internet, &CN, "the end of a drain", clock, TTL_MIN + LIVE);

            // Without announcement, what was given before lives for its whole TTL.
            let clock = Clock::start();
            internet.waypost.run(&["drain", "cn", "--reason", "at once"]).done();
            follow(&internet, &EU, "a drain at once", clock, TTL + LIVE);
        },
    );
}

/// Waits until clients of both resolvers get these addresses, and goes on to; asserts that it took no longer than
/// promised, but for [`SLACK`].
fn follow(internet: &Internet, addresses: &[&str; 2], what: &str, clock: Clock, promised: Duration) {
    let mut took = [None; 2];
    wait_until(&format!("both resolvers follow {what}"), promised + SLACK, || {
        for (answer, took) in answers(internet).iter().zip(&mut took) {
            assert!([CN, EU].iter().any(|region| answer == region), "one region's addresses: {answer:?}");
            assert!(took.is_none() || answer == addresses, "after {what} back again: {answer:?}");
            if answer == addresses {
                took.get_or_insert(clock.elapsed());
            }
        }
        took.iter().all(Option::is_some)
    });
    for (resolver, took) in internet.resolvers().iter().zip(took.into_iter().flatten()) {
        println!("{what}: {} follows after {took:?}, promised {promised:?}", resolver.name);
        assert!(took <= promised + SLACK, "{what}: {} follows after {took:?}", resolver.name);
    }
}

/// What a client of each resolver gets for the service.
fn answers(internet: &Internet) -> [Vec<String>; 2] {
    internet.resolvers().map(|resolver| resolver.ask(WWW, 1).expect("an answer").addresses())
}

/// The TTL with which Waypost itself answers.
fn given_ttl(internet: &Internet) -> Duration {
    let answer = exchange(internet.waypost.ip, &query_bytes(WWW, 1, None)).expect("an answer");
    Duration::from_secs(answer.0.answers.iter().map(|record| record.ttl).max().expect("addresses").into())
}
