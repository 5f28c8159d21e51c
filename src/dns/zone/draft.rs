//! A zone while it is being built: records grouped by name and type, duplicates dropped, one TTL a set.

use std::collections::{BTreeMap, BTreeSet};

use domain::base::iana::Rtype;

use super::super::answer::ServiceIndex;
use super::ZoneFile;
use super::master::{Master, Record};
use super::name::{self, Name, Written};
use super::rdata;
use super::report::Report;
use super::text::{Fault, SourceId, Spot};

/// A zone of one file.
#[derive(Debug)]
pub(super) struct Draft<'f> {
    pub(super) file: &'f ZoneFile,
    /// The number of its text.
    pub(super) source: SourceId,
    pub(super) apex: Name,
    pub(super) names: BTreeMap<Name, DraftNode>,
    /// Names below the apex where another zone begins: delegated, or loaded from another file.
    pub(super) cuts: BTreeSet<Name>,
    /// Those of them that are loaded: their own zones answer there.
    pub(super) children: BTreeSet<Name>,
    /// Some entry of the file could not be read.
    pub(super) broken: bool,
}

/// What stands at one name.
#[derive(Debug, Default)]
pub(super) struct DraftNode {
    pub(super) sets: BTreeMap<Rtype, DraftSet>,
    pub(super) service: Option<ServiceIndex>,
}

/// One RRset. Has at least one record.
#[derive(Debug)]
pub(super) struct DraftSet {
    /// The lowest of its records.
    pub(super) ttl_s: u32,
    pub(super) records: Vec<(Vec<u8>, Spot)>,
}

impl DraftSet {
    /// Where the set begins in its file.
    pub(super) fn spot(&self) -> Spot {
        self.records.first().map(|(_, spot)| *spot).unwrap_or_default()
    }
}

impl<'f> Draft<'f> {
    /// Groups a file's records into the zone of its first SOA. Without one there is no zone.
    pub(super) fn new(file: &'f ZoneFile, master: Master, report: &mut Report) -> Option<Self> {
        let soa = master.records.iter().position(|record| record.rtype == Rtype::SOA);
        let Some((position, soa)) = soa.and_then(|at| Some((at, master.records.get(at)?))) else {
            if !master.broken {
                let hint = "a zone begins with one, as in `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`";
                report.error(Fault::new(Spot::whole(master.source), "the file has no SOA record", hint));
            }
            return None;
        };
        let (apex, soa_spot) = (soa.owner.clone(), soa.spot);
        let (names, cuts, children) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let (source, broken) = (master.source, master.broken);
        let mut draft = Self { file, source, apex, names, cuts, children, broken };
        for (at, record) in master.records.into_iter().enumerate() {
            if record.rtype == Rtype::SOA && at != position {
                let first = report.place_from(soa_spot, record.spot);
                let text = format!("a second SOA record; the first stands in {first}");
                report.error(Fault::new(record.spot, text, "one file holds one zone"));
            } else {
                draft.add(record, report);
            }
        }
        let delegated = |(name, node): (&Name, &DraftNode)| {
            (*name != draft.apex && node.sets.contains_key(&Rtype::NS)).then(|| name.clone())
        };
        draft.cuts = draft.names.iter().filter_map(delegated).collect();
        Some(draft)
    }

    fn add(&mut self, record: Record, report: &mut Report) {
        let Record { owner, rtype, ttl_s, data, spot } = record;
        if !name::is_at_or_below(&owner, &self.apex) {
            let text = format!("{} lies outside the zone {}", Written(&owner), Written(&self.apex));
            report.error(Fault::new(spot, text, "its name is that of the SOA record; a missing final dot?"));
            return;
        }
        let node = self.names.entry(owner.clone()).or_default();
        let Some(set) = node.sets.get_mut(&rtype) else {
            node.sets.insert(rtype, DraftSet { ttl_s, records: vec![(data, spot)] });
            return;
        };
        if let Some((_, first)) = set.records.iter().find(|(known, _)| same_data(rtype, known, &data)) {
            let text = format!("the same record stands in {}: dropped", report.place_from(*first, spot));
            report.warn(Fault::new(spot, text, ""));
            return;
        }
        if ttl_s != set.ttl_s {
            let lowest_s = ttl_s.min(set.ttl_s);
            let text = format!(
                "TTL {ttl_s} differs from TTL {} of the {rtype} records of {} above: taking {lowest_s} for all",
                set.ttl_s,
                Written(&owner),
            );
            report.warn(Fault::new(spot, text, "one RRset has one TTL: RFC 2181 5.2"));
            set.ttl_s = lowest_s;
        }
        set.records.push((data, spot));
    }

    /// The topmost cut at or above `name`; nothing below it is this zone's to answer.
    pub(super) fn cut_of<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        if self.cuts.is_empty() {
            return None;
        }
        let inside = name::ancestors(name).take_while(|at| at.len() > self.apex.len());
        inside.filter(|at| self.cuts.contains(*at)).last()
    }

    pub(super) fn set(&self, name: &[u8], rtype: Rtype) -> Option<&DraftSet> {
        self.names.get(name)?.sets.get(&rtype)
    }

    /// The address records of `name`, A before AAAA.
    pub(super) fn addresses(&self, name: &[u8]) -> impl Iterator<Item = (Rtype, &DraftSet)> {
        [Rtype::A, Rtype::AAAA].into_iter().filter_map(move |rtype| Some((rtype, self.set(name, rtype)?)))
    }
}

/// Whether two records of a type are one: names compare without letter case (RFC 4343), but in types younger than
/// the list of those whose canonical form folds them (RFC 4034 6.2, RFC 3597 7).
fn same_data(rtype: Rtype, a: &[u8], b: &[u8]) -> bool {
    let young = matches!(rtype, Rtype::SVCB | Rtype::HTTPS);
    let Some(offset) = rdata::target_offset(rtype).filter(|_| !young) else { return a == b };
    let parts = |data: &'_ [u8]| -> Option<[Vec<u8>; 3]> {
        let (before, rest) = data.split_at_checked(offset)?;
        let (target, behind) = rest.split_at_checked(name::wire_len(rest)?)?;
        Some([before.to_vec(), target.to_ascii_lowercase(), behind.to_vec()])
    };
    a.len() == b.len() && parts(a) == parts(b)
}
