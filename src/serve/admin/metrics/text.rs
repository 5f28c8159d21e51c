//! Prometheus' text format, version 0.0.4: families with help and type, samples with escaped labels.

use std::fmt::{Display, Write as _};

/// What kind of numbers a family holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Summary,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// A text under construction.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// Begins a family; each name once. A family without samples leaves its help and type, which is valid and tells
    /// that it exists.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> Family<'_> {
        debug_assert!(!help.contains(['\n', '\\']), "a help text that would need escapes");
        push(&mut self.0, format_args!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.word()));
        Family { text: &mut self.0, name }
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// The family that samples are being added to.
#[derive(Debug)]
pub(super) struct Family<'t> {
    text: &'t mut String,
    name: &'static str,
}

impl Family<'_> {
    /// Adds a sample. The value is written as it displays: finite numbers only.
    pub(super) fn put(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.put_as("", labels, value)
    }

    /// Adds a sample under the family's name with a suffix: `_bucket`, `_sum`, `_count`.
    pub(super) fn put_as(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (index, (name, value)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(self.text, value);
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        push(self.text, format_args!(" {value}\n"));
        self
    }
}

/// A label's value: backslash, quote and newline have escapes, everything else stands for itself.
fn escape(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped_and_numbers_written_plainly() {
        let mut text = Text::default();
        text.family("x_total", Kind::Counter, "Things.")
            .put(&[("a", "q\"b\\s\nn"), ("b", "é")], 18_446_744_073_709_551_615_u64)
            .put(&[], 0.000_25);
        let want = "# HELP x_total Things.\n# TYPE x_total counter\n\
                    x_total{a=\"q\\\"b\\\\s\\nn\",b=\"é\"} 18446744073709551615\nx_total 0.00025\n";
        assert_eq!(text.finish(), want);
    }
}
