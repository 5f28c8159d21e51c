//! What an order moves, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::table::Table;
use crate::control::operate::Done;
use crate::control::preview::Preview;

/// Services of one move that are named; the rest is counted.
const NAMED_SERVICES: usize = 3;

/// What was done: a sentence, the preview, what to know.
pub(super) fn done_text(done: &Done) -> String {
    let mut text = format!("{}\n", done.text);
    if let Some(serial) = done.serial {
        let _ = writeln!(text, "live from serial {serial} on");
    }
    if let Some(preview) = &done.preview {
        text.push_str(&self::text(preview));
    }
    for warning in &done.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// The preview.
pub(super) fn text(preview: &Preview) -> String {
    let mut text = String::new();
    match preview.share_moved {
        _ if preview.moves.is_empty() => text.push_str("nobody moves\n"),
        Some(share) => {
            let _ = writeln!(text, "moves {:.1} % of all load:", share * 100.0);
        }
        None => text.push_str("moves (load unknown):\n"),
    }
    text.push_str(&moves(preview));
    let known = preview.regions.values().any(|region| region.load.is_some());
    if known {
        text.push_str("then each region carries, in requests/s:\n");
        text.push_str(&headroom(preview));
    }
    for refusal in &preview.refusals {
        let _ = writeln!(text, "the guard: {refusal}");
    }
    for note in &preview.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// One line for each home that moves, however many services do.
fn moves(preview: &Preview) -> String {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for moved in &preview.moves {
        groups.entry((&moved.home, &moved.from, &moved.to)).or_default().push(&moved.service);
    }
    let mut table = Table::new(&[]);
    for ((home, from, to), services) in groups {
        let mut names = services.iter().take(NAMED_SERVICES).copied().collect::<Vec<_>>().join(", ");
        if let Some(more) = services.len().checked_sub(NAMED_SERVICES).filter(|&more| more > 0) {
            let _ = write!(names, " and {more} more");
        }
        table.row([format!("users of {home}"), format!("{from} → {to}"), names]);
    }
    table.render(2)
}

fn headroom(preview: &Preview) -> String {
    let mut table = Table::new(&[]);
    for (region, headroom) in &preview.regions {
        let load = headroom.load.map_or("unknown".to_owned(), |load| format!("{load:.0}"));
        let capacity =
            headroom.capacity.map_or("capacity unknown".to_owned(), |capacity| format!("of {capacity}"));
        let share = match (headroom.load, headroom.capacity) {
            (Some(load), Some(capacity)) if capacity > 0 => {
                format!("{:.0} %", load / capacity as f64 * 100.0)
            }
            _ => String::new(),
        };
        table.row([region.clone(), load, capacity, share]);
    }
    table.render(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::preview::{Headroom, Move};

    fn moved(service: &str) -> Move {
        Move { service: service.into(), home: "cn".into(), from: "cn".into(), to: "eu".into() }
    }

    #[test]
    fn a_preview_says_who_moves_where_and_what_is_left() {
        let headroom = |load, capacity| Headroom { load, capacity };
        let preview = Preview {
            moves: ["a", "b", "c", "d", "e"].map(moved).to_vec(),
            share_moved: Some(0.25),
            regions: [
                ("cn".to_owned(), headroom(Some(0.0), None)),
                ("eu".to_owned(), headroom(Some(30_000.0), Some(40_000))),
                ("us".to_owned(), headroom(None, Some(40_000))),
            ]
            .into(),
            refusals: vec!["eu would have to carry more".into()],
            notes: vec!["load unknown: us".into()],
        };
        let want = "moves 25.0 % of all load:
  users of cn  cn → eu  a, b, c and 2 more
then each region carries, in requests/s:
  cn  0        capacity unknown
  eu  30000    of 40000          75 %
  us  unknown  of 40000
the guard: eu would have to carry more
note: load unknown: us
";
        assert_eq!(text(&preview), want);
    }

    #[test]
    fn an_order_that_moves_nobody_says_so() {
        assert_eq!(text(&Preview::default()), "nobody moves\n");
    }
}
