//! `/metrics`: Prometheus' text format, written from one consistent copy of the writer's state and the sockets' counters.
//!
//! Written by hand rather than through a registry: every number already has its owner, label sets come from the
//! configuration in force, and nothing is kept between two scrapes. Labels come from the configuration only, never
//! from packets.

mod dns;
mod health;
mod live;
mod text;

#[cfg(test)]
pub(super) mod lint;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::AdminState;
use super::problem::Problem;
use crate::control::status::StatusParts;

pub use dns::{Counted, DnsCounts, DnsNumbers, DnstapNumbers, Durations};
pub use live::LiveCounts;

use text::{Kind, Text};

/// The format's media type.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the admin listener itself knows, beside the writer's copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// Milliseconds since 1970.
    pub(super) started_ms: i64,
    /// For which line (0: the file as a whole) the admin file can't be obeyed.
    pub(super) admin_file_error: Option<usize>,
    /// Changes asked for over the API: by action and result.
    pub(super) actions: BTreeMap<(&'static str, &'static str), u64>,
}

/// Counts the changes that were asked for.
#[derive(Debug, Default)]
pub(super) struct ActionCounts(Mutex<BTreeMap<(&'static str, &'static str), u64>>);

impl ActionCounts {
    /// Counts one.
    pub(super) fn count(&self, action: &'static str, result: &'static str) {
        *self.lock().entry((action, result)).or_default() += 1;
    }

    /// All so far.
    pub(super) fn read(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, &'static str), u64>> {
        // Whatever another request did, numbers are numbers.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The text for one scrape.
pub(super) async fn scrape(state: &AdminState) -> Result<String, Problem> {
    let parts = state.handle.status().await.map_err(|_| Problem::stopping())?;
    let own = Own {
        started_ms: state.started_ms,
        admin_file_error: state.operator.admin_file_error(),
        actions: state.actions.read(),
    };
    Ok(render(&parts, &own, state.dns.as_deref()))
}

/// The text of all families.
pub(super) fn render(parts: &StatusParts, own: &Own, counts: Option<&dyn DnsCounts>) -> String {
    let mut text = Text::default();
    process(&mut text, own);
    if let Some(counts) = counts {
        dns::write(&mut text, counts, &parts.slots);
    }
    health::write(&mut text, parts);
    geo(&mut text, parts);
    config(&mut text, parts, own);
    text.finish()
}

fn process(text: &mut Text, own: &Own) {
    let version = env!("CARGO_PKG_VERSION");
    text.family("waypost_build_info", Kind::Gauge, "What is running; always 1.")
        .put(&[("version", version)], 1);
    let started_s = own.started_ms as f64 / 1000.0;
    text.family("process_start_time_seconds", Kind::Gauge, "When the process began, in seconds since 1970.")
        .put(&[], started_s);
}

fn geo(text: &mut Text, parts: &StatusParts) {
    let Some(geo) = &parts.geo else { return };
    text.family(
        "waypost_geo_build_timestamp_seconds",
        Kind::Gauge,
        "When the geo file in use was built, in seconds since 1970; 0 when unknown.",
    )
    .put(&[], geo.build_s);
    text.family("waypost_geo_ranges", Kind::Gauge, "Ranges that the geo file was compiled to.")
        .put(&[], geo.ranges);
    text.family(
        "waypost_geo_unmapped_ratio",
        Kind::Gauge,
        "Share of a fixed sample of networks that nothing places.",
    )
    .put(&[], geo.unmapped_share);
}

fn config(text: &mut Text, parts: &StatusParts, own: &Own) {
    let [done, failed] = parts.reloads;
    text.family(
        "waypost_config_last_reload_success",
        Kind::Gauge,
        "Whether the last reload succeeded; 1 before the first.",
    )
    .put(&[], u8::from(parts.last_reload_ok));
    text.family("waypost_config_reloads_total", Kind::Counter, "Reloads since the start, by result.")
        .put(&[("result", "success")], done)
        .put(&[("result", "failure")], failed);
    text.family(
        "waypost_admin_file_valid",
        Kind::Gauge,
        "Whether the admin file on disk is the one in force.",
    )
    .put(&[], u8::from(own.admin_file_error.is_none()));
    text.family(
        "waypost_admin_file_error_line",
        Kind::Gauge,
        "The line for which the admin file can't be obeyed; 0: none, or the file as a whole.",
    )
    .put(&[], own.admin_file_error.unwrap_or(0));
    let mut actions = text.family(
        "waypost_admin_actions_total",
        Kind::Counter,
        "Changes asked for over the API, by result: done, dry_run, refused, failed.",
    );
    for ((action, result), count) in &own.actions {
        actions.put(&[("action", action), ("result", result)], count);
    }
    text.family(
        "waypost_journal_dropped_total",
        Kind::Counter,
        "Journal lines and saved tables that were not written: the disk is slow, full or read-only.",
    )
    .put(&[], parts.journal_dropped);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for warning in &parts.warnings {
        *codes.entry(warning.code).or_default() += 1;
    }
    let mut warnings = text.family("waypost_warning", Kind::Gauge, "Warnings that hold now, by code.");
    for (code, count) in codes {
        warnings.put(&[("code", code)], count);
    }
}
