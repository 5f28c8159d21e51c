//! Master files to records (RFC 1035 5): directives, owners, classes, TTLs.

use std::collections::BTreeSet;
use std::str::FromStr;

use domain::base::iana::{Class, Rtype};

use super::ZoneFile;
use super::include::Include;
use super::name::{self, Name};
use super::report::Report;
use super::text::{Entries, Entry, Fault, SourceId, Spot, Token};
use super::{rdata, ttl};

/// Most records of one zone, with those of included files and those that are generated.
pub const MAX_ZONE_RECORDS: usize = 5_000_000;
/// Types that people write, for hints about others.
const USUAL_TYPES: [Rtype; 19] = [
    Rtype::A,
    Rtype::AAAA,
    Rtype::NS,
    Rtype::CNAME,
    Rtype::SOA,
    Rtype::PTR,
    Rtype::MX,
    Rtype::TXT,
    Rtype::SRV,
    Rtype::CAA,
    Rtype::DNAME,
    Rtype::DS,
    Rtype::HTTPS,
    Rtype::SVCB,
    Rtype::TLSA,
    Rtype::SSHFP,
    Rtype::NAPTR,
    Rtype::LOC,
    Rtype::URI,
];
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
    /// The number of the file's text.
    pub(super) source: SourceId,
}

/// Reads a file and what it includes; whatever is wrong goes to `report`, entry by entry.
pub(super) fn read(file: &ZoneFile, include: &dyn Include, report: &mut Report) -> Master {
    let source = report.open(&file.path, None);
    let mut reader = Reader {
        origin: default_origin(file),
        owner: Owner::None,
        default_ttl_s: None,
        last_ttl_s: None,
        expanded_bytes: 0,
        included_files: 0,
        stopped: false,
        master: Master { source, ..Master::default() },
        include,
        report,
    };
    reader.text(&file.text, source);
    reader.master
}

/// The origin before the first `$ORIGIN`: what the file is called, without `.zone`; the root when that is no name.
pub(super) fn default_origin(file: &ZoneFile) -> Name {
    let stem = file.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let origin = name::parse(stem, name::ROOT).unwrap_or_else(|_| name::ROOT.into());
    origin.to_ascii_lowercase().into()
}

/// The owner that an indented entry has.
#[derive(Clone)]
pub(super) enum Owner {
    None,
    /// The entry that named it could not be read.
    Broken,
    Name(Name),
}

/// What one entry leaves for the next, and what was read.
pub(super) struct Reader<'a> {
    pub(super) origin: Name,
    pub(super) owner: Owner,
    /// `$TTL` (RFC 2308 4).
    default_ttl_s: Option<u32>,
    /// The last that a record gave (RFC 1035 5.1).
    last_ttl_s: Option<u32>,
    /// Text that came from `$INCLUDE` and `$GENERATE` so far.
    pub(super) expanded_bytes: usize,
    /// Files that were included so far.
    pub(super) included_files: usize,
    /// A bound is reached: nothing more is read.
    pub(super) stopped: bool,
    master: Master,
    pub(super) include: &'a dyn Include,
    pub(super) report: &'a mut Report,
}

impl Reader<'_> {
    /// Reads a text, entry by entry.
    pub(super) fn text(&mut self, text: &str, source: SourceId) {
        for entry in Entries::new(text, source) {
            if let Err(fault) = entry.and_then(|entry| self.entry(&entry)) {
                self.master.broken = true;
                // The file is refused: later records need not be told that this one would have given them a TTL.
                self.last_ttl_s.get_or_insert(0);
                self.report.error(fault);
            }
            if self.stopped {
                return;
            }
        }
    }

    fn entry(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        let Some((first, rest)) = entry.tokens.split_first() else { return Ok(()) };
        if !entry.indented && !first.quoted && first.raw.starts_with('$') {
            return self.directive(first, rest, entry.end);
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
            Owner::Broken => return Ok(()),
            Owner::None => {
                return Err(Fault::new(
                    first.spot,
                    "the line begins with white space, but no record before it has a name to share",
                    "begin the line with a name, or with @ for the zone itself",
                ));
            }
        };
        let head = self.head(fields, entry.end)?;
        self.record(owner, head, head.fields, first.spot)
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
            "$INCLUDE" => self.include(arguments, name.spot, end)?,
            "$GENERATE" => self.generate(arguments, name.spot, end)?,
            _ => {
                return Err(Fault::new(
                    name.spot,
                    format!("no directive is called {}", name.excerpt()),
                    "there are $ORIGIN, $TTL, $INCLUDE and $GENERATE; a name that begins with a dollar is written \\$",
                ));
            }
        }
        Ok(())
    }

    /// `[TTL] [class] type`, the first two in either order.
    pub(super) fn head<'e, 't>(&self, fields: &'e [Token<'t>], end: Spot) -> Result<Head<'e, 't>, Fault> {
        let mut fields = fields;
        let (mut ttl_s, mut class_seen) = (None, false);
        let (rtype, spot) = loop {
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
            return Err(Fault::new(spot, text, ""));
        }
        Ok(Head { ttl_s, rtype, spot, fields })
    }

    /// Adds a record: `data` is what follows the type, `start` where the record begins.
    pub(super) fn record(
        &mut self,
        owner: Name,
        head: Head<'_, '_>,
        data: &[Token<'_>],
        start: Spot,
    ) -> Result<(), Fault> {
        let Head { ttl_s, rtype, spot, .. } = head;
        let data = rdata::encode(rtype, data, &self.origin, spot)?;
        let ttl_s = self.ttl(ttl_s, rtype, &data, spot)?;
        if self.master.records.len() >= MAX_ZONE_RECORDS {
            self.stopped = true;
            let text = format!("the zone has more than {MAX_ZONE_RECORDS} records");
            return Err(Fault::new(start, text, "split it into several zones"));
        }
        self.master.records.push(Record { owner, rtype, ttl_s, data, spot: start });
        Ok(())
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
            self.report.warn(Fault::new(spot, text, hint));
            return Ok(minimum_s);
        }
        Err(Fault::new(spot, "the record has no TTL, and none is given before it", hint))
    }
}

/// What stands before the data of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'e, 't> {
    pub(super) ttl_s: Option<u32>,
    pub(super) rtype: Rtype,
    /// Where the type stands.
    pub(super) spot: Spot,
    /// The data.
    pub(super) fields: &'e [Token<'t>],
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
    let meant: Vec<String> = meant(field.raw).iter().map(|rtype| format!("`{rtype}`")).collect();
    let hint = if meant.is_empty() {
        "any type can be written in the generic form of RFC 3597: TYPE65280 \\# LENGTH HEX".to_owned()
    } else {
        format!("did you mean {}?", meant.join(" or "))
    };
    Fault::new(field.spot, format!("`{}` is no record type", field.excerpt()), hint)
}

/// The usual types with the same letters, however often and in whatever order, give or take one in words of three and
/// more: the nearest.
fn meant(typed: &str) -> Vec<Rtype> {
    let letters = |word: &str| word.to_ascii_uppercase().chars().collect::<BTreeSet<char>>();
    let typed_letters = letters(typed);
    let most_apart = usize::from(typed.len() > 2);
    let apart = |rtype: &Rtype| letters(&rtype.to_string()).symmetric_difference(&typed_letters).count();
    let near = || USUAL_TYPES.into_iter().filter(|rtype| apart(rtype) <= most_apart);
    let nearest = near().map(|rtype| apart(&rtype)).min();
    near().filter(|rtype| Some(apart(rtype)) == nearest).collect()
}

/// Types that are no data: 0, OPT, and the query and meta types (RFC 6895 3.1).
fn is_meta(rtype: Rtype) -> bool {
    matches!(rtype.to_int(), 0 | 41 | 128..=255)
}
