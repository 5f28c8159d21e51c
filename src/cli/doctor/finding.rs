//! What doctor found, and what to do about it.

use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::table::Table;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was checked: one of few fixed words.
    pub(super) check: &'static str,
    /// Of what: a zone, a server's address, a file.
    pub(super) target: String,
    pub(super) level: Level,
    /// How it is.
    pub(super) text: String,
    /// What to do; empty when nothing is to be done.
    pub(super) fix: String,
}

/// How bad it is. An error keeps users from being answered, or will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    Warning,
    Error,
}

/// What is found, in the order in which it is looked at.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, check: &'static str, target: impl Into<String>, text: impl Into<String>) {
        self.add(Level::Ok, check, target.into(), text.into(), "");
    }

    pub(super) fn warning(
        &mut self,
        check: &'static str,
        target: impl Into<String>,
        text: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(Level::Warning, check, target.into(), text.into(), fix);
    }

    pub(super) fn error(
        &mut self,
        check: &'static str,
        target: impl Into<String>,
        text: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(Level::Error, check, target.into(), text.into(), fix);
    }

    fn add(
        &mut self,
        level: Level,
        check: &'static str,
        target: String,
        text: String,
        fix: impl Into<String>,
    ) {
        self.0.push(Finding { check, target, level, text, fix: fix.into() });
    }
}

/// How many findings have that level.
pub(super) fn count(findings: &[Finding], level: Level) -> usize {
    findings.iter().filter(|finding| finding.level == level).count()
}

/// The findings for people: one line each, the fix below it, a summary at the end.
pub(super) fn text(findings: &[Finding]) -> String {
    let mut table = Table::new(&[]);
    for finding in findings {
        let mark = match finding.level {
            Level::Ok => "✓",
            Level::Warning => "!",
            Level::Error => "✗",
        };
        table.row([mark, finding.check, &finding.target, &finding.text]);
    }
    let mut text = String::new();
    for (line, finding) in table.render(0).lines().zip(findings) {
        let _ = writeln!(text, "{line}");
        if !finding.fix.is_empty() {
            // Part of it may come from a server's answer.
            let _ = writeln!(text, "     fix: {}", finding.fix.replace(char::is_control, " "));
        }
    }
    let counted = |level, one: &str, many: &str| match count(findings, level) {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let errors = counted(Level::Error, "error", "errors");
    let warnings = counted(Level::Warning, "warning", "warnings");
    let _ = writeln!(text, "\n{errors}, {warnings}, {} in order", count(findings, Level::Ok));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_has_its_line_with_the_fix_below_and_control_characters_stay_out() {
        let mut findings = Findings::default();
        findings.ok("udp", "192.0.2.53:53", "serial 1");
        findings.warning("ds", "gslb.example.com", "a\u{1b}b", "take\nit out");
        let want = "\
✓  udp  192.0.2.53:53     serial 1
!  ds   gslb.example.com  a b
     fix: take it out

0 errors, 1 warning, 1 in order
";
        assert_eq!(text(&findings.0), want);
    }
}
