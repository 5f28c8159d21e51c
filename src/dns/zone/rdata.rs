//! Record data: what stands behind the type of an entry, to wire form.
//!
//! ```text
//! layout   which fields a type has; one table serves both directions
//! reader   tokens to bytes, field by field
//! checker  whether bytes are data of a type
//! ```
//!
//! Every type with a row in the table has its text form, and every type the generic one (RFC 3597 5). Whatever was
//! read is checked in its wire form before it is believed: that is also what makes the generic form of a known type
//! safe. A type without a row takes the generic form alone, since guessed bytes would be worse than a message.

mod checker;
mod decimal;
mod encodings;
pub(super) mod layout;
mod location;
mod params;
mod prefixes;
mod reader;

use domain::base::iana::Rtype;

use self::layout::Field;
use self::reader::Reader;
use super::name;
use super::text::{Fault, Spot, Token};

pub(super) use self::params::keys as svc_param_keys;
pub(super) use self::reader::octets;

/// Encodes the data of one record of type `rtype`: `tokens` is what follows the type, which stands at `spot`.
pub(super) fn encode(
    rtype: Rtype,
    tokens: &[Token<'_>],
    origin: &[u8],
    spot: Spot,
) -> Result<Vec<u8>, Fault> {
    let fields = layout::fields(rtype);
    let reader = Reader::new(rtype, tokens, origin, spot);
    let data = match (tokens.first(), fields) {
        // A list of prefixes may have none (RFC 3123 4).
        (None, Some([Field::Prefixes])) => Vec::new(),
        (None, _) => return Err(fault(rtype, spot, "it has no data")),
        (Some(first), _) if !first.quoted && first.raw == "\\#" => reader.generic()?,
        (Some(first), None) => {
            return Err(fault(rtype, first.spot, "only its generic form is understood: \\# LENGTH HEX"));
        }
        (Some(_), Some(fields)) => reader.fields(fields)?,
    };
    if u16::try_from(data.len()).is_err() {
        return Err(fault(rtype, spot, "its data is longer than 65535 bytes"));
    }
    if fields.is_some_and(|fields| !checker::holds(fields, &data)) {
        return Err(fault(rtype, spot, "its data is malformed"));
    }
    if let Some((due, len)) = checker::digest_lens(rtype, &data).filter(|(due, len)| due != len) {
        let why = format!("a digest of its kind has {due} bytes, not {len}");
        return Err(fault(rtype, spot, &why));
    }
    Ok(data)
}

/// Whether the data is any number of texts.
pub(super) fn takes_texts(rtype: Rtype) -> bool {
    matches!(layout::fields(rtype), Some([Field::Texts]))
}

/// Where the name begins that a record of this type points to, in its data.
pub(super) const fn target_offset(rtype: Rtype) -> Option<usize> {
    match rtype {
        Rtype::NS | Rtype::CNAME | Rtype::DNAME | Rtype::PTR => Some(0),
        Rtype::MX | Rtype::SVCB | Rtype::HTTPS => Some(2),
        Rtype::SRV => Some(6),
        _ => None,
    }
}

/// The name that the record points to, in lower case.
pub(super) fn target(rtype: Rtype, data: &[u8]) -> Option<name::Name> {
    let from = data.get(target_offset(rtype)?..)?;
    let name = from.get(..name::wire_len(from)?)?;
    Some(name.to_ascii_lowercase().into())
}

/// The priority of SVCB data: 0 is AliasMode (RFC 9460 2.4.1).
pub(super) fn svc_priority(data: &[u8]) -> u16 {
    data.first_chunk::<2>().map_or(0, |priority| u16::from_be_bytes(*priority))
}

/// Reads a token as a name, keeping its letter case; `@` is the origin.
pub(super) fn read_name(token: &Token<'_>, origin: &[u8]) -> Result<name::Name, Fault> {
    if token.raw == "@" && !token.quoted {
        return Ok(origin.into());
    }
    name::parse(token.raw, origin).map_err(|error| {
        Fault::new(token.spot, format!("`{}` is no name: {}", token.excerpt(), error.text()), error.hint())
    })
}

/// What is wrong with a record, and how its type is written.
fn fault(rtype: Rtype, spot: Spot, why: &str) -> Fault {
    let form = layout::form(rtype);
    let hint = if form.is_empty() { String::new() } else { format!("it takes {form}") };
    Fault::new(spot, format!("bad {rtype} record: {why}"), hint)
}
