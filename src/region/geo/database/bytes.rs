//! The database as bytes, for the state directory. All integers are little-endian:
//!
//! ```text
//! "WAYPGEO1"  build u64  unknown_codes u64  places u32  v4 ranges u32  v6 ranges u32
//! places:     two letters of the country or zeros, continent (its position + 1, or 0), 0
//! v4 ranges:  every first address u32, then every place u16
//! v6 ranges:  every first address u128, then every place u16
//! SHA-256 of all that
//! ```

use std::fmt;

use sha2::{Digest, Sha256};

use super::{Bits, Continent, Country, Database, Place, PlaceId, Spans};

/// What the bytes begin with; the last one is the version of the format.
const MAGIC: &[u8; 8] = b"WAYPGEO1";
const HEAD_LEN: usize = 8 + 8 + 8 + 4 + 4 + 4;
const PLACE_LEN: usize = 4;
const DIGEST_LEN: usize = 32;

/// Why stored bytes are no [`Database`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredError {
    /// Not such a file, or one of another version of this program.
    Foreign,
    /// The digest or the length is wrong: the file is damaged.
    Damaged,
    /// The digest is right and the content is not.
    Invalid,
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => {
                "not a stored geo table of this version; it is written anew when a geo file loads"
            }
            Self::Damaged => "the stored geo table is damaged; it is written anew when a geo file loads",
            Self::Invalid => {
                "the stored geo table contradicts itself; it is written anew when a geo file loads"
            }
        })
    }
}

impl std::error::Error for StoredError {}

impl Database {
    /// The database as bytes that [`Database::from_bytes`] reads; about as many as it takes in memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_LEN + self.bytes() + DIGEST_LEN);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.build_epoch_s.to_le_bytes());
        out.extend_from_slice(&self.unknown_codes.to_le_bytes());
        for count in [self.places.len(), self.v4.starts.len(), self.v6.starts.len()] {
            out.extend_from_slice(&(count as u32).to_le_bytes());
        }
        for place in &self.places {
            let [first, second] = place.country.map_or([0, 0], |country| country.0);
            let continent = place.own_continent.map_or(0, |continent| continent as u8 + 1);
            out.extend_from_slice(&[first, second, continent, 0]);
        }
        self.v4.starts.iter().for_each(|start| out.extend_from_slice(&start.to_le_bytes()));
        self.v4.places.iter().for_each(|place| out.extend_from_slice(&place.to_le_bytes()));
        self.v6.starts.iter().for_each(|start| out.extend_from_slice(&start.to_le_bytes()));
        self.v6.places.iter().for_each(|place| out.extend_from_slice(&place.to_le_bytes()));
        let digest = Sha256::digest(&out);
        out.extend_from_slice(&digest);
        out
    }

    /// Reads what [`Database::to_bytes`] wrote. Allocates at most about the length of `bytes`.
    ///
    /// Errors: the bytes are not such, damaged, or contradict themselves.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoredError> {
        if !bytes.starts_with(MAGIC) {
            return Err(StoredError::Foreign);
        }
        let (body, digest) = bytes.split_last_chunk::<DIGEST_LEN>().ok_or(StoredError::Damaged)?;
        if Sha256::digest(body)[..] != digest[..] {
            return Err(StoredError::Damaged);
        }
        read_body(body).ok_or(StoredError::Invalid)
    }
}

fn read_body(body: &[u8]) -> Option<Database> {
    let mut rest = body.get(MAGIC.len()..)?;
    let build_epoch_s = u64::from_le_bytes(take(&mut rest)?);
    let unknown_codes = u64::from_le_bytes(take(&mut rest)?);
    let mut count = || Some(u32::from_le_bytes(take(&mut rest)?) as usize);
    let (places, v4, v6) = (count()?, count()?, count()?);

    let places: Option<Vec<Place>> = many(&mut rest, places)?.map(read_place).collect();
    let places = places.filter(|places| places.first() == Some(&Place::default()))?;
    let v4 = spans(many(&mut rest, v4)?.map(u32::from_le_bytes), many(&mut rest, v4)?, places.len())?;
    let v6 = spans(many(&mut rest, v6)?.map(u128::from_le_bytes), many(&mut rest, v6)?, places.len())?;
    rest.is_empty().then_some(Database { build_epoch_s, unknown_codes, places, v4, v6 })
}

fn read_place([first, second, continent, spare]: [u8; PLACE_LEN]) -> Option<Place> {
    let country = match [first, second] {
        [0, 0] => None,
        letters => Some(Country::parse(std::str::from_utf8(&letters).ok()?)?),
    };
    let own_continent = match continent.checked_sub(1) {
        None => None,
        Some(number) => Some(*Continent::ALL.get(usize::from(number))?),
    };
    (spare == 0).then_some(Place { country, own_continent })
}

/// `None` unless the ranges ascend from the lowest address and name places that exist.
fn spans<'a, A: Bits>(
    starts: impl Iterator<Item = A>,
    places: impl Iterator<Item = [u8; 2]> + 'a,
    count: usize,
) -> Option<Spans<A>> {
    let starts: Vec<A> = starts.collect();
    let places: Vec<PlaceId> = places.map(PlaceId::from_le_bytes).collect();
    let whole = starts.first() == Some(&A::MIN) && starts.is_sorted_by(|one, next| one < next);
    let known = places.iter().all(|&place| usize::from(place) < count);
    (whole && known).then_some(Spans { starts, places })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (&head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(head)
}

/// The next `count` items of `N` bytes; `None`, before anything is allocated, when there are not so many.
fn many<'a, const N: usize>(
    rest: &mut &'a [u8],
    count: usize,
) -> Option<impl Iterator<Item = [u8; N]> + use<'a, N>> {
    let (items, tail) = rest.split_at_checked(count.checked_mul(N)?)?;
    *rest = tail;
    let (items, _) = items.as_chunks::<N>();
    Some(items.iter().copied())
}
