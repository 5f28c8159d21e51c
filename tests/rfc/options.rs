//! Queries with options, and the options of answers, for tests that ask a running server.

use std::net::Ipv4Addr;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::opt::{EdnsCode, EdnsOption};

use crate::harness::{Site, WWW, exchange, query_bytes, tcp_exchange};

pub(crate) const COOKIE: u16 = 10;

/// The client's half of the tests' cookies.
pub(crate) const CLIENT: [u8; 8] = [0x24, 0x64, 0xc4, 0xab, 0xcf, 0x10, 0xc9, 0x57];

/// A query for the service's address with these options.
pub(crate) fn with_options(options: &[(u16, &[u8])]) -> Vec<u8> {
    add_options(query_bytes(WWW, 1, None), options)
}

/// A message without a question, with these options.
pub(crate) fn questionless(options: &[(u16, &[u8])]) -> Vec<u8> {
    let bytes = [&[0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0][..], &[0, 41, 4, 208, 0, 0, 0, 0, 0, 0]];
    add_options(bytes.concat(), options)
}

/// `query` ends in an OPT record without options; now it has some.
pub(crate) fn add_options(mut query: Vec<u8>, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut data = Vec::new();
    for (code, value) in options {
        data.extend([code.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat());
        data.extend_from_slice(value);
    }
    query.truncate(query.len() - 2);
    query.extend((data.len() as u16).to_be_bytes());
    query.extend(data);
    query
}

/// What came back.
pub(crate) struct Reply(pub(crate) Message);

impl Reply {
    pub(crate) fn rcode(&self) -> u16 {
        ResponseCode::into(self.0.metadata.response_code)
    }

    /// The data of the answer's option of that code.
    pub(crate) fn option(&self, code: u16) -> Option<Vec<u8>> {
        let edns = self.0.edns.as_ref()?;
        match edns.option(EdnsCode::from(code))? {
            EdnsOption::Unknown(_, data) => Some(data.clone()),
            other => Vec::try_from(other).ok(),
        }
    }

    pub(crate) fn cookie(&self) -> Option<Vec<u8>> {
        self.option(COOKIE)
    }

    pub(crate) fn has_addresses(&self) -> bool {
        !self.0.answers.is_empty()
    }
}

/// Asks over UDP.
pub(crate) fn udp(server: Ipv4Addr, query: &[u8]) -> Reply {
    Reply(exchange(server, query).expect("an answer").0)
}

/// Asks over TCP.
pub(crate) fn tcp(server: Ipv4Addr, query: &[u8]) -> Reply {
    Reply(tcp_exchange(server, query).expect("an answer").0)
}

/// The full cookie that a server gives to a client that comes for the first time.
pub(crate) fn fetch_cookie(server: Ipv4Addr) -> Vec<u8> {
    udp(server, &with_options(&[(COOKIE, &CLIENT)])).cookie().expect("a cookie")
}

/// A server whose `[dns]` table has these lines too, not started.
pub(crate) fn site_with(dns: &str) -> Site {
    let site = Site::new();
    let text =
        site.read("waypost.toml").replace("zones = \"zones\"\n", &format!("zones = \"zones\"\n{dns}\n"));
    site.write("waypost.toml", &text);
    site
}
