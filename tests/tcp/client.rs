//! Clients over TCP from any loopback address, and the bytes that they send.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::harness::{DNS_PORT, SOON, query_bytes};

/// Connections that one client may have, unless the configuration says otherwise.
pub(crate) const PER_CLIENT: usize = 64;

/// A connection, maybe a hostile one.
pub(crate) struct Client(TcpStream);

impl Client {
    /// The client with this number; [`PER_CLIENT`] consecutive numbers share an address of 127.64.0.0/10.
    pub(crate) fn number(number: usize, server: Ipv4Addr) -> Self {
        let host = 1 + (number / PER_CLIENT) as u32;
        let source = Ipv4Addr::from_bits(Ipv4Addr::new(127, 64, 0, 0).to_bits() + host);
        Self::from(source, server, None).expect("a connection")
    }

    /// From this address; `receive_bytes`: what the kernel keeps of answers that are not read.
    pub(crate) fn from(
        source: Ipv4Addr,
        server: Ipv4Addr,
        receive_bytes: Option<usize>,
    ) -> std::io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        if let Some(bytes) = receive_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind(&SocketAddr::from((source, 0)).into())?;
        socket.connect_timeout(&SocketAddr::from((server, DNS_PORT)).into(), SOON)?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(SOON))?;
        stream.set_write_timeout(Some(SOON))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        &mut self.0
    }

    pub(crate) fn set_nonblocking(&self) {
        self.0.set_nonblocking(true).unwrap();
    }

    /// Sends bytes; false: the server has closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// The next message; absent: the server has closed, or nothing came for [`SOON`].
    pub(crate) fn receive(&mut self) -> Option<Vec<u8>> {
        let mut prefix = [0; 2];
        self.0.read_exact(&mut prefix).ok()?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(prefix))];
        self.0.read_exact(&mut message).ok()?;
        Some(message)
    }

    /// Asks, and tells whether the answer to this very query came.
    pub(crate) fn ask(&mut self, id: u16) -> bool {
        self.send(&framed(&query(id))) && self.receive().is_some_and(|message| is_answer(&message, id))
    }

    /// Whether the server has closed: reads what there is, and waits at most `patience` for the end.
    pub(crate) fn is_closed_within(&mut self, patience: Duration) -> bool {
        self.0.set_nonblocking(false).unwrap();
        self.0.set_read_timeout(Some(patience)).unwrap();
        let mut bytes = [0; 4096];
        loop {
            match self.0.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => {
                    return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                }
            }
        }
    }

    /// Whether it is still open, at this moment.
    pub(crate) fn is_open(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let open = matches!(self.0.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        self.0.set_nonblocking(false).unwrap();
        open
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        SockRef::from(&self.0).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// The zone's static address record, asked for with this id and without EDNS.
pub(crate) fn query(id: u16) -> Vec<u8> {
    let mut bytes = query_bytes("static.gslb.example.com", 1, None);
    bytes[..2].copy_from_slice(&id.to_be_bytes());
    // No OPT record: as many queries as can be in as few bytes.
    bytes[11] = 0;
    bytes.truncate(bytes.len() - 11);
    bytes
}

/// The texts at `big`, some 12 KB of them.
pub(crate) fn big_query() -> Vec<u8> {
    query_bytes("big.gslb.example.com", 16, None)
}

/// A message behind its length.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

/// Whether it answers [`query`]: its id, QR, NOERROR, one record.
pub(crate) fn is_answer(message: &[u8], id: u16) -> bool {
    message.len() > 12
        && message[..2] == id.to_be_bytes()
        && message[2] & 0x80 != 0
        && message[3] & 0x0f == 0
        && message[6..8] == [0, 1]
}
