//! SvcParams: what SVCB and HTTPS records say of a service (RFC 9460 2.1, 2.2, 7, appendix A).

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::name;
use super::super::text::{Fault, Token};
use super::encodings::base64;
use super::reader::{Reader, octets};

/// What a value of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Keys, ascending.
    Keys,
    /// Texts behind their lengths; at least so many, each of at least one byte.
    List {
        least: usize,
    },
    /// Nothing.
    Flag,
    Port,
    Ipv4s,
    Ipv6s,
    /// An ECHConfigList: its first two bytes are the length of the rest.
    Ech,
    Utf8,
    /// 16-bit numbers, none twice.
    Numbers,
}

/// A key that the registry knows.
struct Known {
    key: u16,
    name: &'static str,
    kind: Kind,
    /// How it is written, for hints.
    form: &'static str,
}

const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
/// Key 65535 is reserved: it means nothing valid.
const INVALID: u16 = u16::MAX;

/// The registry (RFC 9460 14.3.2; dohpath RFC 9461, ohttp RFC 9540, docpath RFC 9953).
const REGISTRY: &[Known] = &[
    Known { key: MANDATORY, name: "mandatory", kind: Kind::Keys, form: "mandatory=alpn,port" },
    Known { key: ALPN, name: "alpn", kind: Kind::List { least: 1 }, form: "alpn=h2,h3" },
    Known { key: NO_DEFAULT_ALPN, name: "no-default-alpn", kind: Kind::Flag, form: "no-default-alpn" },
    Known { key: 3, name: "port", kind: Kind::Port, form: "port=8443" },
    Known { key: 4, name: "ipv4hint", kind: Kind::Ipv4s, form: "ipv4hint=192.0.2.1,192.0.2.2" },
    Known { key: 5, name: "ech", kind: Kind::Ech, form: "ech=AEX+DQBB... (Base64 of a whole ECHConfigList)" },
    Known { key: 6, name: "ipv6hint", kind: Kind::Ipv6s, form: "ipv6hint=2001:db8::1" },
    Known { key: 7, name: "dohpath", kind: Kind::Utf8, form: "dohpath=/dns-query{?dns}" },
    Known { key: 8, name: "ohttp", kind: Kind::Flag, form: "ohttp" },
    Known { key: 9, name: "tls-supported-groups", kind: Kind::Numbers, form: "tls-supported-groups=29,23" },
    Known { key: 10, name: "docpath", kind: Kind::List { least: 0 }, form: "docpath=dns" },
];

/// Reads parameters to the end, in any order; on the wire keys ascend.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<(), Fault> {
    let mut params: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    while let Some(token) = reader.maybe() {
        let (word, value) = split(reader, &token)?;
        let Some(key) = key(word) else {
            let why = format!("`{word}` is no SvcParamKey; others are written as in key65333=text");
            return Err(reader.fault(token.spot, &why));
        };
        let generic = word.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("key"));
        let encoded = match known(key) {
            Some(known) if !generic => encode(known, value.as_deref()),
            known => {
                value.or(Some(Vec::new())).filter(|value| known.is_none_or(|known| fits(known.kind, value)))
            }
        };
        let Some(encoded) = encoded.filter(|value| u16::try_from(value.len()).is_ok()) else {
            let why = match known(key) {
                Some(known) => format!("{word} is malformed: write it as in {}", known.form),
                None => format!("the value of {word} is longer than 65535 bytes"),
            };
            return Err(reader.fault(token.spot, &why));
        };
        if params.insert(key, encoded).is_some() {
            return Err(reader.fault(token.spot, &format!("{word} is given twice")));
        }
    }
    if let Some(why) = contradiction(&params) {
        return Err(reader.fault_here(&why));
    }
    for (key, value) in &params {
        reader.put(&key.to_be_bytes())?;
        reader.put(&(value.len() as u16).to_be_bytes())?;
        reader.put(value)?;
    }
    Ok(())
}

/// Whether the bytes are parameters: keys ascending, values of their kind, nothing that contradicts another.
pub(super) fn hold(data: &[u8]) -> bool {
    let mut params = BTreeMap::new();
    let (mut rest, mut last) = (data, None);
    while let Some((key, value, behind)) = first(rest) {
        let fits = known(key).is_none_or(|known| fits(known.kind, value));
        if last >= Some(key) || key == INVALID || !fits {
            return false;
        }
        params.insert(key, value.to_vec());
        (rest, last) = (behind, Some(key));
    }
    rest.is_empty() && contradiction(&params).is_none()
}

/// The keys in SVCB data: behind priority and target.
pub(crate) fn keys(data: &[u8]) -> impl Iterator<Item = u16> {
    let after_priority = data.get(2..).unwrap_or_default();
    let mut rest =
        name::wire_len(after_priority).and_then(|len| after_priority.get(len..)).unwrap_or_default();
    std::iter::from_fn(move || {
        let (key, _, behind) = first(rest)?;
        rest = behind;
        Some(key)
    })
}

/// The parameter at the beginning: key, value, what is behind it.
fn first(data: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (key, tail) = data.split_first_chunk::<2>()?;
    let (len, tail) = tail.split_first_chunk::<2>()?;
    let (value, behind) = tail.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    Some((u16::from_be_bytes(*key), value, behind))
}

/// A parameter's key as it is written, and its value with the escapes of a text resolved.
fn split<'t>(reader: &mut Reader<'_, 't>, token: &Token<'t>) -> Result<(&'t str, Option<Vec<u8>>), Fault> {
    if token.quoted {
        return Err(reader.fault(token.spot, "a parameter begins with its key, as in alpn=\"h2\""));
    }
    let Some((word, value)) = token.raw.split_once('=') else { return Ok((token.raw, None)) };
    match reader.peek() {
        Some(quoted) if value.is_empty() && quoted.quoted && quoted.glued => {
            reader.maybe();
            Ok((word, Some(octets(quoted.raw))))
        }
        _ => Ok((word, Some(octets(value)))),
    }
}

fn known(key: u16) -> Option<&'static Known> {
    REGISTRY.iter().find(|known| known.key == key)
}

/// A key by its name, or as `keyNNNNN` without leading zeros.
fn key(word: &str) -> Option<u16> {
    if let Some(known) = REGISTRY.iter().find(|known| known.name.eq_ignore_ascii_case(word)) {
        return Some(known.key);
    }
    let (start, digits) = word.split_at_checked(3)?;
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let plain = decimal && (digits == "0" || !digits.starts_with('0'));
    let number = digits.parse().ok().filter(|_| plain && start.eq_ignore_ascii_case("key"));
    number.filter(|&key| key != INVALID)
}

/// The wire form of a value; `None` when it is malformed.
fn encode(known: &Known, value: Option<&[u8]>) -> Option<Vec<u8>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return matches!(known.kind, Kind::Flag | Kind::List { least: 0 }).then(Vec::new);
    };
    let text = || std::str::from_utf8(value).ok();
    let encoded = match known.kind {
        Kind::Flag => return None,
        Kind::Port => number(text()?)?.to_be_bytes().to_vec(),
        Kind::Utf8 => text()?.as_bytes().to_vec(),
        Kind::Ech => base64(text()?)?,
        Kind::Keys => {
            let mut keys = text()?.split(',').map(key).collect::<Option<Vec<u16>>>()?;
            keys.sort_unstable();
            keys.iter().flat_map(|key| key.to_be_bytes()).collect()
        }
        Kind::Numbers => {
            let numbers = text()?.split(',').map(number).collect::<Option<Vec<u16>>>()?;
            numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
        }
        Kind::Ipv4s => {
            let addresses = text()?.split(',').map(|one| one.parse::<Ipv4Addr>().ok());
            addresses.collect::<Option<Vec<_>>>()?.iter().flat_map(Ipv4Addr::octets).collect()
        }
        Kind::Ipv6s => {
            let addresses = text()?.split(',').map(|one| one.parse::<Ipv6Addr>().ok());
            addresses.collect::<Option<Vec<_>>>()?.iter().flat_map(Ipv6Addr::octets).collect()
        }
        Kind::List { .. } => list(value)?,
    };
    fits(known.kind, &encoded).then_some(encoded)
}

fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Items between commas, each behind its length; `\,` and `\\` stand for the character (RFC 9460 A.1).
fn list(value: &[u8]) -> Option<Vec<u8>> {
    let mut items = vec![Vec::new()];
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        let byte = match byte {
            b',' => {
                items.push(Vec::new());
                continue;
            }
            b'\\' => *bytes.next().filter(|&&escaped| matches!(escaped, b',' | b'\\'))?,
            _ => byte,
        };
        items.last_mut()?.push(byte);
    }
    let mut encoded = Vec::new();
    for item in items {
        encoded.push(u8::try_from(item.len()).ok()?);
        encoded.extend(item);
    }
    Some(encoded)
}

/// Whether a wire value is of its kind.
fn fits(kind: Kind, value: &[u8]) -> bool {
    let numbers = || value.chunks(2).map(|pair| (pair.first().copied(), pair.get(1).copied()));
    match kind {
        Kind::Flag => value.is_empty(),
        Kind::Port => value.len() == 2,
        Kind::Utf8 => !value.is_empty() && std::str::from_utf8(value).is_ok(),
        Kind::Ech => {
            let list = value.split_first_chunk::<2>();
            list.is_some_and(|(len, rest)| {
                !rest.is_empty() && usize::from(u16::from_be_bytes(*len)) == rest.len()
            })
        }
        Kind::Ipv4s => !value.is_empty() && value.len().is_multiple_of(4),
        Kind::Ipv6s => !value.is_empty() && value.len().is_multiple_of(16),
        Kind::Keys => {
            let ascending = numbers().is_sorted_by(|a, b| a < b);
            !value.is_empty() && value.len().is_multiple_of(2) && ascending && !value.starts_with(&[0, 0])
        }
        Kind::Numbers => {
            let distinct = numbers().collect::<std::collections::BTreeSet<_>>().len() == value.len() / 2;
            !value.is_empty() && value.len().is_multiple_of(2) && distinct
        }
        Kind::List { least } => {
            let (mut rest, mut count) = (value, 0);
            while let Some((&len, tail)) = rest.split_first() {
                let Some(behind) = tail.get(usize::from(len)..).filter(|_| len > 0) else { return false };
                (rest, count) = (behind, count + 1);
            }
            count >= least
        }
    }
}

/// What one parameter says against another, if any does.
fn contradiction(params: &BTreeMap<u16, Vec<u8>>) -> Option<String> {
    if params.contains_key(&NO_DEFAULT_ALPN) && !params.contains_key(&ALPN) {
        return Some("no-default-alpn needs alpn (RFC 9460 7.1.1)".to_owned());
    }
    let mandatory = params.get(&MANDATORY).map(Vec::as_slice).unwrap_or_default();
    let (pairs, _) = mandatory.as_chunks::<2>();
    let missing = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).find(|key| !params.contains_key(key))?;
    let name = known(missing).map_or(format!("key{missing}"), |known| known.name.to_owned());
    Some(format!("mandatory lists {name}, which is not given (RFC 9460 8)"))
}
