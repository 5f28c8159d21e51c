//! The same answer from the wire, from `explain`, from the files, and from the journal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use crate::harness::*;

/// Clients all over the world and in special places.
fn clients() -> Vec<Ecs> {
    let spread = (0..26_u32).map(|number| {
        let addr = Ipv4Addr::from(number.wrapping_mul(0x0a3f_51c7).wrapping_add(0x0102_0304));
        let len = 8 + (number % 25) as u8;
        Ecs(Ipv4Addr::from(addr.to_bits() & (u32::MAX << (32 - u32::from(len)))).into(), len)
    });
    spread.chain([CN, EU, US, Ecs::v4(127, 1, 2, 0, 24), Ecs::v4(10, 0, 0, 0, 8)]).collect()
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
        if !is_local(client.0) {
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

/// Whether a subnet says nothing about a place, so that the sender is located instead: loopback (but for this site's own
/// networks) and private blocks.
fn is_local(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => {
            addr.is_private() || addr.is_link_local() || matches!(addr.octets(), [100, 64..=127, ..])
        }
        IpAddr::V6(addr) => {
            addr.is_loopback() || matches!(addr.segments()[0], 0xfc00..=0xfdff | 0xfe80..=0xfebf)
        }
    }
}

/// Subnets of both families and every length, half of them where addresses are handed out; always the same ones.
fn many_clients(count: u64) -> Vec<Ecs> {
    let mix = |number: u64| {
        let x = number.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    let client = |number: u64| {
        let (one, other) = (mix(number), mix(number ^ 0xffff_0000));
        let len = (other >> 57) as u8;
        if number.is_multiple_of(2) {
            let len = 1 + len % 32;
            return Ecs(Ipv4Addr::from_bits((one >> 32) as u32 & (u32::MAX << (32 - len))).into(), len);
        }
        let top = [0x2001_0200_u128, 0x2400_0000, 0x2600_0000, 0x2a00_0000][(other & 3) as usize] << 96;
        let bits = top | u128::from(one) << 40 | u128::from(other);
        Ecs(Ipv6Addr::from_bits(bits & (u128::MAX << (127 - len))).into(), len + 1)
    };
    (0..count).map(client).filter(|client| !is_local(client.0) && !client.0.is_loopback()).collect()
}

#[test]
fn the_api_explains_ten_thousand_clients_as_the_wire_answers_them() {
    let site = Site::probed(QUICK).started();
    site.run(&["drain", "us", "--reason", "agreement"]).done();
    site.endpoints[0].behave(Behave::Badly);
    site.wait_answer(CN, &CN_A[1..], SOON);
    let explain = |client: &str, rtype: &str| -> Value {
        let path = format!("/api/v1/explain?name={WWW}&type={rtype}&client={client}");
        let (status, body) = http_get(site.ip, &path).unwrap();
        assert_eq!(status, 200, "{client}: {body}");
        serde_json::from_str(&body).unwrap()
    };
    let clients = many_clients(10_000);
    assert!(clients.len() > 9_500, "{}", clients.len());
    for client in clients {
        let answer = site.ask(client);
        let told = explain(&client.to_string(), "A");
        assert_eq!(sorted(&told["answers"]), answer.addresses(), "{client}");
        assert_eq!(told["ttl"].as_u64(), Some(answer.ttl().into()), "{client}");
        assert_eq!(told["located"]["scope"].as_u64(), answer.scope().map(u64::from), "{client}");
    }
    // By source address, over this site's networks.
    for region in 1..=3_u8 {
        let source = Ipv4Addr::new(127, region, 0, 9);
        let answer = exchange_from(source, site.ip, &query_bytes(WWW, 1, None)).unwrap();
        let told = explain(&source.to_string(), "A");
        assert_eq!((&told["source"], &told["located"]["by"]), (&"address".into(), &"network".into()));
        assert_eq!(sorted(&told["answers"]), answer.addresses(), "{source}");
    }
}

fn sorted(answers: &Value) -> Vec<String> {
    let mut addresses: Vec<IpAddr> = answers
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
