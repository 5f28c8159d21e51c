//! TCP under abuse, against the real program: crowds, the slow, the deaf, resets, a shortage of descriptors.
//!
//! In every test honest clients ask throughout, over UDP, over new connections and over one that they keep, and each of
//! their queries must be answered within [`honest::DEADLINE`]. Afterwards descriptors are back at their base, and memory
//! near it. The tests run one after the other: each fills what the kernel and two cores have to give.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // The lints' exception for tests does not reach their helpers.

#[path = "../live/harness/mod.rs"]
#[allow(dead_code, unused_imports)] // Other binaries use the rest.
mod harness;

mod client;
mod honest;
mod server;

mod crowds;
mod descriptors;
mod oddities;
mod pipelines;
mod resets;
mod slowness;
