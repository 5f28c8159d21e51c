//! Few descriptors from the start, and none left all of a sudden: the limit of the running server is lowered, and clients
//! fill it.

use std::time::Duration;

use waypost::control::Clock;

use crate::client::Client;
use crate::harness::{SOON, wait_until};
use crate::honest::Honest;
use crate::server::Server;

/// Descriptors that the server may have beyond those that it has anyway.
const ROOM: usize = 200;

/// Descriptors that other things may have given up meanwhile.
const SPARE: usize = 8;

#[test]
fn without_descriptors_the_most_idle_give_theirs_and_the_listener_lives() {
    let server = Server::start(r#"idle = "120s""#);
    let honest = Honest::ask(server.ip());
    server.limit_files(server.base().descriptors + ROOM);
    let crowd: Vec<Client> = (0..5 * ROOM).map(|number| Client::number(number, server.ip())).collect();
    let clock = Clock::start();
    // Without the API, which needs a descriptor as well, and waits until there is one.
    wait_until("the closed ones", SOON, || {
        crowd.iter().filter(|client| client.is_open()).count() <= ROOM + SPARE
    });
    eprintln!("{} connections with {ROOM} descriptors: settled after {:?}", crowd.len(), clock.elapsed());
    // The places are full, and nobody new comes but the honest: the server rests.
    let before = (clock.elapsed(), server.processor_time());
    let asked = honest.asked();
    wait_until("honest queries while it is full", SOON, || {
        honest.asked() > asked + 50 && clock.elapsed() > before.0 + Duration::from_secs(1)
    });
    let (passed, used) = (clock.elapsed() - before.0, server.processor_time() - before.1);
    assert!(used < passed / 2, "{used:?} of processor time in {passed:?}: it spins");
    honest.were_served();
    let said = server.site.log().matches("could not be accepted").count();
    assert_eq!(said, 1, "failures are logged once a minute at most: {}", server.site.log());

    server.limit_files(server.files());
    drop(crowd);
    server.recovers();
    let again: Vec<Client> = (0..2 * ROOM).map(|number| Client::number(number, server.ip())).collect();
    wait_until("all of them", SOON, || server.connections() == again.len());
    drop(again);
    server.recovers();
}

#[test]
fn a_server_with_few_descriptors_takes_fewer_connections_and_keeps_some_for_the_rest() {
    const FILES: usize = 400;
    let server = Server::with_files(FILES, r#"idle = "120s""#);
    let honest = Honest::ask(server.ip());
    let crowd: Vec<Client> = (0..3 * FILES).map(|number| Client::number(number, server.ip())).collect();
    // The API answers as well, throughout.
    wait_until("all arrivals", SOON, || {
        assert!(server.connections() <= FILES / 4 * 3);
        server.accepted() > crowd.len()
    });
    let log = server.site.log();
    assert!(
        log.contains("dns.tcp.max_connections = 4096 does not fit into the limit of 400 open files"),
        "{log}"
    );
    assert!(!log.contains("could not be accepted"), "{log}");
    honest.were_served();
    drop(crowd);
    server.recovers();
}
