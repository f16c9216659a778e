//! Patch text read into sections, leniently where only one thing can be meant; nothing here looks at a file.

use std::fmt;

use super::body::{self, BodyLine, is_blank, is_remark};
use super::error::{PatchError, Syntax, excerpt, verb};
use super::header::{parse_header, resembles_header};
use super::op_line::{OpHead, OpLine, begins_with_verb, is_bare_number, parse_op};
use super::ops::{Hunk, Op, Origin, Section, Warning, WarningCode};
use super::tag::Tag;

pub use super::header::header_text;

/// A patch: its sections in the order written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub sections: Vec<Section>,
}

impl Patch {
    /// Reads a patch. Errors name the patch line (1-indexed) and what was expected there.
    pub fn parse(text: &str) -> Result<Patch, PatchError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut parser = Parser::default();
        for (at, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !parser.line(at as u64 + 1, line)? {
                break;
            }
        }
        parser.finish()
    }
}

/// The canonical text of a patch. `replace_text` has none and is left out: no patch text makes one.
impl fmt::Display for Patch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            writeln!(out, "{}", header_text(&section.path, section.tag))?;
            for hunk in &section.hunks {
                write_op(&hunk.op, out)?;
            }
        }
        Ok(())
    }
}

fn write_op(op: &Op, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let verb = verb(op);
    let rows = match op {
        Op::Replace { lines, rows } => {
            writeln!(out, "{verb} {}..{}:", lines.start, lines.end)?;
            rows
        }
        Op::Delete { lines } => return writeln!(out, "{verb} {}..{}", lines.start, lines.end),
        Op::DeleteBlock { line } => return writeln!(out, "{verb} {line}"),
        Op::ReplaceBlock { line, rows }
        | Op::InsertBefore { line, rows }
        | Op::InsertAfter { line, rows }
        | Op::InsertAfterBlock { line, rows } => {
            writeln!(out, "{verb} {line}:")?;
            rows
        }
        Op::InsertHead { rows } | Op::InsertTail { rows } => {
            writeln!(out, "{verb}:")?;
            rows
        }
        Op::ReplaceText { .. } => return Ok(()),
    };
    rows.iter().try_for_each(|row| writeln!(out, "+{row}"))
}

#[derive(Default)]
struct Parser<'a> {
    sections: Vec<Section>,
    /// The op whose rows are being read.
    open: Option<OpenOp<'a>>,
}

struct OpenOp<'a> {
    op: OpLine,
    number: u64,
    body: Vec<BodyLine<'a>>,
}

impl<'a> Parser<'a> {
    /// Takes one line; false at the end of the patch.
    fn line(&mut self, number: u64, line: &'a str) -> Result<bool, PatchError> {
        // A row that starts with + is text of the op above it, whatever follows.
        if line.starts_with('+') && self.takes_rows() {
            self.push(number, line);
            return Ok(true);
        }
        if let Some(header) = parse_header(line) {
            self.close_section()?;
            let (path, tag) = header.map_err(|what| self.error(what, number))?;
            self.open_section(path, tag, number);
            return Ok(true);
        }
        if let Some(marker) = Marker::of(line) {
            return match marker {
                Marker::Begin => Ok(true),
                Marker::End => Ok(false),
                Marker::Foreign => {
                    let found = excerpt(line);
                    Err(self.error(Syntax::ForeignFormat { found }, number))
                }
            };
        }
        if !self.sections.is_empty()
            && let Some(op) = parse_op(line)
        {
            self.close_op()?;
            let op = op.map_err(|what| self.error(what, number))?;
            self.open = Some(OpenOp {
                op,
                number,
                body: Vec::new(),
            });
            return Ok(true);
        }
        if self.takes_rows() {
            self.push(number, line);
            return Ok(true);
        }
        match self.misplaced(line) {
            Some(what) => Err(self.error(what, number)),
            None => Ok(true),
        }
    }

    fn takes_rows(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| !open.op.head.is_deletion())
    }

    fn push(&mut self, number: u64, line: &'a str) {
        if let Some(open) = &mut self.open {
            open.body.push((number, line));
        }
    }

    /// What is wrong with a line that is neither header nor op, where no rows are due.
    fn misplaced(&self, line: &str) -> Option<Syntax> {
        let found = || excerpt(line);
        if is_blank(line) {
            return None;
        }
        if resembles_header(line) {
            return Some(Syntax::BadHeader { found: found() });
        }
        if line.starts_with("--- ") || line.starts_with("+++ ") {
            return Some(Syntax::ForeignFormat { found: found() });
        }
        if line.starts_with('+') && self.open.is_none() {
            return Some(Syntax::OrphanRow { found: found() });
        }
        let in_section = !self.sections.is_empty();
        if is_remark(line) && in_section {
            return None;
        }
        if is_bare_number(line) {
            let found = line.trim().trim_end_matches(':').to_owned();
            return Some(Syntax::BareNumber {
                found: excerpt(&found),
            });
        }
        let trimmed = line.trim();
        if trimmed.starts_with('[') && trimmed.ends_with(']') {
            return Some(Syntax::MissingTag { found: found() });
        }
        if !in_section {
            return Some(Syntax::BeforeHeader { found: found() });
        }
        match self.open.is_some() && !begins_with_verb(line) {
            true => Some(Syntax::RowUnderDelete { found: found() }),
            false => Some(Syntax::NotAnOp {
                found: found(),
                hint: "Ops are 'replace N..M:', 'delete N..M', 'insert before N:', 'insert after N:', 'insert head:', 'insert tail:', and 'replace block N:', 'delete block N', 'insert after block N:'.",
            }),
        }
    }

    fn open_section(&mut self, path: String, tag: Tag, number: u64) {
        self.sections.push(Section {
            path,
            tag: Some(tag),
            origin: Origin::PatchLine(number),
            hunks: Vec::new(),
            warnings: Vec::new(),
        });
    }

    fn close_section(&mut self) -> Result<(), PatchError> {
        self.close_op()?;
        match self.sections.last() {
            Some(section) if section.hunks.is_empty() => {
                let path = section.path.clone();
                let number = section.origin.patch_line().unwrap_or_default();
                Err(self.error(Syntax::NoHunks { path }, number))
            }
            _ => Ok(()),
        }
    }

    fn close_op(&mut self) -> Result<(), PatchError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let number = open.number;
        let mut warnings = Vec::new();
        let op = open
            .finish(&mut warnings)
            .map_err(|(line, what)| self.error(what, line.unwrap_or(number)))?;
        // An op opens only below a header.
        if let Some(section) = self.sections.last_mut() {
            section.warnings.extend(warnings);
            section.hunks.push(Hunk {
                op,
                origin: Origin::PatchLine(number),
            });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Patch, PatchError> {
        self.close_section()?;
        match self.sections.is_empty() {
            true => Err(self.error(Syntax::Empty, 1)),
            false => Ok(Patch {
                sections: self.sections,
            }),
        }
    }

    fn error(&self, what: Syntax, number: u64) -> PatchError {
        let section = match what {
            Syntax::BadHeader { .. } | Syntax::MissingTag { .. } => None,
            _ => self.sections.last(),
        };
        PatchError {
            what,
            origin: Origin::PatchLine(number),
            path: section.map(|section| section.path.clone()),
            tag: section.and_then(|section| section.tag),
        }
    }
}

impl OpenOp<'_> {
    /// The op with its rows.
    fn finish(self, warnings: &mut Vec<Warning>) -> Result<Op, body::BodyError> {
        let OpLine {
            head,
            colon,
            dangling,
        } = self.op;
        let origin = Origin::PatchLine(self.number);
        let mut warn = |code, message: &str| {
            warnings.push(Warning::new(code, format!("{origin}: {message}")));
        };
        if dangling {
            warn(
                WarningCode::DanglingRange,
                "a separator without a second number was taken as one line.",
            );
        }
        if head.is_deletion() && colon {
            warn(
                WarningCode::DeletesLines,
                "a colon after 'delete' has no rows to announce; the lines were deleted.",
            );
        }
        let rows = match head.is_deletion() {
            true => Vec::new(),
            false => body::rows(&self.body, self.number, warnings)?,
        };
        let op = match head {
            OpHead::Replace(lines) if rows.is_empty() => {
                warnings.push(Warning::new(
                    WarningCode::DeletesLines,
                    format!("{origin}: 'replace' without rows was taken as 'delete'."),
                ));
                return Ok(Op::Delete { lines });
            }
            OpHead::Delete(lines) => return Ok(Op::Delete { lines }),
            OpHead::DeleteBlock(line) => return Ok(Op::DeleteBlock { line }),
            OpHead::Replace(lines) => Op::Replace { lines, rows },
            OpHead::ReplaceBlock(line) => Op::ReplaceBlock { line, rows },
            OpHead::InsertBefore(line) => Op::InsertBefore { line, rows },
            OpHead::InsertAfter(line) => Op::InsertAfter { line, rows },
            OpHead::InsertAfterBlock(line) => Op::InsertAfterBlock { line, rows },
            OpHead::InsertHead => Op::InsertHead { rows },
            OpHead::InsertTail => Op::InsertTail { rows },
        };
        match lacks_rows(&op) {
            false => Ok(op),
            true => Err((None, Syntax::NoRows { verb: verb(&op) })),
        }
    }
}

/// Whether an op that cannot do without rows has none.
pub(super) fn lacks_rows(op: &Op) -> bool {
    matches!(
        op,
        Op::ReplaceBlock { rows, .. }
        | Op::InsertBefore { rows, .. }
        | Op::InsertAfter { rows, .. }
        | Op::InsertAfterBlock { rows, .. }
        | Op::InsertHead { rows }
        | Op::InsertTail { rows } if rows.is_empty()
    )
}

/// Lines of other patch formats.
enum Marker {
    /// Around the patch, harmless.
    Begin,
    End,
    /// Another way to say what is edited.
    Foreign,
}

impl Marker {
    fn of(line: &str) -> Option<Marker> {
        let line = line.trim().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("*** ") {
            let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
            return if starts(&["begin patch"]) {
                Some(Marker::Begin)
            } else if ["end patch", "abort"].contains(&rest.trim()) {
                Some(Marker::End)
            } else if starts(&["update file:", "add file:", "delete file:", "move to:"]) {
                Some(Marker::Foreign)
            } else {
                None
            };
        }
        let range = line.strip_prefix("@@");
        let is_range = range.is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.is_empty() || rest.starts_with('-') || rest.ends_with("@@")
        });
        (is_range || line.starts_with("diff --git ")).then_some(Marker::Foreign)
    }
}
