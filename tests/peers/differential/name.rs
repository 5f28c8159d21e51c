//! Names in wire form, as this test draws, writes and compares them.

use crate::random::Random;

/// Longest name in wire form, in bytes (RFC 1035 2.3.4).
pub(super) const MAX_LEN: usize = 255;

/// Few labels, so that drawn names meet; some with bytes that have to be escaped, some with letter case.
const LABELS: [&[u8]; 22] = [
    b"a",
    b"b",
    b"c",
    b"www",
    b"mail",
    b"ns1",
    b"ns2",
    b"_sip",
    b"_tcp",
    b"Mixed-Case",
    b"1",
    b"a b",
    b"a.b",
    b"\x00",
    b"\xff\x80",
    b"semi;colon",
    b"qu\"ote",
    b"back\\slash",
    b"(@$)",
    b"xn--bcher-kva",
    b"tab\tnew\nline",
    b"[{}]^_`~",
];

/// An uncompressed name, ending in the root's zero byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(pub(super) Vec<u8>);

impl Name {
    /// From plain labels with dots between.
    pub(super) fn plain(text: &str) -> Self {
        let mut wire = Vec::new();
        for label in text.split('.') {
            wire.push(label.len() as u8);
            wire.extend(label.as_bytes());
        }
        wire.push(0);
        Self(wire)
    }

    /// The name one label below; `None` when it would be too long.
    pub(super) fn child(&self, label: &[u8]) -> Option<Self> {
        if self.0.len() + label.len() + 1 > MAX_LEN {
            return None;
        }
        Some(Self([&[label.len() as u8], label, &self.0].concat()))
    }

    /// The name above; `None` at the root.
    pub(super) fn parent(&self) -> Option<Self> {
        let len = usize::from(self.0[0]);
        (len > 0).then(|| Self(self.0[len + 1..].to_vec()))
    }

    pub(super) fn labels(&self) -> Vec<&[u8]> {
        let (mut labels, mut rest) = (Vec::new(), self.0.as_slice());
        while rest[0] > 0 {
            let (label, tail) = rest[1..].split_at(usize::from(rest[0]));
            labels.push(label);
            rest = tail;
        }
        labels
    }

    pub(super) fn is_wildcard(&self) -> bool {
        self.0.starts_with(b"\x01*")
    }

    /// Whether it is `above` or lies below it, in any letter case.
    pub(super) fn is_at_or_below(&self, above: &Self) -> bool {
        let (own, others) = (self.labels(), above.labels());
        own.len() >= others.len()
            && own[own.len() - others.len()..].iter().zip(others).all(|(a, b)| a.eq_ignore_ascii_case(b))
    }

    pub(super) fn is_below(&self, above: &Self) -> bool {
        self.0.len() > above.0.len() && self.is_at_or_below(above)
    }

    /// Length bytes are below `A`: folding the wire form folds the labels alone.
    pub(super) fn lower(&self) -> Self {
        Self(self.0.to_ascii_lowercase())
    }

    /// With the letter case of a few letters turned.
    pub(super) fn in_any_case(&self, random: &mut Random) -> Self {
        let turn = |byte: u8| {
            if random.chance(30) && byte.is_ascii_alphabetic() { byte ^ 0x20 } else { byte }
        };
        Self(self.0.iter().copied().map(turn).collect())
    }

    /// As a master file has it, with the final dot.
    pub(super) fn written(&self) -> String {
        let mut text = String::new();
        for label in self.labels() {
            for &byte in label {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'*' => text.push(byte.into()),
                    _ => text += &format!("\\{byte:03}"),
                }
            }
            text.push('.');
        }
        if text.is_empty() { ".".to_owned() } else { text }
    }
}

/// A label; rarely one of the longest.
pub(super) fn draw_label(random: &mut Random) -> Vec<u8> {
    match random.below(40) {
        0 => vec![b'x'; 63],
        1 => vec![b'y'; 40],
        _ => random.pick(&LABELS).to_vec(),
    }
}
