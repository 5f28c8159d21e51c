//! The server that runs: what it finds odd itself, and whether it is the one that the files here describe.

use crate::cli::doctor::facts::{Facts, Machine, Running};
use crate::cli::doctor::finding::Findings;

pub(super) fn judge(facts: &Facts, findings: &mut Findings) {
    let machine = &facts.machine;
    let Some(running) = &machine.running else { return };
    if running.node != machine.node {
        let text = format!(
            "the server there is node `{}`, and the configuration here is of node `{}`: it runs with another one",
            running.node, machine.node
        );
        let fix = "name the configuration that it runs with: --config FILE; or this node's server: --server HOST:PORT";
        findings.warning("server", &*machine.api, text, fix);
    }
    warnings(machine, running, findings);
    collector(machine, running, findings);
}

fn warnings(machine: &Machine, running: &Running, findings: &mut Findings) {
    // Those that doctor sees itself are told where it does.
    let is_told = |code: &str| match code {
        "cookie_key" => machine.state_dir.cookie_key_mode.is_some_and(|mode| mode & 0o077 != 0),
        "dnstap" => machine.dnstap.is_some() && running.collector.is_some(),
        _ => false,
    };
    let mut odd = running.warnings.iter().filter(|(code, _)| !is_told(code)).peekable();
    if odd.peek().is_none() {
        return findings.ok("server", &*machine.api, "it has no warning");
    }
    for (code, text) in odd {
        findings.warning("server", &*machine.api, format!("{code}: {text}"), fix(code));
    }
}

/// What to do about a warning of the server's.
fn fix(code: &str) -> &'static str {
    match code {
        "reload" => "correct what it names (`waypost check` says where), then `waypost reload`",
        "fail_open" => "`waypost status` names the checks that have failed",
        "mass_failure" => "look at this machine's own network first",
        "admin_file" => "correct the admin file: what was in force stays meanwhile",
        "guard" => "make sure that the drain is meant, or `waypost undrain`",
        "geo_file" | "geo_stands_in" => "put a good geo database in its place: it is taken without a reload",
        _ => "as it says; `waypost status` shows it until it is over",
    }
}

fn collector(machine: &Machine, running: &Running, findings: &mut Findings) {
    let Some(socket) = &machine.dnstap else { return };
    match running.collector {
        Some(true) => findings.ok("dnstap", &**socket, "a collector is connected"),
        Some(false) => {
            let fix = "start the collector on this socket, and let the server's user write to it: a common group, and \
                       mode 0660";
            let text = "no collector is connected: what it should record is dropped";
            findings.warning("dnstap", &**socket, text, fix);
        }
        None => {
            let text = "the server that runs has no collector configured";
            findings.warning(
                "dnstap",
                &**socket,
                text,
                "`waypost reload`; if that is not enough, restart it",
            );
        }
    }
}
