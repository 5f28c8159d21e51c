//! Any bytes as a cookie option.

#![no_main]

#[path = "../options.rs"]
#[allow(dead_code)]
mod options;
#[path = "../packet.rs"]
#[allow(dead_code)]
mod packet;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use waypost::dns::{View, Worker};

thread_local! {
    static WORLD: RefCell<(View, Worker)> = RefCell::new((packet::view(0), Worker::new()));
}

fuzz_target!(|data: &[u8]| {
    WORLD.with_borrow_mut(|(view, worker)| options::fuzz_cookie(view, worker, data));
});
