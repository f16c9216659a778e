//! The rows under an op; no row of text is ever left out without a warning or an error.

use super::error::{Syntax, excerpt};
use super::header::{parse_header, resembles_header};
use super::op_line::parse_op;
use super::ops::{Origin, Warning, WarningCode};

/// A line of a body and its number in the patch.
pub(super) type BodyLine<'a> = (u64, &'a str);

/// An error and the patch line it is at; `None` is the op's own line.
pub(super) type BodyError = (Option<u64>, Syntax);

/// The rows that the lines below an op mean. `lines` holds neither ops nor headers.
pub(super) fn rows(
    lines: &[BodyLine],
    op_line: u64,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<String>, BodyError> {
    let rows = match lines.iter().rposition(|(_, line)| line.starts_with('+')) {
        Some(last) => plus_rows(lines, last, warnings)?,
        None => bare_rows(lines, op_line, warnings)?,
    };
    // Only an ended line loses its CR when it is read, and every line of a file but the last is
    // ended: a row that kept one would read back as another row.
    Ok(rows
        .into_iter()
        .map(|row| row.trim_end_matches('\r').to_owned())
        .collect())
}

pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

pub(super) fn is_remark(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

fn plus_rows(
    lines: &[BodyLine],
    last: usize,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<String>, BodyError> {
    let mut rows = Vec::new();
    let mut noted = Noted::default();
    for (at, (number, line)) in lines.iter().enumerate() {
        if let Some(row) = line.strip_prefix('+') {
            let op_like = matches!(parse_op(row), Some(Ok(_)));
            if op_like || row.starts_with('¶') && parse_header(row).is_some() {
                noted.op_like.get_or_insert(*number);
            }
            rows.push(row.to_owned());
        } else if is_blank(line) {
            if at < last {
                noted.blank.get_or_insert(*number);
                rows.push(String::new());
            }
        } else if line.starts_with('-') {
            noted.minus.get_or_insert(*number);
        } else if is_remark(line) && at > last {
            noted.remark.get_or_insert(*number);
        } else if is_remark(line) {
            noted.bare.get_or_insert(*number);
            rows.push((*line).to_owned());
        } else {
            let found = excerpt(line);
            return Err((Some(*number), Syntax::MixedRows { found }));
        }
    }
    noted.warn(warnings);
    Ok(rows)
}

/// The first line of each kind that deserves a warning.
#[derive(Default)]
struct Noted {
    op_like: Option<u64>,
    blank: Option<u64>,
    minus: Option<u64>,
    remark: Option<u64>,
    bare: Option<u64>,
}

impl Noted {
    fn warn(self, warnings: &mut Vec<Warning>) {
        let told = [
            (
                self.op_like,
                WarningCode::LooksLikeOp,
                "looks like an op or a header but starts with +, so it went in as text.",
            ),
            (
                self.blank,
                WarningCode::BlankRow,
                "is blank without a + and was taken as a blank line of text.",
            ),
            (
                self.minus,
                WarningCode::DroppedRows,
                "starts with -; such rows were left out, since removed lines are named by number.",
            ),
            (
                self.remark,
                WarningCode::DroppedRows,
                "has no + in front and was taken as a remark, not as text.",
            ),
            (
                self.bare,
                WarningCode::BareRows,
                "has no + in front and was taken as text.",
            ),
        ];
        for (line, code, message) in told {
            if let Some(line) = line {
                let origin = Origin::PatchLine(line);
                warnings.push(Warning::new(code, format!("{origin} {message}")));
            }
        }
    }
}

fn bare_rows(
    lines: &[BodyLine],
    op_line: u64,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<String>, BodyError> {
    let Some(last) = lines.iter().rposition(|(_, line)| !is_blank(line)) else {
        return Ok(Vec::new());
    };
    let lines = &lines[..=last];
    check_bare(lines)?;
    let origin = Origin::PatchLine(op_line);
    warnings.push(Warning::new(
        WarningCode::BareRows,
        format!("{origin}: the rows have no + in front; they were taken literally."),
    ));
    if let Some(rows) = without_prefixes(lines) {
        warnings.push(Warning::new(
            WarningCode::StrippedPrefixes,
            format!("{origin}: every row began with a line number; these were taken off."),
        ));
        return Ok(rows);
    }
    Ok(lines.iter().map(|(_, line)| (*line).to_owned()).collect())
}

/// Refuses rows that may not be meant as text.
fn check_bare(lines: &[BodyLine]) -> Result<(), BodyError> {
    let filled = || lines.iter().filter(|(_, line)| !is_blank(line));
    let is_minus = |line: &str| line.starts_with('-');
    let is_bullet = |line: &str| line == "-" || line.starts_with("- ") || line.starts_with("-\t");
    if filled().all(|(_, line)| is_minus(line)) && !filled().all(|(_, line)| is_bullet(line)) {
        return Err((None, Syntax::OnlyMinusRows));
    }
    if filled().all(|(_, line)| line.trim_start().starts_with('+')) {
        let (number, line) = lines[0];
        let found = excerpt(line);
        return Err((Some(number), Syntax::IndentedPlus { found }));
    }
    for (number, line) in lines {
        let found = || excerpt(line);
        if is_minus(line) && !is_bullet(line) && !line.starts_with("--") {
            return Err((Some(*number), Syntax::PerhapsRemoved { found: found() }));
        }
        if resembles_header(line) {
            return Err((Some(*number), Syntax::BadHeader { found: found() }));
        }
    }
    Ok(())
}

/// The rows without the `N:` of a read, where every row has one and the numbers are consecutive.
fn without_prefixes(lines: &[BodyLine]) -> Option<Vec<String>> {
    let mut rows = Vec::with_capacity(lines.len());
    let mut previous: Option<u64> = None;
    for (_, line) in lines {
        let (digits, row) = line.trim_start().split_once(':')?;
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let number: u64 = digits.parse().ok()?;
        if previous.is_some_and(|previous| previous.checked_add(1) != Some(number)) {
            return None;
        }
        previous = Some(number);
        rows.push(row.to_owned());
    }
    // `1: "one",` on every row is a map, not a read: a read puts no blank after its colon, and
    // code is seldom indented by exactly one.
    let one_blank = |row: &String| {
        row.strip_prefix(' ')
            .is_some_and(|rest| !rest.starts_with([' ', '\t']))
    };
    (!rows.iter().all(one_blank)).then_some(rows)
}
