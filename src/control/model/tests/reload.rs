//! What a reload must not bring about by itself.

use super::*;

fn reload(sim: &mut Sim, plan: Plan) {
    let load = Load { damping: vec![damping(); plan.checks.len()], plan, orders: AdminFile::default() };
    sim.apply(Event::Load(Box::new(load)));
}

#[test]
fn put_off_turns_stay_put_off_across_a_reload_and_happen_at_their_time() {
    let mut sim = Sim::steady();
    sim.rounds(3, |_| DOWN);
    assert_eq!((sim.model.storm(), sim.region_of(EU)), (true, "eu".to_owned()));
    let mut other = plan();
    // The service moves to another position, and lists its addresses in another order.
    let mut new = other.services[0].clone();
    new.name = "api.gslb.example.com".into();
    other.services.insert(0, new);
    for region in other.services[1].regions.iter_mut().flatten() {
        region.endpoints.reverse();
    }
    reload(&mut sim, other);
    let decision = |sim: &Sim| sim.model.states()[1].homes[EU.index()].decision;
    assert_eq!(
        decision(&sim).reason,
        Reason::Degraded,
        "the previous state holds: one address was down first"
    );
    assert!(sim.model.states()[1].regions[EU.index()].as_ref().unwrap().put_off);
    sim.rounds(32, |_| DOWN);
    assert!(!sim.model.storm());
    assert_eq!(decision(&sim).reason, Reason::FailOpen);
}

#[test]
fn a_region_that_no_longer_waits_for_releases_lets_go() {
    let mut sim = manual();
    let cn = web_of(CN);
    sim.rounds(3, |check| if cn(check) { DOWN } else { OK });
    sim.rounds(100, |_| OK);
    assert_eq!(sim.region_of(CN), "eu");
    reload(&mut sim, plan());
    assert_eq!(sim.region_of(CN), "cn");
}

#[test]
fn what_was_held_in_a_region_that_no_longer_waits_is_not_held_after_a_restart() {
    let plan = plan();
    let load = Load { damping: vec![damping(); plan.checks.len()], plan, orders: AdminFile::default() };
    let remembered = Remembered { levels: Vec::new(), held: vec![(0, CN)], ..Remembered::default() };
    let model = Model::new(load, &remembered, Now::default());
    assert!(model.inputs().held.is_empty());
}

#[test]
fn a_first_result_counts_at_once_also_after_a_run_that_could_not_look() {
    let mut sim = Sim::new(plan());
    sim.rounds(2, |_| Verdict::Unknown);
    sim.rounds(1, |_| DOWN);
    assert!(!sim.model.storm());
    assert_eq!(sim.served(EU), ("eu".to_owned(), Reason::FailOpen, 5));
}
