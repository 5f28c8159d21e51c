//! More connections than anybody needs: idle ones, and more than there may be.

use crate::client::Client;
use crate::harness::{SOON, wait_until};
use crate::honest::Honest;
use crate::server::Server;

/// Idle connections, where the limit of descriptors allows so many.
const IDLE: usize = 10_000;

/// Descriptors that this process and the server need beside the connections.
const OTHER_FILES: usize = 1_000;

/// Memory of the server that an idle connection costs at most, in bytes.
const IDLE_BYTES: u64 = 4 << 10;

/// What a second crowd may take beyond the first, in KiB.
const GROWTH_KIB: u64 = 4 << 10;

/// What is taken at once in the overload test.
const LIMIT: usize = 1_000;

/// Connections of honest clients, and to the API, that come and go meanwhile.
const SPARE: usize = 8;

#[test]
fn ten_thousand_idle_connections_cost_little_and_nobody_notices() {
    let server = Server::start(r#"max_connections = 12000, idle = "120s""#);
    let count = IDLE.min(server.files().saturating_sub(OTHER_FILES));
    let honest = Honest::ask(server.ip());
    // Twice, since an allocator may keep what it got for the first crowd, but must give it to the second.
    let mut taken_kib = [0; 2];
    for taken_kib in &mut taken_kib {
        let idle = idle(count, &server);
        assert!((count..=count + SPARE).contains(&server.connections()));
        *taken_kib = server.uses().memory_kib.saturating_sub(server.base().memory_kib);
        let each = (*taken_kib << 10) / count as u64;
        eprintln!("{count} idle connections, {each} bytes each");
        assert!(each <= IDLE_BYTES, "{each} bytes a connection");
        let asked = honest.asked();
        wait_until("more honest queries", SOON, || honest.asked() > asked + 100);
        assert!(idle.iter().all(Client::is_open), "there is room for all: none is closed");
        drop(idle);
        wait_until("the end of all", SOON, || server.connections() <= SPARE);
    }
    let [first, second] = taken_kib;
    assert!(second <= first + GROWTH_KIB, "{first} KiB, then {second}");
    honest.were_served();
    server.recovers_but_for(first + GROWTH_KIB);
}

/// Connections that have asked once, so that what each keeps of that is counted, and then nothing more.
fn idle(count: usize, server: &Server) -> Vec<Client> {
    let ask_once = |number| {
        let mut client = Client::number(number, server.ip());
        assert!(client.ask(number as u16), "client {number}");
        client
    };
    (0..count).map(ask_once).collect()
}

#[test]
fn of_three_times_the_limit_the_most_idle_are_closed_and_the_active_stay() {
    let server = Server::start(&format!("max_connections = {LIMIT}, idle = \"120s\""));
    let honest = Honest::ask(server.ip());
    let mut active: Vec<Client> = (0..10).map(|number| Client::number(number, server.ip())).collect();
    let mut crowd = Vec::new();
    let mut most = 0;
    for number in 0..3 * LIMIT {
        // Behind the active ones' addresses.
        crowd.push(Client::number(1_000 + number, server.ip()));
        if number % 100 == 0 {
            for client in &mut active {
                assert!(client.ask(number as u16), "an active client is cut off, after {number} others");
            }
            most = most.max(server.connections());
        }
    }
    let expected = 10 + 3 * LIMIT;
    wait_until("the last arrival", SOON, || server.accepted() >= expected);
    most = most.max(server.connections());
    assert!(most <= LIMIT, "{most} connections");
    let descriptors = server.uses().descriptors;
    assert!(descriptors <= server.base().descriptors + LIMIT + SPARE, "{descriptors} descriptors");
    wait_until("the closed ones", SOON, || {
        crowd.iter().filter(|client| client.is_open()).count() <= LIMIT - active.len()
    });
    // Who came first has been idle longest; the newest are all there.
    assert!(crowd[..LIMIT].iter().all(|client| !client.is_open()), "the oldest are closed");
    assert!(crowd[3 * LIMIT - LIMIT / 2..].iter().all(Client::is_open), "the newest stay");
    assert!(active.iter_mut().all(|client| client.ask(7)), "the active ones stay");
    assert!(server.closed_for("evicted") >= 2 * LIMIT);
    honest.were_served();
    drop((crowd, active));
    server.recovers();
}

#[test]
fn one_address_with_a_thousand_connections_takes_its_own_places_only() {
    let server = Server::start(r#"max_connections = 500, idle = "120s""#);
    let honest = Honest::ask(server.ip());
    let mut others: Vec<Client> = (0..200).map(|number| Client::number(number, server.ip())).collect();
    let greedy: Vec<Client> = (0..1_000)
        .map(|_| Client::from([127, 9, 9, 9].into(), server.ip(), None).expect("a connection"))
        .collect();
    wait_until("all arrivals", SOON, || server.closed_for("evicted") >= 1_000 - 64);
    wait_until("the ends", SOON, || greedy.iter().filter(|client| client.is_open()).count() == 64);
    assert!(others.iter_mut().all(|client| client.ask(7)), "nobody else was closed");
    honest.were_served();
    drop((greedy, others));
    server.recovers();
}
