//! What a server says about itself, in class CHAOS: `id.server` (RFC 4892) and the names that came before it.

use super::Chaos;
use super::extended::ExtendedError;
use super::reply::{Full, Reply, Section};
use super::wire::{HEADER_LEN, Question, Rcode};

/// Class CHAOS (RFC 1035 3.2.4).
pub(super) const CLASS: u16 = 3;

const TYPE_TXT: u16 = 16;
const TYPE_ANY: u16 = 255;

/// Answers the question; whatever the operator did not set is refused, so that nobody learns that the name is known.
/// A type that is not there gets an empty answer without SOA: there is no zone.
pub(super) fn answer(reply: &mut Reply<'_>, chaos: &Chaos, question: &Question<'_>) -> Result<(), Full> {
    let text: &[u8] = match question.name {
        b"\x02id\x06server\0" | b"\x08hostname\x04bind\0" => &chaos.id,
        b"\x07version\x06server\0" | b"\x07version\x04bind\0" => &chaos.version,
        _ => &[],
    };
    let Ok(len @ 1..) = u8::try_from(text.len()) else {
        reply.fail(Rcode::Refused, Some(ExtendedError::NotAuthoritative));
        return Ok(());
    };
    reply.authoritative = true;
    if !matches!(question.qtype, TYPE_TXT | TYPE_ANY) {
        return Ok(());
    }
    let [d0, d1] = (u16::from(len) + 1).to_be_bytes();
    // A TTL of 0: the next query may reach another server of the set.
    reply.put_record(
        Section::Answer,
        HEADER_LEN,
        &[0, TYPE_TXT as u8, 0, CLASS as u8, 0, 0, 0, 0, d0, d1, len],
    )?;
    reply.put(text)
}
