//! Any bytes as a query.

#![no_main]

#[path = "../packet.rs"]
#[allow(dead_code)]
mod packet;
#[path = "../worlds.rs"]
mod worlds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| worlds::with_worlds(|worlds| packet::fuzz_packet(worlds, data)));
