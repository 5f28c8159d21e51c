//! Endpoints that die and come back, and who answers meanwhile.

use crate::harness::*;

fn steady(site: &Site) {
    wait_until("steady answers", SOON, || {
        let answer = site.ask(CN);
        answer.addresses() == CN_A && answer.ttl() == 30
    });
}

fn behave(endpoints: &[Endpoint], behave: Behave) {
    endpoints.iter().for_each(|endpoint| endpoint.behave(behave));
}

#[test]
fn when_cns_web_dies_its_users_go_to_eu_though_us_is_up_and_return_after_rise_and_cooldown() {
    let site = Site::probed(&QUICK.replace("fall = 2", "fall = 8")).started();
    steady(&site);
    behave(&site.endpoints[..2], Behave::Badly);
    let mut lowered_before = false;
    wait_until("cn's users at eu", SOON, || {
        let answer = site.ask(CN);
        lowered_before |= answer.addresses() == CN_A && answer.ttl() == 5;
        answer.addresses() == EU_A
    });
    assert!(lowered_before, "the TTL is ttl_min from the first bad result on");
    assert_eq!(site.ask(CN).ttl(), 5);
    assert_eq!(site.ask(US).addresses(), US_A, "us is up and keeps its own users alone");
    assert_eq!(site.ask(EU).addresses(), EU_A);
    assert_eq!(site.status()["regions"]["cn"]["state"], "failed");

    let hits = site.endpoints[0].hits();
    behave(&site.endpoints[..2], Behave::Well);
    site.wait_answer(CN, &CN_A, SOON);
    assert!(site.endpoints[0].hits() >= hits + 2, "only after `rise` good results");
    steady(&site);
    assert_eq!(site.metric("waypost_fail_open{service=\"www.gslb.example.com\"}"), Some(0.0));
}

#[test]
fn a_region_does_not_return_before_its_cooldown() {
    let site = Site::probed(&QUICK.replace("cooldown = \"1s\"", "cooldown = \"1h\"")).started();
    steady(&site);
    behave(&site.endpoints[..2], Behave::Badly);
    site.wait_answer(CN, &EU_A, SOON);
    behave(&site.endpoints[..2], Behave::Well);
    let hits = site.endpoints[0].hits();
    wait_until("ten good results", SOON, || site.endpoints[0].hits() >= hits + 10);
    assert_eq!(site.ask(CN).addresses(), EU_A);
}

#[test]
fn one_dead_endpoint_of_two_alone_leaves_the_answer() {
    let site = Site::probed(QUICK).started();
    steady(&site);
    site.endpoints[0].behave(Behave::Badly);
    site.wait_answer(CN, &CN_A[1..], SOON);
    assert_eq!(site.ask(EU).addresses(), EU_A);
    let place = &site.status()["regions"]["cn"]["services"][WWW];
    assert_eq!(place["state"], "degraded");
    assert_eq!(place["endpoints"][0]["state"], "down");
    assert_eq!(place["endpoints"][1]["state"], "up");
    site.endpoints[0].behave(Behave::Well);
    steady(&site);
}

#[test]
fn when_all_are_dead_everybody_gets_home_with_a_metric_and_a_warning() {
    let site = Site::probed(QUICK);
    behave(&site.endpoints, Behave::Badly);
    let mut site = site;
    site.start();
    let warning = site.wait_warning("fail_open");
    assert!(warning.contains(WWW), "{warning}");
    for (client, home) in [(CN, CN_A), (EU, EU_A), (US, US_A)] {
        let answer = site.ask(client);
        assert_eq!((answer.addresses(), answer.ttl()), (home.map(str::to_owned).to_vec(), 5));
    }
    assert_eq!(site.metric("waypost_fail_open{service=\"www.gslb.example.com\"}"), Some(1.0));
    assert!(site.log().contains("no region is able to serve"), "{}", site.log());

    behave(&site.endpoints[2..4], Behave::Well);
    site.wait_answer(CN, &EU_A, SOON);
    site.wait_no_warning("fail_open");
    behave(&site.endpoints, Behave::Well);
    steady(&site);
}

#[test]
fn when_all_die_at_the_same_moment_the_prober_is_suspected_first() {
    let site = Site::probed(QUICK).started();
    steady(&site);
    behave(&site.endpoints, Behave::Badly);
    let warning = site.wait_warning("mass_failure");
    assert!(warning.contains("prober"), "{warning}");
    // The first region that was seen dead has turned; the others' turns wait.
    let status = site.status();
    let failed = ["cn", "eu", "us"].iter().filter(|region| status["regions"][region]["state"] == "failed");
    assert!(failed.count() <= 1, "{status}");
    for client in [CN, EU, US] {
        // A region whose own first bad result is still to come is steady until then.
        wait_until("a short TTL while turns wait", SOON, || site.ask(client).ttl() == 5);
        assert!(!site.ask(client).addresses().is_empty());
    }
    assert_eq!(site.metric("waypost_fail_open{service=\"www.gslb.example.com\"}"), Some(0.0));
    behave(&site.endpoints, Behave::Well);
    site.wait_no_warning("mass_failure");
    steady(&site);
}
