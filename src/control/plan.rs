//! What the configuration means for deciding: regions, checks, services, wired to each other by position.
//!
//! The plan is all that a decision depends on beside health and operators' orders. It goes into the journal at every
//! load, so that `replay` needs no other file.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::inputs::Place;
use crate::config::{Answers, Config, Per};
use crate::health::Impact;
use crate::region::{AllDown, RegionId};

/// Position of a check in [`Plan::checks`].
pub type CheckIndex = u32;

/// The wired configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Names of the regions, in fallback order.
    pub regions: Vec<String>,
    /// Whether each region waits for a release after a failure.
    pub manual_failback: Vec<bool>,
    /// Every check, once, however many services need it.
    pub checks: Vec<Check>,
    /// Every service.
    pub services: Vec<ServicePlan>,
}

/// One probe against one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The probe's name.
    pub probe: String,
    /// The region whose state it tells.
    pub region: RegionId,
    /// The endpoint asked; absent for a check of a whole region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The worst it may make of the region.
    pub impact: Impact,
}

impl Check {
    /// What makes two checks the same one, also across a reload.
    pub fn key(&self) -> (&str, RegionId, Option<IpAddr>) {
        (&self.probe, self.region, self.address)
    }
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServicePlan {
    /// Its name, lower case, without the trailing dot.
    pub name: String,
    /// Seconds, while everything it depends on is steady.
    pub ttl_s: u32,
    /// Seconds, otherwise.
    pub ttl_min_s: u32,
    /// What to answer when no region is able.
    pub all_down: AllDown,
    /// Share of a region's endpoints, per family, that must be up.
    pub up_share: f64,
    /// By region; absent: the service has nothing there.
    pub regions: Vec<Option<RegionPlan>>,
}

/// A service in one region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegionPlan {
    /// Its addresses there, in file order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointPlan>,
    /// Or its alias there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cname: Option<String>,
    /// The checks of the whole region that it requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckIndex>,
}

/// One address of a service in one region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointPlan {
    /// What is answered.
    pub address: IpAddr,
    /// The checks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckIndex>,
}

impl Plan {
    /// Wires a configuration.
    pub fn of(config: &Config) -> Self {
        let mut wiring = Wiring::default();
        let services = config.services.iter().map(|service| wiring.service(config, service)).collect();
        Self {
            regions: config.regions.iter().map(|region| config.regions.name(region).to_owned()).collect(),
            manual_failback: config.region_rules.iter().map(|rules| rules.manual_failback).collect(),
            checks: wiring.checks,
            services,
        }
    }

    /// All regions, in fallback order.
    pub fn region_ids(&self) -> impl Iterator<Item = RegionId> + use<> {
        (0..self.regions.len()).filter_map(RegionId::new)
    }

    /// A region's name; empty for an id of another plan.
    pub fn region_name(&self, region: RegionId) -> &str {
        self.regions.get(region.index()).map_or("", |name| name)
    }

    /// The region of that name.
    pub fn region(&self, name: &str) -> Option<RegionId> {
        self.regions.iter().position(|known| known == name).and_then(RegionId::new)
    }

    /// The service of that name (lower case, without the trailing dot).
    pub fn service(&self, name: &str) -> Option<usize> {
        self.services.iter().position(|service| service.name == name)
    }

    /// What a service has in a region; absent: nothing.
    pub fn at(&self, (service, region): Place) -> Option<&RegionPlan> {
        self.services.get(service as usize)?.regions.get(region.index())?.as_ref()
    }

    /// The same service in the same region, by their names, in another plan.
    pub fn translate(&self, (service, region): Place, to: &Self) -> Option<Place> {
        let service = to.service(&self.services.get(service as usize)?.name)?;
        Some((service as u32, to.region(self.region_name(region))?))
    }

    /// For each check, the services that depend on it.
    pub fn dependents(&self) -> Vec<Vec<u32>> {
        let mut dependents = vec![Vec::new(); self.checks.len()];
        for (index, service) in (0..).zip(&self.services) {
            for check in service.checks() {
                let list = dependents.get_mut(check as usize);
                if let Some(list) = list.filter(|list| list.last() != Some(&index)) {
                    list.push(index);
                }
            }
        }
        dependents
    }

    /// A check, named for people: `web cn 192.0.2.11`.
    pub fn describe(&self, check: CheckIndex) -> Described<'_> {
        Described { plan: self, check }
    }
}

impl ServicePlan {
    /// Every check that the service depends on; one that several endpoints share comes several times.
    pub fn checks(&self) -> impl Iterator<Item = CheckIndex> + '_ {
        self.regions.iter().flatten().flat_map(RegionPlan::all_checks)
    }
}

impl RegionPlan {
    /// The region's checks and its endpoints'.
    pub fn all_checks(&self) -> impl Iterator<Item = CheckIndex> + '_ {
        let of_endpoints = self.endpoints.iter().flat_map(|endpoint| &endpoint.checks);
        self.checks.iter().chain(of_endpoints).copied()
    }
}

/// A check with its plan, to be displayed.
#[derive(Clone, Copy, Debug)]
pub struct Described<'p> {
    plan: &'p Plan,
    check: CheckIndex,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(check) = self.plan.checks.get(self.check as usize) else {
            return write!(f, "check {}", self.check);
        };
        write!(f, "{} {}", check.probe, self.plan.region_name(check.region))?;
        check.address.map_or(Ok(()), |address| write!(f, " {address}"))
    }
}

/// Collects checks, each once.
#[derive(Default)]
struct Wiring {
    checks: Vec<Check>,
    known: BTreeMap<(usize, RegionId, Option<IpAddr>), CheckIndex>,
}

impl Wiring {
    fn service(&mut self, config: &Config, service: &crate::config::Service) -> ServicePlan {
        let mut regions = vec![None; config.regions.count()];
        match &service.answers {
            Answers::Endpoints(listed) => {
                for (region, endpoints) in listed {
                    let endpoints = endpoints.iter().map(|endpoint| EndpointPlan {
                        address: endpoint.address,
                        checks: self.checks(config, service, *region, Some(endpoint.probe)),
                    });
                    let endpoints = endpoints.collect();
                    let checks = self.checks(config, service, *region, None);
                    regions[region.index()] = Some(RegionPlan { endpoints, cname: None, checks });
                }
            }
            Answers::Cname(listed) => {
                for (region, target) in listed {
                    let checks = self.checks(config, service, *region, None);
                    let plan = RegionPlan { endpoints: Vec::new(), cname: Some(target.clone()), checks };
                    regions[region.index()] = Some(plan);
                }
            }
        }
        ServicePlan {
            name: service.name.clone(),
            ttl_s: service.ttl_s,
            ttl_min_s: service.ttl_min_s,
            all_down: service.all_down,
            up_share: service.up_share,
            regions,
        }
    }

    /// The checks that `service` requires of an endpoint, or (`address` absent) of a region as a whole.
    fn checks(
        &mut self,
        config: &Config,
        service: &crate::config::Service,
        region: RegionId,
        address: Option<IpAddr>,
    ) -> Vec<CheckIndex> {
        let wanted = if address.is_some() { Per::Endpoint } else { Per::Region };
        let required = service.requires.iter().filter_map(|&index| Some((index, config.probes.get(index)?)));
        let required = required.filter(|(_, probe)| probe.per == wanted);
        required
            .map(|(index, probe)| {
                *self.known.entry((index, region, address)).or_insert_with(|| {
                    let probe_name = probe.name.clone();
                    self.checks.push(Check { probe: probe_name, region, address, impact: probe.impact });
                    (self.checks.len() - 1) as CheckIndex
                })
            })
            .collect()
    }
}
