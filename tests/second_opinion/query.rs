//! Queries as bytes: written out by hand, so that nothing that is tested writes them.

/// A query without its id.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// In wire form.
    pub(crate) name: Vec<u8>,
    pub(crate) qtype: u16,
    pub(crate) qclass: u16,
    /// The two flag bytes of the header.
    pub(crate) flags: u16,
    pub(crate) edns: Option<Edns>,
}

/// An OPT record.
#[derive(Clone, Debug)]
pub(crate) struct Edns {
    pub(crate) payload: u16,
    /// The lower 24 bits of the TTL field: version and flags.
    pub(crate) version_flags: u32,
    pub(crate) options: Vec<(u16, Vec<u8>)>,
}

impl Query {
    /// The message.
    pub(crate) fn bytes(&self, id: u16) -> Vec<u8> {
        let mut bytes = [id.to_be_bytes(), self.flags.to_be_bytes()].concat();
        bytes.extend([0, 1, 0, 0, 0, 0, 0, u8::from(self.edns.is_some())]);
        bytes.extend_from_slice(&self.name);
        bytes.extend([self.qtype.to_be_bytes(), self.qclass.to_be_bytes()].concat());
        if let Some(edns) = &self.edns {
            let mut data = Vec::new();
            for (code, value) in &edns.options {
                data.extend([code.to_be_bytes(), u16::try_from(value.len()).unwrap().to_be_bytes()].concat());
                data.extend_from_slice(value);
            }
            bytes.extend([0, 0, 41]);
            bytes.extend(edns.payload.to_be_bytes());
            bytes.extend(edns.version_flags.to_be_bytes());
            bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
            bytes.extend(data);
        }
        bytes
    }

    pub(crate) fn asks_for(&self, option: u16) -> bool {
        self.edns.as_ref().is_some_and(|edns| edns.options.iter().any(|(code, _)| *code == option))
    }
}

/// A name in wire form from its text; `\.` and `\DDD` as RFC 1035 5.1 has them.
pub(crate) fn wire(name: &str) -> Vec<u8> {
    let (mut wire, mut label) = (Vec::new(), Vec::new());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => match rest.next().unwrap() {
                digit @ b'0'..=b'9' => {
                    let digits = [digit, rest.next().unwrap(), rest.next().unwrap()]
                        .map(|digit| u16::from(digit - b'0'));
                    label.push(u8::try_from(digits[0] * 100 + digits[1] * 10 + digits[2]).unwrap());
                }
                escaped => label.push(escaped),
            },
            b'.' if label.is_empty() => {}
            b'.' => end(&mut wire, &mut label),
            byte => label.push(byte),
        }
    }
    if !label.is_empty() {
        end(&mut wire, &mut label);
    }
    wire.push(0);
    wire
}

fn end(wire: &mut Vec<u8>, label: &mut Vec<u8>) {
    wire.push(u8::try_from(label.len()).unwrap());
    wire.append(label);
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
