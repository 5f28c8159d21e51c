//! Journals as a server writes them, whole and torn.

use std::collections::BTreeSet;

use super::*;
use crate::config::admin::AdminFile;
use crate::control::desk::{Desk, Message};
use crate::control::recorder::Recorder;
use crate::control::{Clock, Now};
use crate::health::{Evidence, Mono, Observation, Verdict};
use crate::serve::admin::fixture::loaded;

/// The journal of a server whose web checks of cn die, and come back.
fn journal() -> String {
    let dir = tempfile::tempdir().unwrap();
    let start = Clock::start().now();
    let recorder = Recorder::start(dir.path()).unwrap();
    let mut desk = Desk::new(loaded(), AdminFile::default(), None, recorder, start);
    let dead = Verdict::Failed(Evidence::Plain);
    for s in 1..400 {
        let now = Now { mono: Mono(start.mono.0 + s * 1_000), wall_ms: start.wall_ms + s as i64 * 1_000 };
        for check in 0..4 {
            let verdict = if check < 2 && (10..20).contains(&s) { dead } else { Verdict::Ok };
            let observation = Observation::new(verdict, "", std::time::Duration::ZERO);
            desk.take(now, Message::Observed { generation: 1, check, observation });
        }
        desk.tick(now);
    }
    drop(desk);
    std::fs::read_to_string(dir.path().join("journal.jsonl")).unwrap()
}

fn replayed(text: &str, drains: &[&str]) -> Result<(Report, Vec<String>), Failure> {
    let drains: Vec<String> = drains.iter().map(|&region| region.to_owned()).collect();
    let mut reading = Reading::new(None, &drains);
    reading.read(text.as_bytes(), |_| {}).unwrap();
    reading.finish()
}

#[test]
fn what_a_server_recorded_comes_out_again_exactly() {
    let journal = journal();
    let (report, notes) = replayed(&journal, &[]).unwrap();
    assert_eq!(report.lines, journal.lines().count() as u64);
    assert!(report.lines > 3, "cn fell and came back");
    assert_eq!((report.differences.len(), report.unusable.len(), notes.len()), (0, 0, 0), "{report:?}");
    assert!(text(&report, false).contains("every decision is the one that was served"));
}

#[test]
fn a_drain_added_names_who_would_have_moved() {
    let (report, _) = replayed(&journal(), &["us"]).unwrap();
    // Others' users go to cn first, and to eu while cn is out: nobody else is ever sent to us.
    let moved: BTreeSet<(&str, &str)> =
        report.differences.iter().map(|moved| (moved.service.as_str(), moved.home.as_str())).collect();
    let want = [("api.gslb.example.com", "us"), ("www.gslb.example.com", "us")];
    assert_eq!(moved, BTreeSet::from(want));
    assert!(text(&report, true).contains("served otherwise"));
}

#[test]
fn a_drain_of_a_region_that_never_was_is_a_usage_error() {
    let failure = replayed(&journal(), &["uk"]).unwrap_err();
    assert_eq!(failure.exit, Exit::USAGE);
    assert!(failure.hint.contains("cn, eu, us"));
}

#[test]
fn a_torn_last_line_is_left_out_with_a_note() {
    let journal = journal();
    let torn = &journal[..journal.len() - 20];
    let (report, notes) = replayed(torn, &[]).unwrap();
    assert_eq!((report.differences.len(), report.unusable.len()), (0, 0));
    assert!(notes[0].contains("a line is torn"), "{notes:?}");
}

#[test]
fn a_torn_line_is_forgiven_before_one_that_tells_everything_anew_and_nowhere_else() {
    let journal = journal();
    let crashed = format!("{journal}{{\"serial\":9,\n{journal}");
    let (report, notes) = replayed(&crashed, &[]).unwrap();
    assert_eq!((report.unusable.len(), notes.len()), (0, 1), "{notes:?}");

    // After a full disk it is a checkpoint.
    let mut lines: Vec<&str> = journal.lines().collect();
    let checkpoint = lines[0].replacen("\"cause\":\"start\"", "\"cause\":\"checkpoint\"", 1);
    assert_ne!(checkpoint, lines[0]);
    let (report, notes) = replayed(&format!("{journal}{{\"serial\":9,\n{checkpoint}\n"), &[]).unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(!report.unusable.iter().any(|line| line.contains("not a journal's")), "{report:?}");

    lines[1] = "{\"serial\":2,";
    let (report, _) = replayed(&(lines.join("\n") + "\n"), &[]).unwrap();
    assert!(report.unusable.iter().any(|line| line.starts_with("line 2 is not a journal's:")), "{report:?}");
}

#[test]
fn what_is_no_journal_at_all_is_bad() {
    let (report, _) = replayed("hello\nworld\n", &[]).unwrap();
    assert_eq!((report.lines, report.unusable.len()), (0, 2));
}
