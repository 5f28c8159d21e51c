//! `replay` recomputes what was served, exactly, and says who would have moved.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use waypost::control::inputs::Change;
use waypost::control::journal::{Homes, Line, Served, read_lines};
use waypost::control::plan::Plan;
use waypost::control::replay::{Replay, Report, WhatIf};
use waypost::region::AllDown;

use crate::day::{Happening, OnWire, Script, Server, day, first_plan};
use crate::world::{self, Dice, REGIONS, after_ms, plan};

const CHANGES: usize = 1_000;

fn replay(journal: &str, what_if: WhatIf) -> Report {
    let mut replay = Replay::new(what_if);
    read_lines(journal.as_bytes()).for_each(|line| replay.line(&line.unwrap()));
    replay.report()
}

#[test]
fn a_day_of_a_thousand_changes_is_served_as_it_is_recorded_and_recomputed_as_it_was_served() {
    let mut recorded: BTreeMap<(String, String), Served> = BTreeMap::new();
    let (mut served, mut reasons) = (0, BTreeSet::new());
    let (script, journal, server) = day(10, CHANGES, true, |server, now, line| {
        note(&mut recorded, line);
        // Every change, and some moments without one.
        if line.is_none() && now.mono.0 % 101 != 0 {
            return;
        }
        let plan = server.model.plan().clone();
        let wire = server.served(now);
        assert_eq!(wire.len(), plan.services.len() * REGIONS.len());
        for ((service, home), on_wire) in wire {
            let recorded = &recorded[&(service.clone(), home.clone())];
            let min_s = plan.services[plan.service(&service).unwrap()].ttl_min_s;
            let expected = OnWire::of_record(recorded, min_s, now.wall_ms);
            assert_eq!(on_wire, expected, "{service} for {home} at {now:?}");
            reasons.insert(recorded.reason.clone());
            served += 1;
        }
    });
    assert!(
        reasons.iter().eq(["degraded", "fail_open", "fallback", "home"]),
        "all kinds occurred: {reasons:?}"
    );
    let lines: Vec<Line> = read_lines(journal.as_bytes()).map(Result::unwrap).collect();
    let kinds: BTreeSet<String> = lines.iter().map(|line| line.cause.clone()).collect();
    assert!(
        kinds.iter().eq(["checkpoint", "geo", "load", "order", "probe", "release", "start", "time"]),
        "{kinds:?}"
    );
    let changes = |wanted: fn(&Change) -> bool| {
        lines.iter().flat_map(|line| &line.changes).filter(|c| wanted(c)).count()
    };
    let scheduled = recorded_until(&lines);
    let (held, put_off, clock) = (
        changes(|change| matches!(change, Change::Held { .. })),
        changes(|change| matches!(change, Change::PutOff { .. })),
        changes(|change| matches!(change, Change::Clock)),
    );
    assert!(
        held > 10 && put_off > 0 && clock > 10 && scheduled > 100,
        "{held} {put_off} {clock} {scheduled}"
    );

    let report = replay(&journal, WhatIf::default());
    assert_eq!((&report.unusable[..], &report.differences[..]), (&[][..], &[][..]));
    assert!(
        report.lines > CHANGES as u64 && served > 10 * CHANGES,
        "{} lines, {served} answers",
        report.lines
    );
    assert_eq!(report, replay(&journal, WhatIf::default()), "the same journal gives the same digest");

    let (again, same_journal, same_server) = day(10, CHANGES, true, |_, _, _| {});
    assert_eq!((again.len(), same_server.model.digest()), (script.len(), server.model.digest()));
    assert_eq!(same_journal, journal, "the same events write the same journal");
}

/// Decisions that are not to be kept beyond a moment.
fn recorded_until(lines: &[Line]) -> usize {
    let served = lines.iter().flat_map(|line| &line.touched).flat_map(|touched| touched.after.values());
    served.filter(|served| served.until_ms.is_some()).count()
}

/// What the journal, read alone, says is served.
fn note(recorded: &mut BTreeMap<(String, String), Served>, line: Option<&Line>) {
    let Some(line) = line else { return };
    let line: Line = serde_json::from_str(&serde_json::to_string(line).unwrap()).unwrap();
    assert_eq!(line.more, 0);
    for touched in line.touched {
        for (home, served) in touched.after {
            recorded.insert((touched.service.clone(), home), served);
        }
    }
}

/// One difference as the report has it: service, home, from, until, and both answers.
type Moved = (String, String, String, Option<String>, Option<Served>, Option<Served>);

fn moved(report: &Report) -> Vec<Moved> {
    let mut moved: Vec<Moved> = report
        .differences
        .iter()
        .map(|d| {
            let (at, until) = (d.at.clone(), d.until.clone());
            (d.service.clone(), d.home.clone(), at, until, d.recorded.clone(), d.replayed.clone())
        })
        .collect();
    moved.sort_by(|a, b| (&a.2, &a.0, &a.1).cmp(&(&b.2, &b.0, &b.1)));
    moved
}

/// A difference that has begun: both answers, and since when.
type Open = (Option<Served>, Option<Served>, String);

/// Two servers live through the same day, one of them under other conditions: who gets what else, and when.
fn live_twice(script: &Script, extra_drain: Option<&'static str>, instead: Option<&Plan>) -> Vec<Moved> {
    let start = after_ms(0);
    let mut one = Server::start(first_plan(), None, None, start);
    let mut other = Server::start(first_plan(), extra_drain, instead.cloned(), start);
    let mut open: BTreeMap<(String, String), Open> = BTreeMap::new();
    let mut moved = Vec::new();
    let mut compare = |at: String, one: &Server, other: &Server| {
        let (ones, others) = (flat(one.decided()), flat(other.decided()));
        let keys: BTreeSet<_> = ones.keys().chain(others.keys()).chain(open.keys()).cloned().collect();
        for key in keys {
            let (a, b) = (ones.get(&key), others.get(&key));
            if let Some((was_a, was_b, from)) = open.get(&key).cloned() {
                if data(was_a.as_ref()) == data(a) && data(was_b.as_ref()) == data(b) {
                    continue;
                }
                moved.push((key.0.clone(), key.1.clone(), from, Some(at.clone()), was_a, was_b));
                open.remove(&key);
            }
            if data(a) != data(b) {
                open.insert(key, (a.cloned(), b.cloned(), at.clone()));
            }
        }
    };
    compare(Line::whole(&one.model, "start", String::new()).at, &one, &other);
    for (now, happening) in script {
        let line = one.live(*now, happening);
        let others = other.live(*now, happening);
        let moves = [&line, &others].into_iter().flatten().any(|line| !line.touched.is_empty());
        if let Some(line) = line.filter(|_| moves) {
            compare(line.at, &one, &other);
        }
    }
    let rest = open.into_iter().map(|((service, home), (a, b, from))| (service, home, from, None, a, b));
    moved.extend(rest.collect::<Vec<_>>());
    moved.sort_by(|a, b| (&a.2, &a.0, &a.1).cmp(&(&b.2, &b.0, &b.1)));
    moved
}

/// Where users are sent: what they get beside the TTL and the reason.
fn data(served: Option<&Served>) -> Option<(&String, &Vec<IpAddr>, &Option<String>)> {
    served.map(|served| (&served.answer, &served.addresses, &served.cname))
}

fn flat(decided: BTreeMap<String, Homes>) -> BTreeMap<(String, String), Served> {
    let each = decided.into_iter().flat_map(|(service, homes)| {
        homes.into_iter().map(move |(home, served)| ((service.clone(), home), served))
    });
    each.collect()
}

#[test]
fn with_a_drain_added_it_names_exactly_who_moves_and_from_when_to_when() {
    let (script, journal, _) = day(11, CHANGES, true, |_, _, _| {});
    for region in REGIONS {
        let report = replay(&journal, WhatIf { plan: None, drains: vec![region.to_owned()] });
        assert_eq!(report.unusable, Vec::<String>::new());
        let expected = live_twice(&script, Some(region), None);
        assert!(expected.len() > 50, "{} moves", expected.len());
        assert_eq!(moved(&report), expected);
    }
}

#[test]
fn under_another_configuration_it_names_exactly_who_moves() {
    let (script, journal, _) = day(12, CHANGES, false, |_, _, _| {});
    assert!(!script.iter().any(|(_, happening)| matches!(happening, Happening::Loaded(_))));
    let mut services = world::services();
    for service in &mut services {
        service.all_down = AllDown::Home;
    }
    // Another order of the regions gives every region and every check another position. (What decides whether a
    // region fails stays as it is: waiting for releases is taken from the record.)
    let instead = plan(&["us", "eu", "cn"], &["eu"], &services);
    let report = replay(&journal, WhatIf { plan: Some(instead.clone()), drains: Vec::new() });
    assert_eq!(report.unusable, Vec::<String>::new());
    let expected = live_twice(&script, None, Some(&instead));
    assert!(expected.len() > 50, "{} moves", expected.len());
    assert_eq!(moved(&report), expected);
}

#[test]
fn a_region_that_no_plan_has_moves_nobody() {
    let (_, journal, _) = day(13, 50, false, |_, _, _| {});
    let report = replay(&journal, WhatIf { plan: None, drains: vec!["mars".into()] });
    assert_eq!((report.differences.len(), report.unusable.len()), (0, 0));
}

#[test]
fn a_journal_that_begins_without_a_plan_is_unusable_up_to_one() {
    let (_, journal, _) = day(14, 60, true, |_, _, _| {});
    let whole = |line: &&str| serde_json::from_str::<Line>(line).unwrap().is_whole();
    let rest: String = journal.lines().skip_while(whole).map(|line| format!("{line}\n")).collect();
    let report = replay(&rest, WhatIf::default());
    assert!(report.unusable[0].ends_with("no plan has been recorded before it"), "{:?}", report.unusable);
}

#[test]
fn any_alteration_of_any_line_is_seen() {
    let (_, journal, _) = day(15, 30, true, |_, _, _| {});
    let lines: Vec<&str> = journal.lines().collect();
    let mut dice = Dice(15);
    for round in 0..150 {
        let at = dice.below(lines.len());
        let mut value: serde_json::Value = serde_json::from_str(lines[at]).unwrap();
        if !alter(&mut value, &mut dice) {
            continue;
        }
        let altered = value.to_string();
        let text = lines.iter().enumerate().map(|(n, line)| if n == at { &altered } else { *line });
        let text: String = text.map(|line| format!("{line}\n")).collect();
        let mut replay = Replay::new(WhatIf::default());
        let read: Vec<Line> = read_lines(text.as_bytes()).map_while(Result::ok).collect();
        read.iter().for_each(|line| replay.line(line));
        let report = replay.report();
        let seen = read.len() < lines.len() || !report.unusable.is_empty() || !report.differences.is_empty();
        assert!(seen, "round {round}, line {at}:\n{}\n{altered}", lines[at]);
    }
}

/// Changes one number, word or list somewhere in it; whether there was any on the way taken.
fn alter(value: &mut serde_json::Value, dice: &mut Dice) -> bool {
    use serde_json::Value;
    match value {
        Value::Null => false,
        Value::Bool(flag) => {
            *flag = !*flag;
            true
        }
        Value::Number(number) => {
            *value = match number.as_i64() {
                Some(number) => (number + 1).into(),
                None => (number.as_f64().unwrap() / 2.0).into(),
            };
            true
        }
        Value::String(text) => {
            text.push('x');
            true
        }
        Value::Array(list) if list.is_empty() => false,
        Value::Array(list) => {
            let at = dice.below(list.len());
            if dice.percent(30) {
                list.remove(at);
                return true;
            }
            alter(&mut list[at], dice)
        }
        Value::Object(fields) if fields.is_empty() => false,
        Value::Object(fields) => {
            let at = dice.below(fields.len());
            alter(fields.iter_mut().nth(at).unwrap().1, dice)
        }
    }
}

#[test]
fn missing_swapped_and_repeated_lines_are_seen() {
    let (_, journal, _) = day(16, 12, false, |_, _, _| {});
    let lines: Vec<&str> = journal.lines().collect();
    let unusable = |lines: &[&str]| replay(&(lines.join("\n") + "\n"), WhatIf::default()).unusable.len();
    assert_eq!(unusable(&lines), 0);
    for at in 1..lines.len() - 1 {
        // Lines that change no state: their order among themselves says nothing.
        let idle = |at: usize| {
            ["geo", "checkpoint"].iter().any(|c| lines[at].contains(&format!("\"cause\":\"{c}\"")))
        };
        if idle(at) || idle(at + 1) {
            continue;
        }
        let mut without = lines.clone();
        without.remove(at);
        assert!(unusable(&without) > 0, "without line {at}");
        let mut swapped = lines.clone();
        swapped.swap(at, at + 1);
        assert!(unusable(&swapped) > 0, "lines {at} and {} swapped", at + 1);
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        assert!(unusable(&twice) > 0, "line {at} twice");
    }
}
