//! Typed reading of a spanned TOML tree: every fault is noted with its place, and reading goes on.
//!
//! A reader returns `None` (or leaves an item out) only after it has noted an error, and a file with an error is
//! refused whole. So what follows a fault may take any value: it serves to find further faults, never to run.

use std::cell::RefCell;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{self, Diagnostic, Lines, Place, Severity};
use super::keys::{self, Section};
use super::nearest::{nearest, suggest};
use super::scalar::{self, EnvFault};

/// Looks a variable up in the environment.
pub(super) type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// One file being read: what was found so far.
pub(super) struct Reader<'f> {
    path: &'f Path,
    lines: Lines<'f>,
    /// Absent: strings are taken as they are.
    env: Option<Env<'f>>,
    /// Whether the syntax is broken somewhere: then what is missing may only be what could not be read.
    damaged: bool,
    found: RefCell<Vec<Diagnostic>>,
}

impl<'f> Reader<'f> {
    /// Parses `text`, going on behind syntax errors; they are noted.
    pub(super) fn open(text: &'f str, path: &'f Path, env: Option<Env<'f>>) -> (Spanned<DeTable<'f>>, Self) {
        let (root, faults) = DeTable::parse_recoverable(text);
        let lines = Lines::of(text);
        let reader = Self { path, lines, env, damaged: !faults.is_empty(), found: RefCell::default() };
        let mut last_line = 0;
        for fault in faults {
            let place = reader.place(fault.span().unwrap_or_default());
            // What follows on the same line is mostly the same mistake.
            if place.line != last_line {
                last_line = place.line;
                let hint = syntax_hint(fault.message());
                let meant = text.get(place.span.clone()).unwrap_or_default();
                let message = format!("syntax: {}", syntax_message(fault.message(), meant));
                reader.note(Diagnostic::error(path, place, message, hint));
            }
        }
        (root, reader)
    }

    /// Whether a name that is referred to may stand in a part that could not be read.
    pub(super) fn damaged(&self) -> bool {
        self.damaged
    }

    /// Notes an error.
    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.note(Diagnostic::error(self.path, self.place(span), message, hint));
    }

    /// Notes an error that another place explains.
    pub(super) fn conflict(
        &self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
        other: (Range<usize>, &'static str),
    ) {
        let related = Some((self.place(other.0), other.1));
        self.note(Diagnostic { related, ..Diagnostic::error(self.path, self.place(span), message, hint) });
    }

    /// Notes a warning.
    pub(super) fn warn(&self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.note(Diagnostic::warning(self.path, self.place(span), message, hint));
    }

    /// The place of a span.
    pub(super) fn place(&self, span: Range<usize>) -> Place {
        self.lines.place(span)
    }

    /// What was found, in file order: the warnings, or, when anything is wrong, that. What seems odd beside an error is
    /// mostly its shadow.
    pub(super) fn finish(self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|one| one.place.span.start);
        let (errors, warnings): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|one| one.severity == Severity::Error);
        if errors.is_empty() { Ok(diagnostic::first_of(warnings)) } else { Err(diagnostic::first_of(errors)) }
    }

    fn note(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }
}

/// A table whose keys are known: strangers were noted when it was opened.
pub(super) struct Table<'r, 'f> {
    reader: &'r Reader<'f>,
    entries: &'r DeTable<'f>,
    /// Its header, or the braces of an inline table.
    span: Range<usize>,
    section: &'static Section,
    /// How messages call it: `[regions.cn]`.
    title: String,
}

impl<'r, 'f> Table<'r, 'f> {
    /// The file's top.
    pub(super) fn top(
        reader: &'r Reader<'f>,
        root: &'r Spanned<DeTable<'f>>,
        section: &'static Section,
    ) -> Self {
        Self::open(reader, root.get_ref(), 0..0, section, section.title.to_owned())
    }

    fn open(
        reader: &'r Reader<'f>,
        entries: &'r DeTable<'f>,
        span: Range<usize>,
        section: &'static Section,
        title: String,
    ) -> Self {
        let table = Self { reader, entries, span, section, title };
        let unknown = entries.keys().filter(|key| !section.keys.contains(&key.get_ref().as_ref()));
        unknown.for_each(|key| table.note_unknown(key.get_ref(), key.span()));
        table
    }

    /// Its header's place.
    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The key's value, when it is there.
    pub(super) fn get(&self, key: &'static str) -> Option<Value<'r, 'f>> {
        debug_assert!(self.section.keys.contains(&key), "{key} is not listed for {}", self.section.title);
        let (name, item) = self.entries.get_key_value(key)?;
        Some(Value { reader: self.reader, item, key, key_span: name.span() })
    }

    /// The key's value as `read` takes it; `None` when it is absent.
    pub(super) fn optional<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Value<'r, 'f>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).and_then(|value| read(&value))
    }

    /// The key's value as `read` takes it, or `default`.
    pub(super) fn or<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Value<'r, 'f>) -> Option<T>,
    ) -> T {
        self.optional(key, read).unwrap_or(default)
    }

    /// The key's value as `read` takes it; being absent is an error. `example` is what to write.
    pub(super) fn required<T>(
        &self,
        key: &'static str,
        example: &str,
        read: impl FnOnce(&Value<'r, 'f>) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key);
        if value.is_none() && !self.reader.damaged && !self.has_misspelt(key) {
            let hint = format!("write, for example: {example}");
            self.reader.error(self.span(), format!("`{key}` is missing {}", at(&self.title)), hint);
        }
        read(&value?)
    }

    /// Whether a stranger stands here that was already taken for `key`.
    fn has_misspelt(&self, key: &str) -> bool {
        let strangers = self.entries.keys().map(|name| name.get_ref().as_ref());
        let mut strangers = strangers.filter(|name| !self.section.keys.contains(name));
        strangers.any(|name| nearest(name, self.section.keys.iter().copied()) == Some(key))
    }

    /// Says of a key that stands here by mistake what is known about it.
    fn note_unknown(&self, key: &str, span: Range<usize>) {
        let (section, title) = (self.section, &self.title);
        if let Some((_, what)) = section.later.iter().find(|(name, _)| *name == key) {
            let hint = format!("take `{key}` out; {what} comes in a later version");
            return self.reader.error(span, format!("`{key}`: {what} is not in this version"), hint);
        }
        match keys::homes_of(key, section).as_slice() {
            [] => {
                let hint = suggest(key, "keys here", section.keys);
                self.reader.error(span, format!("unknown key `{key}` {}", at(title)), hint);
            }
            [home] if *home == keys::TOP.title => {
                let message = format!("`{key}` belongs to {home}, it stands below {title}");
                self.reader.error(span, message, "move it above the first line that begins with `[`");
            }
            homes => {
                let message = format!("`{key}` belongs to {}, it stands {}", homes.join(" or "), at(title));
                self.reader.error(span, message, format!("move it below {}", homes.join(" or ")));
            }
        }
    }
}

/// A value with the key that it stands behind.
pub(super) struct Value<'r, 'f> {
    reader: &'r Reader<'f>,
    item: &'r Spanned<DeValue<'f>>,
    key: &'r str,
    key_span: Range<usize>,
}

impl<'r, 'f> Value<'r, 'f> {
    /// Its place.
    pub(super) fn span(&self) -> Range<usize> {
        self.item.span()
    }

    /// Its key's place.
    pub(super) fn key_span(&self) -> Range<usize> {
        self.key_span.clone()
    }

    /// Its key.
    pub(super) fn key(&self) -> &'r str {
        self.key
    }

    /// The reader that notes what is found.
    pub(super) fn reader(&self) -> &'r Reader<'f> {
        self.reader
    }

    /// What was typed, when it is a string: for messages, since the environment's values may be secret.
    pub(super) fn typed(&self) -> &'r str {
        self.item.get_ref().as_str().unwrap_or_default()
    }

    /// Notes an error here.
    pub(super) fn refuse<T>(&self, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.reader.error(self.span(), message, hint);
        None
    }

    /// Notes an error here without showing the line, which holds something secret.
    pub(super) fn refuse_private<T>(&self, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        let error = Diagnostic::error(self.reader.path, self.reader.place(self.span()), message, hint);
        self.reader.note(Diagnostic { private: true, ..error });
        None
    }

    /// A string, with the environment put in.
    pub(super) fn string(&self) -> Option<String> {
        let DeValue::String(text) = self.item.get_ref() else {
            return self.wrong_type("a string in quotes");
        };
        let Some(env) = self.reader.env else {
            return Some(text.to_string());
        };
        match scalar::expand(text, env) {
            Ok(text) => Some(text),
            Err(EnvFault::Missing(name)) => self.refuse(
                format!("the environment variable `{name}` is not set"),
                "set it where the server is started, or write `$$` for a plain dollar",
            ),
            Err(EnvFault::Malformed) => self.refuse(
                "`${` is not followed by a name and `}`",
                "write ${NAME} for an environment variable, `$$` for a plain dollar",
            ),
        }
    }

    /// A string with something in it and no control characters.
    pub(super) fn filled(&self) -> Option<String> {
        let text = self.string()?;
        if text.trim().is_empty() {
            return self.refuse(format!("`{}` is empty", self.key), "");
        }
        if text.chars().any(char::is_control) {
            return self.refuse(format!("`{}` has a control character in it", self.key), "");
        }
        Some(text)
    }

    /// A duration in `range`.
    pub(super) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let wanted = r#"a duration such as "30s" or "500ms""#;
        if !self.item.get_ref().is_str() {
            return self.wrong_type(wanted);
        }
        let text = self.string()?;
        let Some(span) = scalar::parse_duration(&text) else {
            return self.refuse(
                format!("`{}` is not a duration: \"{}\"", self.key, self.typed()),
                "write whole numbers with a unit, the longest first: \"500ms\", \"5s\", \"1m30s\", \"2h\", \"1d\"",
            );
        };
        if range.contains(&span) {
            return Some(span);
        }
        let [from, to] = [*range.start(), *range.end()].map(scalar::show_duration);
        self.refuse(
            format!("`{}` is {}, allowed are {from} to {to}", self.key, scalar::show_duration(span)),
            "",
        )
    }

    /// A whole number in `range`.
    pub(super) fn integer(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(digits) = self.item.get_ref() else {
            return self.wrong_type("a whole number");
        };
        match u64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) if range.contains(&number) => Some(number),
            _ => self.refuse(
                format!("`{}` is {digits}, allowed are {} to {}", self.key, range.start(), range.end()),
                "",
            ),
        }
    }

    /// A number in `range`, written with or without a point.
    pub(super) fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let typed = match self.item.get_ref() {
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            _ => return self.wrong_type("a number"),
        };
        match typed.parse::<f64>() {
            Ok(number) if range.contains(&number) => Some(number),
            _ => self.refuse(
                format!("`{}` is {typed}, allowed are {} to {}", self.key, range.start(), range.end()),
                "",
            ),
        }
    }

    /// True or false.
    pub(super) fn boolean(&self) -> Option<bool> {
        self.item.get_ref().as_bool().map_or_else(|| self.wrong_type("true or false"), Some)
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let word = self.string()?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == word) {
            return Some(*choice);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.refuse(
            format!("`{}` is \"{}\", it takes one of {}", self.key, self.typed(), names.join(", ")),
            nearest(&word, names).map(|meant| format!("did you mean `{meant}`?")).unwrap_or_default(),
        )
    }

    /// What TOML itself calls a date or time.
    pub(super) fn datetime(&self) -> Option<&'r toml_edit::Datetime> {
        let wanted = "a moment such as 2026-12-01T04:00:00Z, without quotes";
        self.item.get_ref().as_datetime().map_or_else(|| self.wrong_type(wanted), Some)
    }

    /// The items of a list, each as `read` takes it.
    pub(super) fn list<T>(&self, read: impl FnMut(&Self) -> Option<T>) -> Option<Vec<T>> {
        let Some(items) = self.items() else {
            return self.wrong_type("a list in [ ]");
        };
        Some(items.iter().filter_map(read).collect())
    }

    /// The items, when it is a list.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let items = self.item.get_ref().as_array()?;
        let value = |item| Self { reader: self.reader, item, key: self.key, key_span: self.key_span() };
        Some(items.iter().map(value).collect())
    }

    /// A table with these keys, called `title`.
    pub(super) fn table(&self, section: &'static Section, title: impl Into<String>) -> Option<Table<'r, 'f>> {
        match self.item.get_ref() {
            DeValue::Table(entries) => {
                Some(Table::open(self.reader, entries, self.span(), section, title.into()))
            }
            found => {
                let hint = section.form(self.key, found.as_str().map(|_| self.typed()));
                self.is_not("a table", hint)
            }
        }
    }

    /// `[[…]]`: a list of tables with these keys.
    pub(super) fn tables(&self, section: &'static Section) -> Vec<Table<'r, 'f>> {
        match self.items() {
            Some(items) => items.iter().filter_map(|item| item.table(section, section.title)).collect(),
            None => {
                let message = format!("`{}` is a list of tables", self.key);
                let hint = format!("write its header with two brackets: {}", section.title);
                self.refuse::<()>(message, hint);
                Vec::new()
            }
        }
    }

    /// A table whose keys are names that the operator chose: its entries in file order.
    pub(super) fn entries(&self) -> Option<Vec<Self>> {
        let Some(entries) = self.item.get_ref().as_table() else {
            return self.wrong_type("a table");
        };
        let value = |(key, item): (&'r Spanned<std::borrow::Cow<'f, str>>, _)| Self {
            reader: self.reader,
            item,
            key: key.get_ref().as_ref(),
            key_span: key.span(),
        };
        let mut entries: Vec<Self> = entries.iter().map(value).collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        Some(entries)
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.item.get_ref().is_table()
    }

    /// Notes that something else belongs here.
    pub(super) fn wrong_type<T>(&self, wanted: &str) -> Option<T> {
        self.is_not(wanted, self.hint_for(wanted))
    }

    fn is_not<T>(&self, wanted: &str, hint: String) -> Option<T> {
        let found = match self.item.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.refuse(format!("`{}` takes {wanted}, this is {found}", self.key), hint)
    }

    /// What turns the value into what is wanted, for the mistakes that people make.
    fn hint_for(&self, wanted: &str) -> String {
        match self.item.get_ref() {
            DeValue::Integer(number) if wanted.contains("duration") => {
                format!("for seconds write \"{number}s\"")
            }
            DeValue::String(text) if wanted.contains("list") => format!("put it in brackets: [\"{text}\"]"),
            DeValue::String(text) if is_bare_value(text) => format!("take the quotes off: {text}"),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_)
                if wanted.contains("string") =>
            {
                "put it in double quotes".to_owned()
            }
            _ => String::new(),
        }
    }
}

/// Whether it is a number, a moment, or a truth value that somebody put in quotes.
fn is_bare_value(text: &str) -> bool {
    let number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    matches!(text, "true" | "false") || number() || text.parse::<toml_edit::Datetime>().is_ok()
}

/// "in [dns]", "at the top of the file".
fn at(title: &str) -> String {
    if title.starts_with("the top") { format!("at {title}") } else { format!("in {title}") }
}

/// The parser's words for a syntax error, with the name that it is about.
fn syntax_message(message: &str, meant: &str) -> String {
    match message {
        "duplicate key" => format!("`{meant}` is defined twice"),
        other => other.strip_suffix(", expected literal string").unwrap_or(other).to_owned(),
    }
}

/// What mostly helps against a syntax error.
fn syntax_hint(message: &str) -> &'static str {
    if message.contains("duplicate key") {
        "keep one of the two"
    } else if message.contains("string values must be quoted") {
        "put the text in double quotes"
    } else {
        ""
    }
}
