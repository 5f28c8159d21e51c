//! Packets made to cost as much as they can, a zone made to help them, and the 5,000 packets that are measured.

use std::fmt::Write as _;

use waypost::dns::{MAX_TCP_SIZE, View};

use crate::combinations;
use crate::corpus::corpus;
use crate::packet::{self, World, legal::Setup};
use crate::random::Random;
use crate::world::{Asker, put16};

/// Packets that are measured.
pub(crate) const PACKETS: usize = 5_000;

/// Redirections that one answer follows, and one more.
const CHAIN: usize = 17;

/// Labels of a name of 255 bytes whose labels are one byte each.
const MAX_LABELS: usize = 127;

/// A world whose zone has the longest chains, the deepest wildcard, the widest delegation and the largest RRset.
pub(crate) fn view() -> View {
    let mut lines = String::new();
    for step in 0..CHAIN {
        let next = step + 1;
        let _ = writeln!(lines, "dn{step:02} DNAME dn{next:02}");
        // Names that differ in their last label of many, so that a search for loops reads them whole.
        let long = "x.".repeat(90);
        let _ = writeln!(lines, "{long}lc{step:02} CNAME {long}lc{next:02}");
    }
    let _ = writeln!(lines, "*.{}deep A 192.0.2.99", "d.".repeat(100));
    packet::view_with(&lines, 0)
}

/// What is suspected to be dear, then random combinations. The same in every run.
pub(crate) fn packets() -> Vec<Vec<u8>> {
    let mut packets = dear();
    let mut random = Random::new(5_000);
    while packets.len() < PACKETS {
        packets.push(combinations::query(&mut random));
    }
    packets
}

/// What the fuzzer kept, and packets that are made to be dear.
pub(crate) fn dear() -> Vec<Vec<u8>> {
    let mut packets = corpus("packet");
    packets.extend(names());
    packets.extend(records());
    packets.extend(options());
    packets.extend(questions());
    packets
}

/// Long and deep names, and those with the longest answers.
fn names() -> Vec<Vec<u8>> {
    let apex = packet::wire("gslb.example.com");
    let fill = |below: &str, label: usize| {
        let end = packet::wire(&format!("{below}gslb.example.com"));
        let mut name = Vec::new();
        while name.len() + label + 1 + end.len() <= 255 {
            name.push(label as u8);
            name.extend(vec![b'X'; label]);
        }
        [name, end].concat()
    };
    let mut names: Vec<Vec<u8>> = Vec::new();
    for below in ["", "wild.", "sub.", "big.", "moved.", "rec.", "dn00.", "nothing.", "www.", "d.d.deep."] {
        names.extend([1, 2, 7, 63].map(|label| fill(below, label)));
    }
    names.push([[[1, b'x']; 90].concat(), b"\x04lc00".to_vec(), apex.clone()].concat());
    names.push([[[1, b'd']; 110].concat(), b"\x04deep".to_vec(), apex.clone()].concat());
    names.push([[[1, b'd']; 99].concat(), b"\x04deep".to_vec(), apex].concat());
    names.push([vec![[1, b'a']; MAX_LABELS].concat(), vec![0]].concat());
    for name in ["giant", "huge", "many", "c0", "d0", "loop1", "x.big", "to-wild"] {
        names.push(packet::wire(&format!("{name}.gslb.example.com")));
    }
    let with_types = names.iter().flat_map(|name| [1_u16, 5, 16, 28, 43, 255].map(|qtype| (name, qtype)));
    with_types
        .map(|(name, qtype)| {
            let mut bytes = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
            bytes.extend(name);
            bytes.extend([qtype.to_be_bytes(), [0, 1]].concat());
            bytes.extend([0, 0, 41, 0xff, 0xff, 0, 0, 0, 0, 0, 0]);
            bytes
        })
        .collect()
}

/// As many records as a message holds, with owners that take long to skip, in each section; 64 KiB and small ones.
fn records() -> Vec<Vec<u8>> {
    let pointer = vec![0xc0, 12];
    let deepest = [vec![[1, b'x']; MAX_LABELS].concat(), vec![0]].concat();
    let to_pointer = [vec![[1, b'x']; 126].concat(), pointer.clone()].concat();
    let mut packets = Vec::new();
    for owner in [vec![0], pointer, deepest, to_pointer] {
        for section in 1..4 {
            for (room, rtype) in
                [(512, 1), (4096, 1), (MAX_TCP_SIZE, 1), (MAX_TCP_SIZE, 41), (MAX_TCP_SIZE, 250)]
            {
                packets.push(filled_with_records(&owner, section, room, rtype));
            }
        }
    }
    packets
}

fn filled_with_records(owner: &[u8], section: usize, room: usize, rtype: u16) -> Vec<u8> {
    let mut bytes = packet::query("www.gslb.example.com", 1, None);
    let record = [owner, &rtype.to_be_bytes(), &[0, 1, 0, 0, 0, 0, 0, 0]].concat();
    let count = (room - bytes.len()) / record.len();
    bytes.extend(record.repeat(count));
    put16(&mut bytes, 4 + 2 * section, count as u16);
    bytes
}

/// As many options as an OPT record holds: unknown ones, and those that are read.
fn options() -> Vec<Vec<u8>> {
    let subnet = [0, 8, 0, 7, 0, 1, 24, 0, 192, 0, 2];
    let cookie = [0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    let kinds: [&[u8]; 5] = [&[0xff, 0, 0, 0], &[0, 3, 0, 0], &subnet, &cookie, &[0, 11, 0, 0]];
    let rooms = [400, 4000, MAX_TCP_SIZE - 100];
    let filled = kinds.iter().flat_map(|option| rooms.map(|room| option.repeat(room / option.len())));
    filled
        .map(|options| {
            let mut bytes = packet::query("www.gslb.example.com", 1, None);
            bytes[11] = 1;
            bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0]);
            bytes.extend((options.len() as u16).to_be_bytes());
            bytes.extend(options);
            bytes
        })
        .collect()
}

/// As many questions as a message holds, of a query and of a message with another opcode.
fn questions() -> Vec<Vec<u8>> {
    let deepest = [vec![[1, b'x']; MAX_LABELS].concat(), vec![0]].concat();
    let names = [vec![0], vec![0xc0, 12], deepest];
    let mixed = names.iter().flat_map(|name| [0x00, 0x20].map(|opcode| (name, opcode)));
    mixed
        .map(|(name, opcode)| {
            let question = [name.as_slice(), &[0, 1, 0, 1]].concat();
            let count = (MAX_TCP_SIZE - 12) / question.len();
            let mut bytes = vec![0, 7, opcode, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            put16(&mut bytes, 4, count as u16);
            bytes.extend(question.repeat(count));
            bytes
        })
        .collect()
}

#[test]
fn every_measured_packet_gets_legal_answers_however_the_operator_set_it() {
    for setup in Setup::ALL {
        let mut asker = Asker::of(World::of(view(), setup));
        for bytes in packets() {
            asker.ask(&bytes);
        }
    }
}
