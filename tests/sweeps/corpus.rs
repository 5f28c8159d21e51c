//! What the fuzzer found worth keeping, asked again.

use std::fs;
use std::path::Path;

use crate::packet::{self, World};
use crate::{files, options};

/// Most files of a target's corpus, and their most bytes in all.
const MAX_FILES: usize = 200;
const MAX_BYTES: usize = 300 * 1024;

/// The corpus of one target.
pub(crate) fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let inputs: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let bytes: usize = inputs.iter().map(Vec::len).sum();
    assert!((12..=MAX_FILES).contains(&inputs.len()), "{target} has {} files", inputs.len());
    assert!(bytes <= MAX_BYTES, "{target} has {bytes} bytes");
    inputs
}

#[test]
fn every_packet_of_the_corpus_and_every_cut_of_it_is_answered_as_owed() {
    let mut worlds = World::all();
    for bytes in corpus("packet") {
        for len in 0..=bytes.len() {
            packet::fuzz_packet(&mut worlds, &bytes[..len]);
        }
    }
}

#[test]
fn every_client_subnet_of_the_corpus_and_every_cut_of_it_is_answered_as_owed() {
    let mut worlds = World::all();
    for bytes in corpus("subnet") {
        for len in 0..=bytes.len() {
            options::fuzz_subnet(&mut worlds, &bytes[..len]);
        }
    }
}

#[test]
fn every_cookie_of_the_corpus_and_every_cut_of_it_is_answered_as_owed() {
    let mut worlds = World::all();
    for bytes in corpus("cookie") {
        for len in 0..=bytes.len() {
            options::fuzz_cookie(&mut worlds, &bytes[..len]);
        }
    }
}

#[test]
fn every_zone_of_the_corpus_is_refused_with_reasons_or_answers_as_owed() {
    corpus("zone").iter().for_each(|bytes| files::fuzz_zone(bytes));
}

#[test]
fn every_geo_file_of_the_corpus_is_refused_or_places_clients() {
    corpus("mmdb").iter().for_each(|bytes| files::fuzz_mmdb(bytes));
}

#[test]
fn every_admin_file_of_the_corpus_is_refused_with_reasons_or_in_force() {
    corpus("admin").iter().for_each(|bytes| files::fuzz_admin(bytes));
}

#[test]
fn every_config_of_the_corpus_is_refused_with_reasons_or_read() {
    corpus("config").iter().for_each(|bytes| files::fuzz_config(bytes));
}
