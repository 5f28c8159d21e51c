//! Errors as the API tells them: problem details (RFC 9457) with the rule that was broken and a hint.

use serde::Serialize;

use crate::control::operate::{Refusal, RefusalKind};
use crate::control::preview::Preview;

/// A problem document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// `about:blank` when the status says it all (RFC 9457 4.2.1), else a URN of ours.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What kind of problem, the same words each time.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// This problem, in a sentence or several lines.
    pub detail: Box<str>,
    /// The rule that was broken; may be empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub rule: &'static str,
    /// What to do about it; may be empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub hint: Box<str>,
    /// What a refused order would have moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<Preview>>,
    /// The methods that the resource has, for 405.
    #[serde(skip)]
    pub allow: Option<&'static str>,
}

impl Problem {
    /// A problem that its status says.
    pub fn new(status: u16, detail: impl Into<Box<str>>) -> Self {
        Self {
            kind: "about:blank",
            title: title(status),
            status,
            detail: detail.into(),
            rule: "",
            hint: Box::default(),
            preview: None,
            allow: None,
        }
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same with a rule.
    pub fn rule(mut self, rule: &'static str) -> Self {
        self.rule = rule;
        self
    }

    /// The server is on its way out.
    pub fn stopping() -> Self {
        let text = "the server is stopping".to_owned();
        let kind = RefusalKind::Stopping;
        Refusal { kind, text, hint: String::new(), preview: None }.into()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let (kind, title, rule) = match refusal.kind {
            RefusalKind::BadRequest => ("urn:waypost:bad-request", "That makes no sense here", ""),
            RefusalKind::InvalidFile => {
                ("urn:waypost:invalid-file", "A file is invalid", "bad input changes nothing")
            }
            RefusalKind::Guard => (
                "urn:waypost:guard",
                "The guard refuses",
                "unless forced, no order takes out the last able region of a service, or loads the others \
                 beyond their capacity",
            ),
            RefusalKind::NothingToDo => ("urn:waypost:nothing-to-do", "There is nothing to undo", ""),
            RefusalKind::CannotWrite => ("urn:waypost:cannot-write", "A file can't be written", ""),
            RefusalKind::NeedsRestart => {
                ("urn:waypost:needs-restart", "That needs a restart", "a reload changes all or nothing")
            }
            RefusalKind::Stopping => ("urn:waypost:stopping", "The server is stopping", ""),
        };
        Self {
            kind,
            title,
            status: refusal.kind.status(),
            detail: refusal.text.into(),
            rule,
            hint: refusal.hint.into(),
            preview: refusal.preview,
            allow: None,
        }
    }
}

/// The standard's own words for a status (RFC 9110 15).
fn title(status: u16) -> &'static str {
    hyper::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Problem")
}
