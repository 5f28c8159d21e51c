//! Beginnings and ends.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::fs::symlink;
use std::time::Duration;

use rustix::process::Signal;
use waypost::control::Clock;

use crate::harness::*;

/// An endpoint that hangs is waited for longer than a start waits.
const PATIENT: &str = "timeout = \"30s\"\ninterval = \"31s\"\nfast_interval = \"31s\"";

fn exit_of(site: &mut Site) -> (i32, String) {
    site.spawn();
    let code = site.process().wait_exit();
    site.process = None;
    (code, site.log())
}

#[test]
fn a_configuration_that_is_wrong_ends_the_start_with_78_and_its_place() {
    let mut site = Site::new();
    let good = site.read("waypost.toml");
    site.write("waypost.toml", &good.replace("ttl_min", "ttl_mni"));
    let (code, log) = exit_of(&mut site);
    assert_eq!(code, 78, "{log}");
    assert!(log.contains("waypost.toml:27:1: error") && log.contains("ttl_min"), "{log}");

    site.write("waypost.toml", &good);
    site.write("zones/gslb.example.com.zone", "@ SOA\n");
    let (code, log) = exit_of(&mut site);
    assert_eq!(code, 78, "{log}");
    assert!(log.contains(".zone:1"), "{log}");

    fs::remove_file(site.path("waypost.toml")).unwrap();
    assert_eq!(exit_of(&mut site).0, 78);
}

#[test]
fn a_second_server_on_the_same_ports_says_why_it_ends() {
    let first = Site::new().started();
    let mut second = Site::new();
    second.ip = first.ip;
    second.write("waypost.toml", &second.config("", "requires = []"));
    let (code, log) = exit_of(&mut second);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains(&format!("{}:{DNS_PORT}", first.ip)), "{log}");
    assert!(log.contains("another program") && log.contains("ss -"), "{log}");
    assert!(
        log.lines().all(|line| line.contains(" INFO ") || line.contains(" ERROR ")),
        "with level and time: {log}"
    );
    assert_eq!(first.ask(CN).addresses(), CN_A);
}

#[test]
fn a_second_server_with_the_same_state_dir_ends_and_the_first_keeps_its_own() {
    let first = Site::new().started();
    let mut second = Site::new();
    let state = first.path("state").display().to_string();
    let config = second.config("", "requires = []").replacen(
        "version = 1",
        &format!("version = 1\nstate_dir = \"{state}\""),
        1,
    );
    second.write("waypost.toml", &config);
    let (code, log) = exit_of(&mut second);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("another waypost keeps its state in") && log.contains(&state), "{log}");
    assert_eq!(first.ask(CN).addresses(), CN_A);
}

#[test]
fn a_port_that_is_taken_is_told_with_what_to_do() {
    let mut site = Site::new();
    let udp = UdpSocket::bind((site.ip, DNS_PORT)).unwrap();
    let (code, log) = exit_of(&mut site);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("UDP") && log.contains("ss -"), "{log}");
    drop(udp);
    let admin = TcpListener::bind((site.ip, ADMIN_PORT)).unwrap();
    let (code, log) = exit_of(&mut site);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("admin.listen") && log.contains("ss -"), "{log}");
    drop(admin);
    site.start();
}

#[test]
fn a_state_dir_that_cannot_be_written_stops_no_answer() {
    let mut site = Site::new();
    fs::create_dir(site.path("state")).unwrap();
    // Root may write everywhere, so these are in the way: a full device for the journal, folders for the rest.
    symlink("/dev/full", site.path("state/journal.jsonl")).unwrap();
    for name in ["health.json", "admin.accepted.toml", "geo.table", "audit.jsonl"] {
        fs::create_dir(site.path(&format!("state/{name}"))).unwrap();
    }
    site.start();
    let warning = site.wait_warning("state_dir");
    assert!(warning.contains("state"), "{warning}");
    site.wait_warning("geo_table");
    site.run(&["drain", "cn", "--reason", "all the same"]).done();
    assert_eq!(site.ask(CN).addresses(), EU_A);
    site.wait_warning("admin_copy");
    assert!(site.log().contains("cannot write"), "{}", site.log());
    let lost = site.metric("waypost_journal_dropped_total");
    assert!(lost.is_some_and(|lost| lost > 0.0), "{lost:?}");

    // The disk is mended: everything is kept again, and the journal can be replayed from there.
    fs::remove_file(site.path("state/journal.jsonl")).unwrap();
    for name in ["health.json", "admin.accepted.toml", "geo.table", "audit.jsonl"] {
        fs::remove_dir(site.path(&format!("state/{name}"))).unwrap();
    }
    site.wait_no_warning("state_dir");
    site.run(&["undrain", "cn"]).done();
    site.wait_no_warning("admin_copy");
    wait_until("a journal", SOON, || site.path("state/journal.jsonl").exists());
    assert_eq!(site.stop(), Some(0));
    let replayed = site.run(&["replay", "state/journal.jsonl"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

#[test]
fn a_terminated_server_answers_what_has_arrived_and_ends_within_five_seconds() {
    let mut site = Site::probed(QUICK).started();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    socket.connect((site.ip, DNS_PORT)).unwrap();
    // One connection is left open and idle.
    let idle = std::net::TcpStream::connect((site.ip, DNS_PORT)).unwrap();
    let query = query_bytes(WWW, 1, Some(CN));
    let sent = 200;
    for _ in 0..sent {
        socket.send(&query).unwrap();
    }
    let clock = Clock::start();
    site.process().signal(Signal::TERM);
    let code = site.process().wait_exit();
    let took = clock.elapsed();
    assert_eq!(code, 0, "{}", site.log());
    assert!(took < Duration::from_secs(5), "{took:?}");
    let mut buffer = [0; 4096];
    let answered = (0..sent).take_while(|_| socket.recv(&mut buffer).is_ok()).count();
    assert_eq!(answered, sent, "nothing in flight is lost");
    drop(idle);
}

#[test]
fn until_the_first_round_or_five_seconds_dns_is_silent_and_readyz_says_so() {
    let site = Site::probed(PATIENT);
    site.endpoints[5].behave(Behave::Hang);
    let mut site = site;
    let clock = Clock::start();
    site.spawn();
    let query = query_bytes(WWW, 1, Some(CN));
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket.connect((site.ip, DNS_PORT)).unwrap();
    wait_until("the API", SOON, || http_get(site.ip, "/readyz").is_some_and(|(status, _)| status == 503));
    assert_eq!(http_get(site.ip, "/livez").unwrap().0, 200);
    socket.send(&query).unwrap();
    assert!(socket.recv(&mut [0; 512]).is_err(), "bound, and not read");
    site.wait_ready();
    assert!(clock.elapsed() >= Duration::from_secs(5), "{:?}", clock.elapsed());
    // What waited in the socket is answered now.
    assert!(socket.recv(&mut [0; 512]).is_ok());
    assert_eq!(site.ask(CN).addresses(), CN_A, "unprobed counts as able");

    // With a fresh saved table: at once, though the endpoint still hangs.
    assert_eq!(site.stop(), Some(0));
    let clock = Clock::start();
    site.start();
    assert!(clock.elapsed() < Duration::from_secs(4), "{:?}", clock.elapsed());
}

#[test]
fn a_full_first_round_is_enough() {
    let clock = Clock::start();
    let site = Site::probed(PATIENT).started();
    assert!(clock.elapsed() < Duration::from_secs(4), "{:?}", clock.elapsed());
    assert_eq!(site.ask(CN).addresses(), CN_A);
}

#[test]
fn a_hangup_during_the_start_is_a_reload_after_it() {
    let site = Site::probed(PATIENT);
    site.endpoints[5].behave(Behave::Hang);
    let mut site = site;
    site.spawn();
    wait_until("the API", SOON, || http_get(site.ip, "/livez").is_some());
    site.process().signal(Signal::HUP);
    wait_until("the reload", SOON, || {
        site.metric("waypost_config_reloads_total{result=\"success\"}").is_some_and(|count| count >= 1.0)
    });
    assert_eq!(site.process().exited(), None);
    site.process().signal(Signal::TERM);
    assert_eq!(site.process().wait_exit(), 0, "also before it was ready");
}
