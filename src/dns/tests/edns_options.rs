//! EDNS and its options (RULES A5, G1, G4, G5; RFC 6891, 7871, 5001, 7828).

use super::*;

const SUBNET: u16 = 8;
/// 192.0.2.0/24.
const V4: [u8; 7] = [0, 1, 24, 0, 192, 0, 2];

fn ask_with(name: &str, qtype: u16, options: &[(u16, &[u8])]) -> Answer {
    send(&query(name, qtype, Some(&opt(options))))
}

#[test]
fn opt_is_answered_when_asked_and_never_volunteered() {
    assert!(ask("www", A).opt().is_none());
    let answer = ask_with("www", A, &[]).opt().unwrap();
    assert_eq!((answer.fixed, answer.options.len()), (vec![4, 208, 0, 0, 0, 0], 0), "1,232 bytes, version 0");
}

#[test]
fn opt_is_in_negative_answers_and_errors_too() {
    for (name, code) in [("nothing", 3), ("down", 2), ("outside.", 5), ("static", 0)] {
        let answer = ask_with(name, A, &[(SUBNET, &V4)]);
        assert_eq!(answer.code(), code);
        assert_eq!(answer.option(SUBNET).unwrap()[..3], V4[..3], "{name}");
    }
}

#[test]
fn a_higher_version_is_badvers_without_options() {
    for version in [1, 2, 255] {
        let mut opt = opt(&[(SUBNET, &V4), (3, &[])]);
        opt[6] = version;
        let answer = send(&query("www", A, Some(&opt)));
        let fields = answer.opt().unwrap();
        assert_eq!((answer.code(), fields.fixed[2], fields.fixed[3]), (0, 1, 0), "16, in two parts");
        assert_eq!((fields.options.len(), answer.answers().len(), answer.aa()), (0, 0, false));
    }
}

#[test]
fn the_do_bit_is_copied_and_other_flags_are_not() {
    let mut opt = opt(&[]);
    (opt[7], opt[8]) = (0xff, 0xff);
    assert_eq!(send(&query("www", A, Some(&opt))).opt().unwrap().fixed[4..], [0x80, 0]);
}

#[test]
fn a_second_opt_an_owner_or_an_option_that_overruns_is_malformed() {
    let mut twice = query("www", A, Some(&opt(&[]).repeat(2)));
    twice[11] = 2;
    let owned = query("www", A, Some(&[&[1, b'a'], &opt(&[])[..]].concat()));
    for bytes in [twice, owned] {
        let answer = send(&bytes);
        assert_eq!((answer.code(), answer.bytes[5], answer.opt().is_none()), (1, 1, true));
    }
    for data in [&[0, 8, 0][..], &[0x55, 0x55, 0, 2, 1]] {
        let record = [&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, data.len() as u8], data].concat();
        let answer = send(&query("www", A, Some(&record)));
        assert_eq!((answer.code(), answer.opt().is_some()), (1, true));
    }
}

#[test]
fn opt_outside_the_additional_section_is_malformed() {
    let mut bytes = query("www", A, Some(&opt(&[])));
    (bytes[11], bytes[9]) = (0, 1);
    assert_eq!((send(&bytes).code(), send(&bytes).opt().is_none()), (1, true));
}

#[test]
fn unknown_options_are_ignored_and_not_echoed() {
    let answer = ask_with("www", A, &[(0x5555, b"foo"), (14, &[0x4a, 0x5c]), (12, &[0; 9])]);
    assert_eq!((answer.code(), answer.opt().unwrap().options.len()), (0, 0));
}

#[test]
fn a_subnet_is_echoed_byte_for_byte_with_the_scope_of_the_decision() {
    let v6 = [0, 2, 56, 0, 0x20, 1, 0xd, 0xb8, 0, 0, 1];
    let one_bit = [0, 1, 1, 0, 0x80];
    for (option, scope) in [(&V4[..], 22), (&v6, 22), (&one_bit, 3)] {
        let echoed = ask_with("www", A, &[(SUBNET, option)]).option(SUBNET).unwrap();
        assert_eq!(echoed[3], scope);
        assert_eq!([&echoed[..3], &[0], &echoed[4..]].concat(), option);
    }
}

#[test]
fn the_scope_is_zero_without_a_source_length_for_negative_and_for_static_answers() {
    assert_eq!(ask_with("www", A, &[(SUBNET, &[0, 1, 0, 0])]).option(SUBNET).unwrap(), [0, 1, 0, 0]);
    for (name, qtype) in
        [("static", A), ("nothing", A), ("www", HTTPS), ("v4", AAAA), ("www", TXT), ("www", ANY)]
    {
        let answer = ask_with(name, qtype, &[(SUBNET, &V4)]);
        assert_eq!(answer.option(SUBNET).unwrap(), V4, "{name} {qtype}");
    }
}

#[test]
fn with_subnets_switched_off_they_are_echoed_with_scope_zero() {
    let mut view = view();
    Arc::make_mut(&mut view.settings).ecs = false;
    let answer = send_as(&view, Transport::Udp, &query("www", A, Some(&opt(&[(SUBNET, &V4)])))).unwrap();
    assert_eq!((answer.option(SUBNET).unwrap(), answer.answers().len()), (V4.to_vec(), 3));
}

#[test]
fn a_malformed_subnet_is_formerr_without_the_option() {
    let bad: [&[u8]; 14] = [
        &[],
        &[0, 1, 24],                     // shorter than its fixed part
        &[0, 1, 24, 1, 192, 0, 2],       // a scope in a query
        &[0, 0, 0, 0],                   // family 0
        &[0, 3, 24, 0, 192, 0, 2],       // family 3
        &[0, 42, 0, 0],                  // family 42, without address
        &[0, 1, 33, 0, 192, 0, 2, 1, 0], // longer than IPv4
        &[0, 1, 32, 0, 192, 0, 2],       // too few bytes
        &[0, 1, 16, 0, 192, 0, 2],       // too many bytes
        &[0, 1, 0, 0, 192],              // bytes behind nothing
        &[0, 1, 23, 0, 192, 0, 3],       // a bit beyond the source length
        &[0, 1, 1, 0, 0xc0],             // likewise
        &[0, 2, 129, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 2, 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ];
    for option in bad {
        let answer = ask_with("www", A, &[(SUBNET, option)]);
        assert_eq!((answer.code(), answer.bytes[5]), (1, 1), "{option:?}");
        assert_eq!(answer.opt().map(|opt| opt.options.len()), Some(0), "{option:?}");
    }
}

#[test]
fn nsid_is_answered_when_asked_and_configured() {
    assert_eq!(ask_with("www", A, &[(3, &[])]).option(3).unwrap(), b"ns1");
    assert_eq!(ask_with("www", A, &[]).option(3), None);
    let mut view = view();
    for nsid in [Vec::new(), vec![b'x'; edns::MAX_NSID_LEN + 1]] {
        Arc::make_mut(&mut view.settings).nsid = nsid;
        let answer = send_as(&view, Transport::Udp, &query("www", A, Some(&opt(&[(3, &[])])))).unwrap();
        assert_eq!((answer.option(3), answer.code()), (None, 0));
    }
}

#[test]
fn keepalive_is_answered_over_tcp_only() {
    let asked = query("www", A, Some(&opt(&[(11, &[])])));
    assert_eq!(send_as(&view(), Transport::Tcp, &asked).unwrap().option(11).unwrap(), [0, 100]);
    assert_eq!(send_as(&view(), Transport::Udp, &asked).unwrap().option(11), None);
}

#[test]
fn a_timeout_in_a_query_is_malformed_over_tcp_and_ignored_over_udp() {
    let asked = query("www", A, Some(&opt(&[(11, &[0, 100])])));
    let answer = send_as(&view(), Transport::Tcp, &asked).unwrap();
    assert_eq!((answer.code(), answer.answers().len(), answer.opt().is_some()), (1, 0, true));
    assert_eq!(send(&asked).code(), 0);
}

#[test]
fn what_an_nsid_request_holds_is_ignored() {
    assert_eq!(ask_with("www", A, &[(3, b"whatever")]).option(3).unwrap(), b"ns1");
}

#[test]
fn up_to_64_options_are_read_and_more_are_malformed() {
    let unknown: (u16, &[u8]) = (65_001, &[]);
    let most = [vec![unknown; edns::MAX_OPTIONS - 1], vec![(SUBNET, &V4[..])]].concat();
    let answer = ask_with("www", A, &most);
    assert_eq!((answer.code(), answer.option(SUBNET).is_some()), (0, true));
    let answer = ask_with("www", A, &[most, vec![unknown]].concat());
    assert_eq!((answer.code(), answer.opt().is_some()), (1, true));
}
