//! The program: verbs and exit codes. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // One TLS provider for everybody. It can only be there already, and then it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    waypost::cli::run(std::env::args_os())
}
