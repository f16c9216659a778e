//! The dialect `roo` (`004_…` of the seeds): `N | TEXT`, long files from their start with their definitions, errors as results; nothing here is told to any other.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::outline::Definition;
use crate::protocol::params::Fields;
use crate::protocol::read::Next;
use crate::protocol::refusal::Rule;
use crate::protocol::tools::Tool;
use crate::protocol::typed::{self, PathText, Whole};
use crate::protocol::{Refusal, Settings};
use crate::view::excerpt::from_end;
use crate::view::selector::Piece;
use crate::view::size::file_size;
use crate::view::{Budget, Guess, Target};

use super::{Asked, Dialect, Request, Said, View, Written, counted};

#[derive(Debug)]
pub struct Roo;

#[derive(Debug, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
struct RooParameters {
    /// The path of the file to read relative to the current working directory
    path: PathText,
    /// The starting line number to read from (1-based indexing)
    start_line: Option<Whole<1>>,
    /// The ending line number to read to (1-based, inclusive)
    end_line: Option<Whole<1>>,
}

/// More lines than any document has whose lines nobody counted.
const MORE_THAN_ANY: u64 = 100_000_000;

/// Definitions of lines that are not shown that follow the notice.
const MAX_DEFINITIONS: usize = 200;

impl Dialect for Roo {
    fn name(&self) -> &'static str {
        "roo"
    }

    fn request(&self, fields: Fields, settings: &Settings) -> Result<Request, Refusal> {
        let parameters: RooParameters = typed::parse(fields)?;
        let path = parameters.path.0;
        let start = parameters.start_line.map(Whole::count);
        let end = parameters.end_line.map(Whole::count);
        let lines = match (start, end) {
            (None, None) => None,
            (start, None) => Some(Piece::From(start.unwrap_or(1))),
            (start, Some(end)) => Some(Piece::Range(start.unwrap_or(1), end)),
        };
        let refusal = match lines {
            Some(Piece::Range(start, end)) if end < start => Some(Refusal::BadSelector {
                path: Some(path.clone()),
                message: format!("end_line {end} is before start_line {start}."),
            }),
            _ => None,
        };
        let limits = counted::limits(Budget::DEFAULT.lines, settings.read.max_columns);
        Ok(Request {
            lines,
            truncate: Some(settings.read.roo.max_read_file_line.max(1) as u64),
            guess: Guess::Nothing,
            counts_lines: true,
            refusal,
            ..Request::new(Target::Spelled(path), limits)
        })
    }

    fn write(&self, view: &View) -> Result<Written, Refusal> {
        let engine = match counted::beyond(view) {
            None => counted::as_engine(view),
            Some(_) => None,
        };
        Ok(counted::written(view, next(view), engine, lines))
    }

    fn refuse(&self, refusal: &Refusal, asked: &Asked) -> Said {
        let path = asked.path;
        Said::Result(match refusal {
            Refusal::NotFound { .. } => format!("Error: File not found at path '{path}'."),
            Refusal::Denied { rule, .. } => denied(path, rule),
            refusal => format!("Error: {refusal}"),
        })
    }

    fn read_tool(&self) -> Tool {
        Tool::new("read_file", READ, typed::schema::<RooParameters>())
    }
}

/// In the seed's words alone where it is the seed's own rule; others are named.
fn denied(path: &str, rule: &Rule) -> String {
    let file_name = |file: &'_ str| file.rsplit('/').next().unwrap_or(file).to_owned();
    let whose = match rule {
        Rule::Setting { .. } => "access.deny".to_owned(),
        Rule::LinkOut => "link".to_owned(),
        Rule::IgnoreFile { file, .. } | Rule::UnreadableIgnoreFile { file } => file_name(file),
    };
    let said = format!("Error: Access denied to file '{path}' due to {whose} rules.");
    match rule {
        Rule::IgnoreFile { .. } if whose == ".rooignore" => said,
        rule => format!("{said} It is denied by {rule}."),
    }
}

const READ: &str = r#"Request to read the contents of a file at the specified path, or of some of its lines. Use this when you need to examine the contents of an existing file, for example to analyze code, review text files, or extract information from configuration files. Unsaved changes in the editor are part of what you see.

- The output has line numbers (e.g. "1 | const x = 13"); the number and the bar are not part of the file.
- start_line and end_line give exactly those lines, both 1-based and inclusive; use them for large files.
- Without them a text file of more than 500 lines is shown from its start only: a notice says so, and for code the definitions follow with their line ranges, so that you can ask for the ones you need.
- PDF, Word and other documents are given as text. What is inside a file is read by path as well: `a.zip:dir/x.txt`, `db.sqlite:table?where=…`, `report.pdf:p3`. A directory is listed. Other binary files are refused.
- path may be a web address (https://…): a page as Markdown, or a PDF, image, archive or feed there.
- path may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more."#;

fn lines(view: &View) -> String {
    if let Some(first) = counted::beyond(view) {
        let total = view.window.total_lines;
        return format!(
            "[Line {first} is beyond the end of '{}', which has {total} total lines. Use start_line and end_line to read specific ranges.]",
            view.name
        );
    }
    let out = counted::rows(view, "…", |out, number, text| {
        let _ = write!(out, "{number} | {text}");
    });
    let mut ending = counted::footers(view, ("path", view.name), ('[', ']'));
    if view.window.left().is_some()
        && let Some((first, last)) = counted::shown(view)
    {
        let shown = match first {
            1 => format!("{last}"),
            _ => format!("lines {first}-{last}"),
        };
        let of = match (counted::total(view), view.window.uncounted_bytes) {
            (Some(total), _) => format!("of {total} total lines"),
            (None, Some(bytes)) => format!("of the lines of {}", file_size(bytes)),
            (None, None) => "lines".to_owned(),
        };
        let limit = counted::limit(view, "KB");
        let _ = writeln!(
            ending,
            "[Showing only {shown} {of}{limit}. Use start_line and end_line to read specific ranges.]"
        );
        list_definitions(view, last, &mut ending);
    }
    counted::ended(out, &ending)
}

/// What the text defines that goes on beyond the last line that is shown, as far as there is room,
/// then what was shown of it.
fn list_definitions(view: &View, last: u64, out: &mut String) {
    let definitions = view.definitions.iter().filter(|it| it.rank.is_listed());
    let (left, seen): (Vec<_>, Vec<_>) = definitions.partition(|it| it.span.end > last);
    let (first, rest) = left.split_at(left.len().min(MAX_DEFINITIONS));
    let mut rows: Vec<String> = first.iter().map(|it| definition_row(it)).collect();
    match rest.len() {
        0 => {}
        1 => rows.push("[1 more definition]".to_owned()),
        more => rows.push(format!("[{more} more definitions]")),
    }
    rows.extend(seen.into_iter().map(definition_row));
    for row in rows {
        out.push_str(&row);
        out.push('\n');
    }
}

fn definition_row(definition: &Definition) -> String {
    let (span, signature) = (definition.span, &definition.signature);
    format!("{}-{} | {signature}", span.start, span.end)
}

/// With all lines that are left: its parameters name the last one, and a read of some lines is cut
/// by nothing but what cuts every read.
fn next(view: &View) -> Option<Next> {
    let left = view
        .window
        .left()
        .filter(|left| from_end(left.start).is_none())?;
    Some(Next {
        offset: left.start,
        limit: match (counted::total(view), view.window.uncounted_bytes) {
            // A file has no more lines than bytes.
            (None, Some(bytes)) => bytes,
            (None, None) => MORE_THAN_ANY,
            (Some(_), _) => left.count(),
        },
    })
}
