//! A million random packets: never a panic, an answer or silence as RULES A6 says, and every answer decodes.

use super::*;

const PACKETS: u64 = 1_000_000;
/// Decoding takes far longer than answering: every so many answers one is decoded.
const DECODED_EACH: u64 = 50;

/// Marsaglia's xorshift64: the same packets in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let names =
        ["www", "v4", "cdn", "down", "many", "static", "alias", "to-www", "loop1", "x.wild", "x.big", "sub"];
    let more = ["www.moved", "nothing", "b.ent", "to-cut", "huge", "q.wildalias", "outside.", ".", "c0"];
    let options = opt(&[(8, &[0, 1, 24, 0, 192, 0, 2]), (3, &[]), (11, &[]), (10, &[7; 8])]);
    let full = [&[7; 8][..], &secrets().make([7; 8], [192, 0, 2, 9].into(), 0)].concat();
    let verified = opt(&[(10, &full)]);
    let mut seeds = Vec::new();
    for name in names.into_iter().chain(more) {
        for qtype in [A, AAAA, TXT, NS, DS, ANY, CNAME] {
            seeds.push(query(name, qtype, None));
            seeds.push(query(name, qtype, Some(&options)));
            seeds.push(query(name, qtype, Some(&verified)));
        }
    }
    seeds
}

pub(super) fn mutate(packet: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(5) {
        let at = random.below(packet.len().max(1));
        match (random.below(6), packet.get_mut(at)) {
            (0, Some(byte)) => *byte ^= 1 << random.below(8),
            (1, Some(byte)) => *byte = random.next() as u8,
            (2, Some(_)) => packet.truncate(at),
            (3, Some(_)) => packet.insert(at, random.next() as u8),
            (4, Some(_)) => drop(packet.remove(at)),
            (_, Some(byte)) => *byte = [0, 1, 0x3f, 0x40, 0xc0, 0xff][random.below(6)],
            (_, None) => packet.push(random.next() as u8),
        }
    }
}

#[test]
fn a_million_random_packets_are_answered_or_met_with_silence_as_the_rules_say() {
    let (view, seeds) = (view(), seeds());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut worker = Worker::new();
    let mut out = vec![0; MAX_TCP_SIZE];
    let mut packet = Vec::new();
    for number in 0..PACKETS {
        packet.clear();
        if random.below(8) == 0 {
            (0..random.below(80)).for_each(|_| packet.push(random.next() as u8));
        } else {
            packet.extend_from_slice(&seeds[random.below(seeds.len())]);
            mutate(&mut packet, &mut random);
        }
        let transport = if random.below(4) == 0 { Transport::Tcp } else { Transport::Udp };
        let query =
            Query { bytes: &packet, peer: [192, 0, 2, 9].into(), transport, now: Mono(number), wall_s: 0 };
        let len = respond(&view, &mut worker, query, &mut out);
        let silent = packet.len() < 12 || packet[2] & 0x80 != 0;
        assert_eq!(len == 0, silent, "{packet:02x?}");
        if silent {
            continue;
        }
        assert!(len >= 12 && (transport == Transport::Tcp || len <= 1232));
        assert!(out[..2] == packet[..2] && out[2] & 0x80 != 0);
        if number % DECODED_EACH == 0 {
            let decoded = Decoded::from_vec(&out[..len]);
            assert!(decoded.is_ok(), "{packet:02x?} {:02x?} {decoded:?}", &out[..len]);
        }
    }
}
