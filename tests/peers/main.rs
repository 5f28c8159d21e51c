//! Waypost beside programs that others wrote: name servers that must give the same answers, resolvers that must get
//! along with it.
//!
//! The programs come from Debian packages (`tests/run.sh` installs them) and are started here, each on a loopback
//! address of its own, in a temporary folder; they end with the test. A program that is missing fails the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // The lints' exception for tests does not reach their helpers.

#[path = "../live/harness/mod.rs"]
#[allow(dead_code, unused_imports)] // Not everything that the other tests of the running program need.
mod harness;

mod differential;
mod random;
mod resolvers;
mod servers;
