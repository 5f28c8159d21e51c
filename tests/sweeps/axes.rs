//! Each axis alone, over its whole range, for one name of each kind.

use crate::options;
use crate::packet;
use crate::world::{Asker, BADVERS, FORMERR, KINDS, NOERROR, NOTIMP, Places, REFUSED, put16, query};

/// Longest option data that is tried, in bytes.
const MAX_OPTION: usize = 64;

/// Puts every 16-bit value into each kind of query and compares the rcode with what is expected of the kind's.
fn sweep(
    place: impl Fn(&Places) -> usize,
    expected: impl Fn(u16, u16) -> u16,
    kinds: impl IntoIterator<Item = (&'static str, u16)>,
) {
    let mut asker = Asker::new();
    for (name, rcode) in kinds {
        let (mut bytes, places) = query(name);
        for value in 0..=u16::MAX {
            put16(&mut bytes, place(&places), value);
            assert_eq!(asker.ask(&bytes), expected(value, rcode), "{name} with {value}");
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
fn every_payload_size_is_kept_and_changes_no_rcode() {
    sweep(|places| places.payload, |_, rcode| rcode, KINDS);
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
    let mut bytes = options::query_with("www.gslb.example.com", 0, &[]);
    let options_at = bytes.len() - 6;
    for len in 0..=MAX_OPTION {
        // What a client subnet of that length could be: the oracle knows which are.
        let data: Vec<u8> =
            [0, 1, (8 * len.saturating_sub(4)) as u8, 0].into_iter().chain(1..).take(len).collect();
        bytes.truncate(options_at);
        bytes.extend([(len as u16 + 4).to_be_bytes(), [0; 2], (len as u16).to_be_bytes()].concat());
        bytes.extend(&data);
        for code in 0..=u16::MAX {
            put16(&mut bytes, options_at + 2, code);
            let rcode = asker.ask(&bytes);
            let may_be_malformed = matches!(code, 8 | 10 | 11);
            assert!(rcode == NOERROR || (rcode == FORMERR && may_be_malformed), "option {code}, {len} bytes");
        }
    }
    assert_eq!(asker.asked, 65 << 16);
}

#[test]
fn every_source_and_scope_length_of_a_client_subnet_is_judged_as_the_rfc_says() {
    let mut asker = Asker::new();
    for family in 0..=3 {
        for source in 0..=u8::MAX {
            for len in [usize::from(source).div_ceil(8), usize::from(source / 8), 0, 33] {
                for scope in [0, 1, 24, 255] {
                    let data = [vec![0, family, source, scope], vec![0; len]].concat();
                    let rcode =
                        asker.ask(&options::query_with("www.gslb.example.com", options::SUBNET, &data));
                    let is_sound = packet::legal::is_subnet(&data);
                    assert_eq!(rcode, if is_sound { NOERROR } else { FORMERR }, "{data:?}");
                }
            }
        }
    }
}
