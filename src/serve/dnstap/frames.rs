//! Frame Streams: data frames that wait to be sent, and the control frames of the handshake.
//!
//! A data frame is its length in four bytes, and its bytes. A control frame begins with a length of zero; then come its
//! own length, its type, and fields of type, length and bytes.

use std::collections::VecDeque;

/// What the frames hold.
pub(super) const CONTENT_TYPE: &[u8] = b"protobuf:dnstap.Dnstap";

/// Most bytes of a control frame, after its length.
const CONTROL_BYTES: usize = 512;

/// The field that names the content.
const CONTENT_TYPE_FIELD: u32 = 1;

/// Kinds of control frames. With a sender that can also be heard: READY is answered by ACCEPT, then comes START, and
/// at the end STOP, answered by FINISH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Control {
    Accept = 1,
    Start = 2,
    Stop = 3,
    Ready = 4,
    Finish = 5,
}

impl Control {
    /// The frame as it is sent.
    pub(super) fn frame(self) -> Vec<u8> {
        let mut body = (self as u32).to_be_bytes().to_vec();
        if matches!(self, Self::Accept | Self::Start | Self::Ready) {
            body.extend(CONTENT_TYPE_FIELD.to_be_bytes());
            body.extend((CONTENT_TYPE.len() as u32).to_be_bytes());
            body.extend(CONTENT_TYPE);
        }
        let mut frame = vec![0; 4];
        frame.extend((body.len() as u32).to_be_bytes());
        frame.extend(body);
        frame
    }
}

/// What was received so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Not yet a whole frame.
    Part,
    /// An ACCEPT of our content.
    Accept,
    /// A FINISH.
    Finish,
    /// An ACCEPT of other content only.
    OtherContent,
    /// Something else, which no collector says here.
    Nonsense,
}

/// Reads the control frame that `bytes` begin with, and expects no more after it.
pub(super) fn hear(bytes: &[u8]) -> Heard {
    if number(bytes, 0).is_some_and(|escape| escape != 0) {
        return Heard::Nonsense;
    }
    let Some(len) = number(bytes, 4) else { return Heard::Part };
    if len > CONTROL_BYTES {
        return Heard::Nonsense;
    }
    let Some(body) = bytes.get(8..8 + len) else { return Heard::Part };
    match number(body, 0) {
        Some(kind) if kind == Control::Accept as usize => accepted(body.get(4..).unwrap_or_default()),
        Some(kind) if kind == Control::Finish as usize => Heard::Finish,
        _ => Heard::Nonsense,
    }
}

/// What an ACCEPT's fields accept; without any, it accepts everything.
fn accepted(mut fields: &[u8]) -> Heard {
    let mut heard = Heard::Accept;
    while !fields.is_empty() {
        let (Some(kind), Some(len)) = (number(fields, 0), number(fields, 4)) else { return Heard::Nonsense };
        let Some(content) = fields.get(8..).and_then(|rest| rest.get(..len)) else { return Heard::Nonsense };
        if kind == CONTENT_TYPE_FIELD as usize {
            if content == CONTENT_TYPE {
                return Heard::Accept;
            }
            heard = Heard::OtherContent;
        }
        fields = fields.get(8 + len..).unwrap_or_default();
    }
    heard
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*number) as usize)
}

/// Data frames on their way.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    /// Where each frame ends that is not wholly sent.
    ends: VecDeque<usize>,
    /// How many bytes are sent.
    sent: usize,
    /// How many of them are whole frames.
    whole: usize,
}

impl Frames {
    /// Appends a frame with what `write` appends.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.bytes.len();
        self.bytes.extend([0; 4]);
        write(&mut self.bytes);
        let len = (self.bytes.len() - begin - 4) as u32;
        if let Some(prefix) = self.bytes.get_mut(begin..begin + 4) {
            prefix.copy_from_slice(&len.to_be_bytes());
        }
        self.ends.push_back(self.bytes.len());
    }

    /// Bytes of all frames since the last were sent.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What is to be sent.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// Notes that `count` more bytes are sent; returns how many frames that completes.
    pub(super) fn advance(&mut self, count: usize) -> u64 {
        self.sent += count;
        let mut completed = 0;
        while let Some(&end) = self.ends.front().filter(|end| **end <= self.sent) {
            self.whole = end;
            self.ends.pop_front();
            completed += 1;
        }
        if self.ends.is_empty() {
            self.bytes.clear();
            (self.sent, self.whole) = (0, 0);
        }
        completed
    }

    /// Begins anew with the frame that was not wholly sent: another collector has seen nothing of it.
    pub(super) fn rewind(&mut self) {
        self.sent = self.whole;
    }
}
