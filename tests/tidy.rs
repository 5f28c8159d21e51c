//! Reads the source tree and holds it to the rules that neither compiler nor linter knows: which module may use which,
//! what the pure ones may not touch, how long things may be, what never gets committed.
//!
//! Each rule is a function from a text to findings, and each has a test that shows it a bad example.

#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/tests.rs"]
mod tests;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

/// What is not ours to read: build output, history, what a run leaves behind.
const SKIPPED: [&str; 8] = [
    "target",
    ".git",
    ".bench-work",
    "state",
    "fuzz/target",
    "fuzz/artifacts",
    "fuzz/work",
    "tests/browser/node_modules",
];

/// Where this project's own rules name the very words that they ban.
const THE_RULES: &str = "tests/tidy";

/// Something untidy.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// From the project's root.
    path: String,
    /// From 1; 0: the file as a whole.
    line: usize,
    what: String,
    why: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}\n    because {}", self.path, self.line, self.what, self.why)
    }
}

#[test]
fn a_module_uses_only_lower_ranks_and_its_own_folder() {
    assert_tidy(&over_source(rules::ranks));
}

#[test]
fn pure_modules_touch_neither_network_nor_files_nor_clocks_nor_chance() {
    let manifest = read("Cargo.toml");
    assert_tidy(&over_source(|source| rules::purity(source, &manifest)));
}

#[test]
fn files_have_at_most_500_lines_without_tests() {
    assert_tidy(&over_source(rules::file_length));
}

#[test]
fn functions_have_at_most_70_lines() {
    assert_tidy(&over_source(rules::function_length));
}

#[test]
fn unsafe_code_stands_only_in_the_udp_module() {
    assert_tidy(&over_source(rules::unsafe_code));
}

#[test]
fn only_control_knows_how_snapshots_are_swapped() {
    assert_tidy(&over_source(rules::the_seam));
}

#[test]
fn no_static_can_change() {
    assert_tidy(&over_source(rules::mutable_statics));
}

#[test]
fn nothing_unfinished_is_committed() {
    assert_tidy(&over_all_rust(rules::unfinished));
}

#[test]
fn no_test_is_switched_off() {
    assert_tidy(&over_all_rust(rules::ignored_tests));
}

#[test]
fn no_path_of_a_developers_machine_is_committed() {
    assert_tidy(&over_texts(rules::machine_paths));
}

#[test]
fn every_dependency_says_why_it_is_there() {
    assert_tidy(&rules::dependency_reasons("Cargo.toml", &read("Cargo.toml")));
}

#[test]
fn the_requirements_page_names_every_requirement_and_only_tests_that_exist() {
    let tests: Vec<String> = rust_files(&["src", "tests"]).iter().flat_map(pages::test_names).collect();
    assert_tidy(&pages::requirements("docs/requirements.md", &read("docs/requirements.md"), &tests));
}

#[test]
fn the_conformance_page_names_every_rfc_file_and_only_tests_that_exist() {
    let sources = rust_files(&["src", "tests"]);
    let tests: Vec<String> = sources.iter().flat_map(pages::test_names).collect();
    let files: Vec<String> = sources.iter().map(|source| source.path.clone()).collect();
    let page = read("docs/conformance.md");
    assert!(page.contains("tests/rfc/"), "the page is there");
    assert_tidy(&pages::conformance("docs/conformance.md", &page, &tests, &files));
}

#[test]
fn links_between_pages_lead_somewhere() {
    let is_there = |path: &Path| root().join(path).exists();
    assert_tidy(&over_texts(|path, text| pages::links(path, text, &is_there)));
}

fn assert_tidy(findings: &[Finding]) {
    let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{} untidy:\n{}", findings.len(), list.join("\n"));
}

fn over_source(rule: impl Fn(&Source) -> Vec<Finding>) -> Vec<Finding> {
    rust_files(&["src"]).iter().flat_map(rule).collect()
}

fn over_all_rust(rule: impl Fn(&Source) -> Vec<Finding>) -> Vec<Finding> {
    let files = rust_files(&["src", "tests", "benches", "fuzz", "examples"]);
    files.iter().filter(|source| !source.path.starts_with(THE_RULES)).flat_map(rule).collect()
}

fn over_texts(rule: impl Fn(&str, &str) -> Vec<Finding>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in files_below(&root()) {
        // What is no text (a geo file, a recorded packet) has nothing to say here.
        let (path, Ok(text)) = (relative(&path), fs::read_to_string(&path)) else { continue };
        if !path.starts_with(THE_RULES) {
            findings.extend(rule(&path, &text));
        }
    }
    findings
}

/// The Rust files of these folders. Never empty: a rule over nothing would pass.
fn rust_files(folders: &[&str]) -> Vec<Source> {
    let paths = folders.iter().flat_map(|folder| files_below(&root().join(folder)));
    let mut sources: Vec<Source> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| Source::new(&relative(&path), &fs::read_to_string(&path).unwrap_or_default()))
        .collect();
    assert!(sources.iter().any(|source| source.path == "src/lib.rs"), "no source tree at {:?}", root());
    mark_test_files(&mut sources);
    sources
}

/// Takes for tests: `tests.rs`, what lies in a folder `tests`, and what its parent declares under `#[cfg(test)]`.
fn mark_test_files(sources: &mut [Source]) {
    let mut declared = Vec::new();
    for source in sources.iter() {
        let folder = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let folder = if matches!(folder, "src/lib" | "src/main") { "src" } else { folder };
        declared.extend(source.test_modules.iter().map(|name| format!("{folder}/{name}")));
    }
    for source in sources.iter_mut() {
        let stem = source.path.trim_end_matches(".rs");
        let is_declared = |module: &String| stem == module || stem.starts_with(&format!("{module}/"));
        let by_name = stem.ends_with("/tests") || stem.contains("/tests/");
        if by_name || declared.iter().any(is_declared) {
            source.mark_all_test();
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return files };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            _ if SKIPPED.contains(&relative(&path).as_str()) => {}
            Ok(kind) if kind.is_dir() => files.extend(files_below(&path)),
            Ok(kind) if kind.is_file() => files.push(path),
            _ => {}
        }
    }
    files.sort();
    files
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}
