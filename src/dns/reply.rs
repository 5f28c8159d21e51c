//! An answer while it is written into the caller's buffer.
//!
//! The message is put together front to back. What does not fit fails as a whole ([`Full`]), and who asked for it
//! decides: optional data is left out, anything else makes the answer a truncated one.

use super::extended::ExtendedError;
use super::names::Names;
use super::template::Template;
use super::wire::{HEADER_LEN, Header, Question, Rcode};

/// Highest place in a message that a compression pointer reaches (RFC 1035 4.1.4).
pub(super) const MAX_POINTER: usize = 0x3fff;

/// It does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// A section of records.
#[derive(Clone, Copy, Debug)]
pub(super) enum Section {
    Answer,
    Authority,
    Additional,
}

/// An answer in the making.
#[derive(Debug)]
pub(super) struct Reply<'o> {
    out: &'o mut [u8],
    len: usize,
    limit: usize,
    question_end: usize,
    questions: u16,
    counts: [u16; 3],
    pub(super) authoritative: bool,
    pub(super) rcode: Rcode,
    /// What there is to say about the rcode.
    pub(super) extended: Option<ExtendedError>,
    truncated: bool,
}

impl<'o> Reply<'o> {
    /// Begins an answer of at most `limit` bytes with room for the header, then the question. `None` when the buffer
    /// is too small even for that.
    pub(super) fn begin(out: &'o mut [u8], limit: usize, question: Option<&Question<'_>>) -> Option<Self> {
        let limit = limit.min(out.len());
        let raw = question.map_or(&[][..], |question| question.raw);
        let mut reply = Self {
            out,
            len: HEADER_LEN,
            limit,
            question_end: HEADER_LEN + raw.len(),
            questions: u16::from(question.is_some()),
            counts: [0; 3],
            authoritative: false,
            rcode: Rcode::NoError,
            extended: None,
            truncated: false,
        };
        reply.put(raw).ok()?;
        Some(reply)
    }

    /// Where the next byte goes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Keeps nothing but the question and tells the client to come back over TCP (RFC 2181 9).
    pub(super) fn truncate(&mut self) {
        self.len = self.question_end;
        self.counts = [0; 3];
        self.truncated = true;
    }

    /// Tells the client to come back over TCP for what had to be left out.
    pub(super) fn mark_truncated(&mut self) {
        self.truncated = true;
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.reserve(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// The next `len` bytes, to be filled.
    pub(super) fn reserve(&mut self, len: usize) -> Result<&mut [u8], Full> {
        let (start, end) = (self.len, self.len + len);
        if end > self.limit {
            return Err(Full);
        }
        self.len = end;
        self.out.get_mut(start..end).ok_or(Full)
    }

    pub(super) fn count(&mut self, section: Section, records: u16) {
        let count = &mut self.counts[section as usize];
        *count = count.saturating_add(records);
    }

    /// Writes a record whose owner stands at `owner` of the message; `tail` is everything behind the owner.
    pub(super) fn put_record(&mut self, section: Section, owner: usize, tail: &[u8]) -> Result<(), Full> {
        self.put(&pointer(owner))?;
        self.put(tail)?;
        self.count(section, 1);
        Ok(())
    }

    /// Writes a template's records; the first that was encoded together with it begins at `start` of the message.
    pub(super) fn put_template(
        &mut self,
        section: Section,
        template: &Template,
        start: usize,
        names: &Names,
    ) -> Result<(), Full> {
        template.write(self.reserve(template.bytes.len())?, start, names);
        self.count(section, template.count);
        Ok(())
    }

    /// What is written so far.
    pub(super) fn message(&self) -> &[u8] {
        self.out.get(..self.len).unwrap_or_default()
    }

    /// How many bytes still fit.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.len)
    }

    /// Gives up with an error.
    pub(super) fn fail(&mut self, rcode: Rcode, extended: Option<ExtendedError>) {
        self.rcode = rcode;
        self.extended = extended;
        self.authoritative = false;
    }

    /// Lets the answer grow by `room` bytes that were kept free.
    pub(super) fn extend_limit(&mut self, room: usize) {
        self.limit = (self.limit + room).min(self.out.len());
    }

    /// Writes the header and gives the answer's length in bytes.
    pub(super) fn finish(self, header: Header) -> usize {
        let [i0, i1] = header.id.to_be_bytes();
        let [f0, f1] = header.answer_flags(self.authoritative, self.truncated, self.rcode);
        let [q0, q1] = self.questions.to_be_bytes();
        let [[a0, a1], [n0, n1], [r0, r1]] = self.counts.map(u16::to_be_bytes);
        if let Some(head) = self.out.first_chunk_mut::<HEADER_LEN>() {
            *head = [i0, i1, f0, f1, q0, q1, a0, a1, n0, n1, r0, r1];
        }
        self.len
    }
}

/// A compression pointer to `at`, which is at most [`MAX_POINTER`].
pub(super) const fn pointer(at: usize) -> [u8; 2] {
    (0xc000 | (at & MAX_POINTER) as u16).to_be_bytes()
}
