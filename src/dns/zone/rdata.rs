//! Record data: what stands behind the type of an entry, to wire form.
//!
//! The formats are those of the `domain` crate. It sees one entry at a time, rebuilt from checked tokens, with every
//! name already completed: its scanner takes no `@` in record data and lets empty labels pass, and one bad entry
//! would end its reading of the file. What it yields is parsed back before it is believed, which is also what makes
//! the generic form of a known type safe (RFC 3597 5).

use std::fmt::Write;

use domain::base::iana::Rtype;
use domain::base::rdata::{ComposeRecordData, ParseAnyRecordData};
use domain::dep::octseq::Parser;
use domain::rdata::AllRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};

use super::master::read_ttl;
use super::name::{self, Written};
use super::text::{Fault, Spot, Token};

/// Encodes the data of one record of type `rtype`: `tokens` is what follows the type, which stands at `spot`.
pub(super) fn encode(
    rtype: Rtype,
    tokens: &[Token<'_>],
    origin: &[u8],
    spot: Spot,
) -> Result<Vec<u8>, Fault> {
    if tokens.is_empty() {
        return Err(fault(rtype, spot, "it has no data"));
    }
    let line = Line::render(rtype, tokens, origin)?;
    let mut scanner = Zonefile::from(line.text.as_str());
    let record = match scanner.next_entry() {
        Ok(Some(Entry::Record(record))) => record,
        Ok(_) => return Err(fault(rtype, spot, "it has no data")),
        Err(error) => {
            let (at, why) = line.locate(&error.to_string(), tokens).unwrap_or((spot, String::new()));
            return Err(fault(rtype, at, &why));
        }
    };
    let mut data = Vec::new();
    if record.data().compose_rdata(&mut data).is_err() || u16::try_from(data.len()).is_err() {
        return Err(fault(rtype, spot, "its data is longer than 65535 bytes"));
    }
    if parses_back(rtype, &data) { Ok(data) } else { Err(fault(rtype, spot, "its data is malformed")) }
}

/// Where the name begins that a record of this type points to, in its data.
pub(super) const fn target_offset(rtype: Rtype) -> Option<usize> {
    match rtype {
        Rtype::NS | Rtype::CNAME | Rtype::DNAME | Rtype::PTR => Some(0),
        Rtype::MX => Some(2),
        Rtype::SRV => Some(6),
        _ => None,
    }
}

/// The name that the record points to, in lower case.
pub(super) fn target(rtype: Rtype, data: &[u8]) -> Option<name::Name> {
    let name = data.get(target_offset(rtype)?..)?;
    Some(name.to_ascii_lowercase().into())
}

/// The target of SVCB and HTTPS data, in lower case (RFC 9460 2.2); `None` for the root, which means the owner itself or
/// nothing.
pub(super) fn service_target(data: &[u8]) -> Option<name::Name> {
    let after_priority = data.get(2..)?;
    let len: usize = 1 + name::labels(after_priority).map(|label| 1 + label.len()).sum::<usize>();
    let target = after_priority.get(..len).filter(|target| target.len() > 1)?;
    Some(target.to_ascii_lowercase().into())
}

/// Positions of the tokens that are names.
const fn name_positions(rtype: Rtype) -> &'static [usize] {
    match rtype {
        Rtype::NS | Rtype::MD | Rtype::MF | Rtype::CNAME | Rtype::MB | Rtype::MG | Rtype::MR => &[0],
        Rtype::PTR | Rtype::DNAME | Rtype::NSEC => &[0],
        Rtype::SOA | Rtype::MINFO | Rtype::RP => &[0, 1],
        Rtype::MX | Rtype::SVCB | Rtype::HTTPS => &[1],
        Rtype::SRV => &[3],
        Rtype::NAPTR => &[5],
        Rtype::RRSIG => &[7],
        _ => &[],
    }
}

/// How a record of the type is written, for hints.
const fn form(rtype: Rtype) -> &'static str {
    match rtype {
        Rtype::A => "an IPv4 address, as in `www A 192.0.2.1`",
        Rtype::AAAA => "an IPv6 address, as in `www AAAA 2001:db8::1`",
        Rtype::NS => "a name, as in `@ NS ns1`",
        Rtype::CNAME => "a name, as in `www CNAME web`",
        Rtype::PTR => "a name, as in `1 PTR www.example.com.`",
        Rtype::DNAME => "a name, as in `old DNAME new.example.com.`",
        Rtype::MX => "a preference and a name, as in `@ MX 10 mail`",
        Rtype::SRV => "priority, weight, port and a name, as in `_sip._tcp SRV 0 5 5060 sip`",
        Rtype::TXT => "texts of up to 255 bytes each, as in `@ TXT \"one\" \"two\"`",
        Rtype::CAA => "flags, a tag and a text, as in `@ CAA 0 issue \"ca.example.net\"`",
        Rtype::SOA => {
            "primary name server, mailbox, serial, refresh, retry, expire, minimum, as in \
             `@ SOA ns1 hostmaster 1 1h 15m 7d 5m`"
        }
        Rtype::DS => "key tag, algorithm, digest type and digest in hexadecimal",
        Rtype::SVCB | Rtype::HTTPS => "priority, target and parameters, as in `@ HTTPS 1 . alpn=h2`",
        _ => "",
    }
}

fn fault(rtype: Rtype, spot: Spot, why: &str) -> Fault {
    let form = form(rtype);
    let hint = if form.is_empty() { String::new() } else { format!("it takes {form}") };
    let why = match why {
        "bad charstr" => "a text is longer than 255 bytes",
        "decimal number overflow" => "the number is too large",
        "expected decimal number" => "a number is expected here",
        "generic data has incorrect length" => "the length in front of its data is wrong",
        "unexpected end of entry" | "short buffer" => "something is missing at its end",
        "trailing tokens" => "it ends here, but the line goes on",
        "unknown record type with concrete data" => "only its generic form is understood: \\# LENGTH HEX",
        "" => "its data is malformed",
        other => other,
    };
    Fault::new(spot, format!("bad {rtype} record: {why}"), hint)
}

/// An entry rebuilt for the scanner.
struct Line {
    text: String,
    /// Byte offset of each token.
    starts: Vec<usize>,
}

impl Line {
    fn render(rtype: Rtype, tokens: &[Token<'_>], origin: &[u8]) -> Result<Self, Fault> {
        let generic = tokens.first().is_some_and(|token| !token.quoted && token.raw == "\\#");
        let names = if generic { &[][..] } else { name_positions(rtype) };
        let mut line = Self { text: format!(". 0 IN {rtype}"), starts: Vec::with_capacity(tokens.len()) };
        for (position, token) in tokens.iter().enumerate() {
            if !token.glued {
                line.text.push(' ');
            }
            line.starts.push(line.text.len());
            if names.contains(&position) {
                line.push_name(token, origin)?;
            } else if rtype == Rtype::SOA && !generic && position > 2 && !token.quoted {
                let seconds = read_ttl(token)?;
                line.push(format_args!("{seconds}"));
            } else {
                line.push_text(token);
            }
        }
        line.text.push('\n');
        Ok(line)
    }

    fn push(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.text.write_fmt(what);
    }

    fn push_name(&mut self, token: &Token<'_>, origin: &[u8]) -> Result<(), Fault> {
        let name = read_name(token, origin)?;
        if *name == *name::ROOT {
            self.text.push('.');
        } else {
            self.push(format_args!("{}.", Written(&name)));
        }
        Ok(())
    }

    /// What is not printable ASCII becomes decimal escapes: texts may hold UTF-8 and tabs, which the scanner refuses.
    fn push_text(&mut self, token: &Token<'_>) {
        if token.quoted {
            self.text.push('"');
        }
        for character in token.raw.chars() {
            if matches!(character, ' '..='~') {
                self.text.push(character);
            } else {
                for &byte in character.encode_utf8(&mut [0; 4]).as_bytes() {
                    self.push(format_args!("\\{byte:03}"));
                }
            }
        }
        if token.quoted {
            self.text.push('"');
        }
    }

    /// Takes the scanner's `line:column: message` apart and finds the token it means.
    fn locate(&self, message: &str, tokens: &[Token<'_>]) -> Option<(Spot, String)> {
        let mut parts = message.splitn(3, ':');
        let line: usize = parts.next()?.parse().ok()?;
        let column: usize = parts.next()?.parse().ok()?;
        let why = parts.next()?.trim().to_owned();
        let last = tokens.last()?;
        let token = if line > 1 {
            // It read to the end of the line before it complained.
            last
        } else {
            // The scanner stands behind what it has read, at most at the start of the next token.
            let complete = why == "trailing tokens";
            let position = self.starts.partition_point(|&start| start + usize::from(!complete) < column);
            tokens.get(position.saturating_sub(1)).unwrap_or(last)
        };
        Some((token.spot, why))
    }
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

/// Whether the bytes are data of that type, whole, and without compressed names.
fn parses_back(rtype: Rtype, data: &[u8]) -> bool {
    let mut parser = Parser::from_ref(data);
    let Ok(parsed) = AllRecordData::<_, domain::base::ParsedName<_>>::parse_any_rdata(rtype, &mut parser)
    else {
        return false;
    };
    let mut again = Vec::with_capacity(data.len());
    parser.remaining() == 0 && parsed.compose_rdata(&mut again).is_ok() && again == data
}
