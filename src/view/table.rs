//! Rows of values as a Markdown table, or one below the other where they are too many; it never shows more of a value than fits, and marks what it cut.

use std::borrow::Cow;
use std::fmt::Write;

/// Characters of a table's line (`formats.md`, SQLite).
pub const TABLE_COLUMNS: usize = 120;
/// Characters of one cell.
pub const CELL_COLUMNS: usize = 40;
/// A cell is not made narrower than this for the sake of others.
const NARROW: usize = 8;
/// What Markdown needs for a row of dashes.
const MINIMUM: usize = 3;

/// Lines of ours for some rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What stands above the rows; empty where they are written one below the other.
    pub head: Vec<String>,
    /// The lines of each row.
    pub rows: Vec<Vec<String>>,
    /// Whether a value is not shown whole.
    pub cut: bool,
}

impl Table {
    /// A table of `rows`, each with a text for every column, already free of control characters
    /// (see [`plain`]). `first` is the number of the first row, from 1.
    pub fn new(columns: &[String], rows: &[Vec<String>], first: u64) -> Table {
        match widths(columns, rows) {
            Some(widths) => side_by_side(columns, rows, &widths),
            None => one_below_the_other(columns, rows, first),
        }
    }
}

/// A text in one line: line ends, tabs and other control characters as escapes. At most `limit`
/// characters of it, and whether that is all.
pub fn plain(text: &str, limit: usize) -> (String, bool) {
    let mut line = String::with_capacity(text.len().min(limit * 4));
    let mut chars = text.chars();
    let mut count = 0;
    for c in chars.by_ref() {
        count += 1;
        match c {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            // What ends a line for some reader, or turns the text around.
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') =>
            {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
        if count == limit {
            break;
        }
    }
    (line, chars.next().is_none())
}

/// The width of each column, where all of them fit in a line.
fn widths(columns: &[String], rows: &[Vec<String>]) -> Option<Vec<usize>> {
    let natural = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        let widest = cells.chain(&columns[index..=index]).map(|cell| width(cell));
        widest.max().unwrap_or(0).clamp(MINIMUM, CELL_COLUMNS)
    };
    let mut widths: Vec<usize> = (0..columns.len()).map(natural).collect();
    // `| ` before and ` ` after each, and a bar at the end.
    let room = TABLE_COLUMNS.checked_sub(3 * columns.len() + 1)?;
    let mut over = widths.iter().sum::<usize>().saturating_sub(room);
    while over > 0 {
        let widest = widths.iter_mut().max_by_key(|width| **width)?;
        if *widest <= NARROW {
            return None;
        }
        *widest -= 1;
        over -= 1;
    }
    Some(widths)
}

fn side_by_side(columns: &[String], rows: &[Vec<String>], widths: &[usize]) -> Table {
    let mut cut = false;
    let mut line = |cells: &[String]| {
        let mut line = String::from("|");
        for (cell, width) in cells.iter().zip(widths) {
            let (cell, whole) = fitted(cell, *width);
            cut |= !whole;
            let _ = write!(line, " {cell:<width$} |");
        }
        line
    };
    let mut dashes = String::from("|");
    for width in widths {
        let _ = write!(dashes, " {} |", "-".repeat(*width));
    }
    let head = vec![line(columns), dashes];
    let rows = rows.iter().map(|row| vec![line(row)]).collect();
    Table { head, rows, cut }
}

fn one_below_the_other(columns: &[String], rows: &[Vec<String>], first: u64) -> Table {
    let mut cut = false;
    let mut lines = |(number, row): (u64, &Vec<String>)| {
        let mut lines = vec![format!("--- Row {number} ---")];
        for (column, cell) in columns.iter().zip(row) {
            let (cell, whole) = shortened(cell, CELL_COLUMNS);
            cut |= !whole;
            lines.push(format!("{column}: {cell}"));
        }
        lines
    };
    let rows = (first..).zip(rows).map(&mut lines).collect();
    Table {
        head: Vec::new(),
        rows,
        cut,
    }
}

/// The characters that a cell takes with its bars escaped.
fn width(cell: &str) -> usize {
    cell.chars().count() + cell.matches('|').count()
}

/// A cell of at most so many characters with its bars escaped, and whether it is whole.
fn fitted(cell: &str, limit: usize) -> (String, bool) {
    if width(cell) <= limit {
        return (cell.replace('|', "\\|"), true);
    }
    let mut left = limit - 1;
    let mut kept = String::new();
    for c in cell.chars() {
        let takes = if c == '|' { 2 } else { 1 };
        if takes > left {
            break;
        }
        left -= takes;
        if c == '|' {
            kept.push('\\');
        }
        kept.push(c);
    }
    kept.push('…');
    (kept, false)
}

fn shortened(cell: &str, limit: usize) -> (Cow<'_, str>, bool) {
    match cell.char_indices().nth(limit) {
        None => (Cow::Borrowed(cell), true),
        Some(_) => {
            let kept: String = cell.chars().take(limit - 1).chain(['…']).collect();
            (Cow::Owned(kept), false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn a_small_table() {
        let rows = [texts(&["1", "a|b"]), texts(&["20", "NULL"])];
        let table = Table::new(&texts(&["id", "name"]), &rows, 1);
        assert_eq!(table.head, ["| id  | name |", "| --- | ---- |"]);
        assert_eq!(table.rows.concat(), ["| 1   | a\\|b |", "| 20  | NULL |"]);
        assert!(!table.cut);
    }

    #[test]
    fn control_characters_are_escapes() {
        assert_eq!(
            plain("a\nb\r\tc\0\u{2028}", 40),
            ("a\\nb\\r\\tc\\u{0}\\u{2028}".into(), true)
        );
        assert_eq!(plain("abc", 2), ("ab".into(), false));
    }

    #[test]
    fn many_columns_stand_one_below_the_other() {
        let columns: Vec<String> = (0..33).map(|n| format!("column_{n:02}")).collect();
        let row: Vec<String> = (0..33).map(|n| "v".repeat(n * 3)).collect();
        let table = Table::new(&columns, &[row], 21);
        assert!(table.head.is_empty() && table.cut);
        assert_eq!(table.rows[0][0], "--- Row 21 ---");
        assert_eq!(table.rows[0][2], "column_01: vvv");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_a_table_may_be(
            cells in prop::collection::vec(prop::collection::vec("[a|ü\\\\]{0,60}", 5), 0..6),
        ) {
            let columns = texts(&["a", "b", "c", "d", "e"]);
            let table = Table::new(&columns, &cells, 1);
            let lines: Vec<&String> = table.head.iter().chain(table.rows.iter().flatten()).collect();
            let widths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
            prop_assert!(widths.iter().all(|width| *width <= TABLE_COLUMNS && *width == widths[0]));
        }
    }
}
