//! Facts to findings: pure, so that every judgement can be shown in a table.

mod delegation;
mod machine;
mod running;
mod serial;
mod server;
#[cfg(test)]
mod tests;

use super::exchange::Trouble;
use super::facts::{Facts, Server};
use super::finding::{Finding, Findings};

/// Everything that there is to say, this node first.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Findings::default();
    for node in &facts.node {
        server::judge(node, facts, &mut findings);
    }
    for zone in &facts.zones {
        delegation::judge(zone, facts, &mut findings);
    }
    for name_server in &facts.servers {
        server::judge(name_server, facts, &mut findings);
    }
    serial::judge(facts, &mut findings);
    running::judge(facts, &mut findings);
    machine::judge(facts, &mut findings);
    findings.0
}

/// Whether this node answers at none of its addresses.
pub(super) fn is_down(facts: &Facts) -> bool {
    let silent = |server: &Server| {
        let mut troubles = server.asked.iter().map(|asked| asked.got.as_ref().err());
        let asked = server.asked.iter().any(|asked| asked.got != Err(Trouble::NotAsked));
        asked && troubles.all(|trouble| trouble.is_some())
    };
    !facts.node.is_empty() && facts.node.iter().all(silent)
}
