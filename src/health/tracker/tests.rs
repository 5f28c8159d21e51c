use proptest::prelude::*;

use super::*;

const S: u64 = 1_000;
const PLAIN: Verdict = Verdict::Failed(Evidence::Plain);
const EXPLICIT: Verdict = Verdict::Failed(Evidence::Explicit);

fn damping() -> Damping {
    Damping {
        fall: 3,
        rise: 3,
        cooldown: Duration::from_secs(90),
        grace: Duration::from_secs(45),
        interval: Duration::from_secs(5),
        fast_interval: Duration::from_secs(1),
    }
}

/// A check under a clock that is moved by hand.
struct Watched {
    tracker: Tracker,
    now: Mono,
}

impl Watched {
    fn new() -> Self {
        Self { tracker: Tracker::new(damping()), now: Mono(0) }
    }

    fn up() -> Self {
        let mut watched = Self::new();
        watched.sees(&[Verdict::Ok; 3]);
        watched
    }

    fn restored(level: Level) -> Self {
        Self { tracker: Tracker::restored(damping(), level), now: Mono(0) }
    }

    /// One result a second; the last turn among them.
    fn sees(&mut self, verdicts: &[Verdict]) -> Option<Turn> {
        let mut last = None;
        for &verdict in verdicts {
            last = self.tracker.observe(self.now, verdict).or(last);
            self.pass(1);
        }
        last
    }

    fn pass(&mut self, seconds: u64) {
        self.now = Mono(self.now.0 + seconds * S);
    }

    /// Good results, one a second, until the check is up; how many seconds that took since `left`.
    fn seconds_away_since(&mut self, left: Mono) -> u64 {
        while self.tracker.level() != Level::Up {
            self.tracker.observe(self.now, Verdict::Ok);
            self.pass(1);
        }
        self.now.since(left).as_secs() - 1
    }
}

#[test]
fn the_first_result_sets_the_level_at_once() {
    for (verdict, level) in [
        (Verdict::Ok, Level::Up),
        (Verdict::Degraded, Level::Degraded),
        (PLAIN, Level::Down),
        (EXPLICIT, Level::Down),
    ] {
        let mut check = Watched::new();
        let turn = check.sees(&[verdict]).unwrap();
        assert_eq!((turn.from, turn.to), (Level::Unprobed, level));
        assert_eq!(turn.explicit, verdict == EXPLICIT);
        assert_eq!(check.tracker.explicit(), verdict == EXPLICIT);
    }
}

#[test]
fn a_first_unknown_leaves_a_check_unprobed_and_the_next_result_still_counts_at_once() {
    let mut check = Watched::new();
    assert_eq!(check.sees(&[Verdict::Unknown]), None);
    assert_eq!(check.tracker.level(), Level::Unprobed);
    assert_eq!(check.sees(&[PLAIN]).unwrap().to, Level::Down);
}

#[test]
fn a_check_leaves_with_the_third_bad_result_and_not_with_the_second() {
    let mut check = Watched::up();
    assert_eq!(check.sees(&[PLAIN, PLAIN]), None);
    assert_eq!(check.sees(&[PLAIN]), Some(Turn { from: Level::Up, to: Level::Down, explicit: false }));
}

#[test]
fn a_good_result_between_bad_ones_starts_the_count_anew() {
    let mut check = Watched::up();
    assert_eq!(check.sees(&[PLAIN, PLAIN, Verdict::Ok, PLAIN, PLAIN]), None);
    assert!(check.sees(&[PLAIN]).is_some());
}

#[test]
fn an_unknown_between_bad_results_neither_counts_nor_starts_the_count_anew() {
    let mut check = Watched::up();
    assert_eq!(check.sees(&[PLAIN, Verdict::Unknown, PLAIN, Verdict::Unknown, Verdict::Unknown]), None);
    assert_eq!(check.tracker.streak(), -2);
    assert!(check.sees(&[PLAIN]).is_some());
}

#[test]
fn a_thousand_unknowns_take_nothing_down_and_bring_nothing_back() {
    for level in [Level::Unprobed, Level::Up, Level::Degraded, Level::Down] {
        let mut check = Watched::restored(level);
        assert_eq!(check.sees(&[Verdict::Unknown; 1000]), None);
        assert_eq!(check.tracker.level(), level);
    }
}

#[test]
fn what_the_server_says_itself_needs_only_two_results() {
    let mut check = Watched::up();
    assert_eq!(check.sees(&[EXPLICIT]), None);
    assert_eq!(check.sees(&[EXPLICIT]), Some(Turn { from: Level::Up, to: Level::Down, explicit: true }));
    assert!(check.tracker.explicit());
}

#[test]
fn with_a_fall_of_one_explicit_evidence_needs_one_result() {
    let mut tracker = Tracker::new(Damping { fall: 1, ..damping() });
    tracker.observe(Mono(0), Verdict::Ok);
    assert!(tracker.observe(Mono(1), EXPLICIT).unwrap().explicit);
}

#[test]
fn two_explicit_results_with_a_plain_one_between_are_three_bad_ones_but_no_explicit_fall() {
    let mut check = Watched::up();
    assert!(!check.sees(&[EXPLICIT, PLAIN, EXPLICIT]).unwrap().explicit);
    assert_eq!(check.sees(&[EXPLICIT]), None);
    assert!(check.tracker.explicit(), "evidence that comes after the fall is remembered");
    check.pass(90);
    check.sees(&[Verdict::Ok; 3]).unwrap();
    assert!(!check.tracker.explicit());
}

#[test]
fn a_check_returns_after_rise_and_cooldown_side_by_side() {
    let mut check = Watched::up();
    let left = check.now.after(Duration::from_secs(2));
    check.sees(&[PLAIN; 3]);
    assert_eq!(check.seconds_away_since(left), 90, "good from the start: the cooldown decides");

    let mut check = Watched::up();
    check.sees(&[PLAIN; 200]);
    assert_eq!(check.sees(&[Verdict::Ok; 2]), None, "the cooldown is long over: rise decides");
    assert_eq!(check.sees(&[Verdict::Ok]).unwrap().to, Level::Up);
}

#[test]
fn nobody_returns_without_a_result_that_is_good_now() {
    let mut check = Watched::up();
    check.sees(&[PLAIN; 3]);
    check.sees(&[Verdict::Ok; 5]);
    check.pass(1000);
    assert_eq!(check.sees(&[PLAIN]), None);
    assert_eq!(check.sees(&[Verdict::Ok; 2]), None);
    assert!(check.sees(&[Verdict::Ok]).is_some());
}

#[test]
fn degraded_is_a_departure_from_up_and_down_a_further_one() {
    let mut check = Watched::up();
    assert_eq!(check.sees(&[Verdict::Degraded; 3]).unwrap().to, Level::Degraded);
    check.pass(60);
    let left = check.now.after(Duration::from_secs(2));
    assert_eq!(
        check.sees(&[PLAIN; 3]).unwrap(),
        Turn { from: Level::Degraded, to: Level::Down, explicit: false }
    );
    assert_eq!(check.seconds_away_since(left), 90, "counted from the further departure");
}

#[test]
fn a_slide_over_degraded_needs_no_more_results_than_a_straight_fall() {
    let mut check = Watched::up();
    check.sees(&[Verdict::Degraded, Verdict::Degraded]);
    assert_eq!(check.sees(&[PLAIN]).unwrap().to, Level::Degraded);
    assert_eq!(check.sees(&[PLAIN, PLAIN]).unwrap().to, Level::Down);
}

#[test]
fn down_returns_to_the_worst_of_the_last_better_results_and_then_to_up() {
    let mut check = Watched::up();
    check.sees(&[PLAIN; 100]);
    assert_eq!(check.sees(&[Verdict::Ok, Verdict::Degraded, Verdict::Ok]).unwrap().to, Level::Degraded);
    assert_eq!(check.sees(&[Verdict::Ok, Verdict::Ok]).unwrap().to, Level::Up);
}

#[test]
fn each_relapse_doubles_the_time_away_up_to_half_an_hour() {
    let mut check = Watched::up();
    let mut away = Vec::new();
    for _ in 0..7 {
        let left = check.now.after(Duration::from_secs(2));
        check.sees(&[PLAIN; 3]);
        away.push(check.seconds_away_since(left));
    }
    assert_eq!(away, [90, 180, 360, 720, 1440, 1800, 1800]);
}

#[test]
fn half_an_hour_of_quiet_after_a_return_forgives() {
    for (quiet_s, away_s) in [(1790, 180), (1800, 90)] {
        let mut check = Watched::up();
        check.sees(&[PLAIN; 3]);
        check.seconds_away_since(Mono(0));
        let back = Mono(check.now.0 - S);
        check.now = Mono(back.0 + (quiet_s - 2) * S);
        let left = check.now.after(Duration::from_secs(2));
        check.sees(&[PLAIN; 3]);
        assert_eq!(check.seconds_away_since(left), away_s, "after {quiet_s} s");
    }
}

#[test]
fn a_cooldown_configured_longer_than_the_cap_stays_as_it_is() {
    let hour = Duration::from_secs(3600);
    let mut tracker = Tracker::new(Damping { fall: 1, rise: 1, cooldown: hour, ..damping() });
    tracker.observe(Mono(0), PLAIN);
    tracker.observe(Mono(3600 * S), Verdict::Ok).unwrap();
    tracker.observe(Mono(3601 * S), PLAIN).unwrap();
    assert_eq!(tracker.observe(Mono(7201 * S - 1), Verdict::Ok), None);
    assert!(tracker.observe(Mono(7201 * S), Verdict::Ok).is_some());
}

#[test]
fn a_database_in_its_own_failover_has_its_grace() {
    let mut check = Watched::up();
    assert_eq!(check.sees(&[Verdict::Transitional; 45]), None);
    assert_eq!(check.tracker.level(), Level::Up);
    // From here on each counts as a plain failure.
    assert_eq!(check.sees(&[Verdict::Transitional; 2]), None);
    let turn = check.sees(&[Verdict::Transitional]).unwrap();
    assert_eq!((turn.to, turn.explicit), (Level::Down, false));
}

#[test]
fn a_good_result_starts_the_grace_anew() {
    let mut check = Watched::up();
    check.sees(&[Verdict::Transitional; 44]);
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.sees(&[Verdict::Transitional; 45]), None);
}

#[test]
fn plain_and_explicit_failures_do_not_wait_for_the_grace() {
    let mut check = Watched::up();
    check.sees(&[Verdict::Transitional, PLAIN, Verdict::Transitional, PLAIN]);
    assert_eq!(check.tracker.level(), Level::Up);
    assert_eq!(check.sees(&[PLAIN]).unwrap().to, Level::Down);

    let mut check = Watched::up();
    assert!(check.sees(&[Verdict::Transitional, EXPLICIT, EXPLICIT]).unwrap().explicit);
}

#[test]
fn the_grace_runs_from_the_first_failure_on() {
    let mut check = Watched::up();
    check.sees(&[PLAIN, PLAIN]);
    check.sees(&[Verdict::Transitional; 43]);
    assert_eq!(check.tracker.level(), Level::Up);
    assert_eq!(check.sees(&[Verdict::Transitional]).unwrap().to, Level::Down);
}

#[test]
fn nobody_returns_while_the_server_says_that_it_is_starting() {
    let mut check = Watched::up();
    check.sees(&[PLAIN; 200]);
    check.sees(&[Verdict::Ok, Verdict::Ok]);
    assert_eq!(check.sees(&[Verdict::Transitional, Verdict::Ok, Verdict::Ok]), None);
    assert!(check.sees(&[Verdict::Ok]).is_some());
}

#[test]
fn without_grace_a_transitional_first_result_means_down_and_with_it_unprobed() {
    let mut tracker = Tracker::new(Damping { grace: Duration::ZERO, ..damping() });
    assert_eq!(tracker.observe(Mono(0), Verdict::Transitional).unwrap().to, Level::Down);
    let mut check = Watched::new();
    check.sees(&[Verdict::Transitional; 45]);
    assert_eq!(check.tracker.level(), Level::Unprobed);
    assert_eq!(check.sees(&[Verdict::Transitional]).unwrap().to, Level::Down);
}

#[test]
fn results_that_disagree_make_the_runs_faster_from_the_first_one_on() {
    let Damping { interval, fast_interval, .. } = damping();
    let mut check = Watched::new();
    assert_eq!(check.tracker.interval(), interval);
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.tracker.interval(), interval);
    check.sees(&[PLAIN]);
    assert_eq!(check.tracker.interval(), fast_interval);
    check.sees(&[PLAIN, PLAIN]);
    assert_eq!(check.tracker.interval(), interval, "down, and its results agree");
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.tracker.interval(), fast_interval, "on its way back");
    check.sees(&[Verdict::Unknown]);
    assert_eq!(check.tracker.interval(), fast_interval, "an unknown says nothing");
    let mut check = Watched::up();
    check.sees(&[Verdict::Transitional]);
    assert_eq!(check.tracker.interval(), fast_interval, "a failover is watched closely");
}

#[test]
fn settled_tells_an_answer_how_long_it_may_live() {
    let mut check = Watched::new();
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.tracker.settled(check.now), Settled::Warming);
    check.sees(&[Verdict::Unknown]);
    assert_eq!(check.tracker.settled(check.now), Settled::Warming);
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.tracker.settled(check.now), Settled::Steady);
    assert_eq!(check.tracker.wake(check.now), None);

    check.sees(&[PLAIN]);
    assert_eq!(check.tracker.settled(check.now), Settled::Pending);
    let until = check.now.after(Duration::from_secs(1 + 90));
    check.sees(&[PLAIN, PLAIN]);
    assert_eq!(check.tracker.settled(check.now), Settled::Cooldown { until });
    assert_eq!(check.tracker.wake(check.now), Some(until));
    assert_eq!(check.tracker.settled(until), Settled::Steady, "a long outage is steady");
    assert_eq!(check.tracker.wake(until), None);

    check.now = until;
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.tracker.settled(check.now), Settled::Pending);
    check.sees(&[Verdict::Ok, Verdict::Ok]);
    assert_eq!(check.tracker.settled(check.now), Settled::Steady);
}

#[test]
fn getting_worse_is_pending_even_in_a_cooldown() {
    let mut check = Watched::up();
    check.sees(&[Verdict::Degraded; 3]);
    assert!(matches!(check.tracker.settled(check.now), Settled::Cooldown { .. }));
    check.sees(&[PLAIN]);
    assert_eq!(check.tracker.settled(check.now), Settled::Pending);
}

#[test]
fn a_restart_keeps_the_level_and_warms_up_again() {
    let mut check = Watched::restored(Level::Up);
    assert_eq!(check.tracker.level(), Level::Up);
    assert_eq!(check.sees(&[PLAIN, PLAIN]), None, "the usual damping, not the first result's haste");
    assert_eq!(check.tracker.settled(check.now), Settled::Warming);
    assert!(check.sees(&[PLAIN]).is_some());
}

#[test]
fn a_restart_brings_nobody_back_early() {
    let mut check = Watched::restored(Level::Down);
    assert_eq!(check.seconds_away_since(Mono(0)), 90);
}

#[test]
fn the_streak_counts_good_results_above_zero_and_bad_ones_below() {
    let mut check = Watched::new();
    assert_eq!(check.tracker.streak(), 0);
    check.sees(&[Verdict::Ok, Verdict::Ok]);
    assert_eq!(check.tracker.streak(), 2);
    check.sees(&[Verdict::Degraded, PLAIN, Verdict::Unknown]);
    assert_eq!(check.tracker.streak(), -2);
    check.sees(&[Verdict::Ok]);
    assert_eq!(check.tracker.streak(), 1);
    check.sees(&[Verdict::Transitional]);
    assert_eq!(check.tracker.streak(), 0);
}

#[test]
fn a_fall_or_rise_of_zero_is_read_as_one() {
    let zero = Duration::ZERO;
    let mut tracker = Tracker::new(Damping { fall: 0, rise: 0, cooldown: zero, ..damping() });
    tracker.observe(Mono(0), Verdict::Ok);
    assert_eq!(tracker.observe(Mono(1), Verdict::Ok), None);
    assert_eq!(tracker.observe(Mono(2), PLAIN).unwrap().to, Level::Down);
    assert_eq!(tracker.observe(Mono(3), Verdict::Ok).unwrap().to, Level::Up);
}

#[test]
fn a_million_results_at_the_ends_of_time_overflow_nothing() {
    let huge = Duration::MAX;
    let extremes = [
        Damping { fall: u32::MAX, rise: u32::MAX, cooldown: huge, grace: huge, ..damping() },
        Damping { fall: 1, rise: 1, cooldown: Duration::ZERO, grace: Duration::ZERO, ..damping() },
        damping(),
    ];
    let verdicts = [Verdict::Ok, Verdict::Degraded, PLAIN, EXPLICIT, Verdict::Transitional, Verdict::Unknown];
    for damping in extremes {
        let mut tracker = Tracker::new(damping);
        let mut x = 1_u64;
        for n in 0..333_334_u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let now = if n % 7 == 0 { Mono(x) } else { Mono(n.wrapping_mul(x >> 40)) };
            tracker.observe(now, verdicts[(x >> 33) as usize % verdicts.len()]);
            let _ = (tracker.settled(now), tracker.wake(now), tracker.interval(), tracker.streak());
        }
    }
}

/// The rules once more, as they are written, over the whole history: slow and without cleverness.
struct Plainly {
    damping: Damping,
    level: Level,
    /// What counted: the level asked for, and whether explicitly. `None` ends a run of good ones only.
    history: Vec<Option<(Level, bool)>>,
    trouble: Option<u64>,
    left: Option<u64>,
    back: Option<u64>,
    cooldown_ms: u64,
}

impl Plainly {
    fn new(damping: Damping) -> Self {
        let history = Vec::new();
        Self {
            damping,
            level: Level::Unprobed,
            history,
            trouble: None,
            left: None,
            back: None,
            cooldown_ms: 0,
        }
    }

    fn worse_run(&self, is: impl Fn((Level, bool)) -> bool) -> u32 {
        self.history.iter().rev().flatten().take_while(|&&result| is(result)).count() as u32
    }

    fn better_run(&self, level: Level) -> u32 {
        let good = |result: &&Option<(Level, bool)>| result.is_some_and(|(seen, _)| seen <= level);
        self.history.iter().rev().take_while(good).count() as u32
    }

    fn observe(&mut self, now: u64, verdict: Verdict) -> Level {
        let seen = match verdict {
            Verdict::Unknown => return self.level,
            Verdict::Ok => Level::Up,
            Verdict::Degraded => Level::Degraded,
            Verdict::Failed(_) | Verdict::Transitional => Level::Down,
        };
        self.trouble = if seen == Level::Down { self.trouble.or(Some(now)) } else { None };
        let in_trouble_ms = self.trouble.map_or(0, |since| now - since);
        if verdict == Verdict::Transitional && in_trouble_ms < self.damping.grace.as_millis() as u64 {
            self.history.push(None);
            return self.level;
        }
        self.history.push(Some((seen, verdict == EXPLICIT)));
        let Damping { fall, rise, .. } = self.damping;
        let cooled = self.left.is_none_or(|left| now >= left + self.cooldown_ms);
        let next = if self.level == Level::Unprobed {
            seen
        } else if self.worse_run(|(seen, _)| seen == Level::Down) >= fall
            || self.worse_run(|(_, explicit)| explicit) >= fall.min(2)
        {
            Level::Down
        } else if self.level < Level::Degraded && self.worse_run(|(seen, _)| seen >= Level::Degraded) >= fall
        {
            Level::Degraded
        } else if cooled && self.level > Level::Up && self.better_run(Level::Up) >= rise {
            Level::Up
        } else if cooled && self.level > Level::Degraded && self.better_run(Level::Degraded) >= rise {
            Level::Degraded
        } else {
            self.level
        };
        if next > self.level.max(Level::Up) {
            let base = self.damping.cooldown.as_millis() as u64;
            let relapsed = self.back.is_some_and(|back| now - back < 1_800_000);
            self.cooldown_ms = if relapsed { (self.cooldown_ms * 2).min(base.max(1_800_000)) } else { base };
            self.left = Some(now);
        } else if next < self.level {
            self.back = Some(now);
        }
        self.level = next;
        self.level
    }
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        4 => Just(Verdict::Ok),
        2 => Just(Verdict::Degraded),
        3 => Just(PLAIN),
        2 => Just(EXPLICIT),
        2 => Just(Verdict::Transitional),
        1 => Just(Verdict::Unknown),
    ]
}

/// Results in runs, because single random ones hardly ever make a run of three; each with the milliseconds since the
/// one before.
fn any_history() -> impl Strategy<Value = Vec<(u64, Verdict)>> {
    let run = (any_verdict(), 1_usize..6, prop_oneof![1_u64..2_000, 1_000_u64..200_000, 1_u64..2_000_000]);
    prop::collection::vec(run, 0..60)
        .prop_map(|runs| runs.into_iter().flat_map(|(verdict, n, gap)| vec![(gap, verdict); n]).collect())
}

fn any_damping() -> impl Strategy<Value = Damping> {
    (1_u32..5, 1_u32..5, 0_u64..200_000, prop_oneof![Just(0_u64), 0_u64..60_000]).prop_map(
        |(fall, rise, cooldown_ms, grace_ms)| Damping {
            fall,
            rise,
            cooldown: Duration::from_millis(cooldown_ms),
            grace: Duration::from_millis(grace_ms),
            ..damping()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_state_machine_says_what_the_rules_say_plainly(damping in any_damping(), history in any_history()) {
        let (mut tracker, mut plainly) = (Tracker::new(damping), Plainly::new(damping));
        let mut now = 0;
        for (gap_ms, verdict) in history {
            now += gap_ms;
            let before = tracker.level();
            let turn = tracker.observe(Mono(now), verdict);
            prop_assert_eq!(tracker.level(), plainly.observe(now, verdict));
            prop_assert_eq!(turn.is_some(), tracker.level() != before);
            if let Some(turn) = turn {
                prop_assert_eq!((turn.from, turn.to), (before, tracker.level()));
                prop_assert_eq!(turn.explicit, tracker.explicit());
            }
            if verdict == Verdict::Unknown {
                prop_assert_eq!(turn, None);
            }
            prop_assert!(!tracker.explicit() || tracker.level() == Level::Down);
        }
    }

    #[test]
    fn nobody_stays_longer_than_fall_or_returns_before_rise_and_cooldown(
        damping in any_damping(),
        history in any_history(),
    ) {
        let mut tracker = Tracker::new(damping);
        let (mut now, mut left, mut bad_in_a_row, mut better_in_a_row) = (0, 0, 0, 0);
        for (gap_ms, verdict) in history {
            now += gap_ms;
            let is_bad = matches!(verdict, Verdict::Failed(_));
            let is_better = matches!(verdict, Verdict::Ok | Verdict::Degraded);
            if verdict != Verdict::Unknown {
                bad_in_a_row = if is_bad { bad_in_a_row + 1 } else { 0 };
                better_in_a_row = if is_better { better_in_a_row + 1 } else { 0 };
            }
            if let Some(turn) = tracker.observe(Mono(now), verdict) {
                if turn.to > turn.from && turn.to > Level::Up {
                    left = now;
                } else if turn.from > turn.to {
                    prop_assert!(now - left >= damping.cooldown.as_millis() as u64);
                    prop_assert!(better_in_a_row >= damping.rise);
                }
            }
            prop_assert!(bad_in_a_row < damping.fall || tracker.level() == Level::Down);
        }
    }

    #[test]
    fn the_same_results_leave_the_same_state(damping in any_damping(), history in any_history()) {
        let run = || {
            let (mut tracker, mut now) = (Tracker::new(damping), 0);
            for &(gap_ms, verdict) in &history {
                now += gap_ms;
                tracker.observe(Mono(now), verdict);
            }
            tracker
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn after_the_wake_the_level_is_settled_otherwise(damping in any_damping(), history in any_history()) {
        let (mut tracker, mut now) = (Tracker::new(damping), 0);
        for (gap_ms, verdict) in history {
            now += gap_ms;
            tracker.observe(Mono(now), verdict);
            if let Some(wake) = tracker.wake(Mono(now)) {
                prop_assert!(wake > Mono(now));
                prop_assert_eq!(tracker.settled(Mono(wake.0 - 1)), tracker.settled(Mono(now)));
                prop_assert_ne!(tracker.settled(wake), tracker.settled(Mono(now)));
            } else {
                prop_assert_eq!(tracker.settled(Mono(now + 10_000_000)), tracker.settled(Mono(now)));
            }
        }
    }
}
