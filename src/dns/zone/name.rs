//! Names between their written and their wire form (RFC 1035 3.1, 5.1; RFC 4343 for the case).

use std::fmt;

/// A name in uncompressed wire form, ending in the root's zero byte.
pub(super) type Name = Box<[u8]>;

/// Longest name in wire form, in bytes (RFC 1035 2.3.4).
pub(super) const MAX_NAME_LEN: usize = 255;
/// Longest label, in bytes.
const MAX_LABEL_LEN: usize = 63;
/// The root's wire form.
pub(super) const ROOT: &[u8] = &[0];
/// What a wildcard's wire form begins with (RFC 4592 2.1.1).
pub(super) const WILDCARD_PREFIX: &[u8] = b"\x01*";

/// Why a text is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameError {
    Empty,
    EmptyLabel,
    LongLabel,
    LongName,
    NotAscii,
    BadEscape,
}

impl NameError {
    /// What is wrong, as the end of "… is no name: ".
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::EmptyLabel => "two dots leave an empty label",
            Self::LongLabel => "a label is longer than 63 bytes",
            Self::LongName => "it is longer than 255 bytes",
            Self::NotAscii => "it has letters outside ASCII",
            Self::BadEscape => "a backslash escapes nothing",
        }
    }

    /// How to mend it; may be empty.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::NotAscii => "write the xn-- form of an internationalised name",
            Self::LongName => "a name without a final dot is completed with the origin",
            _ => "",
        }
    }
}

/// Reads a written name, keeping its letter case; without a final dot it is completed with `origin`. `@` is not
/// special here.
pub(super) fn parse(text: &str, origin: &[u8]) -> Result<Name, NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text == "." {
        return Ok(ROOT.into());
    }
    let mut wire = vec![0];
    let mut label_at = 0;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let octet = match byte {
            b'.' => {
                end_label(&mut wire, label_at)?;
                label_at = wire.len();
                wire.push(0);
                continue;
            }
            b'\\' => unescape(&mut bytes)?,
            _ if byte.is_ascii() => byte,
            _ => return Err(NameError::NotAscii),
        };
        wire.push(octet);
    }
    if wire.len() == label_at + 1 {
        // The text ended in a dot; its zero byte, just pushed, is the root.
    } else {
        end_label(&mut wire, label_at)?;
        wire.extend_from_slice(origin);
    }
    if wire.len() > MAX_NAME_LEN { Err(NameError::LongName) } else { Ok(wire.into()) }
}

/// Writes the length of the label that begins at `label_at` and ends here.
fn end_label(wire: &mut [u8], label_at: usize) -> Result<(), NameError> {
    let len = wire.len() - label_at - 1;
    match len {
        0 => Err(NameError::EmptyLabel),
        1..=MAX_LABEL_LEN => {
            if let Some(length) = wire.get_mut(label_at) {
                *length = len as u8;
            }
            Ok(())
        }
        _ => Err(NameError::LongLabel),
    }
}

/// Reads what follows a backslash: three decimal digits, or any other character.
fn unescape(bytes: &mut impl Iterator<Item = u8>) -> Result<u8, NameError> {
    let first = bytes.next().ok_or(NameError::BadEscape)?;
    if !first.is_ascii_digit() {
        return if first.is_ascii() { Ok(first) } else { Err(NameError::NotAscii) };
    }
    let mut value = u32::from(first - b'0');
    for _ in 0..2 {
        let digit = bytes.next().filter(u8::is_ascii_digit).ok_or(NameError::BadEscape)?;
        value = value * 10 + u32::from(digit - b'0');
    }
    u8::try_from(value).map_err(|_| NameError::BadEscape)
}

/// A wire name as it is written, without the final dot (the root: `.`).
pub(super) struct Written<'n>(pub(super) &'n [u8]);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.first().is_none_or(|&len| len == 0) {
            return f.write_str(".");
        }
        for (position, label) in labels(self.0).enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            for &byte in label {
                match byte {
                    b'.' | b'\\' | b'"' | b';' | b'(' | b')' | b'@' | b'$' => {
                        write!(f, "\\{}", char::from(byte))
                    }
                    0x21..=0x7e => write!(f, "{}", char::from(byte)),
                    _ => write!(f, "\\{byte:03}"),
                }?;
            }
        }
        Ok(())
    }
}

/// The labels, from the left, without the root.
pub(super) fn labels(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    ancestors(name).filter_map(|at| {
        let (&len, rest) = at.split_first()?;
        rest.get(..usize::from(len)).filter(|label| !label.is_empty())
    })
}

/// Length of the uncompressed name that `data` begins with; `None` when it begins with none.
pub(super) fn wire_len(data: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let len = usize::from(*data.get(at)?);
        at += 1 + len;
        if len > MAX_LABEL_LEN || at > MAX_NAME_LEN {
            return None;
        }
        if len == 0 {
            return Some(at);
        }
    }
}

/// The name itself, then each name above it, to the root. Ends early on bytes that are no name.
pub(super) fn ancestors(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut next = Some(name).filter(|name| !name.is_empty());
    std::iter::from_fn(move || {
        let here = next?;
        next = parent(here);
        Some(here)
    })
}

/// The name without its first label; `None` for the root.
pub(super) fn parent(name: &[u8]) -> Option<&[u8]> {
    let len = usize::from(*name.first()?);
    if len == 0 { None } else { name.get(len + 1..).filter(|rest| !rest.is_empty()) }
}

/// Whether `name` is `ancestor` or lies below it. Both in lower case.
pub(super) fn is_at_or_below(name: &[u8], ancestor: &[u8]) -> bool {
    ancestors(name).find(|at| at.len() <= ancestor.len()).is_some_and(|at| at == ancestor)
}

/// Whether the name's first label is an asterisk alone.
pub(super) fn is_wildcard(name: &[u8]) -> bool {
    name.starts_with(WILDCARD_PREFIX)
}
