//! The real program, for what only sockets show.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use crate::ask::{Answer, Ask};
use crate::harness::{DNS_PORT, SOON, Site};

/// A running server with the zone `example.`: an address at `a`, as many texts at `big` as fill several datagrams.
pub(crate) fn site() -> Site {
    let site = Site::new();
    let texts: String = (0..60).map(|number| format!("big TXT \"{number:0>60}\"\n")).collect();
    let head = "$TTL 600\n@ SOA ns hostmaster 1 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.53\n";
    site.write("zones/example.zone", &format!("{head}a A 192.0.2.1\n{texts}"));
    site.started()
}

/// One query over UDP.
pub(crate) fn udp(server: Ipv4Addr, ask: &Ask) -> Answer {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.connect((server, DNS_PORT)).unwrap();
    socket.send(&ask.bytes()).unwrap();
    let mut bytes = vec![0; 65_535];
    let len = socket.recv(&mut bytes).unwrap();
    bytes.truncate(len);
    Answer::decode(bytes)
}

/// A connection over which messages are framed by their length (RFC 1035 4.2.2).
pub(crate) struct Tcp(TcpStream);

impl Tcp {
    pub(crate) fn connect(server: Ipv4Addr) -> Self {
        let stream = TcpStream::connect_timeout(&SocketAddr::from((server, DNS_PORT)), SOON).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    /// Sends bytes as they are.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, ask: &Ask) {
        self.send_raw(&framed(ask));
    }

    /// The next answer.
    pub(crate) fn receive(&mut self) -> Answer {
        let mut len = [0; 2];
        self.0.read_exact(&mut len).unwrap();
        let mut bytes = vec![0; usize::from(u16::from_be_bytes(len))];
        self.0.read_exact(&mut bytes).unwrap();
        Answer::decode(bytes)
    }

    pub(crate) fn ask(&mut self, ask: &Ask) -> Answer {
        self.send(ask);
        self.receive()
    }

    /// Tells the server that nothing more will be asked.
    pub(crate) fn half_close(&mut self) {
        self.0.shutdown(Shutdown::Write).unwrap();
    }

    /// Whether the server closes the connection, without a further byte, before the deadline.
    pub(crate) fn is_closed_within(&mut self, deadline: Duration) -> bool {
        self.0.set_read_timeout(Some(deadline)).unwrap();
        match self.0.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// The message behind its length.
pub(crate) fn framed(ask: &Ask) -> Vec<u8> {
    let bytes = ask.bytes();
    [&(bytes.len() as u16).to_be_bytes()[..], &bytes].concat()
}
