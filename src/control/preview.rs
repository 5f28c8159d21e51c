//! Before an order is given: what it moves, what the regions would have to carry, and whether the guard allows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::derive::{ServiceState, any_able, chosen_word, derive};
use super::inputs::Inputs;
use super::plan::Plan;
use crate::config::Config;
use crate::config::admin::AdminFile;
use crate::region::Chosen;

/// What orders would change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preview {
    /// Users that move, by service and home.
    pub moves: Vec<Move>,
    /// Share of all load that moves, 0 to 1; absent when no region's load is known.
    pub share_moved: Option<f64>,
    /// What each region would carry.
    pub regions: BTreeMap<String, Headroom>,
    /// Why the guard refuses; empty: it does not.
    pub refusals: Vec<String>,
    /// What to know.
    pub notes: Vec<String>,
}

/// The users of one home, moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Move {
    pub service: String,
    pub home: String,
    pub from: String,
    pub to: String,
}

/// What a region would carry, in requests per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Headroom {
    pub load: Option<f64>,
    pub capacity: Option<u64>,
}

/// What these orders would change against the ones in force, at a moment in milliseconds since 1970: the moment they
/// take effect.
///
/// Regions' own load is taken as spread evenly over the services: the configuration says it per region only.
pub fn preview(config: &Config, plan: &Plan, inputs: &Inputs, orders: &AdminFile, wall_ms: i64) -> Preview {
    let then = Inputs { orders: orders.clone(), ..inputs.clone() };
    let mut preview = Preview::default();
    let mut carries = vec![0.0; plan.regions.len()];
    let mut carried = carries.clone();
    let (mut moved, mut total) = (0.0, 0.0);
    for (index, service) in (0..).zip(&plan.services) {
        let before = derive(plan, inputs, index, wall_ms, None);
        let after = derive(plan, &then, index, wall_ms, None);
        let (Some(before), Some(after)) = (before, after) else { continue };
        if any_able(&before) && !any_able(&after) {
            let text = format!("no region would be left that is able to serve {}", service.name);
            preview.refusals.push(text);
        }
        for (home, (old, new)) in plan.region_ids().zip(before.homes.iter().zip(&after.homes)) {
            let load = config.region_rules.get(home.index()).and_then(|rules| rules.load);
            let load = load.unwrap_or(0) as f64 / plan.services.len().max(1) as f64;
            total += load;
            spread(&mut carries, &before, old.decision.chosen, load);
            spread(&mut carried, &after, new.decision.chosen, load);
            if old.decision.chosen != new.decision.chosen {
                moved += load;
                preview.moves.push(Move {
                    service: service.name.clone(),
                    home: plan.region_name(home).to_owned(),
                    from: chosen_word(plan, old.decision.chosen).to_owned(),
                    to: chosen_word(plan, new.decision.chosen).to_owned(),
                });
            }
        }
    }
    preview.share_moved = (total > 0.0).then_some(moved / total);
    weigh(&mut preview, config, plan, &carries, &carried);
    preview
}

/// Adds a home's load to those who answer it.
fn spread(carried: &mut [f64], after: &ServiceState, chosen: Chosen, load: f64) {
    let regions: Vec<usize> = match chosen {
        Chosen::One(region) => vec![region.index()],
        Chosen::Several(regions) => regions.iter().map(|region| region.index()).collect(),
        Chosen::Nobody => Vec::new(),
    };
    debug_assert!(regions.len() <= after.regions.len());
    let share = load / regions.len().max(1) as f64;
    for region in regions {
        if let Some(carried) = carried.get_mut(region) {
            *carried += share;
        }
    }
}

/// Holds what each region would carry against what it can. One that carries too much already refuses nothing that does
/// not make it more.
fn weigh(preview: &mut Preview, config: &Config, plan: &Plan, carries: &[f64], carried: &[f64]) {
    let mut unknown = Vec::new();
    let loads = carries.iter().zip(carried);
    for ((region, rules), (&now, &load)) in plan.region_ids().zip(&config.region_rules).zip(loads) {
        let name = plan.region_name(region);
        let known = rules.load.is_some() || load > 0.0;
        if rules.load.is_none() {
            unknown.push(name);
        }
        let headroom = Headroom { load: known.then_some(load), capacity: rules.capacity };
        preview.regions.insert(name.to_owned(), headroom);
        let own = rules.load.unwrap_or(0) as f64;
        if let Some(capacity) =
            rules.capacity.filter(|&capacity| load > capacity as f64 && load > own.max(now))
        {
            let text = format!("{name} would have to carry {load:.0} requests/s, and can carry {capacity}");
            preview.refusals.push(text);
        }
    }
    if !unknown.is_empty() {
        preview.notes.push(format!("load unknown: {} (set `load` in [regions.NAME])", unknown.join(", ")));
    }
}
