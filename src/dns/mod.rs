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
    answer(view, worker, query, header, &message, out).unwrap_or(0)
}

/// `None`: the buffer is smaller than it has to be.
fn answer(
    view: &View,
    worker: &mut Worker,
    query: Query<'_>,
    header: Header,
    message: &Message<'_>,
    out: &mut [u8],
) -> Option<usize> {
    let edns = message.edns.as_ref();
    let (cookie, fault) = match edns.map(|edns| edns.read_session(&view.settings, &query)) {
        None => (None, message.fault),
        Some(Ok(cookie)) => (cookie, message.fault),
        Some(Err(fault)) => (None, message.fault.or(Some(fault))),
    };
    if let Some(cookie) = &cookie {
        worker.counters().count_cookie(cookie.standing);
    }
    let limited = limit(view, worker, &query, fault, cookie.as_ref());
    let opt = edns.map(|edns| {
        let opt = edns.answer(&view.settings, query.transport, cookie.as_ref());
        match fault {
            Some(Fault::EdnsVersion) => opt.without_options(),
            _ if limited.is_some() => opt.without_growth(),
            _ => opt,
        }
    });
    let opt_len = opt.map_or(0, |opt| opt.len());
    let limit = match (query.transport, edns) {
        (Transport::Udp, Some(edns)) => edns.udp_size(&view.settings, cookie.as_ref()).into(),
        (Transport::Udp, None) => edns::MIN_UDP_SIZE.into(),
        (Transport::Tcp, _) => MAX_TCP_SIZE,
    };
    let room = limit.min(out.len()).checked_sub(opt_len)?;
    let mut reply = Reply::begin(out, room, message.question.as_ref())?;
    let scope = match (fault, &message.question, &cookie) {
        (None, Some(_), _) if limited == Some(Limited::BadCookie) => {
            reply.fail(wire::Rcode::BadCookie, None);
            0
        }
        (None, Some(_), _) if limited.is_some() => 0,
        (None, Some(question), _) => look_up(view, worker, query, header, edns, question, &mut reply),
        (Some(Fault::NoQuestion), None, Some(cookie)) => {
            reply.rcode = cookie.fetched();
            0
        }
        (fault, _, _) => {
            let fault = fault.unwrap_or(Fault::QuestionCount);
            reply.fail(fault.rcode(), fault.extended());
            0
        }
    };
    if limited == Some(Limited::Slip) {
        reply.truncate();
        reply.extended = None;
    }
    let rcode = reply.rcode;
    if let Some(opt) = opt {
        reply.extend_limit(opt_len);
        opt.write(&mut reply, rcode, scope).ok()?;
    }
    worker.counters().count_response(query.transport, rcode);
    Some(reply.finish(header))
}

/// What the client gets in place of content when its prefix has used up its answers over UDP: it is sent to TCP, or, if
/// it knows cookies, back with a good one (RFC 7873 5.2.3). Neither over TCP nor with a valid cookie is anybody limited:
/// there the client has shown that it is where it says.
fn limit(
    view: &View,
    worker: &Worker,
    query: &Query<'_>,
    fault: Option<Fault>,
    cookie: Option<&Cookie>,
) -> Option<Limited> {
    let (Some(rule), Transport::Udp) = (&view.settings.rate_limit, query.transport) else { return None };
    let table = worker.limits()?;
    if cookie.is_some_and(Cookie::is_verified) || table.admit(rule, query.peer, query.now) {
        return None;
    }
    let limited = match cookie {
        _ if rule.dry_run => Limited::DryRun,
        Some(_) if fault.is_none() => Limited::BadCookie,
        _ => Limited::Slip,
    };
    worker.counters().count_limited(limited);
    (!rule.dry_run).then_some(limited)
}

/// Returns the scope of the answer.
fn look_up(
    view: &View,
    worker: &mut Worker,
    query: Query<'_>,
    header: Header,
    edns: Option<&edns::Edns<'_>>,
    question: &Question<'_>,
    reply: &mut Reply<'_>,
) -> u8 {
    let (id, qtype) = (header.id, question.qtype);
    let names = Names::new(question.name);
    let redirected = [None; lookup::MAX_ALIASES + 1];
    let mut lookup = Lookup { view, worker, query, id, qtype, edns, reply, scope: 0, names, redirected };
    lookup.answer(question);
    lookup.scope
}
