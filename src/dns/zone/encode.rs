//! RRsets and referrals, encoded as an answer has them.

use std::collections::BTreeSet;

use domain::base::iana::Rtype;

use super::super::template::Template;
use super::compose::Composer;
use super::draft::{Draft, DraftSet};
use super::master;
use super::name;
use super::rdata;
use super::{Cut, Rrset};

/// Encodes a set.
pub(super) fn rrset(draft: &Draft<'_>, owner: &[u8], rtype: Rtype, set: &DraftSet) -> Rrset {
    let mut composer = Composer::new(owner);
    composer.own(rtype, set.ttl_s, set);
    let records = composer.take();
    let target = match (rtype, set.records.first()) {
        (Rtype::CNAME | Rtype::DNAME, Some((data, _))) => rdata::target(rtype, data).unwrap_or_default(),
        _ => Box::default(),
    };
    match rtype {
        Rtype::NS | Rtype::MX | Rtype::SRV => add_target_addresses(&mut composer, draft, rtype, set),
        Rtype::SVCB | Rtype::HTTPS => add_svc_targets(&mut composer, draft, owner, rtype, set),
        _ => {}
    }
    let additional = Some(composer.take()).filter(|additional| additional.count > 0).map(Box::new);
    Rrset { rtype: rtype.to_int(), records, target, additional }
}

/// The SOA record of negative answers about names at or below `apex`: it lives as long as the SOA itself and its minimum
/// allow (RFC 2308 3).
pub(super) fn negative_soa(apex: &[u8], set: &DraftSet) -> Template {
    let minimum_s = set.records.first().map_or(0, |(data, _)| master::soa_minimum(data));
    let mut composer = Composer::new(apex);
    composer.own(Rtype::SOA, set.ttl_s.min(minimum_s), set);
    composer.take()
}

/// The serial of SOA data.
pub(super) fn serial(set: &DraftSet) -> u32 {
    set.records.first().map_or(0, |(data, _)| master::soa_serial(data))
}

/// The referral to the zone at `owner`, which has an NS set.
pub(super) fn cut(draft: &Draft<'_>, owner: &[u8], ns: &DraftSet) -> Cut {
    let targets: BTreeSet<name::Name> =
        ns.records.iter().filter_map(|(data, _)| rdata::target(Rtype::NS, data)).collect();
    let (inside, beside): (Vec<_>, Vec<_>) =
        targets.iter().partition(|target| name::is_at_or_below(target, owner));
    let mut referral = Composer::new(owner);
    referral.own(Rtype::NS, ns.ttl_s, ns);
    let ns = referral.take();
    inside.iter().for_each(|target| add_addresses(&mut referral, draft, target));
    let glue = referral.take();
    beside.iter().for_each(|target| add_addresses(&mut referral, draft, target));
    let sibling_glue = referral.take();
    let mut answer = Composer::new(owner);
    if let Some(ds) = draft.set(owner, Rtype::DS) {
        answer.own(Rtype::DS, ds.ttl_s, ds);
    }
    Cut { owner_len: owner.len(), ns, glue, sibling_glue, ds: answer.take() }
}

fn add_addresses(composer: &mut Composer<'_>, draft: &Draft<'_>, name: &[u8]) {
    for (rtype, addresses) in draft.addresses(name) {
        composer.other(name, rtype, addresses);
    }
}

/// Addresses of the names that a set points to, as far as this zone has them (RFC 1034 4.3.2 step 6). Addresses below
/// a cut are not the zone's to say, except to find a name server.
fn add_target_addresses(composer: &mut Composer<'_>, draft: &Draft<'_>, rtype: Rtype, set: &DraftSet) {
    let mut seen = BTreeSet::new();
    for target in set.records.iter().filter_map(|(data, _)| rdata::target(rtype, data)) {
        let sayable = rtype == Rtype::NS || draft.cut_of(&target).is_none();
        if !sayable || !seen.insert(target.clone()) {
            continue;
        }
        add_addresses(composer, draft, &target);
    }
}

/// What SVCB and HTTPS targets need next, as far as this zone has it: for an alias the target's own records of that
/// type, for both their addresses (RFC 9460 4.1). A service is left out: its addresses depend on who asks.
fn add_svc_targets(
    composer: &mut Composer<'_>,
    draft: &Draft<'_>,
    owner: &[u8],
    rtype: Rtype,
    set: &DraftSet,
) {
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
            composer.other(&target, rtype, next);
        }
        add_addresses(composer, draft, &target);
    }
}
