//! `dig` as a client: one process a server, its questions in a batch file.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

/// What dig says when an answer is not what it should be.
const COMPLAINTS: [&str; 8] = [
    ";; Warning",
    ";; WARNING: EDNS",
    ";; WARNING: Message",
    "malformed",
    "extra bytes",
    ";; Got bad packet",
    "mismatch",
    "no servers could be reached",
];

const NAMES: [&str; 18] = [
    "gslb.example.com",
    "www.gslb.example.com",
    "WwW.gSlB.eXaMpLe.CoM",
    "many.gslb.example.com",
    "cdn.gslb.example.com",
    "down.gslb.example.com",
    "to-www.gslb.example.com",
    "nothing.gslb.example.com",
    "x.wild.gslb.example.com",
    "host.sub.gslb.example.com",
    "www.moved.gslb.example.com",
    "huge.gslb.example.com",
    "big.gslb.example.com",
    "static.shipped.example",
    "_imaps._tcp.shipped.example",
    "www.probe.test",
    "a.example.org",
    ".",
];

const TYPES: [&str; 6] = ["A", "AAAA", "TXT", "SOA", "ANY", "TYPE65280"];

const OPTIONS: [&str; 16] = [
    "+noedns",
    "+bufsize=512",
    "+bufsize=4096",
    "+dnssec",
    "+tcp",
    "+subnet=192.0.2.0/24",
    "+subnet=2001:db8::/56",
    "+subnet=0",
    "+nsid",
    "+cookie",
    "+cookie=0102030405060708",
    "+tcp +keepalive",
    "+ednsopt=65001:0102",
    "+padding=128",
    "+cdflag +adflag",
    "+tcp +nsid +subnet=10.0.0.0/8 +dnssec",
];

/// Lines of a batch file: every name with every type, in turn with every set of options.
pub(crate) fn questions() -> Vec<String> {
    let mut questions = Vec::new();
    for name in NAMES {
        for qtype in TYPES {
            for _ in 0..3 {
                let options = OPTIONS[questions.len() % OPTIONS.len()];
                questions.push(format!("{name} {qtype} +norec {options}"));
            }
        }
    }
    questions
}

/// Asks and returns dig's complaints, each with its question.
pub(crate) fn ask(server: SocketAddr, questions: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let batch = folder.path().join("questions");
    // Its own folder is its home: no `.digrc` of somebody's.
    fs::write(&batch, questions.join("\n")).unwrap();
    let port = server.port().to_string();
    let output = Command::new("dig")
        .env("HOME", folder.path())
        .args([
            "+nocrypto",
            "+tries=1",
            "+time=5",
            "+qr",
            "+noignore",
            "-p",
            &port,
            &format!("@{}", server.ip()),
            "-f",
        ])
        .arg(&batch)
        .output()
        .expect("dig is installed: Debian's bind9-dnsutils");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let answers = text.matches(";; Got answer:").count();
    let mut findings: Vec<String> = text
        .lines()
        .filter(|line| COMPLAINTS.iter().any(|complaint| line.contains(complaint)))
        .map(ToOwned::to_owned)
        .collect();
    if !output.status.success() || answers < questions.len() {
        findings.push(format!("{answers} answers to {} questions, {}", questions.len(), output.status));
    }
    findings
}
