//! What a run comes to: how often it saw what, and every difference.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::Answer;
use super::reasons::Reasons;

/// Cases of each kind of difference that a failure shows.
const SHOWN: usize = 3;

const NXDOMAIN: u16 = 3;
const YXDOMAIN: u16 = 6;
const TYPE_NS: u16 = 2;

/// What the questions have to meet, at least so many times in 100,000, for the run to prove something.
const EXPECTED: [(&str, usize); 9] = [
    ("data", 5_000),
    ("alias", 5_000),
    ("referral", 5_000),
    ("no data", 5_000),
    ("no name", 5_000),
    ("too long", 10),
    ("refused or malformed", 100),
    ("truncated", 200),
    ("as both peers", 80_000),
];

/// Sums and differences.
#[derive(Default)]
pub(super) struct Findings {
    seen: BTreeMap<&'static str, usize>,
    /// By kind: how many, and the first few.
    differences: BTreeMap<String, (usize, Vec<String>)>,
}

impl Findings {
    /// Counts an event.
    pub(super) fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Counts an answer by what it says.
    pub(super) fn count_answer(&mut self, answer: &Answer) {
        let refers = || answer.authority.keys().any(|(_, rtype, ..)| *rtype == TYPE_NS);
        self.count(match answer.rcode {
            NXDOMAIN => "no name",
            YXDOMAIN => "too long",
            1.. => "refused or malformed",
            0 if answer.aliases() > 0 => "alias",
            0 if !answer.answer.is_empty() => "data",
            0 if refers() => "referral",
            0 => "no data",
        });
    }

    /// Notes a difference.
    pub(super) fn add(&mut self, kind: String, text: impl FnOnce() -> String) {
        let (count, shown) = self.differences.entry(kind).or_default();
        *count += 1;
        if shown.len() < SHOWN {
            shown.push(text());
        }
    }

    pub(super) fn merge(&mut self, others: Self) {
        for (what, more) in others.seen {
            *self.seen.entry(what).or_default() += more;
        }
        for (kind, (more, texts)) in others.differences {
            let (count, shown) = self.differences.entry(kind).or_default();
            *count += more;
            shown.extend(texts);
            shown.truncate(SHOWN);
        }
    }

    /// Prints the sums and fails on every difference that nothing explains; after a whole run also when too little was
    /// met, and after the `usual` one when a known difference was not seen.
    pub(super) fn report(&self, reasons: &Reasons, queries: u64, usual: bool) {
        for (what, count) in &self.seen {
            println!("{count:7} {what}");
        }
        for (list, reason) in reasons.iter() {
            println!("{:7} {list}: {}", reason.used(), reason.what);
        }
        let mut text = String::new();
        for (kind, (count, shown)) in &self.differences {
            let _ = writeln!(text, "\n{count} times {kind}, as\n{}", shown.join("\n"));
        }
        assert!(text.is_empty(), "Waypost differs:\n{text}");
        if queries < super::QUERIES {
            return;
        }
        let unused: Vec<_> =
            reasons.iter().filter(|(_, reason)| reason.used() == 0).map(|(_, reason)| reason.what).collect();
        assert!(!usual || unused.is_empty(), "known differences that were not seen: {unused:?}");
        for (what, least) in EXPECTED {
            let seen = self.seen.get(what).copied().unwrap_or_default();
            assert!(seen as u64 * 100_000 >= least as u64 * queries, "only {seen} times {what}");
        }
    }
}
