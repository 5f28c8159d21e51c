//! What a legal answer is: an oracle that knows the RFCs and the small world's settings, and nothing of how answers are
//! made. Where a query has several faults at once, any of their answers is legal.

#[path = "reading.rs"]
mod reading;

use std::fmt::Write as _;

use waypost::dns::{MAX_TCP_SIZE, Transport};

use reading::{Answer, Asked, Opt, Record};

/// The server's own bounds: a message that brings more is malformed.
const MAX_RECORDS: usize = 32;
const MAX_OPTIONS: usize = 64;

/// What the small world's settings say: the largest UDP answer in bytes, NSID, the keepalive in units of 100 ms.
pub(crate) const MAX_UDP_SIZE: u16 = 1232;
const NSID: &[u8] = b"ns1";
const IDLE_100MS: [u8; 2] = [0, 100];

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

/// Checks an answer (empty: silence) and gives its rcode; 0 for silence. Panics when it is illegal.
#[allow(clippy::panic)] // What the fuzzer and the tests wait for.
pub(crate) fn assert_legal(packet: &[u8], transport: Transport, answer: &[u8]) -> u16 {
    match check(packet, transport, answer) {
        Ok(rcode) => rcode,
        Err(Illegal(rule)) => panic!("{rule}: {transport:?} query {} answer {}", hex(packet), hex(answer)),
    }
}

/// Whether the answer (empty: silence) is one that the query may get; gives its rcode, 0 for silence.
pub(crate) fn check(packet: &[u8], transport: Transport, answer: &[u8]) -> Result<u16, Illegal> {
    let Some(asked) = Asked::read(packet) else {
        must(answer.is_empty(), "what is no query gets no answer (RULES A6)")?;
        return Ok(0);
    };
    must(!answer.is_empty(), "every query gets an answer (RFC 8906 3)")?;
    let answer_len = answer.len();
    let answer =
        Answer::read(answer).ok_or(Illegal("an answer is whole, and nothing is behind it (RFC 1035 4.1)"))?;
    header(&asked, &answer, transport)?;
    size(&asked, &answer, transport, answer_len)?;
    rcode(&asked, &answer, transport)?;
    sections(&asked, &answer)?;
    opt(&asked, &answer, transport)?;
    Ok(answer.rcode())
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

/// RFC 1035 4.2.1, RFC 6891 6.2.3 to 6.2.5.
fn size(asked: &Asked<'_>, answer: &Answer<'_>, transport: Transport, len: usize) -> Result<(), Illegal> {
    let payload = asked.opt.as_ref().filter(|_| answer.opt.is_some()).map_or(0, |opt| opt.payload);
    let limit = match transport {
        Transport::Udp => payload.clamp(512, MAX_UDP_SIZE).into(),
        Transport::Tcp => MAX_TCP_SIZE,
    };
    must(len <= limit, "no longer than client and operator allow")
}

/// Which rcodes a query of this kind may get.
fn rcode(asked: &Asked<'_>, answer: &Answer<'_>, transport: Transport) -> Result<(), Illegal> {
    let rcode = answer.rcode();
    if asked.opcode() != 0 {
        return must(rcode == NOTIMP, "another opcode is not implemented (RFC 8906 3.1.4)");
    }
    let opt = asked.opt.as_ref();
    let is_newer = opt.is_some_and(|opt| opt.version != 0);
    if is_malformed(asked, transport) {
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

/// What stands in which section, and AA.
fn sections(asked: &Asked<'_>, answer: &Answer<'_>) -> Result<(), Illegal> {
    let is_authoritative = answer.flags[0] & 4 != 0;
    let has = |section, rtype| answer.section(section).any(|record| record.rtype == rtype);
    let (answers, authorities) = (answer.section(1).count(), answer.section(2).count());
    let is_cut = is_truncated(answer);
    let Some(question) = &asked.question else {
        return must(answer.records.is_empty() && !is_authoritative && !is_cut, "no question, no records");
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
        _ => must(answer.records.is_empty() && !is_authoritative && !is_cut, "an error brings nothing"),
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
    for record in answer.section(1) {
        must(is_asked(record), "answers are of the type asked, or lead there")?;
        if record.rtype == 39 && record.owner != at {
            must(
                at.len() > record.owner.len() && at.ends_with(&record.owner),
                "a DNAME stands above its name",
            )?;
            continue;
        }
        must(record.owner == at, "an answer belongs to the name it is given for")?;
        if record.rtype == 5 && qtype != 5 {
            at.clone_from(&record.target);
        }
    }
    Ok(())
}

/// RFC 6891 6.1.1 and 7: an OPT record for whoever sent one, and what it says.
fn opt(asked: &Asked<'_>, answer: &Answer<'_>, transport: Transport) -> Result<(), Illegal> {
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
        option(code, data, asked_for, answer, transport)?;
    }
    if !is_sound || given.version != 0 {
        return Ok(());
    }
    let both = |code| given.option(code).is_some() == opt.option(code).is_some();
    must(both(OPTION_SUBNET), "a client subnet comes back in every answer (RFC 7871 7.2.1)")?;
    must(both(OPTION_NSID), "who asks for the NSID gets it (RFC 5001 2.2)")?;
    must(both(OPTION_COOKIE), "who sends a cookie gets one (RFC 7873 5.2)")?;
    must(
        transport == Transport::Udp || both(OPTION_KEEPALIVE),
        "keepalive is answered over TCP (RFC 7828 3.3.2)",
    )
}

fn option(
    code: u16,
    data: &[u8],
    asked_for: Option<&[u8]>,
    answer: &Answer<'_>,
    transport: Transport,
) -> Result<(), Illegal> {
    let is_legal = match (code, asked_for) {
        (OPTION_SUBNET, Some(sent)) => subnet(data, sent, answer),
        (OPTION_NSID, Some(_)) => data == NSID,
        (OPTION_COOKIE, Some(sent)) => data.len() == 24 && sent.get(..8) == data.get(..8),
        (OPTION_KEEPALIVE, Some(_)) => transport == Transport::Tcp && data == IDLE_100MS,
        (OPTION_EXTENDED_ERROR, _) => data.len() >= 2 && answer.rcode() != NOERROR,
        _ => false,
    };
    must(is_legal, "an option answers one of the query's, in its RFC's form")
}

/// Echoed but for the scope, which is no longer than an address; 0 for "use none" and for what depends on no place.
fn subnet(data: &[u8], sent: &[u8], answer: &Answer<'_>) -> bool {
    let ([f0, family, source, scope, address @ ..], [s0, s1, s2, 0, sent @ ..]) = (data, sent) else {
        return false;
    };
    let bits = if *family == 1 { 32 } else { 128 };
    let depends = matches!(answer.rcode(), NOERROR | SERVFAIL) && *source > 0;
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
