//! What is wrong or odd in a file, with its place, and how people see it.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Most errors, or warnings, that are told of one file; what is beyond is only counted. Each is shown with lines of the
/// file, and a file that is no TOML at all would have thousands.
const MAX_DIAGNOSTICS: usize = 100;

/// One thing that is wrong or odd in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub path: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// Whether the file is refused for it.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop. Quotes what was typed, never what the environment put there.
    pub message: String,
    /// Another place that belongs to it, with a word about it: where a name was first used.
    pub related: Option<(Place, &'static str)>,
    /// How to fix it; may be empty.
    pub hint: String,
    /// Whether the line holds a secret, so that it is not shown.
    pub private: bool,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is taken all the same.
    Warning,
}

impl Severity {
    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A place in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1; 0: the file as a whole.
    pub line: usize,
    /// The column in characters, from 1; 0: the line as a whole.
    pub column: usize,
    /// The bytes of the text that are meant.
    pub span: Range<usize>,
}

impl Place {
    /// The place of `span` in `text`; what lies beyond the text's end is its end.
    pub fn of(text: &str, span: Range<usize>) -> Self {
        Lines::of(text).place(span)
    }
}

/// Where the lines of a text begin, for a file of which many places are asked.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// In bytes, rising.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let behind_newlines =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(behind_newlines).collect() }
    }

    pub(super) fn place(&self, span: Range<usize>) -> Place {
        let start = floor_char(self.text, span.start);
        let end = floor_char(self.text, span.end).max(start);
        let line = self.starts.partition_point(|&line_start| line_start <= start);
        let line_start =
            line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or_default();
        let column = self.text.get(line_start..start).unwrap_or_default().chars().count() + 1;
        Place { line, column, span: start..end }
    }
}

impl Diagnostic {
    /// An error at `place`.
    pub fn error(path: &Path, place: Place, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            place,
            severity: Severity::Error,
            message: message.into(),
            related: None,
            hint: hint.into(),
            private: false,
        }
    }

    /// A warning at `place`.
    pub fn warning(path: &Path, place: Place, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(path, place, message, hint) }
    }

    /// `file:line:column: error: message (hint)`, for logs and JSON: no line of the file, hence nothing secret in it.
    pub fn one_line(&self) -> String {
        self.with_hint(self.headline(&format!("{}: ", self.severity.word())))
    }

    /// `file:line:column: message (hint)`, where what shows it says how bad it is.
    pub fn bare_line(&self) -> String {
        self.with_hint(self.headline(""))
    }

    fn with_hint(&self, mut line: String) -> String {
        if !self.hint.is_empty() {
            let _ = write!(line, " ({})", self.hint);
        }
        line
    }

    /// `file:line:column: error: message`, with these words for the severity.
    fn headline(&self, severity: &str) -> String {
        let Place { line, column, .. } = self.place;
        let (path, message) = (self.path.display(), &self.message);
        match (line, column) {
            (0, _) => format!("{path}: {severity}{message}"),
            (_, 0) => format!("{path}:{line}: {severity}{message}"),
            _ => format!("{path}:{line}:{column}: {severity}{message}"),
        }
    }
}

/// As many as a person can use, and how many there are beside them.
pub(super) fn first_of(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let left = found.len().saturating_sub(MAX_DIAGNOSTICS);
    if let (true, Some(first)) = (left > 0, found.first().cloned()) {
        found.truncate(MAX_DIAGNOSTICS);
        let (place, message) = (Place::default(), format!("{left} more are not shown"));
        found.push(Diagnostic {
            place,
            message,
            related: None,
            hint: String::new(),
            private: false,
            ..first
        });
    }
    found
}

/// All of them as people read them: headline, the line with carets, the hint; `text` is the file's. For a terminal,
/// not for logs: it shows lines of the file.
pub fn render(diagnostics: &[Diagnostic], text: &str, colour: bool) -> String {
    let renderer = if colour { Renderer::styled().hyperlink(false) } else { Renderer::plain() };
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&diagnostic.headline(&format!("{}: ", diagnostic.severity.word())));
        out.push('\n');
        let body = render_body(diagnostic, text, &renderer);
        body.lines().for_each(|line| {
            out.push_str(line.trim_end());
            out.push('\n');
        });
    }
    out
}

/// The lines below the headline. Only the lines that matter are handed over, so the length of the file costs nothing.
fn render_body(diagnostic: &Diagnostic, text: &str, renderer: &Renderer) -> String {
    if diagnostic.place.line == 0 || diagnostic.private || text.is_empty() {
        return if diagnostic.hint.is_empty() {
            String::new()
        } else {
            format!("  = help: {}", diagnostic.hint)
        };
    }
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let shown = first_line(text, &diagnostic.place.span);
    let related = diagnostic.related.as_ref().map(|(place, word)| (first_line(text, &place.span), *word));
    let from = related.as_ref().map_or(shown.start, |(span, _)| span.start.min(shown.start));
    let to = related.as_ref().map_or(shown.end, |(span, _)| span.end.max(shown.end));
    let from = text.get(..from).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let to = text.get(to..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| to + at);
    let within = |span: &Range<usize>| span.start - from..span.end - from;

    let first_line = text.get(..from).unwrap_or_default().bytes().filter(|&byte| byte == b'\n').count() + 1;
    let mut snippet = Snippet::source(text.get(from..to).unwrap_or_default())
        .line_start(first_line)
        .annotation(AnnotationKind::Primary.span(within(&shown)));
    if let Some((span, word)) = &related {
        snippet = snippet.annotation(AnnotationKind::Context.span(within(span)).label(*word));
    }
    let mut group = Group::with_level(level).element(snippet);
    if !diagnostic.hint.is_empty() {
        group = group.element(Level::HELP.message(&diagnostic.hint));
    }
    renderer.render(&[group])
}

/// Carets below one line, in bytes: a long list is pointed at, not underlined to its end.
const CARETS: usize = 80;

/// The part of `span` that lies on its first line: a list over twenty lines is pointed at, not printed.
fn first_line(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = floor_char(text, span.start);
    let end = floor_char(text, span.end).max(start);
    let line = text.get(start..end).unwrap_or_default().lines().next().map_or(0, str::len);
    start..floor_char(text, start + line.min(CARETS))
}

/// `at`, or the nearest start of a character before it.
fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
