//! Names to addresses, and the `tcp` probe: does anybody take the call?

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::finding::{Finding, Seen};
use super::steps::Steps;

/// Lookups at the same time. The system's resolver blocks a thread until it gives up, long after the probe has; while
/// DNS is down this many threads hang, and not all that the runtime has for reading files.
const MAX_LOOKUPS: usize = 16;

/// Addresses of one name that are tried, one after the other: a probe holds one connection at a time.
const MAX_ADDRESSES: usize = 4;

/// The system's resolver, with a bound on how many threads it may hold.
#[derive(Debug)]
pub(super) struct Resolver {
    slots: Arc<Semaphore>,
}

impl Resolver {
    pub(super) fn new() -> Self {
        Self { slots: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }

    /// The addresses of `host`, at least one; an address, bracketed or not, is its own. A name that does not resolve
    /// is unknown: it says that the prober cannot look.
    pub(super) async fn resolve(
        &self,
        host: &str,
        port: u16,
        steps: &mut Steps,
    ) -> Result<Vec<SocketAddr>, Finding> {
        if let Some(address) = literal(host) {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        steps.begin("resolve");
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let name = host.to_owned();
        let lookup = tokio::task::spawn_blocking(move || {
            let found = (name.as_str(), port).to_socket_addrs();
            // Given back only now: the thread is taken until the resolver returns, also when nobody waits any more.
            drop(slot);
            found.map(|addresses| addresses.take(MAX_ADDRESSES).collect::<Vec<_>>())
        });
        match lookup.await {
            Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
            Ok(Err(error)) => Err(Finding::unknown(format!("cannot resolve `{host}`: {error}"))),
            Ok(Ok(_)) | Err(_) => Err(Finding::unknown(format!("cannot resolve `{host}`"))),
        }
    }
}

/// The address that a host is, if it is one.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

/// Runs a `tcp` probe against `host:port`.
pub(super) async fn look(resolver: &Resolver, target: &str, steps: &mut Steps) -> Seen {
    let (host, port) =
        host_and_port(target).ok_or_else(|| Finding::unknown(format!("`{target}` is not host:port")))?;
    let addresses = resolver.resolve(host, port, steps).await?;
    steps.begin("connect");
    let mut last = Err(Finding::unknown(format!("cannot resolve `{host}`")));
    for address in addresses {
        last = connect(address).await.map_err(|error| Finding::of_network(&error));
        if last.is_ok() {
            break;
        }
    }
    last
}

async fn connect(address: SocketAddr) -> io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    // A connection to a local port that nobody listens on can meet itself, when the system happens to call from that
    // very port (RFC 9293 3.5, simultaneous open).
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}

fn host_and_port(target: &str) -> Option<(&str, u16)> {
    let (host, port) = target.rsplit_once(':')?;
    let bare_v6 = host.contains(':') && !host.starts_with('[');
    if host.is_empty() || bare_v6 { None } else { Some((host, port.parse().ok().filter(|&port| port > 0)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_not_looked_up_bracketed_or_not() {
        for host in ["192.0.2.1", "2001:db8::1", "[2001:db8::1]"] {
            assert!(literal(host).is_some(), "{host}");
        }
        assert_eq!(literal("localhost"), None);
    }

    #[test]
    fn host_and_port_are_told_apart() {
        assert_eq!(host_and_port("db:5432"), Some(("db", 5432)));
        assert_eq!(host_and_port("[2001:db8::1]:80"), Some(("[2001:db8::1]", 80)));
        for wrong in ["db", ":80", "db:", "db:0", "db:65536", "2001:db8::1", "2001:db8::1:80", "db:-1"] {
            assert_eq!(host_and_port(wrong), None, "{wrong}");
        }
    }
}
