//! An HTTP endpoint on loopback that does as it is told.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How an endpoint answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behave {
    /// 200.
    Well,
    /// 503.
    Badly,
    /// Takes the connection and says nothing.
    Hang,
}

pub(crate) struct Endpoint {
    pub(crate) ip: Ipv4Addr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    behave: AtomicU8,
    hits: AtomicU64,
    stop: AtomicBool,
}

impl Endpoint {
    /// Answers well on port 8080 of this address.
    pub(crate) fn start(ip: Ipv4Addr) -> Self {
        let listener = TcpListener::bind((ip, 8080)).unwrap();
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(&listener, &served));
        Self { ip, shared, thread: Some(thread) }
    }

    pub(crate) fn behave(&self, behave: Behave) {
        self.shared.behave.store(behave as u8, Ordering::SeqCst);
    }

    /// Requests so far.
    pub(crate) fn hits(&self) -> u64 {
        self.shared.hits.load(Ordering::SeqCst)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect((self.ip, 8080));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Shared) {
    // Held open so that whoever waits for an answer waits.
    let mut hanging = Vec::new();
    while let Ok((mut stream, _)) = listener.accept() {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        shared.hits.fetch_add(1, Ordering::SeqCst);
        let line = match shared.behave.load(Ordering::SeqCst) {
            0 => "200 OK",
            1 => "503 Service Unavailable",
            _ => {
                hanging.push(stream);
                continue;
            }
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = stream.read(&mut [0; 2048]);
        let answer = format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
        let _ = stream.write_all(answer.as_bytes());
        let _ = stream.shutdown(Shutdown::Both);
    }
}
