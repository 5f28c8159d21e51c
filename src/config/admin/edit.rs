//! Changes of `admin.toml` as commands make them: text in, text out, every comment that is not the entry's own kept.

use std::fmt;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use toml_edit::{ArrayOfTables, Datetime, DocumentMut, Item, Table, value};

use super::{Forced, Glob};

/// An entry to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEntry<'e> {
    /// The region.
    pub region: &'e str,
    /// A glob over services; absent: every service.
    pub service: Option<&'e str>,
    /// When it begins, in milliseconds since 1970 UTC; absent: now. Written to the second.
    pub from_ms: Option<i64>,
    /// When it ends, likewise; absent: when it is removed.
    pub until_ms: Option<i64>,
    /// Why; may be empty.
    pub reason: &'e str,
}

/// What a removal did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The file's new text.
    pub text: String,
    /// How many entries were taken out; zero: the text is the old one.
    pub removed: usize,
    /// Entries that still do to these services what was to be undone.
    pub wider: Vec<Wider>,
}

/// A wider entry that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wider {
    /// Its glob; absent: every service.
    pub service: Option<String>,
    /// Its reason; may be empty.
    pub reason: String,
}

/// Why the file can't be changed by command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// It is not TOML: line (from 1), what is wrong.
    Syntax(usize, String),
    /// This key does not hold `[[…]]` tables but something written inline.
    Inline(&'static str),
    /// A moment (milliseconds since 1970) that the calendar of TOML does not hold.
    Moment(i64),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(line, message) => write!(f, "line {line}: {message}"),
            Self::Inline(key) => write!(f, "`{key}` is not written as [[{key}]] tables: change it by hand"),
            Self::Moment(ms) => write!(f, "{ms} ms since 1970 is beyond the calendar"),
        }
    }
}

impl std::error::Error for EditError {}

/// Adds a drain; one of the same region and service gives way to it.
///
/// Errors: the text is not TOML, or its drains are not written as tables.
pub fn add_drain(text: &str, entry: NewEntry<'_>) -> Result<String, EditError> {
    add(text, "drain", entry, None)
}

/// Adds a force; one of the same region and service gives way to it.
///
/// Errors: as [`add_drain`].
pub fn add_force(text: &str, entry: NewEntry<'_>, state: Forced) -> Result<String, EditError> {
    add(text, "force", entry, Some(state))
}

/// Takes out the drains of exactly this region and service, and tells which wider ones still hold at `now_ms`
/// (milliseconds since 1970 UTC) or later.
///
/// Errors: as [`add_drain`].
pub fn remove_drain(
    text: &str,
    region: &str,
    service: Option<&str>,
    now_ms: i64,
) -> Result<Removal, EditError> {
    remove(text, "drain", region, service, now_ms)
}

/// Takes out the forces of exactly this region and service, likewise.
///
/// Errors: as [`add_drain`].
pub fn remove_force(
    text: &str,
    region: &str,
    service: Option<&str>,
    now_ms: i64,
) -> Result<Removal, EditError> {
    remove(text, "force", region, service, now_ms)
}

fn add(
    text: &str,
    key: &'static str,
    entry: NewEntry<'_>,
    state: Option<Forced>,
) -> Result<String, EditError> {
    let mut file = File::open(text)?;
    file.take_out(key, entry.region, entry.service)?;
    let mut table = write_entry(entry, state)?;

    // toml_edit keeps what follows the last table apart; without a table that is all of the file's comments, and they
    // stay above. With one, an entry goes behind the last of all.
    let last = file.positions().into_iter().max();
    table.set_position(Some(last.map_or(0, |position| position + 1)));
    let above = file.document.trailing().as_str().unwrap_or_default().to_owned();
    let above = if above.is_empty() || above.ends_with('\n') { above } else { above + "\n" };
    let apart = above == "\n" || above.ends_with("\n\n") || (above.is_empty() && last.is_none());
    let blank = if apart { "" } else { "\n" };
    table.decor_mut().set_prefix(format!("{above}{blank}"));
    file.document.set_trailing("");

    let item = file.document.entry(key).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut().ok_or(EditError::Inline(key))?.push(table);
    Ok(file.text())
}

fn remove(
    text: &str,
    key: &'static str,
    region: &str,
    service: Option<&str>,
    now_ms: i64,
) -> Result<Removal, EditError> {
    let mut file = File::open(text)?;
    let removed = file.take_out(key, region, service)?;
    let wider = file.wider(key, region, service, now_ms);
    let text = if removed == 0 { text.to_owned() } else { file.text() };
    Ok(Removal { text, removed, wider })
}

/// The file being changed.
struct File {
    document: DocumentMut,
}

impl File {
    fn open(text: &str) -> Result<Self, EditError> {
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            EditError::Syntax(crate::config::Place::of(text, at..at).line, error.message().to_owned())
        })?;
        Ok(Self { document })
    }

    fn text(&self) -> String {
        let mut text = self.document.to_string();
        if text.is_empty() {
            // An empty file is an error to whoever reads it; this is what "nothing" looks like.
            text.push_str("# Nothing is drained or forced.\n");
        } else if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// Takes out the entries of exactly this region and service; their own comments go with them.
    fn take_out(
        &mut self,
        key: &'static str,
        region: &str,
        service: Option<&str>,
    ) -> Result<usize, EditError> {
        let Some(item) = self.document.get_mut(key) else { return Ok(0) };
        let tables = item.as_array_of_tables_mut().ok_or(EditError::Inline(key))?;
        let mut gone = Vec::new();
        for index in (0..tables.len()).rev() {
            if tables.get(index).is_some_and(|table| is_exactly(table, region, service)) {
                gone.push(tables.remove(index));
            }
        }
        if tables.is_empty() {
            self.document.remove(key);
        }
        // From the last to the first, so that what is handed on goes through all of those that follow.
        gone.sort_by_key(|table| std::cmp::Reverse(table.position()));
        for table in &gone {
            self.hand_on(table.position(), kept_of(prefix_of(table)));
        }
        Ok(gone.len())
    }

    /// Puts comments that are not an entry's own above whatever comes behind that entry.
    fn hand_on(&mut self, position: Option<isize>, comments: &str) {
        let next = self
            .tables_mut()
            .filter(|table| table.position() > position)
            .min_by_key(|table| table.position());
        match next {
            Some(table) => {
                let prefix = join(comments, prefix_of(table));
                table.decor_mut().set_prefix(prefix);
            }
            None => {
                let trailing = join(comments, self.document.trailing().as_str().unwrap_or_default());
                self.document.set_trailing(trailing);
            }
        }
    }

    fn wider(&self, key: &str, region: &str, service: Option<&str>, now_ms: i64) -> Vec<Wider> {
        let tables = self.document.get(key).and_then(Item::as_array_of_tables);
        let still = tables.into_iter().flatten().filter(|table| {
            let glob = service_of(table).map(|glob| Glob(glob.to_owned()));
            let covers = match (&glob, service) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(glob), Some(service)) => glob.covers(&Glob(service.to_owned())),
            };
            region_of(table) == Some(region) && covers && !ended(table, now_ms)
        });
        let of = |table: &Table| Wider {
            service: service_of(table).map(str::to_owned),
            reason: table.get("reason").and_then(Item::as_str).unwrap_or_default().to_owned(),
        };
        still.map(of).collect()
    }

    fn positions(&self) -> Vec<isize> {
        let arrays = self.document.iter().filter_map(|(_, item)| item.as_array_of_tables());
        arrays.flatten().filter_map(Table::position).collect()
    }

    fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        let items = self.document.iter_mut().map(|(_, item)| item);
        items.filter_map(|item| item.as_array_of_tables_mut()).flat_map(|tables| tables.iter_mut())
    }
}

fn write_entry(entry: NewEntry<'_>, state: Option<Forced>) -> Result<Table, EditError> {
    let mut table = Table::new();
    table.insert("region", value(entry.region));
    if let Some(state) = state {
        table.insert("state", value(if state == Forced::Up { "up" } else { "down" }));
    }
    if let Some(service) = entry.service {
        table.insert("service", value(service));
    }
    for (key, moment) in [("from", entry.from_ms), ("until", entry.until_ms)] {
        if let Some(ms) = moment {
            table.insert(key, value(to_datetime(ms)?));
        }
    }
    if !entry.reason.is_empty() {
        table.insert("reason", value(entry.reason));
    }
    Ok(table)
}

/// The file has whole seconds. Rounded up: nothing begins or ends before it was said to.
fn to_datetime(ms: i64) -> Result<Datetime, EditError> {
    let seconds = ms.saturating_add(999).div_euclid(1000);
    let moment = OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| EditError::Moment(ms))?;
    let text = moment.format(&Rfc3339).map_err(|_| EditError::Moment(ms))?;
    text.parse().map_err(|_| EditError::Moment(ms))
}

fn is_exactly(table: &Table, region: &str, service: Option<&str>) -> bool {
    let same_service = match (service_of(table), service) {
        (None, None) => true,
        (Some(one), Some(other)) => Glob(one.to_owned()).same_as(&Glob(other.to_owned())),
        _ => false,
    };
    region_of(table) == Some(region) && same_service
}

fn region_of(table: &Table) -> Option<&str> {
    table.get("region").and_then(Item::as_str)
}

fn service_of(table: &Table) -> Option<&str> {
    table.get("service").and_then(Item::as_str)
}

/// Whether its end has passed; what can't be read has not.
fn ended(table: &Table, now_ms: i64) -> bool {
    let until = table.get("until").and_then(Item::as_datetime).map(ToString::to_string);
    let until = until.and_then(|text| OffsetDateTime::parse(&text, &Rfc3339).ok());
    until.is_some_and(|until| until.unix_timestamp_nanos() <= i128::from(now_ms) * 1_000_000)
}

fn prefix_of(table: &Table) -> &str {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default()
}

/// Of the lines above an entry those that are not its own: its own ones touch it, the others end in a blank line.
fn kept_of(prefix: &str) -> &str {
    let mut kept = prefix.len();
    for line in prefix.split_inclusive('\n').rev() {
        if line.trim().is_empty() {
            break;
        }
        kept -= line.len();
    }
    prefix.get(..kept).unwrap_or_default()
}

/// One after the other, without a second blank line between them.
fn join(first: &str, second: &str) -> String {
    if first.trim().is_empty() {
        return second.to_owned();
    }
    let second = if first.ends_with("\n\n") { second.trim_start_matches('\n') } else { second };
    format!("{first}{second}")
}
