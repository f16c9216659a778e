//! Patch text read into sections, leniently where only one thing can be meant; nothing here looks at a file.

use std::fmt;

use super::body::{self, BodyLine, is_blank, is_remark};
use super::error::{Faulty, PatchError, Syntax, excerpt, verb};
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

/// Faults after which a patch is not read on.
pub const MAX_FAULTS: usize = 100;

impl Patch {
    /// Reads a patch. Errors name the patch line (1-indexed) and what was expected there: one for
    /// each op or header that cannot be meant, after which reading goes on with the next. Sound
    /// are the ops without a fault, below headers without one.
    pub fn parse(text: &str) -> Result<Patch, Faulty<Patch, PatchError>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut parser = Parser::default();
        for (at, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let goes_on = parser.line(at as u64 + 1, line);
            if !goes_on || parser.faults.len() >= MAX_FAULTS {
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
    below: Below,
    /// Below something that was refused: what is no op and no header belongs to that.
    lost: bool,
    /// Whether anything below the last header was refused.
    spoilt: bool,
    faults: Vec<PatchError>,
}

/// What the ops that are being read stand below.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Below {
    #[default]
    Nothing,
    /// The header of the last section.
    Header,
    /// A header that was refused: nobody knows what its ops are meant for.
    RefusedHeader,
}

struct OpenOp<'a> {
    op: OpLine,
    number: u64,
    body: Vec<BodyLine<'a>>,
}

impl<'a> Parser<'a> {
    /// Takes one line; false at the end of the patch.
    fn line(&mut self, number: u64, line: &'a str) -> bool {
        // A row that starts with + is text of the op above it, whatever follows.
        if line.starts_with('+') && self.takes_rows() {
            self.push(number, line);
            return true;
        }
        if let Some(header) = parse_header(line) {
            self.close_section();
            (self.lost, self.spoilt) = (false, false);
            match header {
                Ok((path, tag)) => self.open_section(path, tag, number),
                Err(what) => self.refuse(what, number),
            }
            return true;
        }
        match ForeignMarker::of(line) {
            Some(ForeignMarker::Begin) => return true,
            Some(ForeignMarker::End) => return false,
            Some(ForeignMarker::Foreign) => {
                // An op without rows was to have those of the other format.
                self.open
                    .take_if(|open| open.body.iter().all(|(_, line)| is_blank(line)));
                self.close_op();
                let found = excerpt(line);
                self.refuse_once(Syntax::ForeignFormat { found }, number);
                return true;
            }
            None => {}
        }
        if self.below != Below::Nothing
            && let Some(op) = parse_op(line)
        {
            self.close_op();
            match op {
                Ok(op) => {
                    self.lost = false;
                    let body = Vec::new();
                    self.open = Some(OpenOp { op, number, body });
                }
                Err(what) => self.refuse(what, number),
            }
            return true;
        }
        if self.takes_rows() {
            self.push(number, line);
        } else if let Some(what) = self.misplaced(line) {
            match what {
                Syntax::RowUnderDelete { .. } => self.open = None,
                _ => self.close_op(),
            }
            match what {
                Syntax::BadHeader { .. } => self.refuse(what, number),
                what => self.refuse_once(what, number),
            }
        }
        true
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
        let in_section = self.below != Below::Nothing;
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
        self.below = Below::Header;
        self.sections.push(Section {
            path,
            tag: Some(tag),
            origin: Origin::PatchLine(number),
            hunks: Vec::new(),
            warnings: Vec::new(),
        });
    }

    fn close_section(&mut self) {
        self.close_op();
        if self.below != Below::Header {
            return;
        }
        let empty = self.sections.last();
        let empty = empty.filter(|section| section.hunks.is_empty() && !self.spoilt);
        if let Some(section) = empty {
            let path = section.path.clone();
            let number = section.origin.patch_line().unwrap_or_default();
            self.refuse(Syntax::NoHunks { path }, number);
        }
    }

    fn close_op(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let number = open.number;
        let mut warnings = Vec::new();
        let op = match open.finish(&mut warnings) {
            Ok(op) => op,
            Err((line, what)) => {
                self.refuse(what, line.unwrap_or(number));
                return;
            }
        };
        if self.below == Below::Header
            && let Some(section) = self.sections.last_mut()
        {
            section.warnings.extend(warnings);
            section.hunks.push(Hunk {
                op,
                origin: Origin::PatchLine(number),
            });
        }
    }

    fn finish(mut self) -> Result<Patch, Faulty<Patch, PatchError>> {
        self.close_section();
        if self.sections.is_empty() && self.faults.is_empty() {
            self.refuse(Syntax::Empty, 1);
        }
        self.faults.sort_by_key(|fault| fault.origin);
        let mut sections = self.sections;
        sections.retain(|section| !section.hunks.is_empty());
        Faulty::unless_sound(Patch { sections }, self.faults)
    }

    /// Refuses a line, unless it belongs to what was refused above it.
    fn refuse_once(&mut self, what: Syntax, number: u64) {
        if !self.lost {
            self.refuse(what, number);
        }
    }

    fn refuse(&mut self, what: Syntax, number: u64) {
        let is_header = matches!(what, Syntax::BadHeader { .. } | Syntax::MissingTag { .. });
        let section = match self.below {
            Below::Header if !is_header => self.sections.last(),
            _ => None,
        };
        self.faults.push(PatchError {
            what,
            origin: Origin::PatchLine(number),
            path: section.map(|section| section.path.clone()),
            tag: section.and_then(|section| section.tag),
        });
        (self.lost, self.spoilt) = (true, true);
        if is_header {
            self.below = Below::RefusedHeader;
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
enum ForeignMarker {
    /// Around the patch, harmless.
    Begin,
    End,
    /// Another way to say what is edited.
    Foreign,
}

impl ForeignMarker {
    fn of(line: &str) -> Option<ForeignMarker> {
        let line = line.trim().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("*** ") {
            let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
            return if starts(&["begin patch"]) {
                Some(ForeignMarker::Begin)
            } else if ["end patch", "abort"].contains(&rest.trim()) {
                Some(ForeignMarker::End)
            } else if starts(&["update file:", "add file:", "delete file:", "move to:"]) {
                Some(ForeignMarker::Foreign)
            } else {
                None
            };
        }
        let range = line.strip_prefix("@@");
        let is_range = range.is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.is_empty() || rest.starts_with('-') || rest.ends_with("@@")
        });
        (is_range || line.starts_with("diff --git ")).then_some(ForeignMarker::Foreign)
    }
}
