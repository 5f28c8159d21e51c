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
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let text = format!("it is longer than {MAX_BYTES} bytes");
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
    fn a_text_that_is_not_utf8_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        fs::write(&path, [b'a', 0xff]).unwrap();
        assert_eq!(read(&path).unwrap(), [b'a', 0xff]);
        assert_eq!(read_text(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
