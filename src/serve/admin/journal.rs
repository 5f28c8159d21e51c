//! The journal's lines for the API: what happened after a serial, since this process started.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Lines of one answer; the next ones are asked for with the last one's serial.
pub(super) const MAX_LINES: usize = 1_000;

/// Bytes of one answer, unless its first line alone is longer.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// Requests that read the journal at a time; others wait.
pub(super) const MAX_READERS: usize = 2;

/// Journals set aside that are looked at, newest first.
const MAX_ASIDE: u32 = 4;

/// Some lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Each ended by a newline.
    pub(super) lines: Vec<u8>,
    /// Whether there are more.
    pub(super) more: bool,
}

/// What of a line decides whether it is asked for.
#[derive(Deserialize)]
struct Head {
    serial: u64,
    cause: String,
}

/// The lines of the process that writes the journal now, after that serial, oldest first. Serials begin anew with each
/// process, so lines before its `start` are not meant.
///
/// Errors: a journal that is there can't be read.
pub(super) fn since(dir: &Path, serial: u64) -> io::Result<Page> {
    let mut paths = vec![dir.join("journal.jsonl")];
    paths.extend((1..=MAX_ASIDE).map(|number| dir.join(format!("journal.{number}.jsonl"))));
    // A journal is set aside at a load as well as at a start: this process's may begin in an older file.
    let mut of_this_process: Vec<(PathBuf, u64)> = Vec::new();
    for path in paths {
        let Some(start) = last_start(&path)? else { continue };
        of_this_process.push((path, start.unwrap_or(0)));
        if start.is_some() {
            break;
        }
    }
    let mut page = Page::default();
    let mut count = 0;
    for (path, from) in of_this_process.into_iter().rev() {
        let went_on = each_line(&path, from, |_, head, line| {
            if head.serial <= serial {
                return true;
            }
            page.more = count == MAX_LINES || (count > 0 && page.lines.len() + line.len() > MAX_BYTES);
            if !page.more {
                page.lines.extend_from_slice(line);
                count += 1;
            }
            !page.more
        })?;
        if !went_on {
            break;
        }
    }
    Ok(page)
}

/// Where the last `start` line of a journal begins, if it has one; absent when there is no such file.
fn last_start(path: &Path) -> io::Result<Option<Option<u64>>> {
    if !path.exists() {
        return Ok(None);
    }
    let mut start = None;
    each_line(path, 0, |offset, head, _| {
        if head.cause == "start" {
            start = Some(offset);
        }
        true
    })?;
    Ok(Some(start))
}

/// Hands out whole lines that can be read, with their offsets, until told to stop; whether it was not. What a crash left
/// half-written, or is being written right now, is passed over.
fn each_line(path: &Path, from: u64, mut take: impl FnMut(u64, Head, &[u8]) -> bool) -> io::Result<bool> {
    let mut file = BufReader::new(File::open(path)?);
    io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
    let (mut offset, mut line) = (from, Vec::new());
    loop {
        line.clear();
        let length = file.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(true);
        }
        if let Ok(head) = serde_json::from_slice::<Head>(&line)
            && !take(offset, head, &line)
        {
            return Ok(false);
        }
        offset += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, lines: &[(u64, &str)], tail: &str) {
        let lines = lines.iter().map(|(serial, cause)| format!("{}\n", line(*serial, cause)));
        std::fs::write(dir.join(name), lines.collect::<String>() + tail).unwrap();
    }

    fn line(serial: u64, cause: &str) -> String {
        format!("{{\"serial\":{serial},\"at\":\"x\",\"cause\":\"{cause}\",\"changes\":[]}}")
    }

    fn read(dir: &Path, serial: u64) -> Vec<u64> {
        let page = since(dir, serial).unwrap();
        let lines = page.lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice::<Head>(line).unwrap().serial).collect()
    }

    #[test]
    fn lines_after_a_serial_come_oldest_first_and_a_torn_end_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "journal.jsonl", &[(1, "start"), (2, "probe"), (3, "order")], "{\"serial\":4,");
        assert_eq!(read(dir.path(), 0), [1, 2, 3]);
        assert_eq!(read(dir.path(), 2), [3]);
        assert_eq!(read(dir.path(), 9), [0; 0]);
    }

    #[test]
    fn what_an_earlier_process_wrote_is_not_meant() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "journal.jsonl", &[(1, "start"), (7, "probe"), (1, "start"), (2, "probe")], "");
        assert_eq!(read(dir.path(), 0), [1, 2]);
        assert_eq!(read(dir.path(), 1), [2]);
    }

    #[test]
    fn a_journal_set_aside_at_a_load_still_counts() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "journal.2.jsonl", &[(1, "start"), (99, "probe")], "");
        write(dir.path(), "journal.1.jsonl", &[(5, "load"), (1, "start"), (2, "probe")], "");
        write(dir.path(), "journal.jsonl", &[(3, "load"), (4, "probe")], "");
        assert_eq!(read(dir.path(), 0), [1, 2, 3, 4]);
        assert_eq!(read(dir.path(), 3), [4]);
    }

    #[test]
    fn no_journal_is_an_empty_page() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(since(dir.path(), 0).unwrap(), Page::default());
    }

    #[test]
    fn an_answer_is_bounded_and_says_that_there_is_more() {
        let dir = tempfile::tempdir().unwrap();
        let lines: Vec<(u64, &str)> =
            (1..=2_500).map(|n| (n, if n == 1 { "start" } else { "probe" })).collect();
        write(dir.path(), "journal.jsonl", &lines, "");
        let first = since(dir.path(), 0).unwrap();
        assert!(first.more);
        assert_eq!(read(dir.path(), 0).len(), MAX_LINES);
        assert_eq!(read(dir.path(), 1_000).first(), Some(&1_001));
        assert!(!since(dir.path(), 1_500).unwrap().more);
        assert_eq!(read(dir.path(), 1_500).len(), 1_000);
    }

    #[test]
    fn one_line_beyond_the_bound_is_still_handed_out() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("{{\"serial\":2,\"cause\":\"load\",\"text\":\"{}\"}}\n", "x".repeat(MAX_BYTES));
        write(dir.path(), "journal.jsonl", &[(1, "start")], &(long + &line(3, "probe") + "\n"));
        assert_eq!(read(dir.path(), 0), [1]);
        assert_eq!(read(dir.path(), 1), [2]);
        assert_eq!(read(dir.path(), 2), [3]);
    }
}
