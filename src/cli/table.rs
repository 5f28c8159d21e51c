//! Columns for people.

/// Rows under a heading, each column as wide as its widest cell. Nothing when there are no rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; none: no heading line.
    pub(super) fn new(headings: &[&str]) -> Self {
        let heading = headings.iter().map(|heading| (*heading).to_owned()).collect();
        Self { rows: if headings.is_empty() { Vec::new() } else { vec![heading] } }
    }

    /// Adds a row.
    pub(super) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        // A control character from a journal or a server must not reach the terminal.
        let clean = |cell: S| cell.into().replace(char::is_control, " ");
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    /// The lines, indented by `indent` spaces.
    pub(super) fn render(&self, indent: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(&" ".repeat(indent));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_end_where_their_text_does() {
        let mut table = Table::new(&["REGION", "WHY"]);
        table.row(["cn", "drained: 数据库"]);
        table.row(["frankfurt", ""]);
        assert_eq!(table.render(2), "  REGION     WHY\n  cn         drained: 数据库\n  frankfurt\n");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut table = Table::new(&[]);
        table.row(["a\u{1b}[2Jb\nc"]);
        assert_eq!(table.render(0), "a [2Jb c\n");
    }
}
