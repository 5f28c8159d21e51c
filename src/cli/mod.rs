//! The command line: one file a verb. A verb says what it has to say as a value; only [`run`] prints.

pub mod args;
mod check;
mod client;
mod completions;
mod demo;
mod doctor;
mod explain;
mod geo;
pub mod node;
mod offline;
pub mod operator;
mod orders;
mod pressure;
mod preview;
mod probe;
pub mod probing;
mod reload;
mod replay;
pub mod serve;
mod status;
mod table;
mod tapped;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use args::{Args, Verb};

/// Where a configuration is looked for when none is named, in this order.
pub const CONFIG_PATHS: [&str; 2] = ["waypost.toml", "/etc/waypost/waypost.toml"];

/// An exit code. The meanings are the same for every verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    /// It is done.
    pub const DONE: Self = Self(0);
    /// Looked, and found bad: invalid, unhealthy, different, not served.
    pub const BAD: Self = Self(1);
    /// The command makes no sense.
    pub const USAGE: Self = Self(2);
    /// The server can't be reached.
    pub const UNREACHABLE: Self = Self(3);
    /// Not permitted.
    pub const NOT_PERMITTED: Self = Self(4);
    /// The guard refuses.
    pub const GUARD: Self = Self(7);
    /// The configuration can't be used at start.
    pub const UNUSABLE: Self = Self(78);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// What a verb has to say on standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    out: String,
    /// For standard error: what to know beside the result.
    notes: Vec<String>,
    exit: Exit,
}

impl Said {
    fn done(out: impl Into<String>) -> Self {
        Self { out: out.into(), notes: Vec::new(), exit: Exit::DONE }
    }
}

/// Why a verb could not do what it should.
#[derive(Clone, Debug, PartialEq)]
struct Failure {
    exit: Exit,
    /// What is wrong, and where.
    text: String,
    /// What to do about it; may be empty.
    hint: String,
    /// What the server said, for `--json`.
    document: Option<Value>,
}

impl Failure {
    fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self { exit, text: text.into(), hint: String::new(), document: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// What every verb may need to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Context {
    config: Option<PathBuf>,
    server: Option<String>,
    json: bool,
}

impl Context {
    /// The configuration's path: the one that was named, or the first one that is there.
    ///
    /// Errors: none was named, and none is there.
    fn config_path(&self) -> Result<PathBuf, Failure> {
        let there = || CONFIG_PATHS.iter().map(PathBuf::from).find(|path| path.exists());
        self.config.clone().or_else(there).ok_or_else(|| {
            let text =
                format!("there is no configuration: neither {} nor {}", CONFIG_PATHS[0], CONFIG_PATHS[1]);
            Failure::new(Exit::BAD, text).hint("name one: --config FILE")
        })
    }
}

/// Runs the verb that these arguments (the program's name first) ask for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::read(arguments) {
        Ok(args) => args,
        // Help and version are no errors; they go to standard output.
        Err(error) if !error.use_stderr() => {
            let _ = error.print();
            return Exit::DONE.into();
        }
        Err(error) => {
            let _ = write!(io::stderr(), "{}", usage_text(&error));
            return Exit::USAGE.into();
        }
    };
    let context = Context { config: args.config, server: args.server, json: args.json };
    match args.verb {
        Verb::Serve => serve::run(&context),
        Verb::Demo(demo) => demo::run(&context, &demo),
        verb => say(perform(&context, verb), context.json).into(),
    }
}

/// A usage error, begun as every error is that a verb tells.
fn usage_text(error: &clap::Error) -> String {
    let text = error.to_string();
    match text.strip_prefix("error: ") {
        Some(rest) => format!("waypost: {rest}"),
        None => text,
    }
}

/// Carries out a verb that ends by itself.
fn perform(context: &Context, verb: Verb) -> Result<Said, Failure> {
    match verb {
        Verb::Check => check::run(context),
        Verb::Explain(explain) => explain::run(context, &explain),
        Verb::Status(status) => status::run(context, &status),
        Verb::Drain(drain) => orders::drain(context, drain),
        Verb::Undrain(undo) => orders::undrain(context, undo),
        Verb::Force(force) => orders::force(context, force),
        Verb::Unforce(undo) => orders::unforce(context, undo),
        Verb::Release(release) => orders::release(context, release),
        Verb::Probe(probe) => probe::run(context, probe),
        Verb::Reload(reload) => reload::run(context, &reload),
        Verb::Replay(replay) => replay::run(context, &replay),
        Verb::Geo(geo) => geo::run(context, &geo),
        Verb::Doctor(doctor) => doctor::run(context, &doctor),
        Verb::Completions(completions) => Ok(completions::run(&completions)),
        // These two run until they are told to end, and print as they go.
        Verb::Serve | Verb::Demo(_) => Ok(Said::done("")),
    }
}

/// Prints what a verb has to say. A reader that went away (`waypost status | head`) is no error.
fn say(said: Result<Said, Failure>, json: bool) -> Exit {
    let (out, notes, exit) = match said {
        Ok(said) => (said.out, said.notes, said.exit),
        Err(failure) => {
            let mut notes = vec![format!("waypost: {}", failure.text)];
            if !failure.hint.is_empty() {
                notes.push(format!("  hint: {}", failure.hint));
            }
            let here = || json!({ "title": "error", "detail": failure.text, "hint": failure.hint });
            let document = json.then(|| failure.document.clone().unwrap_or_else(here));
            let document = document.map(|document| format!("{document}\n"));
            (document.unwrap_or_default(), notes, failure.exit)
        }
    };
    for note in notes {
        // There is nowhere left to complain.
        let _ = writeln!(io::stderr(), "{note}");
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "waypost: cannot write the result: {error}");
            Exit::BAD
        }
        _ => exit,
    }
}

/// Reads the configuration's text; the error names the file.
fn read_text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let text = format!("cannot read {}: {error}", path.display());
        Failure::new(Exit::BAD, text).hint(config_remedy(&error))
    })
}

/// What helps when the configuration can't be read; may be empty.
fn config_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "name the configuration: --config FILE",
        io::ErrorKind::PermissionDenied => "run this as a user that may read it: the server's, or root",
        io::ErrorKind::IsADirectory => "name the file in it: --config FILE",
        _ => "",
    }
}

/// A document as one line.
fn json_line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).map(|line| line + "\n").unwrap_or_default()
}
