//! Tokens to record data, field by field.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use domain::base::iana::Rtype;

use super::super::master::read_ttl;
use super::super::name::Name;
use super::super::text::{Fault, Spot, Token};
use super::encodings::{base32hex, base64, hex};
use super::layout::Codes;
use super::{Field, decimal, location, params, prefixes, read_name};

/// Longest text behind a length byte.
const MAX_TEXT_LEN: usize = 255;

/// Reads the data of one record.
pub(super) struct Reader<'a, 't> {
    rtype: Rtype,
    tokens: &'a [Token<'t>],
    at: usize,
    origin: &'a [u8],
    /// Where the type stands.
    spot: Spot,
    pub(super) data: Vec<u8>,
}

impl<'a, 't> Reader<'a, 't> {
    pub(super) fn new(rtype: Rtype, tokens: &'a [Token<'t>], origin: &'a [u8], spot: Spot) -> Self {
        Self { rtype, tokens, at: 0, origin, spot, data: Vec::new() }
    }

    /// Reads all fields, and nothing else.
    pub(super) fn fields(mut self, fields: &[Field]) -> Result<Vec<u8>, Fault> {
        for &field in fields {
            self.field(field)?;
        }
        self.end()
    }

    /// `\# length hex`, the digits in any number of words (RFC 3597 5).
    pub(super) fn generic(mut self) -> Result<Vec<u8>, Fault> {
        self.at = 1;
        let len = self.number(u64::from(u16::MAX))?;
        let mut spot = self.last_spot();
        let mut digits = String::new();
        while let Some(token) = self.maybe() {
            spot = token.spot;
            digits.push_str(token.raw);
        }
        self.data =
            hex(&digits).ok_or_else(|| self.fault(spot, "pairs of hexadecimal digits are expected here"))?;
        if self.data.len() as u64 != len {
            return Err(self.fault(spot, "the length in front of its data is wrong"));
        }
        self.end()
    }

    fn end(self) -> Result<Vec<u8>, Fault> {
        match self.tokens.get(self.at) {
            None => Ok(self.data),
            Some(extra) => Err(self.fault(extra.spot, "it ends here, but the line goes on")),
        }
    }

    fn field(&mut self, field: Field) -> Result<(), Fault> {
        match field {
            Field::U8 => self.code(&[], u64::from(u8::MAX), 1),
            Field::U16 => self.code(&[], u64::from(u16::MAX), 2),
            Field::U32 => self.code(&[], u64::from(u32::MAX), 4),
            Field::Code8(codes) => self.code(codes, u64::from(u8::MAX), 1),
            Field::Code16(codes) => self.code(codes, u64::from(u16::MAX), 2),
            Field::Seconds => {
                let seconds = read_ttl(&self.next()?)?;
                self.put(&seconds.to_be_bytes())
            }
            Field::Time => self.one(time, "a time is expected here: YYYYMMDDHHmmSS, or seconds since 1970"),
            Field::Type => self.one(record_type, "a record type is expected here"),
            Field::Name => {
                let name = self.name()?;
                self.put(&name)
            }
            Field::Ipv4 => self.one(ipv4, "an IPv4 address is expected here"),
            Field::Ipv6 => self.one(ipv6, "an IPv6 address is expected here"),
            Field::Text => self.text(),
            Field::Texts => {
                self.text()?;
                while self.peek().is_some() {
                    self.text()?;
                }
                Ok(())
            }
            Field::Decimal(most) => {
                let decimal = |raw: &str| Some(octets(raw)).filter(|text| decimal::holds(text, most));
                let number = self.parsed(decimal, &decimal::form(most))?;
                self.prefixed(&number)
            }
            Field::Tag => {
                let tag = self.parsed(tag, "a tag of letters and digits is expected here")?;
                self.prefixed(&tag)
            }
            Field::Rest => {
                let text = octets(self.next()?.raw);
                self.put(&text)
            }
            Field::Target => self.one(target, "a URI is expected here, not an empty text"),
            Field::Hex => self.joined(hex, "pairs of hexadecimal digits are expected here"),
            Field::Base64 => self.joined(base64, "Base64 is expected here, with its `=` at the end"),
            Field::Salt => {
                let salt = self.parsed(salt, "hexadecimal digits, or `-` for none, are expected here")?;
                self.prefixed(&salt)
            }
            Field::NextHash => {
                let hash = self.parsed(base32hex, "Base32 with the digits 0 to v is expected here")?;
                self.prefixed(&hash)
            }
            Field::Types => self.types(),
            Field::Eui(len) => {
                self.one(|raw| eui(raw, len), "pairs of hexadecimal digits with hyphens are expected here")
            }
            Field::Groups => self.one(groups, "four groups of four hexadecimal digits are expected here"),
            Field::Gateway => self.gateway(),
            Field::Params => params::read(self),
            Field::Location => location::read(self),
            Field::Prefixes => prefixes::read(self),
        }
    }

    /// What is wrong at a place.
    pub(super) fn fault(&self, spot: Spot, why: &str) -> Fault {
        super::fault(self.rtype, spot, why)
    }

    /// What is wrong at the token that was read last.
    pub(super) fn fault_here(&self, why: &str) -> Fault {
        self.fault(self.last_spot(), why)
    }

    fn last_spot(&self) -> Spot {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(self.spot, |token| token.spot)
    }

    /// The next token, if there is one.
    pub(super) fn maybe(&mut self) -> Option<Token<'t>> {
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    /// The next token without taking it.
    pub(super) fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Result<Token<'t>, Fault> {
        let spot = self.last_spot();
        self.maybe().ok_or_else(|| self.fault(spot, "something is missing at its end"))
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    /// The next token as `read` understands it.
    pub(super) fn parsed<T>(&mut self, read: impl Fn(&str) -> Option<T>, why: &str) -> Result<T, Fault> {
        let token = self.next()?;
        read(token.raw).ok_or_else(|| self.fault(token.spot, why))
    }

    /// The bytes of the next token as `read` understands it.
    fn one(&mut self, read: impl Fn(&str) -> Option<Vec<u8>>, why: &str) -> Result<(), Fault> {
        let bytes = self.parsed(read, why)?;
        self.put(&bytes)
    }

    /// A decimal number up to `max`.
    fn number(&mut self, max: u64) -> Result<u64, Fault> {
        let token = self.next()?;
        self.as_number(&token, max)
    }

    fn as_number(&self, token: &Token<'_>, max: u64) -> Result<u64, Fault> {
        if token.raw.is_empty() || !token.raw.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.fault(token.spot, "a number is expected here"));
        }
        let number = token.raw.parse().ok().filter(|&number| number <= max);
        number.ok_or_else(|| self.fault(token.spot, "the number is too large"))
    }

    /// A number of `len` bytes, or a name of one.
    fn code(&mut self, codes: Codes, max: u64, len: usize) -> Result<(), Fault> {
        let token = self.next()?;
        let named = codes.iter().find(|(name, _)| name.eq_ignore_ascii_case(token.raw));
        let number = match named {
            Some(&(_, number)) => u64::from(number),
            None => self.as_number(&token, max)?,
        };
        let bytes = number.to_be_bytes();
        self.put(bytes.get(bytes.len() - len..).unwrap_or_default())
    }

    fn name(&mut self) -> Result<Name, Fault> {
        let token = self.next()?;
        read_name(&token, self.origin)
    }

    fn text(&mut self) -> Result<(), Fault> {
        let token = self.next()?;
        let text = octets(token.raw);
        if text.len() > MAX_TEXT_LEN {
            return Err(self.fault(token.spot, "a text is longer than 255 bytes"));
        }
        self.prefixed(&text)
    }

    /// Bytes behind their length.
    fn prefixed(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let Ok(len) = u8::try_from(bytes.len()) else {
            return Err(self.fault(self.last_spot(), "it is longer than 255 bytes"));
        };
        self.data.push(len);
        self.put(bytes)
    }

    /// All tokens that are left, as one.
    fn joined(&mut self, read: impl Fn(&str) -> Option<Vec<u8>>, why: &str) -> Result<(), Fault> {
        let first = self.next()?;
        let mut text = first.raw.to_owned();
        while let Some(token) = self.maybe() {
            text.push_str(token.raw);
        }
        let bytes = read(&text).filter(|bytes| !bytes.is_empty());
        let bytes = bytes.ok_or_else(|| self.fault(first.spot, why))?;
        self.put(&bytes)
    }

    fn types(&mut self) -> Result<(), Fault> {
        let mut types = std::collections::BTreeSet::new();
        while self.peek().is_some() {
            let rtype = self.parsed(|raw| Rtype::from_str(raw).ok(), "a record type is expected here")?;
            types.insert(rtype.to_int());
        }
        for window in 0..=u8::MAX {
            let mut bitmap = [0_u8; 32];
            let mut len = 0;
            let first = u16::from(window) << 8;
            for rtype in types.range(first..=first | 0xff) {
                let (byte, bit) = (usize::from(rtype & 0xff) / 8, rtype & 7);
                if let Some(byte) = bitmap.get_mut(byte) {
                    *byte |= 0x80 >> bit;
                }
                len = byte + 1;
            }
            if len > 0 {
                self.put(&[window, len as u8])?;
                self.put(bitmap.get(..len).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    fn gateway(&mut self) -> Result<(), Fault> {
        let (kind, algorithm) = match *self.data {
            [_, kind, algorithm] => (kind, algorithm),
            _ => (0, 0),
        };
        match kind {
            0 => {
                self.parsed(|raw| (raw == ".").then_some(()), "gateway type 0 has the gateway `.`")?;
            }
            1 => self.field(Field::Ipv4)?,
            2 => self.field(Field::Ipv6)?,
            3 => self.field(Field::Name)?,
            _ => return Err(self.fault(self.last_spot(), "the gateway type is none of 0 to 3")),
        }
        // Algorithm 0: there is no key (RFC 4025 2.4).
        if algorithm == 0 { Ok(()) } else { self.field(Field::Base64) }
    }
}

/// Its octets, if it has any.
fn target(raw: &str) -> Option<Vec<u8>> {
    Some(octets(raw)).filter(|octets| !octets.is_empty())
}

/// The bytes of a token, its escapes resolved. They are well-formed: the tokens' reader has seen to it.
pub(crate) fn octets(raw: &str) -> Vec<u8> {
    let mut bytes = raw.bytes();
    let mut octets = Vec::with_capacity(raw.len());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            octets.push(byte);
            continue;
        }
        let Some(escaped) = bytes.next() else { continue };
        if !escaped.is_ascii_digit() {
            octets.push(escaped);
            continue;
        }
        let digits = [Some(escaped), bytes.next(), bytes.next()];
        let value = digits.iter().flatten().fold(0_u32, |value, digit| {
            value.wrapping_mul(10).wrapping_add(u32::from(digit.wrapping_sub(b'0')))
        });
        octets.push(value as u8);
    }
    octets
}

fn record_type(raw: &str) -> Option<Vec<u8>> {
    Rtype::from_str(raw).ok().map(|rtype| rtype.to_int().to_be_bytes().to_vec())
}

fn ipv4(raw: &str) -> Option<Vec<u8>> {
    raw.parse::<Ipv4Addr>().ok().map(|address| address.octets().to_vec())
}

fn ipv6(raw: &str) -> Option<Vec<u8>> {
    raw.parse::<Ipv6Addr>().ok().map(|address| address.octets().to_vec())
}

fn tag(raw: &str) -> Option<Vec<u8>> {
    let word = !raw.is_empty() && raw.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (word && raw.len() <= MAX_TEXT_LEN).then(|| raw.as_bytes().to_vec())
}

fn salt(raw: &str) -> Option<Vec<u8>> {
    if raw == "-" { Some(Vec::new()) } else { hex(raw) }
}

fn eui(raw: &str, len: usize) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = raw
        .split('-')
        .map(|pair| hex(pair).filter(|bytes| bytes.len() == 1))
        .collect::<Option<Vec<_>>>()?
        .concat();
    (bytes.len() == len).then_some(bytes)
}

fn groups(raw: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for group in raw.split(':') {
        let digits = (1..=4).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let group = u16::from_str_radix(group, 16).ok().filter(|_| digits)?;
        bytes.extend_from_slice(&group.to_be_bytes());
    }
    (bytes.len() == 8).then_some(bytes)
}

/// `YYYYMMDDHHmmSS` in UTC, or a number of up to ten digits (RFC 4034 3.2); 1970 to 2106.
fn time(raw: &str) -> Option<Vec<u8>> {
    if raw.is_empty() || !raw.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if raw.len() != 14 {
        return raw.parse::<u32>().ok().map(|seconds| seconds.to_be_bytes().to_vec());
    }
    let part = |from: usize, len: usize| raw.get(from..from + len)?.parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 2)?, part(6, 2)?);
    let (hour, minute, second) = (part(8, 2)?, part(10, 2)?, part(12, 2)?);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let month_days = |month| match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let valid = (1970..=2106).contains(&year)
        && (1..=12).contains(&month)
        && (1..=month_days(month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !valid {
        return None;
    }
    let days = (1970..year).map(|year| 365 + u64::from(leap(year))).sum::<u64>()
        + (1..month).map(month_days).sum::<u64>()
        + day
        - 1;
    let seconds = u32::try_from(((days * 24 + hour) * 60 + minute) * 60 + second).ok()?;
    Some(seconds.to_be_bytes().to_vec())
}
