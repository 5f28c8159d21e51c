//! The check at every load: all combinations of states and homes, against what must always hold.

use super::{AllDown, Chosen, Decision, HealthTable, RegionId, Regions, Standing, decide};

/// Up to so many regions every combination is tried; beyond, [`SAMPLES`] of them.
pub const EXHAUSTIVE_REGIONS: usize = 6;

/// Pairs of a combination and a home tried beyond [`EXHAUSTIVE_REGIONS`].
pub const SAMPLES: u64 = 100_000;

const STANDINGS: [Standing; 4] = [Standing::Healthy, Standing::Degraded, Standing::Failed, Standing::Drained];

/// A combination in which the routing function broke its word: a fault of this program, not of its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was broken.
    pub rule: &'static str,
    /// Whose users.
    pub home: RegionId,
    /// How the regions stood.
    pub standings: Vec<Standing>,
}

/// Tries every combination of states and homes (a seeded sample beyond [`EXHAUSTIVE_REGIONS`] regions) and returns how
/// many decisions were looked at.
///
/// Errors: the first combination in which a decision was not the same twice, in which making a region worse attracted
/// users to it, in which a drained region beat a failed one, or an able one was passed over.
pub fn enumerate(regions: &Regions) -> Result<u64, Box<Violation>> {
    let count = regions.count();
    let mut looked_at = 0;
    let mut try_one = |home: RegionId, standings: &[Standing]| -> Result<(), Box<Violation>> {
        looked_at += 1;
        match broken_rule(home, standings) {
            Some(rule) => Err(Box::new(Violation { rule, home, standings: standings.to_vec() })),
            None => Ok(()),
        }
    };
    let exhaustive = count <= EXHAUSTIVE_REGIONS;
    let combinations = if exhaustive { 4_u64.pow(count as u32) } else { SAMPLES };
    let mut standings = vec![Standing::Healthy; count];
    for number in 0..combinations {
        let mut code = if exhaustive { number } else { scramble(number) };
        for standing in &mut standings {
            *standing = STANDINGS[(code & 3) as usize];
            code >>= 2;
        }
        if exhaustive {
            regions.iter().try_for_each(|home| try_one(home, &standings))?;
        } else if let Some(home) = RegionId::new(number as usize % count) {
            try_one(home, &standings)?;
        }
    }
    Ok(looked_at)
}

/// The rule that the decision for `home` breaks, if any.
fn broken_rule(home: RegionId, standings: &[Standing]) -> Option<&'static str> {
    let mut table = HealthTable::uniform(standings);
    let decision = decide(home, &table, AllDown::Home);
    if decide(home, &table, AllDown::Home) != decision {
        return Some("the same table and home give the same decision");
    }
    let Decision { chosen: Chosen::One(chosen), .. } = decision else {
        return Some("there is always an answer");
    };
    let standing = |region: RegionId| standings[region.index()];
    if !standing(chosen).able() && standings.iter().any(|other| other.able()) {
        return Some("nobody is sent to a region that is out while another is able");
    }
    if standing(chosen) == Standing::Drained && standings.contains(&Standing::Failed) {
        return Some("a drained region never beats a failed one");
    }
    // Making a region worse never attracts users to it.
    for region in table.regions().filter(|&region| region != chosen) {
        for worse in STANDINGS.into_iter().filter(|&worse| worse > standing(region)) {
            table.set(home, region, worse);
            if decide(home, &table, AllDown::Home).chosen == Chosen::One(region) {
                return Some("making a region worse never attracts users to it");
            }
        }
        table.set(home, region, standing(region));
    }
    None
}

/// A fixed, well-mixed sequence (the SplitMix64 finaliser), so that the sample is the same at every load.
pub(super) fn scramble(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_three_regions_keeps_the_rules() {
        let regions = Regions::new(["cn", "eu", "us"]).unwrap();
        assert_eq!(enumerate(&regions), Ok(4 * 4 * 4 * 3));
    }

    #[test]
    fn beyond_six_regions_a_fixed_sample_is_tried() {
        let regions = Regions::new((0..10).map(|n| format!("r{n}"))).unwrap();
        assert_eq!(enumerate(&regions), Ok(SAMPLES));
    }
}
