//! The `file` probe: somebody else looks, and writes down what he saw.
//!
//! The first word is `ok`, `degraded`, `failed` or `unknown`; the rest of the line says why. A file that is missing,
//! too old, unreadable or says anything else is unknown: its writer is broken, which is no news of what it watches.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::Semaphore;

use super::finding::{Finding, Seen};
use super::steps::Steps;
use crate::control::Clock;

/// Files read at the same time: a dead network mount holds so many threads and not more.
const MAX_READS: usize = 16;

/// What is read of a file, in bytes.
const READ_MAX_BYTES: u64 = 4096;

/// Reads files on the runtime's blocking threads, a bounded number at a time.
#[derive(Debug)]
pub(super) struct Reader {
    slots: Arc<Semaphore>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { slots: Arc::new(Semaphore::new(MAX_READS)) }
    }

    /// Runs a `file` probe.
    pub(super) async fn look(&self, path: &str, max_age: Duration, steps: &mut Steps) -> Seen {
        steps.begin("read");
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let path_there = path.to_owned();
        let read = tokio::task::spawn_blocking(move || {
            let read = read(&path_there);
            drop(slot);
            read
        });
        let (text, written_ms) = match read.await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => return Err(Finding::unknown(format!("cannot read `{path}`: {error}"))),
            Err(_) => return Err(Finding::unknown(format!("cannot read `{path}`"))),
        };
        let age_ms = Clock::start().now().wall_ms.saturating_sub(written_ms);
        judge(&text, Duration::from_millis(u64::try_from(age_ms).unwrap_or(0)), max_age)
    }
}

/// The file's beginning, and when it was written in milliseconds since 1970.
fn read(path: &str) -> io::Result<(String, i64)> {
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let written = file.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut bytes = Vec::new();
    file.take(READ_MAX_BYTES).read_to_end(&mut bytes)?;
    let written_ms = i64::try_from(written.as_millis()).unwrap_or(i64::MAX);
    Ok((String::from_utf8_lossy(&bytes).into_owned(), written_ms))
}

/// What a file of that age says.
fn judge(text: &str, age: Duration, max_age: Duration) -> Seen {
    if age > max_age {
        return Err(Finding::unknown(format!("written {} s ago, more than {max_age:?}", age.as_secs())));
    }
    let line = text.trim_start().lines().next().unwrap_or_default();
    let (word, why) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let why = if why.trim().is_empty() { "the file says so" } else { why.trim() };
    match word {
        "ok" => Ok(()),
        "degraded" => Err(Finding::degraded(why)),
        "failed" => Err(Finding::failed(why)),
        "unknown" => Err(Finding::unknown(why)),
        "" => Err(Finding::unknown("the file is empty")),
        _ => Err(Finding::unknown("the first word is not ok, degraded, failed or unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_first_word_is_the_verdict_and_the_rest_the_reason() {
        let judge = |text| judge(text, Duration::ZERO, MINUTE);
        assert_eq!(judge("ok"), Ok(()));
        assert_eq!(judge(" ok all fine\n"), Ok(()));
        assert_eq!(judge("degraded\treplica is late \nmore"), Err(Finding::degraded("replica is late")));
        assert_eq!(judge("failed disk\n"), Err(Finding::failed("disk")));
        assert_eq!(judge("failed\n"), Err(Finding::failed("the file says so")));
        assert_eq!(judge("unknown\n"), Err(Finding::unknown("the file says so")));
    }

    #[test]
    fn anything_else_is_unknown() {
        for text in ["", "\n\n", "okay", "OK", "ok,", "fai", "\u{fffd}"] {
            assert_eq!(Finding::told(judge(text, Duration::ZERO, MINUTE)).0.word(), "unknown", "{text:?}");
        }
    }

    #[test]
    fn a_file_that_nobody_writes_any_more_is_unknown_whatever_it_says() {
        assert_eq!(judge("failed", MINUTE, MINUTE), Err(Finding::failed("the file says so")));
        for text in ["ok", "failed"] {
            let (verdict, detail) = Finding::told(judge(text, MINUTE + Duration::from_secs(1), MINUTE));
            assert_eq!((verdict.word(), detail.as_str()), ("unknown", "written 61 s ago, more than 60s"));
        }
    }
}
