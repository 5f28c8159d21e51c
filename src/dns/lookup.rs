//! From a question to records: services, static data, alias chains, what does not exist.
//!
//! A name is carried in its lower-case wire form, to look it up; where it stands in the message, to point to, is kept in
//! [`Names`].

use super::answer::{RECORD_HEAD_LEN, ServiceIndex, TYPE_CNAME};
use super::chaos;
use super::counters::Worker;
use super::edns::Edns;
use super::extended::ExtendedError;
use super::names::Names;
use super::referral;
use super::reply::{Full, Reply, Section, pointer};
use super::template::Template;
use super::wire::{Name, Question, Rcode};
use super::zone::{Cut, Found, Node, Redirect, Rrset, Zone};
use super::{Query, View};

pub use super::names::MAX_ALIASES;

const TYPE_DNAME: u16 = 39;
const TYPE_DS: u16 = 43;
const TYPE_IXFR: u16 = 251;
const TYPE_AXFR: u16 = 252;
const TYPE_ANY: u16 = 255;
const CLASS_IN: u16 = 1;

/// What ANY is answered with in place of all that a name holds (RFC 8482 4.2): HINFO, IN, 3,600 s, "RFC8482" and an empty
/// text.
const MINIMAL_ANY: [u8; 19] = *b"\x00\x0d\x00\x01\x00\x00\x0e\x10\x00\x09\x07RFC8482\x00";

/// One question being answered.
pub(super) struct Lookup<'v, 'w, 'r, 'o> {
    pub(super) view: &'v View,
    pub(super) worker: &'w mut Worker,
    pub(super) query: Query<'v>,
    pub(super) id: u16,
    pub(super) qtype: u16,
    pub(super) edns: Option<&'v Edns<'v>>,
    pub(super) reply: &'r mut Reply<'o>,
    /// The scope of the answer; 0: good for everybody.
    pub(super) scope: u8,
    /// The names that the answer is about.
    pub(super) names: Names,
    /// DNAMEs that stand in the answer already: an alias chain may meet one again.
    pub(super) redirected: [Option<&'v Rrset>; MAX_ALIASES + 1],
}

/// What a look at one name led to.
#[allow(clippy::large_enum_variant)] // On the stack, where a box is not to be had.
enum Step {
    /// The answer is complete.
    Done,
    /// The name is an alias of this one.
    Alias(Name),
}

impl<'v> Lookup<'v, '_, '_, '_> {
    /// Answers the question.
    pub(super) fn answer(&mut self, question: &Question<'_>) {
        let is_transfer = matches!(self.qtype, TYPE_AXFR | TYPE_IXFR);
        let result = match question.qclass {
            _ if is_transfer => return self.reply.fail(Rcode::Refused, Some(ExtendedError::Prohibited)),
            CLASS_IN => self.follow(question.name),
            chaos::CLASS => chaos::answer(self.reply, &self.view.settings.chaos, question),
            _ => return self.reply.fail(Rcode::Refused, Some(ExtendedError::NotAuthoritative)),
        };
        if result.is_err() {
            self.reply.truncate();
            self.reply.rcode = Rcode::NoError;
            self.reply.extended = None;
            self.scope = 0; // what is left depends on no place
        }
    }

    fn follow(&mut self, qname: &[u8]) -> Result<(), Full> {
        let mut step = self.visit(qname)?;
        while let Step::Alias(name) = step {
            step = self.visit(name.as_wire())?;
        }
        Ok(())
    }

    fn visit(&mut self, name: &[u8]) -> Result<Step, Full> {
        let view = self.view;
        match view.zones.find(name) {
            Found::Node { zone, node } => self.at_node(zone, node, name),
            Found::NoName { zone, redirect } => {
                self.reply.authoritative = true;
                match redirect {
                    Some(redirect) => self.redirect(&redirect, name),
                    None => {
                        self.reply.rcode = Rcode::NxDomain;
                        self.negative(zone)
                    }
                }
            }
            Found::Cut { zone, cut } => self.at_cut(zone, cut, name),
            Found::Outside => {
                // At the end of a chain of ours the resolver goes on by itself; a question is none of our business.
                if self.names.is_question() {
                    self.reply.fail(Rcode::Refused, Some(ExtendedError::NotAuthoritative));
                }
                Ok(Step::Done)
            }
        }
    }

    fn at_node(&mut self, zone: &Zone, node: &'v Node, name: &[u8]) -> Result<Step, Full> {
        let view = self.view;
        self.reply.authoritative = true;
        if self.qtype == TYPE_DS && name.len() == zone.apex.len() {
            // The parent's side of a cut knows the DS records (RFC 4035 3.1.4.1).
            match view.zones.above(zone) {
                Found::Cut { zone, cut } => return self.at_cut(zone, cut, name),
                Found::Node { zone, .. } => return self.negative(zone),
                Found::NoName { .. } | Found::Outside => {}
            }
        }
        if self.qtype == TYPE_ANY && !(node.rrsets.is_empty() && node.service.is_none()) {
            return self.any(node);
        }
        if let Some(rrset) = node.rrset(self.qtype) {
            return self.data(rrset);
        }
        if let Some(service) = node.service {
            if let Some(done) = self.service(service)? {
                return Ok(done);
            }
        } else if let Some(alias) = node.rrset(TYPE_CNAME) {
            let data_at = self.reply.len() + RECORD_HEAD_LEN;
            self.put(Section::Answer, &alias.records)?;
            let mut target = Name::EMPTY;
            let is_name = target.set(&[&alias.target]);
            let shared = alias.records.shared();
            return Ok(if is_name { self.alias(target, data_at, shared) } else { Step::Done });
        }
        self.negative(zone)
    }

    /// An alias is all that its name holds, so it is given, not followed (RFC 8482 4.1): the HINFO is for names that have no
    /// CNAME record (4.2). What a service answers is a decision and no data of the name: HINFO, even if it is an alias.
    fn any(&mut self, node: &Node) -> Result<Step, Full> {
        match node.rrset(TYPE_CNAME) {
            Some(alias) => self.put(Section::Answer, &alias.records)?,
            None => self.reply.put_record(Section::Answer, self.names.at(), &MINIMAL_ANY)?,
        }
        Ok(Step::Done)
    }

    fn data(&mut self, rrset: &'v Rrset) -> Result<Step, Full> {
        let start = self.reply.len();
        if self.qtype != TYPE_DNAME || self.is_first(rrset) {
            self.put(Section::Answer, &rrset.records)?;
        }
        if let Some(additional) = &rrset.additional {
            // Helpful, not needed: left out when it does not fit, without a word (RFC 2181 9).
            _ = self.reply.put_template(Section::Additional, additional, start, &self.names);
        }
        Ok(Step::Done)
    }

    /// Answers from the service's table; `None` when it has nothing to say to this type.
    fn service(&mut self, service: ServiceIndex) -> Result<Option<Step>, Full> {
        let view = self.view;
        let Some(answers) = view.answers.service(service) else {
            return Ok(Some(self.fail()));
        };
        if !answers.covers(self.qtype) {
            return Ok(None);
        }
        let subnet = self.edns.and_then(Edns::subnet).filter(|_| view.settings.ecs);
        let located = view.geo.locate(subnet, self.query.peer);
        self.worker.counters().count_lookup(located.by);
        let Some(answer) = answers.home(located.home) else {
            return Ok(Some(self.fail()));
        };
        self.worker.counters().count_decision(answer.slot, located.by);
        self.scope = if subnet.is_some() { located.scope } else { 0 };
        if answer.is_failure() {
            self.reply.fail(Rcode::ServFail, Some(ExtendedError::NoRegionAble));
            return Ok(Some(Step::Done));
        }
        let Some(encoded) = answer.encoded(self.qtype) else {
            self.scope = 0;
            return Ok(None);
        };
        encoded.write(self.reply, self.names.at(), answer.ttl.at(self.query.now), self.id)?;
        Ok(Some(Step::Done))
    }

    /// For what can't be: a fault of ours, about which there is nothing to say.
    fn fail(&mut self) -> Step {
        self.reply.fail(Rcode::ServFail, None);
        Step::Done
    }

    /// The DNAME, then the alias that it makes of `name` (RFC 6672 3.1 and 5.3.1).
    fn redirect(&mut self, redirect: &Redirect<'v>, name: &[u8]) -> Result<Step, Full> {
        let Some(prefix_len) = name.len().checked_sub(redirect.owner_len) else { return Ok(self.fail()) };
        let prefix = name.get(..prefix_len).unwrap_or_default();
        let Rrset { records, target, .. } = redirect.rrset;
        if self.is_first(redirect.rrset) {
            self.put(Section::Answer, records)?;
        }
        let mut alias = Name::EMPTY;
        if !alias.set(&[prefix, target]) {
            self.reply.rcode = Rcode::YxDomain;
            return Ok(Step::Done);
        }
        let data_at = self.reply.len() + RECORD_HEAD_LEN;
        let data = alias.as_wire();
        self.reply.put(&pointer(self.names.at()))?;
        self.reply.put(&[0, TYPE_CNAME as u8, 0, CLASS_IN as u8])?;
        self.reply.put(&records.ttl())?;
        self.reply.put(&(data.len() as u16).to_be_bytes())?; // at most 255, else it were no name
        self.reply.put(data)?;
        self.reply.count(Section::Answer, 1);
        if self.qtype == TYPE_CNAME {
            return Ok(Step::Done);
        }
        Ok(self.alias(alias, data_at, 0))
    }

    /// Goes on with the target of an alias, which stands at `at`, its last `shared` bytes with the alias; unless the
    /// chain is a loop or too long.
    fn alias(&mut self, target: Name, at: usize, shared: usize) -> Step {
        if self.names.push(self.reply.message(), target.as_wire(), at, shared) {
            Step::Alias(target)
        } else {
            Step::Done
        }
    }

    /// Writes a template that was encoded alone, or as the first of several.
    fn put(&mut self, section: Section, template: &Template) -> Result<(), Full> {
        self.reply.put_template(section, template, self.reply.len(), &self.names)
    }

    /// Whether the answer does not hold this DNAME yet: no RRset stands in it twice (RFC 2181 5.5).
    fn is_first(&mut self, dname: &'v Rrset) -> bool {
        for slot in &mut self.redirected {
            match slot {
                Some(there) if std::ptr::eq(*there, dname) => return false,
                Some(_) => {}
                None => {
                    *slot = Some(dname);
                    return true;
                }
            }
        }
        true
    }

    fn at_cut(&mut self, zone: &Zone, cut: &Cut, name: &[u8]) -> Result<Step, Full> {
        if self.qtype == TYPE_DS && cut.owner_len == name.len() {
            self.reply.authoritative = true;
            if cut.ds.count == 0 {
                return self.negative(zone);
            }
            self.put(Section::Answer, &cut.ds)?;
            return Ok(Step::Done);
        }
        // AA speaks of the answer section's first owner (RFC 1035 4.1.1): after an alias of ours it stays.
        if self.names.is_question() {
            self.reply.authoritative = false;
        }
        referral::write(self.reply, cut, &self.names)?;
        Ok(Step::Done)
    }

    /// The zone's SOA, so that "there is none" can be kept (RFC 2308 3).
    fn negative(&mut self, zone: &Zone) -> Result<Step, Full> {
        self.put(Section::Authority, &zone.negative_soa)?;
        Ok(Step::Done)
    }
}
