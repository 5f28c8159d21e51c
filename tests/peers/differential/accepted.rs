//! Where Waypost differs from both peers, and why that is right.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Case;

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

const TYPE_HINFO: u16 = 13;
const TYPE_ANY: u16 = 255;
const CLASS_ANY: u16 = 255;
const REFUSED: u16 = 5;

/// The whole list.
pub(super) fn list() -> Vec<Accepted> {
    vec![
        Accepted::new("ANY is answered with HINFO alone (RFC 8482 4.2)", |case| {
            case.query.qtype == TYPE_ANY && case.waypost.answer.keys().any(|(_, rtype, ..)| *rtype == TYPE_HINFO)
        }),
        Accepted::new("class ANY is refused: no answer to it could be authoritative (RFC 1035 6.2)", |case| {
            case.query.qclass == CLASS_ANY && case.waypost.rcode == REFUSED && case.waypost.is_empty()
        }),
        Accepted::new("an alias is followed into another zone that is loaded (RFC 1034 4.3.2 step 3a)", |case| {
            case.resolved.as_ref() == Some(case.waypost)
        }),
    ]
}
