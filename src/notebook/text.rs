//! Cells written down as text and read back: a marker line, then the source; no line of a source is ever taken for a marker.

use std::borrow::Cow;

use super::model::is_word;

/// What stands before the kind in a marker, and between the kind and the number.
const BEGIN: &str = "# %% [";
const MIDDLE: &str = "] cell:";

/// A marker of a code cell that says nothing else.
const CODE_ALONE: &str = "# %%";

/// Kinds that a marker may name without a number.
const PLAIN_KINDS: [&str; 3] = ["code", "markdown", "raw"];

/// A marker line: `# %% [code] cell:0`. Cells are counted from 0.
pub fn marker(kind: &str, number: usize) -> String {
    format!("{BEGIN}{kind}{MIDDLE}{number}")
}

/// What a marker line names: a kind, and a number if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker<'a> {
    pub kind: &'a str,
    pub number: Option<u64>,
}

/// Reads a marker line. Blanks at its end do not count; the number may be left out after the kinds
/// that every notebook has, and the kind of a code cell with it.
pub fn read_marker(line: &str) -> Option<Marker<'_>> {
    let line = line.trim_ascii_end();
    if line == CODE_ALONE {
        let kind = "code";
        return Some(Marker { kind, number: None });
    }
    let rest = line.strip_prefix(BEGIN)?;
    if let Some(kind) = rest
        .strip_suffix(']')
        .filter(|kind| PLAIN_KINDS.contains(kind))
    {
        return Some(Marker { kind, number: None });
    }
    let (kind, number) = rest.split_once(MIDDLE)?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (digits && is_word(kind)).then(|| Marker {
        kind,
        number: number.parse().ok(),
    })
}

/// Whether a line would be taken for a marker.
pub fn is_marker(line: &str) -> bool {
    read_marker(line).is_some()
}

/// A line of a source as it is shown: one that looks like a marker, or like a marker that is shown
/// so, gets a backslash before it.
pub fn escape(line: &str) -> Cow<'_, str> {
    match is_marker(line.trim_start_matches('\\')) {
        true => Cow::Owned(format!("\\{line}")),
        false => Cow::Borrowed(line),
    }
}

/// The line of a source that is shown so.
pub fn unescape(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if is_marker(rest.trim_start_matches('\\')) => rest,
        _ => line,
    }
}

/// A notebook as text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered {
    pub text: String,
    /// The line of each cell's marker, from 0.
    pub markers: Vec<usize>,
    lines: usize,
}

impl Rendered {
    /// Lines so far.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Adds a marker.
    pub fn push_marker(&mut self, kind: &str, number: usize) {
        self.push_line(&marker(kind, number));
    }

    /// Adds the rows of what somebody wrote: none where it is empty. Splitting and joining at line
    /// ends gives it back as it was.
    pub fn push_source(&mut self, source: &str) {
        if !source.is_empty() {
            source
                .split('\n')
                .for_each(|line| self.push_line(&escape(line)));
        }
    }

    fn push_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }
}

/// Writes cells down, each given by its kind and its source.
pub fn render<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>) -> Rendered {
    let mut rendered = Rendered::default();
    for (index, (kind, source)) in cells.enumerate() {
        rendered.markers.push(rendered.lines);
        rendered.push_marker(kind, index);
        rendered.push_source(source);
    }
    rendered
}

/// A cell as a text has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The line of its marker, from 0.
    pub line: usize,
    pub kind: String,
    pub number: Option<u64>,
    pub source: String,
}

/// Reads cells back. The error is the line, from 0, of something before the first marker.
pub fn drafts(text: &str) -> Result<Vec<Draft>, usize> {
    let mut drafts: Vec<Draft> = Vec::new();
    // Whether the last cell has a row: an empty first one is a row too.
    let mut has_row = false;
    for (at, line) in text.split_terminator('\n').enumerate() {
        if let Some(Marker { kind, number }) = read_marker(line) {
            drafts.push(Draft {
                line: at,
                kind: kind.to_owned(),
                number,
                source: String::new(),
            });
            has_row = false;
            continue;
        }
        match drafts.last_mut() {
            Some(draft) => {
                if has_row {
                    draft.source.push('\n');
                }
                draft.source.push_str(unescape(line));
                has_row = true;
            }
            None if line.trim().is_empty() => {}
            None => return Err(at),
        }
    }
    Ok(drafts)
}
