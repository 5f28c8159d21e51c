//! A million random combinations of everything that a query has.

use crate::packet::{self, World};
use crate::random::Random;
use crate::world::{Asker, put16};

const QUERIES: usize = 1_000_000;

/// Types, classes, option codes and lengths at which something happens.
const TYPES: [u16; 16] = [0, 1, 2, 5, 6, 13, 16, 28, 39, 41, 43, 64, 65, 250, 252, 255];
const CLASSES: [u16; 4] = [0, 3, 254, 255];
const CODES: [u16; 8] = [3, 8, 8, 8, 10, 11, 12, 15];
const PAYLOADS: [u16; 6] = [0, 511, 512, 1232, 4096, 65_535];

/// Names of every kind in the small world.
const NAMES: [&str; 20] = [
    "www",
    "v4",
    "cdn",
    "down",
    "many",
    "static",
    "alias",
    "to-www",
    "to-cdn",
    "to-cut",
    "to-outside",
    "loop1",
    "c0",
    "x.wild",
    "x.wildalias",
    "b.ent",
    "x.y.sub",
    "x.big",
    "www.moved",
    "giant",
];

/// What the drawing of queries needs besides.
trait Draw {
    /// True once in `bound`.
    fn once_in(&mut self, bound: usize) -> bool;
    fn of<T: Copy>(&mut self, list: &[T]) -> T;
    fn bytes(&mut self, len: usize) -> impl Iterator<Item = u8>;
}

impl Draw for Random {
    fn once_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        *self.pick(list)
    }

    fn bytes(&mut self, len: usize) -> impl Iterator<Item = u8> {
        (0..len).map(|_| self.next() as u8)
    }
}

/// A query of which each part is ordinary most of the time.
pub(crate) fn query(random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    put16(&mut bytes, 0, random.next() as u16);
    let flags = match random.below(8) {
        0 => random.next() as u16,
        1 => 1 << random.below(15),
        _ => 0x0100,
    };
    put16(&mut bytes, 2, flags);
    let mut counts = [u16::from(!random.once_in(20)) + u16::from(random.once_in(40)), 0, 0, 0];
    for _ in 0..counts[0] {
        question(&mut bytes, random);
    }
    for count in counts.iter_mut().skip(1) {
        while random.once_in(12) {
            record(&mut bytes, random);
            *count += 1;
        }
    }
    while *counts.last().unwrap_or(&0) < 3 && !random.once_in(if counts[3] == 0 { 3 } else { 1 }) {
        opt(&mut bytes, random);
        counts[3] += 1;
    }
    if random.once_in(30) {
        counts[random.below(4)] = random.next() as u16;
    }
    counts.iter().enumerate().for_each(|(section, count)| put16(&mut bytes, 4 + 2 * section, *count));
    match random.below(40) {
        0 => bytes.extend(random.next().to_be_bytes().iter().take(1 + (flags as usize & 7))),
        1 => bytes.truncate(random.below(bytes.len())),
        2 => {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        _ => {}
    }
    bytes
}

fn question(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut name = match random.below(10) {
        0 => packet::wire("www.example.org"),
        1 => random_name(random),
        _ => packet::wire(&format!("{}.gslb.example.com", random.of(&NAMES))),
    };
    // Letter case is the resolver's to choose.
    let case = random.next();
    for (at, byte) in name.iter_mut().enumerate() {
        if case >> (at % 64) & 1 == 1 {
            byte.make_ascii_uppercase();
        }
    }
    bytes.extend(name);
    let qtype = if random.once_in(4) { random.next() as u16 } else { random.of(&TYPES) };
    let class = if random.once_in(10) { random.of(&CLASSES) } else { 1 };
    bytes.extend([qtype.to_be_bytes(), class.to_be_bytes()].concat());
}

/// Up to 255 bytes of any labels, below the zone's apex or not.
fn random_name(random: &mut Random) -> Vec<u8> {
    let end = packet::wire(if random.once_in(2) { "gslb.example.com" } else { "" });
    let mut name = Vec::new();
    while name.len() + end.len() < 190 && !random.once_in(6) {
        let len = 1 + random.below(63);
        name.push(len as u8);
        name.extend(random.bytes(len));
    }
    name.extend(end);
    name
}

fn record(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(3) {
        0 => bytes.push(0),
        1 => bytes.extend([0xc0, 12]),
        _ => bytes.extend(random_name(random)),
    }
    let len = random.below(20);
    bytes.extend(random.of(&TYPES).to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 60, 0, len as u8]);
    bytes.extend(random.bytes(len));
}

fn opt(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut options = Vec::new();
    while !random.once_in(3) && options.len() < 400 {
        let code = if random.once_in(6) { random.next() as u16 } else { random.of(&CODES) };
        let data = option(code, random);
        options.extend([code.to_be_bytes(), (data.len() as u16).to_be_bytes()].concat());
        options.extend(data);
    }
    bytes.extend(if random.once_in(30) { &[1, b'x', 0][..] } else { &[0] });
    let payload = if random.once_in(4) { random.next() as u16 } else { random.of(&PAYLOADS) };
    bytes.extend([41_u16.to_be_bytes(), payload.to_be_bytes()].concat());
    let version = if random.once_in(20) { random.next() as u8 } else { 0 };
    bytes.extend([if random.once_in(8) { random.next() as u8 } else { 0 }, version]);
    bytes.extend([if random.once_in(2) { 0x80 } else { random.next() as u8 }, 0]);
    bytes.extend((options.len() as u16).to_be_bytes());
    bytes.extend(options);
}

fn option(code: u16, random: &mut Random) -> Vec<u8> {
    if code == 8 && !random.once_in(8) {
        let (family, bits) = if random.once_in(3) { (2, 129) } else { (1, 33) };
        let source = random.below(bits);
        let mut data = vec![0, family, source as u8, 0];
        data.extend(random.bytes(source.div_ceil(8)));
        if let (Some(last), used @ 1..) = (data.last_mut().filter(|_| source > 0), source % 8) {
            *last &= 0xff << (8 - used);
        }
        return data;
    }
    if code == 10 && random.once_in(4) {
        return packet::cookie();
    }
    let len = if code == 10 { random.of(&[8, 8, 16, 24, 24, 40, 7, 41]) } else { random.below(20) };
    let len = if code == 11 && random.once_in(2) { 0 } else { len };
    random.bytes(len).collect()
}

#[test]
fn a_million_random_combinations_get_a_legal_answer_each_over_udp_and_tcp_however_the_operator_set_it() {
    let mut askers = World::all().map(Asker::of);
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut met = [[0_u64; 24]; 2];
    for number in 0..QUERIES {
        let bytes = query(&mut random);
        let rcodes = askers[number % 3].ask(&bytes);
        for (met, rcode) in met.iter_mut().zip(rcodes) {
            met[usize::from(rcode).min(23)] += 1;
        }
    }
    let everyday = [0, 1, 2, 3, 4, 5, 16];
    let [udp, tcp] = met;
    assert!(everyday.iter().all(|&rcode| udp[rcode].min(tcp[rcode]) > 1_000), "every kind is met: {met:?}");
    assert!(udp[23] > 10_000, "cookies are refused beyond the rate: {met:?}");
}
