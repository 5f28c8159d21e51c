//! Why this client gets this answer. Asks the same `respond` as the sockets do and reads its answer back, so that what is
//! explained is what is served; adds the trace that the hot path leaves out.

use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use super::clock::Now;
use super::derive::{ServiceState, chosen_word, home_decision, settle};
use super::plan::{Plan, ServicePlan};
use super::publish::{replies, wire_name};
use super::snapshot::Snapshot;
use crate::dns::answer::{ServiceAnswers, Slot};
use crate::dns::lookup::MAX_ALIASES;
use crate::dns::zone::Found;
use crate::dns::{Query, Transport, View, Worker, respond};
use crate::region::geo::{By, Located, Subnet};
use crate::region::{Reason, RegionId, Standing};

/// A question about an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name, with or without the trailing dot.
    pub name: String,
    /// The type's number.
    pub rtype: u16,
    /// Who asks.
    pub client: Client,
    /// Regions that count as failed.
    pub down: Vec<RegionId>,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// A client subnet option that says this.
    Subnet(Subnet),
    /// A source address.
    Address(IpAddr),
}

impl Client {
    /// The address that the query comes from.
    const fn address(self) -> IpAddr {
        match self {
            Self::Subnet(subnet) => subnet.addr,
            Self::Address(address) => address,
        }
    }
}

/// Why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotExplain {
    /// The name can't be a domain name.
    BadName(String),
    /// No zone holds the name.
    NotServed(String),
    /// The zone has no such name.
    NoName {
        /// The name.
        name: String,
        /// The zone.
        zone: String,
    },
    /// This node serves no DNS.
    NoDns,
}

impl std::fmt::Display for CannotExplain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BadName(name) => write!(f, "`{name}` is not a domain name"),
            Self::NotServed(name) => {
                write!(f, "`{name}` is not served here: no zone holds it, and the answer is REFUSED")
            }
            Self::NoName { name, zone } => {
                write!(f, "`{name}` does not exist in the zone {zone}: the answer is NXDOMAIN")
            }
            Self::NoDns => write!(f, "this node serves no DNS: its configuration has no [dns]"),
        }
    }
}

/// The `explain` document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Explanation {
    pub name: String,
    #[serde(rename = "type")]
    pub rtype: String,
    pub client: String,
    pub source: &'static str,
    pub located: Option<LocatedReport>,
    pub decision: Option<DecisionReport>,
    pub rcode: String,
    pub answers: Vec<String>,
    pub ttl: Option<u32>,
    pub ttl_because: Option<String>,
    pub serial: u64,
}

/// Where the client is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LocatedReport {
    pub by: &'static str,
    pub detail: String,
    pub home: String,
    pub scope: u8,
}

/// Who answers, and who was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct DecisionReport {
    pub service: String,
    pub region: String,
    pub reason: &'static str,
    pub trace: Vec<TraceReport>,
}

/// One look at one region.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct TraceReport {
    pub region: String,
    pub state: &'static str,
    pub verdict: &'static str,
    pub why: &'static str,
}

/// Explains.
///
/// Errors: the name is none, is not served, or does not exist.
pub fn explain(snapshot: &Snapshot, question: &Question, now: Now) -> Result<Explanation, CannotExplain> {
    let view = snapshot.view.as_ref().ok_or(CannotExplain::NoDns)?;
    let name = question.name.trim_end_matches('.').to_ascii_lowercase();
    let wire = checked_wire_name(&name).ok_or_else(|| CannotExplain::BadName(question.name.clone()))?;
    match view.zones.find(&wire) {
        Found::NoName { redirect: Some(_), .. } => {}
        Found::Outside => return Err(CannotExplain::NotServed(name)),
        Found::NoName { zone, .. } => return Err(CannotExplain::NoName { name, zone: zone.name() }),
        Found::Node { .. } | Found::Cut { .. } => {}
    }
    let service = asked_service(view, wire.clone(), question.rtype);
    let state = service.and_then(|index| suppose(snapshot, index, &question.down));
    let view = match (&state, service) {
        // Without a hypothesis it is the published answer that is explained, not one like it.
        (Some(state), Some(index)) if !question.down.is_empty() => {
            with_state(view, &snapshot.plan, index, state, now)
        }
        _ => view.clone(),
    };
    let subnet = used_subnet(&view, question.client);
    let located = view.geo.locate(subnet, question.client.address());
    let decided = service.zip(state).and_then(|(index, state)| {
        let service = snapshot.plan.services.get(index as usize)?;
        Some(decision(&snapshot.plan, service, &state, &located))
    });
    let reply = ask(&view, &wire, question, now);
    // A negative answer, a truncated one and the like have a scope of their own.
    let located = Located { scope: reply.scope.unwrap_or(0), ..located };
    let (decision, ttl_because) = decided.unzip();
    Ok(Explanation {
        name,
        rtype: reply::type_name(question.rtype),
        client: client_text(question.client),
        source: if subnet.is_some() { "ecs" } else { "address" },
        located: decision.is_some().then(|| {
            let detail = view.geo.describe(subnet, question.client.address()).detail;
            located_report(&snapshot.plan, detail, &located)
        }),
        decision,
        rcode: reply.rcode,
        answers: reply.answers,
        ttl: reply.ttl,
        ttl_because,
        serial: snapshot.serial,
    })
}

/// The service that such a question comes to, aliases followed as far as an answer follows them; absent when the zone's
/// own data answers.
fn asked_service(view: &View, mut wire: Vec<u8>, rtype: u16) -> Option<u32> {
    for _ in 0..=MAX_ALIASES {
        match view.zones.find(&wire) {
            Found::Node { .. } if rtype == reply::ANY => return None,
            Found::Node { node, .. } if node.rrset(rtype).is_some() => return None,
            Found::Node { node, .. } => {
                if let Some(service) = node.service {
                    let answers = view.answers.service(service)?;
                    return answers.covers(rtype).then_some(service);
                }
                wire = node.rrset(reply::CNAME)?.target.to_vec();
            }
            Found::NoName { redirect, .. } => {
                let redirect = redirect?;
                let prefix_len = wire.len().checked_sub(redirect.owner_len)?;
                wire.truncate(prefix_len);
                wire.extend_from_slice(&redirect.rrset.target);
            }
            Found::Cut { .. } | Found::Outside => return None,
        }
    }
    None
}

/// The service's state with these regions failed, as far as it has them.
fn suppose(snapshot: &Snapshot, index: u32, down: &[RegionId]) -> Option<Arc<ServiceState>> {
    let state = snapshot.states.get(index)?;
    if down.is_empty() {
        return Some(Arc::clone(state));
    }
    let service = snapshot.plan.services.get(index as usize)?;
    let mut regions = state.regions.clone();
    for region in down {
        if let Some(Some(state)) = regions.get_mut(region.index()) {
            let worse = state.standing.max(Standing::Failed);
            state.standing = worse;
        }
    }
    Some(Arc::new(settle(service, regions)))
}

/// The view with one service's answers as that state has them.
fn with_state(view: &View, plan: &Plan, index: u32, state: &ServiceState, now: Now) -> View {
    let mut view = view.clone();
    if let Some(service) = plan.services.get(index as usize) {
        let replies = replies(service, state, now, |_, _| Slot::default());
        view.answers.replace(index, Arc::new(ServiceAnswers::encode(&replies)));
    }
    view
}

/// The subnet that decides, where one does. One that does not leaves the decision to the source; there is none here but
/// the subnet's own address.
fn used_subnet(view: &View, client: Client) -> Option<Subnet> {
    match client {
        Client::Subnet(subnet) if view.settings.ecs && subnet.source > 0 => Some(subnet),
        Client::Subnet(_) | Client::Address(_) => None,
    }
}

fn located_report(plan: &Plan, detail: String, located: &Located) -> LocatedReport {
    LocatedReport {
        by: located.by.word(),
        detail,
        home: plan.region_name(located.home).to_owned(),
        scope: located.scope,
    }
}

fn decision(
    plan: &Plan,
    service: &ServicePlan,
    state: &ServiceState,
    located: &Located,
) -> (DecisionReport, String) {
    let (decided, trace) = home_decision(service, &state.table, &state.regions, located.home);
    let unmapped = located.by == By::Unmapped;
    let word = |reason: Reason| if unmapped { reason.for_unmapped().word() } else { reason.word() };
    let reason = word(decided.decision.reason);
    let trace = trace.iter().map(|step| TraceReport {
        region: plan.region_name(step.region).to_owned(),
        state: step.standing.state().word(),
        verdict: if step.chosen { "chosen" } else { "skipped" },
        why: if step.chosen { reason } else { step.why },
    });
    let report = DecisionReport {
        service: service.name.clone(),
        region: chosen_word(plan, decided.decision.chosen).to_owned(),
        reason,
        trace: trace.collect(),
    };
    let mut because = decided.ttl.because.words().to_owned();
    if let Some(until_ms) = decided.ttl.until_ms {
        because = format!("{because}; not beyond {}", super::journal::rfc3339(until_ms));
    }
    (report, because)
}

/// Asks as the client would over TCP, so that nothing is cut off, and reads the answer.
fn ask(view: &View, wire: &[u8], question: &Question, now: Now) -> reply::Reply {
    let subnet = match question.client {
        Client::Subnet(subnet) => Some(subnet),
        Client::Address(_) => None,
    };
    let peer = question.client.address();
    let bytes = reply::query(wire, question.rtype, subnet);
    let query = Query { bytes: &bytes, peer, transport: Transport::Tcp, now: now.mono, wall_s: now.wall_s() };
    let mut out = vec![0; 65_535];
    let length = respond(view, &mut Worker::uncounted(), query, &mut out);
    reply::read(out.get(..length).unwrap_or_default())
}

fn checked_wire_name(name: &str) -> Option<Vec<u8>> {
    let labels = || name.split('.').filter(|_| !name.is_empty());
    let fits = labels().all(|label| (1..=63).contains(&label.len())) && name.len() <= 253;
    fits.then(|| wire_name(name))
}

fn client_text(client: Client) -> String {
    match client {
        Client::Subnet(subnet) => format!("{}/{}", subnet.addr, subnet.source),
        Client::Address(address) => address.to_string(),
    }
}

mod reply;
