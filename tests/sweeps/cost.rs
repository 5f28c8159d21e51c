//! What one packet may cost: stack (the heap is not touched, `tests/alloc.rs`) and instructions.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use waypost::dns::Transport;

use crate::hostile;
use crate::packet;
use crate::world::Asker;

/// Stack that an answer may take, in bytes: so much, and so much more for each byte of the query.
const STACK: usize = 16 * 1024;
const STACK_PER_BYTE: usize = 8;

/// Instructions of the dearest packet, in those of the median one.
const MAX_RATIO: u64 = 50;

/// What the stack is painted with before it is used, and how deep, in bytes.
const PAINT: u64 = 0x5afe_57ac_c0de_d00d;
const PAINTED: usize = 256 * 1024;

/// Most bytes of stack that `work` used: paints what is below, does it, and looks how far the paint is gone.
#[inline(never)]
fn stack_used(work: &mut dyn FnMut()) -> usize {
    paint();
    work();
    unpainted()
}

#[inline(never)]
fn paint() {
    black_box(&mut [PAINT; PAINTED / 8]);
}

/// How much of the paint is gone, seen from below.
#[inline(never)]
fn unpainted() -> usize {
    let here = 0_u64;
    let top = (&raw const here).addr() & !7;
    let bottom = top - PAINTED + 4096; // this frame lies where the painter's lay, give or take
    // SAFETY: the thread's stack reaches far below `bottom` and was written by `paint` a moment ago; nobody else uses
    // it, and what is read there is only compared.
    let painted =
        |at: usize| unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() } == PAINT;
    let lowest = (bottom..top).step_by(8).find(|&at| !painted(at)).unwrap_or(top);
    top - lowest
}

#[test]
fn no_packet_takes_more_stack_than_16_kib_and_8_bytes_for_each_of_its_own() {
    let packets = hostile::packets();
    let mut asker = Asker::of(hostile::view());
    let mut most = 0;
    for bytes in &packets {
        for transport in [Transport::Udp, Transport::Tcp] {
            let (view, worker, out) = asker.parts();
            let used = stack_used(&mut || {
                black_box(packet::ask(view, worker, bytes, transport, out));
            });
            assert!(used <= STACK + STACK_PER_BYTE * bytes.len(), "{used} bytes for {bytes:02x?}");
            most = most.max(used);
        }
    }
    println!("at most {most} bytes of stack");
    assert!(most > 500, "the stack was seen: {most}");
}

#[test]
fn the_measured_stack_is_what_a_function_takes() {
    #[inline(never)]
    fn takes_20_kib() {
        black_box(&mut [1_u8; 20 * 1024]);
    }
    let used = stack_used(&mut || takes_20_kib());
    assert!((20 * 1024 - 64..22 * 1024).contains(&used), "{used}");
}

/// Packets that are counted together, when they are not suspected to be dear: a count takes valgrind ten milliseconds.
const GROUP: usize = 20;

/// Answers some packets: what is measured has this name.
#[inline(never)]
#[unsafe(no_mangle)]
fn waypost_measured_answers(asker: &mut Asker, packets: &[Vec<u8>]) {
    for bytes in packets {
        // What does not fit into a datagram comes over TCP, and so do those whose answers don't.
        let is_tcp = bytes.len() > 1232 || bytes.len() % 2 == 1;
        let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
        let (view, worker, out) = asker.parts();
        black_box(packet::ask(view, worker, bytes, transport, out));
    }
}

/// The packets as they are counted: the suspects and a sample of the others one by one, all others in groups.
fn counted(packets: &[Vec<u8>], suspects: usize) -> (Vec<&[Vec<u8>]>, Vec<&[Vec<u8>]>) {
    let (dear, others) = packets.split_at(suspects);
    let sample = others.chunks(GROUP).map(|group| &group[..1]);
    let rest = others.chunks(GROUP).map(|group| &group[1..]);
    (dear.chunks(1).chain(sample).collect(), rest.collect())
}

#[test]
fn every_measured_packet_gets_a_legal_answer() {
    let mut asker = Asker::of(hostile::view());
    for bytes in hostile::packets() {
        asker.ask_over(&bytes, Transport::Udp);
        asker.ask_over(&bytes, Transport::Tcp);
    }
}

/// What the next test runs inside valgrind; by itself it shows that all of them are answered.
#[test]
fn measured_packets_are_answered_as_they_are_counted() {
    let packets = hostile::packets();
    let (single, grouped) = counted(&packets, hostile::dear().len());
    let mut asker = Asker::of(hostile::view());
    let mut answered = 0;
    for group in single.into_iter().chain(grouped) {
        waypost_measured_answers(&mut asker, group);
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
        .args(["--exact", "cost::measured_packets_are_answered_as_they_are_counted", "--test-threads=1"])
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
