//! Referrals: the NS records of a zone cut, with glue (RFC 1034 4.3.2 step 3b, RFC 9471).

use super::reply::{Full, Reply, Section, pointer};
use super::zone::Cut;

/// Type, class, TTL and length of a record.
const TAIL_HEAD_LEN: usize = 10;

/// Name servers whose names are remembered for compression; thirteen is as many as anybody has.
const MAX_ANCHORS: usize = 16;

/// Writes the referral; the cut's name is the end of `name`, which stands at `at` of the message.
///
/// Glue at or below the cut that does not fit sets TC, for without it the servers may not be found (RFC 9471 3.1); then
/// none is left, so that no RRset is half there. Other glue is left out in silence.
pub(super) fn write(reply: &mut Reply<'_>, cut: &Cut, name: &[u8], at: usize) -> Result<(), Full> {
    let prefix_len = name.len().saturating_sub(cut.owner_len);
    let owner = at + prefix_len;
    let mut names = Anchors::new(name.get(prefix_len..).unwrap_or_default(), owner);
    for ns in &cut.ns {
        let Some((head, target)) = ns.split_at_checked(TAIL_HEAD_LEN) else { continue };
        put_ns(reply, owner, head, target, &mut names)?;
    }
    let bare = reply.mark();
    let (required, others) = cut.glue.split_at_checked(cut.glue_required).unwrap_or((&cut.glue, &[]));
    if required.iter().try_for_each(|glue| put_glue(reply, glue, &names)).is_err() {
        reply.rewind(bare);
        reply.mark_truncated();
        return Ok(());
    }
    let complete = reply.mark();
    if others.iter().try_for_each(|glue| put_glue(reply, glue, &names)).is_err() {
        reply.rewind(complete);
    }
    Ok(())
}

fn put_ns<'c>(
    reply: &mut Reply<'_>,
    owner: usize,
    head: &[u8],
    target: &'c [u8],
    names: &mut Anchors<'c>,
) -> Result<(), Full> {
    let (plain, end) = names.compress(target);
    let data_len = plain.len() + end.map_or(0, |_| 2);
    reply.put(&pointer(owner))?;
    reply.put(head.get(..TAIL_HEAD_LEN - 2).unwrap_or_default())?;
    reply.put(&(data_len as u16).to_be_bytes())?; // no longer than the name
    names.add(target, reply.len());
    reply.put(plain)?;
    if let Some(end) = end {
        reply.put(&pointer(end))?;
    }
    reply.count(Section::Authority, 1);
    Ok(())
}

fn put_glue(reply: &mut Reply<'_>, glue: &[u8], names: &Anchors<'_>) -> Result<(), Full> {
    let owner_len = labels(glue).last().map_or(0, |(at, _)| at + 1);
    let Some((owner, tail)) = glue.split_at_checked(owner_len) else { return Ok(()) };
    let (plain, end) = names.compress(owner);
    reply.put(plain)?;
    if let Some(end) = end {
        reply.put(&pointer(end))?;
    }
    reply.put(tail)?;
    reply.count(Section::Additional, 1);
    Ok(())
}

/// Names that stand in the message, with their places.
struct Anchors<'c> {
    known: [(&'c [u8], usize); MAX_ANCHORS],
    len: usize,
}

impl<'c> Anchors<'c> {
    fn new(name: &'c [u8], at: usize) -> Self {
        let mut anchors = Self { known: [(&[], 0); MAX_ANCHORS], len: 0 };
        anchors.add(name, at);
        anchors
    }

    fn add(&mut self, name: &'c [u8], at: usize) {
        if let Some(free) = self.known.get_mut(self.len) {
            *free = (name, at);
            self.len += 1;
        }
    }

    /// Splits a name into the labels to be written and the place that the rest is at; `None`: nothing of it is known.
    fn compress<'n>(&self, name: &'n [u8]) -> (&'n [u8], Option<usize>) {
        let known = self.known.get(..self.len).unwrap_or_default();
        for (at, len) in labels(name) {
            let rest = name.get(at..).unwrap_or_default();
            let place = known.iter().find(|(there, _)| len > 0 && is_same(there, rest));
            if let Some(&(_, place)) = place {
                return (name.get(..at).unwrap_or_default(), Some(place));
            }
        }
        (name, None)
    }
}

/// Whether two names are one, in any letter case. Stops at the first difference: most names differ in their first label.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.eq_ignore_ascii_case(b))
}

/// Where the labels of a name begin, with their lengths; the root's comes last.
fn labels(name: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let at = next?;
        let len = *name.get(at)?;
        next = (len != 0).then_some(at + 1 + usize::from(len));
        Some((at, len))
    })
}
