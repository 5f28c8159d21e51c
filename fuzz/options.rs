//! Any bytes as the data of one EDNS option, in a query that is good otherwise.

use waypost::dns::{View, Worker};

use crate::packet;

/// Option codes (IANA, "DNS EDNS0 Option Codes").
pub(crate) const SUBNET: u16 = 8;
pub(crate) const COOKIE: u16 = 10;

/// Longest data that is tried, in bytes: no option that is known here is longer.
const MAX_DATA: usize = 512;

/// Names to ask for: a service, an alias that leads to one, static data, nothing.
const NAMES: [&str; 4] = ["www", "to-www", "static", "nothing"];

/// Sends `data` as a client subnet (RFC 7871).
pub(crate) fn fuzz_subnet(view: &View, worker: &mut Worker, data: &[u8]) {
    fuzz_option(view, worker, SUBNET, data);
}

/// Sends `data` as a cookie (RFC 7873), with a question and without.
pub(crate) fn fuzz_cookie(view: &View, worker: &mut Worker, data: &[u8]) {
    fuzz_option(view, worker, COOKIE, data);
    packet::fuzz_packet(view, worker, &query_with("", COOKIE, &data[..data.len().min(MAX_DATA)]));
}

fn fuzz_option(view: &View, worker: &mut Worker, code: u16, data: &[u8]) {
    let data = &data[..data.len().min(MAX_DATA)];
    for name in NAMES {
        packet::fuzz_packet(view, worker, &query_with(&format!("{name}.gslb.example.com"), code, data));
    }
}

/// A query of type A with one option; without a question when the name is empty.
pub(crate) fn query_with(name: &str, code: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 7, 1, 0, 0, u8::from(!name.is_empty()), 0, 0, 0, 0, 0, 1];
    if !name.is_empty() {
        bytes.extend(packet::wire(name));
        bytes.extend([0, 1, 0, 1]);
    }
    let len = data.len() as u16;
    bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0]);
    bytes.extend([(len + 4).to_be_bytes(), code.to_be_bytes(), len.to_be_bytes()].concat());
    bytes.extend_from_slice(data);
    bytes
}
