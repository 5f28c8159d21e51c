//! The real server before other people's expectations: the cases of `tests/cases`, asked from outside by their runner.
//!
//! The cases restate facts of public test suites and RFCs; each is met by at least one of the servers that
//! docs/conformance.md compares. The runner is a program of its own, so that it can be pointed at any server.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // The lints' exception for tests does not reach their helpers.

#[path = "../live/harness/mod.rs"]
#[allow(dead_code, unused_imports)] // Other binaries use the rest.
mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use harness::{DNS_PORT, Site};
use serde_json::Value;

/// The interpreter that has dnspython; set by `tests/run.sh`.
const PYTHON: &str = "WAYPOST_TEST_PYTHON";

/// What is run, and how many cases each file has: a case that vanished would pass in silence.
const FILES: [(&str, usize); 4] = [
    ("ferret.json", 69),
    ("pdns_static.json", 32),
    ("knot_gdnsd_static.json", 54),
    ("protocol_probes.json", 102),
];

/// Cases in which Waypost takes the other reading that the case itself allows, with the reason.
const TOLERATED: [(&str, &str); 2] = [
    (
        "pd-within-server-cname",
        "an alias into another zone of the same server is followed there: the records are this server's own and \
     authoritative, and the resolver is saved a query (RFC 1034 4.3.2 step 3a begins again with the new name, \
     RFC 6604 3 has the rcode of the last name)",
    ),
    (
        "cookie-other-client-ip",
        "a cookie that is not valid gets the answer and a good cookie instead of BADCOOKIE (RFC 7873 5.2.4 leaves the \
     choice): a client whose address changes loses no time, and the size of the answer is bounded by unverified_udp",
    ),
];

/// One case's end.
struct Outcome {
    file: String,
    verdict: String,
    notes: String,
}

#[test]
fn every_case_of_others_test_suites_passes() {
    let outcomes = run(&FILES.map(|(file, _)| file));
    for (file, count) in FILES {
        let run = outcomes.values().filter(|outcome| outcome.file == file).count();
        assert_eq!(run, count, "{file}: a case that is not run shows nothing");
    }
    let tolerated: Vec<&str> = TOLERATED.iter().map(|(id, _)| *id).collect();
    let unexpected: Vec<String> = (outcomes.iter())
        .filter(|(id, outcome)| outcome.verdict != wanted(id, &tolerated))
        .map(|(id, outcome)| {
            let wanted = wanted(id, &tolerated);
            format!("{id} ({}): {}, not {wanted}: {}", outcome.file, outcome.verdict, outcome.notes)
        })
        .collect();
    assert!(unexpected.is_empty(), "{} cases:\n{}", unexpected.len(), unexpected.join("\n"));
    for id in tolerated {
        assert!(outcomes.contains_key(id), "{id} is on the list and is no case");
    }
}

/// What the runner has to say about the case; a listed case that passes is no longer to be listed.
fn wanted(id: &str, tolerated: &[&str]) -> &'static str {
    if tolerated.contains(&id) { "TOLERATED" } else { "PASS" }
}

/// Starts the server with the cases' zones and has the runner ask it everything.
fn run(files: &[&str]) -> BTreeMap<String, Outcome> {
    let python = python();
    let mut site = Site::new();
    let config = site.config("", "requires = []").replace("[admin]", "nsid = \"probe\"\n[admin]");
    site.write("waypost.toml", &config);
    let zones = site.path("zones").display().to_string();
    runner(&python, &["--write-zones", &zones, "--for", "plain"], files);
    site.start();
    let (ip, port) = (site.ip.to_string(), DNS_PORT.to_string());
    let results = site.path("results.json");
    let path = results.display().to_string();
    // The time limit is for answers that never come; a busy machine is given its time.
    let arguments =
        ["--server", &ip, "--port", &port, "--timeout", "5", "--ecs-server", "--quiet", "--json", &path];
    let said = runner(&python, &arguments, files);
    let text = fs::read_to_string(&results).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(site.process().exited(), None, "the server lives: {}", site.log());
    read(&serde_json::from_str(&text).unwrap())
}

fn read(results: &Value) -> BTreeMap<String, Outcome> {
    let text = |case: &Value, key: &str| case[key].as_str().unwrap().to_owned();
    let mut outcomes = BTreeMap::new();
    for case in results.as_array().unwrap() {
        let outcome = Outcome {
            file: text(case, "file"),
            verdict: text(case, "verdict"),
            notes: case["notes"].to_string(),
        };
        let id = text(case, "id");
        assert!(outcomes.insert(id.clone(), outcome).is_none(), "two cases are called {id}");
    }
    outcomes
}

/// Runs the runner and returns all that it said. Its exit status counts failed cases, which the results tell better.
fn runner(python: &str, arguments: &[&str], files: &[&str]) -> String {
    let cases = cases();
    let files = files.iter().map(|file| cases.join(file));
    let mut command = Command::new(python);
    command.arg("-B").arg(cases.join("run_dns_cases.py")).args(arguments).args(files);
    let output = command.output().unwrap_or_else(|error| panic!("{python}: {error}"));
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn cases() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// A Python with dnspython 2.4 or later: that of `tests/run.sh`, else the system's.
fn python() -> String {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let check = "import dns.version as v; raise SystemExit((v.MAJOR, v.MINOR) < (2, 4))";
    let found = Command::new(&python).args(["-c", check]).output();
    assert!(
        found.is_ok_and(|output| output.status.success()),
        "`{python}` has no dnspython of version 2.4 or later, which the cases' runner needs to read answers.\n\
         Run the tests by tests/run.sh, which provides it, or make an environment yourself:\n    \
         python3 -m venv target/python && target/python/bin/pip install -r tests/requirements.txt\n    \
         {PYTHON}=target/python/bin/python cargo test --test conformance"
    );
    python
}
