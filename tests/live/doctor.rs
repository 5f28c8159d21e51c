//! Doctor against a real deployment: the server, and NSD as its parent.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use waypost::control::Clock;

use crate::harness::*;

/// What doctor promises is 15 s; three times that.
const ENDS: Duration = Duration::from_secs(45);

/// A server whose zone says that its name server is itself.
fn site() -> Site {
    let site = Site::new();
    site.write("zones/gslb.example.com.zone", &zone(&format!("@ NS ns1\nns1 A {}\n", site.ip)));
    site
}

fn zone(servers: &str) -> String {
    format!("$TTL 60\n@ SOA ns1 hostmaster 1 3600 900 604800 30\n{servers}static A 192.0.2.80\n")
}

/// The delegation as it should be.
fn right(site: &Site) -> String {
    format!("gslb NS ns1.gslb\nns1.gslb A {}\n", site.ip)
}

/// NSD, serving the parent zone; ended when dropped.
struct Parent {
    ip: Ipv4Addr,
    _nsd: Process,
}

impl Parent {
    /// A parent that says this beside its own SOA and NS.
    fn start(site: &Site, records: &str) -> Self {
        Self::with_zones(site, &[("example.com", records)])
    }

    fn with_zones(site: &Site, zones: &[(&str, &str)]) -> Self {
        let ip = own_address();
        let dir = site.path("parent");
        fs::create_dir(&dir).unwrap();
        let at = dir.display();
        let mut config = format!(
            "server:\n  ip-address: {ip}@{DNS_PORT}\n  chroot: \"\"\n  username: \"\"\n  server-count: 1\n  \
             database: \"\"\n  zonesdir: \"{at}\"\n  pidfile: \"{at}/pid\"\n  xfrdfile: \"{at}/xfrd\"\n  \
             zonelistfile: \"{at}/zones\"\n  xfrdir: \"{at}\"\nremote-control:\n  control-enable: no\n"
        );
        for (name, records) in zones {
            config += &format!("zone:\n  name: {name}\n  zonefile: {name}.zone\n");
            let head = "$TTL 300\n@ SOA ns hostmaster 1 3600 900 604800 30\n@ NS ns\n";
            let text = format!("$ORIGIN {name}.\n{head}ns A {ip}\n{records}");
            fs::write(dir.join(format!("{name}.zone")), text).unwrap();
        }
        let file = dir.join("nsd.conf");
        fs::write(&file, config).unwrap();
        // Debian keeps it where an ordinary user's PATH does not lead.
        let program =
            ["/usr/sbin/nsd", "/usr/local/sbin/nsd"].into_iter().find(|path| Path::new(path).exists());
        let mut command = Command::new(program.unwrap_or("nsd"));
        let mut nsd = Process::spawn(command.arg("-d").arg("-c").arg(file), &dir.join("log"));
        wait_until("the parent answers", SOON, || {
            assert_eq!(nsd.exited(), None, "{}", nsd.log());
            exchange(ip, &query_bytes(zones[0].0, 6, None)).is_some_and(|answer| !answer.0.answers.is_empty())
        });
        Self { ip, _nsd: nsd }
    }
}

/// An address that passes queries on to a server over UDP, and knows no TCP.
struct UdpOnly {
    ip: Ipv4Addr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl UdpOnly {
    fn before(server: Ipv4Addr) -> Self {
        let ip = own_address();
        let front = UdpSocket::bind((ip, DNS_PORT)).unwrap();
        front.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !told.load(Ordering::Relaxed) {
                let Ok((length, client)) = front.recv_from(&mut bytes) else { continue };
                let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                back.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                back.send_to(&bytes[..length], (server, DNS_PORT)).unwrap();
                if let Ok(length) = back.recv(&mut bytes) {
                    front.send_to(&bytes[..length], client).unwrap();
                }
            }
        });
        Self { ip, ends, thread: Some(thread) }
    }
}

impl Drop for UdpOnly {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What doctor found.
struct Found {
    code: i32,
    findings: Vec<Value>,
}

impl Found {
    fn by(site: &Site, arguments: &[&str]) -> Self {
        let port = DNS_PORT.to_string();
        let mut line = vec!["doctor", "--json", "--port", &port];
        line.extend(arguments);
        let ran = site.run(&line);
        let findings = ran.json()["findings"].as_array().unwrap_or_else(|| panic!("{ran:?}")).clone();
        Self { code: ran.code, findings }
    }

    fn at(site: &Site, parent: &Parent) -> Self {
        Self::by(site, &["--parent", &format!("{}:{DNS_PORT}", parent.ip)])
    }

    fn of_level(&self, level: &str) -> Vec<&Value> {
        self.findings.iter().filter(|finding| finding["level"] == level).collect()
    }

    /// Exactly these errors, each with its check and a part of its text and of its fix.
    #[track_caller]
    fn errors(&self, wanted: &[(&str, &str, &str)]) {
        let errors = self.of_level("error");
        assert_eq!(errors.len(), wanted.len(), "{errors:#?}");
        for (check, text, fix) in wanted {
            let has =
                |finding: &&&Value, key: &str, part: &str| finding[key].as_str().unwrap().contains(part);
            let is_it = |finding: &&&Value| {
                finding["check"] == *check && has(finding, "text", text) && has(finding, "fix", fix)
            };
            assert!(errors.iter().any(|finding| is_it(&finding)), "{check} {text} {fix}: {errors:#?}");
        }
        assert_eq!(self.code, i32::from(!wanted.is_empty()));
    }
}

#[test]
fn a_deployment_that_is_right_has_no_error_and_every_check_is_told() {
    let site = site().started();
    let parent = Parent::start(&site, &right(&site));
    let found = Found::at(&site, &parent);
    found.errors(&[]);
    let fine = found.of_level("ok");
    for check in
        ["delegation", "glue", "ds", "listen", "udp", "tcp", "recursion", "subnet", "edns", "service"]
    {
        assert!(fine.iter().any(|finding| finding["check"] == check), "{check}: {fine:#?}");
    }
    let pid = fine.iter().find(|finding| finding["check"] == "open_files").unwrap()["target"].clone();
    assert!(pid.as_str().unwrap().starts_with("process "), "the running server's own limit: {pid}");

    let parent = format!("{}:{DNS_PORT}", parent.ip);
    let port = DNS_PORT.to_string();
    let text = site.run(&["doctor", "--parent", &parent, "--port", &port]).done();
    assert!(text.out.contains("✓  glue") && text.out.contains("0 errors"), "{}", text.out);
    assert_eq!(text.err, "");
}

#[test]
fn a_resolver_leads_to_the_parent() {
    let site = site().started();
    let parent = Parent::start(&site, &right(&site));
    let found = Found::by(&site, &["--resolver", &format!("{}:{DNS_PORT}", parent.ip)]);
    found.errors(&[]);
    let text =
        found.of_level("ok").iter().find(|found| found["check"] == "delegation").unwrap()["text"].clone();
    assert!(text.as_str().unwrap().contains("the parent example.com"), "{text}");
}

#[test]
fn glue_that_is_missing_or_wrong_is_an_error_with_the_record_to_write() {
    let site = site().started();
    let fix = format!("`ns1.gslb.example.com. A {}`", site.ip);
    let parent = Parent::start(&site, "gslb NS ns1.gslb\n");
    Found::at(&site, &parent).errors(&[("glue", "no address of ns1.gslb.example.com", &fix)]);
    drop(parent);
    fs::remove_dir_all(site.path("parent")).unwrap();

    let nobody = own_address();
    let parent = Parent::start(&site, &format!("gslb NS ns1.gslb\nns1.gslb A {nobody}\n"));
    Found::at(&site, &parent)
        .errors(&[("glue", &nobody.to_string(), &fix), ("udp", "over UDP and TCP it refuses", "glue")]);
}

#[test]
fn a_name_server_that_does_not_serve_the_zone_is_lame() {
    let site = Site::new();
    let servers = format!("@ NS ns1\n@ NS ns.example.com.\nns1 A {}\n", site.ip);
    site.write("zones/gslb.example.com.zone", &zone(&servers));
    let site = site.started();
    // The parent's own server is named for the zone as well, and has only the parent.
    let parent = Parent::start(&site, &format!("{}gslb NS ns\n", right(&site)));
    let found = Found::at(&site, &parent);
    found.errors(&[("udp", "without the flag aa", "it is lame")]);
    let target = found.of_level("error")[0]["target"].as_str().unwrap().to_owned();
    assert!(target.starts_with(&parent.ip.to_string()) && target.contains("ns.example.com"), "{target}");
}

#[test]
fn a_ds_record_at_the_parent_is_an_error() {
    let site = site().started();
    let digest = "20ac1b4c2c1d5e3a9f8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f";
    let parent = Parent::start(&site, &format!("{}gslb DS 12345 13 2 {digest}\n", right(&site)));
    Found::at(&site, &parent).errors(&[("ds", "not signed", "take the DS records of gslb.example.com out")]);
}

#[test]
fn an_address_that_only_answers_udp_is_an_error_that_names_the_port_to_open() {
    let mut site = Site::new();
    let front = UdpOnly::before(site.ip);
    site.write("zones/gslb.example.com.zone", &zone(&format!("@ NS ns1\nns1 A {}\n", front.ip)));
    site.start();
    let parent = Parent::start(&site, &format!("gslb NS ns1.gslb\nns1.gslb A {}\n", front.ip));
    let fix = format!("let tcp/{DNS_PORT} through the firewall");
    Found::at(&site, &parent).errors(&[("tcp", "over TCP it refuses", &fix)]);
}

#[test]
fn a_parent_that_does_not_delegate_is_an_error_with_the_records_to_add() {
    let site = site().started();
    let add = "`gslb.example.com. NS ns1.gslb.example.com.`";
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[("example.com", "")], "no such name"),
        (&[("example.com", "gslb TXT here\n")], "does not delegate it"),
        (&[("example.com", "gslb NS ns1.gslb\n"), ("gslb.example.com", "")], "answers for the zone itself"),
    ];
    for (zones, text) in cases {
        let parent = Parent::with_zones(&site, zones);
        Found::at(&site, &parent).errors(&[("delegation", text, add)]);
        drop(parent);
        fs::remove_dir_all(site.path("parent")).unwrap();
    }
}

#[test]
fn a_parent_and_a_resolver_that_are_silent_are_findings_and_doctor_ends_in_time() {
    let site = site().started();
    let silent = UdpSocket::bind((own_address(), DNS_PORT)).unwrap();
    let address = silent.local_addr().unwrap().to_string();
    for option in ["--parent", "--resolver"] {
        let clock = Clock::start();
        let found = Found::by(&site, &[option, &address]);
        found.errors(&[("delegation", "does not answer in time", "--node-only")]);
        assert!(clock.elapsed() < ENDS);
    }
}

#[test]
fn a_server_that_does_not_run_is_told_with_the_way_to_start_it() {
    let site = site();
    let found = Found::by(&site, &["--node-only"]);
    assert_eq!(found.code, 3);
    let first = &found.findings[0];
    assert_eq!((&first["check"], &first["level"]), (&"udp".into(), &"error".into()));
    assert!(first["fix"].as_str().unwrap().contains("waypost serve"), "{first}");
}

#[test]
fn without_a_network_the_node_alone_is_looked_at() {
    let site = site().started();
    let found = Found::by(&site, &["--node-only"]);
    found.errors(&[]);
    let parents = ["delegation", "glue", "ds"];
    assert!(found.findings.iter().all(|finding| !parents.contains(&finding["check"].as_str().unwrap())));
}

#[test]
fn a_zone_file_that_has_changed_since_is_told_and_an_unknown_zone_is_refused() {
    let site = site().started();
    let changed = site.read("zones/gslb.example.com.zone").replace("hostmaster 1 ", "hostmaster 2 ");
    site.write("zones/gslb.example.com.zone", &changed);
    let found = Found::by(&site, &["--node-only"]);
    let serial = found.findings.iter().find(|finding| finding["check"] == "serial").unwrap();
    assert_eq!(serial["level"], "warning");
    assert!(serial["fix"].as_str().unwrap().contains("waypost reload"), "{serial}");
    assert_eq!(found.findings.iter().filter(|finding| finding["check"] == "serial").count(), 1);

    let refused = site.run(&["doctor", "--zone", "example.net"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("no zone of this node") && refused.err.contains("gslb.example.com"));
    assert_eq!(site.run(&["doctor", "--parent", "here"]).code, 2);
}

#[test]
fn a_parent_that_is_the_child_itself_proves_nothing_and_is_told_as_a_warning() {
    let site = site().started();
    let found = Found::by(&site, &["--parent", &format!("{}:{DNS_PORT}", site.ip)]);
    found.errors(&[]);
    let warnings = found.of_level("warning");
    let told = warnings.iter().find(|finding| finding["check"] == "delegation").unwrap();
    assert!(told["text"].as_str().unwrap().contains("are not checked"), "{told}");
}

#[test]
fn a_refused_reload_and_a_spoilt_cookie_key_are_both_told() {
    let site = site().started();
    site.write("state/cookie.key", "zzz\n");
    assert_eq!(site.run(&["reload"]).code, 1);
    let found = Found::by(&site, &["--node-only"]);
    found.errors(&[("state_dir", "no hexadecimal digit", "openssl rand")]);
    let warnings = found.of_level("warning");
    let told = warnings.iter().find(|finding| finding["check"] == "server").unwrap();
    assert!(told["text"].as_str().unwrap().starts_with("reload: "), "{told}");
}
