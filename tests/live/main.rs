//! The real program, started as an operator starts it: a folder with a configuration, zones, a geo file; asked over real
//! sockets; its endpoints real HTTP servers that can be told to fail.
//!
//! Each server has a loopback address of its own, so that tests run side by side on the usual ports. Nothing sleeps for a
//! fixed time: every wait is for a condition, with a deadline of several times the bound that is promised.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // The lints' exception for tests does not reach their helpers.

mod harness;

mod admin_file;
mod agreement;
mod dnstap;
mod doctor;
mod drains;
mod failover;
mod geo_files;
mod rate_limit;
mod reloads;
mod restarts;
mod shipped;
mod starts;
