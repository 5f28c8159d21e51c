//! Where Waypost differs from both peers, and why that is right.

use waypost::dns::lookup::MAX_ALIASES;

use super::answer::{Answer, contains};
use super::case::Case;
use super::reasons::Reason;

const TYPE_CNAME: u16 = 5;
const TYPE_HINFO: u16 = 13;
const TYPE_DNAME: u16 = 39;
const TYPE_IXFR: u16 = 251;
const TYPE_AXFR: u16 = 252;
const TYPE_ANY: u16 = 255;
const CLASS_IN: u16 = 1;
const CLASS_ANY: u16 = 255;
const REFUSED: u16 = 5;
const YXDOMAIN: u16 = 6;

/// The data of the record that stands for all others (RFC 8482 4.2).
const MINIMAL_ANY: &[u8] = b"\x07RFC8482\x00";

/// The whole list.
pub(super) fn list() -> Vec<Reason> {
    vec![
        Reason::new(
            "ANY is answered with one RRset: the alias, else HINFO (RFC 8482 4.1, 4.2)",
            is_minimal_any,
        ),
        Reason::new("class ANY is refused: no answer to it could be authoritative (RFC 1035 6.2)", |case| {
            case.query.qclass == CLASS_ANY && case.waypost.rcode == REFUSED && case.waypost.is_empty()
        }),
        Reason::new("transfers are refused, whatever the name (RFC 5936 2.2.1)", |case| {
            let is_transfer = matches!(case.query.qtype, TYPE_IXFR | TYPE_AXFR);
            is_transfer && case.waypost.rcode == REFUSED && case.waypost.is_empty()
        }),
        Reason::new(
            "an alias is followed sixteen times, NSD and Knot stop earlier (RFC 1034 3.6.2)",
            |case| {
                case.waypost.aliases() == MAX_ALIASES + 1
                    && case.waypost.rcode == 0
                    && case.waypost.authority.is_empty()
                    && contains(&case.waypost.answer, &case.knot.answer)
            },
        ),
        Reason::new(
            "a chain whose next name is too long is YXDOMAIN, and ends there (RFC 6672 2.2)",
            |case| {
                let resolved = case.resolved.as_ref().filter(|resolved| resolved.rcode == YXDOMAIN);
                case.waypost.rcode == YXDOMAIN
                    && resolved.is_some_and(|resolved| contains(&resolved.answer, &case.waypost.answer))
            },
        ),
        Reason::new("a wildcard below a cut gives no glue: delegation cancels it (RFC 1034 4.3.3)", |case| {
            let peer = case.knot_at_last();
            let glue = &case.waypost.glue;
            let mut more = peer.glue.iter().filter(|(key, data)| glue.get(key) != Some(data));
            peer.glue != *glue
                && Answer { glue: glue.clone(), ..peer.clone() } == *case.waypost
                && more.all(|((owner, ..), _)| case.world.has_occluded_wildcard_for(owner))
        }),
        Reason::new("type 0, RRSIG and NSEC are as absent as any other type (RFC 8906 3.1.2)", |case| {
            case.is_special_to_knot() && case.resolved.as_ref() == Some(case.waypost)
        }),
        Reason::new(
            "an alias is followed into another zone that is loaded (RFC 1034 4.3.2 step 3a)",
            |case| !case.is_special_to_knot() && case.resolved.as_ref() == Some(case.waypost),
        ),
    ]
}

/// An authoritative answer of one RRset at the name asked for, or at the end of the aliases that DNAMEs make of it: the
/// CNAME RRset where a peer shows one there, else one HINFO record.
fn is_minimal_any(case: &Case<'_>) -> bool {
    let ours = case.waypost;
    let is_plain = ours.rcode == 0 && ours.authoritative && ours.authority.is_empty() && ours.glue.is_empty();
    if case.query.qtype != TYPE_ANY || case.query.qclass != CLASS_IN || !is_plain {
        return false;
    }
    let peers = || [Some(case.nsd), Some(case.knot), case.resolved.as_ref()].into_iter().flatten();
    let is_known = |key, data| peers().any(|peer| peer.answer.get(key) == Some(data));
    let mut others = ours.answer.iter().filter(|((_, rtype, ..), _)| *rtype != TYPE_HINFO);
    let mut minimal = ours.answer.iter().filter(|((_, rtype, ..), _)| *rtype == TYPE_HINFO);
    let is_one = match (minimal.next(), minimal.next()) {
        (None, _) => {
            ours.answer
                .keys()
                .filter(|(owner, rtype, ..)| *rtype == TYPE_CNAME && !is_made(ours, owner))
                .count()
                == 1
        }
        (Some(((owner, _, class, _), data)), None) => {
            let holds_alias = peers()
                .flat_map(|peer| peer.answer.keys())
                .any(|(other, rtype, ..)| *rtype == TYPE_CNAME && other == owner);
            *owner == ours.end_of_chain(&case.query.name.lower())
                && *class == CLASS_IN
                && data.iter().eq([MINIMAL_ANY])
                && ours.answer.keys().all(|(owner, rtype, ..)| *rtype != TYPE_CNAME || is_made(ours, owner))
                && !holds_alias
        }
        (Some(_), Some(_)) => false,
    };
    is_one && others.all(|(key, data)| is_known(key, data))
}

/// Whether an alias of that owner is one that a DNAME of the answer makes.
fn is_made(answer: &Answer, owner: &super::name::Name) -> bool {
    answer.answer.keys().any(|(above, rtype, ..)| *rtype == TYPE_DNAME && owner.is_below(above))
}
