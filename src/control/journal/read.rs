//! A journal read back, line by line.
//!
//! A process that dies while it writes, or a disk that is full, leaves a line torn. It is the file's last one, or it was
//! closed and followed by a line that tells everything anew. Either way nothing is lost but what was torn, and that was
//! not promised to anybody: such lines are left out, and counted.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use super::Line;

/// Bytes of one line; longer is no journal.
const MAX_LINE_BYTES: u64 = 1 << 30;

/// Reads a journal's lines. Ends with the file, or with the first error of the reader.
pub fn read_lines<R: BufRead>(reader: R) -> Lines<R> {
    Lines { reader, number: 0, ahead: None, torn: 0, over: false }
}

/// The lines of a journal.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    number: u64,
    /// Read already: what comes after a line that could not be used.
    ahead: Option<Parsed>,
    torn: u64,
    over: bool,
}

/// A line, and whether a newline ends it.
type Parsed = (Result<Line, ReadError>, bool);

/// Why there is no line.
#[derive(Debug)]
pub enum ReadError {
    /// The file can't be read on.
    Io(io::Error),
    /// What stands there is no line of a journal.
    NotALine {
        /// Its number in the file, from 1.
        number: u64,
        /// Why.
        error: serde_json::Error,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read on: {error}"),
            Self::NotALine { number, error } => write!(f, "line {number} is not a journal's: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl<R: BufRead> Lines<R> {
    /// Torn lines that were left out so far.
    pub const fn torn(&self) -> u64 {
        self.torn
    }

    /// The next line that is not blank; absent at the end of the file.
    fn parse(&mut self) -> Option<Parsed> {
        let mut bytes = Vec::new();
        while !self.over {
            bytes.clear();
            self.number += 1;
            match (&mut self.reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes) {
                Err(error) => {
                    self.over = true;
                    return Some((Err(ReadError::Io(error)), true));
                }
                Ok(0) => self.over = true,
                Ok(_) if bytes.trim_ascii().is_empty() => {}
                Ok(_) => {
                    let number = self.number;
                    let line = serde_json::from_slice(&bytes);
                    let line = line.map_err(|error| ReadError::NotALine { number, error });
                    return Some((line, bytes.ends_with(b"\n")));
                }
            }
        }
        None
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let parsed = self.ahead.take().or_else(|| self.parse())?;
        let (Err(error @ ReadError::NotALine { .. }), ended) = parsed else { return Some(parsed.0) };
        if !ended {
            self.torn += 1;
            return None;
        }
        self.ahead = self.parse();
        if matches!(&self.ahead, Some((Ok(line), _)) if line.is_whole()) {
            self.torn += 1;
            return self.ahead.take().map(|(line, _)| line);
        }
        Some(Err(error))
    }
}

#[cfg(test)]
mod tests;
