//! The secrets of DNS cookies, in `state_dir`: made when absent, read at start and by every reload, never shown.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::files;
use super::recorder::write_secret_atomically;
use crate::dns::cookie::{SECRET_LEN, Secret, Secrets};

/// The file's name.
pub const FILE: &str = "cookie.key";

/// Hexadecimal digits of a secret.
const DIGITS: usize = 2 * SECRET_LEN;

/// What a load does about the file.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Nothing: nobody will be answered.
    Untouched,
    /// Read it if it is there and can be read, to find what is wrong with it.
    Checked,
    /// Read it, or make it. When neither can be done these secrets stay, or new ones are used that no file holds.
    Kept(Option<Secrets>),
}

/// Why the file can't be used. Never shows what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    path: PathBuf,
    /// From 1.
    line: usize,
    /// From 1.
    column: usize,
    fault: KeyFault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyFault {
    Empty,
    Digit,
    Length(usize),
    Third,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: error: ", self.path.display(), self.line, self.column)?;
        match self.fault {
            KeyFault::Empty => write!(f, "it holds no secret"),
            KeyFault::Digit => write!(f, "this is no hexadecimal digit"),
            KeyFault::Length(len) => write!(f, "a secret has {DIGITS} hexadecimal digits, this one {len}"),
            KeyFault::Third => write!(f, "a third secret: the first makes cookies, a second may verify them"),
        }?;
        let hint = match self.fault {
            KeyFault::Third => "delete the one that no server of the set makes cookies with any more",
            _ => {
                "write one, for example with `openssl rand -hex 16`, or delete the file and a new one is made"
            }
        };
        write!(f, "\n  hint: {hint}")
    }
}

impl std::error::Error for Malformed {}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// The live secrets; absent where nobody asked for them.
    pub secrets: Option<Secrets>,
    /// What is odd.
    pub warning: Option<String>,
}

impl Key {
    fn of(secrets: Secrets) -> Self {
        Self { secrets: Some(secrets), warning: None }
    }
}

/// Does about the file in `state_dir` what `access` says. Never keeps a server from answering but for a malformed file.
///
/// Errors: the file is there and malformed.
pub fn open(state_dir: &Path, access: Access) -> Result<Key, Malformed> {
    let path = state_dir.join(FILE);
    let in_use = match access {
        Access::Untouched => return Ok(Key::default()),
        Access::Checked => {
            let text = files::read_text(&path).ok();
            let secrets = text.map(|text| parse(&text, &path)).transpose()?;
            return Ok(Key { secrets, warning: exposed(&path) });
        }
        Access::Kept(in_use) => in_use,
    };
    match files::read_text(&path) {
        Ok(text) => Ok(Key { warning: exposed(&path), ..Key::of(parse(&text, &path)?) }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_first_start(&path, &in_use) => {
            Ok(make(&path, in_use))
        }
        // Bytes that are no text are malformed, and not a disk that fails.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Malformed { path, line: 1, column: 1, fault: KeyFault::Digit })
        }
        Err(error) => Ok(stand_in(&path, "read", &error, in_use)),
    }
}

/// Whether there never was a file: nothing is in use, and nothing stands there that leads to one which is away for now.
fn is_first_start(path: &Path, in_use: &Option<Secrets>) -> bool {
    in_use.is_none() && fs::symlink_metadata(path).is_err()
}

fn make(path: &Path, in_use: Option<Secrets>) -> Key {
    let (secret, digits) = match draw() {
        Ok(bytes) => (Secret::new(bytes), hex(&bytes)),
        Err(error) => return stand_in(path, "make", &error, in_use),
    };
    match write_secret_atomically(path, format!("{digits}\n").as_bytes()) {
        Ok(()) => Key::of(Secrets { first: secret, second: None }),
        Err(error) => {
            let drawn = Secrets { first: secret, second: None };
            stand_in(path, "make", &error, Some(in_use.unwrap_or(drawn)))
        }
    }
}

/// Cookies go on with secrets that the file does not hold; without any, they are off.
fn stand_in(path: &Path, what: &str, error: &io::Error, in_use: Option<Secrets>) -> Key {
    let drawn = || draw().ok().map(|bytes| Secrets { first: Secret::new(bytes), second: None });
    let path = path.display();
    let warning = format!(
        "cannot {what} {path}: {error}; cookies are made with a secret in memory, and those that clients hold end with \
         this process"
    );
    Key { secrets: in_use.or_else(drawn), warning: Some(warning) }
}

fn draw() -> io::Result<[u8; SECRET_LEN]> {
    let mut bytes = [0; SECRET_LEN];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether others may read the secret.
fn exposed(path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let shown = path.display();
    (mode & 0o077 != 0).then(|| format!("{shown} can be read by others (mode {mode:04o}): chmod 600 {shown}"))
}

/// Reads one or two lines of digits; empty ones don't count.
fn parse(text: &str, path: &Path) -> Result<Secrets, Malformed> {
    let malformed =
        |line: usize, column: usize, fault| Malformed { path: path.to_owned(), line, column, fault };
    let mut secrets = Vec::new();
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim_end()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        if secrets.len() == 2 {
            return Err(malformed(number, 1, KeyFault::Third));
        }
        if let Some(at) = line.chars().position(|digit| !digit.is_ascii_hexdigit()) {
            return Err(malformed(number, at + 1, KeyFault::Digit));
        }
        let secret = (line.len() == DIGITS).then(|| u128::from_str_radix(line, 16).ok()).flatten();
        let secret = secret.ok_or_else(|| malformed(number, 1, KeyFault::Length(line.len())))?;
        secrets.push(Secret::new(secret.to_be_bytes()));
    }
    let mut secrets = secrets.into_iter();
    let first = secrets.next().ok_or_else(|| malformed(1, 1, KeyFault::Empty))?;
    Ok(Secrets { first, second: secrets.next() })
}

#[cfg(test)]
mod tests;
