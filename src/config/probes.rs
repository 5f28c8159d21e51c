//! `[[probes]]`: what is measured, how often, and what a result may do.

use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;

use crate::health::{Damping, Impact};
use crate::region::{RegionId, Regions};

use super::reader::{Table, Value};
use super::scalar::show_duration;
use super::{Per, Probe, ProbeKind, http, keys, regions};

const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);
const FAST_INTERVAL: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_secs(3600);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(300);
const COOLDOWN: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);
const MAX_AGE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(7 * 86_400);
/// Results in a row.
const STREAK: RangeInclusive<u64> = 1..=100;
/// Words of a command.
const COMMAND_WORDS: usize = 64;

/// A probe with what the checks across tables need.
pub(super) struct Read {
    /// The probe.
    pub probe: Probe,
    /// Its name's place.
    pub span: Range<usize>,
    /// Whether its own template tells the regions apart, so that no region needs a target.
    pub by_region: bool,
}

/// The kinds of probe, with the keys that only they have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    Tcp,
    Exec,
    File,
    Database,
}

impl Kind {
    const NAMES: [(&'static str, Self); 7] = [
        ("http", Self::Http),
        ("tcp", Self::Tcp),
        ("exec", Self::Exec),
        ("file", Self::File),
        ("postgres", Self::Database),
        ("mysql", Self::Database),
        ("redis", Self::Database),
    ];

    const OWN_KEYS: [(&'static str, Self); 11] = [
        ("url", Self::Http),
        ("host", Self::Http),
        ("method", Self::Http),
        ("headers", Self::Http),
        ("status", Self::Http),
        ("body", Self::Http),
        ("json", Self::Http),
        ("address", Self::Tcp),
        ("command", Self::Exec),
        ("path", Self::File),
        ("max_age", Self::File),
    ];

    fn word(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The key of its template.
    fn template_key(self) -> &'static str {
        match self {
            Self::Http => "url",
            Self::Tcp => "address",
            Self::Exec => "command",
            Self::File | Self::Database => "path",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Http => "url = \"http://{address}:8080/healthz\"",
            Self::Tcp => "address = \"{address}:5432\"",
            Self::Exec => "command = [\"/usr/lib/nagios/plugins/check_x\", \"{address}\"]",
            Self::File | Self::Database => "path = \"/run/health/{region}\"",
        }
    }
}

/// Every probe of the file; those with a fault too, so that a reference to them is not a second one.
pub(super) fn read(value: &Value<'_, '_>, folder: &Path, regions: Option<&Regions>) -> Vec<Read> {
    let mut probes: Vec<Read> = Vec::new();
    for table in value.tables(&keys::PROBE) {
        let Some(read) = read_probe(&table, value, folder, regions) else { continue };
        if let Some(other) = probes.iter().find(|other| other.probe.name == read.probe.name) {
            let message = format!("two probes are called `{}`", read.probe.name);
            let other = (other.span.clone(), "the other one");
            value.reader().conflict(read.span.clone(), message, "give each its own name", other);
        }
        probes.push(read);
    }
    probes
}

fn read_probe(
    table: &Table<'_, '_>,
    list: &Value<'_, '_>,
    folder: &Path,
    regions: Option<&Regions>,
) -> Option<Read> {
    let name = table.required("name", "name = \"web\"", Value::filled);
    let kind = table.required("type", "type = \"http\"", read_kind);
    let per = table.or("per", Per::Endpoint, |value| {
        value.choice(&[("endpoint", Per::Endpoint), ("region", Per::Region)])
    });
    if let Some(kind) = kind {
        refuse_keys_of_other_kinds(table, kind);
    }
    let (damping, timeout) = read_times(table);
    let targets = kind.map_or_else(Vec::new, |kind| read_targets(table, kind, per, folder, regions));
    let template = Template { kind: kind.unwrap_or(Kind::Http), per, targets: !targets.is_empty() };
    let what = match kind {
        Some(Kind::Http) => http::read(table, template).map(ProbeKind::Http),
        Some(Kind::Tcp) => {
            template.read(table, http::check_address).map(|address| ProbeKind::Tcp { address })
        }
        Some(Kind::Exec) => template.read_command(table, folder).map(|command| ProbeKind::Exec { command }),
        Some(Kind::File) => {
            let max_age = table.or("max_age", Duration::from_secs(60), |value| value.duration(MAX_AGE));
            let path = template.read(table, |value| value.filled());
            path.map(|path| ProbeKind::File { path: in_folder(folder, &path), max_age })
        }
        Some(Kind::Database) | None => None,
    };
    let by_region = match &what {
        Some(kind) => template.warn_when_all_the_same(table, kind),
        // A template that could not be read, or a database: nothing more to say about its targets.
        None => true,
    };
    let impact = table.or("impact", Impact::Fail, |value| {
        value.choice(&[("fail", Impact::Fail), ("degrade", Impact::Degrade)])
    });
    let span = table.get("name").map_or(list.key_span(), |name| name.span());
    let kind = what.unwrap_or(ProbeKind::Exec { command: Vec::new() });
    Some(Read { probe: Probe { name: name?, kind, per, damping, timeout, impact, targets }, span, by_region })
}

fn read_kind(value: &Value<'_, '_>) -> Option<Kind> {
    let kind = value.choice(&Kind::NAMES)?;
    if kind == Kind::Database {
        value.refuse::<()>(
            format!(
                "probes of type \"{}\" are not in this version: {} comes later",
                value.typed(),
                keys::DATABASES
            ),
            "until then use an http probe of an endpoint that asks the database, or an exec probe",
        );
    }
    Some(kind)
}

fn refuse_keys_of_other_kinds(table: &Table<'_, '_>, kind: Kind) {
    for (key, owner) in Kind::OWN_KEYS.into_iter().filter(|(_, owner)| *owner != kind) {
        if let Some(value) = table.get(key) {
            let message = format!(
                "`{key}` is for probes of type \"{}\", this one is \"{}\"",
                owner.word(),
                kind.word()
            );
            // A database probe is refused already; what its keys are is not known here.
            if kind != Kind::Database {
                value.reader().error(
                    value.key_span(),
                    message,
                    format!("take `{key}` out, or change the type"),
                );
            }
        }
    }
}

fn read_times(table: &Table<'_, '_>) -> (Damping, Duration) {
    let interval = table.or("interval", Duration::from_secs(5), |value| value.duration(INTERVAL));
    // A default never exceeds what was typed.
    let fast_interval = table.or("fast_interval", Duration::from_secs(1).min(interval), |value| {
        let fast_interval = value.duration(FAST_INTERVAL)?;
        if fast_interval > interval {
            let [fast, usual] = [fast_interval, interval].map(show_duration);
            return value.refuse(
                format!("`fast_interval` is {fast}, longer than the `interval` of {usual}"),
                "it is the time between two runs while results disagree with the state: make it the shorter one",
            );
        }
        Some(fast_interval)
    });
    let timeout = table.or("timeout", Duration::from_secs(2), |value| {
        let timeout = value.duration(TIMEOUT)?;
        if timeout > interval {
            let [timeout, interval] = [timeout, interval].map(show_duration);
            value.reader().warn(
                value.span(),
                format!("`timeout` is {timeout}, longer than the `interval` of {interval}"),
                "a run never overlaps the next one, so failures will be noticed later than `interval` says",
            );
        }
        Some(timeout)
    });
    let damping = Damping {
        fall: table.or("fall", 3, |value| value.integer(STREAK)) as u32,
        rise: table.or("rise", 3, |value| value.integer(STREAK)) as u32,
        cooldown: table.or("cooldown", Duration::from_secs(90), |value| value.duration(COOLDOWN)),
        grace: Duration::ZERO,
        interval,
        fast_interval,
    };
    (damping, timeout)
}

fn read_targets(
    table: &Table<'_, '_>,
    kind: Kind,
    per: Per,
    folder: &Path,
    regions: Option<&Regions>,
) -> Vec<(RegionId, String)> {
    let Some(value) = table.get("targets") else { return Vec::new() };
    if per == Per::Endpoint {
        let hint = "write per = \"region\", or take the targets out";
        value.reader().error(value.key_span(), "`targets` are for probes with per = \"region\"", hint);
        return Vec::new();
    }
    if kind == Kind::Exec {
        let hint = "hand {region} to the command instead";
        value.reader().error(value.key_span(), "a command has no `targets`", hint);
        return Vec::new();
    }
    let mut targets = Vec::new();
    for entry in value.entries().unwrap_or_default() {
        let region = regions.and_then(|regions| regions::find_key(regions, &entry));
        if entry.items().is_some() && kind != Kind::Database {
            let hint = "name one target; lists come with the probing of databases";
            entry.refuse::<()>(format!("the target of `{}` is a list", entry.key()), hint);
            // It is there, if badly: nobody has to hear that it is missing.
            targets.extend(region.map(|region| (region, String::new())));
            continue;
        }
        let target = match kind {
            Kind::Http => http::check_url(&entry),
            Kind::Tcp => http::check_address(&entry),
            Kind::File => entry.filled().map(|path| in_folder(folder, &path)),
            Kind::Exec | Kind::Database => None,
        };
        let target = target.filter(|text| check_placeholders(&entry, text, &["region"]));
        targets.extend(region.zip(target));
    }
    targets
}

/// What the reading of a probe's template depends on.
#[derive(Clone, Copy)]
pub(super) struct Template {
    kind: Kind,
    per: Per,
    /// Whether there are targets, which stand in for the template.
    targets: bool,
}

impl Template {
    /// The template as `check` takes it; empty when targets stand in for it.
    pub(super) fn read<'r, 'f>(
        self,
        table: &Table<'r, 'f>,
        check: impl Fn(&Value<'r, 'f>) -> Option<String>,
    ) -> Option<String> {
        let key = self.kind.template_key();
        let read = |value: &Value<'r, 'f>| check(value).filter(|text| self.check(value, text));
        if self.targets || (self.per == Per::Region && table.get("targets").is_some()) {
            return Some(table.or(key, String::new(), read));
        }
        table.required(key, self.kind.example(), read)
    }

    fn read_command(self, table: &Table<'_, '_>, folder: &Path) -> Option<Vec<String>> {
        let words = table.required("command", self.kind.example(), |value| {
            let words = value.list(|item| item.string().filter(|text| self.check(item, text)))?;
            if words.len() > COMMAND_WORDS {
                return value
                    .refuse(format!("`command` has {} words, at most {COMMAND_WORDS} go", words.len()), "");
            }
            match words.first() {
                Some(program) if !program.is_empty() => Some(words),
                Some(_) => value.refuse("`command` has no program: its first word is empty", ""),
                None if value.items().is_some_and(|items| !items.is_empty()) => None,
                None => {
                    value.refuse("`command` is empty", format!("write, for example: {}", self.kind.example()))
                }
            }
        })?;
        let mut words = words.into_iter();
        // Like a shell: a name without a slash is looked for by the system, not in the folder.
        let program =
            words.next().map(|word| if word.contains('/') { in_folder(folder, &word) } else { word });
        Some(program.into_iter().chain(words).collect())
    }

    /// Whether every `{…}` can be filled in.
    fn check(self, value: &Value<'_, '_>, text: &str) -> bool {
        if self.per == Per::Region && text.contains("{address}") {
            value.refuse::<()>(
                "{address} in a probe with per = \"region\": a region has no one address",
                "use {region}, or [probes.targets] with an entry a region, or per = \"endpoint\"",
            );
            return false;
        }
        check_placeholders(value, text, &["address", "region"])
    }

    /// Whether the template tells regions apart; says so when it asks the same thing again and again.
    fn warn_when_all_the_same(self, table: &Table<'_, '_>, kind: &ProbeKind) -> bool {
        let template = match kind {
            ProbeKind::Http(http) => {
                let headers = http.headers.iter().map(|(_, value)| value.as_str());
                let host = http.host.as_deref().unwrap_or_default();
                headers.chain([http.url.as_str(), host]).collect::<Vec<_>>().join(" ")
            }
            ProbeKind::Tcp { address } => address.clone(),
            ProbeKind::Exec { command } => command.join(" "),
            ProbeKind::File { path, .. } => path.clone(),
        };
        let by_region = template.contains("{region}");
        let Some(value) = table.get(self.kind.template_key()) else { return by_region };
        match self.per {
            Per::Endpoint if !template.contains("{address}") => value.reader().warn(
                value.span(),
                "this asks the same thing for every endpoint: there is no {address} in it",
                "put {address} in, or write per = \"region\"",
            ),
            Per::Region if !by_region && !self.targets => {
                value.refuse::<()>(
                    "this asks the same thing for every region: there is no {region} in it",
                    "put {region} in, or write [probes.targets] with an entry a region",
                );
                // Said once is enough: do not also miss a target for each region.
                return true;
            }
            Per::Endpoint | Per::Region => {}
        }
        by_region
    }
}

/// Whether every `{…}` of `text` is one of `known`.
pub(super) fn check_placeholders(value: &Value<'_, '_>, text: &str, known: &[&str]) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            value.refuse::<()>("a `{` is not closed", "");
            return false;
        };
        if !known.contains(&name) {
            let list: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            let hint = format!("there is {}", list.join(" and "));
            value.refuse::<()>(format!("unknown placeholder {{{name}}}"), hint);
            return false;
        }
        rest = after;
    }
    true
}

fn in_folder(folder: &Path, path: &str) -> String {
    folder.join(path).to_string_lossy().into_owned()
}
