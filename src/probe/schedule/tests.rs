//! Most of these run under a clock that moves by itself when everybody waits: hours take milliseconds.

use proptest::prelude::*;
use tokio::time::{Instant as Moment, timeout};

use super::*;
use crate::config::ProbeKind;
use crate::health::Verdict;
use crate::probe::tests::server::{Manner, Server};
use crate::probe::tests::spec;

const INTERVAL: Duration = Duration::from_secs(5);
const FAST: Duration = Duration::from_secs(1);
const AMPLE: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(3600);

/// A check that is done at once and needs nobody: its file is missing.
fn quick(id: u32) -> CheckSpec {
    let kind = ProbeKind::File { path: "/nonexistent/file".to_owned(), max_age: FAST };
    CheckSpec { id, ..spec(kind, LONG) }
}

fn tcp(id: u32, server: &Server) -> CheckSpec {
    CheckSpec { id, ..spec(ProbeKind::Tcp { address: server.address.to_string() }, LONG) }
}

fn http(server: &Server) -> ProbeKind {
    ProbeKind::Http(crate::probe::tests::get(server.url("/")))
}

fn start(specs: Vec<CheckSpec>) -> (Prober, mpsc::Receiver<(u32, Observation)>) {
    let (sink, seen) = mpsc::channel(16);
    (Prober::start(specs, sink, Runner::new().unwrap()), seen)
}

#[tokio::test(start_paused = true)]
async fn the_first_run_starts_at_once_and_the_next_ones_an_interval_later_with_little_jitter() {
    let begin = Moment::now();
    let (_prober, mut seen) = start(vec![quick(1)]);
    let mut last = begin;
    let mut gaps = Vec::new();
    for number in 0..50 {
        let (id, observation) = seen.recv().await.unwrap();
        assert_eq!((id, observation.verdict), (1, Verdict::Unknown));
        if number == 0 {
            assert!(begin.elapsed() < Duration::from_millis(100), "at once");
        } else {
            gaps.push(last.elapsed());
        }
        last = Moment::now();
    }
    // Timers have a resolution of one millisecond.
    let slack = Duration::from_millis(5);
    for gap in &gaps {
        assert!(*gap + slack >= INTERVAL && *gap <= INTERVAL + INTERVAL / 10 + slack, "{gap:?}");
    }
    assert!(gaps.iter().max().unwrap().abs_diff(*gaps.iter().min().unwrap()) > INTERVAL / 20, "it is spread");
}

#[tokio::test(start_paused = true)]
async fn a_check_in_doubt_runs_at_the_fast_interval_without_jitter() {
    let (prober, mut seen) = start(vec![quick(1)]);
    prober.set_fast(1, true);
    seen.recv().await.unwrap();
    let mut last = Moment::now();
    for _ in 0..20 {
        seen.recv().await.unwrap();
        assert!(last.elapsed().abs_diff(FAST) < Duration::from_millis(5), "{:?}", last.elapsed());
        last = Moment::now();
    }
    prober.set_fast(1, false);
    seen.recv().await.unwrap();
    assert!(last.elapsed() >= INTERVAL - Duration::from_millis(5));
}

#[tokio::test(start_paused = true)]
async fn doubt_wakes_a_check_that_sleeps() {
    let (prober, mut seen) = start(vec![quick(1), quick(2)]);
    for _ in 0..2 {
        seen.recv().await.unwrap();
    }
    let ran = Moment::now();
    tokio::time::advance(Duration::from_millis(300)).await;
    prober.set_fast(2, true);
    assert_eq!(seen.recv().await.unwrap().0, 2);
    assert!(
        ran.elapsed().abs_diff(FAST) < Duration::from_millis(10),
        "a second after the last run, not after now"
    );

    let ran = Moment::now();
    prober.set_fast(2, false);
    tokio::time::advance(Duration::from_secs(3)).await;
    prober.set_fast(2, true);
    assert_eq!(seen.recv().await.unwrap().0, 2);
    assert!(ran.elapsed() < Duration::from_millis(3100), "overdue: at once");
    prober.set_fast(77, true);
}

#[tokio::test(start_paused = true)]
async fn after_stop_nothing_is_sent() {
    let (prober, mut seen) = start((0..8).map(quick).collect());
    for _ in 0..20 {
        seen.recv().await.unwrap();
    }
    prober.stop().await;
    while seen.try_recv().is_ok() {}
    assert!(seen.recv().await.is_none(), "nobody is left who could");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_prober_ends_its_checks() {
    let (prober, mut seen) = start(vec![quick(1)]);
    drop(prober);
    while seen.recv().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn checks_end_when_nobody_listens() {
    let (mut prober, seen) = start(vec![quick(1), quick(2)]);
    drop(seen);
    while prober.tasks.join_next().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn a_full_sink_holds_checks_up_and_loses_nothing() {
    let (sink, mut seen) = mpsc::channel(1);
    let prober = Prober::start((0..5).map(quick).collect(), sink, Runner::new().unwrap());
    tokio::time::advance(LONG).await;
    let mut first: Vec<u32> = Vec::new();
    while first.len() < 5 {
        let (id, _) = seen.recv().await.unwrap();
        if !first.contains(&id) {
            first.push(id);
        }
    }
    prober.stop().await;
}

#[tokio::test(start_paused = true)]
async fn of_two_checks_with_one_id_the_last_counts() {
    let empty = CheckSpec { kind: ProbeKind::Exec { command: Vec::new() }, ..quick(1) };
    let (_prober, mut seen) = start(vec![quick(1), empty]);
    for _ in 0..3 {
        assert_eq!(seen.recv().await.unwrap().1.detail, "the command is empty");
    }
}

#[tokio::test]
async fn stop_ends_a_run_in_the_middle() {
    let server = Server::start(Manner::Silent).await;
    let (prober, mut seen) = start(vec![CheckSpec { kind: http(&server), ..quick(1) }]);
    server.heard_until(|heard| heard.ends_with("\r\n\r\n")).await;
    timeout(AMPLE, prober.stop()).await.expect("stop waits for no timeout");
    assert!(seen.recv().await.is_none());
    server.until_all_closed().await;
}

#[tokio::test]
async fn a_run_on_demand_never_overlaps_the_checks_own() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let script = format!("mkdir {0} || exit 2; sleep 0.02; rmdir {0}", lock.display());
    let command = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
    let busy = CheckSpec { kind: ProbeKind::Exec { command }, fast_interval: FAST / 1000, ..quick(1) };
    let (prober, mut seen) = start(vec![busy]);
    prober.set_fast(1, true);
    for _ in 0..10 {
        let on_demand = [1, 2, 3].map(|_| tokio::spawn(prober.run_now(1).unwrap()));
        assert_eq!(seen.recv().await.unwrap().1.verdict, Verdict::Ok);
        for run in on_demand {
            assert_eq!(run.await.unwrap().verdict, Verdict::Ok);
        }
    }
    prober.stop().await;
}

#[tokio::test]
async fn nobody_runs_an_unknown_check() {
    let (prober, _seen) = start(vec![]);
    assert!(prober.run_now(1).is_none());
}

#[tokio::test]
async fn ten_thousand_checks_all_have_their_first_run() {
    let server = Server::start(Manner::HangUp).await;
    let count = 10_000;
    let (sink, mut seen) = mpsc::channel(1024);
    let specs = (0..count).map(|id| CheckSpec { interval: LONG, ..tcp(id, &server) }).collect();
    // Both ends are in this process: few at a time keeps it within the usual limit on descriptors.
    let prober = Prober::start(specs, sink, Runner::bounded(128).unwrap());
    let mut told = vec![false; count as usize];
    for _ in 0..count {
        let (id, observation) = seen.recv().await.unwrap();
        assert_eq!((observation.verdict, observation.detail.as_str()), (Verdict::Ok, ""));
        assert!(!std::mem::replace(&mut told[id as usize], true), "once each");
    }
    prober.stop().await;
}

#[tokio::test]
async fn however_many_checks_hang_only_so_many_hold_a_connection() {
    let server = Server::start(Manner::Silent).await;
    let (sink, mut seen) = mpsc::channel(64);
    let hang = |id| CheckSpec { kind: http(&server), timeout: Duration::from_millis(200), ..quick(id) };
    let prober = Prober::start((0..40).map(hang).collect(), sink, Runner::bounded(8).unwrap());
    for _ in 0..40 {
        let observation = seen.recv().await.unwrap().1;
        assert!(observation.took < AMPLE, "waiting for a turn is no part of a run");
    }
    prober.stop().await;
    // The server notices that a caller has hung up a moment after the next one has come.
    assert!((8..=16).contains(&server.most_open()), "{} at a time", server.most_open());
}

#[test]
fn a_check_that_waits_is_small() {
    let runner = Runner::new().unwrap();
    let (sink, _seen) = mpsc::channel(1);
    let check = Check { spec: quick(1), fast: watch::Sender::new(false), running: Mutex::new(()) };
    let size = size_of_val(&run(Arc::new(check), runner, sink));
    assert!(size <= 1024, "{size} bytes a check");
}

proptest! {
    #[test]
    fn jitter_is_at_most_a_tenth(id in any::<u32>(), number in any::<u64>(), interval_ms in 0_u64..100_000_000) {
        let interval = Duration::from_millis(interval_ms);
        let jitter = jitter(id, number, interval);
        prop_assert!(jitter <= interval / 10);
        prop_assert_eq!(jitter, super::jitter(id, number, interval));
    }
}
