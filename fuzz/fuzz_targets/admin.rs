//! Any bytes as `admin.toml`.

#![no_main]

#[path = "../files.rs"]
#[allow(dead_code)]
mod files;
#[path = "../packet.rs"]
#[allow(dead_code)]
mod packet;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| files::fuzz_admin(data));
