use super::*;
use crate::control::model::tests::{CN, DOWN, OK, Sim, US, plan, web_of};

fn saved() -> Saved {
    let mut sim = Sim::new(Plan { manual_failback: vec![true; 3], ..plan() });
    sim.rounds(3, |_| OK);
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    let saved = Saved::of(&sim.model, sim.now.wall_ms);
    let text = serde_json::to_string(&saved).unwrap();
    assert_eq!(serde_json::from_str::<Saved>(&text).unwrap(), saved, "as it lies on the disk");
    saved
}

#[test]
fn levels_are_found_again_by_probe_region_and_address_under_any_plan() {
    let saved = saved();
    let mut other = plan();
    other.checks.reverse();
    other.checks[0].probe = "another".into();
    let remembered = saved.remembered(&other, saved.saved_at_ms);
    for (check, level) in other.checks.iter().zip(&remembered.levels) {
        let expected = match (check.probe.as_str(), check.region) {
            ("another", _) => None,
            ("web", CN) => Some(Level::Down),
            _ => Some(Level::Up),
        };
        assert_eq!(*level, expected, "{check:?}");
    }
}

#[test]
fn levels_older_than_five_minutes_or_from_the_future_say_nothing_but_held_regions_stay_held() {
    let saved = saved();
    for (age_ms, fresh) in [(0, true), (MAX_AGE_MS, true), (MAX_AGE_MS + 1, false), (-1, false)] {
        let wall_ms = saved.saved_at_ms + age_ms;
        assert_eq!(saved.is_fresh(wall_ms), fresh, "{age_ms} ms old");
        let remembered = saved.remembered(&plan(), wall_ms);
        assert_eq!(remembered.levels.iter().any(Option::is_some), fresh);
        assert_eq!(remembered.held, [(0, CN)]);
    }
}

#[test]
fn held_places_follow_their_names_and_what_is_gone_is_forgotten() {
    let saved = saved();
    let mut turned = plan();
    turned.regions = ["us", "eu", "cn"].map(str::to_owned).to_vec();
    assert_eq!(saved.remembered(&turned, saved.saved_at_ms).held, [(0, US)], "cn is the last one here");
    let mut renamed = plan();
    renamed.services[0].name = "other.gslb.example.com".into();
    assert!(saved.remembered(&renamed, saved.saved_at_ms).held.is_empty());
}

#[test]
fn garbage_numbers_are_survived() {
    for (saved_at_ms, serial) in [(i64::MIN, u64::MAX), (i64::MAX, 0)] {
        let saved = Saved { version: Saved::VERSION, saved_at_ms, serial, checks: vec![], held: vec![] };
        assert!(!saved.is_fresh(1_796_000_000_000));
        let remembered = saved.remembered(&Plan::default(), 1_796_000_000_000);
        assert!(remembered.serial.checked_add(1_000_000).is_some());
    }
}
