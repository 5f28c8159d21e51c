//! The server that runs, asked through its API: what it finds odd itself.

use std::time::Duration;

use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::facts::Running;
use crate::cli::Context;
use crate::cli::client::{self, Client};
use crate::control::Clock;

/// How long one answer of the API may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The metric that says whether a dnstap collector is connected; there only with a collector configured.
const CONNECTED: &str = "waypost_dns_dnstap_connected ";

/// The `status` document, as far as it is needed.
#[derive(Debug, Deserialize)]
struct View {
    at: String,
    node: String,
    warnings: Vec<Odd>,
}

#[derive(Debug, Deserialize)]
struct Odd {
    code: String,
    text: String,
}

/// Asks the server that the command line or the configuration names; absent when it does not answer.
pub(super) fn ask(context: &Context, clock: &Clock) -> Option<Running> {
    let client = Client::new(context).ok()?;
    let before = clock.now().wall_ms;
    let body = client.get_within("/api/v1/status", PATIENCE).ok()?;
    let after = clock.now().wall_ms;
    let view: View = client::parse(&body).ok()?;
    let at = OffsetDateTime::parse(&view.at, &Rfc3339).ok()?;
    let at_ms = i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()?;
    let metrics = client.get_within("/metrics", PATIENCE).ok();
    Some(Running {
        // Its clock was read about halfway through the request.
        ahead_ms: at_ms - before.midpoint(after),
        node: view.node,
        warnings: view.warnings.into_iter().map(|odd| (odd.code, odd.text)).collect(),
        collector: metrics.and_then(|body| connected(&String::from_utf8_lossy(&body))),
    })
}

/// Whether the text of the metrics says that a collector is connected; absent when it says nothing of one.
fn connected(metrics: &str) -> Option<bool> {
    let value = metrics.lines().find_map(|line| line.strip_prefix(CONNECTED))?;
    Some(value.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_say_whether_a_collector_is_connected() {
        let text =
            |value: &str| format!("# TYPE waypost_dns_dnstap_connected gauge\n{CONNECTED}{value}\nx 1\n");
        assert_eq!(connected(&text("1")), Some(true));
        assert_eq!(connected(&text("0")), Some(false));
        assert_eq!(connected("# nothing of it\n"), None);
    }
}
