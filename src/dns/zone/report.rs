//! What is wrong and what is odd, gathered with its place.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::super::answer::ServiceIndex;
use super::text::{Fault, SourceId, Spot};

/// Most errors, and most warnings, that one file may have reported; what is beyond is only counted. A file that is no
/// master file at all would have thousands.
pub const MAX_NOTICES_PER_FILE: usize = 100;

/// Something wrong or odd in a zone, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The file; empty when `service` is set, since the place is then in the config file.
    pub path: PathBuf,
    /// The line, from 1; 0: the file as a whole.
    pub line: usize,
    /// The column, from 1; 0: the line as a whole.
    pub column: usize,
    /// The service (by its position) whose binding is wrong; `line` is then [`super::BoundService::line`].
    pub service: Option<ServiceIndex>,
    /// What is wrong.
    pub text: String,
    /// How to fix it; may be empty.
    pub hint: String,
    /// For an included file: the file and line of the `$INCLUDE`, then of the one that included that, and so on.
    pub included_from: Vec<(PathBuf, usize)>,
}

/// `path:line:column: text (hint)`, without what is not known.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.service.is_none() {
            write!(f, "{}:", self.path.display())?;
        } else {
            f.write_str("config:")?;
        }
        for number in [self.line, self.column] {
            if number > 0 {
                write!(f, "{number}:")?;
            }
        }
        write!(f, " {}", self.text)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        for (path, line) in &self.included_from {
            write!(f, ", included from {}:{line}", path.display())?;
        }
        Ok(())
    }
}

/// Errors and warnings of one build.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) errors: Vec<Notice>,
    pub(super) warnings: Vec<Notice>,
    /// The texts that were opened; a spot names one by its position.
    sources: Vec<Source>,
}

/// A text that is read.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    included_from: Option<Spot>,
}

impl Report {
    /// Gives a text its number; `included_from` is the place of its `$INCLUDE`.
    pub(super) fn open(&mut self, path: &Path, included_from: Option<Spot>) -> SourceId {
        self.sources.push(Source { path: path.to_owned(), included_from });
        SourceId::try_from(self.sources.len() - 1).unwrap_or(SourceId::MAX)
    }

    pub(super) fn error(&mut self, fault: Fault) {
        let notice = self.notice(fault);
        self.errors.push(notice);
    }

    pub(super) fn warn(&mut self, fault: Fault) {
        let notice = self.notice(fault);
        self.warnings.push(notice);
    }

    /// The path of a text.
    pub(super) fn path(&self, source: SourceId) -> &Path {
        self.sources.get(source as usize).map_or(Path::new(""), |source| &source.path)
    }

    /// The texts that were included, each once, by path.
    pub(super) fn included(&self) -> Vec<PathBuf> {
        let included = self.sources.iter().filter(|source| source.included_from.is_some());
        let paths: BTreeSet<&PathBuf> = included.map(|source| &source.path).collect();
        paths.into_iter().cloned().collect()
    }

    /// Where a text was included, if it was.
    pub(super) fn included_from(&self, source: SourceId) -> Option<Spot> {
        self.sources.get(source as usize)?.included_from
    }

    /// A place, as file and line.
    pub(super) fn place(&self, spot: Spot) -> String {
        format!("{}:{}", self.path(spot.source).display(), spot.line)
    }

    /// A place as a message at `reader` names it: the line alone when it is in the same file.
    pub(super) fn place_from(&self, spot: Spot, reader: Spot) -> String {
        if self.path(spot.source) == self.path(reader.source) {
            format!("line {}", spot.line)
        } else {
            self.place(spot)
        }
    }

    fn notice(&self, fault: Fault) -> Notice {
        let Fault { spot, mut text, hint } = fault;
        if let Some(value) = spot.generated {
            text.push_str(&format!(", generated for {value}"));
        }
        let mut included_from = Vec::new();
        let mut from = self.included_from(spot.source);
        while let Some(spot) = from {
            included_from.push((self.path(spot.source).to_owned(), spot.line));
            from = self.included_from(spot.source);
        }
        let Spot { line, column, source, .. } = spot;
        Notice { path: self.path(source).to_owned(), line, column, service: None, text, hint, included_from }
    }

    /// An error in the config file: a service that cannot be bound.
    pub(super) fn service(&mut self, service: ServiceIndex, line: usize, text: String, hint: String) {
        let (path, column, included_from) = (PathBuf::new(), 0, Vec::new());
        self.errors.push(Notice { path, line, column, service: Some(service), text, hint, included_from });
    }

    /// The warnings in reading order, or the errors when there is one.
    pub(super) fn finish(self) -> Result<Vec<Notice>, Vec<Notice>> {
        if self.errors.is_empty() { Ok(bounded(self.warnings)) } else { Err(bounded(self.errors)) }
    }
}

/// Sorts by place, zone files before services, and cuts each file's list at its bound.
fn bounded(mut notices: Vec<Notice>) -> Vec<Notice> {
    notices.sort_by(|a, b| {
        let key = |notice: &Notice| (notice.service.is_some(), notice.line, notice.column);
        a.path.cmp(&b.path).then_with(|| key(a).cmp(&key(b)))
    });
    notices.sort_by_key(|notice| notice.service.is_some());
    let mut kept: Vec<Notice> = Vec::new();
    for file in notices.chunk_by(|a, b| a.path == b.path) {
        kept.extend(file.iter().take(MAX_NOTICES_PER_FILE).cloned());
        let left = file.len().saturating_sub(MAX_NOTICES_PER_FILE);
        if let (true, Some(first)) = (left > 0, file.first()) {
            let text = format!("{left} more are not shown");
            let (hint, included_from) = (String::new(), Vec::new());
            kept.push(Notice { line: 0, column: 0, text, hint, included_from, ..first.clone() });
        }
    }
    kept
}
