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

/// Packets that are counted together, when they are not suspected to be dear: a count takes valgrind ten milliseconds.
const GROUP: usize = 5;

/// Answers some packets: what is measured has this name.
#[inline(never)]
#[unsafe(no_mangle)]
fn waypost_measured_answers(world: &mut World, packets: &[Vec<u8>]) {
    for bytes in packets {
        // What does not fit into a datagram comes over TCP, and so do those whose answers don't.
        let is_tcp = bytes.len() > 1232 || bytes.len() % 2 == 1;
        let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
        black_box(world.answer(bytes, transport));
    }
}

/// The packets as they are counted: the suspects and a sample of the others one by one, all others in groups.
fn counted(packets: &[Vec<u8>], suspects: usize) -> (Vec<&[Vec<u8>]>, Vec<&[Vec<u8>]>) {
    let (dear, others) = packets.split_at(suspects);
    let sample = others.chunks(GROUP).map(|group| &group[..1]);
    let rest = others.chunks(GROUP).map(|group| &group[1..]);
    (dear.chunks(1).chain(sample).collect(), rest.collect())
}

/// What the next test runs inside valgrind; by itself it shows that all of them are answered.
#[test]
fn measured_packets_are_answered_as_they_are_counted() {
    let packets = hostile::packets();
    let (single, grouped) = counted(&packets, hostile::dear().len());
    let mut world = World::of(hostile::view(), Setup::ORDINARY);
    let mut answered = 0;
    for group in single.into_iter().chain(grouped) {
        waypost_measured_answers(&mut world, group);
        answered += group.len();
    }
    assert_eq!(answered, hostile::PACKETS);
}

#[test]
fn no_packet_costs_more_than_50_times_the_instructions_of_the_median() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("costs");
    let said = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=waypost_measured_answers"])
        .args(["--dump-after=waypost_measured_answers", "--combine-dumps=yes", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe().unwrap())
        // One instruction that copies any number of bytes would be counted once for each.
        .env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1000000000")
        .args([
            "--exact",
            "instructions::measured_packets_are_answered_as_they_are_counted",
            "--test-threads=1",
        ])
        .output()
        .expect("valgrind is there (tests/run.sh installs it)");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let costs = instructions(&out);
    let packets = hostile::packets();
    let (single, grouped) = counted(&packets, hostile::dear().len());
    assert_eq!(costs.len(), single.len() + grouped.len(), "one count for each packet or group");
    // The suspects are few and the sample is fair, so the median is that of the sample.
    let mut sample = costs[hostile::dear().len()..single.len()].to_vec();
    sample.sort_unstable();
    let median = sample[sample.len() / 2];
    let dearest = costs.iter().zip(single.iter().chain(&grouped)).max_by_key(|(cost, _)| **cost);
    let (most, group) = dearest.unwrap();
    println!(
        "median {median}, most {most} instructions for {} packets of {} bytes",
        group.len(),
        group[0].len()
    );
    // A group's sum is no less than its dearest packet.
    let start = &group[0][..group[0].len().min(300)];
    assert!(
        *most <= MAX_RATIO * median,
        "{most}, the median being {median}, for {}: {start:02x?}",
        group.len()
    );
}

/// The total of each dump, in order; what comes after the last packet is no packet's.
fn instructions(dumps: &Path) -> Vec<u64> {
    let text = fs::read_to_string(dumps).unwrap();
    let totals = text.lines().filter_map(|line| line.strip_prefix("summary: "));
    totals.map(|total| total.trim().parse().unwrap()).filter(|&total| total > 0).collect()
}
