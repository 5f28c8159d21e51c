//! A small DNS client, decoding with hickory-proto, and a smaller one for HTTP.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use hickory_proto::op::Message;
use hickory_proto::rr::RData;
use hickory_proto::rr::rdata::opt::{EdnsCode, EdnsOption};

use super::{ADMIN_PORT, DNS_PORT};

const PATIENCE: Duration = Duration::from_secs(3);

/// A client subnet: address and length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ecs(pub(crate) IpAddr, pub(crate) u8);

impl Ecs {
    pub(crate) const fn v4(a: u8, b: u8, c: u8, d: u8, len: u8) -> Self {
        Self(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), len)
    }
}

impl std::fmt::Display for Ecs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

/// An answer, decoded.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) Message);

impl Answer {
    /// Addresses, sorted: the order rotates.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let mut addresses: Vec<IpAddr> = (self.0.answers.iter())
            .filter_map(|record| match &record.data {
                RData::A(a) => Some(IpAddr::V4(a.0)),
                RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
                _ => None,
            })
            .collect();
        addresses.sort();
        addresses.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn ttl(&self) -> u32 {
        self.0.answers.first().map_or(0, |record| record.ttl)
    }

    pub(crate) fn scope(&self) -> Option<u8> {
        match self.0.edns.as_ref()?.option(EdnsCode::Subnet)? {
            EdnsOption::Subnet(subnet) => Some(subnet.scope_prefix()),
            _ => None,
        }
    }
}

/// A query with an OPT record.
pub(crate) fn query_bytes(name: &str, qtype: u16, client: Option<Ecs>) -> Vec<u8> {
    let mut bytes = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    // The root has no labels.
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend(qtype.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0]);
    let option = client.map_or(Vec::new(), |Ecs(addr, len)| {
        let shown = usize::from(len.div_ceil(8));
        let (family, octets) = match addr {
            IpAddr::V4(addr) => (1, addr.octets().to_vec()),
            IpAddr::V6(addr) => (2, addr.octets().to_vec()),
        };
        let mut option = vec![0, 8, 0, 4 + shown as u8, 0, family, len, 0];
        option.extend(octets.into_iter().take(shown));
        option
    });
    bytes.extend((option.len() as u16).to_be_bytes());
    bytes.extend(option);
    bytes
}

/// One query over UDP, asked again once: loopback loses nothing, but a server may just be starting.
pub(crate) fn exchange(server: Ipv4Addr, query: &[u8]) -> Option<Answer> {
    exchange_from(Ipv4Addr::LOCALHOST, server, query)
}

/// The same, from this address.
pub(crate) fn exchange_from(source: Ipv4Addr, server: Ipv4Addr, query: &[u8]) -> Option<Answer> {
    let socket = UdpSocket::bind((source, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect((server, DNS_PORT)).unwrap();
    for _ in 0..2 {
        // A refused port shows up at the next call.
        if socket.send(query).is_err() {
            continue;
        }
        let mut bytes = [0; 4096];
        if let Ok(len) = socket.recv(&mut bytes) {
            return Some(Answer(Message::from_vec(&bytes[..len]).unwrap()));
        }
    }
    None
}

/// One query over TCP.
pub(crate) fn tcp_exchange(server: Ipv4Addr, query: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((server, DNS_PORT)), PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut framed = (query.len() as u16).to_be_bytes().to_vec();
    framed.extend(query);
    stream.write_all(&framed).ok()?;
    let mut len = [0; 2];
    stream.read_exact(&mut len).ok()?;
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(len))];
    stream.read_exact(&mut bytes).ok()?;
    Some(Answer(Message::from_vec(&bytes).unwrap()))
}

/// Status and body; absent when nobody answers.
pub(crate) fn http_get(server: Ipv4Addr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((server, ADMIN_PORT)), PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}
