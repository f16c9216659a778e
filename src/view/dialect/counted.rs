//! What dialects share that count lines in parameters of their own; nothing of it is in the words of one of them.

use std::fmt::Write;

use crate::protocol::Refusal;
use crate::protocol::read::{ContentBlock, CutReason, Next, ResourceKind};
use crate::view::excerpt::{UNCOUNTED_END, from_end};
use crate::view::selector::Piece;
use crate::view::window::{Count, Limits, RAW_LINE_CAP, Row};
use crate::view::{Budget, Guess, Style, Target};

use super::{Body, Dialect, Request, View, Written, rows as engine};

/// Characters after which the seeds cut a line, and lines that they read where none are named.
pub const MAX_LINE_LENGTH: usize = 2000;
pub const DEFAULT_LIMIT: u64 = 2000;

/// Bytes of an image or of a document that the seeds pass on.
pub const MAX_BINARY_BYTES: u64 = 5 * 1024 * 1024;

/// Percent of control characters among the first bytes of a file above which the seeds call it binary.
pub const MAX_CONTROLS: usize = 30;

/// `path` from the line `first` on (1-indexed), at most `limit` lines of it. Without a first line
/// the selector in the path says which lines, if there is one.
pub fn request(path: String, first: Option<u64>, limit: Option<u64>) -> Request {
    let limits = limits(limit.unwrap_or(DEFAULT_LIMIT), MAX_LINE_LENGTH);
    Request {
        guess: Guess::Nothing,
        lines: first.map(Piece::From),
        most: limit,
        ..Request::new(Target::Spelled(path), limits)
    }
}

/// Limits of reads that name no end, with no context around any.
pub fn limits(open_lines: u64, columns: usize) -> Limits {
    Limits {
        budget: Budget {
            lines: open_lines.clamp(Budget::DEFAULT.lines, Budget::CAP.lines),
            ..Budget::DEFAULT
        },
        open_lines: open_lines.min(Budget::CAP.lines),
        columns,
        raw_line: RAW_LINE_CAP,
        leading: 0,
        trailing: 0,
        count: Count::Line,
    }
}

/// What the seed's tool has no form for, as the engine writes it: the text itself, conflicts,
/// rows of ours, a note.
pub fn as_engine(view: &View) -> Option<Written> {
    let is_text = matches!(view.body, Body::Rows) && view.document.style == Style::Lines;
    match is_text && !view.window.is_from_end() {
        true => None,
        false => engine::NUMBERED.write(view).ok(),
    }
}

/// What the engine wrote where it did, else what `write` makes of the text; both with how to go on.
pub fn written(
    view: &View,
    next: Option<Next>,
    engine: Option<Written>,
    write: impl Fn(&View) -> String,
) -> Written {
    let own = || Written::of(text(understood(view) + &write(view)));
    Written {
        next,
        ..engine.unwrap_or_else(own)
    }
}

/// An answer of one text.
pub fn text(text: String) -> Vec<ContentBlock> {
    vec![ContentBlock::Text { text }]
}

/// How the path was understood, a line each.
pub fn understood(view: &View) -> String {
    let lines = view.understood.iter();
    lines.map(|notice| format!("[{notice}]\n")).collect()
}

/// Rows under each other, each as `write` writes it with its text, in which a cut one ends in
/// `marker`; where lines are left out stands `…`.
pub fn rows(view: &View, marker: &str, write: impl Fn(&mut String, u64, &str)) -> String {
    let mut out = String::with_capacity(view.window.spent.bytes as usize * 3 / 2);
    for (index, block) in view.window.blocks.iter().enumerate() {
        if index > 0 {
            out.push_str("…\n");
        }
        for row in &block.rows {
            match row.uncut() {
                (text, false) => write(&mut out, row.number, text),
                (text, true) => write(&mut out, row.number, &format!("{text}{marker}")),
            }
            out.push('\n');
        }
    }
    out
}

/// What stands below the rows, a line each between such brackets: the way to the rest of each cut
/// line, then the remarks. `path` is how the caller asks for it, in the parameter of that name.
pub fn footers(view: &View, (parameter, path): (&str, &str), brackets: (char, char)) -> String {
    let mut out = String::new();
    between(brackets, cut_lines(view, parameter, path), &mut out);
    between(brackets, remarks(view, path), &mut out);
    out
}

/// Cut lines that are told of one by one.
const CUT_LINES: usize = 10;

fn cut_lines(view: &View, parameter: &str, path: &str) -> Vec<String> {
    let is_cut = |row: &&Row| row.total_chars.is_some() && from_end(row.number).is_none();
    let cut = view.window.cut_lines();
    let cut_rows = view.window.rows().filter(is_cut);
    let mut said: Vec<String> = cut_rows
        .zip(&cut)
        .take(CUT_LINES)
        .map(|(row, line)| {
            let number = row.number;
            let total = match line.total_chars {
                Some(total) => format!("{} of {total} characters", line.shown_chars),
                None => format!("{} characters", line.shown_chars),
            };
            format!(
                "Line {number} is cut at {total}. Use {parameter} {path}:{number}-{number}:raw for the whole line"
            )
        })
        .collect();
    if cut.len() > CUT_LINES {
        said.push(format!("{} more lines are cut", cut.len() - CUT_LINES));
    }
    said
}

/// What the engine has to say of what is shown, which no seed has words for: conflicts, skipped
/// pieces of a selector, footers of a kind, and how to go on where lines alone do not say it. `path`
/// is how the caller asks for it.
pub fn remarks(view: &View, path: &str) -> Vec<String> {
    let mut said = view.window.skipped_notices();
    if view.conflicts > 0 {
        let plural = if view.conflicts == 1 { "" } else { "s" };
        said.push(format!(
            "{} unresolved merge conflict{plural}; {path}:conflicts shows both sides",
            view.conflicts
        ));
    }
    said.extend(view.document.extras.footers.iter().cloned());
    if let (Some(stop), None) = (&view.window.stop, view.window.left()) {
        said.push(format!("Use {path}:{} to continue", stop.next_selector));
    }
    said
}

/// An image with what is said of it; what it was made of, where it is not the file as it is, and what
/// the engine has to say besides are a line each. `None` where there is none, or where it is not
/// shown.
pub fn image(view: &View, path: &str, said: String) -> Option<Vec<ContentBlock>> {
    let [image] = view.attachments[..] else {
        return None;
    };
    if view.document.kind != ResourceKind::Image {
        return None;
    }
    let mut out = understood(view) + &said + "\n";
    let mut sentences: Vec<String> = image.made_of.iter().cloned().collect();
    sentences.extend(remarks(view, path));
    between(('[', ']'), sentences, &mut out);
    out.pop();
    let mut content = text(out);
    content.extend(view.blocks());
    Some(content)
}

/// First and last line that are shown.
pub fn shown(view: &View) -> Option<(u64, u64)> {
    let first = view.window.spans().next()?.start;
    Some((first, view.window.spans().last()?.end))
}

/// Whether it is an image or a document of more bytes than the seeds pass on.
pub fn is_too_large(view: &View, kind: ResourceKind) -> bool {
    let bytes = view.document.details.total_bytes.unwrap_or(0);
    view.document.kind == kind && bytes > MAX_BINARY_BYTES
}

/// Whether a name is that of an image, for what could not be looked into.
pub fn is_image_name(path: &str) -> bool {
    let path = path.to_lowercase();
    let ends = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
    ends.iter().any(|end| path.ends_with(end))
}

/// More than 5 MiB, refused in these words.
pub fn worded(text: String, path: &str) -> Refusal {
    Refusal::Worded {
        refusal: Box::new(Refusal::TooLarge {
            path: path.to_owned(),
            what: "more than 5 MiB".to_owned(),
            instead: "Ask the user to make it smaller.".to_owned(),
        }),
        text,
    }
}

/// `50KB`; bytes where it is not a whole number of them.
pub fn kilobytes(bytes: u64, unit: &str) -> String {
    match bytes.is_multiple_of(1024) {
        true => format!("{}{unit}", bytes / 1024),
        false => format!("{bytes} bytes"),
    }
}

/// ` (50KB limit)` where it was the bytes that cut what is shown, else nothing.
pub fn limit(view: &View, unit: &str) -> String {
    match is_cut_by_bytes(view) {
        true => format!(" ({} limit)", kilobytes(view.byte_limit, unit)),
        false => String::new(),
    }
}

/// The rows, or that there are none, and set apart from them what stands below; the last line of all
/// is not ended.
pub fn ended(mut rows: String, below: &str) -> String {
    if rows.is_empty() {
        rows.push_str("(empty file)\n");
    }
    if !below.is_empty() {
        rows.push('\n');
        rows.push_str(below);
    }
    rows.pop();
    rows
}

/// Whether the text goes on after what is shown, by a limit or because no more was asked for.
pub fn goes_on(view: &View) -> bool {
    view.window.stop.is_some() || view.window.goes_on
}

pub fn is_cut_by_bytes(view: &View) -> bool {
    let stop = view.window.stop.as_ref();
    stop.is_some_and(|stop| stop.reason == CutReason::Bytes)
}

/// The lines of the text; `None` where nobody counted.
pub fn total(view: &View) -> Option<u64> {
    let total = view.window.total_lines;
    (total < UNCOUNTED_END).then_some(total)
}

/// How the read goes on, with lines counted from `base`: with as many lines as were asked for, or
/// with those that are left of a selector's range.
pub fn next(view: &View, base: u64) -> Option<Next> {
    let left = view
        .window
        .left()
        .filter(|left| from_end(left.start).is_none())?;
    let most = view.request.most.unwrap_or(view.request.limits.open_lines);
    let to_end = left.end == view.window.total_lines;
    Some(Next {
        offset: left.start - 1 + base,
        limit: match to_end {
            true => most,
            false => left.count(),
        },
    })
}

/// The first line asked for, where all that was asked for lies beyond the end. To begin at the
/// beginning is right whatever there is.
pub fn beyond(view: &View) -> Option<u64> {
    match view.window.blocks.is_empty() {
        true => {
            let asked = view.window.beyond.iter().map(|span| span.start);
            asked.min().filter(|first| *first > 1)
        }
        false => None,
    }
}

/// Whether the way on is a list of lines, which only a selector says: it is among the remarks.
pub fn goes_on_as_list(view: &View) -> bool {
    view.window.stop.is_some() && view.window.left().is_none()
}

/// Sentences between brackets, a line each.
pub fn between((open, close): (char, char), said: Vec<String>, out: &mut String) {
    for sentence in said {
        let _ = writeln!(out, "{open}{sentence}{close}");
    }
}
