//! Serials that are not the one in this node's zone file: told once for all servers that have the same one, since one
//! forgotten reload shows at every address and over both protocols.

use std::collections::{BTreeMap, BTreeSet};

use super::server::{served, target};
use crate::cli::doctor::facts::{Facts, Server};
use crate::cli::doctor::finding::Findings;
use crate::cli::doctor::message::Manner;

/// What makes two of them the same finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Drift<'f> {
    zone: &'f str,
    is_node: bool,
    there: u32,
    in_file: u32,
}

pub(super) fn judge(facts: &Facts, findings: &mut Findings) {
    let mut drifts: BTreeMap<Drift<'_>, BTreeSet<String>> = BTreeMap::new();
    for server in facts.node.iter().chain(&facts.servers) {
        for drift in of(server) {
            drifts.entry(drift).or_default().insert(target(server));
        }
    }
    for (drift, targets) in drifts {
        let Drift { zone, is_node, there, in_file } = drift;
        let targets = targets.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("{zone} has serial {there} there, and {in_file} in this node's zone file");
        let fix = if is_node {
            "the file has changed since it was read: `waypost reload`"
        } else {
            "copy configuration and zones to the node that has the older ones, and `waypost reload` there"
        };
        findings.warning("serial", targets, text, fix);
    }
}

/// Where the server differs from the files.
fn of(server: &Server) -> impl Iterator<Item = Drift<'_>> {
    let plain = server.asked.iter().filter(|asked| asked.question.manner == Manner::Plain);
    plain.filter_map(|asked| {
        let there = served(asked.got.as_ref().ok()?)?;
        let in_file = asked.expected.serial().filter(|in_file| *in_file != there)?;
        Some(Drift { zone: &asked.question.name, is_node: server.is_node, there, in_file })
    })
}
