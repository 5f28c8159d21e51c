//! Clients of resolvers when a region is taken out: how long they are led there.

use std::time::Duration;

use waypost::control::Clock;

use super::internet::Internet;
use super::port_53::where_port_53_is_ours;
use super::{LIVE, TTL_MIN, announce_drain};
use crate::harness::{SOON, WWW, wait_until};

/// The service's TTL while all is steady.
const TTL: Duration = Duration::from_secs(10);

/// Of cn, eu: addresses of the shipped service.
const CN: [&str; 2] = ["192.0.2.11", "192.0.2.12"];
const EU: [&str; 2] = ["198.51.100.11", "198.51.100.12"];

#[test]
fn clients_of_unbound_and_knot_resolver_follow_a_drain_within_ttl_min_and_two_seconds() {
    where_port_53_is_ours(
        "resolvers::drains::clients_of_unbound_and_knot_resolver_follow_a_drain_within_ttl_min_and_two_seconds",
        || {
            let internet = Internet::start("cn", "10s");
            follow(&internet, &CN, "start", Clock::start(), SOON);

            // Announced, by more than the difference of the two TTLs: what is given meanwhile is short-lived, and what
            // was given before has run out by then.
            let clock = Clock::start();
            let begin = announce_drain(&internet.waypost, &clock, TTL_MIN + LIVE);
            wait_until("the drain begins", begin + SOON, || {
                // Clients go on asking, so that the caches are never empty.
                let (answers, before) = (answers(&internet), clock.elapsed() < begin);
                assert!(!before || answers == [CN, CN], "{answers:?}");
                !before
            });
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

/// Waits until clients of both resolvers get these addresses, and goes on to. Asserts three times what is promised:
/// the machine may be busy.
fn follow(internet: &Internet, addresses: &[&str; 2], what: &str, clock: Clock, promised: Duration) {
    let mut took = [None; 2];
    wait_until(&format!("both resolvers follow {what}"), 3 * promised, || {
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
        assert!(took < 3 * promised);
    }
}

/// What a client of each resolver gets for the service.
fn answers(internet: &Internet) -> [Vec<String>; 2] {
    internet.resolvers().map(|resolver| resolver.ask(WWW, 1).expect("an answer").addresses())
}
