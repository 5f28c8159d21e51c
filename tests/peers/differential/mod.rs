//! The same random questions about the same random zones, to Waypost, NSD and Knot.
//!
//! Mostly all three agree. Where one peer is alone with its answer, what it does is on a list, with the RFC section by
//! which the other and Waypost are right ([`deviations`]); where Waypost is, on the short list of accepted differences
//! ([`accepted`]). Anything else fails. Answers are compared whole, but for what says nothing: order, letter case,
//! compression, optional additional records.
//!
//! `WAYPOST_DIFF_SEED` draws other zones and queries than those of every run, `WAYPOST_DIFF_QUERIES` more or fewer of the
//! latter; into the folder `WAYPOST_DIFF_ZONES` go the zones of the run, to look at.

mod accepted;
mod answer;
mod ask;
mod case;
mod data;
mod deviations;
mod findings;
mod name;
mod queries;
mod reasons;
mod zones;

use std::env;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use self::answer::Answer;
use self::ask::{Client, Reply};
use self::case::{Agreement, Case, Room, is_special_to_knot};
use self::findings::Findings;
use self::name::Name;
use self::queries::Query;
use self::reasons::Reasons;
use self::zones::World;
use crate::harness::Site;
use crate::random::Random;
use crate::servers::{MAX_UDP_SIZE, Server};

/// Zones side by side.
const FAMILIES: usize = 40;
/// Queries of a run.
const QUERIES: u64 = 200_000;
/// The seed of every run, so that a failure is found again.
const SEED: u64 = 9;
/// Queries under way at each server, from each thread.
const WINDOW: usize = 64;
/// Threads that ask.
const THREADS: usize = 2;
/// A type that no zone here has.
const UNASSIGNED_TYPE: u16 = 65_281;

/// Aliases that a client follows by itself.
const MAX_ALIASES: usize = 16;

#[test]
fn waypost_answers_random_questions_about_random_zones_as_nsd_and_knot_do() {
    let seed = number_from("WAYPOST_DIFF_SEED").unwrap_or(SEED);
    let queries = number_from("WAYPOST_DIFF_QUERIES").unwrap_or(QUERIES);
    println!("WAYPOST_DIFF_SEED={seed} WAYPOST_DIFF_QUERIES={queries}");
    let world = World::draw(&mut Random::new(seed), FAMILIES);
    if let Some(folder) = env::var_os("WAYPOST_DIFF_ZONES").map(PathBuf::from) {
        world.zones.iter().for_each(|zone| fs::write(folder.join(&zone.apex), &zone.text).unwrap());
    }
    let site = Site::new();
    for (number, zone) in world.zones.iter().enumerate() {
        site.write(&format!("zones/{number}.zone"), &zone.text);
    }
    let site = site.started();
    let (nsd, knot) = (Server::nsd(&world.zones), Server::knot(&world.zones));
    let servers = [site.ip, nsd.ip, knot.ip];
    let reasons = Reasons::all();
    let mut findings = Findings::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS as u64)
            .map(|thread| {
                let random = Random::new(seed ^ (thread + 1) << 32);
                let (world, reasons) = (&world, &reasons);
                scope.spawn(move || compare(random, queries / THREADS as u64, world, servers, reasons))
            })
            .collect();
        threads.into_iter().for_each(|thread| findings.merge(thread.join().unwrap()));
    });
    findings.report(&reasons, queries, seed == SEED);
    assert!(reasons.accepted.len() < 10, "the list of accepted differences stays short");
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

fn compare(
    mut random: Random,
    queries: u64,
    world: &World,
    servers: [Ipv4Addr; 3],
    reasons: &Reasons,
) -> Findings {
    let mut clients = servers.map(Client::new);
    let mut findings = Findings::default();
    let mut id = 0_u16;
    for _ in 0..queries.div_ceil(WINDOW as u64) {
        let batch: Vec<Query> = (0..WINDOW).map(|_| Query::draw(&mut random, world)).collect();
        let wire: Vec<Vec<u8>> = batch
            .iter()
            .map(|query| {
                id = id.wrapping_add(1);
                query.to_wire(id)
            })
            .collect();
        clients.iter().for_each(|client| client.send(&wire));
        let [waypost, nsd, knot] = clients.each_mut().map(|client| client.receive(&wire));
        for (((query, waypost), nsd), knot) in batch.iter().zip(waypost).zip(nsd).zip(knot) {
            judge(world, query, [waypost, nsd, knot], reasons, &mut clients[2], &mut findings);
        }
    }
    findings
}

fn judge(
    world: &World,
    query: &Query,
    replies: [Option<Reply>; 3],
    reasons: &Reasons,
    knot_client: &mut Client,
    findings: &mut Findings,
) {
    let [Some(waypost), Some(nsd), Some(knot)] = &replies else {
        let missing = replies.map(|reply| reply.is_none());
        findings.add(format!("no answer from [Waypost, NSD, Knot]: {missing:?}"), || format!("{query}"));
        return;
    };
    if let Some(wrong) = wrong_form(query, waypost) {
        findings.add(wrong.to_owned(), || format!("{query}\n{}", waypost.decoded.answer));
    }
    if waypost.truncated {
        findings.count("truncated");
    }
    let limit = query.udp_limit(MAX_UDP_SIZE);
    let room = |reply: &Reply| (!reply.truncated).then(|| limit.saturating_sub(reply.udp_len));
    let room = Room { nsd: room(nsd), knot: room(knot) };
    let [waypost, nsd, knot] = [waypost, nsd, knot].map(|reply| &reply.decoded.answer);
    findings.count_answer(waypost);
    let mut case = Case { query, world, waypost, nsd, knot, room, resolved: None };
    let agreement = case.agreement();
    findings.count(agreement.as_text());
    if matches!(agreement, Agreement::NsdAlone | Agreement::Neither) {
        case.resolved = resolve(query, knot, world, knot_client);
    }
    if reasons.explain(&case) {
        return;
    }
    let rest = case.resolved.map_or(String::new(), |rest| format!("  Knot, as often as it takes: {rest}"));
    let kind = format!(
        "{}, which no reason on a list explains: {} from NSD, {} from Knot",
        agreement.as_text(),
        differing(waypost, nsd),
        differing(waypost, knot)
    );
    findings
        .add(kind, || format!("{query}, {room:?}\n  Waypost {waypost}  NSD     {nsd}  Knot    {knot}{rest}"));
}

/// What Knot says where it treats no type specially and leaves no alias unfinished: asked for an unassigned type in
/// place of one that it knows better, and, as a resolver would, for the end of each chain, which it follows into no
/// other zone.
fn resolve(query: &Query, knot: &Answer, world: &World, client: &mut Client) -> Option<Answer> {
    let mut end = query.name.lower();
    let is_special = is_special_to_knot(query.qtype, knot);
    let qtype = if is_special { UNASSIGNED_TYPE } else { query.qtype };
    let mut ask = |name: &Name| {
        let query = [Query { name: name.clone(), qtype, ..query.clone() }.to_wire(0)];
        client.send(&query);
        Some(client.receive(&query).pop()??.decoded.answer)
    };
    let mut resolved = if is_special { ask(&end)? } else { knot.clone() };
    for _ in 0..MAX_ALIASES {
        let next = resolved.end_of_chain(&end);
        if next == end || world.zone_of(&next).is_none() {
            return Some(resolved);
        }
        end = next;
        resolved = resolved.and_then(ask(&end)?);
    }
    None
}

/// An answer over UDP keeps to the client's size and the server's own, says so when that left something out, and only
/// then.
fn wrong_form(query: &Query, waypost: &Reply) -> Option<&'static str> {
    let limit = query.udp_limit(MAX_UDP_SIZE);
    if waypost.udp_len > limit {
        Some("Waypost's answer is longer than it may be")
    } else if waypost.truncated && waypost.len <= limit {
        Some("Waypost truncates what fits")
    } else if waypost.decoded.question != query.question() {
        Some("Waypost does not echo the question")
    } else if waypost.decoded.repeats {
        Some("Waypost repeats a record")
    } else {
        None
    }
}

/// Which parts of two answers differ.
fn differing(one: &Answer, other: &Answer) -> String {
    let parts = [
        ("rcode", one.rcode != other.rcode),
        ("AA", one.authoritative != other.authoritative),
        ("OPT", one.opt != other.opt),
        ("answer", one.answer != other.answer),
        ("authority", one.authority != other.authority),
        ("glue", one.glue != other.glue),
    ];
    let differing: Vec<&str> = parts.iter().filter(|(_, differs)| *differs).map(|(part, _)| *part).collect();
    if differing.is_empty() { "nothing".to_owned() } else { differing.join(" ") }
}
