//! Every query there can be, one axis at a time over its whole range, then many at once: always a legal answer
//! (`fuzz/legal.rs` says what that is), and one that a second implementation decodes. What the fuzzer found is asked
//! again, and what an answer may cost in stack and instructions is measured.

#![allow(clippy::unwrap_used, clippy::expect_used)] // The lint's exception for tests does not reach their helpers.

mod axes;
mod combinations;
mod corpus;
mod counting;
#[path = "../../fuzz/files.rs"]
mod files;
mod hostile;
#[cfg(not(debug_assertions))]
mod instructions;
mod memory;
#[path = "../../fuzz/options.rs"]
mod options;
#[path = "../../fuzz/packet.rs"]
#[allow(dead_code)] // others use the rest
mod packet;
#[path = "../peers/random.rs"]
#[allow(dead_code)] // others use the rest
mod random;
mod world;
