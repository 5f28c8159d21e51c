//! Which region answers: the pure, total function at the heart of Waypost.
//!
//! Regions are declared once, in the order in which they stand in for each other. A client's home region answers
//! when it can; else the declared list is scanned **from its start**, home left out, first for a healthy region,
//! then for a degraded one. It is not a rotation that begins behind home: with `[cn, eu, us]`, a failed eu hands
//! its users to cn, and so does a failed us.
//!
//! Nothing in here reads a clock, draws a random number, touches a socket or remembers anything.

pub mod enumerate;
pub mod geo;
pub mod iso;
pub mod mmdb;
mod table;

pub use table::{HealthTable, Standing, State};

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most regions that one configuration may declare.
pub const MAX_REGIONS: usize = 32;

/// A region, as its position in the declared order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct RegionId(u8);

impl TryFrom<u8> for RegionId {
    type Error = RegionsError;

    fn try_from(index: u8) -> Result<Self, RegionsError> {
        Self::new(index.into()).ok_or(RegionsError::TooMany(usize::from(index) + 1))
    }
}

impl From<RegionId> for u8 {
    fn from(region: RegionId) -> Self {
        region.0
    }
}

impl RegionId {
    /// The region at `index` of the declared order; `None` from [`MAX_REGIONS`] on.
    pub const fn new(index: usize) -> Option<Self> {
        if index < MAX_REGIONS { Some(Self(index as u8)) } else { None }
    }

    /// Position in the declared order, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The declared regions, in fallback order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regions {
    names: Vec<Box<str>>,
}

impl Regions {
    /// Takes the names in fallback order. Errors: none given, more than [`MAX_REGIONS`], one named twice.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Self, RegionsError> {
        let names: Vec<Box<str>> = names.into_iter().map(|name| name.as_ref().into()).collect();
        if names.is_empty() {
            return Err(RegionsError::Empty);
        }
        if names.len() > MAX_REGIONS {
            return Err(RegionsError::TooMany(names.len()));
        }
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(RegionsError::Twice(name.to_string()));
            }
        }
        Ok(Self { names })
    }

    /// How many regions there are; at least one.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// All regions in fallback order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RegionId> + ExactSizeIterator + use<> {
        (0..self.names.len()).map(|index| RegionId(index as u8))
    }

    /// The region's name; empty for an id of another configuration.
    pub fn name(&self, region: RegionId) -> &str {
        self.names.get(region.index()).map_or("", |name| name)
    }

    /// The region of that name. Never falls back to a default: a typo is an error that names itself.
    pub fn find(&self, name: &str) -> Result<RegionId, RouteError> {
        let index = self.names.iter().position(|known| &**known == name);
        index.and_then(RegionId::new).ok_or_else(|| RouteError::UnknownRegion(name.to_owned()))
    }

    /// Who is tried for users of `home`, in order, after home itself.
    pub fn fallback_of(&self, home: RegionId) -> impl Iterator<Item = RegionId> + use<> {
        self.iter().filter(move |&region| region != home)
    }
}

/// Why a list of region names was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionsError {
    /// The list names no region.
    Empty,
    /// The list names this many regions, more than [`MAX_REGIONS`].
    TooMany(usize),
    /// This name stands in the list twice.
    Twice(String),
}

impl fmt::Display for RegionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no region is declared"),
            Self::TooMany(count) => write!(f, "{count} regions are declared, at most {MAX_REGIONS} can be"),
            Self::Twice(name) => write!(f, "region `{name}` is declared twice"),
        }
    }
}

impl std::error::Error for RegionsError {}

/// Why [`route`] gave no region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The home region is not one of the declared ones.
    UnknownRegion(String),
    /// Neither this home region nor any other is able.
    NoHealthyRegion(String),
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRegion(name) => write!(f, "unknown region `{name}`"),
            Self::NoHealthyRegion(home) => write!(f, "no region is able to serve users of `{home}`"),
        }
    }
}

impl std::error::Error for RouteError {}

/// Where users whose home is `home` go: home itself, else the first healthy region of the declared order, else the
/// first degraded one.
///
/// Errors: [`RouteError::UnknownRegion`] when `home` is not declared, [`RouteError::NoHealthyRegion`] when nobody is
/// able. What a name server answers then is [`decide`]'s matter, one layer above.
pub fn route(home: &str, regions: &Regions, table: &HealthTable) -> Result<RegionId, RouteError> {
    let id = regions.find(home)?;
    scan(id, table, &mut |_| {}).ok_or_else(|| RouteError::NoHealthyRegion(home.to_owned()))
}

/// What to answer when no region is able.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllDown {
    /// The home region's full address set.
    #[default]
    Home,
    /// Every undrained region's addresses.
    All,
    /// SERVFAIL.
    Servfail,
}

/// Why a decision came out as it did. One word each, the same in DNS metrics, `explain`, API, journal, dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The client's own region answers.
    Home,
    /// Nothing places the client; the region configured for that case answers.
    Unmapped,
    /// Home can't serve; another, healthy region answers.
    Fallback,
    /// The region that answers is degraded.
    Degraded,
    /// No region is able; answered all the same.
    FailOpen,
}

impl Reason {
    /// Every reason, in rising precedence.
    pub const ALL: [Self; 5] = [Self::Home, Self::Unmapped, Self::Fallback, Self::Degraded, Self::FailOpen];

    /// The word that people and scripts see.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Unmapped => "unmapped",
            Self::Fallback => "fallback",
            Self::Degraded => "degraded",
            Self::FailOpen => "fail_open",
        }
    }

    /// The reason for a client that nothing places: `unmapped` instead of `home`, any stronger reason unchanged.
    pub fn for_unmapped(self) -> Self {
        self.max(Self::Unmapped)
    }
}

/// A set of regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionSet(u32);

impl RegionSet {
    /// Adds `region`.
    pub fn insert(&mut self, region: RegionId) {
        self.0 |= 1 << region.index();
    }

    /// Whether `region` is in the set.
    pub const fn contains(self, region: RegionId) -> bool {
        self.0 >> region.index() & 1 == 1
    }

    /// Whether the set has no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members in fallback order.
    pub fn iter(self) -> impl Iterator<Item = RegionId> {
        (0..MAX_REGIONS).filter_map(RegionId::new).filter(move |&region| self.contains(region))
    }
}

impl FromIterator<RegionId> for RegionSet {
    fn from_iter<I: IntoIterator<Item = RegionId>>(regions: I) -> Self {
        let mut set = Self::default();
        regions.into_iter().for_each(|region| set.insert(region));
        set
    }
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// One region.
    One(RegionId),
    /// Several at once ([`AllDown::All`]).
    Several(RegionSet),
    /// Nobody: SERVFAIL ([`AllDown::Servfail`]).
    Nobody,
}

/// One decision for the users of one home region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Who answers.
    pub chosen: Chosen,
    /// Why.
    pub reason: Reason,
}

impl Decision {
    /// Every region that answers.
    pub fn regions(self) -> RegionSet {
        match self.chosen {
            Chosen::One(region) => [region].into_iter().collect(),
            Chosen::Several(regions) => regions,
            Chosen::Nobody => RegionSet::default(),
        }
    }
}

/// One look at one region while deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The region looked at.
    pub region: RegionId,
    /// How it stood.
    pub standing: Standing,
    /// Whether it was taken.
    pub chosen: bool,
    /// Why it was taken or passed over, in the words of [`Standing::word`] and [`Reason::word`].
    pub why: &'static str,
}

/// Decides for users whose home is `home`. Total: there is always an answer, whatever the table says.
pub fn decide(home: RegionId, table: &HealthTable, all_down: AllDown) -> Decision {
    decide_traced(home, table, all_down, &mut |_| {})
}

/// [`decide`], telling `trace` each region that was looked at, in order.
pub fn decide_traced(
    home: RegionId,
    table: &HealthTable,
    all_down: AllDown,
    trace: &mut impl FnMut(Step),
) -> Decision {
    if let Some(region) = scan(home, table, trace) {
        let reason = match table.standing(home, region) {
            Standing::Degraded => Reason::Degraded,
            _ if region == home => Reason::Home,
            _ => Reason::Fallback,
        };
        return Decision { chosen: Chosen::One(region), reason };
    }
    if let Some(region) = scan_held(home, table) {
        let reason = if region == home { Reason::Home } else { Reason::Fallback };
        trace(Step { region, standing: Standing::Held, chosen: true, why: reason.word() });
        return Decision { chosen: Chosen::One(region), reason };
    }
    let chosen = fail_open(home, table, all_down);
    let mut tell = |region| {
        let standing = table.standing(home, region);
        trace(Step { region, standing, chosen: true, why: Reason::FailOpen.word() });
    };
    match chosen {
        Chosen::One(region) => tell(region),
        Chosen::Several(regions) => regions.iter().for_each(tell),
        Chosen::Nobody => {}
    }
    Decision { chosen, reason: Reason::FailOpen }
}

/// Home if able, else the first healthy region of the declared order, else the first degraded one.
fn scan(home: RegionId, table: &HealthTable, trace: &mut impl FnMut(Step)) -> Option<RegionId> {
    let standing = table.standing(home, home);
    if standing.able() {
        let reason = if standing == Standing::Degraded { Reason::Degraded } else { Reason::Home };
        trace(Step { region: home, standing, chosen: true, why: reason.word() });
        return Some(home);
    }
    trace(Step { region: home, standing, chosen: false, why: standing.word() });

    let mut degraded = None;
    for region in table.regions().filter(|&region| region != home) {
        let standing = table.standing(home, region);
        match standing {
            Standing::Healthy => {
                trace(Step { region, standing, chosen: true, why: Reason::Fallback.word() });
                return Some(region);
            }
            Standing::Degraded => {
                degraded = degraded.or(Some(region));
                trace(Step { region, standing, chosen: false, why: standing.word() });
            }
            _ => trace(Step { region, standing, chosen: false, why: standing.word() }),
        }
    }
    if let Some(region) = degraded {
        let standing = Standing::Degraded;
        trace(Step { region, standing, chosen: true, why: Reason::Degraded.word() });
    }
    degraded
}

/// Nobody is able: a region whose checks are good and which only waits for its release, home first.
fn scan_held(home: RegionId, table: &HealthTable) -> Option<RegionId> {
    let held = |region: &RegionId| table.standing(home, *region) == Standing::Held;
    Some(home).filter(held).or_else(|| table.regions().find(held))
}

/// Nobody is able and nobody held: the answer of last resort.
fn fail_open(home: RegionId, table: &HealthTable, all_down: AllDown) -> Chosen {
    let undrained = |region: &RegionId| !table.standing(home, *region).withdrawn();
    let listed = |region: &RegionId| table.standing(home, *region) != Standing::NoEndpoints;
    let last_resort = || {
        let region = Some(home)
            .filter(undrained)
            .or_else(|| table.regions().find(undrained))
            .or_else(|| Some(home).filter(listed))
            .or_else(|| table.regions().find(listed));
        region.map_or(Chosen::Nobody, Chosen::One)
    };
    match all_down {
        AllDown::Servfail => Chosen::Nobody,
        AllDown::Home => last_resort(),
        AllDown::All => {
            let open: RegionSet = table.regions().filter(undrained).collect();
            if open.is_empty() { last_resort() } else { Chosen::Several(open) }
        }
    }
}

#[cfg(test)]
mod tests;
