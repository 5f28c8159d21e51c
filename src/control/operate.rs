//! What operators do to a running server: orders through the admin file, releases, reloads. One at a time, each with
//! its preview, its guard, its reason and its audit line.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::clock::Now;
use super::inputs::Inputs;
use super::journal::rfc3339;
use super::load::parse_orders;
use super::plan::Plan;
use super::preview::{Preview, preview};
use crate::config::admin::{
    AdminFile, EditError, Entry, Forced, Glob, NewEntry, add_drain, add_force, remove_drain, remove_force,
};
use crate::config::{Config, Diagnostic, parse_duration};

/// What an operator asks for; the names are those of the command line and the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The region's name.
    pub region: String,
    /// A glob over services; absent: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// RFC 3339; absent: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// A duration (`2h`) from the beginning; absent: until it is removed.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// `up` or `down`, for a force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// Do it although the guard refuses.
    #[serde(default)]
    pub force: bool,
}

/// What kind of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Take a region out.
    Drain,
    /// Put it back.
    Undrain,
    /// Say that it is up or down, whatever the probes say.
    Force,
    /// Let the probes say again.
    Unforce,
}

impl Verb {
    /// The word on the command line and in the API's path.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Undrain => "undrain",
            Self::Force => "force",
            Self::Unforce => "unforce",
        }
    }
}

/// It is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The serial from which it holds; absent on a dry run, or without a running server.
    pub serial: Option<u64>,
    /// Whether it is live.
    pub live: bool,
    /// Whether anything changed.
    pub changed: bool,
    /// What was done, in a sentence.
    pub text: String,
    /// What it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// What to know.
    pub warnings: Vec<String>,
    /// Wider orders that still do what was undone; where there are any, it is done only in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still: Vec<String>,
}

/// It was not done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What is wrong, in a sentence or several lines.
    pub text: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// What it would have moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<Preview>>,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// What was asked for makes no sense: an unknown region, a glob that matches nothing, a bad moment.
    BadRequest,
    /// The admin file on disk, or the configuration, is invalid.
    InvalidFile,
    /// The guard refuses.
    Guard,
    /// There is nothing to undo; perhaps a wider order still holds.
    NothingToDo,
    /// The file could not be written.
    CannotWrite,
    /// A key that needs a restart changed.
    NeedsRestart,
    /// The server is stopping.
    Stopping,
}

impl RefusalKind {
    /// The HTTP status of the API's answer.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::NothingToDo | Self::Guard | Self::InvalidFile | Self::NeedsRestart => 409,
            Self::CannotWrite => 500,
            Self::Stopping => 503,
        }
    }

    /// The exit code of the command line.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::BadRequest => 2,
            Self::Guard => 7,
            Self::InvalidFile | Self::NothingToDo | Self::CannotWrite | Self::NeedsRestart => 1,
            Self::Stopping => 3,
        }
    }
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(kind: RefusalKind, text: String) -> Self {
        Self { kind, text, hint: String::new(), preview: None }
    }

    /// The same with a hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }
}

/// An order, checked: what to write and what it does.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The admin file's new text.
    pub text: String,
    /// The same, read.
    pub file: AdminFile,
    /// What it moves.
    pub preview: Preview,
    /// What it does, in words that begin with a verb.
    pub sentence: String,
    /// What to know.
    pub warnings: Vec<String>,
    /// Wider orders that still do what is undone.
    pub still: Vec<String>,
}

/// What an order is given against: the file as it stands, and what is known.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'g> {
    /// The text of the admin file; empty: none yet.
    pub base: &'g str,
    /// Where it lies.
    pub path: &'g Path,
    /// The configuration.
    pub config: &'g Config,
    /// The same, wired.
    pub plan: &'g Plan,
    /// What is known and ordered.
    pub inputs: &'g Inputs,
    /// When.
    pub now: Now,
}

/// Checks an order and says what it would do. Pure: the running server, its dry run and the command line without a
/// server all come here.
///
/// Errors: it makes no sense, there is nothing to undo, or the guard refuses and nobody insists.
pub fn prepare(verb: Verb, order: &Order, ground: Ground<'_>) -> Result<Prepared, Refusal> {
    let config = ground.config;
    config.regions.find(&order.region).map_err(|error| {
        let names: Vec<&str> = config.regions.iter().map(|region| config.regions.name(region)).collect();
        bad(error.to_string()).hint(format!("regions: {}", names.join(", ")))
    })?;
    if let Some(glob) = &order.service {
        let matches = config.services.iter().any(|service| Glob(glob.clone()).matches(&service.name));
        if !matches {
            let names: Vec<&str> = config.services.iter().take(10).map(|service| &*service.name).collect();
            return Err(
                bad(format!("no service matches `{glob}`")).hint(format!("services: {}", names.join(", ")))
            );
        }
    }
    let span = span(verb, order, ground.now)?;
    let (text, still) = edit(verb, order, span, ground)?;
    let file = read_back(&text, ground)?;
    // Before an order begins nothing moves: its preview is of the moment at which it does.
    let moment = span.0.unwrap_or(ground.now.wall_ms).max(ground.now.wall_ms);
    let mut preview = preview(config, ground.plan, ground.inputs, &file, moment);
    for at_ms in beginnings_within(&file, moment, span.1) {
        let then = self::preview(config, ground.plan, ground.inputs, &file, at_ms);
        let new = then.refusals.into_iter().filter(|refusal| !preview.refusals.contains(refusal));
        let new: Vec<String> = new.map(|refusal| format!("from {} on {refusal}", rfc3339(at_ms))).collect();
        preview.refusals.extend(new);
    }
    let guarded = verb == Verb::Drain || (verb == Verb::Force && order.state.as_deref() == Some("down"));
    if guarded && !preview.refusals.is_empty() && !order.force {
        let text =
            format!("the guard refuses to {} {}: {}", verb.word(), order.region, preview.refusals.join("; "));
        let preview = Some(Box::new(preview));
        return Err(Refusal { preview, ..Refusal::new(RefusalKind::Guard, text) }
            .hint("drain another region, bring one back first, or insist with --force"));
    }
    let mut warnings: Vec<String> = file.warnings.iter().map(Diagnostic::one_line).collect();
    warnings.extend(ended_early(verb, order, moment, ground));
    if guarded {
        warnings.extend(preview.refusals.iter().map(|refusal| format!("done although {refusal}")));
    }
    Ok(Prepared { text, file, preview, sentence: sentence(verb, order), warnings, still })
}

/// When other orders begin while one that begins at `from_ms` and ends before `until_ms` (absent: never) is in force: what
/// it leaves able at its beginning, they may take out later. At most [`MAX_BEGINNINGS`], the soonest.
fn beginnings_within(file: &AdminFile, from_ms: i64, until_ms: Option<i64>) -> BTreeSet<i64> {
    let entries = file.drains.iter().chain(file.forces.iter().map(|(entry, _)| entry));
    let within = |at_ms: &i64| *at_ms > from_ms && until_ms.is_none_or(|until_ms| *at_ms < until_ms);
    let all: BTreeSet<i64> = entries.filter_map(|entry| entry.from_ms).filter(within).collect();
    all.into_iter().take(MAX_BEGINNINGS).collect()
}

/// The order that gives way to this one, if it holds now and this one does not yet: it ends at once, which is easily
/// overlooked.
fn ended_early(verb: Verb, order: &Order, begins_ms: i64, ground: Ground<'_>) -> Option<String> {
    let region = ground.config.regions.find(&order.region).ok()?;
    let now_ms = ground.now.wall_ms;
    let glob = order.service.clone().map(Glob);
    let same_services = |entry: &Entry| match (&entry.service, &glob) {
        (Some(one), Some(other)) => one.same_as(other),
        (None, None) => true,
        _ => false,
    };
    let orders = &ground.inputs.orders;
    let replaced = match verb {
        Verb::Drain => orders.drains.iter().find(|entry| entry.region == region && same_services(entry)),
        Verb::Force => {
            let mut forces = orders.forces.iter().map(|(entry, _)| entry);
            forces.find(|entry| entry.region == region && same_services(entry))
        }
        Verb::Undrain | Verb::Unforce => None,
    }?;
    (begins_ms > now_ms && replaced.holds_at(now_ms)).then(|| {
        format!(
            "it takes the place of the {} of {} that holds now, which ends at once",
            verb.word(),
            order.region
        )
    })
}

/// Scheduled beginnings that an order is weighed at, beside its own.
const MAX_BEGINNINGS: usize = 32;

/// When an order begins and ends, in milliseconds since 1970.
type Span = (Option<i64>, Option<i64>);

fn span(verb: Verb, order: &Order, now: Now) -> Result<Span, Refusal> {
    let undoes = matches!(verb, Verb::Undrain | Verb::Unforce);
    if undoes && (order.from.is_some() || order.lasting.is_some()) {
        return Err(bad(format!("{} takes neither `from` nor `for`: it holds at once", verb.word())));
    }
    let from_ms = order.from.as_deref().map(moment_ms).transpose()?;
    let lasting = order.lasting.as_deref().map(|text| {
        parse_duration(text)
            .ok_or_else(|| bad(format!("`{text}` is not a duration")).hint("write it like 2h or 90m"))
    });
    let begins_ms = from_ms.unwrap_or(now.wall_ms);
    let until_ms = lasting
        .transpose()?
        .map(|lasting| begins_ms.saturating_add(i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX)));
    if until_ms.is_some_and(|until_ms| until_ms <= now.wall_ms) {
        return Err(
            bad("it would have ended already".to_owned()).hint("`from` plus `for` must lie in the future")
        );
    }
    Ok((from_ms, until_ms))
}

fn moment_ms(text: &str) -> Result<i64, Refusal> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
        bad(format!("`{text}` is not a moment")).hint("write it with its offset: 2026-12-01T04:00:00Z")
    })?;
    Ok(i64::try_from(moment.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX))
}

/// The file's text with the order in it, and what still holds although it was undone.
fn edit(
    verb: Verb,
    order: &Order,
    (from_ms, until_ms): Span,
    ground: Ground<'_>,
) -> Result<(String, Vec<String>), Refusal> {
    let (region, service) = (order.region.as_str(), order.service.as_deref());
    let entry = NewEntry { region, service, from_ms, until_ms, reason: &order.reason };
    let unwritable = |error: EditError| {
        Refusal::new(RefusalKind::InvalidFile, format!("{}: {error}", ground.path.display()))
            .hint("correct the file by hand first")
    };
    let removal = match verb {
        Verb::Drain => return Ok((add_drain(ground.base, entry).map_err(unwritable)?, Vec::new())),
        Verb::Force => {
            let state = forced(order)?;
            return Ok((add_force(ground.base, entry, state).map_err(unwritable)?, Vec::new()));
        }
        Verb::Undrain => remove_drain(ground.base, region, service, ground.now.wall_ms),
        Verb::Unforce => remove_force(ground.base, region, service, ground.now.wall_ms),
    };
    let removal = removal.map_err(unwritable)?;
    let what = if verb == Verb::Undrain { "drain" } else { "force" };
    let wider: Vec<String> = removal
        .wider
        .iter()
        .map(|wider| {
            let services =
                wider.service.as_deref().map_or("every service".to_owned(), |glob| format!("`{glob}`"));
            format!("a {what} of {region} for {services} still holds")
        })
        .collect();
    if removal.removed == 0 {
        let text = match wider.is_empty() {
            true => format!("there is no {what} of exactly {region}{}", for_services(order)),
            false => wider.join("; "),
        };
        return Err(Refusal::new(RefusalKind::NothingToDo, text).hint(undo_hint(verb, order, ground)));
    }
    Ok((removal.text, wider))
}

/// The commands that undo what is ordered for the region.
fn undo_hint(verb: Verb, order: &Order, ground: Ground<'_>) -> String {
    let Ok(region) = ground.config.regions.find(&order.region) else { return String::new() };
    let orders = &ground.inputs.orders;
    let entries: Vec<&Entry> = match verb {
        Verb::Undrain => orders.drains.iter().collect(),
        _ => orders.forces.iter().map(|(entry, _)| entry).collect(),
    };
    let of_region = entries.into_iter().filter(|entry| entry.region == region);
    let commands: Vec<String> = of_region
        .map(|entry| {
            let service =
                entry.service.as_ref().map_or(String::new(), |glob| format!(" --service '{}'", glob.0));
            format!("`waypost {} {}{service}`", verb.word(), order.region)
        })
        .collect();
    if commands.is_empty() { "`waypost status` shows what holds".to_owned() } else { commands.join(", ") }
}

fn forced(order: &Order) -> Result<Forced, Refusal> {
    match order.state.as_deref() {
        Some("up") => Ok(Forced::Up),
        Some("down") => Ok(Forced::Down),
        _ => Err(bad("a force needs a state".to_owned()).hint("up or down")),
    }
}

/// What was written must mean something: an order never makes the file invalid.
fn read_back(text: &str, ground: Ground<'_>) -> Result<AdminFile, Refusal> {
    parse_orders(text, ground.path, ground.config, ground.now.wall_ms)
        .map_err(|errors| Refusal::new(RefusalKind::InvalidFile, errors.text))
}

fn sentence(verb: Verb, order: &Order) -> String {
    let region = &order.region;
    let mut text = match verb {
        Verb::Drain => format!("drain {region}"),
        Verb::Undrain => format!("undrain {region}"),
        Verb::Force => format!("force {region} {}", order.state.as_deref().unwrap_or_default()),
        Verb::Unforce => format!("unforce {region}"),
    };
    text += &for_services(order);
    for (word, value) in [("from", &order.from), ("lasting", &order.lasting)] {
        if let Some(value) = value {
            text = format!("{text} {word} {value}");
        }
    }
    if !order.reason.is_empty() {
        text = format!("{text}: {}", order.reason);
    }
    text
}

fn for_services(order: &Order) -> String {
    order.service.as_deref().map_or(String::new(), |glob| format!(" for {glob}"))
}

fn bad(text: String) -> Refusal {
    Refusal::new(RefusalKind::BadRequest, text)
}

/// The share of services that a reload may take away without being forced.
const MAX_REMOVED: f64 = 0.3;

/// The guard of a reload: half a file is valid, too, and would take most services away.
///
/// Errors: more than 30 % of the services would be gone.
pub fn too_many_removed(old: &Config, new: &Config) -> Result<(), Refusal> {
    let gone: Vec<&str> = (old.services.iter().map(|service| &*service.name))
        .filter(|name| !new.services.iter().any(|service| service.name == *name))
        .collect();
    if gone.len() as f64 <= old.services.len() as f64 * MAX_REMOVED {
        return Ok(());
    }
    let names: Vec<&str> = gone.iter().take(5).copied().collect();
    let text = format!(
        "the new configuration takes {} of {} services away ({} …)",
        gone.len(),
        old.services.len(),
        names.join(", ")
    );
    Err(Refusal::new(RefusalKind::Guard, text).hint("`waypost reload --force` does it all the same"))
}

#[cfg(test)]
mod tests;
