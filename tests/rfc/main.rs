//! What the RFCs ask for: a file each, tests named by section.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // The lints' exception for tests does not reach their helpers.

#[path = "../live/harness/mod.rs"]
#[allow(dead_code, unused_imports)]
mod harness;

mod options;

mod rfc4892;
mod rfc7873;
mod rfc8914;
mod rfc9018;
