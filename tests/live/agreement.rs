//! The same answer from the wire, from `explain`, from the files, and from the journal.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::harness::*;

/// Clients all over the world and in special places.
fn clients() -> Vec<Ecs> {
    let spread = (0..26_u32).map(|number| {
        let addr = Ipv4Addr::from(number.wrapping_mul(0x0a3f_51c7).wrapping_add(0x0102_0304));
        let len = 8 + (number % 25) as u8;
        Ecs(Ipv4Addr::from(addr.to_bits() & (u32::MAX << (32 - u32::from(len)))), len)
    });
    spread
        .chain([CN, EU, US, Ecs(Ipv4Addr::new(127, 1, 2, 0), 24), Ecs(Ipv4Addr::new(10, 0, 0, 0), 8)])
        .collect()
}

#[test]
fn explain_agrees_with_the_wire_online_and_offline() {
    let mut site = Site::probed(QUICK).started();
    site.run(&["drain", "us", "--reason", "agreement"]).done();
    site.endpoints[0].behave(Behave::Badly);
    site.endpoints[2..4].iter().for_each(|endpoint| endpoint.behave(Behave::Badly));
    site.wait_answer(EU, &CN_A[1..], SOON);
    // Everything as it is from here on.
    let answers: Vec<_> = clients().iter().map(|&client| site.ask(client)).collect();
    let explain = |client: &Ecs, offline: bool| -> Value {
        let client = client.to_string();
        let mut arguments = vec!["explain", WWW, "--client", &client, "--json"];
        arguments.extend(offline.then_some("--offline"));
        site.run(&arguments).done().json()
    };
    let online: Vec<Value> = clients().iter().map(|client| explain(client, false)).collect();
    for ((client, answer), told) in clients().iter().zip(&answers).zip(&online) {
        assert_eq!(sorted(&told["answers"]), answer.addresses(), "{client}");
        // A subnet that is located by the source asks from 127.0.0.1 on the wire.
        if client.0.octets()[0] != 10 {
            assert_eq!(told["located"]["scope"].as_u64(), answer.scope().map(u64::from), "{client}");
        }
    }
    assert_eq!(site.stop(), Some(0));
    for (client, online) in clients().iter().zip(&online) {
        let arguments = ["explain", WWW, "--client", &client.to_string(), "--json", "--offline"];
        let offline = site.run(&arguments).done().json();
        for key in ["located", "decision", "source"] {
            assert_eq!(offline[key], online[key], "{client}: {key}");
        }
        assert_eq!(sorted(&offline["answers"]), sorted(&online["answers"]), "{client}");
    }
}

fn sorted(answers: &Value) -> Vec<String> {
    let mut addresses: Vec<std::net::IpAddr> = answers
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|answer| answer.as_str()?.split_whitespace().last()?.parse().ok())
        .collect();
    addresses.sort();
    addresses.iter().map(ToString::to_string).collect()
}

#[test]
fn the_journal_of_a_live_server_replays_without_a_difference_and_tells_whom_a_drain_would_have_moved() {
    let mut site = Site::probed(QUICK).started();
    site.endpoints[..2].iter().for_each(|endpoint| endpoint.behave(Behave::Badly));
    site.wait_answer(CN, &EU_A, SOON);
    site.run(&["drain", "us", "--for", "1s", "--reason", "short"]).done();
    site.run(&["reload"]).done();
    site.endpoints[..2].iter().for_each(|endpoint| endpoint.behave(Behave::Well));
    site.wait_answer(CN, &CN_A, SOON);
    site.wait_answer(US, &US_A, SOON);
    assert_eq!(site.stop(), Some(0));

    let replayed = site.run(&["replay", "state/journal.jsonl", "--json"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    let report = replayed.json();
    assert!(report["lines"].as_u64().unwrap() > 5, "{report}");
    assert_eq!(report["differences"].as_array().unwrap().len(), 0);

    let drained = site.run(&["replay", "state/journal.jsonl", "--drain", "eu", "--json"]);
    assert_eq!(drained.code, 1, "{drained:?}");
    let report = drained.json();
    let homes: Vec<&str> =
        report["differences"].as_array().unwrap().iter().map(|d| d["home"].as_str().unwrap()).collect();
    assert!(homes.contains(&"eu"), "{homes:?}");
    assert!(homes.contains(&"cn"), "while cn was down its users were at eu: {homes:?}");
}
