//! No answer allocates or frees anything (RULES O3), also while snapshots are being swapped.

#[path = "sweeps/counting.rs"]
mod counting;
#[path = "../fuzz/packet.rs"]
#[allow(dead_code)]
mod packet;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use waypost::control::{Clock, Publisher, Snapshot};
use waypost::dns::{MAX_TCP_SIZE, Query, Settings, Transport, View, Worker, limit};
use waypost::health::Mono;
use waypost::serve::dnstap::{self, Exchange};
use waypost::serve::{Live, Responder as _};

use counting::watch;

/// Mixed queries that are answered.
const QUERIES: usize = 10_000;

fn mixed_queries() -> Vec<Vec<u8>> {
    let names = [
        "www", "v4", "cdn", "down", "many", "static", "to-www", "loop1", "x.wild", "nope", "x.big", "a.moved",
    ];
    let subnet = [0, 1, 24, 0, 192, 0, 2];
    let mut queries = vec![vec![0; 5], packet::query("outside.", 1, None), packet::query(".", 2, None)];
    for name in names.map(|name| format!("{name}.gslb.example.com")) {
        for qtype in [1, 28, 16, 255, 43] {
            queries.push(packet::query(&name, qtype, None));
            queries.push(packet::query(&name, qtype, Some(&subnet)));
            queries.push(packet::query(&name, qtype, Some(&subnet[..5]))); // malformed
            queries.push(packet::query_with(&name, qtype, 10, &packet::cookie()));
            queries.push(packet::query_with(&name, qtype, 10, &[7; 8]));
        }
    }
    queries
}

/// Every other one limits answers so tightly that all but the first are limited.
fn view(serial: u64) -> View {
    let view = packet::view(serial as u8);
    let rate_limit = serial.is_multiple_of(2).then(|| limit::Rule::new(1, 1, false, &[]));
    View { settings: Arc::new(Settings { rate_limit, ..(*view.settings).clone() }), ..view }
}

#[test]
fn ten_thousand_mixed_answers_allocate_and_free_nothing_while_snapshots_are_swapped() {
    let snapshot = |serial: u64| Snapshot { view: Some(view(serial)), ..Snapshot::nothing(serial) };
    let mut publisher = Publisher::new(snapshot(1));
    let mut reader = publisher.reader();
    // What a worker's thread has: the swap belongs to what is watched.
    let limits = Arc::new(limit::Table::new([1, 2, 3, 4]));
    let mut live = Live::new(publisher.reader(), Worker::limiting(limits));
    let done = AtomicBool::new(false);
    let queries = mixed_queries();
    let mut out = vec![0; MAX_TCP_SIZE];
    let (mut answered, mut noted, mut serials) = (0, 0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for serial in 2.. {
                publisher.publish(snapshot(serial));
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let mut last = 0;
        while answered < QUERIES || serials < 10 {
            let serial = reader.current().serial;
            serials += u64::from(serial != last);
            last = serial;
            for (number, bytes) in queries.iter().enumerate() {
                let transport = [Transport::Udp, Transport::Tcp][number % 2];
                let query = Query { bytes, peer: packet::peer(), transport, now: Mono(0), wall_s: 0 };
                noted += watch(|| {
                    live.refresh();
                    live.respond(query, &mut out);
                });
                answered += 1;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!((noted, serials >= 10), (0, true), "{answered} answers");
    assert!(watch(|| drop(vec![1])) >= 2, "the counting counts");
}

#[test]
fn telling_dnstap_allocates_and_frees_nothing_whether_the_queue_has_room_or_not() {
    let socket = "nobody-listens-here.sock".into();
    let settings = dnstap::Settings { socket, identity: "ns1".into(), version: "waypost".into() };
    let (mut taps, output) = dnstap::taps(settings, 1);
    let tap = taps.first_mut().unwrap();
    let (peer, local) = ("192.0.2.7:4711".parse().unwrap(), Some("192.0.2.53".parse().unwrap()));
    let clock = Clock::start();
    let mut noted = 0;
    for query in mixed_queries().iter().cycle().take(100_000) {
        noted += watch(|| {
            let (transport, answer) = (Transport::Udp, &query[..]);
            tap.record(&Exchange { transport, peer, local, port: 53, time: clock.wall(), query, answer });
        });
    }
    assert_eq!(noted, 0);
    assert!(output.counts().dropped() > 0, "some found no room");
}
