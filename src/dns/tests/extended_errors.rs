//! Extended errors (RULES A5; RFC 8914).

use super::*;

const EXTENDED: u16 = 15;

fn extended(bytes: &[u8]) -> Option<(u16, String)> {
    let option = send(bytes).option(EXTENDED)?;
    let (code, text) = option.split_first_chunk().unwrap();
    Some((u16::from_be_bytes(*code), String::from_utf8(text.to_vec()).unwrap()))
}

fn asked(name: &str, qtype: u16) -> Vec<u8> {
    query(name, qtype, Some(&opt(&[])))
}

#[test]
fn an_error_says_more_where_its_rcode_says_too_little() {
    let mut status = asked("www", A);
    status[2] = 2 << 3;
    let mut other_class = asked("www", A);
    let class_at = 12 + wire(&full("www")).len() + 3;
    other_class[class_at] = 4;
    for (bytes, code, text) in [
        (asked("outside.", A), 20, ""),
        (other_class, 20, ""),
        (asked("@", 252), 18, ""),
        (asked("@", 251), 18, ""),
        (status, 21, ""),
        (asked("down", A), 0, "no region can serve"),
    ] {
        assert_eq!(extended(&bytes), Some((code, text.to_owned())));
    }
}

#[test]
fn answers_and_plain_errors_say_nothing_more() {
    for (name, qtype) in [("www", A), ("nothing", A), ("static", TXT), ("many", A), ("x.big", A)] {
        assert_eq!(extended(&asked(name, qtype)), None, "{name}");
    }
    let mut badvers = opt(&[]);
    badvers[6] = 1;
    assert_eq!(extended(&query("outside.", A, Some(&badvers))), None);
    assert_eq!(
        extended(&query("outside.", A, Some(&opt(&[(8, &[0, 3, 0, 0])])))),
        None,
        "a malformed subnet"
    );
}

#[test]
fn without_edns_there_is_none() {
    let answer = ask("outside.", A);
    assert_eq!((answer.code(), answer.opt().is_none()), (5, true));
}
