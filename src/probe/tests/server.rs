//! A loopback server with bad manners.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What it does once it has heard a request's head.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// Says this and closes.
    Say(String),
    /// Says this and keeps the connection.
    SayAndHold(String),
    /// Says this, and then `x` without end.
    Forever(String),
    /// Says this, too slowly.
    Trickle(String),
    /// Says nothing.
    Silent,
    /// Closes.
    HangUp,
    /// Ends its own side only.
    HalfClose,
    /// Resets the connection.
    Reset,
}

#[derive(Debug, Default)]
struct Seen {
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    heard: Mutex<Vec<Vec<u8>>>,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, manner.clone(), Arc::clone(&shared)));
            }
        });
        Self { address, seen, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// The most connections that were open at one time.
    pub(crate) fn most_open(&self) -> usize {
        self.seen.most_open.load(Ordering::SeqCst)
    }

    /// Waits until no connection is open.
    pub(crate) async fn until_all_closed(&self) {
        let closed = async {
            while self.seen.open.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), closed).await.expect("all connections close");
    }

    /// What each connection has sent, in the order of their coming.
    pub(crate) fn requests(&self) -> Vec<String> {
        let heard = self.seen.heard.lock().unwrap();
        heard.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    /// What the first connection has sent, once that is enough.
    pub(crate) async fn heard_until(&self, enough: impl Fn(&str) -> bool) -> String {
        let heard = async {
            loop {
                match self.requests().first() {
                    Some(heard) if enough(heard) => return heard.clone(),
                    _ => tokio::task::yield_now().await,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), heard).await.expect("heard enough")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address of this machine where nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

async fn serve(mut stream: TcpStream, manner: Manner, seen: Arc<Seen>) {
    let number = {
        let mut heard = seen.heard.lock().unwrap();
        heard.push(Vec::new());
        heard.len() - 1
    };
    seen.connections.fetch_add(1, Ordering::SeqCst);
    let open = seen.open.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most_open.fetch_max(open, Ordering::SeqCst);
    // A peer that goes away is no matter.
    let _gone = answer(&mut stream, manner, &seen, number).await;
    seen.open.fetch_sub(1, Ordering::SeqCst);
}

async fn answer(stream: &mut TcpStream, manner: Manner, seen: &Seen, number: usize) -> std::io::Result<()> {
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).await?;
        let mut heard = seen.heard.lock().unwrap();
        heard[number].extend(&chunk[..count]);
        let is_head = heard[number].windows(4).any(|window| window == b"\r\n\r\n");
        let is_tls = heard[number].first() == Some(&0x16);
        if count == 0 || is_head || is_tls {
            break;
        }
    }
    match manner {
        Manner::Say(text) => stream.write_all(text.as_bytes()).await?,
        Manner::SayAndHold(text) => {
            stream.write_all(text.as_bytes()).await?;
            until_closed(stream).await;
        }
        Manner::Forever(text) => {
            stream.write_all(text.as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
        Manner::Trickle(text) => {
            for byte in text.bytes() {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Manner::Silent => until_closed(stream).await,
        Manner::HangUp => {}
        Manner::HalfClose => {
            stream.shutdown().await?;
            until_closed(stream).await;
        }
        Manner::Reset => {
            socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO))?;
        }
    }
    Ok(())
}

async fn until_closed(stream: &mut TcpStream) {
    let mut chunk = [0; 4096];
    while matches!(stream.read(&mut chunk).await, Ok(1..)) {}
}
