//! From a question to records: services, static data, alias chains, what does not exist.
//!
//! A name is carried as two things: its lower-case wire form, to look it up, and the place in the message where it
//! stands uncompressed, to point to. Every suffix of it (a zone's apex, a cut) then has a pointer for free.

use super::answer::{RECORD_HEAD_LEN, ServiceIndex, TYPE_CNAME};
use super::chaos;
use super::counters::Worker;
use super::edns::Edns;
use super::extended::ExtendedError;
use super::referral;
use super::reply::{Full, MAX_POINTER, Reply, Section, pointer};
use super::wire::{HEADER_LEN, Name, Question, Rcode};
use super::zone::{Cut, Found, Node, Redirect, Rrset, Zone};
use super::{Query, View};

/// Most aliases that one answer follows. A longer chain, or a loop, is answered as far as it was followed: the
/// resolver asks for the rest, or finds the loop itself.
pub const MAX_ALIASES: usize = 16;

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
    /// DNAMEs that stand in the answer already: an alias chain may meet one again.
    pub(super) redirected: [Option<&'v Rrset>; MAX_ALIASES + 1],
}

/// What a look at one name led to.
#[allow(clippy::large_enum_variant)] // On the stack, where a box is not to be had.
enum Step {
    /// The answer is complete.
    Done,
    /// The name is an alias of this one, which stands at that place of the message.
    Alias(Name, usize),
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
        let mut step = self.visit(qname, HEADER_LEN)?;
        let mut places = [HEADER_LEN; MAX_ALIASES + 1];
        for followed in 1..=MAX_ALIASES {
            let Step::Alias(name, at) = step else { break };
            let mut visited = places.iter().take(followed);
            let is_loop = visited.any(|&place| self.reply.has_name_at(place, name.as_wire()));
            if is_loop || at + name.as_wire().len() > MAX_POINTER {
                break;
            }
            places[followed] = at;
            step = self.visit(name.as_wire(), at)?;
        }
        Ok(())
    }

    fn visit(&mut self, name: &[u8], at: usize) -> Result<Step, Full> {
        let view = self.view;
        match view.zones.find(name) {
            Found::Node { zone, node } => self.at_node(zone, node, name, at),
            Found::NoName { zone, redirect } => {
                self.reply.authoritative = true;
                match redirect {
                    Some(redirect) => self.redirect(&redirect, name, at),
                    None => {
                        self.reply.rcode = Rcode::NxDomain;
                        self.negative(zone, name, at)
                    }
                }
            }
            Found::Cut { zone, cut } => self.at_cut(zone, cut, name, at),
            Found::Outside => {
                // At the end of a chain of ours the resolver goes on by itself; a question is none of our business.
                if at == HEADER_LEN {
                    self.reply.fail(Rcode::Refused, Some(ExtendedError::NotAuthoritative));
                }
                Ok(Step::Done)
            }
        }
    }

    fn at_node(&mut self, zone: &Zone, node: &'v Node, name: &[u8], at: usize) -> Result<Step, Full> {
        let view = self.view;
        self.reply.authoritative = true;
        if self.qtype == TYPE_DS && name.len() == zone.apex.len() {
            // The parent's side of a cut knows the DS records (RFC 4035 3.1.4.1).
            match view.zones.above(zone) {
                Found::Cut { zone, cut } => return self.at_cut(zone, cut, name, at),
                Found::Node { zone, .. } => return self.negative(zone, name, at),
                Found::NoName { .. } | Found::Outside => {}
            }
        }
        if self.qtype == TYPE_ANY && !(node.rrsets.is_empty() && node.service.is_none()) {
            return self.any(node, at);
        }
        if let Some(rrset) = node.rrset(self.qtype) {
            return self.data(rrset, at);
        }
        if let Some(service) = node.service {
            if let Some(done) = self.service(service, at)? {
                return Ok(done);
            }
        } else if let Some(alias) = node.rrset(TYPE_CNAME) {
            let data = self.reply.len() + RECORD_HEAD_LEN;
            self.reply.put_rrset(alias, at)?;
            let mut target = Name::EMPTY;
            let is_name = target.set(&[&alias.target]);
            return Ok(if is_name { Step::Alias(target, data) } else { Step::Done });
        }
        self.negative(zone, name, at)
    }

    /// An alias is all that its name holds, so it is given, not followed (RFC 8482 4.1): the HINFO is for names that have no
    /// CNAME record (4.2). What a service answers is a decision and no data of the name: HINFO, even if it is an alias.
    fn any(&mut self, node: &Node, at: usize) -> Result<Step, Full> {
        match node.rrset(TYPE_CNAME) {
            Some(alias) => self.reply.put_rrset(alias, at)?,
            None => self.reply.put_record(Section::Answer, at, &MINIMAL_ANY)?,
        }
        Ok(Step::Done)
    }

    fn data(&mut self, rrset: &'v Rrset, at: usize) -> Result<Step, Full> {
        if self.qtype != TYPE_DNAME || self.is_first(rrset) {
            self.reply.put_rrset(rrset, at)?;
        }
        // Helpful, not needed: left out when it does not fit, without a word (RFC 2181 9).
        if self.reply.put(&rrset.additional).is_ok() {
            self.reply.count(Section::Additional, rrset.additional_count);
        }
        Ok(Step::Done)
    }

    /// Answers from the service's table; `None` when it has nothing to say to this type.
    fn service(&mut self, service: ServiceIndex, at: usize) -> Result<Option<Step>, Full> {
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
        encoded.write(self.reply, at, answer.ttl.at(self.query.now), self.id)?;
        Ok(Some(Step::Done))
    }

    /// For what can't be: a fault of ours, about which there is nothing to say.
    fn fail(&mut self) -> Step {
        self.reply.fail(Rcode::ServFail, None);
        Step::Done
    }

    /// The DNAME, then the alias that it makes of `name` (RFC 6672 3.1 and 5.3.1).
    fn redirect(&mut self, redirect: &Redirect<'v>, name: &[u8], at: usize) -> Result<Step, Full> {
        let Some(prefix_len) = name.len().checked_sub(redirect.owner_len) else { return Ok(self.fail()) };
        let prefix = name.get(..prefix_len).unwrap_or_default();
        if self.is_first(redirect.rrset) {
            self.reply.put_rrset(redirect.rrset, at + prefix_len)?;
        }
        let target: &[u8] = &redirect.rrset.target;
        let ttl = redirect.rrset.bytes.get(6..10).unwrap_or(&[0; 4]);
        let data_len = prefix.len() + target.len();
        let mut alias = Name::EMPTY;
        if !alias.set(&[prefix, target]) {
            self.reply.rcode = Rcode::YxDomain;
            return Ok(Step::Done);
        }
        let data_at = self.reply.len() + RECORD_HEAD_LEN;
        self.reply.put(&pointer(at))?;
        self.reply.put(&[0, TYPE_CNAME as u8, 0, CLASS_IN as u8])?;
        self.reply.put(ttl)?;
        self.reply.put(&(data_len as u16).to_be_bytes())?; // at most 255, else it were no name
        self.reply.put(alias.as_wire())?;
        self.reply.count(Section::Answer, 1);
        if self.qtype == TYPE_CNAME {
            return Ok(Step::Done);
        }
        Ok(Step::Alias(alias, data_at))
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

    fn at_cut(&mut self, zone: &Zone, cut: &Cut, name: &[u8], at: usize) -> Result<Step, Full> {
        if self.qtype == TYPE_DS && cut.owner_len == name.len() {
            self.reply.authoritative = true;
            if cut.ds.is_empty() {
                return self.negative(zone, name, at);
            }
            for ds in &cut.ds {
                self.reply.put_record(Section::Answer, at, ds)?;
            }
            return Ok(Step::Done);
        }
        // AA speaks of the answer section's first owner (RFC 1035 4.1.1): after an alias of ours it stays.
        if at == HEADER_LEN {
            self.reply.authoritative = false;
        }
        referral::write(self.reply, cut, name, at)?;
        Ok(Step::Done)
    }

    /// The zone's SOA, so that "there is none" can be kept (RFC 2308 3).
    fn negative(&mut self, zone: &Zone, name: &[u8], at: usize) -> Result<Step, Full> {
        let apex = at + name.len().saturating_sub(zone.apex.len());
        self.reply.put_record(Section::Authority, apex, &zone.negative_soa)?;
        Ok(Step::Done)
    }
}
