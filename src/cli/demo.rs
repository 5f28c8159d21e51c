//! `waypost demo`.

use std::process::ExitCode;

use super::args::Demo;
use super::{Exit, Failure, say};

/// Runs the demo, or breaks and mends the regions of the one that runs at `server`.
pub fn run(args: &Demo, server: Option<&str>) -> ExitCode {
    let _ = (args, server);
    say(Err(Failure::new(Exit::UNUSABLE, "`demo` is not connected yet")), false).into()
}
