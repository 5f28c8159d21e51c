//! RRsets and referrals, encoded as an answer has them.

use std::collections::BTreeSet;

use domain::base::iana::Rtype;

use super::draft::{Draft, DraftSet};
use super::master;
use super::name;
use super::rdata;
use super::{Cut, Rrset};

/// Bytes of an encoded record before its data, when its owner is a pointer: pointer, type, class, TTL, length.
pub(super) const RECORD_HEAD_LEN: usize = 12;
/// Longest encoded RRset, in bytes: what a 65,535-byte message holds beside header, question and OPT record.
pub(super) const MAX_RRSET_LEN: usize = 65_000;
/// A pointer to the question's name, which always begins at byte 12 (RFC 1035 4.1.4).
const QNAME_POINTER: [u8; 2] = [0xc0, 0x0c];
/// Class IN.
const CLASS_IN: [u8; 2] = [0, 1];

/// Encodes a set.
pub(super) fn rrset(draft: &Draft<'_>, owner: &[u8], rtype: Rtype, set: &DraftSet) -> Rrset {
    let mut records = Records::default();
    for (data, _) in &set.records {
        records.push(&QNAME_POINTER, &tail(rtype, set.ttl_s, data));
    }
    let target = match (rtype, set.records.first()) {
        (Rtype::CNAME | Rtype::DNAME, Some((data, _))) => rdata::target(rtype, data).unwrap_or_default(),
        _ => Box::default(),
    };
    let additional = match rtype {
        Rtype::NS | Rtype::MX | Rtype::SRV => target_addresses(draft, rtype, set),
        Rtype::SVCB | Rtype::HTTPS => svc_targets(draft, owner, rtype, set),
        _ => Records::default(),
    };
    Rrset {
        rtype: rtype.to_int(),
        count: records.count(),
        bytes: records.bytes.into(),
        lens: records.lens.into(),
        target,
        additional_count: additional.count(),
        additional: additional.bytes.into(),
        additional_lens: additional.lens.into(),
    }
}

/// The SOA record of negative answers, without its owner: it lives as long as the SOA itself and its minimum allow
/// (RFC 2308 3).
pub(super) fn negative_soa(set: &DraftSet) -> Box<[u8]> {
    let Some((data, _)) = set.records.first() else { return Box::default() };
    tail(Rtype::SOA, set.ttl_s.min(master::soa_minimum(data)), data).into()
}

/// The serial of SOA data.
pub(super) fn serial(set: &DraftSet) -> u32 {
    set.records.first().map_or(0, |(data, _)| master::soa_serial(data))
}

/// The referral to the zone at `owner`, which has an NS set.
pub(super) fn cut(draft: &Draft<'_>, owner: &[u8], ns: &DraftSet) -> Cut {
    let tails = |rtype, set: &DraftSet| -> Vec<Box<[u8]>> {
        set.records.iter().map(|(data, _)| tail(rtype, set.ttl_s, data).into()).collect()
    };
    let targets: BTreeSet<name::Name> =
        ns.records.iter().filter_map(|(data, _)| rdata::target(Rtype::NS, data)).collect();
    let (inside, beside): (Vec<_>, Vec<_>) =
        targets.iter().partition(|target| name::is_at_or_below(target, owner));
    let mut glue = glue_of(draft, &inside);
    let glue_required = glue.len();
    glue.extend(glue_of(draft, &beside));
    Cut {
        owner_len: owner.len(),
        ns: tails(Rtype::NS, ns),
        ds: draft.set(owner, Rtype::DS).map(|ds| tails(Rtype::DS, ds)).unwrap_or_default(),
        glue,
        glue_required,
    }
}

fn glue_of(draft: &Draft<'_>, targets: &[&name::Name]) -> Vec<Box<[u8]>> {
    let mut glue = Vec::new();
    for target in targets {
        for (rtype, set) in draft.addresses(target) {
            for (data, _) in &set.records {
                glue.push([target, tail(rtype, set.ttl_s, data).as_slice()].concat().into());
            }
        }
    }
    glue
}

/// Addresses of the names that a set points to, as far as this zone has them (RFC 1034 4.3.2 step 6). Addresses below
/// a cut are not the zone's to say, except to find a name server.
fn target_addresses(draft: &Draft<'_>, rtype: Rtype, set: &DraftSet) -> Records {
    let mut records = Records::default();
    let mut seen = BTreeSet::new();
    for target in set.records.iter().filter_map(|(data, _)| rdata::target(rtype, data)) {
        let sayable = rtype == Rtype::NS || draft.cut_of(&target).is_none();
        if !sayable || !seen.insert(target.clone()) {
            continue;
        }
        for (rtype, addresses) in draft.addresses(&target) {
            records.push_set(&target, rtype, addresses);
        }
    }
    records
}

/// What SVCB and HTTPS targets need next, as far as this zone has it: for an alias the target's own records of that
/// type, for both their addresses (RFC 9460 4.1). A service is left out: its addresses depend on who asks.
fn svc_targets(draft: &Draft<'_>, owner: &[u8], rtype: Rtype, set: &DraftSet) -> Records {
    let mut records = Records::default();
    let mut seen = BTreeSet::new();
    for (data, _) in &set.records {
        let alias = rdata::svc_priority(data) == 0;
        let Some(named) = rdata::target(rtype, data) else { continue };
        // The root stands for the owner itself, in an alias for nothing at all (RFC 9460 2.5).
        let target = match (*named == *name::ROOT, alias) {
            (true, true) => continue,
            // A wildcard answers for a name that isn't known yet.
            (true, false) if name::is_wildcard(owner) => continue,
            (true, false) => owner.into(),
            (false, _) => named,
        };
        let served = draft.names.get(&target).is_some_and(|node| node.service.is_some());
        if served || draft.cut_of(&target).is_some() || !seen.insert(target.clone()) {
            continue;
        }
        if let Some(next) = draft.set(&target, rtype).filter(|_| alias && *target != *owner) {
            records.push_set(&target, rtype, next);
        }
        for (rtype, addresses) in draft.addresses(&target) {
            records.push_set(&target, rtype, addresses);
        }
    }
    records
}

/// Type, class, TTL, length and data of a record.
fn tail(rtype: Rtype, ttl_s: u32, data: &[u8]) -> Vec<u8> {
    // Longer data was refused when it was read.
    let len = u16::try_from(data.len()).unwrap_or(u16::MAX);
    let mut tail = Vec::with_capacity(10 + data.len());
    tail.extend_from_slice(&rtype.to_int().to_be_bytes());
    tail.extend_from_slice(&CLASS_IN);
    tail.extend_from_slice(&ttl_s.to_be_bytes());
    tail.extend_from_slice(&len.to_be_bytes());
    tail.extend_from_slice(data);
    tail
}

/// Records one after the other, with the length of each.
#[derive(Debug, Default)]
struct Records {
    bytes: Vec<u8>,
    lens: Vec<u16>,
}

impl Records {
    /// Adds a record, unless the whole would outgrow a message: of optional data, what fits is kept.
    fn push(&mut self, owner: &[u8], tail: &[u8]) {
        let len = owner.len() + tail.len();
        if self.bytes.len() + len > MAX_RRSET_LEN {
            return;
        }
        self.bytes.extend_from_slice(owner);
        self.bytes.extend_from_slice(tail);
        self.lens.push(u16::try_from(len).unwrap_or(u16::MAX));
    }

    fn push_set(&mut self, owner: &[u8], rtype: Rtype, set: &DraftSet) {
        for (data, _) in &set.records {
            self.push(owner, &tail(rtype, set.ttl_s, data));
        }
    }

    fn count(&self) -> u16 {
        u16::try_from(self.lens.len()).unwrap_or(u16::MAX)
    }
}
