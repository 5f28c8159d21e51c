use super::*;
use crate::control::inputs::{Change, Orders};

fn line(serial: u64, cause: &str) -> String {
    let whole = Change::Plan {
        plan: Box::default(),
        readings: Vec::new(),
        held: Vec::new(),
        put_off: Vec::new(),
        orders: Orders::default(),
    };
    let line = Line {
        serial,
        at: "2026-12-01T00:00:00Z".into(),
        at_ms: 1_796_083_200_000,
        cause: cause.into(),
        text: String::new(),
        changes: if cause == "start" { vec![whole] } else { Vec::new() },
        touched: Vec::new(),
        more: 0,
        digest: String::new(),
    };
    serde_json::to_string(&line).unwrap() + "\n"
}

/// Serials of what is read, `None` for what is an error; and how many lines were torn.
fn read(text: &str) -> (Vec<Option<u64>>, u64) {
    let mut lines = read_lines(text.as_bytes());
    let serials = lines.by_ref().map(|line| line.ok().map(|line| line.serial)).collect();
    (serials, lines.torn())
}

#[test]
fn every_line_is_read_and_blank_ones_are_nothing() {
    let text = format!("{}\n{}", line(1, "start"), line(2, "probe"));
    assert_eq!(read(&text), (vec![Some(1), Some(2)], 0));
    assert_eq!(read(""), (vec![], 0));
}

#[test]
fn a_torn_last_line_is_left_out_wherever_it_is_torn() {
    let last = line(2, "probe");
    for cut in 1..last.len() - 1 {
        let text = line(1, "start") + &last[..cut];
        assert_eq!(read(&text), (vec![Some(1)], 1), "torn after {cut} bytes");
    }
}

#[test]
fn a_last_line_that_lacks_only_its_newline_counts() {
    let text = line(1, "start") + line(2, "probe").trim_end();
    assert_eq!(read(&text), (vec![Some(1), Some(2)], 0));
}

#[test]
fn a_line_that_a_crash_tore_before_the_next_start_is_left_out() {
    let text = line(1, "start") + &line(2, "probe")[..30] + "\n" + &line(1, "start") + &line(2, "probe");
    assert_eq!(read(&text), (vec![Some(1), Some(1), Some(2)], 1));
}

#[test]
fn a_broken_line_in_the_middle_is_an_error_with_its_number_and_the_rest_is_read() {
    let text = line(1, "start") + "{}\nnothing\n" + &line(3, "probe");
    assert_eq!(read(&text), (vec![Some(1), None, None, Some(3)], 0));
    let error = read_lines(text.as_bytes()).find_map(Result::err).unwrap();
    assert!(error.to_string().starts_with("line 2 is not a journal's: "), "{error}");
}

#[test]
fn bytes_that_are_no_text_are_an_error_not_the_end() {
    let mut bytes = line(1, "start").into_bytes();
    bytes.extend_from_slice(b"\xff\xfe\n");
    bytes.extend_from_slice(line(2, "probe").as_bytes());
    let read: Vec<bool> = read_lines(&bytes[..]).map(|line| line.is_ok()).collect();
    assert_eq!(read, [true, false, true]);
}
