//! Clients that write a byte a second, and clients that ask and never read.

use std::io::Write as _;
use std::time::Duration;

use waypost::control::Clock;

use crate::client::{Client, PER_CLIENT, big_query, framed, query};
use crate::harness::wait_until;
use crate::honest::Honest;
use crate::server::Server;

/// Three times the two seconds in which a message must arrive, or pending answers be taken.
const CUT: Duration = Duration::from_secs(6);

/// Slow clients of each kind.
const SLOW: usize = 500;

/// Memory that clients can make the server take, all together, in KiB: half again the 32 MiB that half messages and
/// answers not taken may have. The allocator may keep it, for the next of their kind.
const HELD_KIB: u64 = 48 << 10;

#[test]
fn who_writes_a_byte_a_second_is_cut_off() {
    let server = Server::start(r#"idle = "120s""#);
    let honest = Honest::ask(server.ip());
    let message = framed(&query(1));
    let mut slow: Vec<Client> = (0..SLOW).map(|number| Client::number(number, server.ip())).collect();
    let clock = Clock::start();
    let mut written = 0;
    wait_until("the cut of all slow writers", CUT, || {
        if clock.elapsed() >= Duration::from_secs(written as u64) {
            for client in &mut slow {
                client.send(&message[written..=written]);
            }
            written += 1;
        }
        server.closed_for("slow_writer") == SLOW
    });
    assert!(slow.iter_mut().all(|client| client.is_closed_within(CUT)));
    assert!(written < message.len(), "nobody was cut off behind a whole message");
    honest.were_served();
    server.recovers();
}

#[test]
fn long_messages_that_stop_short_of_their_end_fill_no_memory() {
    let server = Server::start(r#"idle = "120s""#);
    let honest = Honest::ask(server.ip());
    let mut most = 0;
    let mut long = vec![0xff; 60_000];
    long[2..14].copy_from_slice(&query(1)[..12]);
    let mut clients: Vec<Client> = (0..4 * SLOW).map(|number| Client::number(number, server.ip())).collect();
    for client in &mut clients {
        client.set_nonblocking();
        let _ = client.stream().write(&long);
    }
    wait_until("the cut of all", CUT, || {
        most = most.max(server.uses().memory_kib.saturating_sub(server.base().memory_kib));
        server.closed_for("slow_writer") + server.closed_for("memory") == clients.len()
    });
    let cut = server.closed_for("memory");
    eprintln!("{} messages of 60,000 bytes: at most {most} KiB, {cut} cut off for that", clients.len());
    assert!(most <= HELD_KIB, "{most} KiB");
    honest.were_served();
    drop(clients);
    server.recovers_but_for(HELD_KIB);
}

#[test]
fn who_asks_for_much_and_never_reads_is_cut_off_and_fills_no_memory() {
    let server = Server::start(r#"idle = "120s""#);
    let honest = Honest::ask(server.ip());
    let queries = framed(&big_query()).repeat(200);
    let mut most = 0;
    let mut deaf: Vec<Client> = (0..4 * SLOW)
        .map(|number| {
            let source = [127, 10, 0, 1 + (number / PER_CLIENT) as u8].into();
            Client::from(source, server.ip(), Some(4_096)).expect("a connection")
        })
        .collect();
    for client in &mut deaf {
        client.set_nonblocking();
        let _ = client.stream().write(&queries);
    }
    wait_until("the cut of all", CUT, || {
        let now = server.uses();
        most = most.max(now.memory_kib.saturating_sub(server.base().memory_kib));
        server.closed_for("slow_reader") + server.closed_for("memory") == deaf.len()
    });
    let cut = server.closed_for("memory");
    eprintln!("{} who never read: at most {most} KiB, {cut} cut off for that", deaf.len());
    assert!(most <= HELD_KIB, "{most} KiB");
    honest.were_served();
    drop(deaf);
    server.recovers_but_for(HELD_KIB);
}
