//! A way to a server on which somebody looks at every query.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use hickory_proto::op::Message;

use crate::harness::DNS_PORT;

/// Longer than any datagram of these tests.
const LONGEST: usize = 4096;

/// Port 53 of an address, from where datagrams are passed on to a server and its answers back, one after the other.
pub(super) struct Watcher {
    ip: Ipv4Addr,
    names: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(super) fn start(ip: Ipv4Addr, server: Ipv4Addr) -> Self {
        let here = UdpSocket::bind((ip, 53)).unwrap();
        let there = UdpSocket::bind((ip, 0)).unwrap();
        there.connect((server, DNS_PORT)).unwrap();
        there.set_read_timeout(Some(crate::harness::SOON)).unwrap();
        let (names, stop) = (Arc::default(), Arc::default());
        let (seen, stopped) = (Arc::clone(&names), Arc::clone(&stop));
        let thread = std::thread::spawn(move || pass_on(&here, &there, &seen, &stopped));
        Self { ip, names, stop, thread: Some(thread) }
    }

    /// The names asked for since the last call, in order, letters as they came.
    pub(super) fn take_names(&self) -> Vec<String> {
        std::mem::take(&mut *self.names.lock().unwrap())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that receives.
        let _ = UdpSocket::bind((self.ip, 0)).and_then(|socket| socket.send_to(&[], (self.ip, 53)));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn pass_on(here: &UdpSocket, there: &UdpSocket, names: &Mutex<Vec<String>>, stop: &AtomicBool) {
    let mut bytes = [0; LONGEST];
    while let Ok((len, client)) = here.recv_from(&mut bytes) {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        if let Ok(query) = Message::from_vec(&bytes[..len]) {
            names.lock().unwrap().extend(query.queries.iter().map(|question| question.name().to_string()));
        }
        let _ = there.send(&bytes[..len]);
        if let Ok(len) = there.recv(&mut bytes) {
            let _ = here.send_to(&bytes[..len], client);
        }
    }
}
