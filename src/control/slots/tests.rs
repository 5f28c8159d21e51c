use super::*;
use crate::control::model::tests::{CN, EU, plan};

fn decision(region: RegionId, reason: Reason) -> Decision {
    Decision { chosen: Chosen::One(region), reason }
}

fn label(slots: &Slots, slot: u32) -> String {
    let label = slots.labels().find(|label| label.slot == slot).unwrap();
    format!("{} {} {} {}", label.service, label.home, label.answer, label.reason)
}

#[test]
fn a_decision_is_counted_apart_for_clients_that_nothing_places() {
    let mut slots = Slots::default();
    let numbers = slots.number(&plan(), true);
    let slot = slots.slot(&numbers, 0, CN, decision(CN, Reason::Home));
    assert_eq!(label(&slots, slot.mapped), "www.gslb.example.com cn cn home");
    assert_eq!(label(&slots, slot.unmapped), "www.gslb.example.com cn cn unmapped");
    let slot = slots.slot(&numbers, 0, CN, decision(EU, Reason::Fallback));
    assert_eq!(label(&slots, slot.unmapped), "www.gslb.example.com cn eu fallback");
    assert_eq!(slot.mapped, slot.unmapped, "a stronger reason stays what it is");
    let several =
        Decision { chosen: Chosen::Several([CN, EU].into_iter().collect()), reason: Reason::FailOpen };
    let slot = slots.slot(&numbers, 0, EU, several).mapped;
    assert_eq!(label(&slots, slot), "www.gslb.example.com eu all fail_open");
    let slot =
        slots.slot(&numbers, 0, EU, Decision { chosen: Chosen::Nobody, reason: Reason::FailOpen }).mapped;
    assert_eq!(label(&slots, slot), "www.gslb.example.com eu none fail_open");
}

#[test]
fn positions_outlive_reloads_and_are_never_given_to_another_decision() {
    let mut slots = Slots::default();
    let numbers = slots.number(&plan(), true);
    let first = slots.slot(&numbers, 0, CN, decision(CN, Reason::Home));
    let mut other = plan();
    let mut new = other.services[0].clone();
    new.name = "api.gslb.example.com".into();
    other.services.insert(0, new);
    let numbers = slots.number(&other, true);
    assert_eq!(slots.slot(&numbers, 1, CN, decision(CN, Reason::Home)), first, "the same service, elsewhere");
    let second = slots.slot(&numbers, 0, CN, decision(CN, Reason::Home));
    assert_ne!(second.mapped, first.mapped);
    assert_eq!(label(&slots, second.mapped), "api.gslb.example.com cn cn home");
    let positions: Vec<u32> = slots.labels().map(|label| label.slot).collect();
    assert!(positions.iter().all(|&slot| slot > 0), "the first position is for what finds no other");
}

#[test]
fn many_services_are_counted_in_sum() {
    let mut slots = Slots::default();
    let mut many = plan();
    let first = many.services[0].clone();
    many.services = vec![first; MAX_COUNTED_SERVICES + 1];
    for (number, service) in many.services.iter_mut().enumerate() {
        service.name = format!("s{number}.gslb.example.com");
    }
    let numbers = slots.number(&many, true);
    let slot = slots.slot(&numbers, 7, CN, decision(CN, Reason::Home));
    assert_eq!(slot, slots.slot(&numbers, 500, CN, decision(CN, Reason::Home)));
    assert_eq!(label(&slots, slot.mapped), "all cn cn home");
    many.services.pop();
    let numbers = slots.number(&many, true);
    let slot = slots.slot(&numbers, 7, CN, decision(CN, Reason::Home)).mapped;
    assert_eq!(label(&slots, slot), "s7.gslb.example.com cn cn home");
    let numbers = slots.number(&many, false);
    let slot = slots.slot(&numbers, 7, CN, decision(CN, Reason::Home)).mapped;
    assert_eq!(label(&slots, slot), "all cn cn home", "when nobody wants them apart");
}

#[test]
fn when_all_positions_are_given_out_the_rest_is_counted_at_the_first() {
    let mut slots = Slots::default();
    let mut numbers = slots.number(&plan(), true);
    numbers.services = (0..=MAX_SLOTS).collect();
    for service in 0..MAX_SLOTS {
        slots.slot(&numbers, service, CN, decision(CN, Reason::Fallback));
    }
    assert_eq!(slots.slot(&numbers, MAX_SLOTS, CN, decision(CN, Reason::Fallback)), Slot::default());
    assert_eq!(slots.slot(&numbers, 0, CN, decision(CN, Reason::Fallback)).mapped, 1, "who has one keeps it");
    assert_eq!(slots.labels().count(), MAX_SLOTS as usize - 1);
}
