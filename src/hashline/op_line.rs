//! One line that names an op, read leniently; nothing here guesses a number.

use super::error::{Syntax, excerpt};
use super::header::meant_path;
use super::ops::{MoveTarget, Op};
use crate::protocol::read::LineSpan;

/// What an op line says; its rows, if it takes any, stand below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpHead {
    /// It takes no rows.
    Whole(Op),
    Replace(LineSpan),
    ReplaceBlock(u64),
    InsertBefore(u64),
    InsertAfter(u64),
    InsertAfterBlock(u64),
    InsertHead,
    InsertTail,
}

impl OpHead {
    /// The op, where it takes no rows.
    pub(super) fn whole(&self) -> Option<&Op> {
        match self {
            OpHead::Whole(op) => Some(op),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpLine {
    pub head: OpHead,
    pub colon: bool,
    /// A separator stood after the only number.
    pub dangling: bool,
}

/// Lines above this are refused as numbers.
const MAX_LINE: u64 = 1 << 31;

/// Blanks, and what models write between two numbers.
fn is_separator(c: char) -> bool {
    matches!(c, '.' | '=' | '-' | '–' | '—' | '…' | ',') || c.is_whitespace()
}

/// An op line; an error for one that begins like an op and cannot be one; `None` for other lines.
pub(super) fn parse_op(line: &str) -> Option<Result<OpLine, Syntax>> {
    let mut cursor = Cursor { rest: line.trim() };
    let verb = cursor.word()?;
    let (make, one_line): (fn(LineSpan) -> OpHead, bool) = match verb.as_str() {
        "replace" => match cursor.keyword("block") {
            true => (|lines| OpHead::ReplaceBlock(lines.start), true),
            false if cursor.rest.starts_with(|c: char| c.is_ascii_digit()) => {
                (OpHead::Replace, false)
            }
            false => return cursor.texts(line),
        },
        "delete" if cursor.keyword("file") => return cursor.whole(Op::DeleteFile),
        "delete" => match cursor.keyword("block") {
            true => (delete_block, true),
            false => (delete, false),
        },
        "move" if cursor.keyword("file") => return cursor.move_file(),
        "move" => return cursor.moved(line),
        "undo" => return cursor.whole(Op::Undo),
        "insert" => match cursor.word()?.as_str() {
            "head" => return cursor.end(OpHead::InsertHead),
            "tail" => return cursor.end(OpHead::InsertTail),
            "before" => (|lines| OpHead::InsertBefore(lines.start), true),
            "after" => match cursor.keyword("block") {
                true => (|lines| OpHead::InsertAfterBlock(lines.start), true),
                false => (|lines| OpHead::InsertAfter(lines.start), true),
            },
            _ => return None,
        },
        _ => return None,
    };
    if !cursor.rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if verb == "delete"
        && !one_line
        && let Some(numbers) = list(cursor.rest)
    {
        return Some(Err(Syntax::NumberList { numbers }));
    }
    Some(cursor.numbers(make, one_line, line))
}

fn delete(lines: LineSpan) -> OpHead {
    OpHead::Whole(Op::Delete { lines })
}

fn delete_block(lines: LineSpan) -> OpHead {
    OpHead::Whole(Op::DeleteBlock { line: lines.start })
}

/// Several numbers with nothing but commas and blanks between them: lines in a selector, a range
/// to some. Below `replace` the rows leave one meaning.
fn list(text: &str) -> Option<Vec<u64>> {
    let text = text.trim_end_matches(|c: char| c == ':' || is_separator(c));
    let between = |c: char| c == ',' || c.is_whitespace();
    let numbers = text.split(between).filter(|number| !number.is_empty());
    let numbers: Option<Vec<u64>> = numbers.map(|number| line_number(number).ok()).collect();
    numbers.filter(|numbers| numbers.len() > 1)
}

/// Whether a line is only numbers, as an op without its verb.
pub(super) fn is_bare_number(line: &str) -> bool {
    let line = line.trim().trim_end_matches(':');
    line.starts_with(|c: char| c.is_ascii_digit())
        && line.chars().all(|c| c.is_ascii_digit() || is_separator(c))
}

/// Whether a line begins with a verb of an op.
pub(super) fn begins_with_verb(line: &str) -> bool {
    let mut cursor = Cursor { rest: line.trim() };
    cursor.word().is_some_and(|word| {
        matches!(
            word.as_str(),
            "replace" | "delete" | "insert" | "move" | "undo"
        )
    })
}

struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    /// The next run of letters in lower case, with the blanks after it; `None` where other
    /// characters follow at once.
    fn word(&mut self) -> Option<String> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let ends_here = rest.is_empty() || rest.starts_with([' ', '\t', ':']);
        if word.is_empty() || !ends_here {
            return None;
        }
        self.rest = rest.trim_start();
        Some(word.to_ascii_lowercase())
    }

    /// Takes this very word, if it is next.
    fn keyword(&mut self, wanted: &str) -> bool {
        let before = self.rest;
        if self.word().as_deref() == Some(wanted) {
            return true;
        }
        self.rest = before;
        false
    }

    /// The end of a line without numbers; `None` where words follow.
    fn end(self, head: OpHead) -> Option<Result<OpLine, Syntax>> {
        let after = self.rest.trim_start_matches(is_separator);
        let colon = after.starts_with(':');
        let text = after.trim_start_matches(':').trim();
        if text.is_empty() {
            return Some(Ok(OpLine {
                head,
                colon,
                dangling: false,
            }));
        }
        colon.then(|| Err(text_beside(self.rest)))
    }

    /// A whole op, where nothing but a colon follows it.
    fn whole(self, op: Op) -> Option<Result<OpLine, Syntax>> {
        let after = self.rest.trim_start();
        let rest = after.strip_prefix(':').unwrap_or(after);
        rest.trim().is_empty().then_some(Ok(OpLine {
            head: OpHead::Whole(op),
            colon: after.starts_with(':'),
            dangling: false,
        }))
    }

    /// `"…" with "…"`, perhaps with `all` before it; `None` for what is not meant so.
    fn texts(mut self, line: &str) -> Option<Result<OpLine, Syntax>> {
        let all = self.keyword("all");
        let old = self.json_string()?;
        if !self.keyword("with") {
            return None;
        }
        let new = self.json_string();
        let (Some(old), Some(Some(new))) = (old, new) else {
            let found = excerpt(line);
            return Some(Err(Syntax::BadTexts { found }));
        };
        if old.is_empty() {
            let found = excerpt(line);
            return Some(Err(Syntax::BadTexts { found }));
        }
        let (old, new) = (lf(&old), lf(&new));
        let found = excerpt(line);
        let op = self.whole(Op::ReplaceText { old, new, all });
        Some(op.unwrap_or(Err(Syntax::BadTexts { found })))
    }

    /// What stands in quotes next, with the blanks after it; `Some(None)` where it is no JSON
    /// string. Tabs may stand in it as they are.
    fn json_string(&mut self) -> Option<Option<String>> {
        let inside = self.rest.strip_prefix('"')?;
        let mut is_escaped = false;
        let end = inside.find(|c: char| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })?;
        let written = &self.rest[..end + 2];
        self.rest = self.rest[end + 2..].trim_start();
        Some(serde_json::from_str(&written.replace('\t', "\\t")).ok())
    }

    /// `A..B after K` or `A..B before K`; `None` for what is not meant so.
    fn moved(mut self, line: &str) -> Option<Result<OpLine, Syntax>> {
        let is_digit = |c: char| c.is_ascii_digit();
        if !self.rest.starts_with(is_digit) {
            return None;
        }
        let span = self.rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (span, rest) = self.rest.split_at(span);
        self.rest = rest;
        let beside = match self.word()?.as_str() {
            "before" => MoveTarget::Before,
            "after" => MoveTarget::After,
            _ => return None,
        };
        if !self.rest.starts_with(is_digit) {
            return None;
        }
        if list(span).is_some() {
            return Some(Err(Syntax::NotAnOp {
                found: excerpt(line),
                hint: "One range for each op: 'move A..B after K'.",
            }));
        }
        let to = match self.number() {
            Ok(line) => beside(line),
            Err(what) => return Some(Err(what)),
        };
        let (lines, dangling) = match (Cursor { rest: span }).span() {
            Ok((start, end, dangling)) => match checked_range(start, end.unwrap_or(start)) {
                Ok(lines) => (lines, dangling),
                Err(what) => return Some(Err(what)),
            },
            Err(what) => return Some(Err(what)),
        };
        let op = self.whole(Op::Move { lines, to })?;
        Some(op.map(|op| OpLine { dangling, ..op }))
    }

    /// `to PATH`.
    fn move_file(mut self) -> Option<Result<OpLine, Syntax>> {
        if !self.keyword("to") {
            return None;
        }
        let to = meant_path(self.rest);
        (!to.is_empty()).then_some(Ok(OpLine {
            head: OpHead::Whole(Op::MoveFile { to }),
            colon: false,
            dangling: false,
        }))
    }

    fn numbers(
        mut self,
        make: fn(LineSpan) -> OpHead,
        one_line: bool,
        line: &str,
    ) -> Result<OpLine, Syntax> {
        let (start, second, dangling) = self.span()?;
        let colon = self.rest.starts_with(':');
        let text = self.rest.trim_start_matches(':').trim();
        if !text.is_empty() {
            return Err(text_beside(line));
        }
        if one_line && second.is_some() {
            return Err(Syntax::NotAnOp {
                found: excerpt(line),
                hint: "This op takes one line number; only 'replace' and 'delete' take a range.",
            });
        }
        Ok(OpLine {
            head: make(checked_range(start, second.unwrap_or(start))?),
            colon,
            dangling,
        })
    }

    /// One number or two, with what separates them, and whether that stood after the only one.
    fn span(&mut self) -> Result<(u64, Option<u64>, bool), Syntax> {
        let start = self.number()?;
        let separated = self.separators();
        let second = match self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            true => Some(self.number()?),
            false => None,
        };
        self.separators();
        Ok((start, second, separated && second.is_none()))
    }

    /// Skips separators; whether there was more than blanks.
    fn separators(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(is_separator);
        let skipped = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        !skipped.trim().is_empty()
    }

    fn number(&mut self) -> Result<u64, Syntax> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        line_number(digits)
    }
}

/// A line number in digits.
fn line_number(digits: &str) -> Result<u64, Syntax> {
    match digits.parse::<u64>() {
        Ok(line) if (1..=MAX_LINE).contains(&line) => Ok(line),
        _ => Err(Syntax::BadNumber {
            found: excerpt(digits),
        }),
    }
}

/// Checks a range of numbers.
pub(super) fn checked_range(start: u64, end: u64) -> Result<LineSpan, Syntax> {
    if let Some(&line) = [start, end].iter().find(|line| **line > MAX_LINE) {
        return Err(Syntax::BadNumber {
            found: line.to_string(),
        });
    }
    match end < start {
        true => Err(Syntax::Reversed { start, end }),
        false => Ok(LineSpan { start, end }),
    }
}

/// A text as it is looked for: every line end is one newline.
pub(super) fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn text_beside(line: &str) -> Syntax {
    Syntax::NotAnOp {
        found: excerpt(line),
        hint: "After the line numbers comes only a colon; text goes on the lines below, each with a + in front.",
    }
}
