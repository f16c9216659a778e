//! The structured twin of patch text, read into the same sections; a wrong parameter is never guessed.

use serde_json::Value;

use super::error::{Faulty, PatchError, Syntax, excerpt};
use super::op_line::{checked_range, lf};
use super::ops::{Hunk, MoveTarget, Op, Origin, Section, Warning, WarningCode};
use super::patch::{MAX_FAULTS, lacks_rows};
use super::tag::Tag;
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::protocol::read::LineSpan;

/// The ops by their names on the wire.
pub const OPS: &[&str] = &[
    "replace",
    "delete",
    "insert_before",
    "insert_after",
    "insert_after_block",
    "replace_block",
    "delete_block",
    "insert_head",
    "insert_tail",
    "replace_text",
    "move",
    "move_file",
    "delete_file",
    "undo",
];

/// What of `files` cannot be meant.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{what}")]
pub struct Misread {
    pub what: StructuredError,
    pub origin: Origin,
    /// The path of the file, where it is known.
    pub path: Option<String>,
}

/// Why something cannot be meant.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StructuredError {
    /// A parameter is missing, unknown or of the wrong type.
    #[error(transparent)]
    Params(#[from] Refusal),
    #[error(transparent)]
    Patch(#[from] PatchError),
}

/// Reads the parameter `files` of `agent/edit`: one section for each file. Sound are the edits
/// without a fault, of files without one.
pub fn parse_files(files: &[Value]) -> Result<Vec<Section>, Faulty<Vec<Section>, Misread>> {
    let mut sections = Vec::new();
    let mut faults = Vec::new();
    if files.is_empty() {
        let message = "'files' is empty; it must name at least one file.";
        faults.push(Misread {
            what: Refusal::bad_params("files", message).into(),
            origin: Origin::File(0),
            path: None,
        });
    }
    for (at, file) in files.iter().enumerate() {
        let origin = Origin::File(at);
        match File::of(at, file, &mut faults) {
            Ok(file) => sections.extend(file.section(&mut faults)),
            Err(refusal) => faults.push(Misread {
                what: refusal.into(),
                origin,
                path: file["path"].as_str().map(str::to_owned),
            }),
        }
        if faults.len() >= MAX_FAULTS {
            break;
        }
    }
    Faulty::unless_sound(sections, faults)
}

/// One file of `files`.
struct File<'a> {
    at: usize,
    path: String,
    tag: GivenTag,
    edits: &'a [Value],
}

/// A tag as it was given.
#[derive(Clone, Copy)]
enum GivenTag {
    Absent,
    Tag(Tag),
    Wrong,
}

impl<'a> File<'a> {
    /// A wrong tag is a fault, and its edits are still read.
    fn of(at: usize, file: &'a Value, faults: &mut Vec<Misread>) -> Result<File<'a>, Refusal> {
        let name = format!("files[{at}]");
        let fields = Fields::of(file, &name)?;
        let path = fields.required_string("path")?.to_owned();
        fields.list("edits")?;
        let edits = file["edits"].as_array().map_or(&[][..], Vec::as_slice);
        if edits.is_empty() {
            let message = format!("'{name}.edits' must be a list of at least one edit.");
            return Err(Refusal::bad_params(format!("{name}.edits"), message));
        }
        let tag = match fields.string("tag")? {
            None => GivenTag::Absent,
            Some(written) => parse_tag(written).map_or(GivenTag::Wrong, GivenTag::Tag),
        };
        let file = File {
            at,
            path,
            tag,
            edits,
        };
        if let (GivenTag::Wrong, Some(written)) = (tag, fields.string("tag")?) {
            let found = excerpt(written);
            faults.push(file.misread(Syntax::BadTag { found }, Origin::File(at)));
        }
        Ok(file)
    }

    /// Its section with the edits that are sound, if there is anything to do.
    fn section(self, faults: &mut Vec<Misread>) -> Option<Section> {
        let mut warnings = Vec::new();
        let mut hunks = Vec::with_capacity(self.edits.len());
        for (at, edit) in self.edits.iter().enumerate() {
            let file = self.at;
            let origin = Origin::Edit { file, edit: at };
            match self.hunk(edit, origin, &mut warnings) {
                Ok(hunk) => hunks.push(hunk),
                Err(fault) => faults.push(*fault),
            }
            if faults.len() >= MAX_FAULTS {
                break;
            }
        }
        let tag = match self.tag {
            GivenTag::Absent => None,
            GivenTag::Tag(tag) => Some(tag),
            GivenTag::Wrong => return None,
        };
        (!hunks.is_empty()).then_some(Section {
            path: self.path,
            tag,
            origin: Origin::File(self.at),
            hunks,
            warnings,
        })
    }

    fn hunk(
        &self,
        edit: &Value,
        origin: Origin,
        warnings: &mut Vec<Warning>,
    ) -> Result<Hunk, Box<Misread>> {
        let name = origin.to_string();
        let params = |refusal: Refusal| {
            Box::new(Misread {
                what: refusal.into(),
                origin,
                path: Some(self.path.clone()),
            })
        };
        let fields = Fields::of(edit, &name).map_err(params)?;
        let op = parse_edit(&fields, &name, origin, warnings)
            .map_err(params)?
            .map_err(|what| Box::new(self.misread(what, origin)))?;
        let needs_tag = !op.needs_no_tag();
        match self.tag {
            GivenTag::Absent if needs_tag => Err(Box::new(self.misread(Syntax::TagNeeded, origin))),
            _ => Ok(Hunk { op, origin }),
        }
    }

    fn misread(&self, what: Syntax, origin: Origin) -> Misread {
        let error = PatchError {
            what,
            origin,
            path: Some(self.path.clone()),
            tag: match self.tag {
                GivenTag::Tag(tag) => Some(tag),
                GivenTag::Absent | GivenTag::Wrong => None,
            },
        };
        Misread {
            what: error.into(),
            origin,
            path: Some(self.path.clone()),
        }
    }
}

/// A tag alone, or at the end of a header that was copied whole.
fn parse_tag(written: &str) -> Option<Tag> {
    let written = written.trim();
    let tag = written.rsplit_once('#').map_or(written, |(_, tag)| tag);
    tag.parse().ok()
}

fn parse_edit(
    fields: &Fields,
    name: &str,
    origin: Origin,
    warnings: &mut Vec<Warning>,
) -> Result<Result<Op, Syntax>, Refusal> {
    let op = fields.required_string("op")?;
    let op = op.trim().to_ascii_lowercase();
    let made = match op.as_str() {
        "replace" => {
            let lines = range(fields, name)?;
            let rows = rows(fields, name)?;
            lines.map(|lines| replace(lines, rows, origin, warnings))
        }
        "delete" => range(fields, name)?.map(|lines| Op::Delete { lines }),
        "replace_block" => {
            let rows = rows(fields, name)?;
            line(fields, name)?.map(|line| Op::ReplaceBlock { line, rows })
        }
        "delete_block" => line(fields, name)?.map(|line| Op::DeleteBlock { line }),
        "insert_before" => {
            let rows = rows(fields, name)?;
            line(fields, name)?.map(|line| Op::InsertBefore { line, rows })
        }
        "insert_after" => {
            let rows = rows(fields, name)?;
            line(fields, name)?.map(|line| Op::InsertAfter { line, rows })
        }
        "insert_after_block" => {
            let rows = rows(fields, name)?;
            line(fields, name)?.map(|line| Op::InsertAfterBlock { line, rows })
        }
        "insert_head" => Ok(Op::InsertHead {
            rows: rows(fields, name)?,
        }),
        "insert_tail" => Ok(Op::InsertTail {
            rows: rows(fields, name)?,
        }),
        "replace_text" => Ok(replace_text(fields, name)?),
        "move" => moved(fields, name)?,
        "move_file" => {
            let to = fields.required_string("to")?.to_owned();
            Ok(Op::MoveFile { to })
        }
        "delete_file" => Ok(Op::DeleteFile),
        "undo" => Ok(Op::Undo),
        other => return Err(unknown_op(other, name)),
    };
    Ok(made.and_then(|op| match lacks_rows(&op) {
        true => Err(Syntax::NoRows {
            verb: super::error::verb(&op),
        }),
        false => Ok(op),
    }))
}

fn replace(lines: LineSpan, rows: Vec<String>, origin: Origin, warnings: &mut Vec<Warning>) -> Op {
    let mut warn = |code, message: &str| {
        warnings.push(Warning::new(code, format!("{origin}: {message}")));
    };
    if rows.is_empty() {
        warn(
            WarningCode::DeletesLines,
            "'replace' without rows was taken as 'delete'.",
        );
        return Op::Delete { lines };
    }
    if rows == [""] {
        warn(
            WarningCode::EmptyText,
            "an empty text is one blank line; use 'delete' to remove lines.",
        );
    }
    Op::Replace { lines, rows }
}

fn replace_text(fields: &Fields, name: &str) -> Result<Op, Refusal> {
    let old = fields.required_string("old")?;
    if old.is_empty() {
        let message = format!("'{name}.old' is empty; it must be text that the file has.");
        return Err(Refusal::bad_params(format!("{name}.old"), message));
    }
    let all = match fields.get("all") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => {
            let message = format!("'{name}.all' must be true or false.");
            return Err(Refusal::bad_params(format!("{name}.all"), message));
        }
    };
    Ok(Op::ReplaceText {
        old: lf(old),
        new: lf(fields.required_string("new")?),
        all,
    })
}

/// Lines and the one line that they go beside.
fn moved(fields: &Fields, name: &str) -> Result<Result<Op, Syntax>, Refusal> {
    let lines = range(fields, name)?;
    let (line, to): (_, fn(u64) -> MoveTarget) = match (
        fields.count("after")?,
        fields.count("before")?,
    ) {
        (Some(line), None) => (line, MoveTarget::After),
        (None, Some(line)) => (line, MoveTarget::Before),
        _ => {
            let message = format!(
                "'{name}' moves lines beside one line: give either 'after' or 'before', a line number from 1 up."
            );
            return Err(Refusal::bad_params(format!("{name}.after"), message));
        }
    };
    let line = checked_range(line, line).map(|lines| lines.start);
    Ok(lines.and_then(|lines| {
        Ok(Op::Move {
            lines,
            to: to(line?),
        })
    }))
}

fn required_count(fields: &Fields, name: &str, key: &str) -> Result<u64, Refusal> {
    fields.count(key)?.ok_or_else(|| {
        let message = format!("'{name}.{key}' is missing; it must be a line number from 1 up.");
        Refusal::bad_params(format!("{name}.{key}"), message)
    })
}

fn range(fields: &Fields, name: &str) -> Result<Result<LineSpan, Syntax>, Refusal> {
    let start = required_count(fields, name, "start")?;
    let end = fields.count("end")?.unwrap_or(start);
    Ok(checked_range(start, end))
}

fn line(fields: &Fields, name: &str) -> Result<Result<u64, Syntax>, Refusal> {
    let line = required_count(fields, name, "line")?;
    Ok(checked_range(line, line).map(|lines| lines.start))
}

/// The rows of `text`: a string is split into lines, a list is one row or more for each item.
fn rows(fields: &Fields, name: &str) -> Result<Vec<String>, Refusal> {
    let wrong = || {
        let message = format!("'{name}.text' must be a string or a list of strings.");
        Refusal::bad_params(format!("{name}.text"), message)
    };
    match fields.get("text") {
        Some(Value::String(text)) => Ok(rows_of(text).collect()),
        Some(Value::Array(items)) => {
            let mut rows = Vec::with_capacity(items.len());
            for item in items {
                rows.extend(rows_of(item.as_str().ok_or_else(wrong)?));
            }
            Ok(rows)
        }
        _ => Err(wrong()),
    }
}

/// One final newline more or less makes no difference: both `""` and `"\n"` are one blank line.
fn rows_of(text: &str) -> impl Iterator<Item = String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n')
        .map(|row| row.trim_end_matches('\r').to_owned())
}

fn unknown_op(op: &str, name: &str) -> Refusal {
    let nearest = OPS
        .iter()
        .max_by(|one, other| {
            let score = |known: &str| strsim::jaro_winkler(op, known);
            score(one).total_cmp(&score(other))
        })
        .copied()
        .unwrap_or_default();
    let message = format!(
        "'{name}.op' is '{}', which is no op; did you mean '{nearest}'? Ops are {}.",
        excerpt(op),
        OPS.join(", ")
    );
    Refusal::bad_params(format!("{name}.op"), message)
}
