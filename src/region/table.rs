//! The health table of one service: how each region stands, seen from each home.

use super::{MAX_REGIONS, RegionId};

/// The state of a region as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Serves, and takes others' users.
    Healthy,
    /// Serves its own users, and others' when nobody is healthy.
    Degraded,
    /// Out, because its checks or an operator's force say so.
    Failed,
    /// Out, because an operator took it out.
    Drained,
}

impl State {
    /// Every state, best first.
    pub const ALL: [Self; 4] = [Self::Healthy, Self::Degraded, Self::Failed, Self::Drained];

    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Drained => "drained",
        }
    }
}

/// How a region stands for one service and one home: its state, with the reason when it is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Able.
    Healthy,
    /// Able, in second line.
    Degraded,
    /// Its checks are good, but after a failure it waits for an operator's release.
    Held,
    /// Its copy of this home's data is too old.
    StaleCopy,
    /// Its checks failed.
    Failed,
    /// An operator forced it down.
    ForcedDown,
    /// An operator drained it.
    Drained,
    /// The service has no endpoints there.
    NoEndpoints,
}

impl Standing {
    /// Every standing.
    pub const ALL: [Self; 8] = [
        Self::Healthy,
        Self::Degraded,
        Self::Held,
        Self::StaleCopy,
        Self::Failed,
        Self::ForcedDown,
        Self::Drained,
        Self::NoEndpoints,
    ];

    /// Whether the region may be chosen while there is any choice.
    pub const fn able(self) -> bool {
        matches!(self, Self::Healthy | Self::Degraded)
    }

    /// Whether even fail-open leaves the region out while an other one is there: an operator took it out, or the
    /// service is not in it.
    pub const fn withdrawn(self) -> bool {
        matches!(self, Self::ForcedDown | Self::Drained | Self::NoEndpoints)
    }

    /// The state that people see.
    pub const fn state(self) -> State {
        match self {
            Self::Healthy => State::Healthy,
            Self::Degraded => State::Degraded,
            Self::Held | Self::StaleCopy | Self::Failed | Self::ForcedDown | Self::NoEndpoints => {
                State::Failed
            }
            Self::Drained => State::Drained,
        }
    }

    /// The word for it in a trace.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Held => "held",
            Self::StaleCopy => "stale_copy",
            Self::Failed => "failed",
            Self::ForcedDown => "forced_down",
            Self::Drained => "drained",
            Self::NoEndpoints => "no_endpoints",
        }
    }
}

/// How each region stands for one service: a row per home, because the age of a copy counts only for the users whose
/// data it copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthTable {
    count: usize,
    cells: Vec<Standing>,
}

impl HealthTable {
    /// A table of `count` regions (1 to [`MAX_REGIONS`]; more are cut off), each standing as `standing`.
    pub fn new(count: usize, standing: Standing) -> Self {
        let count = count.min(MAX_REGIONS);
        Self { count, cells: vec![standing; count * count] }
    }

    /// A table in which every home sees the same.
    pub fn uniform(standings: &[Standing]) -> Self {
        let mut table = Self::new(standings.len(), Standing::Failed);
        for (region, &standing) in table.regions().zip(standings) {
            table.set_for_all(region, standing);
        }
        table
    }

    /// The regions of the table in fallback order.
    pub fn regions(&self) -> impl Iterator<Item = RegionId> + use<> {
        (0..self.count).filter_map(RegionId::new)
    }

    /// How `region` stands for users of `home`. What the table does not hold has failed.
    pub fn standing(&self, home: RegionId, region: RegionId) -> Standing {
        if home.index() >= self.count || region.index() >= self.count {
            return Standing::Failed;
        }
        self.cells[home.index() * self.count + region.index()]
    }

    /// Sets how `region` stands for users of `home`; out of range: ignored.
    pub fn set(&mut self, home: RegionId, region: RegionId, standing: Standing) {
        if home.index() < self.count && region.index() < self.count {
            self.cells[home.index() * self.count + region.index()] = standing;
        }
    }

    /// Sets how `region` stands for everybody.
    pub fn set_for_all(&mut self, region: RegionId, standing: Standing) {
        (0..self.count).filter_map(RegionId::new).for_each(|home| self.set(home, region, standing));
    }
}
