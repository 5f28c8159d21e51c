//! `waypost doctor`: whether a deployment works from the outside. Asks this node, the parent, and every name server,
//! looks at the machine, and says for each fault what mends it.
//!
//! ```text
//! files, network, machine ─▶ gather ─▶ Facts ─▶ judge (pure) ─▶ Findings ─▶ table or JSON
//! ```

mod exchange;
mod facts;
mod finding;
mod gather;
mod judge;
mod machine;
mod message;
mod parent;
mod running;

use serde::Serialize;

use self::exchange::Network;
use self::finding::{Finding, Level};
use super::{Context, Exit, Failure, Said, args, json_line, offline};
use crate::control::Clock;

#[derive(Debug, Serialize)]
struct Report<'r> {
    findings: &'r [Finding],
}

pub(super) fn run(context: &Context, args: &args::Doctor) -> Result<Said, Failure> {
    // Reading the files is part of the time that is promised.
    let clock = Clock::start();
    let whole = offline::read_whole(context)?;
    let zones = zones(args, &whole)?;
    let facts = gather::facts(context, args, &whole, &zones, Network::new(clock));
    let findings = judge::judge(&facts);
    let exit = if judge::is_down(&facts) {
        Exit::UNREACHABLE
    } else if finding::count(&findings, Level::Error) > 0 {
        Exit::BAD
    } else {
        Exit::DONE
    };
    let out =
        if context.json { json_line(&Report { findings: &findings }) } else { finding::text(&findings) };
    Ok(Said { out, notes: Vec::new(), exit })
}

/// The zones to look at.
///
/// Errors: there are none, or none of that name.
fn zones(args: &args::Doctor, whole: &offline::Whole) -> Result<Vec<String>, Failure> {
    let loaded = whole.desk.loaded();
    let Some(dns) = &loaded.dns else {
        let text = format!("{} has no [dns]: there is nothing to ask", loaded.config.path.display());
        return Err(Failure::new(Exit::BAD, text).hint("[dns] says what this node serves"));
    };
    let zones: Vec<String> = dns.zones.iter().map(|zone| message::folded(&zone.name())).collect();
    let Some(wanted) = args.zone.as_deref().map(message::folded) else { return Ok(zones) };
    if zones.contains(&wanted) {
        return Ok(vec![wanted]);
    }
    let text = format!("`{wanted}` is no zone of this node");
    Err(Failure::new(Exit::BAD, text).hint(format!("it has: {}", zones.join(", "))))
}
