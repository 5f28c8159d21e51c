//! `$GENERATE start-stop[/step] owner [TTL] [class] type data`: one record for each value, as BIND documents it.
//!
//! In owner and data, `$` is the value, and `${offset,width,base}` the value plus an offset, padded with zeros to a
//! width, in base `d` `o` `x` `X`, or `n` `N`: hexadecimal digits in reverse with dots between, dots counted by the
//! width. `\$` and `$$` are a dollar. Data in one pair of quotes holds several words, as BIND wants them; words without
//! quotes do as well. A text with spaces has quotes inside the quotes: `"\"a $\""`.

use std::fmt::Write;

use super::master::{Head, Reader};
use super::rdata;
use super::text::{Entries, Fault, Spot, Token};

/// Most values of one `$GENERATE`: the addresses of an IPv4 /16.
pub const MAX_GENERATED_VALUES: usize = 65_536;
/// Widest padding, in characters: longer is no name and no text.
const MAX_WIDTH: usize = 255;

const HINT: &str = "as in `$GENERATE 1-100 host$ A 192.0.2.$`";
const RANGE_HINT: &str = "it takes start-stop or start-stop/step, as in `1-100` or `0-254/2`";
const FORM_HINT: &str = "it takes an offset, a width up to 255 and a base out of d o x X n N, as in ${0,3,d}; a dollar is written \\$";

impl Reader<'_> {
    /// Adds the records of the `$GENERATE` at `spot`. The owner of entries behind it stays as it was.
    pub(super) fn generate(&mut self, arguments: &[Token<'_>], spot: Spot, end: Spot) -> Result<(), Fault> {
        let [range, owner, fields @ ..] = arguments else {
            return Err(Fault::new(end, "$GENERATE needs a range, an owner, a type and data", HINT));
        };
        let values = Range::read(range)?;
        let owner_pattern = Pattern::read(owner.raw, owner.spot)?;
        let head = self.head(fields, end)?;
        let Some(first) = head.fields.first() else {
            return Err(Fault::new(end, "$GENERATE has no data behind the type", HINT));
        };
        self.warn_of_several_texts(head);
        let template = template(head.fields);
        let data_pattern = Pattern::read(&template, first.spot)?;
        // No value is written longer than the last one: what is too much is told before it is made.
        let longest = [&owner_pattern, &data_pattern].map(|pattern| pattern.longest(values.stop));
        self.expand(longest.iter().sum::<usize>().saturating_mul(values.count()), spot)?;
        for value in values {
            let at = |spot: Spot| Spot { generated: Some(value), ..spot };
            let written = owner_pattern.expand(value, at(owner.spot))?;
            let data = data_pattern.expand(value, at(first.spot))?;
            let head = Head { spot: at(head.spot), ..head };
            self.generated(&Token { raw: &written, spot: at(owner.spot), ..*owner }, head, &data, at(spot))
                .map_err(|fault| Fault { spot: at(fault.spot), ..fault })?;
        }
        Ok(())
    }

    /// The outer quotes hold the data together, as in BIND, and are gone when it is read: a text with spaces in it
    /// becomes several, which a record of texts takes without a word.
    fn warn_of_several_texts(&mut self, head: Head<'_, '_>) {
        let [Token { raw, quoted: true, spot, .. }] = head.fields else { return };
        if rdata::takes_texts(head.rtype) && raw.contains(' ') && !raw.contains('"') {
            let text = "the quotes hold several texts here, one a word";
            let hint = format!("one text has quotes of its own: \"\\\"{raw}\\\"\"");
            self.report.warn(Fault::new(*spot, text, hint));
        }
    }

    fn generated(
        &mut self,
        owner: &Token<'_>,
        head: Head<'_, '_>,
        data: &str,
        start: Spot,
    ) -> Result<(), Fault> {
        let data_spot = head.fields.first().map_or(start, |field| field.spot);
        let owner = rdata::read_name(owner, &self.origin)?.to_ascii_lowercase();
        let mut tokens = match Entries::new(data, start.source).next() {
            Some(Ok(entry)) => entry.tokens,
            Some(Err(fault)) => return Err(Fault { spot: data_spot, ..fault }),
            None => Vec::new(),
        };
        for token in &mut tokens {
            token.spot = data_spot;
        }
        self.record(owner.into(), head, &tokens, start)
    }
}

/// The data as one text: what one pair of quotes holds, or the words side by side.
fn template(fields: &[Token<'_>]) -> String {
    if let [Token { raw, quoted: true, .. }] = fields {
        return without_escaped_quotes(raw);
    }
    let mut text = String::new();
    for field in fields {
        let quote = if field.quoted { "\"" } else { "" };
        let space = if field.glued { "" } else { " " };
        // Writing to a String does not fail.
        let _ = write!(text, "{space}{quote}{}{quote}", field.raw);
    }
    text
}

/// `\"` to `"`; other escapes stay for the second reading.
fn without_escaped_quotes(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('"') => text.push('"'),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

/// The values, in order.
#[derive(Clone, Copy, Debug)]
struct Range {
    next: u64,
    stop: u64,
    step: u64,
}

impl Range {
    fn read(token: &Token<'_>) -> Result<Self, Fault> {
        let wrong = || {
            let text = format!("`{}` is no range", token.excerpt());
            Fault::new(token.spot, text, RANGE_HINT)
        };
        let number = |text: &str| -> Option<u64> {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i32>().ok().filter(|_| digits).and_then(|number| u64::try_from(number).ok())
        };
        let (ends, step) = token.raw.split_once('/').unwrap_or((token.raw, "1"));
        let (start, stop) = ends.split_once('-').ok_or_else(wrong)?;
        let (Some(next), Some(stop), Some(step)) = (number(start), number(stop), number(step)) else {
            return Err(wrong());
        };
        if step == 0 || stop < next {
            return Err(wrong());
        }
        let range = Self { next, stop, step };
        if range.count() > MAX_GENERATED_VALUES {
            let text = format!("the range has {} values, more than {MAX_GENERATED_VALUES}", range.count());
            return Err(Fault::new(token.spot, text, "write several $GENERATE lines, or a wildcard"));
        }
        Ok(range)
    }

    fn count(self) -> usize {
        usize::try_from((self.stop - self.next) / self.step + 1).unwrap_or(usize::MAX)
    }
}

impl Iterator for Range {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let value = Some(self.next).filter(|&next| next <= self.stop)?;
        self.next += self.step;
        u32::try_from(value).ok()
    }
}

/// A text with places for the value.
#[derive(Debug)]
struct Pattern<'t> {
    pieces: Vec<Piece<'t>>,
}

#[derive(Debug)]
enum Piece<'t> {
    Text(&'t str),
    Value { offset: i64, width: usize, base: Base },
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Decimal,
    Octal,
    Hex,
    UpperHex,
    Nibbles,
    UpperNibbles,
}

impl<'t> Pattern<'t> {
    fn read(text: &'t str, spot: Spot) -> Result<Self, Fault> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            let (before, from) = rest.split_at(at);
            pieces.push(Piece::Text(before));
            rest = if let Some(after) = from.strip_prefix("\\$").or_else(|| from.strip_prefix("$$")) {
                pieces.push(Piece::Text("$"));
                after
            } else if from.starts_with('\\') {
                // An escape of the master file: the backslash and what it escapes stay together.
                let len = from.chars().take(2).map(char::len_utf8).sum();
                let (escape, after) = from.split_at_checked(len).unwrap_or((from, ""));
                pieces.push(Piece::Text(escape));
                after
            } else if let Some(form) = from.strip_prefix("${") {
                let (form, after) = form.split_once('}').unwrap_or((form, ""));
                let piece = value_form(form).filter(|_| from.contains('}'));
                pieces.push(piece.ok_or_else(|| {
                    let shown: String = form.chars().take(20).collect();
                    Fault::new(spot, format!("`${{{shown}}}` is no form of a value"), FORM_HINT)
                })?);
                after
            } else {
                pieces.push(Piece::Value { offset: 0, width: 0, base: Base::Decimal });
                from.get(1..).unwrap_or_default()
            };
        }
        pieces.push(Piece::Text(rest));
        Ok(Self { pieces })
    }

    /// Length of what `stop` gives, in bytes.
    fn longest(&self, stop: u64) -> usize {
        let stop = u32::try_from(stop).unwrap_or(u32::MAX);
        self.expand(stop, Spot::default()).map_or(0, |text| text.len())
    }

    fn expand(&self, value: u32, spot: Spot) -> Result<String, Fault> {
        let mut text = String::new();
        for piece in &self.pieces {
            match *piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Value { offset, width, base } => {
                    let Ok(shifted) = u32::try_from(i64::from(value) + offset) else {
                        let what = format!("the offset {offset} leads out of 0 to 4294967295");
                        return Err(Fault::new(spot, what, FORM_HINT));
                    };
                    base.write(shifted, width, &mut text);
                }
            }
        }
        Ok(text)
    }
}

/// `offset[,width[,base]]`.
fn value_form<'t>(form: &str) -> Option<Piece<'t>> {
    let mut parts = form.split(',');
    let offset: i32 = parts.next()?.parse().ok()?;
    let width = parts.next().map_or(Some(0), |width| width.parse().ok())?;
    let base = match parts.next().unwrap_or("d") {
        "d" => Base::Decimal,
        "o" => Base::Octal,
        "x" => Base::Hex,
        "X" => Base::UpperHex,
        "n" => Base::Nibbles,
        "N" => Base::UpperNibbles,
        _ => return None,
    };
    let piece = Piece::Value { offset: i64::from(offset), width, base };
    (width <= MAX_WIDTH && parts.next().is_none()).then_some(piece)
}

impl Base {
    fn write(self, value: u32, width: usize, text: &mut String) {
        // Writing to a String does not fail.
        let _ = match self {
            Self::Decimal => write!(text, "{value:0width$}"),
            Self::Octal => write!(text, "{value:0width$o}"),
            Self::Hex => write!(text, "{value:0width$x}"),
            Self::UpperHex => write!(text, "{value:0width$X}"),
            Self::Nibbles => {
                text.push_str(&nibbles(value, width));
                Ok(())
            }
            Self::UpperNibbles => {
                text.push_str(&nibbles(value, width).to_ascii_uppercase());
                Ok(())
            }
        };
    }
}

/// The lowest digit first, as `ip6.arpa` has them. An even width ends in a dot, since dots count.
fn nibbles(value: u32, width: usize) -> String {
    let mut text = String::new();
    let mut rest = value;
    loop {
        text.extend(char::from_digit(rest & 0xf, 16));
        rest >>= 4;
        if rest == 0 && text.len() >= width {
            return text;
        }
        text.push('.');
        if rest == 0 && text.len() >= width {
            return text;
        }
    }
}
