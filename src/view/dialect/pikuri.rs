//! The dialect `pikuri` (`002_…` of the seeds): `cat -n`, errors as results; nothing here is told to any other.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::params::Fields;
use crate::protocol::read::ResourceKind;
use crate::protocol::tools::Tool;
use crate::protocol::typed::{self, ANY, PathText, Whole};
use crate::protocol::{Refusal, Settings};
use crate::view::RefusedByDefault;
use crate::view::size::file_size;

use super::{Asked, Dialect, Request, Said, View, Written, counted};

#[derive(Debug)]
pub struct Pikuri;

#[derive(Debug, JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
struct PikuriParameters {
    /// Path to the file to read. Relative paths resolve against the workspace root, e.g. "lib/foo.rb" or "/abs/path/to/file.txt".
    path: PathText,
    /// Line number to start reading from (1-indexed). Defaults to 1, e.g. 200.
    offset: Option<Whole<ANY>>,
    /// Maximum number of lines to read. Defaults to 2000, e.g. 500.
    limit: Option<Whole<ANY>>,
}

const CUT: &str = "... (line truncated to 2000 chars)";

impl Dialect for Pikuri {
    fn name(&self) -> &'static str {
        "pikuri"
    }

    fn request(&self, fields: Fields, _: &Settings) -> Result<Request, Refusal> {
        let PikuriParameters {
            path,
            offset,
            limit,
        } = typed::parse(fields)?;
        // Its tool takes any number and then says what is wrong with it.
        let out_of_range =
            [("offset", offset), ("limit", limit)]
                .into_iter()
                .find_map(|(name, number)| {
                    let number = number.filter(|number| number.0 < 1)?;
                    let message = format!("{name} must be >= 1, got {}", number.0);
                    Some(Refusal::OutOfRange { message })
                });
        let count = |number: Option<Whole<ANY>>| number.map(Whole::count);
        Ok(Request {
            refused_by_default: RefusedByDefault {
                extensions: &[],
                directories: true,
                controls: Some(counted::MAX_CONTROLS),
            },
            image_bytes: Some(counted::MAX_BINARY_BYTES as usize),
            counts_lines: true,
            refusal: out_of_range,
            ..counted::request(path.0, count(offset), count(limit))
        })
    }

    fn write(&self, view: &View) -> Result<Written, Refusal> {
        if let Some(offset) = counted::beyond(view) {
            let total = view.window.total_lines;
            let message = format!("offset {offset} is beyond end of file ({total} lines total)");
            return Err(Refusal::OutOfRange { message });
        }
        if let (Some(reason), ResourceKind::Document) =
            (&view.document.extras.unreadable, view.document.kind)
        {
            return Err(Refusal::Unsupported {
                path: Some(view.name.to_owned()),
                message: format!("cannot extract PDF text: {reason}"),
            });
        }
        if counted::is_too_large(view, ResourceKind::Image) {
            let size = file_size(view.document.details.total_bytes.unwrap_or(0));
            let text = too_large(view.name, &format!(", {size}"));
            return Err(counted::worded(text, view.name));
        }
        let (bytes, mime_type) = match view.attachments.first() {
            Some(image) => (image.data.len(), image.mime_type),
            None => (0, ""),
        };
        let said = format!("Read image: {} ({bytes} bytes, {mime_type})", view.name);
        if let Some(content) = counted::image(view, view.name, said) {
            return Ok(Written::of(content));
        }
        let engine = counted::as_engine(view);
        Ok(counted::written(
            view,
            counted::next(view, 1),
            engine,
            lines,
        ))
    }

    fn refuse(&self, refusal: &Refusal, asked: &Asked) -> Said {
        let path = asked.path;
        Said::Result(match refusal {
            Refusal::NotFound { .. } => format!("Error: file not found: {path}"),
            Refusal::Directory { .. } => {
                format!("Error: {path} is a directory; use the glob tool to list files.")
            }
            Refusal::Binary { .. } => format!("Error: cannot read binary file: {path}"),
            Refusal::Io { message, .. } => format!("Error: cannot read {path}: {message}"),
            Refusal::TooLarge { .. } if counted::is_image_name(path) => {
                format!("Error: {}", too_large(path, ""))
            }
            refusal => format!("Error: {refusal}"),
        })
    }

    fn read_tool(&self) -> Tool {
        Tool::new("read", READ, typed::schema::<PikuriParameters>())
    }
}

const READ: &str = r"Read a file from the workspace and return its contents with line numbers. Unsaved changes in the editor are part of what you see.

Usage:
- Output is line-numbered in `cat -n` style; the number and the tab are not part of the file.
- Use `offset` and `limit` to page through large files; when the response ends in `Use offset=N to continue`, call again with that offset.
- Lines longer than 2000 chars are truncated with a marker — use `grep` for content inside such files.
- PDFs are text-extracted page-by-page with `--- Page N ---` markers in the output. Cite pages back to the user from those markers. PDFs cannot be modified with `edit`.
- PNG / JPEG / GIF / WebP files are attached as images you can see directly, alongside a short text note with the path and size. Requires a vision-capable model; on a text-only model the provider will reject the call. Images cannot be modified with `edit`.
- What is inside a file is read by its path as well: `a.zip:dir/x.txt`, `db.sqlite:table?where=…`, `report.docx:p3`. Other binary files are refused.
- The path may be a web address (https://…): a page as Markdown, or a PDF, image, archive or feed there.
- The path may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more.
- Directories are refused — use the `glob` tool to list files.
- If unsure of the path, use `glob` first to look up filenames.
- Avoid tiny repeated slices — if you need more context, read a larger window.";

fn too_large(path: &str, size: &str) -> String {
    format!(
        "image too large: {path}{size} (limit 5 MB); read another file or ask the user to resize it"
    )
}

fn lines(view: &View) -> String {
    let out = counted::rows(view, CUT, |out, number, text| {
        let _ = write!(out, "{number:>6}\t{text}");
    });
    let mut ending = counted::footers(view, ("path", view.name), ('(', ')'));
    if let (true, Some((first, last))) = (counted::goes_on(view), counted::shown(view))
        && !counted::goes_on_as_list(view)
    {
        let of = match counted::total(view) {
            Some(total) => format!(" of {total}"),
            None => String::new(),
        };
        let limit = counted::limit(view, " KB");
        let next = last + 1;
        let _ = writeln!(
            ending,
            "Showing lines {first}-{last}{of}{limit}. Use offset={next} to continue"
        );
    }
    counted::ended(out, &ending)
}
