use super::*;
use crate::config::admin::AdminFile;
use crate::control::derive::derive;
use crate::control::inputs::Reading;
use crate::control::model::tests::{CN, EU, US, plan};

/// Regions whose database check goes down one after the other.
struct Weather {
    plan: Plan,
    inputs: Inputs,
    storms: Storms,
    explicit: bool,
}

impl Weather {
    fn new() -> Self {
        let plan = plan();
        let mut inputs = Inputs::new(&plan, AdminFile::default());
        inputs.readings.fill(Reading { level: Level::Up, unrest: None });
        Self { plan, inputs, storms: Storms::default(), explicit: false }
    }

    /// The database of a region goes down or comes back; what the storm makes of it, published at once.
    fn turn(&mut self, region: RegionId, level: Level, at_s: u64) -> Option<bool> {
        let before = derive(&self.plan, &self.inputs, 0, 0, None).unwrap();
        let db = |check: &super::super::plan::Check| check.probe == "db" && check.region == region;
        let check = self.plan.checks.iter().position(db).unwrap();
        self.inputs.readings[check].level = level;
        let known = before.regions[region.index()].as_ref().unwrap();
        let explicit = self.explicit;
        let place = (0, region);
        let now = Mono(at_s * 1_000);
        let frozen = self.storms.weigh(&self.plan, &self.inputs, place, known, &|_| explicit, now)?;
        let put_off = frozen.is_some();
        match frozen {
            Some(frozen) => drop(self.inputs.put_off.insert(place, frozen)),
            None => drop(self.inputs.put_off.remove(&place)),
        }
        Some(put_off)
    }
}

#[test]
fn the_second_of_three_regions_within_ten_seconds_is_put_off() {
    let mut weather = Weather::new();
    assert_eq!(weather.turn(CN, Level::Down, 0), None, "one region is no storm");
    assert_eq!(weather.turn(EU, Level::Down, 10), Some(true));
    assert_eq!(weather.turn(US, Level::Down, 10), Some(true));
    assert_eq!(weather.storms.next_deadline(), Some(Mono(40_000)));
}

#[test]
fn turns_further_apart_are_no_storm() {
    let mut weather = Weather::new();
    assert_eq!(weather.turn(CN, Level::Down, 0), None);
    assert_eq!(weather.turn(EU, Level::Down, 11), None);
}

#[test]
fn half_of_the_regions_is_no_storm() {
    let mut weather = Weather::new();
    let service = &mut weather.plan.services[0];
    weather.plan.regions.push("jp".into());
    weather.plan.manual_failback.push(false);
    let more = service.regions[0].clone();
    service.regions.push(more);
    assert_eq!(weather.turn(CN, Level::Down, 0), None);
    assert_eq!(weather.turn(EU, Level::Down, 1), None, "two of four");
    assert_eq!(weather.turn(US, Level::Down, 2), Some(true), "three of four");
}

#[test]
fn explicit_evidence_does_not_wait_and_ends_a_wait() {
    let mut weather = Weather::new();
    assert_eq!(weather.turn(CN, Level::Down, 0), None);
    assert_eq!(weather.turn(EU, Level::Down, 1), Some(true));
    weather.explicit = true;
    assert_eq!(weather.turn(US, Level::Down, 1), None);
    assert_eq!(weather.turn(EU, Level::Down, 2), Some(false), "it counts now");
}

#[test]
fn a_wait_ends_after_half_a_minute_and_when_the_failure_does() {
    let mut weather = Weather::new();
    weather.turn(CN, Level::Down, 0);
    weather.turn(EU, Level::Down, 1);
    weather.turn(US, Level::Down, 1);
    assert_eq!(weather.turn(EU, Level::Down, 30), None, "still waiting");
    assert_eq!(weather.turn(US, Level::Up, 30), Some(false), "never happened");
    assert_eq!(weather.storms.due(Mono(31_000)).collect::<Vec<_>>(), [(0, EU)]);
    assert_eq!(weather.turn(EU, Level::Down, 31), Some(false), "happens");
    assert_eq!(weather.storms.next_deadline(), None);
}

#[test]
fn another_plan_finds_what_waits_by_the_places_it_gives() {
    let mut weather = Weather::new();
    weather.turn(CN, Level::Down, 0);
    weather.turn(EU, Level::Down, 1);
    let moved = weather.storms.translate(|(service, region)| Some((service + 3, region)));
    assert_eq!(moved.due(Mono(99_000)).collect::<Vec<_>>(), [(3, EU)]);
    assert_eq!(weather.storms.translate(|_| None).next_deadline(), None);
}
