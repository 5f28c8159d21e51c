//! The journal: one line per cause, with the inputs that changed and the decisions that followed, so that every recorded
//! decision can be computed again.

mod read;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::derive::{ServiceState, chosen_word};
use super::inputs::Change;
use super::model::{Model, Outcome};
use super::plan::Plan;
use crate::region::Reason;

pub use read::{Lines, ReadError, read_lines};

/// Services whose decisions one line spells out; the rest is counted, and covered by the digest.
pub const LISTED_SERVICES: usize = 256;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The serial of the state that this line leads to.
    pub serial: u64,
    /// When, for people.
    pub at: String,
    /// When, in milliseconds since 1970: the moment that the decisions are made for.
    pub at_ms: i64,
    /// What happened, in one word: `start`, `probe`, `order`, `release`, `load`, `time`, `geo`, `checkpoint`.
    pub cause: String,
    /// What happened, in a sentence's worth of words.
    pub text: String,
    /// The inputs that changed, in order.
    pub changes: Vec<Change>,
    /// The services whose decisions changed.
    pub touched: Vec<Touched>,
    /// Further services whose decisions changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
    /// Over the line's other fields, and the decisions of every touched service after the change, listed here or not.
    pub digest: String,
}

/// One service's decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Touched {
    /// The service.
    pub service: String,
    /// By home, before; absent when there was no before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Homes>,
    /// By home, after.
    pub after: Homes,
}

/// Decisions by the name of the home region.
pub type Homes = BTreeMap<String, Served>;

/// What the users of one home get.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// The region that answers, `all` or `none`.
    pub answer: String,
    /// Why.
    pub reason: String,
    /// The addresses answered, in order; or
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// the alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cname: Option<String>,
    /// Seconds that it may be kept.
    pub ttl_s: u32,
    /// Not beyond this moment, in milliseconds since 1970 (but for the service's `ttl_min`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Line {
    /// A line that tells everything as it stands: for the start, and where lines before it are missing.
    pub fn whole(model: &Model, cause: &str, text: String) -> Self {
        let touched = (0..).zip(model.states()).map(|(service, _)| (service, None)).collect();
        let changes = vec![model.inputs().whole(model.plan())];
        let outcome = Outcome { serial: model.serial(), changes, touched, ..Outcome::default() };
        Self::new(model, &outcome, cause, text)
    }

    /// Whether it tells everything anew, so that a journal can begin with it.
    pub fn is_whole(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Plan { .. }))
    }

    /// The line for what one event changed in the model.
    pub fn new(model: &Model, outcome: &Outcome, cause: &str, text: String) -> Self {
        let plan = model.plan();
        let at_ms = model.wall_ms();
        let mut line = Self {
            serial: outcome.serial,
            at: rfc3339(at_ms),
            at_ms,
            cause: cause.to_owned(),
            text,
            changes: outcome.changes.clone(),
            touched: Vec::new(),
            more: 0,
            digest: String::new(),
        };
        let mut digest = line.begin_digest();
        for (service, before) in &outcome.touched {
            let Some(after) = model.states().get(*service as usize) else { continue };
            let after = homes(plan, *service, after);
            let before = before.as_ref().map(|before| homes(plan, *service, before));
            if before.as_ref() == Some(&after) {
                continue;
            }
            let name = name(plan, *service);
            feed(&mut digest, name, &after);
            if line.touched.len() < LISTED_SERVICES {
                line.touched.push(Touched { service: name.to_owned(), before, after });
            } else {
                line.more += 1;
            }
        }
        line.digest = hex(&digest.finalize());
        line
    }

    /// A digest that has taken in everything but decisions; these follow with [`feed`], in the plan's order.
    pub fn begin_digest(&self) -> Sha256 {
        let told = (self.serial, &self.at, self.at_ms, &self.cause, &self.text, &self.changes);
        Sha256::new_with_prefix(serde_json::to_vec(&told).unwrap_or_default())
    }
}

/// What each home is served, by name.
pub fn homes(plan: &Plan, service: u32, state: &ServiceState) -> Homes {
    let Some(listed) = plan.services.get(service as usize) else { return Homes::new() };
    let homes = state.table.regions().zip(&state.homes);
    homes
        .map(|(home, decided)| {
            let decision = decided.decision;
            let nobody = decision.regions().is_empty();
            let cname = decision
                .regions()
                .iter()
                .find_map(|r| listed.regions.get(r.index())?.as_ref()?.cname.clone());
            let addresses = state.endpoints(listed, home).map(|(_, address)| address);
            let served = Served {
                answer: chosen_word(plan, decision.chosen).to_owned(),
                reason: decision.reason.word().to_owned(),
                addresses: if nobody { Vec::new() } else { addresses.collect() },
                cname,
                ttl_s: decided.ttl.ttl_s,
                until_ms: decided.ttl.until_ms,
            };
            (plan.region_name(home).to_owned(), served)
        })
        .collect()
}

/// Whether a recorded reason says that nobody was able.
pub fn failed_open(served: &Served) -> bool {
    served.reason == Reason::FailOpen.word()
}

/// Feeds one service's decisions to a digest.
pub fn feed(hash: &mut Sha256, service: &str, homes: &Homes) {
    hash.update(service);
    hash.update([0]);
    hash.update(serde_json::to_vec(homes).unwrap_or_default());
}

/// The first 16 bytes of a digest, in hexadecimal.
pub fn hex(digest: &[u8]) -> String {
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A moment in milliseconds since 1970 as RFC 3339 in UTC.
pub fn rfc3339(at_ms: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_ms) * 1_000_000);
    moment.ok().and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{at_ms} ms"))
}

fn name(plan: &Plan, service: u32) -> &str {
    plan.services.get(service as usize).map_or("", |service| &service.name)
}
