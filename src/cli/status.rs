//! `waypost status`: how everything stands, as a table for people or one line for a monitoring system.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::args;
use super::client::{self, Client};
use super::table::Table;
use super::{Context, Exit, Failure, Said};

/// The `status` document, as far as it is shown.
#[derive(Debug, Deserialize)]
struct View {
    #[serde(default)]
    age_s: Option<f64>,
    serial: u64,
    node: String,
    version: String,
    ready: bool,
    #[serde(default)]
    at: String,
    #[serde(default)]
    fallback: BTreeMap<String, Vec<String>>,
    regions: BTreeMap<String, Region>,
    #[serde(default)]
    orders: Vec<Order>,
    probes: Vec<Probe>,
    geo: Option<Geo>,
    warnings: Vec<Warning>,
}

#[derive(Debug, Deserialize)]
struct Region {
    state: String,
    services: BTreeMap<String, Place>,
}

#[derive(Debug, Deserialize)]
struct Place {
    state: String,
    probed: Option<String>,
    forced: Option<String>,
    #[serde(default)]
    held: bool,
    since: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Order {
    what: String,
    region: String,
    service: Option<String>,
    from: Option<String>,
    until: Option<String>,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Probe {
    name: String,
    region: String,
    address: Option<String>,
    state: String,
    last_error: Option<String>,
    last_run: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Geo {
    build: Option<String>,
    #[serde(default)]
    unmapped_share: f64,
}

#[derive(Debug, Deserialize)]
struct Warning {
    code: String,
    text: String,
    since: String,
}

pub(super) fn run(context: &Context, args: &args::Status) -> Result<Said, Failure> {
    let body = Client::new(context)?.get("/api/v1/status", &[])?;
    let view: View = client::parse(&body)?;
    let bad = troubles(&view);
    let exit = if args.check && !bad.is_empty() { Exit::BAD } else { Exit::DONE };
    let out = match (context.json, args.check) {
        (true, _) => String::from_utf8_lossy(&body).into_owned() + "\n",
        (false, true) => check_line(&view, &bad),
        (false, false) => text(&view),
    };
    Ok(Said { out, notes: Vec::new(), exit })
}

/// What is not healthy, in words.
fn troubles(view: &View) -> Vec<String> {
    let mut bad = Vec::new();
    if !view.ready {
        bad.push("not answering yet".to_owned());
    }
    for (region, of) in &view.regions {
        for (service, place) in of.services.iter().filter(|(_, place)| place.state != "healthy") {
            let why = if place.reason.is_empty() { String::new() } else { format!(" ({})", place.reason) };
            bad.push(format!("{region} {} for {service}{why}", place.state));
        }
        if of.services.is_empty() && of.state != "healthy" {
            bad.push(format!("{region} {}", of.state));
        }
    }
    let troubling = view.warnings.iter().filter(|warning| TROUBLING.contains(&&*warning.code));
    bad.extend(troubling.map(|warning| format!("{}: {}", warning.code, warning.text)));
    bad
}

/// Warnings that somebody must look at, though every region is well.
const TROUBLING: [&str; 5] = ["admin_file", "reload", "geo_file", "geo_stands_in", "state_dir"];

fn check_line(view: &View, bad: &[String]) -> String {
    let more = bad.len().saturating_sub(5);
    let list = bad.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("; ");
    let list = list.replace(char::is_control, " ");
    match (bad.is_empty(), more) {
        (true, _) => format!("OK: {} regions healthy, serial {}\n", view.regions.len(), view.serial),
        (false, 0) => format!("BAD: {list}\n"),
        (false, more) => format!("BAD: {list}; and {more} more\n"),
    }
}

fn text(view: &View) -> String {
    let mut text = String::new();
    let ready = if view.ready { "answering" } else { "starting" };
    let _ = writeln!(
        text,
        "{}: {ready}, serial {}, version {}, {}",
        view.node, view.serial, view.version, view.at
    );
    if let Some(geo) = &view.geo {
        let build = geo.build.as_deref().unwrap_or("an unknown date");
        let share = geo.unmapped_share * 100.0;
        let _ =
            writeln!(text, "geo database of {build}, nothing places {share:.1} % of the sampled networks");
    }
    if let Some(age_s) = view.age_s {
        let _ = writeln!(text, "a probe last told something {age_s:.1} s ago");
    }
    for warning in &view.warnings {
        let _ = writeln!(text, "warning: {}: {} (since {})", warning.code, warning.text, warning.since);
    }
    text.push('\n');
    text.push_str(&fallback(&view.fallback));
    text.push('\n');
    text.push_str(&regions(view));
    text.push('\n');
    if !view.orders.is_empty() {
        text.push_str(&orders(view));
        text.push('\n');
    }
    text.push_str(&probes(view));
    text
}

/// The expanded fallback table.
pub(super) fn fallback(table: &BTreeMap<String, Vec<String>>) -> String {
    let mut lines = Table::new(&["HOME", "FALLBACK, IN THIS ORDER"]);
    for (home, others) in table {
        lines.row([home.clone(), others.join(" → ")]);
    }
    lines.render(0)
}

fn regions(view: &View) -> String {
    let mut table = Table::new(&["REGION", "SERVICE", "STATE", "PROBED", "ORDERED", "SINCE", "WHY"]);
    for (region, of) in &view.regions {
        for (service, place) in &of.services {
            let mut orders = Vec::new();
            if place.state == "drained" {
                orders.push("drained".to_owned());
            }
            orders.extend(place.forced.as_ref().map(|forced| format!("forced {forced}")));
            if place.held {
                orders.push("held".to_owned());
            }
            table.row([
                region.clone(),
                service.clone(),
                place.state.clone(),
                place.probed.clone().unwrap_or_else(|| "not yet".to_owned()),
                if orders.is_empty() { "-".to_owned() } else { orders.join(", ") },
                place.since.clone(),
                place.reason.clone(),
            ]);
        }
    }
    table.render(0)
}

/// Drains and forces as the admin file has them: what `undrain` and `unforce` take out.
fn orders(view: &View) -> String {
    let mut table = Table::new(&["ORDER", "REGION", "SERVICES", "FROM", "UNTIL", "REASON"]);
    for order in &view.orders {
        let what = if order.what == "drain" { "drain".to_owned() } else { format!("force {}", order.what) };
        table.row([
            what,
            order.region.clone(),
            order.service.clone().unwrap_or_else(|| "all".to_owned()),
            order.from.clone().unwrap_or_else(|| "-".to_owned()),
            order.until.clone().unwrap_or_else(|| "-".to_owned()),
            order.reason.clone(),
        ]);
    }
    table.render(0)
}

/// Probes that are up are counted; the others are shown one by one.
fn probes(view: &View) -> String {
    let (up, others): (Vec<&Probe>, Vec<&Probe>) = view.probes.iter().partition(|probe| probe.state == "up");
    let mut text = format!("{} of {} checks up\n", up.len(), view.probes.len());
    if others.is_empty() {
        return text;
    }
    let mut table = Table::new(&["PROBE", "REGION", "ENDPOINT", "STATE", "LAST RUN", "LAST ERROR"]);
    for probe in others {
        table.row([
            probe.name.clone(),
            probe.region.clone(),
            probe.address.clone().unwrap_or_else(|| "-".to_owned()),
            probe.state.clone(),
            probe.last_run.clone().unwrap_or_else(|| "not yet".to_owned()),
            probe.last_error.clone().unwrap_or_default(),
        ]);
    }
    text.push_str(&table.render(0));
    text
}
