//! What a zone must and should keep to, beyond the form of its records.

use std::collections::BTreeSet;

use domain::base::iana::Rtype;

use super::compose::{MAX_LEN, RECORD_HEAD_LEN};
use super::draft::{Draft, DraftNode, DraftSet};
use super::name::{self, Name, Written};
use super::rdata;
use super::report::Report;
use super::text::{Fault, Spot};

/// SvcParamKeys of address hints (RFC 9460 14.3.2).
const ADDRESS_HINTS: [u16; 2] = [4, 6];

/// Checks a zone whose services are bound and whose loaded children are known.
pub(super) fn check(draft: &Draft<'_>, report: &mut Report) {
    let servers = name_servers(draft);
    if !draft.broken && draft.set(&draft.apex, Rtype::NS).is_none() {
        let spot = draft.set(&draft.apex, Rtype::SOA).map_or(Spot::whole(draft.source), DraftSet::spot);
        let text = format!("the zone {} has no NS record at its apex", Written(&draft.apex));
        report.error(Fault::new(spot, text, "as in `@ NS ns1`"));
    }
    for (name, node) in &draft.names {
        check_sets(name, node, report);
        check_alias(name, node, report);
        check_hints(name, node, report);
        check_alias_mode(name, node, report);
        match draft.cut_of(name) {
            Some(cut) => warn_occluded(draft, name, node, cut, &servers, report),
            None => check_below_dname(draft, name, node, report),
        }
        check_targets(draft, name, node, report);
    }
}

/// Every name server that the zone names for itself or for a delegation.
fn name_servers(draft: &Draft<'_>) -> BTreeSet<Name> {
    let sets = draft.names.values().filter_map(|node| node.sets.get(&Rtype::NS));
    sets.flat_map(|set| &set.records).filter_map(|(data, _)| rdata::target(Rtype::NS, data)).collect()
}

fn check_sets(name: &Name, node: &DraftNode, report: &mut Report) {
    for (&rtype, set) in &node.sets {
        let len: usize = set.records.iter().map(|(data, _)| RECORD_HEAD_LEN + data.len()).sum();
        if len > MAX_LEN {
            let text = format!(
                "the {rtype} records of {} take {len} bytes: more than a message holds",
                Written(name)
            );
            report.error(Fault::new(set.spot(), text, ""));
        }
        if name::is_wildcard(name) && matches!(rtype, Rtype::NS | Rtype::DNAME) {
            let text = format!("{rtype} at the wildcard {} has no meaning", Written(name));
            report.error(Fault::new(set.spot(), text, "see RFC 4592 4.2 and 4.4"));
        }
        if let (Rtype::DNAME, Some((_, second))) = (rtype, set.records.get(1)) {
            let text = format!("{} has two DNAME records", Written(name));
            let hint = "a name is redirected to one place: RFC 6672 2.4";
            report.error(Fault::new(*second, text, hint));
        }
    }
}

/// A CNAME stands alone, but for what DNSSEC adds (RFC 2181 10.1, RFC 4034 3 and 4).
fn check_alias(name: &Name, node: &DraftNode, report: &mut Report) {
    let Some(alias) = node.sets.get(&Rtype::CNAME) else { return };
    if let Some((_, second)) = alias.records.get(1) {
        let text = format!("{} has two CNAME records", Written(name));
        report.error(Fault::new(*second, text, "a name is an alias of one other name"));
    }
    let beside = |rtype: &Rtype| !matches!(*rtype, Rtype::CNAME | Rtype::RRSIG | Rtype::NSEC);
    for (rtype, set) in node.sets.iter().filter(|(rtype, _)| beside(rtype)) {
        // The complaint stands at whichever came second.
        let (spot, other) = (alias.spot().max(set.spot()), alias.spot().min(set.spot()));
        let text = format!(
            "{} has a CNAME beside {rtype} records; the other stands in {}",
            Written(name),
            report.place_from(other, spot)
        );
        report.error(Fault::new(spot, text, "an alias has no other data: RFC 1034 3.6.2"));
    }
}

fn check_below_dname(draft: &Draft<'_>, name: &Name, node: &DraftNode, report: &mut Report) {
    let Some((above, dname)) = dname_above(draft, name) else { return };
    for (rtype, set) in &node.sets {
        let text = format!(
            "{} {rtype} lies below the DNAME of {} in {}",
            Written(name),
            Written(above),
            report.place_from(dname.spot(), set.spot()),
        );
        report.error(Fault::new(set.spot(), text, "nothing may: RFC 6672 2.4"));
    }
}

/// The nearest name above `name` with a DNAME, inside the zone.
pub(super) fn dname_above<'d>(draft: &'d Draft<'_>, name: &'d [u8]) -> Option<(&'d [u8], &'d DraftSet)> {
    let inside = name::ancestors(name).skip(1).take_while(|at| at.len() >= draft.apex.len());
    inside.into_iter().find_map(|at| Some((at, draft.set(at, Rtype::DNAME)?)))
}

/// Data at or below a cut is not this zone's, but for the delegation itself and glue.
fn warn_occluded(
    draft: &Draft<'_>,
    name: &Name,
    node: &DraftNode,
    cut: &[u8],
    servers: &BTreeSet<Name>,
    report: &mut Report,
) {
    for (&rtype, set) in &node.sets {
        let belongs = match rtype {
            Rtype::NS | Rtype::DS | Rtype::NSEC | Rtype::RRSIG => **name == *cut,
            Rtype::A | Rtype::AAAA => servers.contains(name),
            _ => false,
        };
        if belongs {
            continue;
        }
        let place = if **name == *cut { "at" } else { "below" };
        let (text, hint) = if draft.children.contains(cut) {
            let text =
                format!("{} {rtype} lies in the zone {}, which is loaded", Written(name), Written(cut));
            (text, "never answered: it belongs in that zone's file")
        } else {
            let text = format!("{} {rtype} lies {place} the delegation of {}", Written(name), Written(cut));
            (text, "never answered: only NS, DS and the addresses of its name servers belong here")
        };
        report.warn(Fault::new(set.spot(), text, hint));
    }
}

/// Names that records point to: no aliases, and addresses where a resolver needs them from here.
fn check_targets(draft: &Draft<'_>, name: &Name, node: &DraftNode, report: &mut Report) {
    let cut = draft.cut_of(name);
    if cut.is_some_and(|cut| *cut != **name || draft.children.contains(cut)) {
        return;
    }
    for rtype in [Rtype::NS, Rtype::MX, Rtype::SRV] {
        for (data, spot) in node.sets.get(&rtype).into_iter().flat_map(|set| &set.records) {
            let Some(target) = rdata::target(rtype, data) else { continue };
            if !name::is_at_or_below(&target, &draft.apex) {
                continue;
            }
            let occluded = draft.cut_of(&target).is_some();
            if !occluded && draft.set(&target, Rtype::CNAME).is_some() {
                let text = format!("{rtype} of {} points to {}, an alias", Written(name), Written(&target));
                let hint = "point to the name that has the addresses: RFC 2181 10.3";
                report.warn(Fault::new(*spot, text, hint));
            } else if rtype == Rtype::NS && lacks_address(draft, &target) {
                let glue = cut.is_some_and(|cut| name::is_at_or_below(&target, cut));
                let what = if glue { "the delegation needs it as glue" } else { "resolvers need it" };
                let text = format!("the name server {} has no address", Written(&target));
                report.warn(Fault::new(*spot, text, format!("{what}: add an A or AAAA record")));
            }
        }
    }
}

fn lacks_address(draft: &Draft<'_>, target: &[u8]) -> bool {
    let in_child = draft.cut_of(target).is_some_and(|cut| draft.children.contains(cut));
    let served = draft.names.get(target).is_some_and(|node| node.service.is_some());
    !in_child && !served && draft.addresses(target).next().is_none()
}

/// Address hints are fixed, the service's addresses are not: clients that follow the hints pass it by.
fn check_hints(name: &Name, node: &DraftNode, report: &mut Report) {
    if node.service.is_none() {
        return;
    }
    for rtype in [Rtype::SVCB, Rtype::HTTPS] {
        for (data, spot) in node.sets.get(&rtype).into_iter().flat_map(|set| &set.records) {
            if rdata::svc_param_keys(data).any(|key| ADDRESS_HINTS.contains(&key)) {
                let text = format!("{rtype} of {} has address hints, beside a service", Written(name));
                let hint = "clients that follow them pass the service by: leave out ipv4hint and ipv6hint";
                report.warn(Fault::new(*spot, text, hint));
            }
        }
    }
}

/// In AliasMode nothing but the target counts, and no ServiceMode record beside it (RFC 9460 2.4.1, 2.4.2).
fn check_alias_mode(name: &Name, node: &DraftNode, report: &mut Report) {
    for rtype in [Rtype::SVCB, Rtype::HTTPS] {
        let Some(set) = node.sets.get(&rtype) else { continue };
        let is_alias = |data: &[u8]| rdata::svc_priority(data) == 0;
        let aliases = set.records.iter().filter(|(data, _)| is_alias(data)).count();
        for (data, spot) in &set.records {
            if is_alias(data) && rdata::svc_param_keys(data).next().is_some() {
                let text = format!("{rtype} of {} is an alias, but has parameters", Written(name));
                let hint =
                    "with priority 0 they are ignored: leave them out, or take priority 1 (RFC 9460 2.4.2)";
                report.warn(Fault::new(*spot, text, hint));
            } else if !is_alias(data) && aliases > 0 {
                let text = format!("{rtype} of {} stands beside an alias (priority 0)", Written(name));
                let hint = "clients take the alias alone: remove one of the two (RFC 9460 2.4.1)";
                report.warn(Fault::new(*spot, text, hint));
            }
        }
    }
}
