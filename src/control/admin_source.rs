//! The operators' file: watched, read when it has come to rest, obeyed as a whole or not at all.
//!
//! It is looked at by its stat alone, some times a second: that costs next to nothing, and works on every file system.
//! A change counts once inode, size and modification time were the same in two looks a second apart, so that a file
//! caught while it is being written does not count. That it is gone, or can't be read, must rest as well: editors put a
//! file aside before they write the new one.

use std::fs::{self, Metadata};
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

/// Time between two tries to write the copy of what is in force, when the disk would not take it.
const COPY_AGAIN: Duration = Duration::from_secs(10);

/// A file longer than this, in bytes, is none of ours.
const MAX_BYTES: u64 = 4 << 20;

/// The copy of the file that was obeyed last, in `state_dir`.
pub const ACCEPTED: &str = "admin.accepted.toml";

/// What a look shows without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    File {
        inode: u64,
        size: u64,
        modified_ns: i128,
    },
    Gone,
    /// A folder, a pipe: nothing that could be read without waiting.
    NoFile,
    Unreadable(io::ErrorKind),
}

/// The file and what is known of it.
#[derive(Debug)]
pub struct AdminSource {
    path: PathBuf,
    accepted_path: PathBuf,
    /// The text in force.
    accepted: String,
    /// Why the copy of it could not be written, and when that is tried again.
    copy_failed: Option<(String, Mono)>,
    /// The sight that was dealt with, whether it was obeyed or refused.
    settled: Option<Sight>,
    /// A sight that is not dealt with yet, and when it was first seen.
    seen: Option<(Sight, Mono)>,
    /// Whether the file is not what is in force, and somebody was told so.
    troubled: bool,
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
    pub fn start(config: &Config, now: Mono, wall_ms: i64) -> Started {
        let mut source = Self {
            path: config.admin_file.clone(),
            accepted_path: config.state_dir.join(ACCEPTED),
            accepted: String::new(),
            copy_failed: None,
            settled: None,
            seen: None,
            troubled: false,
        };
        let sight = sight(&source.path);
        let problem = match sight {
            // Still on its way: the copy stands in until it has rested.
            Sight::File { modified_ns, .. } if !rested(modified_ns, wall_ms) => None,
            Sight::Gone => {
                source.settled = Some(sight);
                let gone = source.copy_exists().then(|| {
                    let path = source.path.display();
                    LoadErrors::one(format!(
                        "{path}: warning: it is gone; what was obeyed last stays in force"
                    ))
                });
                source.troubled = gone.is_some();
                gone
            }
            _ => {
                source.settled = Some(sight);
                match source.read(config, wall_ms) {
                    Ok((text, file)) => {
                        source.accept(text, now);
                        return Started { source, file, problem: None };
                    }
                    Err(errors) => {
                        source.troubled = true;
                        Some(errors)
                    }
                }
            }
        };
        source.stand_in(config, wall_ms, problem)
    }

    /// The copy of what was in force stands in for a file that is missing, not at rest, or can't be obeyed.
    fn stand_in(mut self, config: &Config, wall_ms: i64, problem: Option<LoadErrors>) -> Started {
        let text = match read_text(&self.accepted_path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Started { source: self, file: AdminFile::default(), problem };
            }
            Err(error) => {
                let unread = unreadable(&self.accepted_path, &error);
                return Started {
                    source: self,
                    file: AdminFile::default(),
                    problem: joined(problem, unread),
                };
            }
        };
        match parse_orders(&text, &self.accepted_path, config, wall_ms) {
            Ok(file) => {
                self.accepted = text;
                Started { source: self, file, problem }
            }
            Err(errors) => {
                Started { source: self, file: AdminFile::default(), problem: joined(problem, errors) }
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

    /// Why what is in force can't be kept for the next start; absent when it is.
    pub fn copy_failed(&self) -> Option<&str> {
        self.copy_failed.as_ref().map(|(why, _)| why.as_str())
    }

    /// The text on disk; absent when there is no file.
    ///
    /// Errors: it can't be read.
    pub fn text(&self) -> io::Result<Option<String>> {
        match read_text(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks at the file. Reads it when it has changed and come to rest, so: not on a thread that must not wait.
    pub fn look(&mut self, config: &Config, now: Mono, wall_ms: i64) -> Looked {
        self.copy_again(now);
        let sight = sight(&self.path);
        if self.settled == Some(sight) {
            self.seen = None;
            return Looked::Same;
        }
        let since = match self.seen {
            Some((seen, since)) if seen == sight => since,
            _ => {
                self.seen = Some((sight, now));
                return Looked::Same;
            }
        };
        if now.since(since) < REST {
            return Looked::Same;
        }
        match sight {
            Sight::Gone => {
                self.settle(sight);
                self.troubled = true;
                Looked::Gone
            }
            Sight::File { .. } if !self.is_whole() && now.since(since) < PATIENCE => Looked::Same,
            _ => self.take(config, sight, now, wall_ms),
        }
    }

    /// Reads what has come to rest.
    fn take(&mut self, config: &Config, sight: Sight, now: Mono, wall_ms: i64) -> Looked {
        let read = self.read(config, wall_ms);
        if self::sight(&self.path) != sight {
            // It moved while it was read: what was read may be half of it.
            self.seen = None;
            return Looked::Same;
        }
        self.settle(sight);
        match read {
            // Touched, or put back to what it was.
            Ok((text, _)) if text == self.accepted && !self.troubled => Looked::Same,
            Ok((text, file)) => {
                self.accept(text, now);
                Looked::Accepted(file)
            }
            Err(errors) => {
                self.troubled = true;
                Looked::Refused(errors)
            }
        }
    }

    /// Has the next looks read the file again although it has not changed: what it is held against has.
    pub fn look_again(&mut self) {
        self.settled = None;
        self.seen = None;
    }

    /// Puts `text`, which was checked, in the file's place: whoever reads it sees the old one or the new one.
    ///
    /// Errors: it can't be written; then nothing changed.
    pub fn write(&mut self, text: &str, now: Mono) -> io::Result<()> {
        write_atomically(&self.path, text.as_bytes())?;
        self.settle(sight(&self.path));
        self.accept(text.to_owned(), now);
        Ok(())
    }

    fn settle(&mut self, sight: Sight) {
        self.settled = Some(sight);
        self.seen = None;
    }

    fn is_whole(&self) -> bool {
        read_text(&self.path).is_ok_and(|text| text.ends_with('\n'))
    }

    fn read(&self, config: &Config, wall_ms: i64) -> Result<(String, AdminFile), LoadErrors> {
        let text = read_text(&self.path).map_err(|error| unreadable(&self.path, &error))?;
        let file = parse_orders(&text, &self.path, config, wall_ms)?;
        Ok((text, file))
    }

    fn accept(&mut self, text: String, now: Mono) {
        self.accepted = text;
        self.troubled = false;
        self.copy(now);
    }

    /// Keeps a copy of what is in force for the next start. A disk that can't be written takes nothing out of force.
    fn copy(&mut self, now: Mono) {
        self.copy_failed = None;
        if read_text(&self.accepted_path).is_ok_and(|text| text == self.accepted) {
            return;
        }
        if let Err(error) = write_atomically(&self.accepted_path, self.accepted.as_bytes()) {
            let why = format!(
                "cannot keep what is in force in {}: {error}; a restart would go by the admin file alone",
                self.accepted_path.display()
            );
            self.copy_failed = Some((why, now));
        }
    }

    fn copy_again(&mut self, now: Mono) {
        if self.copy_failed.as_ref().is_some_and(|(_, tried)| now.since(*tried) >= COPY_AGAIN) {
            self.copy(now);
        }
    }

    fn copy_exists(&self) -> bool {
        self.accepted_path.exists()
    }
}

fn rested(modified_ns: i128, wall_ms: i64) -> bool {
    i128::from(wall_ms) * 1_000_000 - modified_ns > REST.as_nanos() as i128
}

fn sight(path: &Path) -> Sight {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => sight_of(&metadata),
        Ok(_) => Sight::NoFile,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Sight::Gone,
        Err(error) => Sight::Unreadable(error.kind()),
    }
}

fn sight_of(metadata: &Metadata) -> Sight {
    let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Sight::File { inode: metadata.ino(), size: metadata.size(), modified_ns }
}

/// Reads a text that is a file and not too long: a pipe would never end.
fn read_text(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {MAX_BYTES} bytes"),
        ));
    }
    fs::read_to_string(path)
}

fn unreadable(path: &Path, error: &io::Error) -> LoadErrors {
    LoadErrors::one(format!("{}: error: cannot read it: {error}", path.display()))
}

/// Both, the first one's line.
fn joined(first: Option<LoadErrors>, second: LoadErrors) -> Option<LoadErrors> {
    let Some(mut both) = first else { return Some(second) };
    both.text = format!("{}\n{}", both.text.trim_end(), second.text);
    both.lines.extend(second.lines);
    Some(both)
}

#[cfg(test)]
mod tests;
