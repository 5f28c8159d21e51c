//! What the RFCs ask of an authoritative server, RFC by RFC, section by section.
//!
//! Most goes through [`waypost::dns::respond`], the function that every transport calls, and is decoded by a second
//! implementation (hickory-proto); where the transport itself is the matter, the real program is asked over sockets.
//! docs/conformance.md tells which test stands for which rule.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // The lints' exception for tests does not reach their helpers.

#[path = "../live/harness/mod.rs"]
#[allow(dead_code, unused_imports)] // Other binaries use the rest.
mod harness;

mod ask;
mod live;
mod options;
mod server;

mod rfc1034;
mod rfc1035;
mod rfc2136;
mod rfc2181;
mod rfc2308;
mod rfc3225;
mod rfc3596;
mod rfc3597;
mod rfc4035;
mod rfc4343;
mod rfc4592;
mod rfc4892;
mod rfc5001;
mod rfc5936;
mod rfc6604;
mod rfc6672;
mod rfc6891;
mod rfc7766;
mod rfc7828;
mod rfc7871;
mod rfc7873;
mod rfc8020;
mod rfc8482;
mod rfc8906;
mod rfc8914;
mod rfc8945;
mod rfc9018;
mod rfc9156;
mod rfc9210;
mod rfc9460;
mod rfc9471;
mod rfc9619;
