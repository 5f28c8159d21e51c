//! What is written behind the publish: journal lines and the saved table, on a thread of their own.
//!
//! Nothing waits for a disk: lines go through a bounded channel, and what finds it full is dropped and counted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::clock::Now;
use super::journal::Line;
use super::model::Model;
use super::saved::Saved;
use crate::health::Mono;

/// Lines that may wait for the disk.
const MAX_WAITING: usize = 4096;

/// A journal this long, in bytes, is set aside and a new one begun.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// Journals set aside that are kept.
const KEPT_JOURNALS: u32 = 4;

/// The saved table is written at most this often, in milliseconds, when something changed,
const SAVE_AFTER_MS: u64 = 1_000;

/// and this often, in milliseconds, when nothing did, so that its age says whether the process lived.
const SAVE_ANYWAY_MS: u64 = 30_000;

/// The writer's end.
#[derive(Debug)]
pub struct Recorder {
    sender: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    dropped: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    last_saved: Option<Mono>,
    changed: bool,
}

enum Job {
    Line(Box<Line>),
    Save(Box<Saved>),
}

impl Recorder {
    /// Records nothing: for dry runs and offline questions.
    pub fn nowhere() -> Self {
        Self {
            sender: None,
            thread: None,
            dropped: Arc::default(),
            failed: Arc::default(),
            last_saved: None,
            changed: false,
        }
    }

    /// Records in `state_dir`. The thread ends with the recorder.
    pub fn start(state_dir: &Path) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let failed = Arc::new(AtomicU64::new(0));
        let scribe = Scribe {
            dir: state_dir.to_owned(),
            journal: None,
            failed: Arc::clone(&failed),
            complained: false,
        };
        let thread =
            std::thread::Builder::new().name("journal".into()).spawn(move || scribe.run(&receiver))?;
        let mut recorder = Self::nowhere();
        (recorder.sender, recorder.thread, recorder.failed) = (Some(sender), Some(thread), failed);
        Ok(recorder)
    }

    /// Records a line.
    pub fn line(&self, line: Line) {
        self.send(Job::Line(Box::new(line)));
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
        self.changed = false;
        self.send(Job::Save(Box::new(Saved::of(model, now.wall_ms))));
    }

    /// Lines that were dropped or could not be written.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed)
    }

    fn send(&self, job: Job) {
        let Some(sender) = &self.sender else { return };
        if sender.try_send(job).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
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

/// The thread's end.
struct Scribe {
    dir: PathBuf,
    journal: Option<File>,
    failed: Arc<AtomicU64>,
    complained: bool,
}

impl Scribe {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let result = match job {
                Job::Line(line) => self.append(&line),
                Job::Save(saved) => self.save(&saved),
            };
            match result {
                Ok(()) => self.complained = false,
                Err(error) => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    self.journal = None;
                    if !std::mem::replace(&mut self.complained, true) {
                        tracing::warn!("cannot write in {}: {error}; answers go on", self.dir.display());
                    }
                }
            }
        }
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let path = self.dir.join("journal.jsonl");
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if line.cause == "start" || line.cause == "load" {
            self.set_aside_when_long(&path)?;
        }
        let journal = match &mut self.journal {
            Some(journal) => journal,
            None => self.journal.insert(open_journal(&path)?),
        };
        journal.write_all(&text)
    }

    /// Begins a new journal where a line tells everything anew, so that each file can be replayed by itself.
    fn set_aside_when_long(&mut self, path: &Path) -> io::Result<()> {
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

    fn save(&self, saved: &Saved) -> io::Result<()> {
        write_atomically(&self.dir.join("health.json"), &serde_json::to_vec(saved)?)
    }
}

/// Opens the journal for appending; what a crash left half-written at its end is closed with a newline first.
fn open_journal(path: &Path) -> io::Result<File> {
    let torn = File::open(path).is_ok_and(|file| {
        let mut last = Vec::new();
        let mut reader = io::BufReader::new(file);
        let mut seek = io::Seek::seek(&mut reader, io::SeekFrom::End(-1)).is_ok();
        seek &= reader.read_until(b'\n', &mut last).is_ok();
        seek && last.last() != Some(&b'\n')
    });
    let mut journal = OpenOptions::new().create(true).append(true).open(path)?;
    if torn {
        journal.write_all(b"\n")?;
    }
    Ok(journal)
}

/// Writes a file so that a reader sees the old one or the new one, never half: under a temporary name, synced, renamed.
/// A file that is there keeps its mode, and a link stays a link.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let result = write_synced(&temporary, bytes).and_then(|()| {
        if let Ok(old) = fs::metadata(path) {
            fs::set_permissions(&temporary, old.permissions())?;
        }
        fs::rename(&temporary, path)
    });
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
        return result;
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all())
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Reads the saved table; absent when there is none, or none that can be used: then the reason.
pub fn read_saved(state_dir: &Path) -> Result<Option<Saved>, String> {
    let path = state_dir.join("health.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let saved: Saved =
        serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    if saved.version != Saved::VERSION {
        return Err(format!("{}: version {} is not known", path.display(), saved.version));
    }
    Ok(Some(saved))
}
