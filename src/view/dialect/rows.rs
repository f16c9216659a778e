//! The dialects `hashline`, `numbered` and `plain`, as `formats.md` shows them; they differ in header and prefix and in nothing else.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::params::Fields;
use crate::protocol::read::{ContentBlock, CutLine, CutReason, LineSpan};
use crate::protocol::tools::{Edits, Tool};
use crate::protocol::typed::{self, PathText};
use crate::protocol::{Refusal, Settings};
use crate::view::conflicts::{Sheet, SheetPart};
use crate::view::excerpt::{UNCOUNTED_END, from_end};
use crate::view::selector::Selector;
use crate::view::size::file_size;
use crate::view::window::{Block, Count, Limits, RAW_LINE_CAP, Window, count_lines};
use crate::view::{Budget, Parts, Style, Target, WebHeader, name};

use super::{Body, Dialect, Request, View, Written};

pub static HASHLINE: Rows = Rows {
    name: "hashline",
    header: true,
    numbers: true,
};
pub static NUMBERED: Rows = Rows {
    name: "numbered",
    header: false,
    numbers: true,
};
pub static PLAIN: Rows = Rows {
    name: "plain",
    header: false,
    numbers: false,
};

/// Cut rows that get a footer of their own; the rest share one.
const CUT_FOOTERS: usize = 10;

/// Other parameters are ignored (`protocol.md`, initialize).
#[derive(Debug, JsonSchema, Deserialize)]
struct Parameters {
    /// A path relative to the workspace, which may end in a selector such as :50-80
    path: PathText,
    /// The selector apart, for a path that could be misread: 50-80, 5-16,90-95, -20, raw
    selector: Option<String>,
}

#[derive(Debug)]
pub struct Rows {
    name: &'static str,
    header: bool,
    numbers: bool,
}

impl Dialect for Rows {
    fn name(&self) -> &'static str {
        self.name
    }

    fn request(&self, fields: Fields, settings: &Settings) -> Result<Request, Refusal> {
        let parameters: Parameters = typed::parse(fields)?;
        let path = parameters.path.0;
        let target = match parameters.selector.as_deref() {
            None => Target::Spelled(path),
            Some(text) => {
                let text = text.strip_prefix(':').unwrap_or(text);
                let selector = match text.is_empty() {
                    true => Selector::default(),
                    false => Selector::parse(text).map_err(|error| Refusal::BadSelector {
                        path: Some(path.clone()),
                        message: error.to_string(),
                    })?,
                };
                Target::Literal(path, selector)
            }
        };
        let limits = Limits {
            budget: Budget::DEFAULT,
            open_lines: settings.read.default_limit as u64,
            columns: settings.read.max_columns,
            raw_line: RAW_LINE_CAP,
            leading: settings.read.context_lines.leading as u64,
            trailing: settings.read.context_lines.trailing as u64,
            count: Count::Line,
        };
        Ok(Request {
            summarize: self.numbers.then_some(settings.read.summarize),
            remarks: foreign_parameter(fields).into_iter().collect(),
            ..Request::new(target, limits)
        })
    }

    fn writes_web_header(&self) -> bool {
        true
    }

    fn write(&self, view: &View) -> Result<Written, Refusal> {
        let mut footers = String::new();
        let header = view.document.extras.web_header.as_ref().map(web_header);
        let content = match view.body {
            Body::Raw(raw) => {
                write_notices(view.understood, &mut footers);
                write_footers(view, &mut footers);
                let mut content = vec![text_block(raw.to_owned())];
                if !footers.is_empty() {
                    footers.pop();
                    content.push(text_block(footers));
                }
                content
            }
            Body::Rows | Body::Conflicts(_) => {
                let mut text =
                    String::with_capacity(256 + view.window.spent.bytes as usize * 3 / 2);
                if let (Some(header), true) = (&header, self.numbers) {
                    text.push_str(header);
                }
                write_notices(view.understood, &mut text);
                self.write_rows(view, &mut text);
                write_footers(view, &mut footers);
                if !footers.is_empty() {
                    text.push('\n');
                    text.push_str(&footers);
                }
                // Every part above ends its line; the answer as a whole does not.
                if text.ends_with('\n') {
                    text.pop();
                }
                let mut content = vec![text_block(text)];
                if let (Some(header), false) = (header, self.numbers) {
                    // The text stays the text alone.
                    content.push(text_block(header));
                }
                content.extend(view.blocks());
                content
            }
        };
        Ok(Written::of(content))
    }

    fn read_tool(&self) -> Tool {
        Tool {
            name: "read",
            description: match (self.header, self.numbers) {
                (true, _) => READ_HASHLINE,
                (false, true) => READ_NUMBERED,
                (false, false) => READ_PLAIN,
            }
            .into(),
            input_schema: typed::schema::<Parameters>(),
        }
    }

    fn edits(&self) -> Edits {
        match self.header {
            true => Edits::ByLine,
            false => Edits::ByText,
        }
    }
}

const READ_HASHLINE: &str = r"Reads a file, or lists a directory, an archive or a database. A file comes as rows N:TEXT under a header ¶PATH#TAG, which names exactly this text: copy it when you edit. Unsaved changes in the editor are part of what you see.

- path alone: the file, or of a source file of 100 lines or more its structure, where a row A-B:… stands for folded lines; path:full gives all of it.
- path:50-80 and path:50+30 give those lines with a little context; path:50 means from line 50 on; path#Foo.bar is a declaration; path:-20 gives the last 20 lines; path:5-16,90-95 gives several ranges exactly.
- path:raw gives the text without header and numbers; path:conflicts gives both sides of each merge conflict.
- What a file holds is read by its path as well: a.zip:dir/x.txt, db.sqlite:table?where=a>5, notes.ipynb:outputs, photo.png, report.pdf:p3-5.
- path may be a web address (https://…): a page as Markdown, a PDF, image, archive or feed there; #section, :links, :full and line ranges of it as well.
- path may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more.

A long answer is cut; its last line says how to go on. Read ranges rather than whole files when you know where to look.";

const READ_NUMBERED: &str = r"Reads a file, or lists a directory, an archive or a database. A file comes as rows N:TEXT; the number and the colon are not part of the text. Unsaved changes in the editor are part of what you see.

- path alone: the file, or of a source file of 100 lines or more its structure, where a row A-B:… stands for folded lines; path:full gives all of it.
- path:50-80 and path:50+30 give those lines with a little context; path:50 means from line 50 on; path#Foo.bar is a declaration; path:-20 gives the last 20 lines; path:5-16,90-95 gives several ranges exactly.
- path:raw gives the text without numbers; path:conflicts gives both sides of each merge conflict.
- What a file holds is read by its path as well: a.zip:dir/x.txt, db.sqlite:table?where=a>5, notes.ipynb:outputs, photo.png, report.pdf:p3-5.
- path may be a web address (https://…): a page as Markdown, a PDF, image, archive or feed there; #section, :links, :full and line ranges of it as well.
- path may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more.

A long answer is cut; its last line says how to go on.";

const READ_PLAIN: &str = r"Reads a file, as its text alone, or lists a directory, an archive or a database. Unsaved changes in the editor are part of what you see.

- path:50-80 and path:50+30 give those lines with a little context; path:50 means from line 50 on; path#Foo.bar is a declaration; path:-20 gives the last 20 lines; path:5-16,90-95 gives several ranges exactly.
- path:raw keeps the file's own line ends; path:conflicts gives both sides of each merge conflict.
- What a file holds is read by its path as well: a.zip:dir/x.txt, db.sqlite:table?where=a>5, notes.ipynb:outputs, photo.png, report.pdf:p3-5.
- path may be a web address (https://…): a page as Markdown, a PDF, image, archive or feed there; #section, :links, :full and line ranges of it as well.
- path may also be the address of what is no file: {addresses}. A scheme alone, like pilcrow://, lists what it has; pilcrow://internal says more.

A long answer is cut; its last line says how to go on.";

impl Rows {
    fn write_rows(&self, view: &View, text: &mut String) {
        let window = view.window;
        if let Body::Conflicts(Sheet { total: 0, .. }) = view.body {
            let _ = writeln!(text, "No unresolved merge conflicts in {}.", view.name);
            return;
        }
        if window.blocks.is_empty() && !window.beyond.is_empty() {
            text.push_str(&beyond_the_end(view.name, window));
            text.push('\n');
            return;
        }
        if let Some((path, tag)) = view.header
            && self.header
        {
            let _ = writeln!(text, "¶{}#{tag}", name::in_header(path));
        }
        if let Body::Conflicts(sheet) = view.body {
            self.write_conflicts(sheet, text);
            return;
        }
        if window.total_lines == 0 && (self.header || self.numbers) {
            text.push_str("(empty file)\n");
        }
        for (index, block) in window.blocks.iter().enumerate() {
            if index > 0 {
                text.push_str("…\n");
            }
            self.write_block(block, view.document.style, text);
        }
    }

    fn write_block(&self, block: &Block, style: Style, text: &mut String) {
        let has_numbers = self.numbers && style == Style::Lines;
        for row in &block.rows {
            if has_numbers {
                let from_end = from_end(row.number);
                if from_end.is_some() {
                    text.push('-');
                }
                let number = from_end.unwrap_or(row.number);
                match row.folded {
                    None => push_number(text, number, b':'),
                    Some(folded) => {
                        push_number(text, number, b'-');
                        push_number(text, folded.end, b':');
                    }
                }
            }
            text.push_str(&row.text);
            text.push('\n');
        }
    }

    fn write_conflicts(&self, sheet: &Sheet, text: &mut String) {
        for part in &sheet.parts {
            match part {
                SheetPart::Title(title) => {
                    text.push_str(title);
                    text.push('\n');
                }
                SheetPart::Rows(block) => {
                    if let Some(block) = sheet.window.blocks.get(*block) {
                        self.write_block(block, Style::Lines, text);
                    }
                }
            }
        }
    }
}

/// Parameters by which other tools name lines. They are ignored here, as all that is unknown, but
/// not without a word: the lines that are shown are not those that were meant.
const FOREIGN: &[&str] = &[
    "offset",
    "limit",
    "start_line",
    "end_line",
    "startLine",
    "endLine",
    "line",
    "lines",
    "range",
];

fn foreign_parameter(fields: Fields) -> Option<String> {
    let found = FOREIGN.iter().find(|name| fields.get(name).is_some())?;
    Some(format!(
        "There is no parameter '{found}'; lines are named at the end of the path, as in :50-80"
    ))
}

/// The lines above a web page, and what parts them from it.
fn web_header(header: &WebHeader) -> String {
    let WebHeader {
        url,
        content_type,
        method,
        notes,
    } = header;
    let mut text = format!("URL: {url}\nContent-Type: {content_type}\nMethod: {method}\n");
    if !notes.is_empty() {
        let _ = writeln!(text, "Notes: {}", notes.join("; "));
    }
    text + "\n---\n\n"
}

fn text_block(text: String) -> ContentBlock {
    ContentBlock::Text { text }
}

/// Writes a number, and the ASCII character behind it, without the formatting machinery: they stand before
/// every row.
fn push_number(text: &mut String, mut number: u64, behind: u8) {
    let mut bytes = [behind; 21];
    let mut at = bytes.len() - 1;
    loop {
        at -= 1;
        bytes[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // ASCII is UTF-8.
    text.push_str(std::str::from_utf8(&bytes[at..]).unwrap_or_default());
}

fn write_notices(notices: &[String], text: &mut String) {
    for notice in notices {
        let _ = writeln!(text, "[{notice}]");
    }
}

/// One line each, in the order of `formats.md`: skipped ranges, cut rows, conflicts, summary, showing.
fn write_footers(view: &View, text: &mut String) {
    let window = view.window;
    if window.blocks.is_empty() && window.stop.is_none() {
        return write_own_footers(view, text);
    }
    for skipped in window.skipped_notices() {
        let _ = writeln!(text, "[{skipped}]");
    }
    let cut = window.cut_lines();
    for line in cut.iter().take(CUT_FOOTERS) {
        let _ = writeln!(text, "[{}]", cut_footer(line, window.raw, view.raw_line));
    }
    if cut.len() > CUT_FOOTERS {
        let _ = writeln!(
            text,
            "[{} more lines are cut. Use :N-N:raw for a whole line]",
            cut.len() - CUT_FOOTERS
        );
    }
    if view.conflicts > 0 {
        let plural = if view.conflicts == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "[{} unresolved merge conflict{plural}; :conflicts shows both sides]",
            view.conflicts
        );
    }
    if let Some(elided) = view.elided.and_then(|elided| elided.footer(view.name)) {
        let _ = writeln!(text, "[{elided}]");
        if view.elided.is_some_and(|elided| elided.is_further) {
            let _ = writeln!(text, "[Folded further to fit; :outline shows every row]");
        }
    }
    write_own_footers(view, text);
    if let Some(showing) = showing(window, view) {
        let _ = writeln!(text, "[{showing}]");
    }
}

/// Those of the document itself.
fn write_own_footers(view: &View, text: &mut String) {
    for footer in &view.document.extras.footers {
        let _ = writeln!(text, "[{footer}]");
    }
}

/// What is shown, and how a read goes on that a limit cut. Who named a range has all of it.
fn showing(window: &Window, view: &View) -> Option<String> {
    let spans: Vec<String> = window.spans().map(span_text).collect();
    let Some(stop) = &window.stop else {
        let is_said = window.goes_on && !window.raw;
        return is_said.then(|| place(window, view, &spans));
    };
    let next = &stop.next_selector;
    let limit = match stop.reason {
        CutReason::Bytes => format!(" ({} limit)", count_bytes(view.byte_limit)),
        CutReason::Lines => String::new(),
    };
    if let Body::Conflicts(sheet) = view.body {
        return Some(format!(
            "Showing conflicts 1-{} of {}{limit}. Use :{next} to continue",
            sheet.shown, sheet.total
        ));
    }
    let place = place(window, view, &spans);
    if view.document.extras.rows_are.is_some() {
        // Who asks for the next ones asks for the same thing: the path is part of the answer.
        let first = place.strip_prefix("1-").filter(|_| spans.len() == 1);
        let place = first.unwrap_or(&place);
        return Some(format!(
            "Showing {place}{limit}. Use {}:{next} to continue",
            view.name
        ));
    }
    Some(format!(
        "Showing lines {place}{limit}. Use :{next} to continue"
    ))
}

/// `21-31 of 92`, `1-5 of 700 entries`, `1-50, page 1 of 350`.
fn place(window: &Window, view: &View, spans: &[String]) -> String {
    let spans = spans.join(",");
    if let Some(rows) = view.document.extras.rows_are {
        return format!("{spans} of {} {rows}", window.total_lines);
    }
    if window.total_lines == UNCOUNTED_END
        && let Some(parts) = &view.document.extras.parts
        && let (Some(first), Some(last)) = (window.spans().next(), window.spans().last())
    {
        return format!("{spans}, {}", parts_text(parts, first.start, last.end));
    }
    match window.uncounted_bytes {
        Some(bytes) => format!("{spans} of {}", file_size(bytes)),
        None => format!("{spans} of {}", window.total_lines),
    }
}

/// `pages 1-14 of 350`, `page 3 of 350`: those in which the lines from `first` to `last` are.
fn parts_text(parts: &Parts, first: u64, last: u64) -> String {
    let (first, last) = (parts.of(first), parts.of(last));
    let (one, total) = (parts.one, parts.total);
    match first == last {
        true => format!("{one} {first} of {total}"),
        false => format!("{one}s {first}-{last} of {total}"),
    }
}

/// `100-150`; `-50 to -21` where lines are counted from the end.
fn span_text(span: LineSpan) -> String {
    match (from_end(span.start), from_end(span.end)) {
        (Some(start), Some(end)) => format!("-{start} to -{end}"),
        _ => format!("{}-{}", span.start, span.end),
    }
}

fn cut_footer(line: &CutLine, raw: bool, raw_line: usize) -> String {
    let (number, whole) = match from_end(line.line) {
        // No selector names a single line from the end; this one begins with it.
        Some(distance) => (format!("-{distance}"), format!("-{distance}:raw")),
        None => (
            line.line.to_string(),
            format!("{}-{}:raw", line.line, line.line),
        ),
    };
    let limit = match raw {
        true => format!(" ({} limit)", count_bytes(raw_line as u64)),
        false => String::new(),
    };
    match line.total_chars {
        None => format!(
            "Line {number} cut at {} characters{limit}; it is longer than 64 MiB",
            line.shown_chars
        ),
        Some(total) if raw => format!(
            "Line {number} cut at {} of {total} characters{limit}",
            line.shown_chars
        ),
        Some(total) => format!(
            "Line {number} cut at {} of {total} characters. Use :{whole} for the whole line",
            line.shown_chars
        ),
    }
}

/// A budget in words: `50 KiB`, `1 MiB`, `1000 bytes`.
fn count_bytes(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1024 * 1024) => format!("{} MiB", bytes / (1024 * 1024)),
        _ if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} bytes"),
    }
}

fn beyond_the_end(name: &str, window: &Window) -> String {
    let first = window.beyond.iter().map(|span| span.start).min();
    let first = first.unwrap_or(1);
    match window.total_lines {
        0 => format!("Line {first} is beyond the end of {name} (0 lines): the file is empty."),
        total => format!(
            "Line {first} is beyond the end of {name} ({}). Use :1 to read from the start, or :{total} to read the last line.",
            count_lines(total)
        ),
    }
}
