//! The fuzzer's corpus, as an ordinary test.

#[path = "../fuzz/packet.rs"]
#[allow(dead_code)]
mod packet;

use std::fs;
use std::path::Path;

use waypost::dns::Worker;

#[test]
fn every_packet_of_the_corpus_and_every_cut_of_it_is_answered_as_owed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/packet");
    let (view, mut worker) = (packet::view(0), Worker::new());
    let mut packets = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        for len in 0..=bytes.len() {
            packet::fuzz_packet(&view, &mut worker, &bytes[..len]);
        }
        packets += 1;
    }
    assert!(packets >= 12, "the corpus is there");
}
