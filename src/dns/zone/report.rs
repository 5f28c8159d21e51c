//! What is wrong and what is odd, gathered with its place.

use std::fmt;
use std::path::PathBuf;

use super::super::answer::ServiceIndex;
use super::ZoneFile;
use super::text::{Fault, Spot};

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
        if self.hint.is_empty() { Ok(()) } else { write!(f, " ({})", self.hint) }
    }
}

/// Errors and warnings of one build.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) errors: Vec<Notice>,
    pub(super) warnings: Vec<Notice>,
}

impl Report {
    pub(super) fn error(&mut self, file: &ZoneFile, fault: Fault) {
        self.errors.push(in_file(file, fault));
    }

    pub(super) fn warn(&mut self, file: &ZoneFile, fault: Fault) {
        self.warnings.push(in_file(file, fault));
    }

    /// An error in the config file: a service that cannot be bound.
    pub(super) fn service(&mut self, service: ServiceIndex, line: usize, text: String, hint: String) {
        let (path, column) = (PathBuf::new(), 0);
        self.errors.push(Notice { path, line, column, service: Some(service), text, hint });
    }

    /// The warnings in reading order, or the errors when there is one.
    pub(super) fn finish(self) -> Result<Vec<Notice>, Vec<Notice>> {
        if self.errors.is_empty() { Ok(bounded(self.warnings)) } else { Err(bounded(self.errors)) }
    }
}

fn in_file(file: &ZoneFile, fault: Fault) -> Notice {
    let Fault { spot: Spot { line, column }, text, hint } = fault;
    Notice { path: file.path.clone(), line, column, service: None, text, hint }
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
            kept.push(Notice { line: 0, column: 0, text, hint: String::new(), ..first.clone() });
        }
    }
    kept
}
