//! Query bytes to answer bytes: one function for every transport.
//!
//! ```text
//! bytes ─▶ Header ─▶ Message { question, edns, fault } ─▶ Lookup ─▶ Reply ─▶ bytes
//!           wire          wire, edns                       lookup    reply
//! ```
//!
//! Nothing here allocates, locks, waits or reads a clock. Answers of services are encoded before anybody asks
//! ([`answer`]); a query copies one, turned by its id.

pub mod answer;
mod chaos;
pub mod chunked;
pub mod cookie;
pub mod counters;
pub mod edns;
mod extended;
pub mod limit;
pub mod lookup;
mod names;
mod referral;
mod reply;
pub mod template;
#[cfg(test)]
mod tests;
pub mod wire;
pub mod zone;

use std::net::IpAddr;
use std::sync::Arc;

use self::cookie::Cookie;
use self::edns::OptAnswer;
use self::lookup::Lookup;
use self::names::Names;
use self::reply::Reply;
use self::wire::{Fault, Header, Message, Name, Question};
use crate::health::Mono;
use crate::region::geo::GeoTable;

pub use self::cookie::Cookies;
use self::counters::Limited;
pub use self::counters::{Counters, Worker};

/// Longest message over TCP, in bytes (RFC 1035 4.2.2).
pub const MAX_TCP_SIZE: usize = 65_535;

/// What one query may see: one consistent state of zones, geo data, health and settings.
#[derive(Clone, Debug)]
pub struct View {
    /// Every name of every zone.
    pub zones: Arc<zone::Zones>,
    /// Where clients are.
    pub geo: Arc<GeoTable>,
    /// What each service answers, by the service index that the zones hold.
    pub answers: answer::AnswerTable,
    /// What the operator set.
    pub settings: Arc<Settings>,
}

/// What the operator set for answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest UDP answer in bytes; less than [`edns::MIN_UDP_SIZE`] counts as that.
    pub max_udp_size: u16,
    /// NSID, at most [`edns::MAX_NSID_LEN`] bytes; empty or longer: none is answered (RFC 5001).
    pub nsid: Vec<u8>,
    /// Whether client subnets decide.
    pub ecs: bool,
    /// How long a silent TCP connection is kept, in units of 100 ms, for clients that ask (RFC 7828).
    pub tcp_idle_100ms: u16,
    /// Cookies; absent: the option is one that nobody knows here.
    pub cookies: Option<Cookies>,
    /// What CHAOS questions are answered.
    pub chaos: Chaos,
    /// How many full answers over UDP one source gets; absent: all.
    pub rate_limit: Option<limit::Rule>,
}

impl Default for Settings {
    /// What holds where the operator says nothing, without cookies, which need a secret.
    fn default() -> Self {
        Self {
            max_udp_size: 1232,
            nsid: Vec::new(),
            ecs: true,
            tcp_idle_100ms: 100,
            cookies: None,
            chaos: Chaos::default(),
            rate_limit: None,
        }
    }
}

/// What the server says about itself (RFC 4892); texts of at most 255 bytes, an empty one is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chaos {
    /// For `id.server` and `hostname.bind`.
    pub id: Vec<u8>,
    /// For `version.server` and `version.bind`.
    pub version: Vec<u8>,
}

/// How a query came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Transport {
    Udp,
    Tcp,
}

/// One query as it came off a socket.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The message.
    pub bytes: &'a [u8],
    /// Who asks.
    pub peer: IpAddr,
    /// How.
    pub transport: Transport,
    /// When.
    pub now: Mono,
    /// When by the wall clock, for cookies: seconds since 1970 modulo 2^32.
    pub wall_s: u32,
}

/// Answers one query into `out` and returns the answer's length; zero means silence (and, over TCP, the end of the
/// connection). Allocates nothing, locks nothing, waits for nothing.
///
/// `out` holds at least [`Settings::max_udp_size`] bytes for UDP (and never less than [`edns::MIN_UDP_SIZE`]) and
/// [`MAX_TCP_SIZE`] for TCP.
pub fn respond(view: &View, worker: &mut Worker, query: Query<'_>, out: &mut [u8]) -> usize {
    let header = match Header::parse(query.bytes) {
        Ok(header) => header,
        Err(silence) => {
            worker.counters().count_silence(silence);
            return 0;
        }
    };
    let mut name = Name::EMPTY;
    let message = Message::parse(header, query.bytes, &mut name);
    worker.counters().count_query(&query, message.question.as_ref());
    Asked::new(view, query, header, &message).answer(worker, out).unwrap_or(0)
}

/// A query that was read.
struct Asked<'a> {
    view: &'a View,
    query: Query<'a>,
    header: Header,
    message: &'a Message<'a>,
    cookie: Option<Cookie>,
    /// What is wrong, with the message or with how it came.
    fault: Option<Fault>,
}

impl<'a> Asked<'a> {
    fn new(view: &'a View, query: Query<'a>, header: Header, message: &'a Message<'a>) -> Self {
        let session = message.edns.as_ref().map(|edns| edns.read_session(&view.settings, &query));
        let (cookie, fault) = match session {
            None => (None, message.fault),
            Some(Ok(cookie)) => (cookie, message.fault),
            Some(Err(fault)) => (None, message.fault.or(Some(fault))),
        };
        Self { view, query, header, message, cookie, fault }
    }

    /// `None`: the buffer is smaller than it has to be.
    fn answer(&self, worker: &mut Worker, out: &mut [u8]) -> Option<usize> {
        if let Some(cookie) = &self.cookie {
            worker.counters().count_cookie(cookie.standing);
        }
        let limited = self.charge(worker);
        let is_bare = self.is_bare(limited);
        let opt = self.opt(is_bare);
        let opt_len = opt.map_or(0, |opt| opt.len());
        let room = self.max_len().min(out.len()).checked_sub(opt_len)?;
        let mut reply = Reply::begin(out, room, self.message.question.as_ref())?;
        let scope = self.fill(worker, limited, &mut reply);
        let rcode = reply.rcode;
        reply.extended = reply.extended.filter(|_| !is_bare);
        if let Some(opt) = opt {
            reply.extend_limit(opt_len);
            opt.write(&mut reply, rcode, scope).ok()?;
        }
        worker.counters().count_response(self.query.transport, rcode);
        Some(reply.finish(self.header))
    }

    /// The rate limit, unless the client has shown that it is where it says: over TCP, or with a valid cookie.
    fn rate_limit(&self) -> Option<&'a limit::Rule> {
        let is_proven =
            self.query.transport == Transport::Tcp || self.cookie.as_ref().is_some_and(Cookie::is_verified);
        self.view.settings.rate_limit.as_ref().filter(|_| !is_proven)
    }

    /// What the client gets in place of content when its prefix has used up its answers: it is sent to TCP, or, if it
    /// knows cookies, back with a good one (RFC 7873 5.2.3).
    ///
    /// What has no content costs nothing and stays what it is: errors, and cookies that are fetched. There is nothing to
    /// leave out, and TC would only have the client ask for the same over TCP.
    fn charge(&self, worker: &Worker) -> Option<Limited> {
        let rule = self.rate_limit().filter(|_| self.fault.is_none())?;
        if worker.limits()?.admit(rule, self.query.peer, self.query.now) {
            return None;
        }
        let limited = match self.cookie {
            _ if rule.dry_run => Limited::DryRun,
            Some(_) => Limited::BadCookie,
            None => Limited::Slip,
        };
        worker.counters().count_limited(limited);
        (!rule.dry_run).then_some(limited)
    }

    /// Whether nothing may make the answer longer than the query, but for the server's half of a cookie. Of errors
    /// nobody counts how many go to whom, so while there is a limit they are all like that.
    fn is_bare(&self, limited: Option<Limited>) -> bool {
        let is_limiting = self.rate_limit().is_some_and(|rule| !rule.dry_run);
        limited.is_some() || (self.fault.is_some() && is_limiting)
    }

    /// The answer's OPT record, for a query that has one.
    fn opt(&self, is_bare: bool) -> Option<OptAnswer<'_>> {
        let edns = self.message.edns.as_ref()?;
        let opt = edns.answer(&self.view.settings, self.query.transport, self.cookie.as_ref());
        Some(match self.fault {
            Some(Fault::EdnsVersion) => opt.without_options(),
            _ if is_bare => opt.without_growth(),
            _ => opt,
        })
    }

    /// Most bytes that the client takes and the operator gives.
    fn max_len(&self) -> usize {
        match (self.query.transport, &self.message.edns) {
            (Transport::Udp, Some(edns)) => edns.udp_size(&self.view.settings, self.cookie.as_ref()).into(),
            (Transport::Udp, None) => edns::MIN_UDP_SIZE.into(),
            (Transport::Tcp, _) => MAX_TCP_SIZE,
        }
    }

    /// Writes what comes between the question and the OPT record, and returns the answer's scope.
    fn fill(&self, worker: &mut Worker, limited: Option<Limited>, reply: &mut Reply<'_>) -> u8 {
        if let Some(fault) = self.fault {
            match &self.cookie {
                Some(cookie) if fault == Fault::NoQuestion => reply.rcode = cookie.fetched(),
                _ => reply.fail(fault.rcode(), fault.extended()),
            }
            return 0;
        }
        match (limited, &self.message.question) {
            (Some(Limited::BadCookie), _) => reply.fail(wire::Rcode::BadCookie, None),
            (Some(Limited::Slip | Limited::DryRun), _) => reply.truncate(),
            (None, Some(question)) => return self.look_up(worker, question, reply),
            (None, None) => reply.fail(Fault::NoQuestion.rcode(), None), // a fault of the message, so met above
        }
        0
    }

    /// Returns the scope of the answer.
    fn look_up(&self, worker: &mut Worker, question: &Question<'_>, reply: &mut Reply<'_>) -> u8 {
        let (view, query, edns) = (self.view, self.query, self.message.edns.as_ref());
        let (id, qtype) = (self.header.id, question.qtype);
        let names = Names::new(question.name);
        let redirected = [None; lookup::MAX_ALIASES + 1];
        let mut lookup = Lookup { view, worker, query, id, qtype, edns, reply, scope: 0, names, redirected };
        lookup.answer(question);
        lookup.scope
    }
}
