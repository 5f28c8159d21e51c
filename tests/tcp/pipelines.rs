//! A million queries, each connection's all at once.

use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use waypost::control::Clock;

use crate::client::{Client, framed, is_answer, query};
use crate::honest::Honest;
use crate::server::Server;

/// Connections, one after the other on each of [`THREADS`].
const CONNECTIONS: usize = 1_000;

/// Queries on each: as many as a connection gets answered before it is closed.
const QUERIES: u16 = 1_000;

/// Clients at a time.
const THREADS: usize = 4;

#[test]
fn a_million_pipelined_queries_are_all_answered_in_order() {
    let server = Server::start("");
    let ip = server.ip();
    let honest = Honest::ask(ip);
    let clock = Clock::start();
    let queries: Arc<Vec<u8>> = Arc::new((0..QUERIES).flat_map(|id| framed(&query(id))).collect());
    let next = Arc::new(AtomicUsize::new(0));
    let askers: Vec<_> = (0..THREADS)
        .map(|_| {
            let (queries, next) = (Arc::clone(&queries), Arc::clone(&next));
            thread::spawn(move || {
                let mut answered = 0;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= CONNECTIONS {
                        return answered;
                    }
                    let mut client = Client::number(number, ip);
                    assert!(client.send(&queries));
                    read_all(client.stream());
                    answered += usize::from(QUERIES);
                }
            })
        })
        .collect();
    let answered: usize = askers.into_iter().map(|asker| asker.join().unwrap()).sum();
    assert_eq!(answered, 1_000_000);
    eprintln!("{answered} queries in {:?}", clock.elapsed());
    honest.were_served();
    server.recovers();
}

/// Reads the answers to all queries, in the queries' order, and then the end of the connection.
fn read_all(stream: impl Read) {
    let mut stream = BufReader::with_capacity(64 << 10, stream);
    let mut message = Vec::new();
    for id in 0..QUERIES {
        let mut prefix = [0; 2];
        stream.read_exact(&mut prefix).unwrap();
        message.resize(usize::from(u16::from_be_bytes(prefix)), 0);
        stream.read_exact(&mut message).unwrap();
        assert!(is_answer(&message, id), "query {id}: {message:?}");
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "after the last allowed query the connection ends");
}
