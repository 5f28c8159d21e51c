//! Any bytes as the data of one EDNS option, in a query that is good otherwise.

use crate::packet::{self, COOKIE, SUBNET, World};

/// Longest data that is tried, in bytes: no option that is known here is longer.
const MAX_DATA: usize = 512;

/// Names to ask for: a service, an alias that leads to one, static data, nothing.
const NAMES: [&str; 4] = ["www", "to-www", "static", "nothing"];

/// Sends `data` as a client subnet (RFC 7871).
pub(crate) fn fuzz_subnet(worlds: &mut [World], data: &[u8]) {
    fuzz_option(worlds, SUBNET, data);
}

/// Sends `data` as a cookie (RFC 7873), with a question and without.
pub(crate) fn fuzz_cookie(worlds: &mut [World], data: &[u8]) {
    fuzz_option(worlds, COOKIE, data);
    packet::fuzz_packet(worlds, &packet::fetch(&data[..data.len().min(MAX_DATA)]));
}

fn fuzz_option(worlds: &mut [World], code: u16, data: &[u8]) {
    let data = &data[..data.len().min(MAX_DATA)];
    for name in NAMES {
        let bytes = packet::query_with(&format!("{name}.gslb.example.com"), 1, code, data);
        packet::fuzz_packet(worlds, &bytes);
    }
}
