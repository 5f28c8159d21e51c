//! Random zones, full of what is easily got wrong, valid for every server.

use std::collections::{BTreeMap, BTreeSet};

use super::data::draw_data;
use super::name::{Name, draw_label};
use crate::random::Random;
use crate::servers::ZoneText;

/// Types that any name may have, by how often they are drawn.
const COMMON_TYPES: [(usize, &str); 11] = [
    (20, "A"),
    (12, "AAAA"),
    (10, "TXT"),
    (8, "MX"),
    (6, "SRV"),
    (5, "PTR"),
    (4, "CAA"),
    (4, "HTTPS"),
    (3, "SVCB"),
    (3, "TYPE65280"),
    (2, "TYPE999"),
];

/// What name servers inside their own delegation are called.
const SERVER_LABELS: [&[u8]; 3] = [b"ns1", b"ns2", b"a"];

/// Every zone of a run, and the names worth asking for.
pub(super) struct World {
    pub(super) zones: Vec<ZoneText>,
    pub(super) apexes: Vec<Name>,
    /// Owners and targets, each once.
    pub(super) names: Vec<Name>,
    /// RRsets, by owner and type.
    pub(super) sets: Vec<(Name, u16)>,
    /// Owners of DNAME records.
    pub(super) dnames: Vec<Name>,
    /// Delegated names.
    pub(super) cuts: Vec<Name>,
    /// Wildcards below delegated names.
    pub(super) occluded_wildcards: BTreeSet<Name>,
    /// Names below the apex of a zone that the zone around it has too, empty non-terminals among them.
    hidden: BTreeSet<Name>,
}

impl World {
    /// `families` zones side by side; every fourth has a zone inside it that is loaded too.
    pub(super) fn draw(random: &mut Random, families: usize) -> Self {
        let mut apexes: Vec<Name> =
            (0..families).map(|number| Name::plain(&format!("z{number}.test"))).collect();
        let mut children = Vec::new();
        for outer in apexes.iter().step_by(4) {
            let inner = outer.child(b"inner").unwrap();
            let inner = if random.chance(50) { inner.child(b"deep").unwrap() } else { inner };
            children.push((outer.clone(), inner));
        }
        apexes.extend(children.iter().map(|(_, inner)| inner.clone()));
        let mut world = Self {
            zones: Vec::new(),
            apexes: apexes.clone(),
            names: Vec::new(),
            sets: Vec::new(),
            dnames: Vec::new(),
            cuts: Vec::new(),
            occluded_wildcards: BTreeSet::new(),
            hidden: BTreeSet::new(),
        };
        let mut names = BTreeSet::new();
        for apex in &apexes {
            let inner = children.iter().find(|(outer, _)| outer == apex).map(|(_, inner)| inner);
            let zone = Draft::draw(random, apex, inner, &apexes);
            world.zones.push(zone.text(random));
            for (owner, sets) in &zone.sets {
                world.sets.extend(sets.keys().map(|rtype| (owner.clone(), type_number(rtype))));
            }
            world.dnames.extend(zone.dnames());
            world.cuts.extend(zone.cuts.iter().cloned());
            world.occluded_wildcards.extend(zone.occluded_wildcards());
            world.hidden.extend(inner.iter().flat_map(|inner| zone.names_below(inner)));
            names.extend(zone.mentioned);
        }
        world.names = names.into_iter().collect();
        world
    }
}

impl World {
    /// Whether a wildcard below some cut would stand in for this name, were it not below a cut.
    pub(super) fn has_occluded_wildcard_for(&self, name: &Name) -> bool {
        let mut above = name.parent();
        while let Some(at) = above {
            if at.child(b"*").is_some_and(|wildcard| self.occluded_wildcards.contains(&wildcard)) {
                return true;
            }
            above = at.parent();
        }
        false
    }

    /// The apex of the zone that the name is in.
    pub(super) fn zone_of(&self, name: &Name) -> Option<&Name> {
        self.apexes.iter().filter(|apex| name.is_at_or_below(apex)).max_by_key(|apex| apex.0.len())
    }

    /// Whether a zone around the name's own has data below the cut between them that could be taken for the name's: at
    /// this name or one above it, or at a wildcard that stands for it.
    pub(super) fn is_beside_hidden(&self, name: &Name) -> bool {
        let is_hidden = |name: &Name| self.hidden.contains(name);
        std::iter::successors(Some(name.clone()), Name::parent)
            .any(|at| is_hidden(&at) || at.child(b"*").is_some_and(|wildcard| is_hidden(&wildcard)))
    }
}

/// A zone in the making.
pub(super) struct Draft<'w> {
    pub(super) apex: &'w Name,
    /// The apexes of all zones.
    pub(super) apexes: &'w [Name],
    sets: BTreeMap<Name, BTreeMap<&'static str, Set>>,
    pub(super) cuts: BTreeSet<Name>,
    /// Owners and targets, lower case.
    pub(super) mentioned: BTreeSet<Name>,
}

struct Set {
    ttl_s: u32,
    data: BTreeSet<String>,
}

impl<'w> Draft<'w> {
    fn draw(random: &mut Random, apex: &'w Name, inner: Option<&Name>, apexes: &'w [Name]) -> Self {
        let mut zone =
            Self { apex, apexes, sets: BTreeMap::new(), cuts: BTreeSet::new(), mentioned: BTreeSet::new() };
        zone.soa(random);
        // Zones of which everything below the apex goes elsewhere; one of them goes into itself, ever deeper.
        let deeper = *apex == apexes[1];
        if deeper {
            zone.put(random, apex, "DNAME", apex.child(b"b").unwrap().written());
        } else if inner.is_none() && random.chance(8) {
            zone.add(random, apex, "DNAME");
        }
        zone.apex_records(random);
        if zone.has(apex, "DNAME") {
            return zone;
        }
        if let Some(inner) = inner {
            zone.cut(random, inner);
        }
        if *apex == apexes[2] {
            zone.occluded_wildcard(random);
        }
        let size = 25 + random.below(60);
        for _ in 0..size {
            zone.grow(random);
        }
        if random.chance(30) {
            zone.long_names(random);
        }
        zone
    }

    fn soa(&mut self, random: &mut Random) {
        let apex = self.apex;
        let numbers = [600, 300, 86_400, *random.pick(&[5, 60, 300, 7200])];
        let numbers = numbers.map(|number| number.to_string()).join(" ");
        let soa = format!("ns1.{0} Host\\.Master.{0} {1} {numbers}", apex.written(), random.below(1 << 30));
        self.put(random, apex, "SOA", soa);
    }

    fn apex_records(&mut self, random: &mut Random) {
        let apex = self.apex;
        let ns = apex.child(b"ns1").unwrap();
        if random.chance(60) {
            self.put(random, apex, "NS", ns.written());
            self.add(random, &ns, "A"); // not below a DNAME
        } else {
            self.put(random, apex, "NS", "ns.outside.example.".to_owned());
        }
        for rtype in ["A", "MX", "TXT", "CAA", "HTTPS"] {
            if random.chance(30) {
                self.add(random, apex, rtype);
            }
        }
    }

    /// One more name, or more at a name that exists.
    fn grow(&mut self, random: &mut Random) {
        let Some(name) = self.draw_owner(random) else { return };
        match random.below(100) {
            0..14 => self.alias(random, &name),
            14..20 => self.redirect(random, &name),
            20..31 => self.cut(random, &name),
            31..45 => {
                let Some(wildcard) = name.child(b"*") else { return };
                if random.chance(25) {
                    self.alias(random, &wildcard);
                } else {
                    self.common(random, &wildcard);
                }
            }
            45..48 => {
                for _ in 0..10 + random.below(30) {
                    self.add(random, &name, "TXT");
                }
            }
            _ => self.common(random, &name),
        }
    }

    /// An existing name, or one some labels below one: with empty non-terminals between.
    fn draw_owner(&self, random: &mut Random) -> Option<Name> {
        let existing: Vec<&Name> = self.sets.keys().collect();
        let mut name = if random.chance(40) { self.apex.clone() } else { (*random.pick(&existing)).clone() };
        for _ in 0..random.weighted(&[(10, 0), (60, 1), (20, 2), (10, 3)]) {
            name = name.child(&draw_label(random))?;
        }
        Some(name.lower())
    }

    fn common(&mut self, random: &mut Random, name: &Name) {
        let rtype = random.weighted(&COMMON_TYPES);
        for _ in 0..random.weighted(&[(60, 1), (25, 2), (10, 4), (5, 20)]) {
            self.add(random, name, rtype);
        }
    }

    fn alias(&mut self, random: &mut Random, name: &Name) {
        if !self.sets.contains_key(name) {
            self.add(random, name, "CNAME");
        }
    }

    fn redirect(&mut self, random: &mut Random, name: &Name) {
        if name != self.apex && !name.is_wildcard() && !self.cuts.contains(name) {
            self.add(random, name, "DNAME");
        }
    }

    /// A delegation with name servers inside it, beside it and far away; with glue, mostly; with a DS set, sometimes;
    /// with what does not belong below it, sometimes.
    fn cut(&mut self, random: &mut Random, name: &Name) {
        let unfit = name == self.apex || name.is_wildcard();
        if unfit || self.has(name, "CNAME") || self.has(name, "DNAME") || !self.is_free(name) {
            return;
        }
        self.cuts.insert(name.clone());
        for _ in 0..1 + random.below(3) {
            let server = match random.below(5) {
                0 | 1 => name.child(random.pick::<&[u8]>(&SERVER_LABELS)),
                2 => Some(name.clone()),
                3 => Some((*random.pick(&self.cuts.iter().collect::<Vec<_>>())).clone())
                    .and_then(|sibling| sibling.child(b"ns1")),
                _ => Some(Name::plain("ns.outside.example")),
            };
            let Some(server) = server else { continue };
            self.put(random, name, "NS", server.written());
            for rtype in ["A", "AAAA"] {
                if random.chance(60) && server.is_below(self.apex) && !self.has(&server, "CNAME") {
                    self.add(random, &server, rtype);
                }
            }
        }
        if !self.has(name, "NS") {
            self.put(random, name, "NS", "ns.outside.example.".to_owned());
        }
        if random.chance(30) {
            self.add(random, name, "DS");
        }
        if random.chance(40) {
            let below = name.child(&draw_label(random)).unwrap_or_else(|| name.clone()).lower();
            self.common(random, &below);
        }
    }

    /// A delegation to a name server for which only a wildcard below the cut has an address.
    fn occluded_wildcard(&mut self, random: &mut Random) {
        let cut = self.apex.child(b"wild").unwrap();
        self.cuts.insert(cut.clone());
        self.put(random, &cut, "NS", cut.child(b"ns").unwrap().written());
        self.add(random, &cut.child(b"*").unwrap(), "A");
    }

    /// Names as long as names can be.
    fn long_names(&mut self, random: &mut Random) {
        let mut name = self.apex.clone();
        while name.0.len() < 255 {
            let room = 255 - name.0.len() - 1;
            let label =
                if room == 1 || room > 65 { room.min(63) } else { room.min(63) - usize::from(room == 64) };
            let Some(below) = name.child(&vec![b'l'; label]) else { break };
            name = below;
            if random.chance(50) {
                self.common(random, &name);
            }
        }
        self.common(random, &name);
    }

    /// Adds a record with drawn data.
    fn add(&mut self, random: &mut Random, owner: &Name, rtype: &'static str) {
        let data = draw_data(random, self, rtype);
        self.put(random, owner, rtype, data);
    }

    /// Adds a record, unless the zone would then be one that is refused.
    fn put(&mut self, random: &mut Random, owner: &Name, rtype: &'static str, data: String) {
        let alias = self.has(owner, "CNAME") || (rtype == "CNAME" && self.sets.contains_key(owner));
        let crowded = rtype == "DNAME"
            && (self.is_shared(owner)
                || self.has(owner, rtype)
                || self.sets.keys().any(|there| there.is_below(owner)));
        if alias || crowded || !self.is_free(owner) {
            return;
        }
        self.mentioned.insert(owner.clone());
        let ttl_s = *random.pick(&[0, 1, 60, 300, 3600, 86_400]);
        let set = self
            .sets
            .entry(owner.clone())
            .or_default()
            .entry(rtype)
            .or_insert(Set { ttl_s, data: BTreeSet::new() });
        set.data.insert(data);
    }

    /// Whether the name lies in another zone too. NSD keeps the names of all zones in one tree: it takes one zone's data
    /// for data below a DNAME of the other, and refuses it.
    fn is_shared(&self, name: &Name) -> bool {
        self.apexes.iter().any(|apex| apex != self.apex && name.is_at_or_below(apex))
    }

    /// Whether no DNAME stands above (RFC 6672 2.4).
    fn is_free(&self, name: &Name) -> bool {
        let mut above = name.parent();
        while let Some(at) = above {
            if self.has(&at, "DNAME") {
                return false;
            }
            above = at.parent();
        }
        true
    }

    pub(super) fn has(&self, name: &Name, rtype: &str) -> bool {
        self.sets.get(name).is_some_and(|sets| sets.contains_key(rtype))
    }

    pub(super) fn owners(&self) -> Vec<&Name> {
        self.sets.keys().collect()
    }

    pub(super) fn dnames(&self) -> Vec<Name> {
        self.sets.keys().filter(|name| self.has(name, "DNAME")).cloned().collect()
    }

    fn occluded_wildcards(&self) -> impl Iterator<Item = Name> {
        let is_occluded = |name: &&Name| self.cuts.iter().any(|cut| name.is_below(cut));
        self.sets.keys().filter(|name| name.is_wildcard()).filter(is_occluded).cloned()
    }

    /// Every name between `above` and an owner below it, that owner included.
    fn names_below(&self, above: &Name) -> BTreeSet<Name> {
        let owners = self.sets.keys().filter(|owner| owner.is_below(above));
        owners
            .flat_map(|owner| std::iter::successors(Some(owner.clone()), Name::parent))
            .filter(|name| name.is_below(above))
            .collect()
    }

    /// The master file, the SOA record first, owners in any letter case.
    fn text(&self, random: &mut Random) -> ZoneText {
        let mut soa = String::new();
        let mut rest = String::new();
        for (owner, sets) in &self.sets {
            for (rtype, set) in sets {
                let text = if *rtype == "SOA" { &mut soa } else { &mut rest };
                for data in &set.data {
                    let owner = owner.in_any_case(random).written();
                    *text += &format!("{owner} {} IN {rtype} {data}\n", set.ttl_s);
                }
            }
        }
        let apex = self.apex.written();
        ZoneText { apex: apex.trim_end_matches('.').to_owned(), text: soa + &rest }
    }
}

fn type_number(rtype: &str) -> u16 {
    match rtype {
        "A" => 1,
        "NS" => 2,
        "CNAME" => 5,
        "SOA" => 6,
        "PTR" => 12,
        "MX" => 15,
        "TXT" => 16,
        "AAAA" => 28,
        "SRV" => 33,
        "DNAME" => 39,
        "DS" => 43,
        "SVCB" => 64,
        "HTTPS" => 65,
        "CAA" => 257,
        other => other.trim_start_matches("TYPE").parse().expect("the generic form of a type"),
    }
}
