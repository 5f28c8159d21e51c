//! What is written behind the publish: journal lines and the saved table, on a thread of their own.
//!
//! Nothing waits for a disk: lines go through a bounded channel, and what finds it full is dropped and counted.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;

use super::clock::Now;
use super::files;
use super::journal::Line;
use super::model::Model;
use super::saved::Saved;
use crate::health::Mono;

/// Lines that may wait for the disk.
const MAX_WAITING: usize = 4096;

/// A journal this long, in bytes, is set aside and a new one begun.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// Journals set aside that are kept.
pub const KEPT_JOURNALS: u32 = 4;

/// The saved table is written at most this often, in milliseconds, when something changed,
const SAVE_AFTER_MS: u64 = 1_000;

/// and this often, in milliseconds, when nothing did, so that its age says whether the process lived.
const SAVE_ANYWAY_MS: u64 = 30_000;

/// Time between two lines that tell everything anew, when the journal needs one.
const CHECKPOINT_AFTER: Duration = Duration::from_secs(10);

/// The writer's end.
#[derive(Debug)]
pub struct Recorder {
    sender: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    last_saved: Option<Mono>,
    last_checkpoint: Option<Mono>,
    changed: bool,
}

/// What both ends know.
#[derive(Debug, Default)]
struct Shared {
    /// Jobs that found the channel full, or could not be written.
    lost: AtomicU64,
    /// Lines are missing: what follows makes no sense until a line tells everything anew.
    gap: AtomicBool,
    /// The journal is long enough to begin a new one.
    full: AtomicBool,
    /// Why the last line, and the last table, could not be written.
    trouble: Mutex<[Option<String>; 2]>,
}

#[derive(Debug)]
enum Job {
    Line(Box<Line>),
    Save(Box<Saved>),
}

impl Job {
    /// The place in [`Shared::trouble`].
    const fn kind(&self) -> usize {
        match self {
            Self::Line(_) => 0,
            Self::Save(_) => 1,
        }
    }
}

impl Recorder {
    /// Records nothing: for dry runs and offline questions.
    pub fn nowhere() -> Self {
        Self {
            sender: None,
            thread: None,
            shared: Arc::default(),
            last_saved: None,
            last_checkpoint: None,
            changed: false,
        }
    }

    /// Records in `state_dir`. The thread ends with the recorder.
    pub fn start(state_dir: &Path) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let mut recorder = Self::nowhere();
        let scribe = Scribe {
            dir: state_dir.to_owned(),
            journal: None,
            behind: false,
            shared: Arc::clone(&recorder.shared),
        };
        let thread =
            std::thread::Builder::new().name("journal".into()).spawn(move || scribe.run(&receiver))?;
        (recorder.sender, recorder.thread) = (Some(sender), Some(thread));
        Ok(recorder)
    }

    /// Records a line. While earlier ones are missing, only one that tells everything anew counts.
    pub fn line(&self, line: Line) {
        if line.is_whole() {
            self.shared.gap.store(false, Ordering::Relaxed);
        } else if self.shared.gap.load(Ordering::Relaxed) {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if !self.send(Job::Line(Box::new(line))) {
            self.shared.gap.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the journal needs a line that tells everything anew: some are missing, or it has become long.
    pub fn wants_checkpoint(&mut self, now: Mono) -> bool {
        let wanted = self.shared.gap.load(Ordering::Relaxed) || self.shared.full.load(Ordering::Relaxed);
        let due = self.last_checkpoint.is_none_or(|last| now.since(last) >= CHECKPOINT_AFTER);
        if wanted && due {
            self.last_checkpoint = Some(now);
        }
        wanted && due
    }

    /// Notes that the saved table is out of date.
    pub fn changed(&mut self) {
        self.changed = true;
    }

    /// Saves the table when it is time.
    pub fn tick(&mut self, now: Now, model: &Model) {
        let since_ms = self.last_saved.map(|last| now.mono.since(last).as_millis() as u64);
        let wait_ms = if self.changed { SAVE_AFTER_MS } else { SAVE_ANYWAY_MS };
        if since_ms.is_none_or(|since_ms| since_ms >= wait_ms) {
            self.save(now, model);
        }
    }

    /// Saves the table now.
    pub fn save(&mut self, now: Now, model: &Model) {
        self.last_saved = Some(now.mono);
        self.changed = !self.send(Job::Save(Box::new(Saved::of(model, now.wall_ms))));
    }

    /// Lines and tables that were dropped or could not be written.
    pub fn dropped(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Why nothing can be written; absent when all is well.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble().iter().flatten().next().cloned()
    }

    /// Hands a job to the thread; whether it was taken.
    fn send(&self, job: Job) -> bool {
        let Some(sender) = &self.sender else { return true };
        let sent = sender.try_send(job).is_ok();
        if !sent {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }
}

impl Drop for Recorder {
    /// Waits until everything is written: the process ends after this.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn trouble(&self) -> MutexGuard<'_, [Option<String>; 2]> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's end.
struct Scribe {
    dir: PathBuf,
    journal: Option<File>,
    /// Lines are missing from the file.
    behind: bool,
    shared: Arc<Shared>,
}

impl Scribe {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let kind = job.kind();
            let result = match job {
                Job::Line(line) => self.line(&line),
                Job::Save(saved) => self.save(&saved),
            };
            let trouble = result.err().map(|error| {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
                format!(
                    "cannot write in {}: {error}; answers go on, but a restart would forget what changed",
                    self.dir.display()
                )
            });
            self.shared.trouble()[kind] = trouble;
        }
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        if self.behind && !line.is_whole() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let written = self.append(line);
        self.behind = written.is_err();
        if self.behind {
            self.journal = None;
            self.shared.gap.store(true, Ordering::Relaxed);
        }
        written
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let path = self.dir.join("journal.jsonl");
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if line.is_whole() {
            self.set_aside_when_long(&path)?;
        }
        if self.journal.as_ref().is_some_and(|journal| !is_at(journal, &path)) {
            self.journal = None;
            if !line.is_whole() {
                return Err(io::Error::other(format!(
                    "{} was taken away; a new one is begun",
                    path.display()
                )));
            }
        }
        let journal = match &mut self.journal {
            Some(journal) => journal,
            None => {
                self.make_folder()?;
                self.journal.insert(open_journal(&path)?)
            }
        };
        let before = journal.metadata()?.len();
        if let Err(error) = journal.write_all(&text) {
            // A full disk took a part of it: half a line helps nobody.
            let _ = journal.set_len(before);
            return Err(error);
        }
        if before + text.len() as u64 >= MAX_JOURNAL_BYTES {
            self.shared.full.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Begins a new journal where a line tells everything anew, so that each file can be replayed by itself.
    fn set_aside_when_long(&mut self, path: &Path) -> io::Result<()> {
        self.shared.full.store(false, Ordering::Relaxed);
        if fs::metadata(path).map_or(0, |metadata| metadata.len()) < MAX_JOURNAL_BYTES {
            return Ok(());
        }
        self.journal = None;
        let aside = |number: u32| self.dir.join(format!("journal.{number}.jsonl"));
        for number in (1..KEPT_JOURNALS).rev() {
            if aside(number).exists() {
                fs::rename(aside(number), aside(number + 1))?;
            }
        }
        fs::rename(path, aside(1))
    }

    /// Makes the folder again if somebody took it away.
    fn make_folder(&self) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)
    }

    fn save(&self, saved: &Saved) -> io::Result<()> {
        self.make_folder()?;
        write_atomically(&self.dir.join("health.json"), &serde_json::to_vec(saved)?)
    }
}

/// Whether the open file is still the one at `path`: somebody may have moved it, or removed its folder.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => id(open) == id(there),
        _ => false,
    }
}

/// Opens the journal for appending; what a crash left half-written at its end is closed with a newline first.
fn open_journal(path: &Path) -> io::Result<File> {
    let torn = File::open(path).is_ok_and(|mut file| {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).is_ok() && file.read_exact(&mut last).is_ok() && last != *b"\n"
    });
    let mut journal = OpenOptions::new().create(true).append(true).open(path)?;
    if torn {
        journal.write_all(b"\n")?;
    }
    Ok(journal)
}

/// Who changed what, and why.
#[derive(Clone, Debug, Serialize)]
pub struct AuditLine {
    /// RFC 3339.
    pub at: String,
    /// `drain`, `release`, `reload`, `file`, …
    pub action: &'static str,
    /// Who, as far as they say.
    pub by: String,
    /// What was done.
    pub what: String,
    /// Why; may be empty.
    pub reason: String,
    /// The serial from which it holds; absent: it is not live yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
}

/// Appends a line to `audit.jsonl`.
///
/// Errors: it can't be written; that undoes nothing.
pub fn append_audit(state_dir: &Path, line: &AuditLine) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(state_dir.join("audit.jsonl"))?;
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

/// Writes a file so that a reader sees the old one or the new one, never half: under a temporary name, synced, renamed.
/// A link keeps leading where it leads, and a file keeps who may read it.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, None)
}

/// The same, for what only this user may read.
pub fn write_secret_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, Some(Permissions::from_mode(0o600)))
}

fn replace(path: &Path, bytes: &[u8], new: Option<Permissions>) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = target.as_path();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // A link may lead to a device, which must not be replaced.
        return Err(io::Error::other(format!("{} is no regular file", path.display())));
    }
    let permissions = there.map(|metadata| metadata.permissions()).or(new);
    let result = write_synced(&temporary, bytes, permissions).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
        return result;
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all())
}

fn write_synced(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let mut file = File::create(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// Why the saved table can't be used.
#[derive(Debug)]
pub enum SavedError {
    /// It can't be read.
    Unreadable(PathBuf, io::Error),
    /// It is no saved table.
    Malformed(PathBuf, serde_json::Error),
    /// It is of a format that this version does not know.
    Version(PathBuf, u32),
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Malformed(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Version(path, version) => {
                write!(f, "{}: version {version} is not known", path.display())
            }
        }
    }
}

impl std::error::Error for SavedError {}

/// Reads the saved table; absent when there is none.
///
/// Errors: there is one that can't be used.
pub fn read_saved(state_dir: &Path) -> Result<Option<Saved>, SavedError> {
    let path = state_dir.join("health.json");
    let bytes = match files::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SavedError::Unreadable(path, error)),
    };
    match serde_json::from_slice::<Saved>(&bytes) {
        Ok(saved) if saved.version == Saved::VERSION => Ok(Some(saved)),
        Ok(saved) => Err(SavedError::Version(path, saved.version)),
        Err(error) => Err(SavedError::Malformed(path, error)),
    }
}

#[cfg(test)]
mod tests;
