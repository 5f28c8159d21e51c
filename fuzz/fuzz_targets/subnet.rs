//! Any bytes as a client subnet option.

#![no_main]

#[path = "../options.rs"]
#[allow(dead_code)]
mod options;
#[path = "../packet.rs"]
#[allow(dead_code)]
mod packet;
#[path = "../worlds.rs"]
mod worlds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| worlds::with_worlds(|worlds| options::fuzz_subnet(worlds, data)));
