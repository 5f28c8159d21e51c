//! Where Waypost differs from both peers, and why that is right.

use std::sync::atomic::{AtomicUsize, Ordering};

use waypost::dns::lookup::MAX_ALIASES;

use super::answer::Answer;
use super::{Case, is_special_to_knot};

const TYPE_HINFO: u16 = 13;
const TYPE_IXFR: u16 = 251;
const TYPE_AXFR: u16 = 252;
const TYPE_ANY: u16 = 255;
const CLASS_ANY: u16 = 255;
const REFUSED: u16 = 5;
const YXDOMAIN: u16 = 6;

/// An accepted difference.
pub(super) struct Accepted {
    /// What is different, and by which section of which RFC.
    pub(super) what: &'static str,
    /// Whether it explains this case, whole.
    explains: fn(&Case<'_>) -> bool,
    used: AtomicUsize,
}

impl Accepted {
    const fn new(what: &'static str, explains: fn(&Case<'_>) -> bool) -> Self {
        Self { what, explains, used: AtomicUsize::new(0) }
    }

    /// Whether it explains this case; counted.
    pub(super) fn explains(&self, case: &Case<'_>) -> bool {
        let explained = (self.explains)(case);
        if explained {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        explained
    }

    /// How many cases it has explained.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// The whole list.
pub(super) fn list() -> Vec<Accepted> {
    vec![
        Accepted::new("ANY is answered with HINFO alone (RFC 8482 4.2)", |case| {
            case.query.qtype == TYPE_ANY
                && case.waypost.answer.keys().any(|(_, rtype, ..)| *rtype == TYPE_HINFO)
        }),
        Accepted::new(
            "class ANY is refused: no answer to it could be authoritative (RFC 1035 6.2)",
            |case| case.query.qclass == CLASS_ANY && case.waypost.rcode == REFUSED && case.waypost.is_empty(),
        ),
        Accepted::new("transfers are refused, whatever the name (RFC 5936 2.2.1)", |case| {
            let is_transfer = matches!(case.query.qtype, TYPE_IXFR | TYPE_AXFR);
            is_transfer && case.waypost.rcode == REFUSED && case.waypost.is_empty()
        }),
        Accepted::new(
            "an alias is followed sixteen times, NSD and Knot stop earlier (RFC 1034 3.6.2)",
            |case| {
                case.waypost.aliases() == MAX_ALIASES + 1
                    && case.waypost.rcode == 0
                    && case.waypost.authority.is_empty()
                    && case.knot.answer.iter().all(|(key, data)| case.waypost.answer.get(key) == Some(data))
            },
        ),
        Accepted::new(
            "a chain whose next name is too long is YXDOMAIN, and ends there (RFC 6672 2.2)",
            |case| {
                let resolved = case.resolved.as_ref().filter(|resolved| resolved.rcode == YXDOMAIN);
                case.waypost.rcode == YXDOMAIN
                    && resolved.is_some_and(|resolved| {
                        case.waypost.answer.iter().all(|(key, data)| resolved.answer.get(key) == Some(data))
                    })
            },
        ),
        Accepted::new(
            "a wildcard below a cut gives no glue: delegation cancels it (RFC 1034 4.3.3)",
            |case| {
                let peer = case.resolved.as_ref().unwrap_or(case.knot);
                let glue = &case.waypost.glue;
                let mut more = peer.glue.iter().filter(|(key, data)| glue.get(key) != Some(data));
                peer.glue != *glue
                    && Answer { glue: glue.clone(), ..peer.clone() } == *case.waypost
                    && more.all(|((owner, ..), _)| case.world.has_occluded_wildcard_for(owner))
            },
        ),
        Accepted::new("type 0, RRSIG and NSEC are as absent as any other type (RFC 8906 3.1.2)", |case| {
            is_special_to_knot(case.query.qtype, case.knot) && case.resolved.as_ref() == Some(case.waypost)
        }),
        Accepted::new(
            "an alias is followed into another zone that is loaded (RFC 1034 4.3.2 step 3a)",
            |case| {
                !is_special_to_knot(case.query.qtype, case.knot)
                    && case.resolved.as_ref() == Some(case.waypost)
            },
        ),
    ]
}
