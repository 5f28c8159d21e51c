//! The one folder in which the demo writes.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::super::{Exit, Failure};

/// Names that are tried: another demo with this process id may have been killed before it could clean up.
const NAMES_TRIED: u32 = 100;

/// A folder for this user alone, removed at the end.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    removed: bool,
}

impl Folder {
    /// Makes a new folder in `parent`. Making it is the test, so what somebody else put there is never used.
    ///
    /// Errors: nothing can be made there.
    pub(super) fn make(parent: &Path) -> Result<Self, Failure> {
        let id = std::process::id();
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for number in 0..NAMES_TRIED {
            let path = parent.join(format!("waypost-demo.{id}.{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path, removed: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        Err(cannot_write(parent, &last))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn cannot_write(&self, error: &io::Error) -> Failure {
        cannot_write(&self.path, error)
    }

    /// Removes it with everything in it.
    ///
    /// Errors: something is left.
    pub(super) fn remove(mut self) -> Result<(), Failure> {
        self.removed = true;
        fs::remove_dir_all(&self.path).map_err(|error| {
            let text = format!("cannot remove {}: {error}", self.path.display());
            Failure::new(Exit::BAD, text).hint("remove it by hand")
        })
    }
}

impl Drop for Folder {
    /// For the ways out on which something else is the matter.
    fn drop(&mut self) {
        if !self.removed {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let text = format!("cannot write in {}, where the demo keeps its files: {error}", path.display());
    Failure::new(Exit::BAD, text)
        .hint("it needs some 20 MB in a folder that this user may write; TMPDIR=FOLDER names another")
}
