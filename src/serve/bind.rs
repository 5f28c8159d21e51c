//! Every socket, before anything starts: either all of them exist, or the error says what to do.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
#[cfg(all(target_os = "linux", not(portable_only)))]
use std::{num::NonZeroUsize, thread, time::Duration};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::config;

#[cfg(all(target_os = "linux", not(portable_only)))]
use super::udp;
use super::{dnstap, system};

/// Kernel buffer for datagrams not yet read, in bytes; what `net.core.rmem_max` allows of it is taken. Rides out a
/// worker that is off the processor for some 50 ms at 200,000 queries a second.
pub const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// How long an idle UDP worker sleeps in the kernel before it looks at the gate and lets old snapshots go.
#[cfg(all(target_os = "linux", not(portable_only)))]
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(250);

/// Connections that may wait in the kernel to be accepted.
pub const BACKLOG: i32 = 1024;

/// Kernel buffer for TCP answers on their way, of each connection, in bytes (Linux takes twice that, for what it needs
/// itself). Left to itself it grows to megabytes, which clients who never read would fill; this passes 600 KB a second
/// over a round trip of 200 ms.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// Ports tried for an address with port 0, until one is free for both protocols.
const PORT_ATTEMPTS: usize = 16;

/// The sockets of a server that has not begun to read them.
#[derive(Debug)]
pub struct Bound {
    pub(super) udp: Vec<UdpSocket>,
    pub(super) tcp: Vec<TcpListener>,
    pub(super) limits: config::Tcp,
    /// Absent: dnstap is off.
    pub(super) dnstap: Option<dnstap::Settings>,
    addrs: Vec<SocketAddr>,
}

impl Bound {
    /// Every query and answer of these sockets is told to a dnstap collector.
    #[must_use]
    pub fn tapped(self, settings: dnstap::Settings) -> Self {
        Self { dnstap: Some(settings), ..self }
    }

    /// The addresses as bound, in the order of the configuration; UDP and TCP have the same port.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }
}

/// Binds every listen address for UDP (one socket a worker) and TCP.
///
/// Errors: the first address that cannot be had.
pub fn bind(dns: &config::Dns) -> Result<Bound, BindError> {
    let workers = udp_workers(dns.udp_workers);
    let mut bound =
        Bound { udp: Vec::new(), tcp: Vec::new(), limits: dns.tcp, dnstap: None, addrs: Vec::new() };
    for &addr in &dns.listen {
        let (listener, sockets, addr) = bind_address(addr, workers)?;
        bound.tcp.push(listener);
        bound.udp.extend(sockets);
        bound.addrs.push(addr);
    }
    Ok(bound)
}

/// Which protocol an address could not be bound for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Proto {
    Udp,
    Tcp,
}

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    /// The address as configured.
    pub addr: SocketAddr,
    /// The protocol.
    pub proto: Proto,
    /// What the system said.
    pub source: io::Error,
}

impl BindError {
    /// What the operator can do about it; may be empty.
    pub fn hint(&self) -> String {
        let port = self.addr.port();
        match self.source.kind() {
            io::ErrorKind::AddrInUse => {
                format!("another program has this port; `ss -lnup -lntp 'sport = :{port}'` names it")
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need root or CAP_NET_BIND_SERVICE (systemd: \
                AmbientCapabilities=CAP_NET_BIND_SERVICE)"
                    .to_owned()
            }
            io::ErrorKind::AddrNotAvailable => {
                "this machine has no such address; `ip address` lists those it has".to_owned()
            }
            _ if self.addr.is_ipv6() && system::is_unsupported_family(&self.source) => {
                "IPv6 is switched off on this machine; leave this address out of dns.listen".to_owned()
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proto = match self.proto {
            Proto::Udp => "UDP",
            Proto::Tcp => "TCP",
        };
        write!(f, "cannot listen on {} ({proto}): {}", self.addr, self.source)?;
        let hint = self.hint();
        if hint.is_empty() { Ok(()) } else { write!(f, "; {hint}") }
    }
}

impl Error for BindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// TCP first: its bind notices another server of ours, which UDP's SO_REUSEPORT would let us share the port with.
fn bind_address(
    addr: SocketAddr,
    workers: usize,
) -> Result<(TcpListener, Vec<UdpSocket>, SocketAddr), BindError> {
    let mut attempts_left = if addr.port() == 0 { PORT_ATTEMPTS } else { 1 };
    loop {
        let (listener, chosen) =
            bind_tcp(addr).map_err(|source| BindError { addr, proto: Proto::Tcp, source })?;
        match (0..workers).map(|_| bind_udp(chosen)).collect::<io::Result<Vec<_>>>() {
            Ok(sockets) => return Ok((listener, sockets, chosen)),
            Err(source) => {
                attempts_left -= 1;
                if attempts_left == 0 || source.kind() != io::ErrorKind::AddrInUse {
                    return Err(BindError { addr, proto: Proto::Udp, source });
                }
            }
        }
    }
}

/// How many sockets share a port.
#[cfg(all(target_os = "linux", not(portable_only)))]
fn udp_workers(configured: usize) -> usize {
    match configured {
        0 => thread::available_parallelism().map_or(1, NonZeroUsize::get),
        workers => workers,
    }
}

/// One: elsewhere SO_REUSEPORT does not spread datagrams over sockets, it picks one of them.
#[cfg(any(not(target_os = "linux"), portable_only))]
const fn udp_workers(_configured: usize) -> usize {
    1
}

fn bind_tcp(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait for the connections of the run before to leave TIME_WAIT.
    socket.set_reuse_address(true)?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&SockAddr::from(addr))?;
    // Connections inherit it. Best effort: it only saves memory.
    let _ = socket.set_send_buffer_size(SEND_BUFFER_BYTES);
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let listener = TcpListener::from(socket);
    let chosen = listener.local_addr()?;
    Ok((listener, chosen))
}

fn bind_udp(addr: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Best effort: a server with small buffers still answers.
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
    prepare_udp(&socket, addr)?;
    socket.bind(&SockAddr::from(addr))?;
    Ok(socket.into())
}

/// For one thread a socket that blocks, and sends from the address that was asked.
#[cfg(all(target_os = "linux", not(portable_only)))]
fn prepare_udp(socket: &Socket, addr: SocketAddr) -> io::Result<()> {
    socket.set_reuse_port(true)?;
    // Best effort: a server that fragments still answers.
    let _ = udp::ignore_path_mtu(socket, addr);
    socket.set_read_timeout(Some(RECEIVE_TIMEOUT))?;
    if addr.ip().is_unspecified() {
        udp::report_destination(socket, addr)?;
    }
    Ok(())
}

/// For tasks, which must not block.
#[cfg(any(not(target_os = "linux"), portable_only))]
fn prepare_udp(socket: &Socket, addr: SocketAddr) -> io::Result<()> {
    if addr.ip().is_unspecified() {
        tracing::warn!(
            "UDP answers from {addr} leave from the address that the system chooses, on a machine with several maybe not \
             the one that was asked; list the addresses in dns.listen"
        );
    }
    socket.set_nonblocking(true)
}
