//! What an event costs, counted in services derived anew: the shape of the cost, on any machine.

use super::*;

const SERVICES: u32 = 10_000;

/// Ten thousand services, each with two addresses a region and checks of its own, and one database for all.
fn many() -> Plan {
    let mut plan = plan();
    let first = plan.services[0].clone();
    for number in 1..SERVICES {
        let mut service = first.clone();
        service.name = format!("s{number}.gslb.example.com");
        for (region, listed) in service.regions.iter_mut().enumerate() {
            for (host, endpoint) in listed.iter_mut().flat_map(|listed| &mut listed.endpoints).enumerate() {
                let number = number.to_be_bytes();
                endpoint.address = IpAddr::from([10 + host as u8, region as u8, number[2], number[3]]);
                let (probe, region) = ("web".to_owned(), RegionId::new(region).unwrap());
                let check = Check { probe, region, address: Some(endpoint.address), impact: Impact::Fail };
                endpoint.checks = vec![plan.checks.len() as u32];
                plan.checks.push(check);
            }
        }
        plan.services.push(service);
    }
    plan
}

fn cost(sim: &Sim) -> usize {
    sim.outcomes.iter().map(|outcome| outcome.derived).sum()
}

#[test]
fn one_endpoints_change_derives_its_own_service_alone() {
    let mut sim = Sim::new(many());
    let address = sim.model.plan().services[5_000].regions[0].as_ref().unwrap().endpoints[0].address;
    let check = sim.model.plan().checks.iter().position(|check| check.address == Some(address)).unwrap();
    // Also while every service has a drain to come.
    let until_ms = Some(sim.now.wall_ms + 600_000);
    sim.order(vec![Entry { until_ms, ..entry(US) }], vec![]);
    assert_eq!(cost(&sim), SERVICES as usize);
    sim.outcomes.clear();
    for _ in 0..10 {
        sim.apply(Event::Observed { check: check as u32, verdict: DOWN });
    }
    let touched: Vec<u32> = sim.outcomes.iter().flat_map(|o| o.touched.iter().map(|(s, _)| *s)).collect();
    assert!(!touched.is_empty() && touched.iter().all(|&service| service == 5_000));
    assert!(cost(&sim) <= 10, "{} derived", cost(&sim));
}

#[test]
fn results_that_change_nothing_derive_nothing() {
    let mut sim = Sim::new(many());
    for round in 0..5 {
        sim.outcomes.clear();
        for check in 7..1_007 {
            sim.apply(Event::Observed { check, verdict: OK });
        }
        assert!(round < 3 || cost(&sim) == 0, "{} derived in round {round}", cost(&sim));
    }
}

#[test]
fn a_probe_that_everybody_requires_derives_each_service_once() {
    let mut sim = Sim::new(many());
    let db = sim.model.plan().checks.iter().position(|check| check.probe == "db").unwrap() as u32;
    sim.apply(Event::Observed { check: db, verdict: DOWN });
    assert_eq!(cost(&sim), SERVICES as usize);
    assert_eq!(sim.outcomes[0].touched.len(), SERVICES as usize);
    sim.outcomes.clear();
    let plan = (**sim.model.plan()).clone();
    let load = Load { damping: vec![damping(); plan.checks.len()], plan, orders: AdminFile::default() };
    sim.apply(Event::Load(Box::new(load)));
    assert!(cost(&sim) <= 2 * SERVICES as usize, "{} derived by a reload", cost(&sim));
}
