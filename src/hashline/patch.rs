//! Patch text read into sections, leniently where only one thing can be meant; nothing here looks at a file.

use std::fmt;

use super::body::{self, BodyLine, is_blank, is_remark};
use super::error::{Faulty, PatchError, Syntax, excerpt, verb};
use super::header::{parse_header, path_text, resembles_header};
use super::op_line::{OpHead, OpLine, begins_with_verb, is_bare_number, parse_op};
use super::ops::{Hunk, MoveTarget, Op, Origin, Section, Warning, WarningCode};
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

/// The canonical text of a patch.
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
        Op::ReplaceText { old, new, .. } => {
            let json = |text: &str| serde_json::Value::from(text).to_string();
            return writeln!(out, "{verb} {} with {}", json(old), json(new));
        }
        Op::Move { lines, to } => {
            let (side, line) = match to {
                MoveTarget::Before(line) => ("before", line),
                MoveTarget::After(line) => ("after", line),
            };
            return writeln!(out, "{verb} {}..{} {side} {line}", lines.start, lines.end);
        }
        Op::MoveFile { to } => return writeln!(out, "{verb} {}", path_text(to)),
        Op::DeleteFile | Op::Undo => return writeln!(out, "{verb}"),
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
    /// What the last header without a tag says, until it is known whether its ops need one.
    untagged: Option<Untagged>,
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

/// A header without a tag.
struct Untagged {
    found: String,
    ops: usize,
    /// Of those, the ones that need no tag.
    content: usize,
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
                Ok((path, tag)) => {
                    self.untagged = tag.is_none().then(|| Untagged::of(line));
                    // Without an op below it, it is the header that is at fault.
                    self.lost = tag.is_none();
                    self.open_section(path, tag, number);
                }
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
            self.op(op, number, line);
            return true;
        }
        if self.takes_rows() {
            self.push(number, line);
        } else if let Some(what) = self.misplaced(line) {
            match what {
                Syntax::RowUnderDelete { .. } | Syntax::RowUnderOther { .. } => self.open = None,
                _ => self.close_op(),
            }
            match what {
                Syntax::BadHeader { .. } => self.refuse(what, number),
                what => self.refuse_once(what, number),
            }
        }
        true
    }

    /// Takes a line that names an op.
    fn op(&mut self, op: Result<OpLine, Syntax>, number: u64, line: &str) {
        let awaits = self.open.as_ref().is_some_and(OpenOp::awaits_rows);
        if awaits && is_perhaps_text(&op) {
            self.open = None;
            let found = excerpt(line);
            self.refuse(Syntax::OpOrRow { found }, number);
            return;
        }
        self.close_op();
        if let Some(untagged) = &mut self.untagged {
            untagged.count(&op);
        }
        match op {
            Ok(op) => {
                self.lost = false;
                let body = Vec::new();
                self.open = Some(OpenOp { op, number, body });
            }
            Err(what) => self.refuse(what, number),
        }
    }

    fn takes_rows(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| open.op.head.whole().is_none())
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
        let above = self.open.as_ref().filter(|_| !begins_with_verb(line));
        Some(match above.and_then(|open| open.op.head.whole()) {
            Some(op) if is_deletion(op) => Syntax::RowUnderDelete { found: found() },
            Some(op) => Syntax::RowUnderOther {
                found: found(),
                verb: verb(op),
            },
            None => Syntax::NotAnOp {
                found: found(),
                hint: "Ops are 'replace N..M:', 'delete N..M', 'insert before N:', 'insert after N:', 'insert head:', 'insert tail:', 'replace block N:', 'delete block N', 'insert after block N:', 'replace \"old\" with \"new\"', 'move A..B after K', 'move file to PATH', 'delete file', 'undo'.",
            },
        })
    }

    fn open_section(&mut self, path: String, tag: Option<Tag>, number: u64) {
        self.below = Below::Header;
        self.sections.push(Section {
            path,
            tag,
            origin: Origin::PatchLine(number),
            hunks: Vec::new(),
            warnings: Vec::new(),
        });
    }

    fn close_section(&mut self) {
        self.close_op();
        let untagged = self.untagged.take();
        if let Some(untagged) = untagged.filter(|untagged| !untagged.is_content())
            && let Some(section) = self.sections.pop()
        {
            let found = untagged.found;
            let number = section.origin.patch_line().unwrap_or_default();
            // Nobody knows what its ops are meant for.
            let below = self.faults.iter_mut();
            for fault in below.filter(|fault| fault.origin > section.origin) {
                fault.path = None;
            }
            self.refuse(Syntax::MissingTag { found }, number);
            return;
        }
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

impl Untagged {
    fn of(header: &str) -> Untagged {
        Untagged {
            found: excerpt(header),
            ops: 0,
            content: 0,
        }
    }

    fn count(&mut self, op: &Result<OpLine, Syntax>) {
        let needs_none = match op {
            Ok(op) => op.head.whole().is_some_and(Op::needs_no_tag),
            Err(what) => matches!(what, Syntax::BadTexts { .. }),
        };
        self.ops += 1;
        self.content += usize::from(needs_none);
    }

    /// Whether it can stay without a tag.
    fn is_content(&self) -> bool {
        self.ops > 0 && self.ops == self.content
    }
}

fn is_deletion(op: &Op) -> bool {
    matches!(op, Op::Delete { .. } | Op::DeleteBlock { .. })
}

/// Whether a line that names an op may as well be a line of prose: there is no colon and perhaps
/// no number to tell by.
fn is_perhaps_text(op: &Result<OpLine, Syntax>) -> bool {
    match op {
        Ok(op) => op.head.whole().is_some_and(|op| !is_deletion(op)),
        Err(what) => matches!(what, Syntax::BadTexts { .. }),
    }
}

impl OpenOp<'_> {
    /// Whether it takes rows and has none that begins with `+`.
    fn awaits_rows(&self) -> bool {
        let has_rows = self.body.iter().any(|(_, line)| line.starts_with('+'));
        self.op.head.whole().is_none() && !has_rows
    }

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
        if head.whole().is_some_and(is_deletion) && colon {
            warn(
                WarningCode::DeletesLines,
                "a colon after 'delete' has no rows to announce; the lines were deleted.",
            );
        }
        let head = match head {
            OpHead::Whole(op) => return Ok(op),
            head => head,
        };
        let rows = body::rows(&self.body, self.number, warnings)?;
        let op = match head {
            OpHead::Replace(lines) if rows.is_empty() => {
                warnings.push(Warning::new(
                    WarningCode::DeletesLines,
                    format!("{origin}: 'replace' without rows was taken as 'delete'."),
                ));
                return Ok(Op::Delete { lines });
            }
            OpHead::Whole(op) => op,
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
