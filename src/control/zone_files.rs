//! Master files and what they include, read from the zone folder and from nowhere else.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::files;
use crate::dns::zone::{Include, IncludeRefusal, ZoneFile};

/// The folder that `dns.zones` names.
#[derive(Clone, Copy, Debug)]
pub struct ZoneFolder<'d>(pub &'d Path);

impl ZoneFolder<'_> {
    /// Every `*.zone` in it, by name. Folders below it are not looked into: what lies there can be included.
    ///
    /// Errors: the folder or one of the files can't be read.
    pub fn zones(self) -> io::Result<Vec<ZoneFile>> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(self.0)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| is_zone(path));
        paths.sort();
        let read_zone = |path: PathBuf| {
            read(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
            })
        };
        paths.into_iter().map(read_zone).collect()
    }

    /// Where the file at `from` means with `written`: relative paths begin at its own folder.
    fn resolve(self, from: &Path, written: &Path) -> Result<PathBuf, IncludeRefusal> {
        let path = plain(&from.parent().unwrap_or(self.0).join(written));
        if !written.is_absolute() && !path.starts_with(plain(self.0)) {
            return Err(self.leads_out(written));
        }
        if path.parent() == Some(&*plain(self.0)) && is_zone(&path) {
            return Err(IncludeRefusal {
                text: format!("{} is a zone of its own", path.display()),
                hint: "every *.zone of the folder is: give what is only included another ending, as in .inc"
                    .to_owned(),
            });
        }
        Ok(path)
    }

    fn leads_out(self, written: &Path) -> IncludeRefusal {
        IncludeRefusal {
            text: format!("{} leads out of the zone folder", written.display()),
            hint: format!("put it into {}: files are included from there only", self.0.display()),
        }
    }
}

impl Include for ZoneFolder<'_> {
    fn file(&self, from: &Path, written: &Path) -> Result<ZoneFile, IncludeRefusal> {
        let path = self.resolve(from, written)?;
        let cannot_read = |error: io::Error| IncludeRefusal {
            text: format!("cannot read {}: {error}", path.display()),
            hint: "relative paths begin at the folder of the file that includes".to_owned(),
        };
        // Symbolic links count by where they end. What is checked is what is read.
        let real = fs::canonicalize(&path).map_err(cannot_read)?;
        let folder = fs::canonicalize(self.0).map_err(cannot_read)?;
        if !real.starts_with(folder) {
            return Err(self.leads_out(written));
        }
        let ZoneFile { text, .. } = read(&real).map_err(cannot_read)?;
        Ok(ZoneFile { path, text })
    }
}

fn is_zone(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zone")
}

/// Bytes outside UTF-8 become replacement characters: passed over in comments, elsewhere errors with their place.
fn read(path: &Path) -> io::Result<ZoneFile> {
    let bytes = files::read(path)?;
    Ok(ZoneFile { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() })
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
