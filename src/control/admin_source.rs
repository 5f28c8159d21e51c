//! The operators' file: watched, read when it has come to rest, obeyed as a whole or not at all.
//!
//! It is looked at by its stat alone, some times a second: that costs next to nothing, and works on every file system.
//! A change counts once inode, size and modification time were the same in two looks a second apart, so that a file
//! caught while it is being written does not count.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::load::{LoadErrors, parse_orders};
use super::recorder::write_atomically;
use crate::config::Config;
use crate::config::admin::AdminFile;
use crate::health::Mono;

/// Time between two looks.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long a change must rest.
const REST: Duration = Duration::from_secs(1);

/// How long a file that is empty, or ends within a line, may still be on its way.
const PATIENCE: Duration = Duration::from_secs(2);

/// The copy of the file that was obeyed last, in `state_dir`.
pub const ACCEPTED: &str = "admin.accepted.toml";

/// What identifies one state of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    inode: u64,
    size: u64,
    modified_ns: i128,
}

/// The file and what is known of it.
#[derive(Debug)]
pub struct AdminSource {
    path: PathBuf,
    accepted_path: PathBuf,
    /// The text in force.
    accepted: String,
    /// The state of the file that was dealt with, whether it was obeyed or refused.
    settled: Option<Stat>,
    /// A state that is not dealt with yet, and when it was first seen.
    seen: Option<(Stat, Mono)>,
    gone: bool,
}

/// What a look at the file came to.
#[derive(Debug)]
pub enum Looked {
    /// Nothing new.
    Same,
    /// Another file is in force.
    Accepted(AdminFile),
    /// The file can't be obeyed; what was in force stays.
    Refused(LoadErrors),
    /// The file is gone; what was in force stays.
    Gone,
}

/// What the start found.
#[derive(Debug)]
pub struct Started {
    /// The source, from here on.
    pub source: AdminSource,
    /// What is in force.
    pub file: AdminFile,
    /// Why it is not what the file says, if it is not.
    pub problem: Option<LoadErrors>,
}

impl AdminSource {
    /// Reads the file at start, or else the copy of what was obeyed last. One look is enough if the file has rested.
    pub fn start(config: &Config, wall_ms: i64) -> Started {
        let accepted_path = config.state_dir.join(ACCEPTED);
        let mut source = Self {
            path: config.admin_file.clone(),
            accepted: String::new(),
            accepted_path,
            settled: None,
            seen: None,
            gone: false,
        };
        let stat = stat(&source.path);
        let rested =
            |stat: &Stat| i128::from(wall_ms) * 1_000_000 - stat.modified_ns > REST.as_nanos() as i128;
        let problem = match stat {
            Ok(stat) if !rested(&stat) => None,
            Ok(stat) => {
                source.settled = Some(stat);
                match source.read(config, wall_ms) {
                    Ok(file) => return Started { source, file, problem: None },
                    Err(errors) => Some(errors),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(unreadable(&source.path, &error)),
        };
        let was_there = problem.is_some() || source.path.exists();
        match fs::read_to_string(&source.accepted_path) {
            Ok(text) => source.stand_in(config, wall_ms, text, problem, was_there),
            Err(_) => Started { source, file: AdminFile::default(), problem },
        }
    }

    /// The copy in force stands in for a file that is missing or can't be obeyed.
    fn stand_in(
        mut self,
        config: &Config,
        wall_ms: i64,
        text: String,
        problem: Option<LoadErrors>,
        was_there: bool,
    ) -> Started {
        let file = parse_orders(&text, &self.accepted_path, config, wall_ms);
        let missing = || {
            let line =
                format!("{}: warning: it is gone; what was obeyed last stays in force", self.path.display());
            LoadErrors::one(line)
        };
        let problem = problem.or_else(|| (!was_there).then(missing));
        self.gone = !was_there;
        match file {
            Ok(file) => {
                self.accepted = text;
                Started { source: self, file, problem }
            }
            Err(errors) => {
                Started { source: self, file: AdminFile::default(), problem: problem.or(Some(errors)) }
            }
        }
    }

    /// The text in force.
    pub fn accepted(&self) -> &str {
        &self.accepted
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text on disk, and whether it is what is in force; absent when there is no file.
    ///
    /// Errors: it can't be read.
    pub fn text(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks at the file.
    pub fn look(&mut self, config: &Config, now: Mono, wall_ms: i64) -> Looked {
        let stat = match stat(&self.path) {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.seen = None;
                let settled = self.settled.take().is_some();
                let news = settled && !std::mem::replace(&mut self.gone, true);
                return if news { Looked::Gone } else { Looked::Same };
            }
            Err(_) => return Looked::Same,
        };
        if self.settled == Some(stat) {
            self.seen = None;
            return Looked::Same;
        }
        let since = match self.seen {
            Some((seen, since)) if seen == stat => since,
            _ => {
                self.seen = Some((stat, now));
                return Looked::Same;
            }
        };
        if now.since(since) < REST {
            return Looked::Same;
        }
        let whole = fs::read(&self.path).is_ok_and(|bytes| bytes.ends_with(b"\n"));
        if !whole && now.since(since) < PATIENCE {
            return Looked::Same;
        }
        self.seen = None;
        self.settled = Some(stat);
        self.gone = false;
        match self.read(config, wall_ms) {
            Ok(file) => Looked::Accepted(file),
            Err(errors) => Looked::Refused(errors),
        }
    }

    /// Puts `text`, which was checked, in the file's place: whoever reads it sees the old one or the new one.
    ///
    /// Errors: it can't be written; then nothing changed.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        write_atomically(&self.path, text.as_bytes())?;
        self.settled = stat(&self.path).ok();
        self.seen = None;
        self.gone = false;
        self.accept(text.to_owned());
        Ok(())
    }

    fn read(&mut self, config: &Config, wall_ms: i64) -> Result<AdminFile, LoadErrors> {
        let text = fs::read_to_string(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        let file = parse_orders(&text, &self.path, config, wall_ms)?;
        self.accept(text);
        Ok(file)
    }

    /// Keeps a copy of what is in force for the next start. A disk that can't be written takes nothing out of force.
    fn accept(&mut self, text: String) {
        if let Err(error) = write_atomically(&self.accepted_path, text.as_bytes()) {
            tracing::warn!("cannot keep {}: {error}", self.accepted_path.display());
        }
        self.accepted = text;
    }
}

fn stat(path: &Path) -> io::Result<Stat> {
    let metadata = fs::metadata(path)?;
    let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Ok(Stat { inode: metadata.ino(), size: metadata.size(), modified_ns })
}

fn unreadable(path: &Path, error: &io::Error) -> LoadErrors {
    LoadErrors::one(format!("{}: error: cannot read it: {error}", path.display()))
}
