//! A service's checks in one region, summed up: healthy, degraded or failed, and which addresses to answer.
//!
//! Two kinds of checks act in two ways. A check of the *region* (its database, say) that is down takes the region out.
//! A check of one *endpoint* takes out that endpoint, and the region only when too few of a family are left: half the
//! web servers being dead is no reason to move a continent's users, as long as the other half may carry them.

use super::{Impact, Level};
use crate::region::Standing;

/// What the checks say about a region, before operators have their say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probed {
    /// All is well.
    Healthy,
    /// Serves, in second line.
    Degraded,
    /// Out.
    Failed,
}

impl Probed {
    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }
}

impl From<Probed> for Standing {
    fn from(probed: Probed) -> Self {
        match probed {
            Probed::Healthy => Self::Healthy,
            Probed::Degraded => Self::Degraded,
            Probed::Failed => Self::Failed,
        }
    }
}

/// One endpoint with its checks: `(level, impact)` each, in the order in which causes are to be named.
#[derive(Clone, Copy, Debug)]
pub struct EndpointInput<C> {
    /// Whether its address is IPv4; else IPv6.
    pub v4: bool,
    /// Its checks.
    pub checks: C,
}

/// A region summed up for one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// How the region stands.
    pub state: Probed,
    /// For each endpoint whether it is to be answered, also when the region has failed.
    pub up: Vec<bool>,
    /// What made the region worse than healthy: of the gravest causes the first, region checks before families before
    /// endpoints. Absent exactly when it is healthy.
    pub cause: Option<Cause>,
}

/// What made a region worse than healthy. Positions are those of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A check of the region.
    RegionCheck {
        /// Which.
        check: usize,
        /// How it stands.
        level: Level,
    },
    /// Too few endpoints of one family are up.
    Family {
        /// Whether the family is IPv4; else IPv6.
        v4: bool,
        /// How many are up.
        up: usize,
        /// How many would have to be.
        needed: usize,
        /// How many there are.
        of: usize,
    },
    /// A check of an endpoint.
    EndpointCheck {
        /// The endpoint.
        endpoint: usize,
        /// Which of its checks.
        check: usize,
        /// How it stands.
        level: Level,
    },
}

/// Sums up one region for one service. `up_share` is the share of the endpoints, per family, that must be up: above 0,
/// at most 1. Allocates only [`Sum::up`].
pub fn sum<C>(
    endpoints: impl IntoIterator<Item = EndpointInput<C>>,
    region_checks: impl IntoIterator<Item = (Level, Impact)>,
    up_share: f64,
) -> Sum
where
    C: IntoIterator<Item = (Level, Impact)>,
{
    let mut worst = Worst::default();
    for (check, (level, impact)) in region_checks.into_iter().enumerate() {
        worst.consider(effect(level, impact), Cause::RegionCheck { check, level });
    }

    let mut from_endpoints = Worst::default();
    let mut families = [Family::default(); 2];
    let endpoints = endpoints.into_iter();
    let mut up = Vec::with_capacity(endpoints.size_hint().0);
    for (endpoint, EndpointInput { v4, checks }) in endpoints.enumerate() {
        let mut is_up = true;
        for (check, (level, impact)) in checks.into_iter().enumerate() {
            let effect = effect(level, impact);
            is_up &= effect != Probed::Failed;
            // A dead endpoint is named rather than one that is only slow.
            from_endpoints.consider(effect, Cause::EndpointCheck { endpoint, check, level });
        }
        let [family_v4, family_v6] = &mut families;
        let family = if v4 { family_v4 } else { family_v6 };
        family.of += 1;
        family.up += usize::from(is_up);
        up.push(is_up);
    }

    for (v4, family) in [true, false].into_iter().zip(families) {
        let Family { up, of } = family;
        let needed = needed(up_share, of);
        if up < needed {
            worst.consider(Probed::Failed, Cause::Family { v4, up, needed, of });
        }
    }
    // However bad an endpoint is, by itself it only degrades.
    if let Some(cause) = from_endpoints.cause {
        worst.consider(Probed::Degraded, cause);
    }
    Sum { state: worst.state, up, cause: worst.cause }
}

/// How many of `of` endpoints a share asks for: `max(1, ⌈up_share × of⌉)`; none of none.
///
/// A share typed as 0.1 is not exactly a tenth, so the product must not be rounded up as it is: 0.1 × 10 would ask for
/// two where the last bit is above the tenth. Instead the smallest `k` is taken whose own share `k / of`, rounded to
/// the same kind of number by the same rule, reaches the one typed: equal as typed is equal here, for 0.1 as for
/// 0.6666666666666666. Beyond the range a share is taken as its nearest end; what is no number asks for one.
pub fn needed(up_share: f64, of: usize) -> usize {
    if of == 0 {
        return 0;
    }
    let share_of = |count: usize| count as f64 / of as f64;
    // The product's whole part, less one, is never too high; from there it is a step or two.
    let mut count = ((up_share * of as f64) as usize).saturating_sub(1);
    while count < of && share_of(count) < up_share {
        count += 1;
    }
    count.clamp(1, of)
}

/// What one check makes of what it checks.
const fn effect(level: Level, impact: Impact) -> Probed {
    match (level, impact) {
        (Level::Unprobed | Level::Up, _) => Probed::Healthy,
        (Level::Degraded, _) | (Level::Down, Impact::Degrade) => Probed::Degraded,
        (Level::Down, Impact::Fail) => Probed::Failed,
    }
}

#[derive(Clone, Copy, Default)]
struct Family {
    up: usize,
    of: usize,
}

/// The gravest effect so far, with the first cause of it.
struct Worst {
    state: Probed,
    cause: Option<Cause>,
}

impl Default for Worst {
    fn default() -> Self {
        Self { state: Probed::Healthy, cause: None }
    }
}

impl Worst {
    fn consider(&mut self, effect: Probed, cause: Cause) {
        if effect > self.state {
            self.state = effect;
            self.cause = Some(cause);
        }
    }
}

#[cfg(test)]
mod tests;
