//! The file under a moved clock: what rests counts, everything else waits.

use tempfile::TempDir;

use super::*;

const CONFIG: &str = r#"version = 1
[routing]
fallback = ["cn", "eu"]
[[services]]
name = "www.gslb.example.com"
requires = []
[services.endpoints]
cn = ["192.0.2.11"]
eu = ["198.51.100.11"]
"#;

const DRAIN: &str = "[[drain]]\nregion = \"cn\"\nreason = \"x\"\n";

/// 2026-12-01T00:00:00Z: behind every file's time, so that a file has not rested at start.
const WALL_MS: i64 = 1_796_083_200_000;

struct Desk {
    dir: TempDir,
    config: Config,
    now: Mono,
}

impl Desk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("waypost.toml");
        let mut config = Config::parse(CONFIG, &path, &|_| None, "test").unwrap();
        config.admin_file = dir.path().join("admin.toml");
        config.state_dir = dir.path().to_owned();
        Self { dir, config, now: Mono(0) }
    }

    fn start(&self) -> Started {
        AdminSource::start(&self.config, self.now, i64::MAX / 2_000_000)
    }

    fn write(&self, text: &str) {
        fs::write(&self.config.admin_file, text).unwrap();
    }

    /// Looks now and every 200 ms until `ms` have passed; what was not `Same`, with its moment.
    fn look(&mut self, source: &mut AdminSource, ms: u64) -> Vec<(u64, Looked)> {
        let mut looked = Vec::new();
        let from = self.now;
        while self.now.since(from) <= Duration::from_millis(ms) {
            match source.look(&self.config, self.now, WALL_MS) {
                Looked::Same => {}
                other => looked.push((self.now.0 - from.0, other)),
            }
            self.now = self.now.after(LOOK_EVERY);
        }
        looked
    }
}

fn drains(looked: &Looked) -> usize {
    match looked {
        Looked::Accepted(file) => file.drains.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_counts_once_it_has_rested_for_a_second() {
    let mut desk = Desk::new();
    let mut source = desk.start().source;
    assert!(desk.look(&mut source, 3_000).is_empty(), "no file is no news");
    desk.write(DRAIN);
    let looked = desk.look(&mut source, 3_000);
    assert_eq!((looked.len(), looked[0].0, drains(&looked[0].1)), (1, 1_000, 1));
    assert_eq!(source.accepted(), DRAIN);
}

#[test]
fn a_file_that_keeps_changing_waits_until_it_rests() {
    let mut desk = Desk::new();
    let mut source = desk.start().source;
    for number in 0..20 {
        desk.write(&format!("{DRAIN}# {}\n", "x".repeat(number)));
        assert!(desk.look(&mut source, 400).is_empty());
    }
    assert_eq!(desk.look(&mut source, 1_000).len(), 1);
}

#[test]
fn half_a_line_has_two_seconds_to_become_whole() {
    let mut desk = Desk::new();
    let mut source = desk.start().source;
    desk.write(DRAIN.trim_end());
    assert!(desk.look(&mut source, 1_600).is_empty());
    let looked = desk.look(&mut source, 1_000);
    assert!(matches!(&looked[..], [(200, Looked::Refused(errors))] if errors.first_line == 3), "{looked:?}");
    assert!(desk.look(&mut source, 3_000).is_empty(), "told once");
    desk.write(DRAIN);
    assert_eq!(desk.look(&mut source, 3_000).len(), 1);
}

#[test]
fn a_file_that_is_gone_for_a_moment_is_not_gone() {
    let mut desk = Desk::new();
    desk.write(DRAIN);
    let mut source = desk.start().source;
    fs::remove_file(&desk.config.admin_file).unwrap();
    assert!(desk.look(&mut source, 800).is_empty());
    desk.write(DRAIN);
    assert!(desk.look(&mut source, 3_000).is_empty(), "the same text again is no news");
    fs::remove_file(&desk.config.admin_file).unwrap();
    let looked = desk.look(&mut source, 3_000);
    assert!(matches!(&looked[..], [(1_000, Looked::Gone)]), "{looked:?}");
    desk.write(DRAIN);
    assert_eq!(desk.look(&mut source, 3_000).len(), 1, "its return is, since it was missed");
}

#[test]
fn what_is_no_file_is_refused_once_and_never_read() {
    let mut desk = Desk::new();
    let mut source = desk.start().source;
    fs::create_dir(&desk.config.admin_file).unwrap();
    let looked = desk.look(&mut source, 3_000);
    assert!(matches!(&looked[..], [(1_000, Looked::Refused(_))]), "{looked:?}");
    assert!(source.text().is_err());
}

#[test]
fn the_same_file_is_read_again_when_what_it_is_held_against_changed() {
    let mut desk = Desk::new();
    let mut source = desk.start().source;
    desk.write("[[drain]]\nregion = \"us\"\nreason = \"x\"\n");
    let looked = desk.look(&mut source, 3_000);
    assert!(matches!(&looked[..], [(_, Looked::Refused(_))]), "{looked:?}");
    let with_us = CONFIG.replace("\"eu\"]", "\"eu\", \"us\"]");
    let admin_file = desk.config.admin_file.clone();
    desk.config = Config::parse(&with_us, &desk.dir.path().join("waypost.toml"), &|_| None, "test").unwrap();
    desk.config.admin_file = admin_file;
    source.look_again();
    let looked = desk.look(&mut source, 3_000);
    assert_eq!((looked.len(), drains(&looked[0].1)), (1, 1));
}

#[test]
fn a_copy_that_could_not_be_written_is_tried_again() {
    let mut desk = Desk::new();
    let mut source = desk.start().source;
    let copy = desk.dir.path().join(ACCEPTED);
    fs::create_dir(&copy).unwrap();
    desk.write(DRAIN);
    assert_eq!(desk.look(&mut source, 3_000).len(), 1, "in force all the same");
    assert!(source.copy_failed().is_some());
    fs::remove_dir(&copy).unwrap();
    assert!(desk.look(&mut source, COPY_AGAIN.as_millis() as u64).is_empty());
    assert_eq!(source.copy_failed(), None);
    assert_eq!(fs::read_to_string(&copy).unwrap(), DRAIN);
}

#[test]
fn at_start_the_copy_stands_in_for_a_file_that_is_broken_or_gone() {
    let desk = Desk::new();
    desk.write(DRAIN);
    assert_eq!(desk.start().file.drains.len(), 1);
    desk.write("[[drain]]\nregion = \"mars\"\n");
    let started = desk.start();
    assert_eq!(started.file.drains.len(), 1);
    assert_eq!(started.problem.map(|problem| problem.first_line), Some(2));
    fs::remove_file(&desk.config.admin_file).unwrap();
    let started = desk.start();
    assert_eq!(started.file.drains.len(), 1);
    assert!(started.problem.is_some_and(|problem| problem.text.contains("gone")));
    // Nothing was ever in force: no error.
    fs::remove_file(desk.dir.path().join(ACCEPTED)).unwrap();
    let started = desk.start();
    assert!(started.problem.is_none() && started.file.drains.is_empty());
}

#[test]
fn a_file_that_was_written_a_moment_ago_is_left_to_rest_at_start() {
    let mut desk = Desk::new();
    desk.write(DRAIN);
    let started = AdminSource::start(&desk.config, desk.now, 0);
    assert!(started.problem.is_none() && started.file.drains.is_empty());
    let mut source = started.source;
    assert_eq!(desk.look(&mut source, 3_000).len(), 1);
}
