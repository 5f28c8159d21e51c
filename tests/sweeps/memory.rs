//! How much memory one packet may take: some stack, and nothing of the heap.

use std::hint::black_box;

use waypost::dns::Transport;

use crate::counting::watch;
use crate::hostile;
use crate::packet::{World, legal::Setup};

/// Stack that an answer may take, in bytes: so much, and so much more for each byte of the query.
const STACK: usize = 16 * 1024;
const STACK_PER_BYTE: usize = 8;

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
    let mut world = World::of(hostile::view(), Setup::ORDINARY);
    let mut most = 0;
    for bytes in &packets {
        for transport in [Transport::Udp, Transport::Tcp] {
            let used = stack_used(&mut || {
                black_box(world.answer(bytes, transport));
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

#[test]
fn no_packet_touches_the_heap_however_the_operator_set_it() {
    let packets = hostile::packets();
    for setup in Setup::ALL {
        let mut world = World::of(hostile::view(), setup);
        for bytes in &packets {
            let noted = watch(|| {
                black_box(world.answers(bytes));
            });
            assert_eq!(noted, 0, "{setup:?}: {bytes:02x?}");
        }
    }
    assert!(watch(|| drop(black_box(vec![1]))) >= 2, "the counting counts");
}
