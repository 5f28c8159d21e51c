//! Zones: master files (RFC 1035) to one lookup table of pre-encoded RRsets, built at load, never changed.

use std::path::PathBuf;

use super::answer::ServiceIndex;

/// A master file, read.
#[derive(Clone, Debug)]
pub struct ZoneFile {
    /// Where it lies, for messages.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A service to be answered at a name of a zone.
#[derive(Clone, Debug)]
pub struct BoundService {
    /// The name, lower case, without the trailing dot; may begin with `*.`.
    pub name: String,
    /// The config file's line that names it.
    pub line: usize,
    /// Whether it answers A.
    pub a: bool,
    /// Whether it answers AAAA.
    pub aaaa: bool,
    /// Whether it answers an alias, to every type but ANY.
    pub cname: bool,
}

/// Something wrong or odd in a zone, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0: the file as a whole.
    pub line: usize,
    /// The column, from 1; 0: the line as a whole.
    pub column: usize,
    /// What is wrong.
    pub text: String,
    /// How to fix it; may be empty.
    pub hint: String,
}

/// Every name of every zone.
#[derive(Debug, Default)]
pub struct Zones {}

impl Zones {
    /// Compiles the files and binds `services` (by their position) to their names; returns what is odd beside it.
    ///
    /// Errors: everything that is wrong, at once.
    pub fn build(files: &[ZoneFile], services: &[BoundService]) -> Result<(Self, Vec<Notice>), Vec<Notice>> {
        let _ = (files, services);
        Ok((Self {}, Vec::new()))
    }

    /// What stands at a name: wire form, lower case, uncompressed. One hash lookup when the name exists.
    pub fn find(&self, name: &[u8]) -> Found<'_> {
        let _ = name;
        Found::Outside
    }
}

/// What stands at a name.
#[derive(Debug)]
pub enum Found<'z> {
    /// No zone holds the name.
    Outside,
    /// The name exists, or a wildcard stands in for it (RFC 4592): `node` is the name's or the wildcard's.
    Node {
        /// The zone.
        zone: &'z Zone,
        /// What stands there; an empty non-terminal has no data and no service.
        node: &'z Node,
    },
    /// The zone has no such name (RFC 8020).
    NoName {
        /// The zone.
        zone: &'z Zone,
    },
    /// The name lies at or below a zone cut.
    Cut {
        /// The zone.
        zone: &'z Zone,
        /// The referral.
        cut: &'z Cut,
    },
}

/// One zone.
#[derive(Debug)]
pub struct Zone {
    /// The apex in wire form, lower case.
    pub apex: Box<[u8]>,
    /// The SOA record for negative answers: everything after the owner name (type, class, TTL as RFC 2308 says,
    /// length, data).
    pub negative_soa: Box<[u8]>,
}

/// What stands at one name.
#[derive(Debug, Default)]
pub struct Node {
    /// RRsets, by type.
    pub rrsets: Vec<Rrset>,
    /// The service that answers here.
    pub service: Option<ServiceIndex>,
}

/// One RRset, encoded: each record is the pointer 0xC00C (the question's name), type, class, TTL, length, data, with
/// names in the data uncompressed.
#[derive(Debug)]
pub struct Rrset {
    /// The type.
    pub rtype: u16,
    /// Number of records.
    pub count: u16,
    /// The records.
    pub bytes: Box<[u8]>,
    /// For a CNAME: its target in wire form, lower case; else empty.
    pub target: Box<[u8]>,
    /// Address records that an answer with this RRset adds (RFC 1034 4.3.2 step 6): owners in full; may be empty.
    pub additional: Box<[u8]>,
    /// Number of records in `additional`.
    pub additional_count: u16,
}

/// A delegation inside a zone.
#[derive(Debug)]
pub struct Cut {
    /// Length of the cut's owner name in wire form: the referral's owner is the last so many bytes of the query name.
    pub owner_len: usize,
    /// The NS records without their owner: type, class, TTL, length, data, one after the other.
    pub ns: Vec<Box<[u8]>>,
    /// DS records likewise (RFC 4035 3.1.4.1).
    pub ds: Vec<Box<[u8]>>,
    /// Glue: whole address records with owners in full, in-bailiwick first (RFC 9471).
    pub glue: Vec<Box<[u8]>>,
}
