//! Record data by layout: drawn at random, and written as a master file has it.

use std::fmt::Write;

use super::super::name;
use super::super::rdata::layout::Field;
use super::*;

/// Random bytes, then zeros.
pub(super) struct Draws<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> Draws<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or_default()
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    /// Bytes behind their length.
    fn prefixed(&mut self, len: usize) -> Vec<u8> {
        [vec![len as u8], self.bytes(len)].concat()
    }
}

/// Data of these fields.
pub(super) fn data(fields: &[Field], draws: &mut Draws<'_>) -> Vec<u8> {
    let mut data = Vec::new();
    for &field in fields {
        let bytes = field_data(field, &mut data, draws);
        data.extend(bytes);
    }
    data
}

fn field_data(field: Field, before: &mut [u8], draws: &mut Draws<'_>) -> Vec<u8> {
    match field {
        Field::U8 | Field::Code8(_) => draws.bytes(1),
        Field::U16 | Field::Code16(_) | Field::Type => draws.bytes(2),
        Field::U32 | Field::Time | Field::Ipv4 => draws.bytes(4),
        Field::Seconds => vec![draws.byte() & 0x7f, draws.byte(), draws.byte(), draws.byte()],
        Field::Ipv6 => draws.bytes(16),
        Field::Groups => draws.bytes(8),
        Field::Eui(len) => draws.bytes(len),
        Field::Name => {
            let labels: Vec<u8> = (0..draws.below(4)).flat_map(|_| labelled(draws)).collect();
            [labels, vec![0]].concat()
        }
        Field::Text => {
            let len = draws.below(20);
            draws.prefixed(len)
        }
        Field::Decimal(most) => {
            let whole = draws.below(most.map_or(100_000, usize::from));
            let sign = ["", "-", "+"][draws.below(3)];
            let number = format!("{sign}{whole}{}", ["", ".", ".25"][draws.below(3)]);
            [vec![number.len() as u8], number.into_bytes()].concat()
        }
        Field::Texts => (0..=draws.below(3)).flat_map(|_| field_data(Field::Text, before, draws)).collect(),
        Field::Tag => {
            let len = 1 + draws.below(6);
            let letters = draws.bytes(len).into_iter().map(|byte| b'a' + byte % 26);
            [len as u8].into_iter().chain(letters).collect()
        }
        Field::Rest => {
            let len = draws.below(30);
            draws.bytes(len)
        }
        Field::Hex | Field::Base64 | Field::Target => {
            let len = 1 + draws.below(30);
            draws.bytes(len)
        }
        Field::Salt => {
            let len = draws.below(9);
            draws.prefixed(len)
        }
        Field::NextHash => {
            let len = 1 + draws.below(21);
            draws.prefixed(len)
        }
        Field::Types => {
            let windows: BTreeSet<u8> = draws.bytes(3).into_iter().collect();
            windows.into_iter().flat_map(|window| [window, 2, draws.byte(), draws.byte() | 1]).collect()
        }
        Field::Gateway => {
            before[1] %= 4;
            let gateway = match before[1] {
                0 => Vec::new(),
                1 => draws.bytes(4),
                2 => draws.bytes(16),
                _ => field_data(Field::Name, before, draws),
            };
            let key = if before[2] == 0 { Vec::new() } else { field_data(Field::Base64, before, draws) };
            [gateway, key].concat()
        }
        Field::Params => params(draws),
        Field::Location => location(draws),
        Field::Prefixes => (0..draws.below(4))
            .flat_map(|_| {
                let (family, len) = [(1, 4), (2, 16)][draws.below(2)];
                let address: Vec<u8> = draws.bytes(draws_len(len)).into_iter().map(|byte| byte | 1).collect();
                [
                    vec![
                        0,
                        family,
                        draws.byte() % (8 * len as u8 + 1),
                        draws.byte() & 0x80 | address.len() as u8,
                    ],
                    address,
                ]
                .concat()
            })
            .collect(),
    }
}

/// Half of the address is enough for every length to matter.
const fn draws_len(len: usize) -> usize {
    len / 2
}

fn labelled(draws: &mut Draws<'_>) -> Vec<u8> {
    let len = 1 + draws.below(10);
    draws.prefixed(len)
}

fn params(draws: &mut Draws<'_>) -> Vec<u8> {
    let which = draws.byte();
    let mut params: Vec<(u16, Vec<u8>)> = Vec::new();
    if which & 1 != 0 {
        params.push((1, [labelled(draws), labelled(draws)].concat()));
    }
    if which & 2 != 0 {
        params.push((4, draws.bytes(8)));
    }
    if which & 4 != 0 {
        params.push((6, draws.bytes(16)));
    }
    if which & 8 != 0 {
        params.push((8, Vec::new()));
    }
    if which & 16 != 0 {
        let len = draws.below(20);
        params.push((100 + u16::from(draws.byte()), draws.bytes(len)));
    }
    let encoded = params
        .into_iter()
        .map(|(key, value)| [&key.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), &value].concat());
    encoded.collect::<Vec<_>>().concat()
}

fn location(draws: &mut Draws<'_>) -> Vec<u8> {
    let mut angle = |max: u32| {
        let turn =
            u32::from_be_bytes([draws.byte(), draws.byte(), draws.byte(), draws.byte()]) % (2 * max + 1);
        ((1 << 31) - max + turn).to_be_bytes()
    };
    let (latitude, longitude) = (angle(90 * 3_600_000), angle(180 * 3_600_000));
    // Sizes end at 9e9; a size of zero has one form only.
    let sizes: Vec<u8> = (0..3).map(|_| (1 + draws.below(9) as u8) << 4 | draws.below(10) as u8).collect();
    [vec![0], sizes, latitude.to_vec(), longitude.to_vec(), draws.bytes(4)].concat()
}

/// Data as it is written.
pub(super) fn text(fields: &[Field], data: &[u8]) -> String {
    let mut rest = data;
    let words: Vec<String> = fields.iter().map(|&field| field_text(field, &mut rest, data)).collect();
    assert_eq!(rest, [0; 0]);
    words.join(" ")
}

fn take<'d>(rest: &mut &'d [u8], len: usize) -> &'d [u8] {
    rest.split_off(..len).unwrap()
}

fn number(rest: &mut &[u8], len: usize) -> u64 {
    take(rest, len).iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn prefixed<'d>(rest: &mut &'d [u8]) -> &'d [u8] {
    let len = number(rest, 1) as usize;
    take(rest, len)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn quoted(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
    format!("\"{escaped}\"")
}

/// Digits of `width` bits, the last filled up with zero bits.
fn digits(bytes: &[u8], width: usize, alphabet: &str) -> String {
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let digit = |chunk: &[u8]| {
        let value = (0..width).fold(0, |value, at| value << 1 | chunk.get(at).copied().unwrap_or_default());
        char::from(alphabet.as_bytes()[usize::from(value)])
    };
    bits.chunks(width).map(digit).collect()
}

fn base64(bytes: &[u8]) -> String {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = digits(bytes, 6, alphabet);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

fn field_text(field: Field, rest: &mut &[u8], data: &[u8]) -> String {
    match field {
        Field::U8 | Field::Code8(_) => number(rest, 1).to_string(),
        Field::U16 | Field::Code16(_) => number(rest, 2).to_string(),
        Field::U32 | Field::Time | Field::Seconds => number(rest, 4).to_string(),
        Field::Type => format!("TYPE{}", number(rest, 2)),
        Field::Ipv4 => std::net::Ipv4Addr::from(number(rest, 4) as u32).to_string(),
        Field::Ipv6 => std::net::Ipv6Addr::from(<[u8; 16]>::try_from(take(rest, 16)).unwrap()).to_string(),
        Field::Groups => (0..4).map(|_| format!("{:x}", number(rest, 2))).collect::<Vec<_>>().join(":"),
        Field::Eui(len) => {
            take(rest, len).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join("-")
        }
        Field::Name => {
            let len = name::wire_len(rest).unwrap();
            let written = Written(take(rest, len)).to_string();
            if written == "." { written } else { format!("{written}.") }
        }
        Field::Text | Field::Decimal(_) => quoted(prefixed(rest)),
        Field::Texts => {
            let mut texts = String::new();
            while !rest.is_empty() {
                write!(texts, " {}", quoted(prefixed(rest))).unwrap();
            }
            texts
        }
        Field::Tag => String::from_utf8(prefixed(rest).to_vec()).unwrap(),
        Field::Rest | Field::Target => quoted(std::mem::take(rest)),
        Field::Hex => hex(std::mem::take(rest)),
        Field::Base64 => base64(std::mem::take(rest)),
        Field::Salt => {
            let salt = hex(prefixed(rest));
            if salt.is_empty() { "-".to_owned() } else { salt }
        }
        Field::NextHash => digits(prefixed(rest), 5, "0123456789abcdefghijklmnopqrstuv"),
        Field::Types => types(rest),
        Field::Gateway => {
            let gateway = match data[1] {
                0 => ".".to_owned(),
                1 => field_text(Field::Ipv4, rest, data),
                2 => field_text(Field::Ipv6, rest, data),
                _ => field_text(Field::Name, rest, data),
            };
            format!("{gateway} {}", base64(std::mem::take(rest)))
        }
        Field::Params => {
            let mut params = String::new();
            while !rest.is_empty() {
                let key = number(rest, 2);
                let len = number(rest, 2) as usize;
                write!(params, " key{key}={}", quoted(take(rest, len))).unwrap();
            }
            params
        }
        Field::Location => location_text(rest),
        Field::Prefixes => prefixes(rest),
    }
}

fn types(rest: &mut &[u8]) -> String {
    let mut types = String::new();
    while !rest.is_empty() {
        let window = number(rest, 1);
        for (at, byte) in (0..).zip(prefixed(rest)) {
            for bit in (0..8).filter(|bit| byte & 0x80 >> bit != 0) {
                write!(types, " TYPE{}", window * 256 + at * 8 + bit).unwrap();
            }
        }
    }
    types
}

fn location_text(rest: &mut &[u8]) -> String {
    take(rest, 1);
    let sizes: String = (0..3)
        .map(|_| {
            let byte = number(rest, 1);
            let cm = (byte >> 4) * 10_u64.pow(byte as u32 & 0xf);
            format!(" {}.{:02}m", cm / 100, cm % 100)
        })
        .collect();
    let mut angle = |plus, minus| {
        let ms = number(rest, 4) as i64 - (1 << 31);
        let sign = if ms < 0 { minus } else { plus };
        let ms = ms.unsigned_abs();
        let (degrees, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms % 60_000);
        format!("{degrees} {minutes} {}.{:03} {sign}", seconds / 1000, seconds % 1000)
    };
    let (latitude, longitude) = (angle("N", "S"), angle("E", "W"));
    let cm = number(rest, 4) as i64 - 10_000_000;
    let sign = if cm < 0 { "-" } else { "" };
    let cm = cm.unsigned_abs();
    format!("{latitude} {longitude} {sign}{}.{:02}m{sizes}", cm / 100, cm % 100)
}

fn prefixes(rest: &mut &[u8]) -> String {
    let mut prefixes = String::new();
    while !rest.is_empty() {
        let (family, len, kept) = (number(rest, 2), number(rest, 1), number(rest, 1) as usize);
        let negated = if kept & 0x80 != 0 { "!" } else { "" };
        let mut address = [0; 16];
        let kept = kept & 0x7f;
        address[..kept].copy_from_slice(take(rest, kept));
        let address = match family {
            1 => std::net::Ipv4Addr::new(address[0], address[1], address[2], address[3]).to_string(),
            _ => std::net::Ipv6Addr::from(address).to_string(),
        };
        write!(prefixes, " {negated}{family}:{address}/{len}").unwrap();
    }
    prefixes
}
