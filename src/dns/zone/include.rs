//! `$INCLUDE file [origin]` (RFC 1035 5.1): another file's entries at this place.
//!
//! The file is read as if it stood here: it begins with the including file's origin (or the one that is given) and
//! owner, and a `$TTL` in it goes on holding behind it, as in BIND and NSD. Origin and owner are the including file's
//! again afterwards.

use std::path::Path;

use super::ZoneFile;
use super::master::Reader;
use super::rdata;
use super::text::{Fault, SourceId, Spot, Token};

/// Most files that are open at once, one including the next; the zone's own is not counted.
pub const MAX_INCLUDE_DEPTH: usize = 16;
/// Most files that one zone may include, each time counted.
pub const MAX_INCLUDED_FILES: usize = 4096;
/// Most text that one zone may get from included files and from `$GENERATE`, in bytes.
pub const MAX_EXPANDED_BYTES: usize = 64 << 20;

const HINT: &str = "as in `$INCLUDE hosts.inc` or `$INCLUDE hosts.inc lab.example.com.`";

/// Gives the texts of files that `$INCLUDE` names. Which files may be had is for the implementor to say.
pub trait Include {
    /// The file that the file at `from` calls `written`, escapes resolved. The path of what comes back is for
    /// messages, for the next file's `from`, and for finding circles.
    ///
    /// Errors: there is no such file, it can't be read, it isn't to be had, or it has more than `most_bytes`, which
    /// should be found before it is read.
    fn file(&self, from: &Path, written: &Path, most_bytes: usize) -> Result<ZoneFile, IncludeRefusal>;
}

/// Why a file cannot be included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncludeRefusal {
    /// It is longer than what is left to its zone.
    TooLong,
    /// Something else.
    Unusable {
        /// What is wrong.
        text: String,
        /// How to fix it; may be empty.
        hint: String,
    },
}

/// No files at all.
pub(super) struct Nothing;

impl Include for Nothing {
    fn file(&self, _from: &Path, written: &Path, _most_bytes: usize) -> Result<ZoneFile, IncludeRefusal> {
        let text = format!("there is no file {} to include", written.display());
        Err(IncludeRefusal::Unusable { text, hint: String::new() })
    }
}

impl Reader<'_> {
    /// Reads the file that an `$INCLUDE` at `spot` names.
    pub(super) fn include(&mut self, arguments: &[Token<'_>], spot: Spot, end: Spot) -> Result<(), Fault> {
        let (file, origin) = match arguments {
            [] => return Err(Fault::new(end, "$INCLUDE needs a file", HINT)),
            [file] => (file, None),
            [file, origin] => (file, Some(origin)),
            [_, _, extra, ..] => {
                return Err(Fault::new(extra.spot, "$INCLUDE takes a file and an origin, no more", HINT));
            }
        };
        let origin = match origin {
            Some(origin) => rdata::read_name(origin, &self.origin)?.to_ascii_lowercase().into(),
            None => self.origin.clone(),
        };
        let included = self.open(file, spot)?;
        let source = self.report.open(&included.path, Some(spot));
        let outer_origin = std::mem::replace(&mut self.origin, origin);
        let outer_owner = self.owner.clone();
        self.text(&included.text, source);
        self.origin = outer_origin;
        self.owner = outer_owner;
        Ok(())
    }

    fn open(&mut self, file: &Token<'_>, spot: Spot) -> Result<ZoneFile, Fault> {
        let name = String::from_utf8(rdata::octets(file.raw))
            .map_err(|_| Fault::new(file.spot, "the name of the file is not UTF-8", HINT))?;
        // Counted before they are looked at: a file that is read only to be refused costs as much as any other.
        self.included_files += 1;
        if self.included_files > MAX_INCLUDED_FILES {
            self.stopped = true;
            let text = format!("the zone includes more than {MAX_INCLUDED_FILES} files");
            return Err(Fault::new(file.spot, text, "each $INCLUDE counts, also of the same file"));
        }
        let from = self.report.path(spot.source);
        let left_bytes = MAX_EXPANDED_BYTES.saturating_sub(self.expanded_bytes);
        let included = match self.include.file(from, Path::new(&name), left_bytes) {
            Ok(included) => included,
            Err(IncludeRefusal::TooLong) => return Err(self.too_much(file.spot)),
            Err(IncludeRefusal::Unusable { text, hint }) => return Err(Fault::new(file.spot, text, hint)),
        };
        self.expand(included.text.len(), file.spot)?;
        let open = self.open_sources(spot);
        if open.iter().any(|&source| self.report.path(source) == included.path) {
            let text = format!("{} includes itself", included.path.display());
            return Err(Fault::new(file.spot, text, "remove this line, or the one that leads here"));
        }
        if open.len() > MAX_INCLUDE_DEPTH {
            let text = format!("files include each other {MAX_INCLUDE_DEPTH} deep");
            return Err(Fault::new(file.spot, text, "include it from a file further out"));
        }
        Ok(included)
    }

    /// The texts that are being read, innermost first.
    fn open_sources(&self, spot: Spot) -> Vec<SourceId> {
        let mut open = vec![spot.source];
        let mut from = self.report.included_from(spot.source);
        while let Some(spot) = from {
            open.push(spot.source);
            from = self.report.included_from(spot.source);
        }
        open
    }

    /// Counts text that comes from directives; beyond the bound nothing more is read.
    pub(super) fn expand(&mut self, bytes: usize, spot: Spot) -> Result<(), Fault> {
        self.expanded_bytes = self.expanded_bytes.saturating_add(bytes);
        if self.expanded_bytes <= MAX_EXPANDED_BYTES {
            return Ok(());
        }
        Err(self.too_much(spot))
    }

    /// Stops the reading: the directive at `spot` would lead beyond [`MAX_EXPANDED_BYTES`].
    fn too_much(&mut self, spot: Spot) -> Fault {
        self.stopped = true;
        let text =
            format!("$INCLUDE and $GENERATE make more than {} MiB of this zone", MAX_EXPANDED_BYTES >> 20);
        Fault::new(spot, text, "split it into several zones")
    }
}
