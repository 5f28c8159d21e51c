//! Many queries at once, over UDP, again over TCP where the answer says so.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::time::Duration;

use super::answer::Decoded;
use crate::harness::DNS_PORT;

/// How long one answer is waited for before the query is sent again.
const PATIENCE: Duration = Duration::from_secs(2);
/// Times that a query is sent.
const ATTEMPTS: usize = 4;

/// Longest message.
const MAX_MESSAGE_LEN: usize = 65_535;

/// What came back for one query.
pub(super) struct Reply {
    /// Length over UDP.
    pub(super) udp_len: usize,
    /// Whether it said that more is to be had over TCP.
    pub(super) truncated: bool,
    /// Length of the message that counts.
    pub(super) len: usize,
    /// The message that counts: over TCP, where the one over UDP was truncated.
    pub(super) decoded: Decoded,
}

/// A client of one server.
pub(super) struct Client {
    server: Ipv4Addr,
    udp: UdpSocket,
    tcp: Option<TcpStream>,
    buffer: Vec<u8>,
}

impl Client {
    pub(super) fn new(server: Ipv4Addr) -> Self {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        udp.connect((server, DNS_PORT)).unwrap();
        udp.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { server, udp, tcp: None, buffer: vec![0; MAX_MESSAGE_LEN] }
    }

    /// Sends these queries, for [`Self::receive`].
    pub(super) fn send(&self, queries: &[Vec<u8>]) {
        for query in queries {
            self.udp.send(query).unwrap();
        }
    }

    /// The replies to what was just sent, in the order of the queries; absent: none came, or none that is well-formed.
    pub(super) fn receive(&mut self, queries: &[Vec<u8>]) -> Vec<Option<Reply>> {
        let mut messages: Vec<Option<Vec<u8>>> = vec![None; queries.len()];
        let mut attempts = 1;
        while messages.iter().any(Option::is_none) {
            match self.udp.recv(&mut self.buffer) {
                Ok(len) => file(&self.buffer[..len], queries, &mut messages),
                Err(_) if attempts == ATTEMPTS => break,
                Err(_) => {
                    attempts += 1;
                    for (query, message) in queries.iter().zip(&messages) {
                        if message.is_none() {
                            self.udp.send(query).unwrap();
                        }
                    }
                }
            }
        }
        let decoded: Vec<_> = messages.into_iter().map(|message| decode(&message?)).collect();
        self.retry_truncated(queries, decoded)
    }

    fn retry_truncated(&mut self, queries: &[Vec<u8>], replies: Vec<Option<Reply>>) -> Vec<Option<Reply>> {
        let again = |reply: &Option<Reply>| reply.as_ref().is_some_and(|reply| reply.truncated);
        let retried: Vec<Vec<u8>> = (queries.iter().zip(&replies))
            .filter(|(_, reply)| again(reply))
            .map(|(query, _)| query.clone())
            .collect();
        if retried.is_empty() {
            return replies;
        }
        // A server may have closed the connection since.
        let full = self.over_tcp(&retried).or_else(|_| {
            self.tcp = None;
            self.over_tcp(&retried)
        });
        let mut full = full.unwrap_or_default().into_iter();
        let merge = |reply: Option<Reply>| {
            if !again(&reply) {
                return reply;
            }
            let full = decode(&full.next()??)?;
            Some(Reply { udp_len: reply?.udp_len, truncated: true, len: full.len, decoded: full.decoded })
        };
        replies.into_iter().map(merge).collect()
    }

    fn over_tcp(&mut self, queries: &[Vec<u8>]) -> io::Result<Vec<Option<Vec<u8>>>> {
        let stream = match &mut self.tcp {
            Some(stream) => stream,
            none @ None => {
                let stream = TcpStream::connect((self.server, DNS_PORT))?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                none.insert(stream)
            }
        };
        let framed: Vec<u8> = queries
            .iter()
            .flat_map(|query| [&(query.len() as u16).to_be_bytes()[..], query].concat())
            .collect();
        stream.write_all(&framed)?;
        let mut messages = vec![None; queries.len()];
        for _ in queries {
            let mut len = [0; 2];
            stream.read_exact(&mut len)?;
            let message = &mut self.buffer[..usize::from(u16::from_be_bytes(len))];
            stream.read_exact(message)?;
            file(message, queries, &mut messages);
        }
        Ok(messages)
    }
}

/// Puts a message where its query stands; one that belongs to an earlier batch is dropped.
fn file(message: &[u8], queries: &[Vec<u8>], messages: &mut [Option<Vec<u8>>]) {
    let place = queries.iter().position(|query| message.get(..2) == query.get(..2));
    if let Some(place) = place {
        messages[place] = Some(message.to_vec());
    }
}

fn decode(message: &[u8]) -> Option<Reply> {
    let decoded = Decoded::parse(message)?;
    Some(Reply { udp_len: message.len(), truncated: decoded.truncated, len: message.len(), decoded })
}
