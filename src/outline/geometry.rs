//! Which lines of a node fold, and what its row shows of them; nothing is hidden outside the range that is printed.

use tree_sitter::Node;

use crate::syntax::Source;

use super::Fold;

/// A range of lines from 0, both inclusive, and how it is written.
pub(super) struct Shape {
    pub first: usize,
    pub last: usize,
    pub fold: Fold,
}

/// The fold of the bytes `start..end`.
///
/// What stands between delimiters is one row, its first and last line around `…`. What has none
/// folds from its first own line on, without a closing `end`. With `rest`, the first line is a head
/// that stays, unless it ends in the opener of what the last line closes.
pub(super) fn shape(source: &Source, start: usize, end: usize, rest: bool) -> Option<Shape> {
    shape_where(source, (start, end), rest, |_| true)
}

/// The fold of the body of a function. Delimiters at its ends that belong to two of its statements
/// (a docstring and a last `return "…"`) are none: its head would hide all between them.
pub(super) fn shape_of_body(source: &Source, body: Node<'_>, rest: bool) -> Option<Shape> {
    let bytes = (body.start_byte(), body.end_byte());
    shape_where(source, bytes, rest, |pair| {
        is_pair(body, pair, source.text())
    })
}

/// As [`shape`]; `is_pair` tells whether delimiters that look like a pair are one.
fn shape_where(
    source: &Source,
    (start, end): (usize, usize),
    rest: bool,
    is_pair: impl Fn(Pair) -> bool,
) -> Option<Shape> {
    let inner = source.text().get(start..end)?;
    let end = start + inner.trim_end().len();
    if end == start {
        return None;
    }
    let inner = &source.text()[start..end];
    let first = source.line_of(start);
    let last = source.line_of(end - 1);
    let closer = if rest {
        brackets_at_ends(inner)
    } else {
        closer(inner)
    };
    let pair = closer.map(|closer| Pair {
        opener: start + opener(inner, rest),
        closer: start + closer,
    });
    match pair.filter(|pair| is_pair(*pair)) {
        Some(pair) => Some(delimited(source, first, last, pair.closer)),
        None => undelimited(source, start, end, rest),
    }
}

/// Where two delimiters begin, in bytes.
#[derive(Debug, Clone, Copy)]
struct Pair {
    opener: usize,
    closer: usize,
}

/// Where the delimiter begins that the last one closes, in bytes from the start of `inner`.
fn opener(inner: &str, rest: bool) -> usize {
    match rest || brackets(inner).is_none() && brackets_at_ends(inner).is_some() {
        true => inner.lines().next().unwrap_or("").trim_end().len() - 1,
        false => opener_of(inner)
            .filter(|_| brackets(inner).is_some())
            .and_then(|bracket| inner.find(bracket))
            .unwrap_or(0),
    }
}

/// Whether the two are the ends of one node: the smallest node around both begins with a delimiter,
/// and not with a statement that begins with one.
fn is_pair(within: Node<'_>, pair: Pair, text: &str) -> bool {
    let Some(mut part) = within.descendant_for_byte_range(pair.opener, pair.opener + 1) else {
        return false;
    };
    // A node that is both ends at once: a string that the grammar does not take apart.
    while part.end_byte() <= pair.closer {
        let Some(whole) = part.parent().filter(|_| part.id() != within.id()) else {
            return false;
        };
        if whole.end_byte() > pair.closer {
            let letters = text.get(part.byte_range()).unwrap_or_default();
            let signs = letters.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            return part.child_count() == 0 && signs.chars().all(|c| c.is_ascii_punctuation());
        }
        part = whole;
    }
    true
}

fn delimited(source: &Source, first: usize, last: usize, closer: usize) -> Shape {
    let last_line = source.line(last);
    let column = closer - source.line_start(last);
    let tail = last_line[column..].trim_end();
    let mut shape = Shape {
        first,
        last,
        fold: Fold {
            head: source.line(first).trim_end().to_owned(),
            tail: tail.to_owned(),
            shows_first: true,
            shows_last: last_line[..column].trim().is_empty(),
        },
    };
    if opens_more(tail) && last > first {
        shape.last -= 1;
        shape.fold.tail.clear();
        shape.fold.shows_last = false;
    }
    shape
}

/// Whether a last line goes on into something else, as `} else {` does.
fn opens_more(tail: &str) -> bool {
    tail.ends_with(['{', '(', '[', ':']) || tail.ends_with("=>") || tail.ends_with("->")
}

fn undelimited(source: &Source, start: usize, end: usize, rest: bool) -> Option<Shape> {
    let head_line = source.line_of(start);
    let mut first = head_line;
    let mut last = source.line_of(end - 1);
    let before = &source.text()[source.line_start(first)..start];
    if rest || !before.trim().is_empty() {
        first += 1;
        if last >= first && is_end_of(source.line(head_line), source.line(last)) {
            last -= 1;
        }
    }
    // What ends the statement belongs to it; anything else is somebody else's.
    let after = &source.text()[end..source.line_start(last + 1).max(end)];
    if !after
        .trim_matches([' ', '\t', '\r', '\n', ';', '.', ','])
        .is_empty()
    {
        last = last.checked_sub(1)?;
    }
    (first <= last).then(|| Shape {
        first,
        last,
        fold: Fold::default(),
    })
}

/// Whether a line is the closing word of what a head opened: `end` under it, and not further in.
fn is_end_of(head: &str, line: &str) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let word = line.trim().trim_end_matches([';', ',', ')']);
    ["end", "END", "fi", "done"].contains(&word) && indentation(line) <= indentation(head)
}

/// Where the delimiter that ends `inner` begins, in bytes from its start.
fn closer(inner: &str) -> Option<usize> {
    brackets(inner)
        .or_else(|| brackets_at_ends(inner))
        .or_else(|| markup(inner))
        .or_else(|| quotes(inner))
        .or_else(|| dollars(inner))
        .or_else(|| rules(inner))
}

/// `{ … }`, `%{ … }`, `.( … )`
fn brackets(inner: &str) -> Option<usize> {
    let opener = opener_of(inner)?;
    let bare = inner.trim_start_matches(['%', '.', '@', '#', '$', '&', '~']);
    bare.starts_with(opener).then(|| inner.len() - 1)
}

/// `name { … }` when the first line ends in the opener and the last is its closer alone.
fn brackets_at_ends(inner: &str) -> Option<usize> {
    let inner = inner.trim_end_matches([';', ',']);
    let opener = opener_of(inner)?;
    let first_line = inner.lines().next().unwrap_or("");
    let last_line = inner.rsplit('\n').next().unwrap_or("");
    let at_ends = first_line.trim_end().ends_with(opener) && last_line.trim().len() == 1;
    at_ends.then(|| inner.len() - 1)
}

/// The bracket that opens what the last character closes.
fn opener_of(inner: &str) -> Option<char> {
    match inner.chars().next_back()? {
        '}' => Some('{'),
        ']' => Some('['),
        ')' => Some('('),
        _ => None,
    }
}

/// `<a> … </a>`, `<a … />`, `<!-- … -->`
fn markup(inner: &str) -> Option<usize> {
    if !inner.starts_with('<') || !inner.ends_with('>') {
        return None;
    }
    let last_line = inner.rfind('\n').map_or(0, |at| at + 1);
    let line = &inner[last_line..];
    let at = ["</", "/>", "-->", "]]>"]
        .iter()
        .filter_map(|closer| line.rfind(closer))
        .min();
    at.map(|at| last_line + at)
}

/// A string between equal quotes, with letters or `#` around them where a language has such.
fn quotes(inner: &str) -> Option<usize> {
    let bare = inner.trim_start_matches(|c: char| c.is_ascii_alphabetic() || "@$#".contains(c));
    if inner.len() - bare.len() > 8 {
        return None;
    }
    let quote = bare.chars().next().filter(|c| "\"'`~".contains(*c))?;
    let body = inner.trim_end_matches('#');
    let without = body.trim_end_matches(quote);
    let closer_bytes = body.len() - without.len();
    (closer_bytes > 0).then_some(without.len())
}

/// `$tag$ … $tag$`
fn dollars(inner: &str) -> Option<usize> {
    let tag_bytes = inner.strip_prefix('$')?.find('$')? + 2;
    let (tag, rest) = inner.split_at(tag_bytes);
    rest.ends_with(tag).then(|| inner.len() - tag_bytes)
}

/// `---` … `---`: a first and a last line of the same signs.
fn rules(inner: &str) -> Option<usize> {
    let (first, rest) = inner.split_once('\n')?;
    let last = rest.rsplit('\n').next().unwrap_or(rest);
    let signs = first.trim_end();
    let is_rule = signs.len() >= 3 && signs.chars().all(|c| c.is_ascii_punctuation());
    (is_rule && last.trim_end() == signs).then(|| inner.len() - last.len())
}
