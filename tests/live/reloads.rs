//! Everything read again: all of it, or nothing.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::*;

fn longer_ttl(site: &Site) -> String {
    site.read("waypost.toml").replace("ttl = \"30s\"", "ttl = \"77s\"")
}

#[test]
fn a_reload_of_anything_broken_changes_nothing_and_says_where() {
    let mut site = Site::new().started();
    let good = longer_ttl(&site);
    let zone = site.read("zones/gslb.example.com.zone");
    let geo = fs::read(site.path("country.mmdb")).unwrap();
    let broken = [
        ("waypost.toml", good.replace("ttl_min", "ttl_mni").into_bytes(), "waypost.toml:27"),
        ("zones/gslb.example.com.zone", format!("{zone}bad A 1.2.3\n").into_bytes(), ".zone:6:7"),
        ("country.mmdb", truncated(&geo), "country.mmdb"),
    ];
    let mut failures = 0.0;
    for (file, bytes, place) in broken {
        // What is good beside what is broken must not count either.
        site.write("waypost.toml", &good);
        let before = fs::read(site.path(file)).unwrap();
        site.replace(file, &bytes);
        let refused = site.run(&["reload"]);
        assert_eq!(refused.code, 1, "{file}: {refused:?}");
        assert!(refused.err.contains(place), "{file}: {refused:?}");
        failures += 1.0;
        site.process().signal(Signal::HUP);
        failures += 1.0;
        wait_until("the signal's reload refused", SOON, || {
            site.metric("waypost_config_reloads_total{result=\"failure\"}") == Some(failures)
        });
        assert_eq!(site.metric("waypost_config_last_reload_success"), Some(0.0));
        assert!(site.wait_warning("reload").contains("refused"), "{file}");
        assert!(site.log().contains(place), "{file}");
        let answer = site.ask(CN);
        assert_eq!((answer.addresses(), answer.ttl()), (CN_A.map(str::to_owned).to_vec(), 30), "{file}");
        fs::write(site.path(file), before).unwrap();
    }
    site.write("waypost.toml", &good);
    let done = site.run(&["reload"]).done();
    assert!(done.out.contains("in force"), "{done:?}");
    assert_eq!(site.ask(CN).ttl(), 77);
    assert_eq!(site.metric("waypost_config_last_reload_success"), Some(1.0));
    site.wait_no_warning("reload");
    site.wait_no_warning("geo_file");
}

#[test]
fn a_change_in_an_included_file_is_checked_and_reloaded() {
    let site = Site::new();
    let zone = site.read("zones/gslb.example.com.zone");
    site.write("zones/gslb.example.com.zone", &format!("{zone}$INCLUDE hosts.inc\n"));
    site.write("zones/hosts.inc", "$GENERATE 1-3 host$ A 192.0.2.$\n");
    let site = site.started();
    let host = |name: &str| {
        exchange(site.ip, &query_bytes(&format!("{name}.gslb.example.com"), 1, None)).unwrap().addresses()
    };
    assert_eq!(host("host2"), ["192.0.2.2"]);

    site.write("zones/hosts.inc", "host2 A 192.0.2\n");
    for verb in ["check", "reload"] {
        let refused = site.run(&[verb]);
        assert_ne!(refused.code, 0, "{verb}: {refused:?}");
        for place in ["hosts.inc:1:9: error", "included from", "gslb.example.com.zone:6"] {
            assert!(refused.err.contains(place), "{verb}, {place}: {refused:?}");
        }
    }
    assert_eq!(host("host2"), ["192.0.2.2"]);

    site.write("zones/hosts.inc", "host2 A 192.0.2.9\n");
    site.run(&["check"]).done();
    site.run(&["reload"]).done();
    assert_eq!((host("host2"), host("host3")), (vec!["192.0.2.9".to_owned()], Vec::new()));
}

#[test]
fn a_signal_reloads_too_and_a_storm_of_them_ends_with_the_last_configuration() {
    let mut site = Site::new().started();
    site.write("waypost.toml", &longer_ttl(&site));
    for _ in 0..50 {
        site.process().signal(Signal::HUP);
    }
    wait_until("the new TTL", SOON, || site.ask(CN).ttl() == 77);
    site.write("waypost.toml", &site.read("waypost.toml").replace("77s", "88s"));
    site.process().signal(Signal::HUP);
    wait_until("the newest TTL", SOON, || site.ask(CN).ttl() == 88);
    assert_eq!(site.process().exited(), None);
}

#[test]
fn keys_that_need_a_restart_are_named_and_nothing_is_reloaded() {
    let site = Site::new().started();
    let text =
        longer_ttl(&site).replace("udp_workers = 1", "udp_workers = 2").replace("\"live\"", "\"other\"");
    site.write("waypost.toml", &text);
    let refused = site.run(&["reload"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("dns.udp_workers") && refused.err.contains("node"), "{refused:?}");
    assert!(refused.err.contains("restart"), "{refused:?}");
    assert_eq!(site.ask(CN).ttl(), 30);
}

#[test]
fn a_probe_that_is_removed_asks_no_more() {
    let site = Site::probed(QUICK).started();
    wait_until("some requests", SOON, || site.endpoints.iter().all(|endpoint| endpoint.hits() > 3));
    let without = site.config("", "requires = []");
    site.write("waypost.toml", &without);
    site.run(&["reload"]).done();
    let hits: Vec<u64> = site.endpoints.iter().map(Endpoint::hits).collect();
    // Five intervals in which the others would have asked: a second server's probes tell the time.
    let witness = Site::probed(QUICK).started();
    let seen = witness.endpoints[0].hits();
    wait_until("the witness", SOON, || witness.endpoints[0].hits() >= seen + 5);
    assert_eq!(site.endpoints.iter().map(Endpoint::hits).collect::<Vec<_>>(), hits);
    assert_eq!(site.ask(CN).addresses(), CN_A);
}

#[test]
fn a_reload_keeps_what_probes_have_learned() {
    let site = Site::probed(&QUICK.replace("cooldown = \"1s\"", "cooldown = \"1h\"")).started();
    site.endpoints[..2].iter().for_each(|endpoint| endpoint.behave(Behave::Badly));
    site.wait_answer(CN, &EU_A, SOON);
    site.endpoints[..2].iter().for_each(|endpoint| endpoint.behave(Behave::Well));
    site.write("waypost.toml", &longer_ttl(&site));
    site.run(&["reload"]).done();
    assert_eq!(site.ask(CN).addresses(), EU_A, "the cooldown goes on");
    assert_eq!(site.warning("geo_file"), None);
}

#[test]
fn a_reload_reads_the_admin_file_again_when_the_configuration_was_what_was_wrong() {
    let site = Site::new().started();
    site.write(
        "admin.toml",
        "[[drain]]\nregion = \"cn\"\nservice = \"new.gslb.example.com\"\nreason = \"x\"\n",
    );
    site.wait_warning("admin_file");
    let service = "[[services]]\nname = \"new.gslb.example.com\"\nrequires = []\n[services.endpoints]\n\
                   cn = [\"192.0.2.99\"]\neu = [\"198.51.100.99\"]\n";
    site.write("waypost.toml", &format!("{}\n{service}", site.read("waypost.toml")));
    site.run(&["reload"]).done();
    wait_until("the drain", LIVE, || {
        let answer = exchange(site.ip, &query_bytes("new.gslb.example.com", 1, Some(CN))).unwrap();
        answer.addresses() == ["198.51.100.99"]
    });
    site.wait_no_warning("admin_file");
}

#[test]
fn a_configuration_that_lost_most_services_is_taken_only_with_force() {
    let site = Site::new();
    let many: String = (0..4)
        .map(|number| {
            format!(
                "[[services]]\nname = \"s{number}.gslb.example.com\"\nrequires = []\n[services.endpoints]\n\
                 cn = [\"192.0.2.9{number}\"]\n"
            )
        })
        .collect();
    let few = site.read("waypost.toml");
    site.write("waypost.toml", &format!("{few}\n{many}"));
    let site = site.started();
    site.write("waypost.toml", &few);
    let refused = site.run(&["reload"]);
    assert_eq!(refused.code, 7, "{refused:?}");
    site.run(&["reload", "--force"]).done();
}

#[test]
fn orders_go_on_while_a_reload_reads_a_large_geo_file() {
    let site = Site::new().started();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/geoip/dbip-country.mmdb");
    let text = site
        .read("waypost.toml")
        .replace("country.mmdb", shipped)
        .replace("unmapped = \"us\"", "unmapped = \"us\"\nmax_moved = 1.0");
    site.write("waypost.toml", &text);
    std::thread::scope(|scope| {
        let reload = scope.spawn(|| site.run(&["reload"]));
        let clock = waypost::control::Clock::start();
        site.run(&["drain", "cn", "--reason", "meanwhile"]).done();
        assert!(clock.elapsed() < Duration::from_secs(6), "{:?}", clock.elapsed());
        reload.join().unwrap().done();
    });
    assert_eq!(site.status()["regions"]["cn"]["drained"], true);
}
