//! RFC 4892, Requirements for a Mechanism Identifying a Name Server Instance: as `dig` sees it.

use std::net::Ipv4Addr;
use std::process::Command;

use crate::harness::*;
use crate::options::*;

/// The status and the texts that `dig` prints for a CHAOS name.
fn dig(server: Ipv4Addr, name: &str) -> (String, Vec<String>) {
    let mut command = Command::new("dig");
    command.args([
        &format!("@{server}"),
        "-p",
        &DNS_PORT.to_string(),
        name,
        "CH",
        "TXT",
        "+tries=2",
        "+time=3",
    ]);
    let output = command.output().expect("dig is not here: install bind9-dnsutils, or run tests/run.sh");
    let text = String::from_utf8(output.stdout).unwrap();
    let status = text.split("status: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
    let records = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty());
    (status.to_owned(), records.map(str::to_owned).collect())
}

#[test]
fn s3_1_id_server_and_its_elder_names_are_refused_unless_configured() {
    let site = Site::new().started();
    for name in ["id.server", "hostname.bind", "version.server", "version.bind"] {
        assert_eq!(dig(site.ip, name), ("REFUSED".to_owned(), Vec::new()), "{name}");
    }
}

#[test]
fn s3_1_what_is_configured_is_answered_and_a_reload_changes_it() {
    let mut site = site_with("chaos = { id = \"ns1 in cn\" }");
    site.start();
    for name in ["id.server", "hostname.bind", "ID.Server"] {
        let (status, records) = dig(site.ip, name);
        let squeezed = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let records: Vec<String> = records.iter().map(squeezed).collect();
        assert_eq!((status.as_str(), records), ("NOERROR", vec![format!("{name}. 0 CH TXT \"ns1 in cn\"")]));
    }
    assert_eq!(dig(site.ip, "version.bind").0, "REFUSED");
    let text = site.read("waypost.toml").replace("id = \"ns1 in cn\"", "version = \"1\"");
    site.write("waypost.toml", &text);
    site.run(&["reload"]).done();
    assert_eq!(dig(site.ip, "version.bind").0, "NOERROR");
    assert_eq!(dig(site.ip, "id.server").0, "REFUSED");
}
