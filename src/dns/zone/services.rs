//! Services bound to their names: each must lie in a zone, and must not clash with what the zone says.

use std::collections::BTreeMap;

use domain::base::iana::Rtype;

use super::super::answer::ServiceIndex;
use super::BoundService;
use super::checks::dname_above;
use super::draft::{Draft, DraftNode, DraftSet};
use super::name::{self, Name, Written};
use super::report::Report;
use super::text::Spot;

/// Most edits between a mistyped zone and the one that was meant.
const MAX_TYPO_EDITS: usize = 2;
/// Most zones that a hint lists.
const MAX_LISTED_ZONES: usize = 5;

/// Why a service cannot be bound.
struct Refusal {
    text: String,
    hint: String,
}

impl Refusal {
    fn new(text: String, hint: impl Into<String>) -> Self {
        Self { text, hint: hint.into() }
    }
}

/// Binds each service to the zone with the longest apex above its name; returns how many were bound.
///
/// `unread` are the zones whose files are wrong: nothing is said about names in them.
pub(super) fn bind(
    drafts: &mut [Draft<'_>],
    unread: &[Name],
    services: &[BoundService],
    report: &mut Report,
) -> usize {
    let apexes: BTreeMap<Name, usize> =
        drafts.iter().enumerate().map(|(position, draft)| (draft.apex.clone(), position)).collect();
    let mut bound = 0;
    for (index, service) in services.iter().enumerate() {
        let index = ServiceIndex::try_from(index).unwrap_or(ServiceIndex::MAX);
        match bind_one(drafts, &apexes, unread, services, index, report) {
            Ok(()) => bound += 1,
            Err(None) => {}
            Err(Some(Refusal { text, hint })) => report.service(index, service.line, text, hint),
        }
    }
    bound
}

fn bind_one(
    drafts: &mut [Draft<'_>],
    apexes: &BTreeMap<Name, usize>,
    unread: &[Name],
    services: &[BoundService],
    index: ServiceIndex,
    report: &Report,
) -> Result<(), Option<Refusal>> {
    let Some(service) = services.get(index as usize) else { return Err(None) };
    let name = name::parse(&service.name, name::ROOT).map_err(|error| {
        let text = format!("service `{}` is no name: {}", service.name, error.text());
        Some(Refusal::new(text, error.hint()))
    })?;
    let name: Name = name.to_ascii_lowercase().into();
    let zone = name::ancestors(&name).find_map(|above| apexes.get_key_value(above));
    let apex_len = zone.map_or(0, |(apex, _)| apex.len());
    if unread.iter().any(|apex| apex.len() > apex_len && name::is_at_or_below(&name, apex)) {
        return Err(None);
    }
    let Some(draft) = zone.and_then(|(_, &position)| drafts.get_mut(position)) else {
        return Err(Some(outside(drafts, &name)));
    };
    refuse(draft, services, &name, service, report).map_or(Ok(()), |refusal| Err(Some(refusal)))?;
    draft.names.entry(name).or_default().service = Some(index);
    Ok(())
}

/// What speaks against the service at its name, if anything does.
fn refuse(
    draft: &Draft<'_>,
    services: &[BoundService],
    name: &[u8],
    service: &BoundService,
    report: &Report,
) -> Option<Refusal> {
    if let Some(cut) = draft.cut_of(name) {
        let text = format!(
            "service {} lies under the delegation of {} ({})",
            Written(name),
            Written(cut),
            report.place(draft.set(cut, Rtype::NS).map_or(Spot::whole(draft.source), DraftSet::spot)),
        );
        return Some(Refusal::new(
            text,
            "other name servers answer there: remove the NS records or the service",
        ));
    }
    if let Some((above, dname)) = dname_above(draft, name) {
        let place = report.place(dname.spot());
        let text = format!("service {} lies below the DNAME of {} ({place})", Written(name), Written(above));
        return Some(Refusal::new(text, "everything below it is redirected"));
    }
    let node = draft.names.get(name)?;
    if let Some(first) = node.service.and_then(|first| services.get(first as usize)) {
        let text = format!("service {} is already declared in line {}", Written(name), first.line);
        return Some(Refusal::new(text, "a name has one service"));
    }
    let (rtype, set) = clash(node, service)?;
    let text = format!(
        "service {} clashes with the {rtype} record of that name ({})",
        Written(name),
        report.place(set.spot()),
    );
    let hint = match rtype {
        Rtype::CNAME => "an alias has no other data: remove one of the two",
        _ if service.cname => "a service that answers an alias stands alone at its name",
        _ => "the service answers that type itself: remove one of the two",
    };
    Some(Refusal::new(text, hint))
}

/// The first set that cannot stand beside the service.
fn clash<'d>(node: &'d DraftNode, service: &BoundService) -> Option<(Rtype, &'d DraftSet)> {
    let excludes = |rtype: Rtype| match rtype {
        Rtype::CNAME => true,
        Rtype::A => service.a || service.cname,
        Rtype::AAAA => service.aaaa || service.cname,
        Rtype::RRSIG | Rtype::NSEC => false,
        _ => service.cname,
    };
    node.sets.iter().find(|(rtype, _)| excludes(**rtype)).map(|(&rtype, set)| (rtype, set))
}

/// A service in no zone, with the zone that was probably meant.
fn outside(drafts: &[Draft<'_>], name: &[u8]) -> Refusal {
    let text = format!("service {} lies in no zone", Written(name));
    let mut near: Vec<(usize, String)> = Vec::new();
    for draft in drafts {
        let depth = name::labels(&draft.apex).count();
        let labels: Vec<&[u8]> = name::labels(name).collect();
        let Some(split) = labels.len().checked_sub(depth) else { continue };
        let (front, back) = labels.split_at(split);
        let edits = distance(&back.join(&b'.'), &name::labels(&draft.apex).collect::<Vec<_>>().join(&b'.'));
        if edits <= MAX_TYPO_EDITS {
            let mut meant: Vec<u8> =
                front.iter().flat_map(|label| [&[label.len() as u8], *label].concat()).collect();
            meant.extend_from_slice(&draft.apex);
            near.push((edits, Written(&meant).to_string()));
        }
    }
    if let Some((_, meant)) = near.into_iter().min() {
        return Refusal::new(text, format!("did you mean {meant}?"));
    }
    let mut zones: Vec<String> =
        drafts.iter().take(MAX_LISTED_ZONES).map(|draft| Written(&draft.apex).to_string()).collect();
    if drafts.len() > MAX_LISTED_ZONES {
        zones.push("…".to_owned());
    }
    let hint = match zones.as_slice() {
        [] => "no zone is loaded".to_owned(),
        _ => format!("loaded: {}", zones.join(", ")),
    };
    Refusal::new(text, hint)
}

/// Edits (insert, delete, replace a byte) that turn `a` into `b` (Levenshtein).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut left = i + 1;
        let mut next = vec![left];
        for (to, pair) in b.iter().zip(row.windows(2)) {
            let [diagonal, above] = [pair[0], pair[1]];
            left = (left + 1).min(above + 1).min(diagonal + usize::from(from != to));
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
