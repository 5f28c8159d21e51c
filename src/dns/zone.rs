//! Zones: master files (RFC 1035) to one lookup table of pre-encoded RRsets, built at load, never changed.
//!
//! ```text
//! text ─▶ entries ─▶ records ─▶ drafts, services bound ─▶ checks ─▶ table
//!  text      master, rdata, ttl     draft, services       checks    compile, encode
//!            include, generate                              compose
//! ```
//!
//! A fault spoils one record, not the reading, so that a build tells everything that is wrong at once; nothing is
//! built when anything is. What is only odd comes back beside the table.
//!
//! What is not authoritative here (below a zone cut, in another loaded zone) is not in the table at all: it cannot be
//! answered by mistake.

mod checks;
mod compile;
mod compose;
mod draft;
mod encode;
mod generate;
mod include;
mod master;
mod name;
mod rdata;
mod report;
mod services;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod ttl;

use std::collections::BTreeMap;
use std::path::PathBuf;

use self::draft::Draft;
use self::name::{Name, Written};
use self::report::Report;
use self::table::{At, Entry, Table};
use self::text::{Fault, Spot};
use super::answer::ServiceIndex;
use super::template::Template;

pub use self::generate::MAX_GENERATED_VALUES;
pub use self::include::{Include, IncludeRefusal, MAX_EXPANDED_BYTES, MAX_INCLUDE_DEPTH, MAX_INCLUDED_FILES};
pub use self::master::MAX_ZONE_RECORDS;
pub use self::report::{MAX_NOTICES_PER_FILE, Notice};

/// Type DNAME.
const DNAME: u16 = 39;

/// A master file, read.
#[derive(Clone, Debug)]
pub struct ZoneFile {
    /// Where it lies, for messages. Its name without `.zone` is the origin until the text sets one.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A service to be answered at a name of a zone.
#[derive(Clone, Debug)]
pub struct BoundService {
    /// The name, lower case, without the trailing dot; may begin with `*.`.
    pub name: String,
    /// The config file's line that names it.
    pub line: usize,
    /// Whether it answers A.
    pub a: bool,
    /// Whether it answers AAAA.
    pub aaaa: bool,
    /// Whether it answers an alias, to every type but ANY.
    pub cname: bool,
}

/// Every name of every zone.
#[derive(Debug, Default)]
pub struct Zones {
    zones: Vec<Zone>,
    nodes: Vec<Node>,
    cuts: Vec<Cut>,
    table: Table,
    /// What stands where a zone says nothing about a name that exists.
    nothing: Node,
    services_bound: usize,
    included: Vec<PathBuf>,
}

impl Zones {
    /// As [`Self::build_with`], of files that include no others.
    pub fn build(files: &[ZoneFile], services: &[BoundService]) -> Result<(Self, Vec<Notice>), Vec<Notice>> {
        Self::build_with(files, services, &include::Nothing)
    }

    /// Compiles the files and binds `services` (by their position) to their names; returns what is odd beside it.
    /// `include` has the files that their `$INCLUDE` lines name.
    ///
    /// Errors: everything that is wrong, at once, in the order of files and lines; services last.
    pub fn build_with(
        files: &[ZoneFile],
        services: &[BoundService],
        include: &dyn Include,
    ) -> Result<(Self, Vec<Notice>), Vec<Notice>> {
        let mut report = Report::default();
        let mut unread = Vec::new();
        let mut drafts: Vec<Draft<'_>> = Vec::new();
        for file in files {
            let master = master::read(file, include, &mut report);
            match Draft::new(file, master, &mut report) {
                Some(draft) => drafts.push(draft),
                None => unread.push(master::default_origin(file)),
            }
        }
        drop_second_files(&mut drafts, &mut report);
        nest(&mut drafts);
        let services_bound = services::bind(&mut drafts, &unread, services, &mut report);
        for draft in &drafts {
            checks::check(draft, &mut report);
        }
        let included = report.included();
        let warnings = report.finish()?;
        Ok((Self { included, ..compile::compile(&drafts, services_bound) }, warnings))
    }

    /// What stands at a name: wire form, lower case, uncompressed. One hash lookup when the name exists; else one
    /// or two more as a rule, and at most fourteen.
    ///
    /// A zone inside another one answers for its own names, whether the outer one delegates to it or not. For DS at
    /// the inner apex see [`Self::above`].
    pub fn find(&self, name: &[u8]) -> Found<'_> {
        if let Some(entry) = self.table.exact(name) {
            return match entry.at {
                At::Node { node, .. } => self.at_node(entry, node),
                At::Cut(cut) => self.at_cut(entry, cut),
            };
        }
        let Some((owner, entry)) = self.table.encloser(name) else { return Found::Outside };
        match entry.at {
            At::Node { wildcard: Some(wildcard), .. } => self.at_node(entry, wildcard),
            At::Node { node, wildcard: None } => {
                let Some(zone) = self.zone(entry) else { return Found::Outside };
                let dname = self.nodes.get(node as usize).and_then(|node| node.rrset(DNAME));
                let redirect = dname.map(|rrset| Redirect { owner_len: owner.len(), rrset });
                Found::NoName { zone, redirect }
            }
            At::Cut(cut) => self.at_cut(entry, cut),
        }
    }

    /// What the zone around `zone` says about `zone`'s apex: the side that a DS query there belongs to (RFC 4035
    /// 3.1.4.1). [`Found::Outside`] when no loaded zone lies around it; a node without data when the outer zone has
    /// no delegation there; a cut above the apex when the outer zone has delegated the whole subtree.
    pub fn above(&self, zone: &Zone) -> Found<'_> {
        let Some(enclosing) = zone.enclosing else { return Found::Outside };
        let Some(outer) = self.zones.get(enclosing.zone as usize) else { return Found::Outside };
        match enclosing.cut.and_then(|cut| self.cuts.get(cut as usize)) {
            Some(cut) => Found::Cut { zone: outer, cut },
            None => Found::Node { zone: outer, node: &self.nothing },
        }
    }

    /// The zones, in the order of their files.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Zone> {
        self.zones.iter()
    }

    /// How many services are bound: all that [`Self::build`] was given.
    pub fn services_bound(&self) -> usize {
        self.services_bound
    }

    /// The files that `$INCLUDE` lines brought in, each once, by path.
    pub fn included(&self) -> &[PathBuf] {
        &self.included
    }

    fn zone(&self, entry: Entry) -> Option<&Zone> {
        self.zones.get(entry.zone as usize)
    }

    fn at_node(&self, entry: Entry, node: u32) -> Found<'_> {
        match (self.zone(entry), self.nodes.get(node as usize)) {
            (Some(zone), Some(node)) => Found::Node { zone, node },
            _ => Found::Outside,
        }
    }

    fn at_cut(&self, entry: Entry, cut: u32) -> Found<'_> {
        match (self.zone(entry), self.cuts.get(cut as usize)) {
            (Some(zone), Some(cut)) => Found::Cut { zone, cut },
            _ => Found::Outside,
        }
    }
}

/// What stands at a name.
#[derive(Debug)]
pub enum Found<'z> {
    /// No zone holds the name.
    Outside,
    /// The name exists, or a wildcard stands in for it (RFC 4592): `node` is the name's or the wildcard's.
    Node {
        /// The zone.
        zone: &'z Zone,
        /// What stands there; an empty non-terminal has no data and no service.
        node: &'z Node,
    },
    /// The zone has no such name (RFC 8020).
    NoName {
        /// The zone.
        zone: &'z Zone,
        /// What stands in for it all the same: the DNAME right above it (RFC 6672 3.2).
        redirect: Option<Redirect<'z>>,
    },
    /// The name lies at or below a zone cut. A DS query for the cut itself (the query name is `cut.owner_len` long)
    /// is not referred but answered from here: `cut.ds`, or no data (RFC 4035 3.1.4.1).
    Cut {
        /// The zone.
        zone: &'z Zone,
        /// The referral.
        cut: &'z Cut,
    },
}

/// One zone.
#[derive(Debug)]
pub struct Zone {
    /// The apex in wire form, lower case.
    pub apex: Box<[u8]>,
    /// The SOA record for negative answers, its TTL as RFC 2308 says.
    pub negative_soa: Template,
    /// The SOA's serial.
    pub serial: u32,
    /// The master file.
    pub path: PathBuf,
    /// Names with data, services or delegations; empty non-terminals and occluded names left out.
    pub names: usize,
    /// The loaded zone around this one.
    enclosing: Option<Enclosing>,
}

impl Zone {
    /// The apex as it is written, without the final dot.
    pub fn name(&self) -> String {
        Written(&self.apex).to_string()
    }
}

/// Where a zone lies inside another one: positions of the outer zone, and of its delegation.
#[derive(Clone, Copy, Debug)]
struct Enclosing {
    zone: u32,
    cut: Option<u32>,
}

/// What stands at one name.
#[derive(Debug, Default)]
pub struct Node {
    /// RRsets, by type, in ascending order.
    pub rrsets: Vec<Rrset>,
    /// The service that answers here.
    pub service: Option<ServiceIndex>,
}

impl Node {
    /// The RRset of that type.
    pub fn rrset(&self, rtype: u16) -> Option<&Rrset> {
        self.rrsets.iter().find(|rrset| rrset.rtype == rtype)
    }
}

/// One RRset, encoded.
#[derive(Debug)]
pub struct Rrset {
    /// The type.
    pub rtype: u16,
    /// The records; the owner of each is a pointer.
    pub records: Template,
    /// For a CNAME and a DNAME: its target in wire form, lower case; else empty.
    pub target: Box<[u8]>,
    /// Records that an answer with this RRset adds right behind it, addresses of its targets for the most part (RFC 1034
    /// 4.3.2 step 6, RFC 9460 4.1).
    pub additional: Option<Box<Template>>,
}

/// A delegation inside a zone.
#[derive(Debug)]
pub struct Cut {
    /// Length of the cut's owner name in wire form: the referral's owner is the last so many bytes of the query name.
    pub owner_len: usize,
    /// The NS records.
    pub ns: Template,
    /// Addresses at or below the cut, right behind the NS records: if they do not fit, TC is set (RFC 9471 3.1).
    pub glue: Template,
    /// Addresses beside the cut, right behind the others.
    pub sibling_glue: Template,
    /// DS records; a template of its own (RFC 4035 3.1.4.1).
    pub ds: Template,
}

/// A DNAME above a name.
#[derive(Debug)]
pub struct Redirect<'z> {
    /// Length of the DNAME's owner in wire form: the last so many bytes of the query name.
    pub owner_len: usize,
    /// The DNAME, with its target.
    pub rrset: &'z Rrset,
}

/// One zone comes from one file: the second file with the same apex is an error.
fn drop_second_files(drafts: &mut Vec<Draft<'_>>, report: &mut Report) {
    let mut first: BTreeMap<Name, String> = BTreeMap::new();
    drafts.retain(|draft| {
        let path = draft.file.path.display().to_string();
        let Some(other) = first.get(&draft.apex) else {
            first.insert(draft.apex.clone(), path);
            return true;
        };
        let text = format!("the zone {} is already in {other}", Written(&draft.apex));
        report.error(Fault::new(Spot::whole(draft.source), text, "one zone comes from one file"));
        false
    });
}

/// Tells each zone which of the others begin inside it: there its own authority ends.
fn nest(drafts: &mut [Draft<'_>]) {
    let positions: BTreeMap<Name, usize> =
        drafts.iter().enumerate().map(|(position, draft)| (draft.apex.clone(), position)).collect();
    for child in positions.keys() {
        let outer = name::ancestors(child).skip(1).find_map(|above| positions.get(above));
        if let Some(draft) = outer.and_then(|&outer| drafts.get_mut(outer)) {
            draft.cuts.insert(child.clone());
            draft.children.insert(child.clone());
        }
    }
}
