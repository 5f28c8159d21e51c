//! What a legal answer is: an oracle that knows the RFCs and the small world's settings, and nothing of how answers are
//! made. Where a query has several faults at once, any of their answers is legal.

#[path = "reading.rs"]
mod reading;

use std::fmt::Write as _;

use waypost::dns::{MAX_TCP_SIZE, Transport};

use reading::{Answer, Asked, HEADER_LEN, Opt, Record};

use super::is_valid_cookie;

/// The server's own bounds: a message that brings more is malformed.
const MAX_RECORDS: usize = 32;
const MAX_OPTIONS: usize = 64;

/// What the small world's settings say: the largest UDP answer in bytes, NSID, the keepalive in units of 100 ms.
pub(crate) const MAX_UDP_SIZE: u16 = 1232;
const NSID: &[u8] = b"ns1";
const IDLE_100MS: [u8; 2] = [0, 100];

/// Length of an OPT record without options, and of an option without data, in bytes.
const OPT_LEN: usize = 11;
const OPTION_HEAD_LEN: usize = 4;

/// Most that a refused cookie makes an answer longer than its query, in bytes: the server's half.
const SERVER_COOKIE_LEN: usize = 16;

/// What the operator set, as far as it changes what is legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Largest UDP answer to who shows no valid cookie, in bytes.
    pub(crate) unverified_udp: u16,
    /// Whether client subnets decide.
    pub(crate) ecs: bool,
    /// Whether who asks has used up the answers that come over UDP without a valid cookie.
    pub(crate) limited: bool,
}

impl Setup {
    /// What holds where the operator says nothing.
    pub(crate) const ORDINARY: Self = Self { unverified_udp: MAX_UDP_SIZE, ecs: true, limited: false };
    /// Short answers for strangers, and client subnets off.
    pub(crate) const GUARDED: Self = Self { unverified_udp: 512, ecs: false, limited: false };
    /// Under a flood.
    pub(crate) const LIMITED: Self = Self { limited: true, ..Self::ORDINARY };
    /// Every one that is tried.
    pub(crate) const ALL: [Self; 3] = [Self::ORDINARY, Self::GUARDED, Self::LIMITED];
}

const NOERROR: u16 = 0;
const FORMERR: u16 = 1;
const SERVFAIL: u16 = 2;
const NXDOMAIN: u16 = 3;
const NOTIMP: u16 = 4;
const REFUSED: u16 = 5;
const YXDOMAIN: u16 = 6;
const BADVERS: u16 = 16;
const BADCOOKIE: u16 = 23;

const CLASS_IN: u16 = 1;
const CLASS_CHAOS: u16 = 3;

/// Option codes of what this server answers.
const OPTION_NSID: u16 = 3;
const OPTION_SUBNET: u16 = 8;
const OPTION_COOKIE: u16 = 10;
const OPTION_KEEPALIVE: u16 = 11;
const OPTION_EXTENDED_ERROR: u16 = 15;

/// The rule that an answer breaks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Illegal(pub(crate) &'static str);

/// Checks the answers to a query over UDP and TCP (empty: silence) and gives their rcodes; 0 for silence. Panics when one
/// is illegal.
#[allow(clippy::panic)] // What the fuzzer and the tests wait for.
pub(crate) fn assert_legal(setup: Setup, packet: &[u8], udp: &[u8], tcp: &[u8]) -> [u16; 2] {
    match check(setup, packet, udp, tcp) {
        Ok(rcodes) => rcodes,
        Err(Illegal(rule)) => {
            panic!("{rule}: {setup:?} query {} UDP {} TCP {}", hex(packet), hex(udp), hex(tcp))
        }
    }
}

fn check(setup: Setup, packet: &[u8], udp: &[u8], tcp: &[u8]) -> Result<[u16; 2], Illegal> {
    let Some(asked) = Asked::read(packet) else {
        must(udp.is_empty() && tcp.is_empty(), "what is no query gets no answer (RULES A6)")?;
        return Ok([0; 2]);
    };
    let case = Case { setup, asked: &asked, len: packet.len(), transport: Transport::Tcp };
    let tcp = case.answer(tcp)?;
    let udp = case.answer_over_udp(udp, &tcp)?;
    Ok([udp, tcp].map(|answer| answer.rcode()))
}

/// Reads the answer over TCP, when it is legal, for who compares many with it.
pub(crate) fn read_tcp<'p>(setup: Setup, packet: &[u8], tcp: &'p [u8]) -> Result<Answer<'p>, Illegal> {
    let asked = Asked::read(packet).ok_or(Illegal("a query is asked"))?;
    Case { setup, asked: &asked, len: packet.len(), transport: Transport::Tcp }.answer(tcp)
}

/// Whether the answer over UDP is legal beside the one over TCP.
pub(crate) fn check_udp(setup: Setup, packet: &[u8], udp: &[u8], tcp: &Answer<'_>) -> Result<(), Illegal> {
    let asked = Asked::read(packet).ok_or(Illegal("a query is asked"))?;
    let case = Case { setup, asked: &asked, len: packet.len(), transport: Transport::Tcp };
    case.answer_over_udp(udp, tcp).map(drop)
}

/// One query as it came over one transport.
#[derive(Clone, Copy)]
struct Case<'a> {
    setup: Setup,
    asked: &'a Asked<'a>,
    /// Length of the query in bytes.
    len: usize,
    transport: Transport,
}

impl<'a> Case<'a> {
    /// Reads the answer over UDP when it is legal by itself and beside the one over TCP.
    fn answer_over_udp<'p>(self, udp: &'p [u8], tcp: &Answer<'_>) -> Result<Answer<'p>, Illegal> {
        let case = Self { transport: Transport::Udp, ..self };
        let udp = case.answer(udp)?;
        if !case.is_limited() && !is_malformed(self.asked, Transport::Tcp) {
            same(case.limit(&udp), &udp, tcp)?;
        }
        Ok(udp)
    }

    /// Reads an answer when it is legal by itself.
    fn answer<'p>(self, answer: &'p [u8]) -> Result<Answer<'p>, Illegal> {
        must(!answer.is_empty(), "every query gets an answer (RFC 8906 3)")?;
        let len = answer.len();
        let answer = Answer::read(answer)
            .ok_or(Illegal("an answer is whole, and nothing is behind it (RFC 1035 4.1)"))?;
        header(self.asked, &answer, self.transport)?;
        must(len <= self.limit(&answer), "no longer than client and operator allow")?;
        rcode(self, &answer)?;
        if self.is_limited() && self.is_sound_question() {
            limited(self, &answer, len)?;
        } else {
            sections(self, &answer)?;
        }
        opt(self, &answer)?;
        Ok(answer)
    }

    /// Most bytes of the answer (RFC 1035 4.2.1, RFC 6891 6.2.3 to 6.2.5).
    fn limit(self, answer: &Answer<'_>) -> usize {
        let most =
            if self.is_verified() { MAX_UDP_SIZE } else { MAX_UDP_SIZE.min(self.setup.unverified_udp) };
        let payload = self.asked.opt.as_ref().filter(|_| answer.opt.is_some()).map_or(0, |opt| opt.payload);
        match self.transport {
            Transport::Udp => payload.clamp(512, most).into(),
            Transport::Tcp => MAX_TCP_SIZE,
        }
    }

    fn cookie(self) -> Option<&'a [u8]> {
        self.asked.opt.as_ref().filter(|opt| opt.version == 0)?.option(OPTION_COOKIE)
    }

    /// Whether the query shows that its source is not forged.
    fn is_verified(self) -> bool {
        self.cookie().is_some_and(is_valid_cookie)
    }

    /// Whether the client gets no content over UDP.
    fn is_limited(self) -> bool {
        self.is_flooded() && !self.is_verified()
    }

    /// Whether the rate is exceeded where it counts. Then also an error may say TC: it means nothing there, and the cookie
    /// of a malformed query shows nothing.
    fn is_flooded(self) -> bool {
        self.setup.limited && self.transport == Transport::Udp
    }

    /// Whether this is a question that is looked up.
    fn is_sound_question(self) -> bool {
        let is_known = self.asked.opt.as_ref().is_none_or(|opt| opt.version == 0);
        let is_query = self.asked.opcode() == 0 && self.asked.question.is_some();
        is_query && is_known && !is_malformed(self.asked, self.transport)
    }
}

/// RFC 1035 4.1.1, RFC 6895 2: what is copied, what is clear; the question comes back byte for byte.
fn header(asked: &Asked<'_>, answer: &Answer<'_>, transport: Transport) -> Result<(), Illegal> {
    must(answer.id == asked.id, "the id is the query's")?;
    must(answer.flags[0] & 0x80 != 0, "QR is set")?;
    must(answer.flags[0] & 0x79 == asked.flags[0] & 0x79, "opcode and RD are the query's")?;
    must(answer.flags[1] & 0xe0 == 0, "RA, Z and AD are clear (RFC 4035 3.1.6)")?;
    must(answer.flags[1] & 0x10 == asked.flags[1] & 0x10, "CD is the query's (RFC 4035 3.1.6)")?;
    must(!is_truncated(answer) || transport == Transport::Udp, "only UDP truncates (RFC 2181 9)")?;
    let question = asked.question.as_ref();
    let raw = question.map_or(&[][..], |question| question.raw);
    must(answer.questions == u16::from(question.is_some()), "one question is answered with it, no other")?;
    must(answer.question == raw, "the question is echoed byte for byte (RFC 4343 4.1)")
}

/// Which rcodes a query of this kind may get.
fn rcode(case: Case<'_>, answer: &Answer<'_>) -> Result<(), Illegal> {
    let (asked, rcode) = (case.asked, answer.rcode());
    if asked.opcode() != 0 {
        return must(rcode == NOTIMP, "another opcode is not implemented (RFC 8906 3.1.4)");
    }
    let opt = asked.opt.as_ref();
    let is_newer = opt.is_some_and(|opt| opt.version != 0);
    if is_malformed(asked, case.transport) {
        return must(rcode == FORMERR || (rcode == BADVERS && is_newer), "malformed is FORMERR");
    }
    if is_newer && asked.questions <= 1 {
        return must(rcode == BADVERS, "another version of EDNS is BADVERS (RFC 6891 6.1.3)");
    }
    let Some(question) = &asked.question else {
        let fetches = asked.questions == 0 && opt.is_some_and(|opt| opt.option(OPTION_COOKIE).is_some());
        let legal: &[u16] = if fetches { &[NOERROR, BADCOOKIE] } else { &[FORMERR] };
        return must(
            legal.contains(&rcode),
            "no question is for cookies alone (RFC 7873 5.4), several for nobody (RFC 9619 4)",
        );
    };
    let legal: &[u16] = match (question.qclass, question.qtype) {
        _ if case.is_limited() => &[if case.cookie().is_some() { BADCOOKIE } else { NOERROR }],
        (_, 251 | 252) => &[REFUSED],
        (CLASS_IN, _) => &[NOERROR, SERVFAIL, NXDOMAIN, REFUSED, YXDOMAIN],
        (CLASS_CHAOS, _) => &[NOERROR, REFUSED],
        _ => &[REFUSED],
    };
    must(legal.contains(&rcode), "class and type have their rcodes")
}

/// Whether two readers could understand the query differently, or an option is none of the forms its RFC gives it.
fn is_malformed(asked: &Asked<'_>, transport: Transport) -> bool {
    let is_too_much = usize::from(asked.questions).max(asked.records) > MAX_RECORDS;
    if is_too_much || !asked.is_whole || asked.opts > 1 || asked.opt.is_some() != (asked.opts == 1) {
        return true;
    }
    let Some(opt) = asked.opt.as_ref().filter(|opt| opt.version == 0) else { return false };
    let is_cookie = |data: &[u8]| matches!(data.len(), 8 | 16..=40);
    !opt.is_whole
        || opt.options.len() > MAX_OPTIONS
        || opt.option(OPTION_SUBNET).is_some_and(|data| !is_subnet(data))
        || opt.option(OPTION_COOKIE).is_some_and(|data| !is_cookie(data))
        || (transport == Transport::Tcp && opt.option(OPTION_KEEPALIVE).is_some_and(|data| !data.is_empty()))
}

/// RFC 7871 6 and 7.1.2.
pub(crate) fn is_subnet(data: &[u8]) -> bool {
    let Some((&[0, family @ (1 | 2), source, 0], address)) = data.split_first_chunk() else { return false };
    let bits = if family == 1 { 32 } else { 128 };
    let beyond = (usize::from(source)..8 * address.len())
        .any(|bit| address.get(bit / 8).is_some_and(|byte| byte >> (7 - bit % 8) & 1 == 1));
    source <= bits && address.len() == usize::from(source).div_ceil(8) && !beyond
}

/// Beyond the rate: nothing that somebody else could be flooded with. The client comes back over TCP, or with the cookie
/// that it gets (RFC 7873 5.2.3).
fn limited(case: Case<'_>, answer: &Answer<'_>, len: usize) -> Result<(), Illegal> {
    let has_cookie = case.cookie().is_some();
    let growth = if has_cookie { SERVER_COOKIE_LEN } else { 0 };
    must(is_truncated(answer) != has_cookie, "beyond the rate TC is for who knows no cookies")?;
    must(answer.records.is_empty() && answer.flags[0] & 4 == 0, "beyond the rate nothing is told")?;
    must(len <= case.len + growth, "beyond the rate no answer is longer than its query, but for a cookie")
}

/// Over UDP comes what comes over TCP, byte for byte, unless something that has to be there does not fit into `limit`
/// bytes: only then TC is set (RFC 2181 9), and nothing is half there.
fn same(limit: usize, udp: &Answer<'_>, tcp: &Answer<'_>) -> Result<(), Illegal> {
    let fits = needed(tcp) <= limit;
    must(is_truncated(udp) != fits, "TC says that something does not fit, and nothing else")?;
    let is_told =
        udp.claims == tcp.claims && udp.flags[0] | 2 == tcp.flags[0] | 2 && udp.rcode() == tcp.rcode();
    if fits {
        must(is_told, "UDP and TCP say the same (RFC 7766 5)")?;
        return must(glue(udp).eq(glue(tcp)), "glue below the cut is not left out (RFC 9471 3.1)");
    }
    let is_empty = udp.records.is_empty() && udp.rcode() == NOERROR;
    let is_bare = is_told && udp.section(3).count() == 0;
    must(is_empty || is_bare, "what does not fit is left out as a whole (RFC 2181 9)")
}

/// Bytes of an answer without what may be left out: additional records but for the glue of a cut's own servers (RFC 9471
/// 3.1), the text about an error (RFC 8914 2), and what only TCP has.
fn needed(tcp: &Answer<'_>) -> usize {
    let may_go = |code: u16| matches!(code, OPTION_EXTENDED_ERROR | OPTION_KEEPALIVE);
    let opt = tcp.opt.as_ref().map_or(0, |opt| {
        let options = opt.options.iter().filter(|(code, _)| !may_go(*code));
        OPT_LEN + options.map(|(_, data)| OPTION_HEAD_LEN + data.len()).sum::<usize>()
    });
    let glue: usize = glue(tcp).map(|record| record.len).sum();
    HEADER_LEN + tcp.question.len() + tcp.claims.len() + glue + opt
}

/// Addresses of name servers at or below the cut that the answer refers to.
fn glue<'a>(answer: &'a Answer<'_>) -> impl Iterator<Item = &'a Record<'a>> {
    let cut = answer.section(2).find(|record| record.rtype == 2).map(|record| record.owner.as_slice());
    answer.section(3).filter(move |record| cut.is_some_and(|cut| record.owner.ends_with(cut)))
}

/// What stands in which section, and AA.
fn sections(case: Case<'_>, answer: &Answer<'_>) -> Result<(), Illegal> {
    let asked = case.asked;
    let is_authoritative = answer.flags[0] & 4 != 0;
    let has = |section, rtype| answer.section(section).any(|record| record.rtype == rtype);
    let (answers, authorities) = (answer.section(1).count(), answer.section(2).count());
    let is_cut = is_truncated(answer);
    let Some(question) = &asked.question else {
        let is_bare = answer.records.is_empty() && !is_authoritative;
        return must(is_bare && (!is_cut || case.is_flooded()), "no question, no records");
    };
    must(answer.records.iter().all(|record| record.ttl < 1 << 31), "a TTL has 31 bits (RFC 2181 8)")?;
    let class = question.qclass;
    must(answer.records.iter().all(|record| record.class == class), "records are of the question's class")?;
    chain(question.raw, question.qtype, class, answer)?;
    match answer.rcode() {
        NOERROR if is_authoritative => {
            let is_chaos = class == CLASS_CHAOS;
            must(answers > 0 || has(2, 6) || is_chaos || is_cut, "no data comes with the SOA (RFC 2308 2.2)")
        }
        NOERROR => {
            let refers = authorities > 0 && answer.section(2).all(|record| record.rtype == 2);
            must(answers == 0 && (refers || is_cut), "without AA it is a referral (RFC 1034 4.3.1)")
        }
        NXDOMAIN => must(is_authoritative && has(2, 6), "no such name comes with AA and SOA (RFC 2308 2.1)"),
        YXDOMAIN => must(is_authoritative && has(1, 39), "too long comes with its DNAME (RFC 6672 2.2)"),
        SERVFAIL => must(!is_authoritative && authorities == 0, "a failure claims nothing"),
        _ => {
            let is_bare = answer.records.is_empty() && !is_authoritative;
            must(is_bare && (!is_cut || case.is_flooded()), "an error brings nothing")
        }
    }
}

/// Answers begin at the question's name and follow aliases one by one (RFC 1034 4.3.2, RFC 6672 3.2).
fn chain(qname: &[u8], qtype: u16, class: u16, answer: &Answer<'_>) -> Result<(), Illegal> {
    let mut at: Vec<u8> = qname[..qname.len() - 4].to_ascii_lowercase();
    let is_asked = |record: &Record<'_>| match qtype {
        _ if matches!(record.rtype, 5 | 39) => true,
        255 => record.rtype == if class == CLASS_CHAOS { 16 } else { 13 }, // RFC 8482 4.2
        qtype => record.rtype == qtype,
    };
    let (mut redirects, mut is_over) = (Vec::new(), false);
    for record in answer.section(1) {
        must(is_asked(record), "answers are of the type asked, or lead there")?;
        must(!is_over, "an alias is all that ANY gets (RFC 8482 4.1)")?;
        if record.rtype == 39 && record.owner != at {
            must(
                at.len() > record.owner.len() && at.ends_with(&record.owner),
                "a DNAME stands above its name",
            )?;
            redirects.push(&record.owner);
            continue;
        }
        must(record.owner == at, "an answer belongs to the name it is given for")?;
        if record.rtype == 5 {
            let is_made = redirects.iter().any(|owner| at.len() > owner.len() && at.ends_with(owner));
            is_over = qtype == 255 && !is_made;
            if qtype != 5 {
                at.clone_from(&record.target);
            }
        }
    }
    Ok(())
}

/// RFC 6891 6.1.1 and 7: an OPT record for whoever sent one, and what it says.
fn opt(case: Case<'_>, answer: &Answer<'_>) -> Result<(), Illegal> {
    let (asked, transport) = (case.asked, case.transport);
    let given = asked.opt.as_ref();
    let is_sound = !is_malformed(asked, transport);
    let Some(opt) = &answer.opt else {
        return must(given.is_none() || !is_sound, "EDNS is answered with EDNS");
    };
    let given = given.ok_or(Illegal("EDNS is for who asked with it"))?;
    must(
        asked.opts == 1 || !given.is_whole || !asked.is_whole || !is_sound_subnet(given),
        "one OPT record, not two",
    )?;
    must(opt.payload == MAX_UDP_SIZE && opt.version == 0, "payload and version are ours")?;
    must(opt.flags == given.flags & 0x8000, "DO is copied, Z is clear (RFC 3225 3, RFC 6891 6.1.4)")?;
    let codes: Vec<u16> = opt.options.iter().map(|&(code, _)| code).collect();
    must(
        codes.iter().all(|code| codes.iter().filter(|other| *other == code).count() == 1),
        "no option twice",
    )?;
    for &(code, data) in &opt.options {
        let asked_for = if given.version == 0 { given.option(code) } else { None };
        option(case, code, data, asked_for, answer)?;
    }
    if !is_sound || given.version != 0 {
        return Ok(());
    }
    let both = |code| given.option(code).is_some() == opt.option(code).is_some();
    must(both(OPTION_SUBNET), "a client subnet comes back in every answer (RFC 7871 7.2.1)")?;
    // Beyond the rate it is left out, for it makes answers longer.
    must(both(OPTION_NSID) || case.is_flooded(), "who asks for the NSID gets it (RFC 5001 2.2)")?;
    must(both(OPTION_COOKIE), "who sends a cookie gets one (RFC 7873 5.2)")?;
    must(
        transport == Transport::Udp || both(OPTION_KEEPALIVE),
        "keepalive is answered over TCP (RFC 7828 3.3.2)",
    )
}

fn option(
    case: Case<'_>,
    code: u16,
    data: &[u8],
    asked_for: Option<&[u8]>,
    answer: &Answer<'_>,
) -> Result<(), Illegal> {
    let is_legal = match (code, asked_for) {
        (OPTION_SUBNET, Some(sent)) => subnet(case.setup, data, sent, answer),
        (OPTION_NSID, Some(_)) => data == NSID,
        (OPTION_COOKIE, Some(sent)) => data.len() == 24 && sent.get(..8) == data.get(..8),
        (OPTION_KEEPALIVE, Some(_)) => case.transport == Transport::Tcp && data == IDLE_100MS,
        (OPTION_EXTENDED_ERROR, _) => data.len() >= 2 && answer.rcode() != NOERROR,
        _ => false,
    };
    must(is_legal, "an option answers one of the query's, in its RFC's form")
}

/// Echoed but for the scope, which is no longer than an address; 0 for "use none" and for what depends on no place.
fn subnet(setup: Setup, data: &[u8], sent: &[u8], answer: &Answer<'_>) -> bool {
    let ([f0, family, source, scope, address @ ..], [s0, s1, s2, 0, sent @ ..]) = (data, sent) else {
        return false;
    };
    let bits = if *family == 1 { 32 } else { 128 };
    let depends = setup.ecs && matches!(answer.rcode(), NOERROR | SERVFAIL) && *source > 0;
    [f0, family, source] == [s0, s1, s2] && address == sent && *scope <= bits && (depends || *scope == 0)
}

fn is_sound_subnet(opt: &Opt<'_>) -> bool {
    opt.option(OPTION_SUBNET).is_none_or(is_subnet)
}

fn is_truncated(answer: &Answer<'_>) -> bool {
    answer.flags[0] & 2 != 0
}

fn must(holds: bool, rule: &'static str) -> Result<(), Illegal> {
    if holds { Ok(()) } else { Err(Illegal(rule)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
