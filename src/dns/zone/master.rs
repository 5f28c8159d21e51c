//! Master files to records (RFC 1035 5): directives, owners, classes, TTLs.

use std::str::FromStr;

use domain::base::iana::{Class, Rtype};

use super::ZoneFile;
use super::name::{self, Name};
use super::report::Report;
use super::text::{Entries, Entry, Fault, Spot, Token};
use super::{rdata, ttl};

/// Length of the minimum, the last field of SOA data, in bytes (RFC 1035 3.3.13).
const SOA_MINIMUM_LEN: usize = 4;
/// Length of the five numbers of SOA data, of which the serial is the first, in bytes.
const SOA_NUMBERS_LEN: usize = 20;

/// One record, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// In lower case.
    pub(super) owner: Name,
    pub(super) rtype: Rtype,
    pub(super) ttl_s: u32,
    /// With names in their written case.
    pub(super) data: Vec<u8>,
    pub(super) spot: Spot,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Master {
    pub(super) records: Vec<Record>,
    /// Some entry could not be read: what seems to be missing may be in it.
    pub(super) broken: bool,
}

/// Reads a file; whatever is wrong goes to `report`, entry by entry.
pub(super) fn read(file: &ZoneFile, report: &mut Report) -> Master {
    let mut reader = Reader {
        origin: default_origin(file),
        owner: Owner::None,
        default_ttl_s: None,
        last_ttl_s: None,
        file,
        report,
    };
    let mut master = Master::default();
    for entry in Entries::new(&file.text) {
        match entry.and_then(|entry| reader.entry(&entry)) {
            Ok(Some(record)) => master.records.push(record),
            Ok(None) => {}
            Err(fault) => {
                master.broken = true;
                // The file is refused: later records need not be told that this one would have given them a TTL.
                reader.last_ttl_s.get_or_insert(0);
                reader.report.error(file, fault);
            }
        }
    }
    master
}

/// The origin before the first `$ORIGIN`: what the file is called, without `.zone`; the root when that is no name.
pub(super) fn default_origin(file: &ZoneFile) -> Name {
    let stem = file.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let origin = name::parse(stem, name::ROOT).unwrap_or_else(|_| name::ROOT.into());
    origin.to_ascii_lowercase().into()
}

/// The owner that an indented entry has.
enum Owner {
    None,
    /// The entry that named it could not be read.
    Broken,
    Name(Name),
}

/// What one entry leaves for the next.
struct Reader<'a> {
    origin: Name,
    owner: Owner,
    /// `$TTL` (RFC 2308 4).
    default_ttl_s: Option<u32>,
    /// The last that a record gave (RFC 1035 5.1).
    last_ttl_s: Option<u32>,
    file: &'a ZoneFile,
    report: &'a mut Report,
}

impl Reader<'_> {
    fn entry(&mut self, entry: &Entry<'_>) -> Result<Option<Record>, Fault> {
        let Some((first, rest)) = entry.tokens.split_first() else { return Ok(None) };
        if !entry.indented && !first.quoted && first.raw.starts_with('$') {
            return self.directive(first, rest, entry.end).map(|()| None);
        }
        let fields = if entry.indented {
            &entry.tokens
        } else {
            self.owner = Owner::Broken;
            let owner = rdata::read_name(first, &self.origin)?;
            self.owner = Owner::Name(owner.to_ascii_lowercase().into());
            rest
        };
        let owner = match &self.owner {
            Owner::Name(owner) => owner.clone(),
            Owner::Broken => return Ok(None),
            Owner::None => {
                return Err(Fault::new(
                    first.spot,
                    "the line begins with white space, but no record before it has a name to share",
                    "begin the line with a name, or with @ for the zone itself",
                ));
            }
        };
        self.record(owner, fields, first.spot, entry.end).map(Some)
    }

    fn directive(&mut self, name: &Token<'_>, arguments: &[Token<'_>], end: Spot) -> Result<(), Fault> {
        let directive = name.raw.to_ascii_uppercase();
        match directive.as_str() {
            "$ORIGIN" => {
                let origin = rdata::read_name(only(name, arguments, end)?, &self.origin)?;
                self.origin = origin.to_ascii_lowercase().into();
            }
            "$TTL" => {
                let token = only(name, arguments, end)?;
                self.default_ttl_s = Some(read_ttl(token)?);
            }
            "$INCLUDE" | "$GENERATE" => {
                return Err(Fault::new(
                    name.spot,
                    format!("{directive} is not supported"),
                    "write the records into this file",
                ));
            }
            _ => {
                return Err(Fault::new(
                    name.spot,
                    format!("no directive is called {}", name.excerpt()),
                    "there are $ORIGIN and $TTL; a name that begins with a dollar is written \\$",
                ));
            }
        }
        Ok(())
    }

    /// `[TTL] [class] type data`, the first two in either order.
    fn record(&mut self, owner: Name, fields: &[Token<'_>], start: Spot, end: Spot) -> Result<Record, Fault> {
        let mut fields = fields;
        let (mut ttl_s, mut class_seen) = (None, false);
        let (rtype, type_spot) = loop {
            let Some((field, rest)) = fields.split_first() else {
                return Err(Fault::new(end, "the record has no type", "as in `www 300 IN A 192.0.2.1`"));
            };
            fields = rest;
            // Types first: no class has a type's mnemonic, but for ANY, which is neither in a zone.
            if ttl_s.is_none() && field.raw.starts_with(|first: char| first.is_ascii_digit()) {
                ttl_s = Some(read_ttl(field)?);
            } else if let Ok(rtype) = Rtype::from_str(field.raw) {
                break (rtype, field.spot);
            } else if let (false, Ok(class)) = (class_seen, Class::from_str(field.raw)) {
                in_class(class, field.spot)?;
                class_seen = true;
            } else {
                return Err(unknown_type(field));
            }
        };
        if is_meta(rtype) {
            let text = format!("{rtype} is a type for queries and messages, not for zones");
            return Err(Fault::new(type_spot, text, ""));
        }
        let data = rdata::encode(rtype, fields, &self.origin, type_spot)?;
        let ttl_s = self.ttl(ttl_s, rtype, &data, type_spot)?;
        Ok(Record { owner, rtype, ttl_s, data, spot: start })
    }

    /// The stated TTL, else `$TTL`, else the last stated one, else, for the SOA record, its minimum.
    fn ttl(&mut self, stated_s: Option<u32>, rtype: Rtype, data: &[u8], spot: Spot) -> Result<u32, Fault> {
        if stated_s.is_some() {
            self.last_ttl_s = stated_s;
        }
        if let Some(ttl_s) = stated_s.or(self.default_ttl_s).or(self.last_ttl_s) {
            return Ok(ttl_s);
        }
        let hint = "put `$TTL 300` above the first record";
        if rtype == Rtype::SOA {
            let minimum_s = soa_minimum(data).min(ttl::MAX_TTL_S);
            self.last_ttl_s = Some(minimum_s);
            let text = format!("no TTL is given: taking the SOA minimum, {minimum_s}");
            self.report.warn(self.file, Fault::new(spot, text, hint));
            return Ok(minimum_s);
        }
        Err(Fault::new(spot, "the record has no TTL, and none is given before it", hint))
    }
}

/// The last field of SOA data, in seconds.
pub(super) fn soa_minimum(data: &[u8]) -> u32 {
    data.last_chunk::<SOA_MINIMUM_LEN>().map_or(0, |minimum| u32::from_be_bytes(*minimum))
}

/// The first number of SOA data.
pub(super) fn soa_serial(data: &[u8]) -> u32 {
    let numbers = data.last_chunk::<SOA_NUMBERS_LEN>();
    numbers.and_then(|numbers| numbers.first_chunk()).map_or(0, |serial| u32::from_be_bytes(*serial))
}

fn only<'e, 't>(name: &Token<'_>, arguments: &'e [Token<'t>], end: Spot) -> Result<&'e Token<'t>, Fault> {
    match arguments {
        [only] => Ok(only),
        [] => Err(Fault::new(end, format!("{} needs a value", name.raw), "")),
        [_, extra, ..] => Err(Fault::new(extra.spot, format!("{} takes one value", name.raw), "")),
    }
}

/// Reads a token as a TTL.
pub(super) fn read_ttl(token: &Token<'_>) -> Result<u32, Fault> {
    ttl::parse(token.raw)
        .map_err(|error| Fault::new(token.spot, format!("`{}` {}", token.excerpt(), error.text()), ttl::FORM))
}

fn in_class(class: Class, spot: Spot) -> Result<(), Fault> {
    if class == Class::IN {
        return Ok(());
    }
    Err(Fault::new(spot, format!("class {class}: only IN is served"), "write IN, or leave the class out"))
}

fn unknown_type(field: &Token<'_>) -> Fault {
    let hint = "any type can be written in the generic form of RFC 3597: TYPE65280 \\# LENGTH HEX";
    Fault::new(field.spot, format!("`{}` is no record type", field.excerpt()), hint)
}

/// Types that are no data: 0, OPT, and the query and meta types (RFC 6895 3.1).
fn is_meta(rtype: Rtype) -> bool {
    matches!(rtype.to_int(), 0 | 41 | 128..=255)
}
