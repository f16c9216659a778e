//! How a notebook's JSON is spaced and spelled, and values written in that way; it is found in the file, never chosen.

use std::ops::Range;

use super::model::{Cell, Member, Notebook};

/// The blanks of an array or an object, with the commas.
#[derive(Debug, Clone, PartialEq)]
pub struct Spacing {
    /// After the opening bracket.
    pub open: String,
    /// Between two elements, with the comma.
    pub between: String,
    /// Before the closing bracket.
    pub close: String,
}

/// How a file is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Style {
    /// Characters outside of ASCII are written as `\uXXXX`.
    pub is_ascii: bool,
    /// With capital digits.
    is_upper: bool,
    /// Between a key and its value, with the colon.
    pub colon: String,
    /// Of the lines of a source, where there is an array of two or more of them.
    pub lines: Option<Spacing>,
    /// Of a list of cells, of a cell, of the lines of a source, as the whole is indented.
    levels: [Spacing; 3],
    /// Whether sources are arrays.
    pub has_arrays: bool,
}

impl Style {
    pub fn of(json: &str, notebook: &Notebook) -> Style {
        let (is_ascii, is_upper) = spelling(json);
        let lines = notebook
            .cells()
            .find_map(|cell| spacing_of_lines(json, cell).filter(|(_, count)| *count > 1));
        let mut sources = notebook
            .cells()
            .filter_map(|cell| cell.source_place.as_ref());
        Style {
            is_ascii,
            is_upper,
            colon: colon(json, &notebook.members).unwrap_or_else(|| ": ".to_owned()),
            lines: lines.map(|(spacing, _)| spacing),
            levels: levels(json, notebook),
            has_arrays: sources.next().is_none_or(|place| place.items.is_some()),
        }
    }

    /// The blanks of a list of cells.
    pub fn cells(&self) -> &Spacing {
        &self.levels[0]
    }

    /// The blanks of a cell.
    pub fn cell(&self) -> &Spacing {
        &self.levels[1]
    }

    /// A string with its quotes.
    pub fn string(&self, text: &str) -> String {
        let mut quoted = String::with_capacity(text.len() + 2);
        quoted.push('"');
        for c in text.chars() {
            match c {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                '\u{8}' => quoted.push_str("\\b"),
                '\u{c}' => quoted.push_str("\\f"),
                c if c < ' ' || (self.is_ascii && !c.is_ascii()) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        quoted.push_str(&match self.is_upper {
                            true => format!("\\u{unit:04X}"),
                            false => format!("\\u{unit:04x}"),
                        });
                    }
                }
                c => quoted.push(c),
            }
        }
        quoted.push('"');
        quoted
    }

    /// A source as an array of lines, each with its end.
    pub fn array(&self, source: &str, spacing: &Spacing) -> String {
        let lines: Vec<String> = source
            .split_inclusive('\n')
            .map(|line| self.string(line))
            .collect();
        list(&lines, '[', ']', spacing)
    }

    /// The blanks of a new array of lines.
    pub fn new_lines(&self) -> &Spacing {
        self.lines.as_ref().unwrap_or(&self.levels[2])
    }
}

/// Elements between brackets.
pub fn list(elements: &[String], open: char, close: char, spacing: &Spacing) -> String {
    match elements {
        [] => format!("{open}{close}"),
        _ => format!(
            "{open}{}{}{}{close}",
            spacing.open,
            elements.join(&spacing.between),
            spacing.close
        ),
    }
}

/// Whether characters outside of ASCII are escaped, and with capital digits.
fn spelling(json: &str) -> (bool, bool) {
    if !json.is_ascii() {
        return (false, false);
    }
    let mut escapes = memchr::memmem::find_iter(json.as_bytes(), b"\\u");
    let beyond = escapes.find_map(|at| {
        // A backslash that is itself escaped begins nothing.
        let before = json[..at].bytes().rev().take_while(|byte| *byte == b'\\');
        if before.count() % 2 == 1 {
            return None;
        }
        let digits = json.get(at + 2..at + 6)?;
        (u32::from_str_radix(digits, 16).ok()? > 0x7F).then_some(digits)
    });
    match beyond {
        None => (false, false),
        Some(digits) => (true, digits.bytes().any(|byte| byte.is_ascii_uppercase())),
    }
}

fn colon(json: &str, members: &[Member]) -> Option<String> {
    let member = members.first()?;
    Some(json[member.key.end..member.value.start].to_owned())
}

/// The blanks round places that stand one after the other within `whole`, which has its brackets.
fn spacing(json: &str, whole: &Range<usize>, parts: &[Range<usize>]) -> Option<Spacing> {
    let (first, last) = (parts.first()?, parts.last()?);
    let open = json[whole.start + 1..first.start].to_owned();
    let between = match parts {
        [one, two, ..] => json[one.end..two.start].to_owned(),
        _ => format!(",{open}"),
    };
    Some(Spacing {
        between,
        close: json[last.end..whole.end - 1].to_owned(),
        open,
    })
}

/// The blanks of an object's members.
pub fn spacing_of_members(json: &str, whole: &Range<usize>, members: &[Member]) -> Option<Spacing> {
    let parts: Vec<Range<usize>> = members
        .iter()
        .map(|member| member.key.start..member.value.end)
        .collect();
    spacing(json, whole, &parts)
}

/// The blanks of the lines of a cell's source, and how many there are.
pub fn spacing_of_lines(json: &str, cell: &Cell) -> Option<(Spacing, usize)> {
    let place = cell.source_place.as_ref()?;
    let items = place.items.as_ref()?;
    Some((spacing(json, &place.place, items)?, items.len()))
}

/// The blanks at three levels: as they are where they can be seen, else as the indentation of the
/// whole has it.
fn levels(json: &str, notebook: &Notebook) -> [Spacing; 3] {
    let cells = notebook.sheets.iter().find(|sheet| !sheet.cells.is_empty());
    let seen_cells = cells.and_then(|sheet| {
        let places: Vec<Range<usize>> = sheet.cells.iter().map(|cell| cell.place.clone()).collect();
        spacing(json, &sheet.place, &places)
    });
    let seen_cell = cells
        .and_then(|sheet| sheet.cells.first())
        .and_then(|cell| spacing_of_members(json, &cell.place, &cell.members));
    let end = json.trim_end().len();
    let whole = json.len() - json.trim_start().len()..end;
    let top = spacing_of_members(json, &whole, &notebook.members);
    let top = top.unwrap_or(Spacing {
        open: String::new(),
        between: ", ".to_owned(),
        close: String::new(),
    });
    // Worksheets are two levels more.
    let depth = if notebook.is_old() { 3 } else { 1 };
    let at = |depth: usize| at_depth(&top, depth);
    [
        seen_cells.unwrap_or_else(|| at(depth + 1)),
        seen_cell.unwrap_or_else(|| at(depth + 2)),
        at(depth + 3),
    ]
}

/// The blanks at a depth (1 is the whole's own members), as those of the whole have it.
fn at_depth(top: &Spacing, depth: usize) -> Spacing {
    let Some(line_end) = top.open.rfind('\n') else {
        return Spacing {
            open: String::new(),
            between: top.between.clone(),
            close: String::new(),
        };
    };
    let unit = &top.open[line_end + 1..];
    let end = match top.open[..line_end].ends_with('\r') {
        true => "\r\n",
        false => "\n",
    };
    let line = |depth: usize| format!("{end}{}", unit.repeat(depth));
    Spacing {
        open: line(depth),
        between: format!(",{}", line(depth)),
        close: line(depth - 1),
    }
}
