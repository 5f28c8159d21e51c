//! `waypost check`: everything that the configuration names, read and checked. Opens no socket and writes nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::table::Table;
use super::{Context, Exit, Failure, Said, json_line, offline, read_text, status};
use crate::config::admin::AdminFile;
use crate::config::{Config, Diagnostic};
use crate::control::cookie_key::Access;
use crate::control::load::{self, LoadErrors, LoadOptions, Loaded};
use crate::control::{Clock, Now};

/// What there is, when nothing is wrong.
#[derive(Debug, Serialize)]
struct Summary {
    valid: bool,
    files: Vec<String>,
    zones: Vec<ZoneSummary>,
    services: usize,
    probes: usize,
    checks: usize,
    geo_ranges: Option<usize>,
    drains: usize,
    forces: usize,
    fallback: BTreeMap<String, Vec<String>>,
    decisions_checked: u64,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ZoneSummary {
    name: String,
    serial: u32,
    path: String,
    names: usize,
}

/// What is wrong.
#[derive(Debug, Serialize)]
struct Errors<'e> {
    valid: bool,
    errors: &'e [String],
}

pub(super) fn run(context: &Context) -> Result<Said, Failure> {
    let now = Clock::start().now();
    match summary(context, now)? {
        Ok(summary) => Ok(Said::done(if context.json { json_line(&summary) } else { text(&summary) })),
        Err(errors) => {
            let count = errors.lines.len();
            let counted = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
            let notes = vec![errors.text.trim_end().to_owned(), format!("waypost: {counted}")];
            let document = Errors { valid: false, errors: &errors.lines };
            let out = if context.json { json_line(&document) } else { String::new() };
            Ok(Said { out, notes, exit: Exit::BAD })
        }
    }
}

/// What there is, or every error at once: also those of the admin file when something else is wrong.
fn summary(context: &Context, now: Now) -> Result<Result<Summary, LoadErrors>, Failure> {
    let path = context.config_path()?;
    let config = match load::parse(&read_text(&path)?, &path) {
        Ok(config) => config,
        Err(errors) => return Ok(Err(errors)),
    };
    let orders = offline::orders_in(&config.admin_file, &config, now);
    let options = LoadOptions { cookie_key: Access::Checked, ..offline::options(now) };
    Ok(match (load::load_named(config, options), orders) {
        (Ok(loaded), Ok(orders)) => Ok(summed_up(&loaded, orders.as_ref())),
        (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
        (Err(mut errors), Err(more)) => {
            let _ = write!(errors.text, "\n{}", more.text);
            errors.lines.extend(more.lines);
            Err(errors)
        }
    })
}

fn summed_up(loaded: &Loaded, orders: Option<&AdminFile>) -> Summary {
    let config = &loaded.config;
    let zones = loaded.dns.iter().flat_map(|dns| dns.zones.iter()).map(|zone| ZoneSummary {
        name: zone.name(),
        serial: zone.serial,
        path: zone.path.display().to_string(),
        names: zone.names,
    });
    let zones: Vec<ZoneSummary> = zones.collect();
    let mut files = vec![config.path.display().to_string()];
    files.extend(zones.iter().map(|zone| zone.path.clone()));
    let included = loaded.dns.iter().flat_map(|dns| dns.zones.included());
    files.extend(included.map(|path| path.display().to_string()));
    files.extend(config.geo.as_ref().map(|geo| geo.database.display().to_string()));
    files.extend(orders.map(|_| config.admin_file.display().to_string()));
    let mut warnings: Vec<String> = loaded.warnings.iter().map(|warning| warning.text.clone()).collect();
    warnings.extend(orders.iter().flat_map(|orders| orders.warnings.iter().map(Diagnostic::bare_line)));
    Summary {
        valid: true,
        files,
        zones,
        services: config.services.len(),
        probes: config.probes.len(),
        checks: loaded.plan.checks.len(),
        geo_ranges: loaded.geo.as_ref().map(|geo| geo.ranges),
        drains: orders.map_or(0, |orders| orders.drains.len()),
        forces: orders.map_or(0, |orders| orders.forces.len()),
        fallback: fallback(config),
        decisions_checked: loaded.decisions_checked,
        warnings,
    }
}

/// For each home, who stands in for it, in order.
fn fallback(config: &Config) -> BTreeMap<String, Vec<String>> {
    let name = |region| config.regions.name(region).to_owned();
    let row = |home| (name(home), config.regions.fallback_of(home).map(name).collect());
    config.regions.iter().map(row).collect()
}

fn text(summary: &Summary) -> String {
    let mut text = String::from("valid\n\n");
    let mut files = Table::new(&["FILES READ"]);
    for file in &summary.files {
        files.row([file.as_str()]);
    }
    text.push_str(&files.render(0));
    if !summary.zones.is_empty() {
        let mut zones = Table::new(&["ZONE", "SERIAL", "NAMES"]);
        for zone in &summary.zones {
            zones.row([zone.name.clone(), zone.serial.to_string(), zone.names.to_string()]);
        }
        let _ = write!(text, "\n{}", zones.render(0));
    }
    let _ = write!(text, "\n{}", status::fallback(&summary.fallback));
    let counts = [
        ("services", summary.services as u64),
        ("probes", summary.probes as u64),
        ("checks", summary.checks as u64),
        ("drains", summary.drains as u64),
        ("forces", summary.forces as u64),
        ("decisions checked", summary.decisions_checked),
    ];
    let mut table = Table::new(&[]);
    for (what, count) in counts {
        table.row([what.to_owned(), count.to_string()]);
    }
    if let Some(ranges) = summary.geo_ranges {
        table.row(["geo ranges".to_owned(), ranges.to_string()]);
    }
    let _ = write!(text, "\n{}", table.render(0));
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}
