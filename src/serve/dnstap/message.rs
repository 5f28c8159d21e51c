//! dnstap messages in protocol buffers' wire format, as the schema `dnstap.proto` numbers them.
//!
//! Written by hand: fifteen fields, three wire types, and nothing is ever read.

use std::net::IpAddr;
use std::time::Duration;

use super::Exchange;
use crate::dns::Transport;

/// Field numbers of `Dnstap`.
mod outer {
    pub(super) const IDENTITY: u32 = 1;
    pub(super) const VERSION: u32 = 2;
    pub(super) const MESSAGE: u32 = 14;
    pub(super) const TYPE: u32 = 15;
}

/// Field numbers of `Message`.
mod inner {
    pub(super) const TYPE: u32 = 1;
    pub(super) const SOCKET_FAMILY: u32 = 2;
    pub(super) const SOCKET_PROTOCOL: u32 = 3;
    pub(super) const QUERY_ADDRESS: u32 = 4;
    pub(super) const RESPONSE_ADDRESS: u32 = 5;
    pub(super) const QUERY_PORT: u32 = 6;
    pub(super) const RESPONSE_PORT: u32 = 7;
    pub(super) const QUERY_TIME_SEC: u32 = 8;
    pub(super) const QUERY_TIME_NSEC: u32 = 9;
    pub(super) const QUERY_MESSAGE: u32 = 10;
    pub(super) const RESPONSE_TIME_SEC: u32 = 12;
    pub(super) const RESPONSE_TIME_NSEC: u32 = 13;
    pub(super) const RESPONSE_MESSAGE: u32 = 14;
}

/// `Dnstap.Type.MESSAGE`.
const IS_MESSAGE: u64 = 1;
/// `Message.Type`.
const AUTH_QUERY: u64 = 1;
const AUTH_RESPONSE: u64 = 2;
/// `SocketFamily`.
const INET: u64 = 1;
const INET6: u64 = 2;
/// `SocketProtocol`.
const UDP: u64 = 1;
const TCP: u64 = 2;

/// Wire types.
const VARINT: u32 = 0;
const LEN: u32 = 2;
const FIXED32: u32 = 5;

/// Writes messages in one server's name.
#[derive(Debug)]
pub(super) struct Encoder {
    /// Identity and version, encoded.
    preamble: Vec<u8>,
    /// The inner message, whose length comes before it.
    inner: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(identity: &str, version: &str) -> Self {
        let mut preamble = Vec::new();
        put_bytes(&mut preamble, outer::IDENTITY, identity.as_bytes());
        put_bytes(&mut preamble, outer::VERSION, version.as_bytes());
        Self { preamble, inner: Vec::new() }
    }

    /// Appends the query's message.
    pub(super) fn query(&mut self, exchange: &Exchange<'_>, out: &mut Vec<u8>) {
        self.begin(AUTH_QUERY, exchange);
        put_time(&mut self.inner, [inner::QUERY_TIME_SEC, inner::QUERY_TIME_NSEC], exchange.time);
        put_bytes(&mut self.inner, inner::QUERY_MESSAGE, exchange.query);
        self.finish(out);
    }

    /// Appends the answer's message. It has no query time: the two are the same, and would read as an answer in no
    /// time.
    pub(super) fn response(&mut self, exchange: &Exchange<'_>, out: &mut Vec<u8>) {
        self.begin(AUTH_RESPONSE, exchange);
        put_time(&mut self.inner, [inner::RESPONSE_TIME_SEC, inner::RESPONSE_TIME_NSEC], exchange.time);
        put_bytes(&mut self.inner, inner::RESPONSE_MESSAGE, exchange.answer);
        self.finish(out);
    }

    fn begin(&mut self, kind: u64, exchange: &Exchange<'_>) {
        let family = if exchange.peer.is_ipv6() { INET6 } else { INET };
        let protocol = match exchange.transport {
            Transport::Udp => UDP,
            Transport::Tcp => TCP,
        };
        self.inner.clear();
        put_number(&mut self.inner, inner::TYPE, kind);
        put_number(&mut self.inner, inner::SOCKET_FAMILY, family);
        put_number(&mut self.inner, inner::SOCKET_PROTOCOL, protocol);
        put_address(&mut self.inner, inner::QUERY_ADDRESS, exchange.peer.ip());
        if let Some(local) = exchange.local {
            put_address(&mut self.inner, inner::RESPONSE_ADDRESS, local);
        }
        put_number(&mut self.inner, inner::QUERY_PORT, exchange.peer.port().into());
        put_number(&mut self.inner, inner::RESPONSE_PORT, exchange.port.into());
    }

    fn finish(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.preamble);
        put_bytes(out, outer::MESSAGE, &self.inner);
        put_number(out, outer::TYPE, IS_MESSAGE);
    }
}

fn put_address(out: &mut Vec<u8>, field: u32, ip: IpAddr) {
    match ip {
        IpAddr::V4(v4) => put_bytes(out, field, &v4.octets()),
        IpAddr::V6(v6) => put_bytes(out, field, &v6.octets()),
    }
}

fn put_time(out: &mut Vec<u8>, [sec, nsec]: [u32; 2], time: Duration) {
    put_number(out, sec, time.as_secs());
    put_varint(out, (nsec << 3 | FIXED32).into());
    out.extend_from_slice(&time.subsec_nanos().to_le_bytes());
}

fn put_number(out: &mut Vec<u8>, field: u32, number: u64) {
    put_varint(out, (field << 3 | VARINT).into());
    put_varint(out, number);
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, (field << 3 | LEN).into());
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first, the eighth bit says that more follow.
fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
