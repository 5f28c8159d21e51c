//! A disk that fails and comes back.

use tempfile::TempDir;

use super::*;
use crate::control::Clock;
use crate::control::model::{Load, Outcome, Remembered};
use crate::control::plan::Plan;

const NOW: Now = Now { mono: Mono(60_000), wall_ms: 1_796_083_200_000 };

fn model() -> Model {
    let load = Load { plan: Plan::default(), damping: Vec::new(), orders: Default::default() };
    Model::new(load, &Remembered::default(), NOW)
}

fn delta(model: &Model, text: &str) -> Line {
    Line::new(model, &Outcome::default(), "probe", text.to_owned())
}

fn whole(model: &Model, cause: &str) -> Line {
    Line::whole(model, cause, String::new())
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let clock = Clock::start();
    while !condition() {
        assert!(clock.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::yield_now();
    }
}

fn causes(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("journal.jsonl")).unwrap();
    let line = |line: &str| serde_json::from_str::<Line>(line).unwrap();
    text.lines().map(line).map(|line| format!("{} {}", line.cause, line.text).trim().to_owned()).collect()
}

#[test]
fn after_a_gap_nothing_is_written_until_a_line_tells_everything_anew() {
    let dir = TempDir::new().unwrap();
    let model = model();
    fs::create_dir(dir.path().join("journal.jsonl")).unwrap();
    let mut recorder = Recorder::start(dir.path()).unwrap();
    recorder.line(whole(&model, "start"));
    wait_until("trouble", || recorder.trouble().is_some());
    assert!(recorder.trouble().is_some_and(|trouble| trouble.contains("answers go on")));
    fs::remove_dir(dir.path().join("journal.jsonl")).unwrap();

    recorder.line(delta(&model, "makes no sense"));
    assert_eq!(recorder.dropped(), 2);
    assert!(recorder.wants_checkpoint(NOW.mono));
    assert!(!recorder.wants_checkpoint(NOW.mono), "not with every tick");
    recorder.line(whole(&model, "checkpoint"));
    recorder.line(delta(&model, "makes sense"));
    wait_until("no trouble", || recorder.trouble().is_none());
    assert!(!recorder.wants_checkpoint(NOW.mono.after(CHECKPOINT_AFTER)));
    drop(recorder);
    assert_eq!(causes(dir.path()), ["checkpoint", "probe makes sense"]);
}

#[test]
fn a_line_that_a_crash_tore_is_closed_before_the_next_one() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("journal.jsonl"), "{\"half").unwrap();
    let recorder = Recorder::start(dir.path()).unwrap();
    recorder.line(whole(&model(), "start"));
    drop(recorder);
    let text = fs::read_to_string(dir.path().join("journal.jsonl")).unwrap();
    assert!(text.starts_with("{\"half\n{"), "{text}");
}

#[test]
fn a_long_journal_is_set_aside_where_a_line_tells_everything_anew() {
    let dir = TempDir::new().unwrap();
    let model = model();
    let journal = File::create(dir.path().join("journal.jsonl")).unwrap();
    journal.set_len(MAX_JOURNAL_BYTES).unwrap();
    let mut recorder = Recorder::start(dir.path()).unwrap();
    recorder.line(delta(&model, "one more"));
    wait_until("full", || recorder.shared.full.load(Ordering::Relaxed));
    assert!(recorder.wants_checkpoint(NOW.mono));
    recorder.line(whole(&model, "checkpoint"));
    drop(recorder);
    assert_eq!(causes(dir.path()), ["checkpoint"]);
    assert!(fs::metadata(dir.path().join("journal.1.jsonl")).unwrap().len() > MAX_JOURNAL_BYTES);
}

#[test]
fn a_device_is_never_replaced_by_a_file() {
    let dir = TempDir::new().unwrap();
    let link = dir.path().join("state");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    assert!(write_atomically(&link, b"x").is_err());
}

#[test]
fn a_saved_table_that_cannot_be_used_says_why() {
    let dir = TempDir::new().unwrap();
    assert!(matches!(read_saved(dir.path()), Ok(None)));
    for text in ["", "{", "{\"version\":9,\"saved_at_ms\":0,\"serial\":1,\"checks\":[],\"held\":[]}"] {
        fs::write(dir.path().join("health.json"), text).unwrap();
        let error = read_saved(dir.path()).unwrap_err().to_string();
        assert!(error.contains("health.json"), "{error}");
    }
}

#[test]
fn a_folder_that_is_taken_away_is_made_again_with_a_journal_that_tells_everything_anew() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    let model = model();
    let mut recorder = Recorder::start(&state).unwrap();
    recorder.line(whole(&model, "start"));
    wait_until("the first line", || state.join("journal.jsonl").exists());
    fs::rename(&state, dir.path().join("elsewhere")).unwrap();

    recorder.line(delta(&model, "into nowhere"));
    wait_until("trouble", || recorder.trouble().is_some_and(|trouble| trouble.contains("was taken away")));
    assert!(recorder.wants_checkpoint(NOW.mono));
    recorder.line(whole(&model, "checkpoint"));
    recorder.save(NOW, &model);
    drop(recorder);
    assert_eq!(causes(&state), ["checkpoint"]);
    assert!(state.join("health.json").exists());
}
