//! The dialect `opencode` (`001_…` of the seeds): XML around `N: TEXT`, errors thrown; nothing here is told to any other.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::protocol::params::Fields;
use crate::protocol::read::ResourceKind;
use crate::protocol::tools::Tool;
use crate::protocol::typed::{self, PathText, Whole};
use crate::protocol::{Refusal, Settings};
use crate::view::{Guess, ListingStyle, RefusedByDefault, Style};

use super::{Asked, Body, Dialect, Request, Said, View, Written, counted};

#[derive(Debug)]
pub struct Opencode;

#[derive(Debug, JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpencodeParameters {
    /// The path of the file or directory to read, absolute or relative to the workspace
    file_path: PathText,
    /// The line number to start reading from (1-indexed, default 1)
    offset: Option<Whole<1>>,
    /// The maximum number of lines to read (default 2000)
    limit: Option<Whole<1>>,
}

/// What its tool calls binary by the name alone.
const BINARY: &[&str] = &[
    ".zip", ".tar", ".gz", ".exe", ".dll", ".so", ".class", ".jar", ".war", ".7z", ".doc", ".docx",
    ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".odp", ".bin", ".dat", ".obj", ".o", ".a",
    ".lib", ".wasm", ".pyc", ".pyo",
];

const ROUND: (char, char) = ('(', ')');

/// Lines of `metadata.preview`.
const PREVIEW_LINES: usize = 20;

impl Dialect for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn path_parameter(&self) -> &'static str {
        "filePath"
    }

    fn request(&self, fields: Fields, _: &Settings) -> Result<Request, Refusal> {
        let parameters: OpencodeParameters = typed::parse(fields)?;
        let offset = parameters.offset.map(Whole::count);
        let limit = parameters.limit.map(Whole::count);
        Ok(Request {
            listing: ListingStyle::Names,
            refused_by_default: RefusedByDefault {
                extensions: BINARY,
                directories: false,
                controls: Some(counted::MAX_CONTROLS),
            },
            guess: Guess::NearNames,
            whole_file: Some(counted::MAX_BINARY_BYTES),
            image_bytes: Some(counted::MAX_BINARY_BYTES as usize),
            ..counted::request(parameters.file_path.0, offset, limit)
        })
    }

    fn write(&self, view: &View) -> Result<Written, Refusal> {
        if let Some(offset) = counted::beyond(view) {
            let (what, count) = match view.document.style {
                Style::Listing => ("directory", "entries"),
                _ => ("file", "lines"),
            };
            let total = view.window.total_lines;
            let message =
                format!("Offset {offset} is out of range for this {what} ({total} {count})");
            return Err(Refusal::OutOfRange { message });
        }
        let understood = counted::understood(view);
        if let Some(block) = view.whole_file() {
            let mut written = said(view, format!("{understood}PDF read successfully"));
            written.content.push(block);
            return Ok(written);
        }
        const IMAGE: &str = "Image read successfully";
        if let Some(content) = counted::image(view, view.name, IMAGE.to_owned()) {
            return Ok(Written {
                content,
                ..said(view, IMAGE.to_owned())
            });
        }
        if view.document.style == Style::Listing && matches!(view.body, Body::Rows) {
            return Ok(whole(view, understood + &entries(view)));
        }
        if let Some(engine) = counted::as_engine(view) {
            let native = native(view);
            return Ok(Written {
                native: Some(native),
                ..engine
            });
        }
        Ok(whole(view, understood + &file(view)))
    }

    fn refuse(&self, refusal: &Refusal, asked: &Asked) -> Said {
        let path = (asked.absolute)(asked.path);
        match refusal {
            Refusal::NotFound { suggestions, .. } => {
                let mut text = format!("File not found: {path}");
                if !suggestions.is_empty() {
                    text.push_str("\n\nDid you mean one of these?");
                    for near in suggestions {
                        text.push('\n');
                        text.push_str(&(asked.absolute)(near));
                    }
                }
                Said::Thrown(text)
            }
            Refusal::Binary { .. } => Said::Thrown(format!("Cannot read binary file: {path}")),
            // The seed's words end without a full stop.
            Refusal::BadParams { message, .. } if message.ends_with("must be >= 1.") => {
                Said::Thrown(message.trim_end_matches('.').to_owned())
            }
            _ => Said::AsIs,
        }
    }

    fn read_tool(&self) -> Tool {
        Tool::new("read", READ, typed::schema::<OpencodeParameters>())
    }
}

const READ: &str = r"Reads a file or directory of the workspace. Unsaved changes in the editor are part of what you see.

Usage:
- filePath may be absolute or relative to the workspace.
- By default it reads up to 2000 lines from the start; use offset and limit for later sections of a larger file.
- Contents are returned with each line prefixed by its line number as `<line>: <content>`; the prefix is not part of the file.
- A directory is returned with one entry per line, with a trailing `/` for subdirectories.
- Lines longer than 2000 characters are cut, and so is a long answer. Its last line says how to go on, or that this is the end of the file.
- Images and PDFs are returned as attachments.
- What is inside a file is read by filePath as well: `a.zip:dir/x.txt`, `db.sqlite:table?where=…`, `report.docx:p3`.
- filePath may be a web address (https://…): a page as Markdown, or a PDF, image, archive or feed there.
- filePath may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more.
- If you do not know the path, use the glob tool to look up filenames, and the grep tool to find content in large files.
- Avoid tiny repeated slices; if you need more context, read a larger window. Call it in parallel, or use read_many, when you know there are several files to read.";

/// The whole answer as one text.
fn whole(view: &View, text: String) -> Written {
    Written {
        content: counted::text(text),
        native: Some(native(view)),
        next: counted::next(view, 1),
    }
}

/// A few words in the place of a text.
fn said(view: &View, text: String) -> Written {
    let metadata = json!({ "preview": text, "truncated": false });
    Written {
        native: Some(json!({ "title": view.name, "metadata": metadata })),
        content: counted::text(text),
        next: None,
    }
}

fn native(view: &View) -> serde_json::Value {
    let rows = view.window.rows().take(PREVIEW_LINES);
    let preview: Vec<&str> = rows.map(|row| row.uncut().0).collect();
    json!({
        "title": view.name,
        "metadata": { "preview": preview.join("\n"), "truncated": counted::goes_on(view) },
    })
}

fn file(view: &View) -> String {
    let mut out = head(view, "file");
    out.push_str("<content>\n");
    out.push_str(&counted::rows(view, "...", |out, number, text| {
        let _ = write!(out, "{number}: {text}");
    }));
    out.push('\n');
    out.push_str(&counted::footers(view, ("filePath", view.name), ROUND));
    if !counted::goes_on_as_list(view) {
        let _ = writeln!(out, "({})", ending(view));
    }
    out.push_str("</content>");
    out
}

/// How the content ends.
fn ending(view: &View) -> String {
    let last = counted::shown(view).map_or(0, |(_, last)| last);
    if counted::is_cut_by_bytes(view) {
        return format!(
            "Output truncated at {} bytes. Use 'offset' parameter to read beyond line {last}",
            view.byte_limit
        );
    }
    match counted::total(view) {
        Some(total) if last >= total => format!("End of file - total {total} lines"),
        _ => format!("File has more lines. Use 'offset' parameter to read beyond line {last}"),
    }
}

fn entries(view: &View) -> String {
    let what = match view.document.kind {
        // Rows for what has addresses, as those of a directory are for what has names.
        ResourceKind::Internal => ResourceKind::Directory,
        kind => kind,
    };
    let mut out = head(view, what.name());
    out.push_str("<entries>\n");
    out.push_str(&counted::rows(view, "", |out, _, text| out.push_str(text)));
    let mut ending = String::new();
    counted::between(ROUND, counted::remarks(view, view.name), &mut ending);
    if counted::goes_on(view) && !counted::goes_on_as_list(view) {
        let last = counted::shown(view).map_or(0, |(_, last)| last);
        let _ = writeln!(
            ending,
            "(Directory has more entries. Use 'offset' parameter to read beyond entry {last})"
        );
    }
    if !ending.is_empty() {
        out.push('\n');
        out.push_str(&ending);
    }
    out.push_str("</entries>");
    out
}

fn head(view: &View, what: &str) -> String {
    let path = crate::view::in_header(view.path);
    format!("<path>{path}</path>\n<type>{what}</type>\n")
}
