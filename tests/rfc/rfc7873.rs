//! RFC 7873, Domain Name System (DNS) Cookies: a running server, its own clock and its own secret.

use std::fs;

use crate::harness::*;
use crate::options::*;

fn bad_cookie() -> Vec<u8> {
    [&CLIENT[..], &[1, 0, 0, 0, 0, 0, 0, 0], &[0xaa; 8]].concat()
}

#[test]
fn s5_2_1_without_a_cookie_option_there_is_none_in_the_answer() {
    let site = Site::new().started();
    let reply = udp(site.ip, &with_options(&[]));
    assert_eq!((reply.rcode(), reply.cookie(), reply.has_addresses()), (0, None, true));
}

#[test]
fn s5_2_2_a_malformed_cookie_is_formerr_over_both_transports() {
    let site = Site::new().started();
    for len in [0, 7, 9, 15, 41] {
        for ask in [udp, tcp] {
            let reply = ask(site.ip, &with_options(&[(COOKIE, &vec![7; len])]));
            assert_eq!((reply.rcode(), reply.cookie()), (1, None), "{len}");
        }
    }
}

#[test]
fn s5_2_3_to_5_2_5_every_client_gets_its_answer_and_a_cookie_that_is_good() {
    let site = Site::new().started();
    for ask in [udp, tcp] {
        let full = ask(site.ip, &with_options(&[(COOKIE, &CLIENT)])).cookie().unwrap();
        assert_eq!((full.len(), &full[..8], &full[8..12]), (24, &CLIENT[..], &[1, 0, 0, 0][..]));
        let bad = ask(site.ip, &with_options(&[(COOKIE, &bad_cookie())]));
        assert_eq!((bad.rcode(), bad.has_addresses()), (0, true));
        for good in [full, bad.cookie().unwrap()] {
            let reply = ask(site.ip, &with_options(&[(COOKIE, &good)]));
            assert_eq!((reply.rcode(), reply.has_addresses(), reply.cookie()), (0, true, Some(good)));
        }
    }
    assert_eq!(site.metric("waypost_dns_cookies_total{result=\"client_only\"}"), Some(2.0));
    assert_eq!(site.metric("waypost_dns_cookies_total{result=\"invalid\"}"), Some(2.0));
    assert_eq!(site.metric("waypost_dns_cookies_total{result=\"valid\"}"), Some(4.0));
}

#[test]
fn s5_2_of_several_cookie_options_the_first_counts() {
    let site = Site::new().started();
    let full = fetch_cookie(site.ip);
    let reply = udp(site.ip, &with_options(&[(COOKIE, &full), (COOKIE, &[9; 5])]));
    assert_eq!((reply.rcode(), reply.cookie()), (0, Some(full)));
}

#[test]
fn s5_4_a_query_without_question_fetches_or_confirms_a_cookie() {
    let site = Site::new().started();
    let fetched = udp(site.ip, &questionless(&[(COOKIE, &CLIENT)]));
    assert_eq!((fetched.rcode(), fetched.0.queries.len(), fetched.has_addresses()), (0, 0, false));
    let full = fetched.cookie().unwrap();
    let confirmed = udp(site.ip, &questionless(&[(COOKIE, &full)]));
    assert_eq!((confirmed.rcode(), confirmed.cookie()), (0, Some(full)));
    let refuted = udp(site.ip, &questionless(&[(COOKIE, &bad_cookie())]));
    assert_eq!((refuted.rcode(), refuted.cookie().unwrap().len()), (23, 24));
    assert_eq!(site.metric("waypost_dns_responses_total{proto=\"udp\",rcode=\"badcookie\"}"), Some(1.0));
    assert_eq!(udp(site.ip, &questionless(&[])).rcode(), 1);
}

#[test]
fn s4_a_server_with_cookies_off_ignores_the_option() {
    let mut site = site_with("cookies = { enabled = false }");
    site.start();
    let reply = udp(site.ip, &with_options(&[(COOKIE, &CLIENT)]));
    assert_eq!((reply.rcode(), reply.has_addresses(), reply.cookie()), (0, true, None));
    assert!(!site.path("state/cookie.key").exists(), "and makes no secret");
}

#[test]
fn s7_1_the_secret_is_drawn_once_outlives_a_restart_and_is_never_told() {
    let mut site = Site::new().started();
    let full = fetch_cookie(site.ip);
    let secret = site.read("state/cookie.key");
    assert_eq!(secret.trim_end().len(), 32);
    let told = [site.log(), site.status().to_string(), site.run(&["check"]).done().out];
    site.stop();
    let files = fs::read_dir(site.path("state")).unwrap().map(|entry| entry.unwrap().path());
    let others = files.filter(|path| !path.ends_with("cookie.key"));
    let others = others.map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
    for text in others.chain(told) {
        assert!(!text.contains(secret.trim_end()));
    }
    site.start();
    assert_eq!(udp(site.ip, &with_options(&[(COOKIE, &full)])).cookie(), Some(full));
    assert_eq!(site.metric("waypost_dns_cookies_total{result=\"valid\"}"), Some(1.0));
}

#[test]
fn s7_1_a_malformed_key_ends_the_start_and_refuses_a_reload_which_keeps_the_old_one() {
    let mut site = Site::new().started();
    let (full, good) = (fetch_cookie(site.ip), site.read("state/cookie.key"));
    site.write("state/cookie.key", &format!("{good}not hexadecimal\n"));
    for verb in ["check", "reload"] {
        let refused = site.run(&[verb]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("cookie.key:2:1: error: this is no hexadecimal digit"), "{refused:?}");
        assert!(!refused.err.contains(good.trim_end()), "{refused:?}");
    }
    assert_eq!(udp(site.ip, &with_options(&[(COOKIE, &full)])).cookie(), Some(full));
    site.stop();
    site.spawn();
    assert_eq!(site.process().wait_exit(), 78);
    site.process = None;
    assert!(site.log().contains("cookie.key:2:1: error"), "{}", site.log());
}

#[test]
fn s9_the_size_of_unverified_udp_answers_can_be_bounded() {
    let mut site = site_with("cookies = { unverified_udp = 512 }");
    let text: String = (0..8).map(|number| format!(" \"{number}{}\"", "x".repeat(99))).collect();
    let zone = site.read("zones/gslb.example.com.zone");
    site.write("zones/gslb.example.com.zone", &format!("{zone}long 60 IN TXT{text}\n"));
    site.start();
    let long = |cookie: &[u8]| {
        let query = query_bytes("long.gslb.example.com", 16, None);
        udp(site.ip, &add_options(query, &[(COOKIE, cookie)]))
    };
    let first = long(&CLIENT);
    assert!(first.0.metadata.truncation && !first.has_addresses());
    let second = long(&first.cookie().unwrap());
    assert!(!second.0.metadata.truncation && second.has_addresses());
}
