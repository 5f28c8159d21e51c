//! How many instructions one packet may cost, counted by valgrind.
//!
//! Only in an optimised build: without, a loop over records costs many times what it costs where it matters. `.ci/run` asks
//! for one.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use waypost::dns::Transport;

use crate::hostile;
use crate::packet::{World, legal::Setup};

/// Instructions of the dearest packet, in those of the median one.
const MAX_RATIO: u64 = 50;

/// Answers one packet: what is measured has this name.
#[inline(never)]
#[unsafe(no_mangle)]
fn waypost_measured_answer(world: &mut World, bytes: &[u8]) {
    // What does not fit into a datagram comes over TCP, and so do those whose answers don't.
    let is_tcp = bytes.len() > 1232 || bytes.len() % 2 == 1;
    let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
    black_box(world.answer(bytes, transport));
}

/// What the next test runs inside valgrind; by itself it shows that all of them are answered.
#[test]
fn measured_packets_are_answered_one_by_one() {
    let mut world = World::of(hostile::view(), Setup::ORDINARY);
    let packets = hostile::packets();
    packets.iter().for_each(|bytes| waypost_measured_answer(&mut world, bytes));
    assert_eq!(packets.len(), hostile::PACKETS);
}

#[test]
fn no_packet_costs_more_than_50_times_the_instructions_of_the_median() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("costs");
    let said = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=waypost_measured_answer"])
        .args(["--dump-after=waypost_measured_answer", "--combine-dumps=yes", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe().unwrap())
        // One instruction that copies any number of bytes would be counted once for each.
        .env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1000000000")
        .args(["--exact", "instructions::measured_packets_are_answered_one_by_one", "--test-threads=1"])
        .output()
        .expect("valgrind is there (tests/run.sh installs it)");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let mut costs = instructions(&out);
    let packets = hostile::packets();
    assert_eq!(costs.len(), packets.len(), "one count for each packet");
    let (most, dearest) = costs.iter().copied().zip(&packets).max_by_key(|(cost, _)| *cost).unwrap();
    costs.sort_unstable();
    let median = costs[costs.len() / 2];
    println!("median {median}, most {most} instructions, for {} bytes", dearest.len());
    let start = &dearest[..dearest.len().min(300)];
    assert!(most <= MAX_RATIO * median, "{most}, the median being {median}, for {start:02x?}");
}

/// The total of each dump, in order; what comes after the last packet is no packet's.
fn instructions(dumps: &Path) -> Vec<u64> {
    let text = fs::read_to_string(dumps).unwrap();
    let totals = text.lines().filter_map(|line| line.strip_prefix("summary: "));
    totals.map(|total| total.trim().parse().unwrap()).filter(|&total| total > 0).collect()
}
