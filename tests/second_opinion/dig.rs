//! `dig` as a client: one process a server, its questions in a batch file.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use crate::corpus::{COOKIE, Case};
use crate::query::{Edns, hex};

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

/// Questions that one process asks.
const BATCH: usize = 2_000;

/// Types that dig asks for only to receive whole zones: IXFR, AXFR.
const TRANSFERS: [u16; 2] = [251, 252];

/// Header flags by dig's word for them.
const FLAGS: [(u16, &str); 7] = [
    (0x0400, "aa"),
    (0x0200, "tc"),
    (0x0100, "rd"),
    (0x0080, "ra"),
    (0x0040, "z"),
    (0x0020, "ad"),
    (0x0010, "cd"),
];

/// The corpus as lines of a batch file, but for what dig can't ask: transfers, the reserved class.
pub(crate) fn restated(cases: &[Case]) -> Vec<String> {
    let asked = |case: &&Case| !TRANSFERS.contains(&case.query.qtype) && case.query.qclass != 0;
    cases.iter().filter(asked).map(restate).collect()
}

fn restate(case: &Case) -> String {
    let query = &case.query;
    let mut line = format!("-q {} -t TYPE{} -c CLASS{}", written(&query.name), query.qtype, query.qclass);
    for (bit, flag) in FLAGS {
        line += &format!(" +{}{flag}flag", if query.flags & bit == 0 { "no" } else { "" });
    }
    line += &format!(" +opcode={}", query.flags >> 11 & 15);
    match &query.edns {
        None => line += " +noedns",
        Some(edns) => line += &restate_edns(edns),
    }
    line
}

fn restate_edns(edns: &Edns) -> String {
    let (version, flags) = (edns.version_flags >> 16, edns.version_flags & 0x7fff);
    let dnssec = if edns.version_flags & 0x8000 == 0 { "no" } else { "" };
    let mut text = format!(
        " +edns={version} +noednsneg +bufsize={} +{dnssec}dnssec +ednsflags={flags} +nocookie",
        edns.payload
    );
    for (code, data) in &edns.options {
        // dig complains of a cookie that comes back without having been its own.
        text += &match *code {
            COOKIE => format!(" +cookie={}", hex(data)),
            code if data.is_empty() => format!(" +ednsopt={code}"),
            code => format!(" +ednsopt={code}:{}", hex(data)),
        };
    }
    text
}

/// A name in wire form as text, with everything escaped that means something in one.
fn written(name: &[u8]) -> String {
    let (mut text, mut rest) = (String::new(), name);
    while let Some((len @ 1.., tail)) = rest.split_first().map(|(len, tail)| (usize::from(*len), tail)) {
        for byte in &tail[..len] {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'*' => text.push(char::from(*byte)),
                _ => text += &format!("\\{byte:03}"),
            }
        }
        text.push('.');
        rest = &tail[len..];
    }
    if text.is_empty() { ".".to_owned() } else { text }
}

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

/// Asks and returns dig's complaints.
pub(crate) fn ask(server: SocketAddr, questions: &[String]) -> Vec<String> {
    questions.chunks(BATCH).flat_map(|batch| ask_batch(server, batch)).collect()
}

fn ask_batch(server: SocketAddr, questions: &[String]) -> Vec<String> {
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
