//! Whether bytes are data of a type.

use domain::base::iana::Rtype;

use super::super::name;
use super::layout::Field;
use super::{decimal, location, params, prefixes};

/// Whether the bytes are these fields, whole, with names that are not compressed.
pub(super) fn holds(fields: &[Field], data: &[u8]) -> bool {
    let mut rest = data;
    let whole = fields.iter().try_for_each(|&field| {
        rest = pass(field, rest, data)?;
        Some(())
    });
    whole.is_some() && rest.is_empty()
}

/// What is behind a field that begins `rest`; `None` when it doesn't.
fn pass<'d>(field: Field, rest: &'d [u8], data: &[u8]) -> Option<&'d [u8]> {
    let skip = |len: usize| rest.get(len..);
    let end_if = |good: bool| good.then_some(&[][..]);
    match field {
        Field::U8 | Field::Code8(_) => skip(1),
        Field::U16 | Field::Code16(_) | Field::Type => skip(2),
        Field::U32 | Field::Seconds | Field::Time | Field::Ipv4 => skip(4),
        Field::Ipv6 => skip(16),
        Field::Groups => skip(8),
        Field::Eui(len) => skip(len),
        Field::Name => skip(name::wire_len(rest)?),
        Field::Text | Field::Salt => skip(1 + usize::from(*rest.first()?)),
        Field::Decimal(most) => {
            let (&len, tail) = rest.split_first()?;
            let (number, behind) = tail.split_at_checked(usize::from(len))?;
            decimal::holds(number, most).then_some(behind)
        }
        Field::NextHash => skip(1 + usize::from(*rest.first().filter(|&&len| len > 0)?)),
        Field::Tag => {
            let (&len, tail) = rest.split_first()?;
            let (tag, behind) = tail.split_at_checked(usize::from(len))?;
            (len > 0 && tag.iter().all(u8::is_ascii_alphanumeric)).then_some(behind)
        }
        Field::Texts => {
            let mut texts = rest;
            while let Some((&len, tail)) = texts.split_first() {
                texts = tail.get(usize::from(len)..)?;
            }
            end_if(!rest.is_empty())
        }
        Field::Rest => end_if(true),
        Field::Hex | Field::Base64 | Field::Target => end_if(!rest.is_empty()),
        Field::Types => end_if(is_bitmap(rest)),
        Field::Gateway => end_if(is_gateway(rest, data)),
        Field::Params => end_if(params::hold(rest)),
        Field::Location => end_if(location::holds(rest)),
        Field::Prefixes => end_if(prefixes::hold(rest)),
    }
}

/// Windows in ascending order, each without zero bytes at its end (RFC 4034 4.1.2).
fn is_bitmap(data: &[u8]) -> bool {
    let (mut rest, mut last) = (data, None);
    while let [window, len, tail @ ..] = rest {
        let Some((bitmap, behind)) = tail.split_at_checked(usize::from(*len)) else { return false };
        if last >= Some(*window) || !(1..=32).contains(len) || bitmap.last() == Some(&0) {
            return false;
        }
        (rest, last) = (behind, Some(*window));
    }
    rest.is_empty()
}

fn is_gateway(rest: &[u8], data: &[u8]) -> bool {
    let [_, kind, algorithm, ..] = *data else { return false };
    let gateway_len = match kind {
        0 => Some(0),
        1 => Some(4),
        2 => Some(16),
        3 => name::wire_len(rest),
        _ => None,
    };
    let key = gateway_len.and_then(|len| rest.get(len..));
    key.is_some_and(|key| key.is_empty() == (algorithm == 0))
}

/// How many bytes the digest at the end of the data should have by its kind, and has.
pub(super) fn digest_lens(rtype: Rtype, data: &[u8]) -> Option<(usize, usize)> {
    let (kind_at, start) = match rtype {
        Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA => (3, 4),
        Rtype::SSHFP => (1, 2),
        Rtype::TLSA | Rtype::SMIMEA => (2, 3),
        Rtype::ZONEMD => (5, 6),
        _ => return None,
    };
    let due = match (rtype, *data.get(kind_at)?) {
        // RFC 4034 5.1.4, RFC 4509, RFC 6605, RFC 4255 3.1.2 and RFC 6594.
        (Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA | Rtype::SSHFP, 1) => 20,
        (Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA | Rtype::SSHFP, 2) => 32,
        (Rtype::DS | Rtype::CDS | Rtype::DLV | Rtype::TA, 4) => 48,
        // RFC 6698 2.1.3.
        (Rtype::TLSA | Rtype::SMIMEA, 1) => 32,
        (Rtype::TLSA | Rtype::SMIMEA, 2) => 64,
        // RFC 8976 5.3.
        (Rtype::ZONEMD, 1) => 48,
        (Rtype::ZONEMD, 2) => 64,
        _ => return None,
    };
    Some((due, data.get(start..)?.len()))
}
