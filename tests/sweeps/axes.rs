//! Each axis alone, over its whole range, for one name of each kind.

use waypost::dns::Transport;
use waypost::dns::edns::MIN_UDP_SIZE;

use crate::packet::legal::{self, Setup};
use crate::packet::{self, COOKIE, SUBNET, World};
use crate::world::{
    Asker, BADVERS, FORMERR, KINDS, Kind, LONG, NOERROR, NOTIMP, Places, REFUSED, put16, query,
};

/// Longest option data that is tried, in bytes.
const MAX_OPTION: usize = 64;

/// Options that are known besides [`SUBNET`] and [`COOKIE`].
const NSID: u16 = 3;
const KEEPALIVE: u16 = 11;

/// Puts every 16-bit value into each kind of query and compares the rcodes over UDP and TCP with what is expected of the
/// kind's.
fn sweep(
    place: impl Fn(&Places) -> usize,
    expected: impl Fn(u16, u16) -> u16,
    kinds: impl IntoIterator<Item = Kind>,
) {
    let mut asker = Asker::new();
    for kind in kinds {
        let (mut bytes, places) = query(kind);
        for value in 0..=u16::MAX {
            put16(&mut bytes, place(&places), value);
            assert_eq!(asker.ask(&bytes), [expected(value, kind.rcode); 2], "{} with {value}", kind.name);
        }
    }
    assert!(asker.asked >= 1 << 16, "the whole range was asked");
}

#[test]
fn every_type_is_answered_as_its_name_is_and_transfers_are_refused() {
    let expected = |qtype, rcode| if matches!(qtype, 251 | 252) { REFUSED } else { rcode };
    sweep(|places| places.qtype, expected, KINDS);
}

#[test]
fn every_class_but_internet_is_refused() {
    sweep(|places| places.qclass, |class, rcode| if class == 1 { rcode } else { REFUSED }, KINDS);
}

#[test]
fn every_flag_word_is_answered_and_only_the_opcode_matters() {
    let expected = |flags: u16, rcode| match (flags >> 15, flags >> 11 & 15) {
        (1, _) => NOERROR, // silence
        (_, 0) => rcode,
        _ => NOTIMP,
    };
    sweep(|_| 2, expected, KINDS);
}

#[test]
fn every_payload_size_is_kept_and_cuts_only_what_does_not_fit() {
    for kind in KINDS.into_iter().chain(LONG) {
        let (bytes, places) = query(kind);
        sweep_sizes(Setup::ORDINARY, kind, bytes, places.payload);
    }
    let (bytes, places) = query(LONG[0]);
    sweep_sizes(Setup::GUARDED, LONG[0], bytes, places.payload);
    // Who shows a cookie gets the long answer also from who is careful with strangers.
    let bytes = packet::query_with("mid.gslb.example.com", 16, COOKIE, &packet::cookie());
    let payload = bytes.len() - 36; // class, TTL, length, and an option of 28 bytes
    sweep_sizes(Setup::GUARDED, LONG[0], bytes, payload);
}

/// Every size. Over TCP it changes no byte of the answer, and over UDP none beyond what client and server have to offer.
fn sweep_sizes(setup: Setup, kind: Kind, mut bytes: Vec<u8>, payload: usize) {
    let mut world = World::new(setup);
    let whole = world.answer(&bytes, Transport::Tcp).to_vec();
    let over_tcp = legal::read_tcp(setup, &bytes, &whole).unwrap();
    assert_eq!(over_tcp.rcode(), kind.rcode, "{}", kind.name);
    let offers = MIN_UDP_SIZE..=legal::MAX_UDP_SIZE;
    let mut cut = 0;
    for size in offers.clone() {
        put16(&mut bytes, payload, size);
        let udp = world.answer(&bytes, Transport::Udp);
        let legal = legal::check_udp(setup, &bytes, udp, &over_tcp);
        assert!(legal.is_ok(), "{legal:?}: {} with {size}, {setup:?}: {udp:02x?}", kind.name);
        cut += u32::from(udp[2] & 2 != 0);
    }
    assert_eq!(whole.len() > MIN_UDP_SIZE.into(), cut > 0, "{}: {cut} cut", kind.name);
    let [least, most] = [*offers.start(), *offers.end()].map(|size| {
        put16(&mut bytes, payload, size);
        world.answer(&bytes, Transport::Udp).to_vec()
    });
    for size in 0..=u16::MAX {
        put16(&mut bytes, payload, size);
        let [udp, tcp] = world.answers(&bytes);
        assert!(tcp == whole, "{}: {size} changes the answer over TCP", kind.name);
        let is_same = (size > *offers.start() || udp == least) && (size < *offers.end() || udp == most);
        assert!(is_same, "{}: {size} is more than there is to offer, {setup:?}", kind.name);
    }
}

#[test]
fn every_edns_version_but_0_is_badvers_whatever_the_upper_rcode_bits_say() {
    let expected = |word, rcode| if word & 0xff == 0 { rcode } else { BADVERS };
    sweep(|places| places.extended, expected, KINDS);
}

#[test]
fn every_edns_flag_word_is_answered_and_z_comes_back_clear() {
    sweep(|places| places.extended + 2, |_, rcode| rcode, KINDS);
}

#[test]
fn every_count_that_is_not_what_the_message_holds_is_a_format_error() {
    for (section, holds) in [1, 0, 0, 1].into_iter().enumerate() {
        let expected = |count, rcode| if count == holds { rcode } else { FORMERR };
        let kinds = [KINDS[0], KINDS[3]];
        sweep(|_| 4 + 2 * section, expected, kinds);
    }
}

#[test]
fn every_option_code_at_every_length_up_to_64_is_answered() {
    let mut asker = Asker::new();
    let mut bytes = packet::query_with("www.gslb.example.com", 1, 0, &[]);
    let options_at = bytes.len() - 6;
    for len in 0..=MAX_OPTION {
        // What a client subnet of that length could be: the oracle knows which are.
        let data: Vec<u8> =
            [0, 1, (8 * len.saturating_sub(4)) as u8, 0].into_iter().chain(1..).take(len).collect();
        bytes.truncate(options_at);
        bytes.extend([(len as u16 + 4).to_be_bytes(), [0; 2], (len as u16).to_be_bytes()].concat());
        bytes.extend(&data);
        assert_eq!(asker.ask(&bytes), [NOERROR; 2], "option 0, {len} bytes");
        let ignored = asker.world.answers(&bytes).map(<[u8]>::to_vec);
        for code in 1..=u16::MAX {
            put16(&mut bytes, options_at + 2, code);
            if matches!(code, NSID | SUBNET | COOKIE | KEEPALIVE) {
                let rcodes = asker.ask(&bytes);
                let may_be_malformed = code != NSID;
                let is_legal = |rcode| rcode == NOERROR || (rcode == FORMERR && may_be_malformed);
                assert!(rcodes.into_iter().all(is_legal), "option {code}, {len} bytes: {rcodes:?}");
            } else {
                // No byte of the answer tells which unknown option there was (RFC 6891 6.1.2).
                assert!(asker.world.answers(&bytes) == ignored, "option {code}, {len} bytes");
            }
        }
    }
}

#[test]
fn every_source_and_scope_length_of_a_client_subnet_is_judged_as_the_rfc_says() {
    let mut asker = Asker::new();
    for family in 0..=3 {
        for source in 0..=u8::MAX {
            for len in [usize::from(source).div_ceil(8), usize::from(source / 8), 0, 33] {
                for scope in [0, 1, 24, 255] {
                    let data = [vec![0, family, source, scope], vec![0; len]].concat();
                    let rcodes = asker.ask(&packet::query_with("www.gslb.example.com", 1, SUBNET, &data));
                    let expected = if legal::is_subnet(&data) { NOERROR } else { FORMERR };
                    assert_eq!(rcodes, [expected; 2], "{data:?}");
                }
            }
        }
    }
}
