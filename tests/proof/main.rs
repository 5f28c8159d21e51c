//! What is served, what is explained, what is recorded and what is computed again are one thing.
//!
//! Everything here goes through [`waypost::dns::respond`], the function that the sockets call, and is decoded by a
//! second implementation.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // The lints' exception for tests does not reach their helpers.

mod amplification;
mod day;

mod ecs_cases;
mod explain;
mod replay;
mod scope;
mod world;
