//! Files as they are read here: regular ones of a bounded length.
//!
//! Opening a pipe waits for its other end, and a device may never come to its end: either would hold whoever reads, and
//! everything that waits for him, for good.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Longest file that is read, in bytes. The largest public geo databases have a tenth of it.
pub const MAX_BYTES: u64 = 1 << 30;

/// Reads a whole file.
///
/// Errors: it can't be read, is no regular file, or is longer than [`MAX_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_BYTES)
}

/// Reads a whole file of at most so many bytes; a longer one is refused by its length, before it is read.
///
/// Errors: it can't be read, is no regular file, or is longer ([`io::ErrorKind::FileTooLarge`]).
pub fn read_at_most(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= most_bytes {
        // It may have grown since.
        File::open(path)?.take(most_bytes + 1).read_to_end(&mut bytes)?;
    }
    if metadata.len().max(bytes.len() as u64) > most_bytes {
        let text = format!("it is longer than {most_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Reads a whole text.
///
/// Errors: as [`read`], or it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read(path)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// What helps when a file or folder that the configuration names can't be read; may be empty.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "is the name right? Relative paths begin at the folder of the configuration file"
        }
        io::ErrorKind::PermissionDenied => {
            "let the user that waypost runs as read it, and enter the folders above it"
        }
        io::ErrorKind::NotADirectory => "it takes a folder",
        io::ErrorKind::FileTooLarge => "is it the right file? Such a length is refused unread",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_that_nobody_writes_to_and_a_device_without_end_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path()] {
            assert_eq!(read(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", path.display());
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_refused_by_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        fs::write(&path, "1234").unwrap();
        assert_eq!(read_at_most(&path, 4).unwrap(), b"1234");
        assert_eq!(read_at_most(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // Of which no machine has the memory.
        File::create(&path).unwrap().set_len(1 << 42).unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_text_that_is_not_utf8_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        fs::write(&path, [b'a', 0xff]).unwrap();
        assert_eq!(read(&path).unwrap(), [b'a', 0xff]);
        assert_eq!(read_text(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
