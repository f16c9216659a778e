//! The dialect `llm-gateway` (`003_…` of the seeds): one XML element, lines from 0, errors as results; nothing here is told to any other.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::params::Fields;
use crate::protocol::read::ResourceKind;
use crate::protocol::tools::Tool;
use crate::protocol::typed::{self, PathText, Whole};
use crate::protocol::{Refusal, Settings};
use crate::view::window::{Count, Limits};

use super::{Asked, Dialect, Request, Said, View, Written, counted};

#[derive(Debug)]
pub struct LlmGateway;

#[derive(Debug, JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LlmGatewayParameters {
    /// Absolute path to the file to read
    file_path: PathText,
    /// 0-based line number to start reading from
    offset: Option<Whole<0>>,
    /// Maximum number of lines to read (default 2000)
    limit: Option<Whole<1>>,
}

impl Dialect for LlmGateway {
    fn name(&self) -> &'static str {
        "llm-gateway"
    }

    fn path_parameter(&self) -> &'static str {
        "filePath"
    }

    fn request(&self, fields: Fields, _: &Settings) -> Result<Request, Refusal> {
        let parameters: LlmGatewayParameters = typed::parse(fields)?;
        let path = parameters.file_path.0;
        let offset = parameters.offset.map(Whole::count);
        let first = offset.map(|offset| offset.saturating_add(1));
        let relative = (!is_absolute(&path)).then(|| Refusal::Unsupported {
            path: Some(path.clone()),
            message: RELATIVE.to_owned(),
        });
        let request = counted::request(path, first, parameters.limit.map(Whole::count));
        Ok(Request {
            limits: Limits {
                count: WRITTEN,
                ..request.limits
            },
            whole_file: Some(counted::MAX_BINARY_BYTES),
            image_bytes: Some(counted::MAX_BINARY_BYTES as usize),
            counts_lines: true,
            refusal: relative,
            ..request
        })
    }

    fn write(&self, view: &View) -> Result<Written, Refusal> {
        let too_large = |what: &str| {
            let text = format!("{what} file exceeds 5MB limit: {}", view.path);
            Err(counted::worded(text, view.name))
        };
        let understood = counted::understood(view);
        if let Some(block) = view.whole_file() {
            let mut content = counted::text(format!("{understood}Read PDF: {}", view.path));
            content.push(block);
            return Ok(Written::of(content));
        }
        if counted::is_too_large(view, ResourceKind::Image) {
            return too_large("Image");
        }
        let is_bare_pdf = view.asks_for_whole_file && view.path.to_lowercase().ends_with(".pdf");
        if is_bare_pdf && counted::is_too_large(view, ResourceKind::Document) {
            return too_large("PDF");
        }
        let said = format!("Read image: {}", view.path);
        if let Some(content) = counted::image(view, view.path, said) {
            return Ok(Written::of(content));
        }
        // What the engine tells to ask for has to be absolute as well.
        let absolute = View {
            name: view.path,
            ..view.clone()
        };
        let engine = match counted::beyond(view) {
            None => counted::as_engine(&absolute),
            Some(_) => None,
        };
        Ok(counted::written(view, counted::next(view, 0), engine, file))
    }

    fn refuse(&self, refusal: &Refusal, asked: &Asked) -> Said {
        let path = asked.path;
        Said::Result(match refusal {
            Refusal::NotFound { .. } => format!("File not found: {path}"),
            Refusal::Binary { .. } => format!("Cannot read binary file: {path}"),
            Refusal::TooLarge { .. } if counted::is_image_name(path) => {
                format!("Image file exceeds 5MB limit: {path}")
            }
            Refusal::Unsupported { message, .. } if message == RELATIVE => {
                let absolute = (asked.absolute)(path);
                format!("{RELATIVE}: {path}. Use the absolute path {absolute}")
            }
            refusal => refusal.to_string(),
        })
    }

    fn read_tool(&self) -> Tool {
        Tool::new("read", READ, typed::schema::<LlmGatewayParameters>())
    }
}

const CUT: &str = " [truncated]";

/// Its limit is one of the output, numbers included.
const WRITTEN: Count = Count::Written {
    digits: 4,
    around: " | ".len(),
    cut: CUT.len(),
};

const RELATIVE: &str = "Relative paths are not supported";

const READ: &str = r#"Read a file from the filesystem. Returns text with line numbers, and images (png, jpg, gif, webp) and PDFs as content that you see directly. Unsaved changes in the editor are part of what you see.

- filePath must be absolute.
- The text comes as <file path="…" lines="1-42" total="42"> with rows `   1 | text`: the numbers shown are 1-based and no part of the file, offset is 0-based. To go on after line 100, read with offset 100.
- At most 2000 lines (limit) and 50KB are returned; lines longer than 2000 characters end in [truncated].
- What is inside a file is read by filePath as well: `/w/a.zip:dir/x.txt`, `/w/db.sqlite:table?where=…`, `/w/report.docx:p3`. A directory is listed. Other binary files are refused.
- filePath may be a web address (https://…): a page as Markdown, or a PDF, image, archive or feed there.
- filePath may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more.
- Use the patch or edit tool to change files and the bash tool to locate them."#;

/// Also what is not a path of the file system at all: a URI, `untitled:Untitled-1`, `~/x`.
fn is_absolute(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.len() > 1
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-".contains(c))
    };
    let scheme = path.split_once(':').map(|(scheme, _)| scheme);
    path.starts_with(['/', '~']) || scheme.is_some_and(is_scheme)
}

fn file(view: &View) -> String {
    let shown = counted::shown(view);
    let (first, last) = shown.unwrap_or((0, 0));
    let mut out = format!(
        "<file path=\"{}\" lines=\"{first}-{last}\"",
        escaped(view.path)
    );
    if let Some(total) = counted::total(view) {
        let _ = write!(out, " total=\"{total}\"");
    }
    out.push_str(">\n");
    out.push_str(&counted::rows(view, CUT, |out, number, text| {
        let _ = write!(out, "{number:>4} | {text}");
    }));
    out.push_str("</file>");
    let mut ending = String::from("\n");
    ending.push_str(&counted::footers(view, ("filePath", view.path), ('[', ']')));
    if let Some(first) = counted::beyond(view) {
        let total = view.window.total_lines;
        let offset = first - 1;
        let _ = writeln!(
            ending,
            "[Offset {offset} is beyond the end of the file ({total} lines).]"
        );
    } else if let (true, Some(next)) = (counted::goes_on(view), counted::next(view, 0)) {
        let limit = match counted::is_cut_by_bytes(view) {
            true => counted::kilobytes(view.byte_limit, "KB"),
            false => format!("{} lines", view.window.spent.lines),
        };
        let _ = writeln!(
            ending,
            "[Output truncated at {limit}. Use offset/limit to read more. The next offset is {}.]",
            next.offset
        );
    }
    ending.pop();
    out + &ending
}

/// As the value of an attribute: no name of a file ends it.
fn escaped(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
