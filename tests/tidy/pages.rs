//! The rules about pages: what they claim exists.

use std::path::{Component, Path, PathBuf};

use super::Finding;
use super::source::{Source, is_word};

/// How many requirements each group has, as the source texts number them.
const NUMBERED: [(&str, usize); 6] =
    [("S0-", 56), ("S1-", 40), ("S2-", 29), ("S3-", 23), ("S4-", 15), ("V", 31)];

/// What stands beside the numbered ones.
const NAMED: [&str; 3] = ["routePriority", "hash numbers", "re-weighting numbers"];

/// The traps, by letter.
const TRAPS: std::ops::RangeInclusive<char> = 'a'..='l';

/// The ways in which a requirement may stand, as its last column begins.
const STATUSES: [&str; 3] = ["shown by `", "not yet: ", "not applicable: "];

/// So many underscores make a name a sentence, as those of tests are.
const SENTENCE: usize = 4;

/// The names of a file's tests.
pub(crate) fn test_names(source: &Source) -> Vec<String> {
    let mut names = Vec::new();
    for at in 0..source.tokens.len() {
        // `#[test]`, `#[tokio::test]`, `#[tokio::test(…)]`; not every function that lies beside tests.
        let begins = ["[", ":", "::"].contains(&source.text(at.saturating_sub(1)));
        if begins && source.text(at) == "test" && ["]", "("].contains(&source.text(at + 1)) {
            let end = source.tokens.len().min(at + 40);
            let name = (at..end).find(|&at| source.text(at) == "fn").map(|at| source.text(at + 1));
            names.extend(name.filter(|name| is_word(name)).map(str::to_owned));
        }
    }
    names
}

/// Every requirement has its row, every row says how it stands, every test that a row names exists.
pub(crate) fn requirements(path: &str, page: &str, tests: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line, what: String, why| findings.push(Finding { path: path.to_owned(), line, what, why });
    let mut missing = required_ids();
    for (index, row) in page.lines().enumerate() {
        let cells: Vec<&str> = row.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, .., status] = cells.as_slice() else { continue };
        let Some(position) = missing.iter().position(|wanted| wanted == id) else { continue };
        missing.remove(position);
        let line = index + 1;
        if !STATUSES.iter().any(|start| status.starts_with(start)) {
            let what = format!("{id} stands as `{status}`");
            add(
                line,
                what,
                "a requirement is shown by a test, not yet built, or not applicable, with the reason",
            );
        }
        let shown_by = status.strip_prefix("shown by ").unwrap_or_default();
        // Every other piece stands between backticks.
        let named = shown_by.split('`').skip(1).step_by(2);
        for name in named.filter(|name| !tests.iter().any(|test| test == name)) {
            add(
                line,
                format!("{id}: no test is called `{name}`"),
                "a test that does not exist shows nothing",
            );
        }
    }
    for id in missing {
        add(0, format!("{id} has no row"), "what is not on the page is neither built nor missed");
    }
    findings
}

fn required_ids() -> Vec<String> {
    let numbered =
        NUMBERED.iter().flat_map(|(prefix, count)| (1..=*count).map(move |n| format!("{prefix}{n}")));
    let named = NAMED.iter().map(|name| (*name).to_owned());
    numbered.chain(TRAPS.map(|letter| format!("trap {letter}"))).chain(named).collect()
}

/// Every test that the page about conformance names exists, and every file of RFC tests stands on it.
pub(crate) fn conformance(path: &str, page: &str, tests: &[String], files: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line, what, why| findings.push(Finding { path: path.to_owned(), line, what, why });
    for (index, line) in page.lines().enumerate() {
        // Every other piece stands between backticks; a test's name is a sentence.
        let named = line.split('`').skip(1).step_by(2);
        for name in named.filter(|name| is_word(name) && name.matches('_').count() >= SENTENCE) {
            if !tests.iter().any(|test| test == name) {
                add(
                    index + 1,
                    format!("no test is called `{name}`"),
                    "a test that does not exist shows nothing",
                );
            }
        }
    }
    for file in files.iter().filter(|file| file.starts_with("tests/rfc/rfc")) {
        if !page.contains(&format!("](../{file})")) {
            add(0, format!("{file} is not on the page"), "what is not listed is not found");
        }
    }
    findings
}

/// Relative links of a page lead to files that are there.
pub(crate) fn links(path: &str, text: &str, is_there: &dyn Fn(&Path) -> bool) -> Vec<Finding> {
    if !path.ends_with(".md") {
        return Vec::new();
    }
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', '#', ' ']).next().unwrap_or_default();
            let is_ours = !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
            if is_ours && !is_there(&resolved(&folder.join(target))) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: index + 1,
                    what: format!("`{target}` is not there"),
                    why: "a link that leads nowhere sends the reader away",
                });
            }
        }
    }
    findings
}

/// The path with its `..` worked out, as a browser does it.
fn resolved(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}
