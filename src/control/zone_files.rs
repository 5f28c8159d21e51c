//! Master files and what they include, read from the zone folder and from nowhere else.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::files;
use crate::dns::zone::{Include, IncludeRefusal, ZoneFile};

/// Longest master file, in bytes: room for [`MAX_ZONE_RECORDS`](crate::dns::zone::MAX_ZONE_RECORDS) of fifty bytes
/// each.
const MAX_ZONE_BYTES: u64 = 256 << 20;

/// The folder that `dns.zones` names.
#[derive(Clone, Copy, Debug)]
pub struct ZoneFolder<'d>(pub &'d Path);

/// What of a zone folder can't be read: itself, or a file in it.
#[derive(Debug)]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl ZoneFolder<'_> {
    /// Every `*.zone` in it, by name. Folders below it are not looked into: what lies there can be included.
    ///
    /// Errors: the folder or one of the files can't be read.
    pub fn zones(self) -> Result<Vec<ZoneFile>, Unreadable> {
        let listed =
            || -> io::Result<Vec<PathBuf>> { fs::read_dir(self.0)?.map(|entry| Ok(entry?.path())).collect() };
        let mut paths = listed().map_err(|error| Unreadable { path: self.0.to_owned(), error })?;
        paths.retain(|path| is_zone(path));
        paths.sort();
        let read_zone =
            |path: PathBuf| read(&path, MAX_ZONE_BYTES).map_err(|error| Unreadable { path, error });
        paths.into_iter().map(read_zone).collect()
    }

    /// Where the file at `from` means with `written`: relative paths begin at its own folder.
    fn resolve(self, from: &Path, written: &Path) -> Result<PathBuf, IncludeRefusal> {
        let path = plain(&from.parent().unwrap_or(self.0).join(written));
        if !written.is_absolute() && !path.starts_with(plain(self.0)) {
            return Err(self.leads_out(written));
        }
        if path.parent() == Some(&*plain(self.0)) && is_zone(&path) {
            return Err(IncludeRefusal::Unusable {
                text: format!("{} is a zone of its own", path.display()),
                hint: "every *.zone of the folder is: give what is only included another ending, as in .inc"
                    .to_owned(),
            });
        }
        Ok(path)
    }

    fn leads_out(self, written: &Path) -> IncludeRefusal {
        IncludeRefusal::Unusable {
            text: format!("{} leads out of the zone folder", written.display()),
            hint: format!("put it into {}: files are included from there only", self.0.display()),
        }
    }
}

impl Include for ZoneFolder<'_> {
    fn file(&self, from: &Path, written: &Path, most_bytes: usize) -> Result<ZoneFile, IncludeRefusal> {
        let path = self.resolve(from, written)?;
        let cannot_read = |error: io::Error| match error.kind() {
            io::ErrorKind::FileTooLarge => IncludeRefusal::TooLong,
            _ => IncludeRefusal::Unusable {
                text: format!("cannot read {}: {error}", path.display()),
                hint: "relative paths begin at the folder of the file that includes".to_owned(),
            },
        };
        // Symbolic links count by where they end. What is checked is what is read.
        let real = fs::canonicalize(&path).map_err(cannot_read)?;
        let folder = fs::canonicalize(self.0).map_err(cannot_read)?;
        if !real.starts_with(folder) {
            return Err(self.leads_out(written));
        }
        let ZoneFile { text, .. } = read(&real, most_bytes as u64).map_err(cannot_read)?;
        Ok(ZoneFile { path, text })
    }
}

fn is_zone(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zone")
}

/// Bytes outside UTF-8 become replacement characters: passed over in comments, elsewhere errors with their place.
fn read(path: &Path, most_bytes: u64) -> io::Result<ZoneFile> {
    let bytes = files::read_at_most(path, most_bytes)?;
    // Nothing is copied unless it has to be.
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(ZoneFile { path: path.to_owned(), text })
}

/// A path without `.` and `x/..`, by its words alone; `..` that nothing precedes stays.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        let last = plain.components().next_back();
        match (component, last) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                plain.pop();
            }
            _ => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
