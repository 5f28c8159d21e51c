//! `waypost completions`.

use super::Said;
use super::args::{Args, Completions};

pub(super) fn run(args: &Completions) -> Said {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::definition(), "waypost", &mut script);
    Said::done(String::from_utf8_lossy(&script))
}
