//! What operators do to a running server: orders through the admin file, releases, reloads. One at a time, each with
//! its preview, its guard, its reason and its audit line.

use serde::{Deserialize, Serialize};

use super::preview::Preview;

/// What an operator asks for; the names are those of the command line and the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The region's name.
    pub region: String,
    /// A glob over services; absent: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// RFC 3339; absent: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// A duration (`2h`) from the beginning; absent: until it is removed.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// `up` or `down`, for a force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// Do it although the guard refuses.
    #[serde(default)]
    pub force: bool,
}

/// What kind of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Take a region out.
    Drain,
    /// Put it back.
    Undrain,
    /// Say that it is up or down, whatever the probes say.
    Force,
    /// Let the probes say again.
    Unforce,
}

impl Verb {
    /// The word on the command line and in the API's path.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Undrain => "undrain",
            Self::Force => "force",
            Self::Unforce => "unforce",
        }
    }
}

/// It is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The serial from which it holds; absent on a dry run, or without a running server.
    pub serial: Option<u64>,
    /// Whether it is live.
    pub live: bool,
    /// Whether anything changed.
    pub changed: bool,
    /// What was done, in a sentence.
    pub text: String,
    /// What it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// What to know.
    pub warnings: Vec<String>,
}

/// It was not done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What is wrong, in a sentence or several lines.
    pub text: String,
    /// What to do about it; may be empty.
    pub hint: String,
    /// What it would have moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<Preview>>,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// What was asked for makes no sense: an unknown region, a glob that matches nothing, a bad moment.
    BadRequest,
    /// The admin file on disk, or the configuration, is invalid.
    InvalidFile,
    /// The guard refuses.
    Guard,
    /// There is nothing to undo; perhaps a wider order still holds.
    NothingToDo,
    /// The file could not be written.
    CannotWrite,
    /// A key that needs a restart changed.
    NeedsRestart,
    /// The server is stopping.
    Stopping,
}

impl RefusalKind {
    /// The HTTP status of the API's answer.
    pub const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::NothingToDo | Self::Guard | Self::InvalidFile | Self::NeedsRestart => 409,
            Self::CannotWrite => 500,
            Self::Stopping => 503,
        }
    }

    /// The exit code of the command line.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::BadRequest => 2,
            Self::Guard => 7,
            Self::InvalidFile | Self::NothingToDo | Self::CannotWrite | Self::NeedsRestart => 1,
            Self::Stopping => 3,
        }
    }
}
