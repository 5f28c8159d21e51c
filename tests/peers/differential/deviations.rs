//! Where one peer is alone with its answer: what it does, and by which section of which RFC the other and Waypost are
//! right.

use std::collections::BTreeSet;

use super::answer::{Answer, SetKey, Sets, contains};
use super::reasons::Reason;

const TYPE_SOA: u16 = 6;
const TYPE_DS: u16 = 43;
const TYPE_SVCB: u16 = 64;
const TYPE_HTTPS: u16 = 65;
const TYPE_IXFR: u16 = 251;
const NXDOMAIN: u16 = 3;
const NOTIMP: u16 = 4;
const REFUSED: u16 = 5;
const YXDOMAIN: u16 = 6;
const NOTAUTH: u16 = 9;

/// Bytes between a record's owner and its data.
const RECORD_HEAD_LEN: usize = 10;

/// What NSD does that Knot and Waypost do not.
pub(super) fn of_nsd() -> Vec<Reason> {
    vec![
        Reason::new(
            "NSD turns targets of SVCB and HTTPS to lower case; letter case is preserved (RFC 4343 4.1)",
            |case| {
                let folded = |sets: &Sets| {
                    sets.iter().map(|(key, data)| (key.clone(), fold_target(key.1, data))).collect()
                };
                Answer { answer: folded(&case.waypost.answer), ..case.waypost.clone() } == *case.nsd
            },
        ),
        Reason::new(
            "NSD keeps all zones in one tree: below a cut, names of the zone above it exist and hide the wildcards of the \
             zone at the cut, which alone has authority there (RFC 1034 4.2.1, 4.3.2 step 2)",
            |case| {
                let end = case.nsd.end_of_chain(&case.query.name.lower());
                case.world.is_beside_hidden(&end)
                    && is_negative(case.nsd)
                    && case.nsd.authoritative == case.waypost.authoritative
                    && case.nsd.opt == case.waypost.opt
                    && contains(&case.waypost.answer, &case.nsd.answer)
            },
        ),
        Reason::new(
            "NSD ends a chain whose next name is too long with NOERROR; it is YXDOMAIN (RFC 6672 2.2)",
            |case| {
                case.waypost.rcode == YXDOMAIN
                    && case.waypost.outgrows(&case.query.name)
                    && case.nsd.rcode == 0
                    && case.nsd.authority.is_empty()
                    && contains(&case.waypost.answer, &case.nsd.answer)
            },
        ),
        Reason::new("NSD leaves out glue that does not fit without TC (RFC 9471 3.1)", |case| {
            let glue = &case.waypost.glue;
            let missing = glue.iter().filter(|(key, _)| !case.nsd.glue.contains_key(key));
            !fits(missing, case.room.nsd)
                && contains(glue, &case.nsd.glue)
                && Answer { glue: case.nsd.glue.clone(), ..case.waypost.clone() } == *case.nsd
        }),
    ]
}

/// What Knot does that NSD and Waypost do not.
pub(super) fn of_knot() -> Vec<Reason> {
    vec![
        Reason::new(
            "Knot knows no alias for RRSIG and NSEC: it looks for them beside it, where no unsigned zone has any (RFC 1034 \
             4.3.2 step 3a)",
            |case| {
                case.knot.rcode != NOTIMP
                    && case.is_special_to_knot()
                    && case.resolved.as_ref() == Some(case.waypost)
            },
        ),
        Reason::new(
            "Knot answers some types with NOTIMP; they are as absent as any other type (RFC 8906 3.1.2)",
            |case| {
                case.knot.rcode == NOTIMP
                    && case.knot.is_empty()
                    && case.resolved.as_ref() == Some(case.waypost)
            },
        ),
        Reason::new(
            "Knot denies authority for a zone that it has when it is to transfer it; that is REFUSED (RFC 5936 2.2.1)",
            |case| {
                case.query.qtype == TYPE_IXFR
                    && case.world.apexes.contains(&case.query.name.lower())
                    && (case.knot.rcode, case.waypost.rcode) == (NOTAUTH, REFUSED)
                    && case.knot.is_empty()
                    && case.waypost.is_empty()
            },
        ),
        Reason::new(
            "Knot says of an alias to an apex that the zone itself has no DS; the zone above has them (RFC 4035 3.1.4.1)",
            |case| {
                let end = case.knot.end_of_chain(&case.query.name.lower());
                case.query.qtype == TYPE_DS
                    && case.world.apexes.contains(&end)
                    && case.world.zone_of(&end) == case.world.zone_of(&case.query.name)
                    && case.resolved.as_ref() == Some(case.waypost)
            },
        ),
        Reason::new("Knot follows no alias into another zone that it has (RFC 1034 4.3.2 step 3a)", |case| {
            let end = case.knot.end_of_chain(&case.query.name.lower());
            case.world.zone_of(&end) != case.world.zone_of(&case.query.name)
                && case.resolved.as_ref() == Some(case.waypost)
        }),
        Reason::new(
            "Knot goes on at a DNAME's target where the name made of it is too long: that is the end (RFC 6672 2.2)",
            |case| {
                let knot = case.knot_at_last();
                case.waypost.rcode == YXDOMAIN
                    && case.waypost.outgrows(&case.query.name)
                    && matches!(knot.rcode, 0 | NXDOMAIN | YXDOMAIN)
                    && contains(&knot.answer, &case.waypost.answer)
            },
        ),
        Reason::new(
            "Knot leaves out the SOA of a negative answer that does not fit without TC (RFC 2308 3, RFC 2181 9)",
            |case| {
                !fits(&case.waypost.authority, case.room.knot)
                    && is_negative(case.waypost)
                    && Answer { authority: Sets::new(), ..case.waypost.clone() } == *case.knot
            },
        ),
    ]
}

/// Whether it says, of the last name of its chain, that there is nothing: the authority section is one SOA record.
fn is_negative(answer: &Answer) -> bool {
    let mut authority = answer.authority.iter();
    matches!((authority.next(), authority.next()), (Some(((_, TYPE_SOA, ..), data)), None) if data.len() == 1)
        && matches!(answer.rcode, 0 | NXDOMAIN)
        && answer.glue.is_empty()
}

/// Whether an answer with so much room would have held these, even with their owners written out; none is left where it
/// said that it is not whole.
fn fits<'s>(
    sets: impl IntoIterator<Item = (&'s SetKey, &'s BTreeSet<Vec<u8>>)>,
    room: Option<usize>,
) -> bool {
    let records = sets.into_iter().flat_map(|((owner, ..), data)| data.iter().map(move |data| (owner, data)));
    let len: usize = records.map(|(owner, data)| owner.0.len() + RECORD_HEAD_LEN + data.len()).sum();
    room.is_none_or(|room| len <= room)
}

/// Record data of which the target, where the type is one that NSD folds, is in lower case.
fn fold_target(rtype: u16, data: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let fold = |data: &Vec<u8>| {
        let mut data = data.clone();
        if matches!(rtype, TYPE_SVCB | TYPE_HTTPS) {
            // Behind the priority; the lengths of labels are below the letters.
            let mut end = 2;
            while let Some(len @ 1..) = data.get(end) {
                end += 1 + usize::from(*len);
            }
            data[2..end].make_ascii_lowercase();
        }
        data
    };
    data.iter().map(fold).collect()
}
