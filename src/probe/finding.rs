//! What a run found out when not all was well, in words that hold no secret.

use std::error::Error;
use std::io;

use rustix::io::Errno;

use crate::health::{Evidence, Verdict};

/// Longest detail in characters.
const DETAIL_MAX_CHARS: usize = 200;

/// What a probe saw: all is well, or what it found.
pub(super) type Seen = Result<(), Finding>;

/// Something other than "all is well".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    verdict: Verdict,
    detail: String,
}

impl Finding {
    pub(super) fn degraded(detail: impl AsRef<str>) -> Self {
        Self { verdict: Verdict::Degraded, detail: one_line(detail.as_ref()) }
    }

    /// A plain failure.
    pub(super) fn failed(detail: impl AsRef<str>) -> Self {
        Self { verdict: Verdict::Failed(Evidence::Plain), detail: one_line(detail.as_ref()) }
    }

    /// The probe itself could not work.
    pub(super) fn unknown(detail: impl AsRef<str>) -> Self {
        Self { verdict: Verdict::Unknown, detail: one_line(detail.as_ref()) }
    }

    /// An error on the way to the target or back: a failure of the target, unless this machine is to blame.
    pub(super) fn of_network(error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        let mut ours = false;
        loop {
            ours |= cause.downcast_ref::<io::Error>().is_some_and(is_ours);
            match cause.source() {
                Some(deeper) => cause = deeper,
                None => break,
            }
        }
        // The deepest cause is the plainest, and the only one that is sure not to quote the URL.
        let detail = cause.to_string();
        if ours { Self::unknown(format!("this machine: {detail}")) } else { Self::failed(detail) }
    }

    /// The verdict and detail of a run.
    pub(super) fn told(seen: Seen) -> (Verdict, String) {
        match seen {
            Ok(()) => (Verdict::Ok, String::new()),
            Err(Self { verdict, detail }) => (verdict, detail),
        }
    }
}

/// Whether an error says something about this machine and nothing about the target: out of descriptors, ports or
/// memory, or stopped by its own firewall. A prober in need must not take regions down.
fn is_ours(error: &io::Error) -> bool {
    let ours = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOBUFS,
        Errno::ADDRNOTAVAIL,
        Errno::PERM,
        Errno::ACCESS,
        Errno::AGAIN,
    ];
    Errno::from_io_error(error).is_some_and(|errno| ours.contains(&errno))
}

/// The first line, cut to a sensible length, without control characters: it goes to terminals, logs and pages.
pub(super) fn one_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut chars = line.chars().map(clean);
    let mut out: String = chars.by_ref().take(DETAIL_MAX_CHARS).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prober_without_file_descriptors_or_ports_knows_nothing() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL, Errno::PERM] {
            let finding = Finding::of_network(&io::Error::from(errno));
            assert_eq!(finding.verdict, Verdict::Unknown, "{errno:?}");
        }
    }

    #[test]
    fn refused_reset_and_unreachable_are_plain_failures() {
        for errno in
            [Errno::CONNREFUSED, Errno::CONNRESET, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::TIMEDOUT]
        {
            let finding = Finding::of_network(&io::Error::from(errno));
            assert_eq!(finding.verdict, Verdict::Failed(Evidence::Plain), "{errno:?}");
        }
    }

    #[test]
    fn a_detail_is_one_short_line_without_control_characters() {
        assert_eq!(one_line("\n a\u{1b}[31mb\nsecond"), "a [31mb");
        assert_eq!(one_line(&"é".repeat(500)).chars().count(), DETAIL_MAX_CHARS + 1);
        assert_eq!(one_line(""), "");
    }
}
