//! From the text of `admin.toml` to an [`AdminFile`]. Any fault refuses the whole file: what was in force stays.

use std::path::Path;

use time::{Date, Month, PrimitiveDateTime, Time, UtcOffset};
use toml_edit::{Datetime, Offset};

use crate::region::{RegionId, Regions};

use crate::config::keys::{self, Section};
use crate::config::nearest::suggest;
use crate::config::reader::{Reader, Table, Value};
use crate::config::regions::read_region;
use crate::config::{Diagnostic, Place};

use super::{AdminFile, Entry, Forced, Glob};

/// Bytes of a reason: it is printed in one line of a status.
const REASON_BYTES: usize = 1024;

impl AdminFile {
    /// Reads `admin.toml`. `services` are the configured names, `now_ms` the time in milliseconds since 1970 UTC, which
    /// decides only which entries are warned about as past.
    ///
    /// Errors: everything that is wrong, in file order.
    pub fn parse(
        text: &str,
        path: &Path,
        regions: &Regions,
        services: &[&str],
        now_ms: i64,
    ) -> Result<Self, Vec<Diagnostic>> {
        if let Some(cut_off) = cut_off(text, path) {
            return Err(vec![cut_off]);
        }
        let (root, reader) = Reader::open(text, path, None);
        let top = Table::top(&reader, &root, &keys::ADMIN_FILE);
        let context = Context { reader: &reader, regions, services, now_ms };
        let drains = context.read_entries(&top, "drain", &keys::DRAIN, |_, entry| Some(entry));
        let forces = context.read_entries(&top, "force", &keys::FORCE, |table, entry| {
            let states = [("up", Forced::Up), ("down", Forced::Down)];
            let state = table.required("state", "state = \"down\"", |value| value.choice(&states));
            Some((entry, state?))
        });
        context.read_emergency(&top);
        let warnings = reader.finish()?;
        Ok(Self { drains, forces, warnings })
    }
}

/// Half a file: nothing at all, or no newline at its end. It is not read any further, for what it says may be the
/// opposite of what it will say.
fn cut_off(text: &str, path: &Path) -> Option<Diagnostic> {
    if text.is_empty() {
        let hint = "to clear everything leave a comment in it; to keep what is in force put the entries back";
        return Some(Diagnostic::error(
            path,
            Place::default(),
            "the file is empty, as if a write was cut off",
            hint,
        ));
    }
    if text.ends_with('\n') {
        return None;
    }
    let last = text.lines().next_back().unwrap_or_default();
    let place = Place::of(text, text.len() - last.len()..text.len());
    let message = "the last line does not end in a newline, as if a write was cut off";
    Some(Diagnostic::error(path, place, message, "end the last line with a newline"))
}

struct Context<'r, 'f> {
    reader: &'r Reader<'f>,
    regions: &'r Regions,
    services: &'r [&'r str],
    now_ms: i64,
}

impl Context<'_, '_> {
    fn read_entries<T>(
        &self,
        top: &Table<'_, '_>,
        key: &'static str,
        section: &'static Section,
        finish: impl Fn(&Table<'_, '_>, Entry) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = top.get(key) else { return Vec::new() };
        let mut read = Vec::new();
        for table in value.tables(section) {
            let region =
                table.required("region", "region = \"cn\"", |value| read_region(value, Some(self.regions)));
            let entry = self.read_entry(&table, region.or(RegionId::new(0)));
            read.extend(entry.and_then(|entry| finish(&table, entry)));
        }
        read
    }

    /// An entry; after a fault its region may be any, so that the rest is looked at too.
    fn read_entry(&self, table: &Table<'_, '_>, region: Option<RegionId>) -> Option<Entry> {
        let service = table.optional("service", |value| self.read_glob(value));
        let from_ms = table.optional("from", read_moment);
        let until_ms = table.optional("until", |value| {
            let until_ms = read_moment(value)?;
            if from_ms.is_some_and(|from_ms| until_ms <= from_ms) {
                let from = table.get("from").map_or(0..0, |from| from.span());
                self.reader.conflict(
                    value.span(),
                    "it ends before it begins",
                    "swap the two moments",
                    (from, "begins"),
                );
            } else if until_ms <= self.now_ms {
                let message = "this entry has no effect any more: its end has passed";
                self.reader.warn(value.span(), message, "take the entry out when it is convenient");
            }
            Some(until_ms)
        });
        let reason = table.or("reason", String::new(), read_reason);
        let line = self.reader.place(table.span()).line;
        Some(Entry { line, region: region?, service, from_ms, until_ms, reason })
    }

    fn read_glob(&self, value: &Value<'_, '_>) -> Option<Glob> {
        let glob = Glob(value.string()?);
        if self.services.iter().any(|service| glob.matches(service)) {
            return Some(glob);
        }
        let hint = suggest(&glob.0, "services", self.services);
        value.refuse(format!("\"{}\" matches no service", glob.0), hint)
    }

    /// `[[emergency]]` is the HTTP split's. It is checked, and said to be without effect: an error would take every
    /// drain of the file along, for a switch that this node does not have.
    fn read_emergency(&self, top: &Table<'_, '_>) {
        let Some(value) = top.get("emergency") else { return };
        for table in value.tables(&keys::EMERGENCY) {
            table.optional("reason", read_reason);
            table.optional("backend", Value::filled);
            self.reader.warn(
                table.span(),
                "[[emergency]] has no effect: this node splits no HTTP traffic",
                "to take a region out of DNS answers use [[drain]]",
            );
        }
    }
}

fn read_reason(value: &Value<'_, '_>) -> Option<String> {
    let reason = value.string()?;
    if reason.len() > REASON_BYTES {
        return value.refuse(format!("`reason` has {} bytes, at most {REASON_BYTES} go", reason.len()), "");
    }
    if reason.chars().any(char::is_control) {
        return value
            .refuse("`reason` has a line break or another control character in it", "write it in one line");
    }
    Some(reason)
}

/// A moment with its offset from UTC, in milliseconds since 1970.
fn read_moment(value: &Value<'_, '_>) -> Option<i64> {
    let moment = value.datetime()?;
    let (Some(_), Some(_), Some(offset)) = (moment.date, moment.time, moment.offset) else {
        let hint = match (moment.date, moment.time) {
            (Some(_), Some(_)) => {
                format!("say in which zone: {moment}Z for UTC, {moment}+08:00 for eight hours east")
            }
            _ => "write date, time and offset: 2026-12-01T04:00:00Z".to_owned(),
        };
        return value.refuse(format!("`{}` does not say which moment on earth it is", value.key()), hint);
    };
    match to_unix_ms(moment, offset) {
        Some(ms) => Some(ms),
        None => value.refuse(format!("`{}` is not a moment of the calendar", value.key()), ""),
    }
}

fn to_unix_ms(moment: &Datetime, offset: Offset) -> Option<i64> {
    let (date, time) = (moment.date?, moment.time?);
    let month = Month::try_from(date.month).ok()?;
    let date = Date::from_calendar_date(date.year.into(), month, date.day).ok()?;
    // A leap second is the last second's end.
    let second = time.second.unwrap_or(0).min(59);
    let time = Time::from_hms_nano(time.hour, time.minute, second, time.nanosecond.unwrap_or(0)).ok()?;
    let minutes = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i32::from(minutes),
    };
    let offset = UtcOffset::from_whole_seconds(minutes * 60).ok()?;
    let nanos = PrimitiveDateTime::new(date, time).assume_offset(offset).unix_timestamp_nanos();
    i64::try_from(nanos.div_euclid(1_000_000)).ok()
}
