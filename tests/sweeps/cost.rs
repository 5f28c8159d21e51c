//! What one packet may cost: stack (the heap is not touched, `tests/alloc.rs`) and instructions.

use std::collections::BTreeMap;
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

/// Answers one packet: what is measured has this name.
#[inline(never)]
#[unsafe(no_mangle)]
fn waypost_measured_answer(asker: &mut Asker, bytes: &[u8], transport: Transport) -> usize {
    let (view, worker, out) = asker.parts();
    packet::ask(view, worker, bytes, transport, out)
}

#[test]
fn every_measured_packet_gets_a_legal_answer() {
    let mut asker = Asker::of(hostile::view());
    for bytes in hostile::packets() {
        asker.ask_over(&bytes, Transport::Udp);
        asker.ask_over(&bytes, Transport::Tcp);
    }
}

/// Runs only inside the other test's valgrind; by itself it answers and proves nothing.
#[test]
fn measured_packets_are_answered_one_by_one() {
    let mut asker = Asker::of(hostile::view());
    for bytes in hostile::packets() {
        black_box(waypost_measured_answer(&mut asker, &bytes, transport_of(&bytes)));
    }
}

/// What does not fit into a datagram comes over TCP, and so do those whose answers don't.
fn transport_of(bytes: &[u8]) -> Transport {
    if bytes.len() > 1232 || bytes.len() % 2 == 1 { Transport::Tcp } else { Transport::Udp }
}

#[test]
fn no_packet_costs_more_than_50_times_the_instructions_of_the_median() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("costs");
    let program = env::current_exe().unwrap();
    let said = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=waypost_measured_answer"])
        .args(["--dump-after=waypost_measured_answer", "--combine-dumps=yes", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(["--exact", "cost::measured_packets_are_answered_one_by_one", "--test-threads=1"])
        .output()
        .expect("valgrind is there (tests/run.sh installs it)");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let mut costs = instructions(&out);
    let packets = hostile::packets();
    assert_eq!(costs.len(), packets.len(), "one count for each packet");
    let by_cost: BTreeMap<u64, &Vec<u8>> = costs.iter().copied().zip(&packets).collect();
    costs.sort_unstable();
    let median = costs[costs.len() / 2];
    let (most, dearest) = by_cost.last_key_value().unwrap();
    let start = &dearest[..dearest.len().min(400)];
    println!("median {median}, most {most} instructions, of {} bytes", dearest.len());
    assert!(
        *most <= MAX_RATIO * median,
        "{most}, the median being {median}: {} bytes, {start:02x?}",
        dearest.len()
    );
}

/// The total of each dump, in order; what comes after the last packet is no packet's.
fn instructions(dumps: &Path) -> Vec<u64> {
    let text = fs::read_to_string(dumps).unwrap();
    let totals = text.lines().filter_map(|line| line.strip_prefix("summary: "));
    totals.map(|total| total.trim().parse().unwrap()).filter(|&total| total > 0).collect()
}
