//! `waypost geo`: what database and networks say about an address.

use serde::Serialize;

use super::table::Table;
use super::{Context, Exit, Failure, Said, args, json_line, offline};
use crate::control::Clock;
use crate::control::explain::Client;
use crate::control::geo_source;
use crate::region::geo::Subnet;
use crate::serve::admin::parse_client;

#[derive(Debug, Serialize)]
struct Report {
    client: String,
    home: String,
    by: &'static str,
    detail: String,
    /// What the database says of the address, whatever placed it.
    says: String,
    scope: u8,
    database: String,
    build: Option<String>,
    ranges: usize,
}

pub(super) fn run(context: &Context, args: &args::Geo) -> Result<Said, Failure> {
    let client = parse_client(&args.client).ok_or_else(|| {
        let text = format!("`{}` is not an address", args.client);
        Failure::new(Exit::USAGE, text).hint("write ADDR, or ADDR/LEN for a client subnet (LEN from 1)")
    })?;
    let config = offline::read_config(context)?;
    let Some(geo) = &config.geo else {
        let text = format!("{} has no [geo]", config.path.display());
        return Err(Failure::new(Exit::BAD, text).hint("[geo] says which database places clients"));
    };
    let loaded = geo_source::load(geo, &config, offline::options(Clock::start().now()))
        .map_err(|refusal| Failure::new(Exit::BAD, format!("{}: {refusal}", geo.database.display())))?;
    // An address is placed as the longest subnet there is: the scope then says how far around it nothing changes.
    let subnet = match client {
        Client::Subnet(subnet) => subnet,
        Client::Address(addr) => Subnet { addr, source: if addr.is_ipv4() { 32 } else { 128 } },
    };
    let (subnet, source) = (Some(subnet), subnet.addr);
    let located = loaded.table.locate(subnet, source);
    let placed = loaded.table.describe(subnet, source);
    let report = Report {
        client: args.client.clone(),
        home: config.regions.name(located.home).to_owned(),
        by: located.by.word(),
        says: placed.place.to_string(),
        detail: placed.detail,
        scope: located.scope,
        database: geo.database.display().to_string(),
        build: loaded.info.build,
        ranges: loaded.info.ranges,
    };
    Ok(Said::done(if context.json { json_line(&report) } else { text(&report) }))
}

fn text(report: &Report) -> String {
    let mut table = Table::new(&[]);
    let detail = if report.detail.is_empty() { String::new() } else { format!(" {}", report.detail) };
    let build = report.build.as_deref().unwrap_or("an unknown date");
    table.row(["client", &report.client]);
    table.row(["home", &report.home]);
    table.row(["by", &format!("{}{detail}", report.by)]);
    table.row(["the database says", &report.says]);
    table.row(["scope", &format!("/{}", report.scope)]);
    table.row(["database", &format!("{}, of {build}, {} ranges", report.database, report.ranges)]);
    table.render(0)
}
