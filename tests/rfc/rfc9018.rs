//! RFC 9018, Interoperable Domain Name System (DNS) Server Cookies: with a server of another make, and among ours.

use std::net::Ipv4Addr;
use std::process::Command;

use waypost::control::Clock;
use waypost::dns::cookie::{Secret, Secrets};

use crate::harness::*;
use crate::options::*;

const OLD: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";
const NEW: &str = "445536bcd2513298075a5d379663c962";

fn secrets(digits: &str) -> Secrets {
    let first = Secret::new(u128::from_str_radix(digits, 16).unwrap().to_be_bytes());
    Secrets { first, second: None }
}

/// A server that starts with these secrets.
fn site_that_knows(secrets: &[&str]) -> Site {
    let site = Site::new();
    std::fs::create_dir(site.path("state")).unwrap();
    site.write("state/cookie.key", &secrets.join("\n"));
    site.started()
}

fn change(site: &Site, secrets: &[&str]) {
    site.write("state/cookie.key", &secrets.join("\n"));
    site.run(&["reload"]).done();
}

/// The tests' client's cookie as NSD or we make it with `digits` at `age_s` ago.
fn made_with(digits: &str, age_s: u32) -> Vec<u8> {
    let now_s = Clock::start().now().wall_s();
    [&CLIENT[..], &secrets(digits).make(CLIENT, Ipv4Addr::LOCALHOST.into(), now_s - age_s)].concat()
}

/// Whether the server takes the cookie: one that is young and valid comes back as it is.
fn takes(server: Ipv4Addr, cookie: &[u8]) -> bool {
    udp(server, &with_options(&[(COOKIE, cookie)])).cookie().is_some_and(|back| back == cookie)
}

#[test]
fn s4_3_the_servers_clock_decides_how_long_a_cookie_is_good() {
    let site = site_that_knows(&[OLD]);
    for (age_s, taken) in [(10, true), (1700, true), (1900, false), (3700, false)] {
        assert_eq!(takes(site.ip, &made_with(OLD, age_s)), taken, "{age_s}");
    }
    assert_eq!(
        site.metric("waypost_dns_cookies_total{result=\"valid\"}"),
        Some(3.0),
        "one of them was renewed"
    );
    assert_eq!(site.metric("waypost_dns_cookies_total{result=\"invalid\"}"), Some(1.0));
}

/// The three steps of section 5, on two servers that clients see as one: no client ever shows a cookie in vain.
#[test]
fn s5_a_set_of_servers_changes_its_secret_and_no_cookie_is_refused_meanwhile() {
    let servers = [site_that_knows(&[OLD]), site_that_knows(&[OLD])];
    let agree = |makers: [&str; 2]| {
        for (maker, digits) in servers.iter().zip(makers) {
            let cookie = fetch_cookie(maker.ip);
            assert!(servers.iter().all(|server| takes(server.ip, &cookie)), "made with {digits}");
        }
    };
    agree([OLD, OLD]);
    // 1: the new secret is known everywhere before anybody makes cookies with it.
    change(&servers[0], &[OLD, NEW]);
    agree([OLD, OLD]);
    change(&servers[1], &[OLD, NEW]);
    agree([OLD, OLD]);
    // 2: cookies are made with the new one, those of the old one are still good.
    change(&servers[0], &[NEW, OLD]);
    agree([NEW, OLD]);
    change(&servers[1], &[NEW, OLD]);
    agree([NEW, NEW]);
    let old = made_with(OLD, 5);
    assert!(servers.iter().all(|server| takes(server.ip, &old)));
    // 3: an hour later nobody has a cookie of the old one.
    for server in &servers {
        change(server, &[NEW]);
        assert!(!takes(server.ip, &old));
    }
    agree([NEW, NEW]);
}

#[test]
fn s4_nsd_and_waypost_take_each_others_cookies() {
    let site = site_that_knows(&[OLD]);
    let nsd = Nsd::start(OLD);
    let theirs = fetch_cookie(nsd.ip);
    assert!(takes(nsd.ip, &theirs) && takes(site.ip, &theirs));
    let ours = fetch_cookie(site.ip);
    assert!(takes(site.ip, &ours) && takes(nsd.ip, &ours));
    // An older one of ours, so that NSD can't have made the same one by itself.
    let older = made_with(OLD, 60);
    assert!(takes(site.ip, &older) && takes(nsd.ip, &older));
    let foreign = made_with(NEW, 60);
    assert!(!takes(site.ip, &foreign) && !takes(nsd.ip, &foreign));
}

/// An NSD that makes cookies with a given secret.
struct Nsd {
    ip: Ipv4Addr,
    _process: Process,
    _dir: tempfile::TempDir,
}

impl Nsd {
    fn start(secret: &str) -> Self {
        let (ip, dir) = (own_address(), tempfile::tempdir().unwrap());
        let path = dir.path().display();
        let zone =
            "$ORIGIN gslb.example.com.\n@ 60 IN SOA ns h 1 1 1 1 1\n@ 60 IN NS ns\nns 60 IN A 192.0.2.1\n";
        std::fs::write(dir.path().join("zone"), zone).unwrap();
        let config = format!(
            "server:\n ip-address: {ip}@{DNS_PORT}\n username: \"\"\n chroot: \"\"\n zonesdir: \"{path}\"\n \
             database: \"\"\n pidfile: \"{path}/pid\"\n xfrdfile: \"{path}/xfrd\"\n zonelistfile: \"{path}/zones\"\n \
             xfrdir: \"{path}\"\n server-count: 1\n answer-cookie: yes\n cookie-secret: \"{secret}\"\n \
             cookie-secret-file: \"{path}/none\"\nremote-control:\n control-enable: no\nzone:\n \
             name: gslb.example.com\n zonefile: zone\n"
        );
        let file = dir.path().join("nsd.conf");
        std::fs::write(&file, config).unwrap();
        // Where Debian puts it is not in every user's path.
        let program =
            ["/usr/sbin/nsd", "/sbin/nsd"].into_iter().find(|path| std::fs::exists(path).unwrap_or(false));
        let program = program.expect("nsd is not here: install Debian's package nsd, or run tests/run.sh");
        let process =
            Process::spawn(Command::new(program).args(["-d", "-c"]).arg(&file), &dir.path().join("log"));
        let nsd = Self { ip, _process: process, _dir: dir };
        let ready = || exchange(ip, &with_options(&[(COOKIE, &CLIENT)])).map(|_| ());
        wait_for("NSD to answer", SOON, ready);
        nsd
    }
}
