//! Checked zones to the table that answers.

use std::collections::BTreeMap;

use domain::base::iana::Rtype;

use super::draft::{Draft, DraftNode};
use super::encode;
use super::name::{self, Name};
use super::table::{At, Entry, Table};
use super::{Cut, Enclosing, Node, Zone, Zones};

/// Compiles zones that have passed every check.
pub(super) fn compile(drafts: &[Draft<'_>], services_bound: usize) -> Zones {
    let mut compiler = Compiler::default();
    for (draft, index) in drafts.iter().zip(0..) {
        compiler.zone(index, draft);
    }
    compiler.link_wildcards();
    compiler.link_children(drafts);
    let Compiler { entries, zones, nodes, cuts } = compiler;
    let table = Table::new(&entries);
    Zones { zones, nodes, cuts, table, services_bound, ..Zones::default() }
}

#[derive(Default)]
struct Compiler {
    entries: BTreeMap<Name, Entry>,
    zones: Vec<Zone>,
    nodes: Vec<Node>,
    cuts: Vec<Cut>,
}

impl Compiler {
    fn zone(&mut self, zone: u32, draft: &Draft<'_>) {
        let mut names = 0;
        for (name, node) in &draft.names {
            match draft.cut_of(name) {
                None => {
                    self.node(zone, name, encode_node(draft, name, node));
                    names += 1;
                }
                Some(cut) if *cut == **name && !draft.children.contains(cut) => {
                    if let Some(ns) = node.sets.get(&Rtype::NS) {
                        let at = At::Cut(self.cuts.len() as u32);
                        self.cuts.push(encode::cut(draft, name, ns));
                        self.entries.insert(name.clone(), Entry { zone, at });
                        names += 1;
                    }
                }
                // Occluded, or a loaded child's: not to be found here.
                Some(_) => continue,
            }
            self.empty_above(zone, draft, name);
        }
        for child in &draft.children {
            self.empty_above(zone, draft, child);
        }
        let soa = draft.set(&draft.apex, Rtype::SOA);
        self.zones.push(Zone {
            apex: draft.apex.clone(),
            negative_soa: soa.map(|soa| encode::negative_soa(&draft.apex, soa)).unwrap_or_default(),
            serial: soa.map(encode::serial).unwrap_or_default(),
            path: draft.file.path.clone(),
            names,
            enclosing: None,
        });
    }

    /// Puts a node at a name, in place of the empty one that a deeper name may have put there.
    fn node(&mut self, zone: u32, name: &Name, node: Node) {
        let at = At::Node { node: self.nodes.len() as u32, wildcard: None };
        self.nodes.push(node);
        self.entries.insert(name.clone(), Entry { zone, at });
    }

    /// Names between the apex and an existing name exist too, if only as empty non-terminals (RFC 8020).
    fn empty_above(&mut self, zone: u32, draft: &Draft<'_>, name: &[u8]) {
        for above in name::ancestors(name).skip(1).take_while(|above| above.len() > draft.apex.len()) {
            let occluded = draft.cut_of(above).is_some();
            if !occluded && !self.entries.contains_key(above) && !draft.names.contains_key(above) {
                self.node(zone, &above.into(), Node::default());
            }
        }
    }

    fn link_wildcards(&mut self) {
        let wildcards: Vec<(Name, Entry)> = self
            .entries
            .iter()
            .filter(|(name, _)| name::is_wildcard(name))
            .map(|(name, entry)| (name.clone(), *entry))
            .collect();
        for (name, wildcard) in wildcards {
            let (At::Node { node, .. }, Some(above)) = (wildcard.at, name::parent(&name)) else { continue };
            match self.entries.get_mut(above) {
                Some(Entry { zone, at: At::Node { wildcard: below, .. } }) if *zone == wildcard.zone => {
                    *below = Some(node);
                }
                _ => {}
            }
        }
    }

    /// Tells each zone inside another what the outer one says of it.
    fn link_children(&mut self, drafts: &[Draft<'_>]) {
        for (draft, outer) in drafts.iter().zip(0..) {
            for child in &draft.children {
                let topmost = draft.cut_of(child).unwrap_or(child);
                let cut = draft.set(topmost, Rtype::NS).map(|ns| {
                    self.cuts.push(encode::cut(draft, topmost, ns));
                    (self.cuts.len() - 1) as u32
                });
                if let Some(zone) = self.zones.iter_mut().find(|zone| zone.apex == *child) {
                    zone.enclosing = Some(Enclosing { zone: outer, cut });
                }
            }
        }
    }
}

fn encode_node(draft: &Draft<'_>, name: &[u8], node: &DraftNode) -> Node {
    let rrsets = node.sets.iter().map(|(&rtype, set)| encode::rrset(draft, name, rtype, set)).collect();
    Node { rrsets, service: node.service }
}
