//! A zone at its parent: whether resolvers find it, and find what the zone says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::cli::doctor::exchange::Trouble;
use crate::cli::doctor::facts::{Delegation, Facts, MAX_NAME_SERVERS, Parent, View, Zone};
use crate::cli::doctor::finding::Findings;
use crate::cli::doctor::message::{Data, Record, is_in};

/// Fewer name servers than this are one failure away from none (RFC 1034 4.1).
const ENOUGH_NAME_SERVERS: usize = 2;

/// Names or addresses that one line lists.
const MAX_LISTED: usize = 16;

pub(super) fn judge(zone: &Zone, facts: &Facts, findings: &mut Findings) {
    match &zone.parent {
        Parent::Skipped => {}
        Parent::NotFound(why) => {
            let fix = "name the parent's server: --parent ADDR; or a resolver: --resolver ADDR; or leave the parent \
                       out: --node-only";
            findings.error("delegation", &*zone.name, format!("the parent is not known: {why}"), fix);
        }
        Parent::Asked(views) => {
            // Those that are silent matter only when nobody speaks.
            let speaks = views.iter().find(|view| view.ns.is_ok());
            match speaks.or(views.first()) {
                Some(view) => Judged { zone, view, findings: &mut *findings }.delegation(),
                None => findings.error("delegation", &*zone.name, "no server of the parent is known", ""),
            }
            disagreement(zone, views, findings);
        }
    }
    if !matches!(zone.parent, Parent::Skipped) {
        addresses(zone, findings);
        listens(zone, facts, findings);
    }
}

struct Judged<'j> {
    zone: &'j Zone,
    view: &'j View,
    findings: &'j mut Findings,
}

impl Judged<'_> {
    fn delegation(&mut self) {
        let (zone, parent) = (&*self.zone.name, self.view.label());
        let add = || format!("add to the parent's zone: {}", records(self.zone));
        let (text, fix) = match self.view.delegation(zone) {
            Delegation::Referral { names, glue, ttl_s } => {
                self.names(&names, ttl_s);
                self.glue(&names, &glue);
                return self.ds();
            }
            Delegation::NoName => (format!("{parent} says that there is no such name"), add()),
            Delegation::Nothing => (format!("{parent} knows the name, but does not delegate it"), add()),
            // The same servers may serve parent and child: then the child's own answer is all that anybody sees.
            Delegation::Itself(names) if names == self.zone.apex && self.is_name_server() => {
                return self.itself();
            }
            Delegation::Itself(names) => {
                let text = format!(
                    "{parent} answers for the zone itself (NS {}), so it delegates to nobody",
                    list(&names)
                );
                let fix = format!(
                    "take the zone {zone} off that server, and add the delegation: {}; or name another server of \
                     the parent: --parent ADDR",
                    records(self.zone)
                );
                (text, fix)
            }
            Delegation::Above(owner) => {
                let fix = format!("name a server of {owner}: --parent ADDR; or let a resolver find it");
                (format!("{parent} is not the parent's: it refers to {owner}"), fix)
            }
            Delegation::Refused(rcode) => {
                let fix = "name a server that is authoritative for the parent: --parent ADDR";
                (format!("{parent} answers {rcode}: it does not serve the parent zone"), fix.to_owned())
            }
            Delegation::Unanswered(Trouble::NotAsked) => {
                let text = format!("{parent} {}", Trouble::NotAsked.text());
                return self.findings.warning("delegation", zone, text, "ask for one zone: --zone NAME");
            }
            Delegation::Unanswered(Trouble::CutShort) => {
                let fix = "is that a delegation with more name servers than one message holds? Name fewer at the \
                           parent; --parent ADDR names another server";
                (format!("{parent} {}", Trouble::CutShort.text()), fix.to_owned())
            }
            Delegation::Unanswered(trouble) => {
                let fix = "is the network there? --parent ADDR names another server, --node-only leaves the parent \
                           out";
                (format!("{parent} {}", trouble.text()), fix.to_owned())
            }
        };
        self.findings.error("delegation", zone, text, fix);
    }

    /// The server is one of the zone's own. Whether it is the parent's as well shows in its answer for DS, which the
    /// parent's side gives (RFC 4035 3.1.4.1).
    fn itself(&mut self) {
        let (zone, parent) = (&*self.zone.name, self.view.label());
        let above = |record: &Record| matches!(record.data, Data::Serial(_)) && record.owner != zone;
        let is_parent = self.view.ds.as_ref().is_ok_and(|reply| {
            reply.authority.iter().any(above) || reply.answers.iter().any(|record| record.data == Data::Ds)
        });
        if is_parent {
            let text =
                format!("{parent} serves the zone as well: what it delegates is not seen by resolvers");
            self.findings.ok("delegation", zone, text);
            return self.ds();
        }
        let text = format!(
            "{parent} is itself one of the zone's name servers, and not the parent's: delegation, glue and DS are not \
             checked"
        );
        let fix = "name a server of the zone above: --parent ADDR; or let a resolver find it";
        self.findings.warning("delegation", zone, text, fix);
    }

    /// Whether the parent's server is one that the zone names.
    fn is_name_server(&self) -> bool {
        self.zone.name_servers().values().flatten().any(|&address| address == self.view.server.ip())
    }

    fn names(&mut self, names: &BTreeSet<String>, ttl_s: u32) {
        let (zone, parent) = (&*self.zone.name, self.view.label());
        let missing: BTreeSet<String> = self.zone.apex.difference(names).cloned().collect();
        let extra: BTreeSet<String> = names.difference(&self.zone.apex).cloned().collect();
        if missing.is_empty() && extra.is_empty() {
            self.findings.ok("delegation", zone, format!("{parent} delegates to {}", list(names)));
        }
        if !missing.is_empty() {
            let text = format!("the zone names {}, the parent does not", list(&missing));
            let fix = format!(
                "add to the parent's zone: {}; or take them out of the zone file",
                records_of(self.zone, &missing)
            );
            self.findings.warning("delegation", zone, text, fix);
        }
        if !extra.is_empty() {
            let text = format!("the parent names {}, the zone does not", list(&extra));
            let fix = format!(
                "take them out of the parent's zone; or add `{zone}. NS` records for them to the zone file"
            );
            self.findings.warning("delegation", zone, text, fix);
        }
        if names.len() < ENOUGH_NAME_SERVERS {
            let fix = "run a second Waypost at another place, and name it in the zone file and at the parent";
            self.findings.warning(
                "delegation",
                zone,
                "one name server only: when it is down, so is the zone",
                fix,
            );
        }
        if ttl_s == 0 {
            let fix = "give the NS records at the parent a TTL: 300 while trying it out, a day once it works";
            let text = "the delegation's TTL is 0: resolvers ask the parent again for every query";
            self.findings.warning("delegation", zone, text, fix);
        }
    }

    fn glue(&mut self, names: &BTreeSet<String>, glue: &BTreeMap<String, Vec<IpAddr>>) {
        let zone = &*self.zone.name;
        let mut right = Vec::new();
        // A name server outside the zone is found without the zone.
        for name in names.iter().filter(|name| is_in(name, zone)) {
            let at_parent: BTreeSet<IpAddr> = glue.get(name).into_iter().flatten().copied().collect();
            let own: BTreeSet<IpAddr> = self.zone.own.get(name).into_iter().flatten().copied().collect();
            let wrong: BTreeSet<IpAddr> = at_parent.difference(&own).copied().collect();
            let missing: BTreeSet<IpAddr> = own.difference(&at_parent).copied().collect();
            if at_parent.is_empty() {
                let text = format!(
                    "the parent has no address of {name}, which lies inside the zone: nobody can find it"
                );
                let fix = format!("add glue to the parent's zone: {}", address_records(name, &own));
                self.findings.error("glue", zone, text, fix);
                continue;
            }
            if !wrong.is_empty() {
                let text = format!("the parent says {name} is {}, the zone does not", list(&wrong));
                let fix = match own.is_empty() {
                    true => format!("add to the zone file: {}", address_records(name, &wrong)),
                    false => format!("correct the glue at the parent: {}", address_records(name, &own)),
                };
                self.findings.error("glue", zone, text, fix);
            }
            if !missing.is_empty() && wrong.is_empty() {
                let text = format!("the zone says {name} is also {}, the parent does not", list(&missing));
                let fix = format!("add glue to the parent's zone: {}", address_records(name, &missing));
                self.findings.warning("glue", zone, text, fix);
            }
            if wrong.is_empty() && missing.is_empty() {
                right.push(format!("{name} is {}", list(&at_parent)));
            }
        }
        if !right.is_empty() {
            self.findings.ok("glue", zone, right.join(", "));
        }
    }

    fn ds(&mut self) {
        let zone = &*self.zone.name;
        match &self.view.ds {
            Ok(reply) if reply.answers.iter().any(|record| record.data == Data::Ds) => {
                let text = "the parent has a DS record, and the zone is not signed: validating resolvers answer \
                            SERVFAIL";
                let fix = format!("take the DS records of {zone} out of the parent's zone");
                self.findings.error("ds", zone, text, fix);
            }
            Ok(_) => self.findings.ok("ds", zone, "no DS record at the parent, as for an unsigned zone"),
            Err(trouble) => {
                let text = format!("whether the parent has a DS record is unknown: it {}", trouble.text());
                self.findings.warning("ds", zone, text, "run doctor again");
            }
        }
    }
}

/// The parent's servers say the same, or one of them has not caught up.
fn disagreement(zone: &Zone, views: &[View], findings: &mut Findings) {
    let names = |view: &View| match view.delegation(&zone.name) {
        Delegation::Referral { names, .. } => Some(names),
        Delegation::Unanswered(_) => None,
        _ => Some(BTreeSet::new()),
    };
    let mut told = views.iter().filter_map(|view| Some((view, names(view)?)));
    let Some((first, wanted)) = told.next() else { return };
    for (view, names) in told.filter(|(_, names)| *names != wanted) {
        let text = format!("{} says {}, {} says {}", first.server, list(&wanted), view.server, list(&names));
        let fix = "wait until the parent's servers have the same zone; when they never do, tell its operator";
        findings.warning("delegation", &*zone.name, text, fix);
    }
}

/// Every name server has an address.
fn addresses(zone: &Zone, findings: &mut Findings) {
    let name_servers = zone.name_servers();
    if name_servers.len() > MAX_NAME_SERVERS {
        let count = name_servers.len();
        let text = format!("it has {count} name servers, of which {MAX_NAME_SERVERS} are looked at");
        let fix = "keep the delegation small enough for one datagram: a handful of name servers";
        findings.warning("address", &*zone.name, text, fix);
    }
    for (name, addresses) in name_servers.into_iter().take(MAX_NAME_SERVERS) {
        if !addresses.is_empty() {
            continue;
        }
        let inside = is_in(&name, &zone.name);
        let fix = if inside || zone.own.contains_key(&name) {
            format!("add A or AAAA records of {name} to the zone file, and the same to the parent as glue")
        } else {
            format!("give {name} an address in its own zone; --resolver ADDR asks another resolver")
        };
        findings.error("address", &*zone.name, format!("no address of the name server {name} is known"), fix);
    }
    if zone.apex.is_empty() {
        let fix = "add NS records at the apex of the zone file";
        findings.error("address", &*zone.name, "the zone file names no name server", fix);
    }
}

/// This node is one of those that resolvers are sent to.
fn listens(zone: &Zone, facts: &Facts, findings: &mut Findings) {
    if facts.listen.is_empty() || facts.listen.iter().any(|addr| addr.ip().is_unspecified()) {
        return;
    }
    let known: BTreeSet<IpAddr> = zone.name_servers().into_values().flatten().collect();
    if known.is_empty() {
        return;
    }
    let listen: BTreeSet<IpAddr> = facts.listen.iter().map(|addr| addr.ip()).collect();
    let Some(own) = facts.listen.iter().find(|addr| known.contains(&addr.ip())) else {
        let text = format!("this node listens on {}, which is no name server's address", list(&listen));
        let fix = "set dns.listen to the addresses that zone and parent name; behind NAT or a load balancer that is \
                   as it should be";
        return findings.warning("listen", &*zone.name, text, fix);
    };
    let at_port = facts.listen.iter().any(|addr| known.contains(&addr.ip()) && addr.port() == facts.port);
    if at_port {
        findings.ok("listen", &*zone.name, format!("this node is one of the name servers, at {}", own.ip()));
    } else {
        let text = format!("this node listens on port {}; resolvers ask port {}", own.port(), facts.port);
        let fix = format!("listen on port {} in dns.listen, or forward it", facts.port);
        findings.error("listen", &*zone.name, text, fix);
    }
}

/// The delegation as it should stand at the parent.
fn records(zone: &Zone) -> String {
    records_of(zone, &zone.apex)
}

fn records_of(zone: &Zone, names: &BTreeSet<String>) -> String {
    let delegation = names.iter().map(|name| format!("`{}. NS {name}.`", zone.name));
    let glue = names.iter().filter(|name| is_in(name, &zone.name)).filter_map(|name| {
        let own: BTreeSet<IpAddr> = zone.own.get(name)?.iter().copied().collect();
        Some(address_records(name, &own)).filter(|_| !own.is_empty())
    });
    some(delegation.chain(glue))
}

fn address_records(name: &str, addresses: &BTreeSet<IpAddr>) -> String {
    if addresses.is_empty() {
        return format!("`{name}. A …`");
    }
    let record = |address: &IpAddr| match address {
        IpAddr::V4(address) => format!("`{name}. A {address}`"),
        IpAddr::V6(address) => format!("`{name}. AAAA {address}`"),
    };
    some(addresses.iter().map(record))
}

fn list<T: ToString>(items: &BTreeSet<T>) -> String {
    if items.is_empty() {
        return "nobody".to_owned();
    }
    some(items.iter().map(ToString::to_string))
}

/// The first of them, and how many more there are.
fn some(items: impl Iterator<Item = String>) -> String {
    let mut items = items.fuse();
    let mut listed: Vec<String> = items.by_ref().take(MAX_LISTED).collect();
    match items.count() {
        0 => {}
        more => listed.push(format!("and {more} more")),
    }
    listed.join(", ")
}
