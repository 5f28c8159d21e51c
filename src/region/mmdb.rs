//! The geo file: MaxMind DB bytes to a [`Database`], read once at load.
//!
//! Both schemas in use are read: MaxMind's nested one (`country.iso_code`, `continent.code`) and the flat one
//! (`country_code`, `continent_code`). `registered_country` and `represented_country` say something else (who holds the
//! addresses, whose base it is) and never stand in for `country`. The file is verified whole before it is believed; the
//! reader is dropped afterwards, so that nothing of the file is touched by a query.

mod record;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use maxminddb::{MaxMindDbError, Metadata, Reader, WithinOptions};

use super::geo::{Database, Place, PlaceId, Spans};
use super::iso::{Continent, Country};
use record::Record;

/// Why a geo file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MmdbError {
    /// Not a MaxMind DB, or a damaged one; what the reader says of it.
    Damaged(String),
    /// No record has a country or a continent; the type that the file names.
    WrongType(String),
    /// Two networks overlap.
    Overlap,
    /// The file knows more places than there can be.
    TooManyPlaces,
}

impl fmt::Display for MmdbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(detail) => write!(
                f,
                "not a whole MaxMind DB file: {detail}; download it again, unpacked, and put it in place with a rename"
            ),
            Self::WrongType(name) => write!(
                f,
                "no record of this database (type `{}`) has `country`, `country_code` or `continent`; use a country or \
                 city database",
                name.escape_debug()
            ),
            Self::Overlap => f.write_str("networks of this database overlap; download it again"),
            Self::TooManyPlaces => {
                write!(f, "this database knows more than {} places; use a country database", PlaceId::MAX)
            }
        }
    }
}

impl std::error::Error for MmdbError {}

impl From<MaxMindDbError> for MmdbError {
    fn from(error: MaxMindDbError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl Database {
    /// Reads a MaxMind DB file that is in memory. Verifies all of it; memory is bounded by a small multiple of its size.
    ///
    /// Errors: the file is damaged, or no record in it has a country or a continent.
    pub fn from_mmdb(mut bytes: Vec<u8>) -> Result<Self, MmdbError> {
        let epoch_s = cap_build_epoch(&mut bytes);
        let mut reader = Reader::from_source(bytes.as_slice())?;
        let metadata = reader.metadata().clone();
        if metadata.description.is_empty() || metadata.database_type.is_empty() {
            let labelled = labelled(&metadata);
            bytes.extend_from_slice(&labelled);
            reader = Reader::from_source(bytes.as_slice())?;
        }
        reader.verify()?;
        let mut database = Self::empty();
        database.build_epoch_s = epoch_s.unwrap_or(metadata.build_epoch);
        let mut records = Records { places: BTreeMap::new(), by_offset: BTreeMap::new(), any_field: false };
        for network in reader.networks(WithinOptions::default())? {
            let found = network?;
            let Some(offset) = found.offset() else { continue };
            let (place, unknown_code) = match records.by_offset.get(&offset) {
                Some(&known) => known,
                None => records.add(offset, &found.decode::<Record<'_>>()?.unwrap_or_default())?,
            };
            database.unknown_codes += u64::from(unknown_code);
            let network = found.network()?;
            if place != 0 {
                append(&mut database, network.ip(), network.prefix(), place)?;
            }
        }
        if !records.any_field {
            return Err(MmdbError::WrongType(metadata.database_type.chars().take(64).collect()));
        }
        let mut places: Vec<(Place, PlaceId)> = records.places.into_iter().collect();
        places.sort_by_key(|&(_, id)| id);
        database.places.extend(places.into_iter().map(|(place, _)| place));
        Ok(database)
    }
}

/// Adds a network to its family.
fn append(database: &mut Database, addr: IpAddr, len: u8, place: PlaceId) -> Result<(), MmdbError> {
    let added = match addr {
        IpAddr::V4(addr) => database.v4.append(addr.to_bits(), len, place),
        // In a tree without an IPv4 subtree, one record above its place is the record of all IPv4.
        IpAddr::V6(addr) if addr.is_unspecified() && len <= 96 => {
            let all_v4 = Spans::append(&mut database.v4, u32::MIN, 0, place);
            all_v4.and_then(|()| database.v6.append(addr.to_bits(), len, place))
        }
        IpAddr::V6(addr) => database.v6.append(addr.to_bits(), len, place),
    };
    added.map_err(|_| MmdbError::Overlap)
}

/// The records met so far: many networks share one.
struct Records {
    places: BTreeMap<Place, PlaceId>,
    /// By offset in the file: the place, and whether the record's country code does not exist.
    by_offset: BTreeMap<usize, (PlaceId, bool)>,
    any_field: bool,
}

impl Records {
    fn add(&mut self, offset: usize, record: &Record<'_>) -> Result<(PlaceId, bool), MmdbError> {
        self.any_field |= record.has_field;
        let country = record.country.and_then(Country::parse);
        let unknown_code = record.country.is_some() && country.is_none();
        let place = Place { country, own_continent: record.continent.and_then(Continent::parse) };
        let next = PlaceId::try_from(self.places.len() + 1).map_err(|_| MmdbError::TooManyPlaces)?;
        let id = match place {
            Place { country: None, own_continent: None } => 0,
            place => *self.places.entry(place).or_insert(next),
        };
        self.by_offset.insert(offset, (id, unknown_code));
        Ok((id, unknown_code))
    }
}

/// What the metadata at the end of a file begins with; the last such place counts.
const METADATA: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// Metadata that says the same, with a type and a description.
///
/// The verifier demands both, though no reader needs them and files in wide use (DB-IP's among them) go without. Behind
/// the file's own metadata this counts instead; what the verifier looks at beyond those labels is the same.
fn labelled(metadata: &Metadata) -> Vec<u8> {
    // Control bytes: the type in the upper three bits (7: map, 2: text, 5: u16, 6: u32), the size in the lower five;
    // types from 8 on add a byte (u64: 2, array: 4).
    let mut out = METADATA.to_vec();
    let text = |out: &mut Vec<u8>, text: &str| {
        out.push(2 << 5 | text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    };
    out.push(7 << 5 | 9);
    for (key, value) in [
        ("binary_format_major_version", metadata.binary_format_major_version),
        ("binary_format_minor_version", metadata.binary_format_minor_version),
        ("ip_version", metadata.ip_version),
        ("record_size", metadata.record_size),
    ] {
        text(&mut out, key);
        out.push(5 << 5 | 2);
        out.extend_from_slice(&value.to_be_bytes());
    }
    text(&mut out, "node_count");
    out.push(6 << 5 | 4);
    out.extend_from_slice(&metadata.node_count.to_be_bytes());
    text(&mut out, "build_epoch");
    out.extend_from_slice(&[8, 2]);
    out.extend_from_slice(&metadata.build_epoch.to_be_bytes());
    text(&mut out, "languages");
    out.extend_from_slice(&[0, 4]);
    text(&mut out, "database_type");
    text(&mut out, "unnamed");
    text(&mut out, "description");
    out.push(7 << 5 | 1);
    text(&mut out, "en");
    text(&mut out, "none");
    out
}

/// The reader refuses a build date that the machine's clock type can't hold, a date alone being no reason to refuse a
/// file. Such a date is lowered in the bytes and returned as it was.
fn cap_build_epoch(bytes: &mut [u8]) -> Option<u64> {
    /// The map key, with its control byte (a string of 11 bytes), then the value's (an unsigned 64-bit integer, all 8
    /// bytes present).
    const KEY: &[u8] = b"\x4bbuild_epoch\x08\x02";
    let metadata = bytes.windows(METADATA.len()).rposition(|window| window == METADATA)?;
    let metadata = bytes.get_mut(metadata..)?;
    let key = metadata.windows(KEY.len()).position(|window| window == KEY)?;
    let value = metadata.get_mut(key + KEY.len()..)?.first_chunk_mut::<8>()?;
    let epoch_s = u64::from_be_bytes(*value);
    let latest = u64::try_from(i64::MAX).ok()?;
    (epoch_s > latest).then(|| {
        *value = latest.to_be_bytes();
        epoch_s
    })
}

#[cfg(test)]
mod tests;
