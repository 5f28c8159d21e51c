//! A reader of the text format that forgives nothing, for tests.

use std::collections::{BTreeMap, BTreeSet};

/// Checks a whole text: every line parses, each family has its help and type once and before its samples, which stand
/// together and occur once; histograms are cumulative. Returns the values by series (`name{labels}`).
pub(crate) fn check(text: &str) -> BTreeMap<String, String> {
    assert!(text.ends_with('\n'), "the last line ends");
    let mut families: BTreeMap<String, String> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect(line);
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "help once: {line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect(line);
            assert!(helped.contains(name), "help before type: {line}");
            assert!(["counter", "gauge", "histogram", "summary"].contains(&kind), "{line}");
            assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "type once: {line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            name.clone_into(&mut current);
        } else {
            let (name, labels, value) = sample(line);
            let kind = &families[&current];
            let suffixes: &[&str] = match kind.as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                "summary" => &["_sum", "_count"],
                _ => &[""],
            };
            assert!(
                suffixes.iter().any(|suffix| name == format!("{current}{suffix}")),
                "in its family: {line}"
            );
            let number: f64 = value.parse().expect(line);
            assert!(number.is_finite() && number >= 0.0, "{line}");
            let series = format!("{name}{{{labels}}}");
            assert!(samples.insert(series, value).is_none(), "once: {line}");
        }
    }
    assert_eq!(helped.len(), families.len(), "each help has its type");
    cumulative(text);
    samples
}

/// Buckets of a histogram never shrink, and the last one is its count.
fn cumulative(text: &str) {
    let mut last: Option<(String, f64)> = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, _, value) = sample(line);
        let number: f64 = value.parse().unwrap();
        if let Some(family) = name.strip_suffix("_bucket") {
            if let Some((known, below)) = &last {
                assert!(known != family || *below <= number, "{line}");
            }
            last = Some((family.to_owned(), number));
        } else if let (Some(family), Some((known, all))) = (name.strip_suffix("_count"), &last) {
            assert!(family != known || *all == number, "{line}");
        }
    }
}

/// Name, labels as written, and value of a sample line.
fn sample(line: &str) -> (String, String, String) {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').expect(line);
    let (name, rest) = line.split_at(end);
    assert!(!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    let Some(rest) = rest.strip_prefix('{') else {
        return (name.to_owned(), String::new(), rest.strip_prefix(' ').expect(line).to_owned());
    };
    let (mut names, mut at) = (BTreeSet::new(), rest);
    loop {
        let (label, after) = at.split_once("=\"").expect(line);
        assert!(!label.is_empty() && label.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{line}");
        assert!(names.insert(label), "a label once: {line}");
        let mut escaped = false;
        let quote = after.find(|c| {
            let ends = c == '"' && !escaped;
            assert!(!escaped || ['\\', '"', 'n'].contains(&c), "{line}");
            escaped = c == '\\' && !escaped;
            ends
        });
        at = &after[quote.expect(line) + 1..];
        match at.strip_prefix(',') {
            Some(next) => at = next,
            None => break,
        }
    }
    let value = at.strip_prefix("} ").expect(line);
    let labels = &rest[..rest.len() - at.len()];
    (name.to_owned(), labels.to_owned(), value.to_owned())
}
