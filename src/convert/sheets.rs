//! What a workbook's Markdown does not say: the names of its sheets, their comments, and how much of it is hidden; no cell is read for its value.

use std::collections::BTreeSet;

use quick_xml::events::BytesStart;

use super::package::{self, attribute, each_tag, part, relations};
use super::rows::counted;

mod biff;
pub(super) mod breaks;
mod comments;
pub(super) mod ods;
mod xlsb;

/// What was found out about a workbook; empty where its kind is not looked into.
#[derive(Debug, Default, PartialEq)]
pub(super) struct WorkbookFacts {
    /// The names of the visible sheets, in their order.
    pub names: Vec<String>,
    /// The comments of each of them, one line each; none at all where their kind has not been read.
    pub comments: Vec<Vec<String>>,
    /// Rows and columns that hold something and are hidden.
    pub rows: u64,
    pub columns: u64,
    pub sheets: u64,
}

impl WorkbookFacts {
    pub fn has_comments(&self) -> bool {
        self.comments.iter().any(|comments| !comments.is_empty())
    }

    /// `3 hidden rows and 1 hidden column are not shown`.
    pub fn hidden_footer(&self) -> Option<String> {
        let kinds = [
            (self.rows, "hidden row"),
            (self.columns, "hidden column"),
            (self.sheets, "hidden sheet"),
        ];
        let total: u64 = kinds.iter().map(|(count, _)| count).sum();
        let said: Vec<String> = kinds
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, one)| counted(*count, one))
            .collect();
        let list = match &said[..] {
            [] => return None,
            [only] => only.clone(),
            [head @ .., last] => format!("{} and {last}", head.join(", ")),
        };
        let are = if total == 1 { "is" } else { "are" };
        Some(format!("{list} {are} not shown"))
    }
}

/// Looks into a workbook of Excel, as far as can be.
pub(super) fn look(bytes: &[u8]) -> WorkbookFacts {
    let facts = match bytes.starts_with(b"PK") {
        true => look_into_package(bytes),
        false => biff::look(bytes),
    };
    facts.unwrap_or_default()
}

/// The Markdown with each visible sheet under its name, empty ones too; and the line on which each
/// begins.
pub(super) fn headed(markdown: &str, names: &[String]) -> (String, Vec<u64>) {
    let is_heading = |line: &&str| line.starts_with("## ");
    let headings = markdown.lines().filter(is_heading).count();
    let mut out = String::new();
    let mut starts = Vec::new();
    let mut lines = 0u64;
    let mut left = names.iter();
    let mut push = |line: &str, out: &mut String| {
        out.push_str(line);
        out.push('\n');
        lines += 1;
        lines
    };
    // The only sheet with anything in it has no heading.
    if let ([only], 0) = (names, headings) {
        left.next();
        starts.push(push(&format!("## {only}"), &mut out));
        push("", &mut out);
    }
    for line in markdown.trim_end_matches('\n').lines() {
        if is_heading(&line) {
            let name = unescaped(&line[3..]);
            // Sheets without content are left out by the converter.
            let skipped = left.as_slice().iter().position(|left| left.trim() == name);
            for empty in left.by_ref().take(skipped.unwrap_or(0)) {
                starts.push(push(&format!("## {empty}"), &mut out));
                push("", &mut out);
            }
            if skipped.is_some() {
                left.next();
            }
            starts.push(push(line, &mut out));
        } else {
            push(line, &mut out);
        }
    }
    if starts.len() <= names.len() {
        for empty in left {
            if !out.is_empty() {
                push("", &mut out);
            }
            starts.push(push(&format!("## {empty}"), &mut out));
        }
    }
    // Below a sheet that is empty nothing follows.
    out.truncate(out.trim_end_matches('\n').len());
    out.push('\n');
    (out, starts)
}

/// The Markdown with the comments of each sheet below it, or all of them at the end where it does not
/// have these sheets; `starts` are the lines on which its sheets begin, and move with what is put
/// before them.
pub(super) fn with_comments(markdown: &str, starts: &mut [u64], facts: &WorkbookFacts) -> String {
    let comments = match starts.len() == facts.names.len() {
        true => facts.comments.clone(),
        false => {
            let mut comments = vec![Vec::new(); starts.len().max(1)];
            comments[starts.len().saturating_sub(1)] = all_comments(facts);
            comments
        }
    };
    let mut out = String::with_capacity(markdown.len());
    let mut left = markdown.split_inclusive('\n');
    let ends: Vec<u64> = starts.iter().skip(1).map(|start| start - 1).collect();
    let (mut taken, mut added) = (0u64, 0u64);
    for (number, comments) in comments.iter().enumerate() {
        let end = ends.get(number).copied().unwrap_or(u64::MAX);
        let rest = usize::try_from(end - taken).unwrap_or(usize::MAX);
        out.extend(left.by_ref().take(rest));
        taken = end;
        if let Some(start) = starts.get_mut(number) {
            *start += added;
        }
        if comments.is_empty() {
            continue;
        }
        // An empty line parts a sheet from the next, and from its comments.
        let is_last = end == u64::MAX;
        if is_last {
            out.push('\n');
        }
        for comment in comments {
            out.push_str(comment);
            out.push('\n');
        }
        if !is_last {
            out.push('\n');
        }
        added += comments.len() as u64 + 1;
    }
    out
}

/// Each with the name of its sheet.
fn all_comments(facts: &WorkbookFacts) -> Vec<String> {
    let sheets = facts.names.iter().zip(&facts.comments);
    let named = sheets.flat_map(|(name, comments)| {
        let name = format!("Comment {name}!");
        let named = move |line: &String| line.replacen("Comment ", &name, 1);
        comments.iter().map(named)
    });
    named.collect()
}

/// Markdown's escapes taken back.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

fn is_true(tag: &BytesStart, name: &[u8]) -> bool {
    attribute(tag, name).is_some_and(|value| value == "1" || value == "true")
}

/// A workbook as Excel 2007 and later write it.
fn look_into_package(bytes: &[u8]) -> Option<WorkbookFacts> {
    let mut package = package::opened(bytes)?;
    let Some(workbook) = part(&mut package, "xl/workbook.xml") else {
        return xlsb::look(&mut package);
    };
    let parts = relations(&mut package, "xl", "workbook.xml")?;
    let mut facts = WorkbookFacts::default();
    let mut shown = Vec::new();
    each_tag(&workbook, |tag| {
        if tag.local_name().as_ref() != b"sheet" {
            return;
        }
        match attribute(tag, b"state").as_deref() {
            Some("hidden" | "veryHidden") => facts.sheets += 1,
            _ => {
                if let Some(name) = attribute(tag, b"name") {
                    facts.names.push(name);
                    shown.push(attribute(tag, b"id").and_then(|id| parts.get(&id)));
                }
            }
        }
    })?;
    let mut reader = comments::CommentsReader::new(&mut package);
    for name in shown {
        let sheet = name.and_then(|name| part(&mut package, name));
        // What cannot be read of a sheet is not counted.
        let hidden = sheet.and_then(|sheet| count_hidden(&sheet, &mut facts));
        let comments = name
            .zip(hidden)
            .map(|(name, hidden)| reader.of_sheet(&mut package, name, &hidden));
        facts.comments.push(comments.unwrap_or_default());
    }
    Some(facts)
}

/// Rows and columns of a sheet that are not shown, counted from 1.
#[derive(Debug, Default)]
struct Hidden {
    rows: BTreeSet<u32>,
    /// From the first to the last, each.
    columns: Vec<(u32, u32)>,
}

impl Hidden {
    fn holds(&self, row: u32, column: u32) -> bool {
        self.rows.contains(&row) || self.has_column(column)
    }

    fn has_column(&self, column: u32) -> bool {
        let mut ranges = self.columns.iter();
        ranges.any(|(min, max)| (min..=max).contains(&&column))
    }
}

/// Counts the hidden rows and columns of a sheet that hold something; gives them all.
fn count_hidden(sheet: &[u8], facts: &mut WorkbookFacts) -> Option<Hidden> {
    let mut hidden = Hidden::default();
    let mut columns_in_use: BTreeSet<u32> = BTreeSet::new();
    let (mut row, mut column) = (0u32, 0u32);
    let (mut row_is_hidden, mut row_counts) = (false, false);
    each_tag(sheet, |tag| match tag.local_name().as_ref() {
        b"col" if is_true(tag, b"hidden") => {
            let number = |name| attribute(tag, name)?.parse().ok();
            if let (Some(min), Some(max)) = (number(b"min"), number(b"max")) {
                hidden.columns.push((min, max));
            }
        }
        b"row" => {
            let named = attribute(tag, b"r").and_then(|row| row.parse().ok());
            row = named.unwrap_or(row.saturating_add(1));
            (row_is_hidden, row_counts, column) = (is_true(tag, b"hidden"), false, 0);
            if row_is_hidden {
                hidden.rows.insert(row);
            }
        }
        b"c" => {
            let named = attribute(tag, b"r").and_then(|cell| column_of(&cell));
            column = named.unwrap_or(column.saturating_add(1));
        }
        b"v" | b"f" | b"is" => {
            columns_in_use.insert(column);
            if row_is_hidden && !row_counts {
                row_counts = true;
                facts.rows += 1;
            }
        }
        _ => {}
    })?;
    let used = columns_in_use.iter();
    facts.columns += used.filter(|column| hidden.has_column(**column)).count() as u64;
    Some(hidden)
}

/// `AB12` is in column 28.
fn column_of(cell: &str) -> Option<u32> {
    let letters = cell.bytes().take_while(u8::is_ascii_alphabetic);
    letters.take(4).try_fold(0u32, |column, letter| {
        column
            .checked_mul(26)?
            .checked_add(u32::from(letter.to_ascii_uppercase() - b'A') + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_below_their_sheets_and_move_the_next_ones() {
        let lines = |lines: &[&str]| lines.iter().map(|l| l.to_string()).collect::<Vec<_>>();
        let facts = WorkbookFacts {
            names: lines(&["A", "B", "C"]),
            comments: vec![
                lines(&["Comment A1: x", "Comment B1: y"]),
                Vec::new(),
                lines(&["Comment C1: z"]),
            ],
            ..WorkbookFacts::default()
        };
        let made = "## A\n\n| a |\n\n## B\n\n## C\n";
        let mut starts = [1, 5, 7];
        assert_eq!(
            with_comments(made, &mut starts, &facts),
            "## A\n\n| a |\n\nComment A1: x\nComment B1: y\n\n## B\n\n## C\n\nComment C1: z\n"
        );
        assert_eq!(starts, [1, 8, 10]);
        let mut starts = [1, 5];
        assert_eq!(
            with_comments("## A\n\n| a |\n\n## Q\n", &mut starts, &facts),
            "## A\n\n| a |\n\n## Q\n\nComment A!A1: x\nComment A!B1: y\nComment C!C1: z\n"
        );
        assert_eq!(starts, [1, 5]);
    }

    #[test]
    fn sheets_are_named_whatever_is_in_them() {
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let (text, starts) = headed("| a |\n| --- |\n", &names(&["Only"]));
        assert_eq!(text, "## Only\n\n| a |\n| --- |\n");
        assert_eq!(starts, [1]);
        let made = "## A\\_1\n\n| a |\n\n## D\n\n| d |\n";
        let (text, starts) = headed(made, &names(&["0", "A_1", "B", "D", "E"]));
        assert_eq!(
            text,
            "## 0\n\n## A\\_1\n\n| a |\n\n## B\n\n## D\n\n| d |\n\n## E\n"
        );
        assert_eq!(starts, [1, 3, 7, 9, 13]);
    }

    #[test]
    fn only_what_holds_something_counts_as_hidden() {
        let sheet = br#"<worksheet><cols><col min="2" max="16384" hidden="1"/></cols><sheetData>
            <row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c><c r="C1"/></row>
            <row r="2" hidden="1"><c r="A2"><v>1</v></c></row><row r="3" hidden="true"/>
            </sheetData></worksheet>"#;
        let mut facts = WorkbookFacts::default();
        count_hidden(sheet, &mut facts).expect("read");
        assert_eq!((facts.rows, facts.columns), (1, 1));
        assert_eq!(
            facts.hidden_footer().as_deref(),
            Some("1 hidden row and 1 hidden column are not shown")
        );
    }
}
