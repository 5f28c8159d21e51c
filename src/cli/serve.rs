//! `waypost serve`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Exit, Failure, say};

/// Runs the server.
pub fn run(config: Option<PathBuf>) -> ExitCode {
    let _ = config;
    say(Err(Failure::new(Exit::UNUSABLE, "`serve` is not connected yet")), false).into()
}
