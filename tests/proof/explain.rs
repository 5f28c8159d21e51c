//! `explain` says what the wire says.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hickory_proto::rr::RecordType;
use waypost::config::admin::{AdminFile, Entry, Forced};
use waypost::control::explain::{CannotExplain, Client, Explanation, Question, explain};
use waypost::control::model::{Load, Model, Remembered};
use waypost::control::publish::Press;
use waypost::control::{Now, Snapshot};
use waypost::dns::Worker;
use waypost::health::Level;
use waypost::region::geo::{Network, Rules, Subnet};
use waypost::region::{Chosen, HealthTable, RegionId, Standing, decide};

use crate::day::damping;
use crate::world::{Dice, Wire, ZONE, after_ms, ask, client, parts, plan, rules, services, subnet};

/// A server in some state, with the counters that its answers add to.
struct State {
    model: Model,
    press: Press,
    snapshot: Snapshot,
    worker: Worker,
}

/// Any state: every level of every check, held places, drains and forces with and without an end.
fn any_state(dice: &mut Dice, now: Now) -> State {
    let order = dice.pick(&[["cn", "eu", "us"], ["us", "cn", "eu"]]).to_owned();
    let plan = plan(&order, &["cn", "eu", "us"], &services());
    // From all well to all lost.
    let health = dice.below(101);
    let level = |dice: &mut Dice| match dice.percent(health) {
        true => Some(Level::Up),
        false => *dice.pick(&[None, Some(Level::Degraded), Some(Level::Down), Some(Level::Down)]),
    };
    let levels = plan.checks.iter().map(|_| level(dice)).collect();
    let places =
        (0..plan.services.len() as u32).flat_map(|service| plan.region_ids().map(move |r| (service, r)));
    let held = places.filter(|_| dice.percent(10)).collect();
    let mut orders = AdminFile::default();
    for region in plan.region_ids() {
        let entry = |dice: &mut Dice| Entry {
            line: 1,
            region,
            service: None,
            from_ms: None,
            until_ms: dice.percent(50).then(|| now.wall_ms + 1_000 * dice.below(60) as i64 + 1),
            reason: "test".into(),
        };
        match dice.below(8) {
            0 => orders.drains.push(entry(dice)),
            1 => orders.forces.push((entry(dice), Forced::Up)),
            2 => orders.forces.push((entry(dice), Forced::Down)),
            _ => {}
        }
    }
    let load = Load { damping: vec![damping(); plan.checks.len()], plan, orders };
    let model = Model::new(load, &Remembered { levels, held, serial: 0 }, now);
    let ecs = !dice.percent(10);
    let dns = parts(model.plan(), &any_rules(dice, &rules(model.plan(), 0)), ecs);
    let press = Press::new(Some(dns), &model, true, now);
    let snapshot = press.snapshot(model.serial());
    State { model, press, snapshot, worker: Worker::new() }
}

/// Some networks more, also inside local and embedding space.
fn any_rules(dice: &mut Dice, rules: &Rules) -> Rules {
    let mut rules = rules.clone();
    for _ in 0..dice.below(6) {
        let (addr, max) = any_address(dice);
        let network = Network::around(addr, 4 + dice.below(max - 4) as u8).unwrap();
        rules.networks.push((network, RegionId::new(dice.below(3)).unwrap()));
    }
    rules
}

/// An address of any kind, with the length of its family.
fn any_address(dice: &mut Dice) -> (IpAddr, usize) {
    let v4 = match dice.below(6) {
        0 => Ipv4Addr::new(10, dice.below(256) as u8, 1, 2),
        1 => Ipv4Addr::new(127, 0, 0, 1),
        2 => Ipv4Addr::new(100, 64, 3, 4),
        3 => Ipv4Addr::from_bits(dice.roll() as u32),
        _ => Ipv4Addr::new(19 + dice.below(6) as u8, dice.below(256) as u8, dice.below(256) as u8, 7),
    };
    let inside = u128::from(v4.to_bits());
    let low = u128::from(dice.roll());
    let v6 = match dice.below(10) {
        0 => 0xffff_0000_0000 | inside,
        1 => 0x0064_ff9b << 96 | inside,
        2 => 0x2002 << 112 | inside << 80 | low,
        3 => 0x2001_0000 << 96 | low << 32 | (!inside & 0xffff_ffff),
        4 => 0xfd00 << 112 | low,
        5 => 0xfe80 << 112 | low,
        6 => 1,
        7 => u128::from(dice.roll()) << 64 | low,
        _ => u128::from(0x2a00 + dice.below(4) as u16) << 112 | low,
    };
    if dice.percent(50) { (v4.into(), 32) } else { (Ipv6Addr::from_bits(v6).into(), 128) }
}

fn any_client(dice: &mut Dice) -> Client {
    let (addr, max) = any_address(dice);
    match dice.below(5) {
        0 => Client::Address(addr),
        1 => Client::Subnet(Subnet { addr, source: max as u8 }),
        _ => Client::Subnet(subnet(addr, 1 + dice.below(max) as u8)),
    }
}

fn any_question(dice: &mut Dice) -> Question {
    let names = [
        "www",
        "all",
        "strict",
        "two",
        "cdn",
        "calm",
        "WWW",
        "to-www",
        "to-cdn",
        "far",
        "to-strict",
        "www.below",
        "nothing.below",
        "static",
        "out",
    ];
    let name = format!("{}.{ZONE}", dice.pick(&names));
    let rtype = if dice.percent(85) { *dice.pick(&[1, 28]) } else { *dice.pick(&[5, 16, 15, 255, 65]) };
    Question { name, rtype, client: any_client(dice), down: Vec::new() }
}

/// What the wire says to this client. A resolver that sends a subnet may be anywhere, unless it decides itself.
fn ask_as(state: &mut State, dice: &mut Dice, question: &Question, now: Now) -> Wire {
    let view = state.snapshot.view.as_ref().unwrap();
    let (peer, subnet) = match question.client {
        Client::Address(address) => (address, None),
        Client::Subnet(subnet) => {
            let decides = view.settings.ecs && !view.geo.describe(Some(subnet), subnet.addr).by_sender;
            let peer = if decides { any_address(dice).0 } else { subnet.addr };
            (peer, Some(subnet))
        }
    };
    ask(view, &mut state.worker, now.mono, (&question.name, question.rtype), peer, subnet)
}

/// Service, home, answer and reason of the one decision counted since `before`, if there was one.
fn counted(state: &State, before: &[u64]) -> Option<[String; 4]> {
    let counters = state.worker.shared();
    let rose = state
        .press
        .slots()
        .labels()
        .filter(|label| counters.decisions(label.slot) > before[label.slot as usize]);
    let mut rose: Vec<[String; 4]> =
        rose.map(|l| [l.service, l.home, l.answer, l.reason].map(str::to_owned)).collect();
    assert!(rose.len() <= 1, "{rose:?}");
    rose.pop()
}

fn counts(state: &State) -> Vec<u64> {
    let counters = state.worker.shared();
    (0..=state.press.slots().labels().count() as u32).map(|slot| counters.decisions(slot)).collect()
}

#[test]
fn ten_thousand_clients_are_explained_as_they_are_served() {
    let mut dice = Dice(6);
    let (mut reasons, mut by, mut tailored) = (BTreeSet::new(), BTreeSet::new(), 0);
    for round in 0..250 {
        let now = after_ms(dice.roll() % 100_000);
        let mut state = any_state(&mut dice, now);
        for _ in 0..42 {
            // Answers are asked for later than they were made.
            let later =
                Now { mono: now.mono.after(std::time::Duration::from_millis(dice.roll() % 5_000)), ..now };
            let question = any_question(&mut dice);
            let before = counts(&state);
            let wire = ask_as(&mut state, &mut dice, &question, later);
            let explained = explain(&state.snapshot, &question, later);
            let decision = counted(&state, &before);
            let said = || format!("round {round}: {question:?}\n{explained:?}\n{wire:?}\n{decision:?}");
            let Ok(explanation) = &explained else { panic!("{}", said()) };
            agree(explanation, &wire, decision.as_ref(), &said);
            let decides = state.snapshot.view.as_ref().is_some_and(|view| view.settings.ecs);
            let by_subnet = decides && matches!(question.client, Client::Subnet(_));
            assert_eq!(explanation.source, if by_subnet { "ecs" } else { "address" }, "{}", said());
            if let Some(decision) = &explanation.decision {
                tailored += 1;
                reasons.insert(decision.reason);
                by.insert(explanation.located.as_ref().unwrap().by);
            }
        }
    }
    assert_eq!(reasons, BTreeSet::from(["degraded", "fail_open", "fallback", "home", "unmapped"]));
    assert_eq!(by, BTreeSet::from(["network", "unmapped"]));
    assert!(tailored > 6_000, "{tailored} decisions");
}

/// Holds an explanation against the wire: data in order, TTL, code, scope; and against what the answer was counted as.
fn agree(explanation: &Explanation, wire: &Wire, decision: Option<&[String; 4]>, said: &impl Fn() -> String) {
    assert_eq!(explanation.rcode, wire.rcode, "{}", said());
    assert_eq!(explanation.ttl, wire.ttl(), "{}", said());
    assert_eq!(explanation.answers.len(), wire.answers.len(), "{}", said());
    for (line, (rtype, data, _)) in explanation.answers.iter().zip(&wire.answers) {
        // The other implementation prints other types in another way.
        if matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::CNAME | RecordType::MX) {
            let last =
                |text: &str| text.rsplit(' ').next().unwrap().trim_end_matches('.').to_ascii_lowercase();
            assert_eq!(last(line), last(data), "{}", said());
        }
    }
    let explained =
        explanation.decision.as_ref().zip(explanation.located.as_ref()).map(|(decided, located)| {
            let words = [decided.service.as_str(), &located.home, &decided.region, decided.reason];
            words.map(str::to_owned)
        });
    assert_eq!(explained.as_ref(), decision, "{}", said());
    if let Some(located) = &explanation.located {
        assert_eq!(located.scope, wire.scope().unwrap_or(0), "{}", said());
        let chosen = explanation.decision.as_ref().unwrap();
        let last = chosen.trace.iter().rfind(|step| step.verdict == "chosen");
        let named = last.is_none_or(|step| step.region == chosen.region || chosen.region == "all");
        assert!(named && last.is_some() == (chosen.region != "none"), "{}", said());
    } else {
        assert_eq!(wire.scope().unwrap_or(0), 0, "{}", said());
    }
}

#[test]
fn with_regions_supposed_down_it_says_what_route_says() {
    let mut dice = Dice(7);
    for _ in 0..1_000 {
        let now = after_ms(0);
        let state = any_state(&mut dice, now);
        let plan = state.model.plan().clone();
        let index = dice.below(plan.services.len());
        let service = &plan.services[index];
        let down: Vec<RegionId> = plan.region_ids().filter(|_| dice.percent(50)).collect();
        let place = dice.below(4);
        let rtype = if service.name.starts_with("two") { 28 } else { 1 };
        let client = Client::Address(client(place, dice.percent(50)));
        let question = Question { name: service.name.clone(), rtype, client, down: down.clone() };
        let explanation = explain(&state.snapshot, &question, now).unwrap();

        let standings: Vec<Standing> = plan
            .region_ids()
            .map(|region| {
                let standing = state.model.states()[index].table.standing(region, region);
                let out =
                    matches!(standing, Standing::ForcedDown | Standing::Drained | Standing::NoEndpoints);
                if down.contains(&region) && !out { Standing::Failed } else { standing }
            })
            .collect();
        let home = plan.region(&explanation.located.as_ref().unwrap().home).unwrap();
        let decided = decide(home, &HealthTable::uniform(&standings), service.all_down);
        let told = explanation.decision.unwrap();
        let region = match decided.chosen {
            Chosen::One(region) => plan.region_name(region),
            Chosen::Several(_) => "all",
            Chosen::Nobody => "none",
        };
        assert_eq!(told.region, region);
        let addresses: Vec<IpAddr> =
            explanation.answers.iter().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
        let of_regions: Vec<IpAddr> = decided
            .regions()
            .iter()
            .filter_map(|region| service.regions[region.index()].as_ref())
            .flat_map(|listed| listed.endpoints.iter().map(|endpoint| endpoint.address))
            .collect();
        assert!(addresses.iter().all(|address| of_regions.contains(address)), "{addresses:?} {of_regions:?}");
    }
}

#[test]
fn a_name_that_is_not_served_is_told_as_such() {
    let state = any_state(&mut Dice(1), after_ms(0));
    let question = |name: &str| Question {
        name: name.into(),
        rtype: 1,
        client: Client::Address(client(0, true)),
        down: Vec::new(),
    };
    let told = |name: &str| explain(&state.snapshot, &question(name), after_ms(0)).unwrap_err();
    assert_eq!(told("www.example.org."), CannotExplain::NotServed("www.example.org".into()));
    let no_name = told("no.gslb.example.com");
    assert_eq!(
        no_name.to_string(),
        "`no.gslb.example.com` does not exist in the zone gslb.example.com: the answer is NXDOMAIN"
    );
    assert_eq!(told("a..b"), CannotExplain::BadName("a..b".into()));
    assert_eq!(told(&"a".repeat(64)), CannotExplain::BadName("a".repeat(64)));
    let nothing = Snapshot::nothing(1);
    assert_eq!(explain(&nothing, &question("x"), after_ms(0)), Err(CannotExplain::NoDns));
}

#[test]
fn the_zones_own_data_is_not_explained_by_any_decision() {
    let state = any_state(&mut Dice(2), after_ms(0));
    for (name, rtype) in [("static", 1), ("www", 15), ("www", 255), ("to-www", 5), ("", 6), ("www", 65)] {
        let name = format!("{name}.{ZONE}").trim_start_matches('.').to_owned();
        let client = Client::Subnet(subnet(client(1, true), 24));
        let question = Question { name: name.clone(), rtype, client, down: Vec::new() };
        let explanation = explain(&state.snapshot, &question, after_ms(0)).unwrap();
        assert_eq!((explanation.decision, explanation.ttl_because), (None, None), "{name} {rtype}");
    }
}
