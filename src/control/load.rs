//! Everything a configuration names, read and checked: all of it, or every error at once.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::clock::Now;
use super::cookie_key::{self, Access, Key, Malformed};
use super::files;
use super::geo_source::{self, FileState, GeoRefusal};
use super::journal::rfc3339;
use super::plan::Plan;
use super::publish::DnsParts;
use super::status::Warning;
use super::zone_files::{Unreadable, ZoneFolder};
use crate::config::admin::AdminFile;
use crate::config::{Answers, Config, Diagnostic, Place};
use crate::dns::cookie::{Cookies, Secrets};
use crate::dns::limit::Rule;
use crate::dns::zone::{BoundService, Notice, Zones};
use crate::dns::{Chaos, Settings};
use crate::health::Damping;
use crate::region::enumerate::enumerate;
use crate::region::geo::GeoTable;

/// A configuration with everything that it names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Counts loads, from 1.
    pub generation: u64,
    /// What it says.
    pub config: Arc<Config>,
    /// What it means.
    pub plan: Plan,
    /// How each check is damped; by position in the plan.
    pub damping: Vec<Damping>,
    /// What answers need; absent without `[dns]`.
    pub dns: Option<DnsParts>,
    /// The geo file.
    pub geo: Option<GeoInfo>,
    /// What is odd.
    pub warnings: Vec<Warning>,
    /// Decisions that were checked.
    pub decisions_checked: u64,
}

/// What the geo file in use is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeoInfo {
    /// When it was built, RFC 3339; absent when it does not say, or says the future.
    pub build: Option<String>,
    /// Likewise, in seconds since 1970; 0 when unknown.
    #[serde(skip)]
    pub build_s: i64,
    /// Ranges that it was compiled to.
    pub ranges: usize,
    /// When it was loaded, RFC 3339.
    pub loaded: String,
    /// Share of a fixed sample of networks that nothing places.
    pub unmapped_share: f64,
    /// Whether the file could not be used and the last good compiled table stands in.
    pub stands_in: bool,
    /// The file's state when it was read; absent for a table that stands in.
    #[serde(skip)]
    pub file: Option<FileState>,
}

/// Why nothing was loaded.
#[derive(Clone, Debug)]
pub struct LoadErrors {
    /// For people: each error with its place, line and hint.
    pub text: String,
    /// One line each.
    pub lines: Vec<String>,
    /// The line of the file that the first is about, from 1; 0: none, or the file as a whole.
    pub first_line: usize,
}

impl LoadErrors {
    /// A single error, about a file as a whole.
    pub fn one(line: String) -> Self {
        Self { text: line.clone(), lines: vec![line], first_line: 0 }
    }
}

/// What a load may take for granted.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions<'o> {
    /// Counts loads.
    pub generation: u64,
    /// When.
    pub now: Now,
    /// The geo table in use, and what it is: what a new file is held against.
    pub in_use: Option<(&'o Arc<GeoTable>, &'o GeoInfo)>,
    /// Take an older geo file, or one that moves many networks.
    pub accept_geo: bool,
    /// Whether the compiled table in `state_dir` may stand in for a geo file that can't be used: at start only, since
    /// later the table in use does.
    pub stand_in: bool,
    /// What to do about the file of the cookies' secrets.
    pub cookie_key: Access,
}

/// Reads and checks the configuration at `path` with everything that it names.
///
/// Errors: all of them, with their places.
pub fn load(path: &Path, options: LoadOptions<'_>) -> Result<Loaded, LoadErrors> {
    let text = files::read_text(path).map_err(|error| unreadable(path, &error))?;
    let config = parse(&text, path)?;
    load_named(config, options)
}

/// Parses the text of a configuration with this machine's environment.
pub fn parse(text: &str, path: &Path) -> Result<Config, LoadErrors> {
    let environment = |name: &str| std::env::var(name).ok();
    Config::parse(text, path, &environment, &host_name()).map_err(|errors| diagnosed(&errors, text))
}

/// Reads and checks what a configuration names.
pub fn load_named(config: Config, options: LoadOptions<'_>) -> Result<Loaded, LoadErrors> {
    let mut errors = Vec::new();
    let mut warnings: Vec<Warning> = config
        .warnings
        .iter()
        .map(|diagnostic| warning("config", diagnostic.bare_line(), options.now))
        .collect();

    let zones = config.dns.as_ref().map(|dns| read_zones(&dns.zones, &config));
    let zones = match zones.transpose() {
        Ok(zones) => zones.map(|(zones, notices)| {
            warnings.extend(
                notices.iter().map(|notice| warning("zone", zone_line(notice, &config, ""), options.now)),
            );
            Arc::new(zones)
        }),
        Err(zone_errors) => {
            errors.extend(zone_errors);
            None
        }
    };
    let geo = config.geo.as_ref().map(|geo| geo_source::load(geo, &config, options));
    let geo = match geo.transpose() {
        Ok(geo) => geo,
        Err(refusal) => {
            errors.push(geo_line(&config, &refusal));
            None
        }
    };
    let key = cookie_secrets(&config, options);
    let key = key.unwrap_or_else(|malformed| {
        errors.push(malformed.to_string());
        Key::default()
    });
    let decisions_checked = match enumerate(&config.regions) {
        Ok(count) => count,
        Err(violation) => {
            errors
                .push(format!("routing: {} ({:?}): please report this", violation.rule, violation.standings));
            0
        }
    };
    if !errors.is_empty() {
        return Err(LoadErrors { text: errors.join("\n"), lines: errors, first_line: 0 });
    }
    warnings.extend(key.warning.map(|text| warning("cookie_key", text, options.now)));
    warnings.extend(geo.iter().flat_map(|geo| geo.warnings.iter().cloned()));

    let plan = Plan::of(&config);
    let settings = config.dns.as_ref().map(|dns| Arc::new(settings(dns, key.secrets)));
    let dns = match (zones, &geo, settings) {
        (Some(zones), Some(geo), Some(settings)) => {
            Some(DnsParts { zones, geo: Arc::clone(&geo.table), settings })
        }
        _ => None,
    };
    Ok(Loaded {
        generation: options.generation,
        damping: damping(&config, &plan),
        plan,
        dns,
        geo: geo.map(|geo| geo.info),
        warnings,
        decisions_checked,
        config: Arc::new(config),
    })
}

/// Reads the admin file's text against a configuration.
///
/// Errors: every one, with its place.
pub fn parse_orders(text: &str, path: &Path, config: &Config, wall_ms: i64) -> Result<AdminFile, LoadErrors> {
    let names: Vec<&str> = config.services.iter().map(|service| &*service.name).collect();
    AdminFile::parse(text, path, &config.regions, &names, wall_ms).map_err(|errors| diagnosed(&errors, text))
}

/// How each check is damped.
pub fn damping(config: &Config, plan: &Plan) -> Vec<Damping> {
    let of = |check: &super::plan::Check| {
        let probe = config.probes.iter().find(|probe| probe.name == check.probe);
        probe.map(|probe| probe.damping)
    };
    plan.checks.iter().filter_map(of).collect()
}

/// What answering needs of the configuration.
pub fn settings(dns: &crate::config::Dns, secrets: Option<Secrets>) -> Settings {
    let unverified_udp = dns.cookies.unverified_udp;
    let idle_100ms = u16::try_from(dns.tcp.idle.as_millis() / 100).unwrap_or(u16::MAX);
    Settings {
        max_udp_size: dns.max_udp_size,
        nsid: dns.nsid.clone().into_bytes(),
        ecs: dns.ecs,
        tcp_idle_100ms: idle_100ms,
        cookies: secrets.map(|secrets| Cookies { secrets, unverified_udp }),
        chaos: Chaos { id: dns.chaos.id.clone().into(), version: dns.chaos.version.clone().into() },
        rate_limit: dns
            .rate_limit
            .as_ref()
            .map(|limit| Rule::new(limit.per_second, limit.burst, limit.dry_run, &limit.exempt)),
    }
}

/// What cookies are made with, where they are wanted.
fn cookie_secrets(config: &Config, options: LoadOptions<'_>) -> Result<Key, Malformed> {
    let wanted = config.dns.as_ref().is_some_and(|dns| dns.cookies.enabled);
    cookie_key::open(&config.state_dir, if wanted { options.cookie_key } else { Access::Untouched })
}

/// Reads every `*.zone` of a folder and binds the services.
fn read_zones(dir: &Path, config: &Config) -> Result<(Zones, Vec<Notice>), Vec<String>> {
    let folder = ZoneFolder(dir);
    let files = folder.zones().map_err(|Unreadable { path, error }| {
        let text = format!("`dns.zones`: cannot read {}: {error}", path.display());
        vec![at_key(config, config.places.zones.as_ref(), &text, files::remedy(&error))]
    })?;
    if files.is_empty() {
        let hint = "put a master file there, named after its zone: gslb.example.com.zone";
        return Err(vec![format!("{}: error: no *.zone file in this folder\n  hint: {hint}", dir.display())]);
    }
    let services: Vec<BoundService> = config.services.iter().map(bound).collect();
    Zones::build_with(&files, &services, &folder)
        .map_err(|notices| notices.iter().map(|notice| zone_line(notice, config, "error: ")).collect())
}

fn bound(service: &crate::config::Service) -> BoundService {
    let has = |v4: bool| match &service.answers {
        Answers::Endpoints(regions) => regions
            .iter()
            .flat_map(|(_, endpoints)| endpoints)
            .any(|endpoint| endpoint.address.is_ipv4() == v4),
        Answers::Cname(_) => false,
    };
    BoundService {
        name: service.name.clone(),
        line: service.line,
        a: has(true),
        aaaa: has(false),
        cname: matches!(service.answers, Answers::Cname(_)),
    }
}

/// A zone's fault with its place, or a service's with its place in the configuration. Warnings go without severity: what
/// shows them says what they are.
fn zone_line(notice: &Notice, config: &Config, severity: &str) -> String {
    let service = notice.service.and_then(|service| config.places.services.get(service as usize));
    let (path, line, column) = match service {
        Some(place) => (&config.path, place.line, place.column),
        None => (&notice.path, notice.line, notice.column),
    };
    let mut place = path.display().to_string();
    for number in [line, column].into_iter().take_while(|&number| number > 0) {
        place = format!("{place}:{number}");
    }
    let hint = if notice.hint.is_empty() { String::new() } else { format!("\n  hint: {}", notice.hint) };
    let from: String = notice
        .included_from
        .iter()
        .map(|(path, line)| format!("\n  included from {}:{line}", path.display()))
        .collect();
    format!("{place}: {severity}{}{hint}{from}", notice.text)
}

/// What is wrong with the geo file; when it can't be read, the configuration may mean another.
fn geo_line(config: &Config, refusal: &GeoRefusal) -> String {
    let path = config.geo.as_ref().map(|geo| geo.database.display().to_string()).unwrap_or_default();
    match refusal {
        GeoRefusal::Unreadable(error) => {
            let text = format!("`geo.database`: cannot read {path}: {error}");
            at_key(config, config.places.database.as_ref(), &text, files::remedy(error))
        }
        _ => format!("{path}: error: {refusal}"),
    }
}

/// An error about what a key names, with the key's place.
fn at_key(config: &Config, place: Option<&Place>, text: &str, hint: &str) -> String {
    let place = place.map(|Place { line, column, .. }| format!(":{line}:{column}")).unwrap_or_default();
    let hint = if hint.is_empty() { String::new() } else { format!("\n  hint: {hint}") };
    format!("{}{place}: error: {text}{hint}", config.path.display())
}

fn warning(code: &'static str, text: String, now: Now) -> Warning {
    Warning { code, text, since: rfc3339(now.wall_ms) }
}

fn diagnosed(errors: &[Diagnostic], text: &str) -> LoadErrors {
    LoadErrors {
        text: crate::config::render(errors, text, false),
        lines: errors.iter().map(Diagnostic::one_line).collect(),
        first_line: errors.first().map_or(0, |error| error.place.line),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> LoadErrors {
    let mut line = format!("{}: error: cannot read it: {error}", path.display());
    if error.kind() == io::ErrorKind::PermissionDenied {
        line = format!("{line}\n  hint: {}", files::remedy(error));
    }
    LoadErrors::one(line)
}

/// The machine's name; `localhost` when it has none.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}
