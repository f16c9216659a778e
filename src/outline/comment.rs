//! Comments as one row with their first sentence; a comment never loses more than its other sentences.

use crate::syntax::Source;

use super::Fold;

/// What a comment may begin with, longer ones before their own beginnings.
const OPENERS: &[&str] = &[
    "/**", "/*!", "/*", "///", "//!", "//", "\"\"\"", "'''", "<!--", "<#", "{-|", "{-", "(**",
    "(*", "--[[", "--|", "---", "--", "###", "##", "#'", "#=", "#", "%%", "%", ";;;", ";;", ";",
    "\"", "'",
];

/// Openers after which the lines up to the closer have none of their own.
const BLOCKS: &[&str] = &[
    "/**", "/*!", "/*", "\"\"\"", "'''", "<!--", "<#", "{-|", "{-", "(**", "(*", "--[[", "#=",
    "\"", "'",
];

const CLOSERS: &[&str] = &[
    "*/", "\"\"\"", "'''", "-->", "#>", "-}", "*)", "]]", "=#", "\"", "'",
];

/// Openers that only documentation has.
const DOC_OPENERS: &[&str] = &["/**", "/*!", "///", "//!", "{-|", "(**", "--|", "#'"];

/// Characters of a sentence after which it is cut.
const MAX_SENTENCE: usize = 160;

/// What a line of a comment begins with, after its indentation: `//`, `#`, `/**`.
pub(super) fn opener(line: &str) -> &'static str {
    let line = without_prefix(line.trim_start());
    let found = OPENERS.iter().find(|opener| line.starts_with(**opener));
    found.copied().unwrap_or("")
}

/// A line of a comment without what it begins with.
pub(super) fn text_of_line(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix(opener(line)).unwrap_or(line).trim()
}

pub(super) fn is_doc_opener(opener: &str) -> bool {
    DOC_OPENERS.contains(&opener)
}

/// The letters before the quotes of a docstring, and what names one in Elixir, are no text of it.
fn without_prefix(line: &str) -> &str {
    let bare = line.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '@' || c == ' ');
    let is_prefix = bare.starts_with("\"\"\"") || bare.starts_with("'''");
    if is_prefix { bare } else { line }
}

/// The row of the comment that stands on lines `first..=last`, counted from 0.
pub(super) fn fold(source: &Source, first: usize, last: usize) -> Fold {
    let line = source.line(first);
    let opener = opener(line);
    let text_at = line.len() - without_prefix(line.trim_start()).len() + opener.len();
    let head = &line[..text_at];
    let sentence = first_sentence(source, first, last, opener, text_at);
    if sentence.is_empty() {
        return Fold {
            head: line.trim_end().to_owned(),
            ..Fold::default()
        };
    }
    let is_quote = ["\"\"\"", "'''", "\"", "'"].contains(&opener);
    let close = is_quote || line[text_at..].starts_with(char::is_alphanumeric);
    let gap = if close { "" } else { " " };
    Fold {
        head: format!("{head}{gap}{sentence}"),
        ..Fold::default()
    }
}

fn first_sentence(
    source: &Source,
    first: usize,
    last: usize,
    opener: &str,
    text_at: usize,
) -> String {
    let mut sentence = String::new();
    for number in first..=last {
        let line = source.line(number);
        let content = if number == first {
            &line[text_at..]
        } else {
            without_opener(line.trim_start(), opener)
        };
        let content = without_closer(content.trim());
        if sentence.is_empty() {
            if is_decoration(content) {
                continue;
            }
        } else if is_decoration(content) || content.starts_with(['@', ':', '\\']) {
            break;
        } else {
            sentence.push(' ');
        }
        sentence.push_str(content);
        if let Some(end) = sentence_end(&sentence) {
            sentence.truncate(end);
            break;
        }
    }
    cut(sentence)
}

/// A line inside a comment without what the comment's lines begin with.
fn without_opener<'a>(line: &'a str, opener: &str) -> &'a str {
    if !BLOCKS.contains(&opener) {
        return line.strip_prefix(opener).unwrap_or(line);
    }
    let starred = line.strip_prefix('*');
    match starred {
        Some(rest) if rest.starts_with('/') => "",
        Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => rest,
        _ => line,
    }
}

fn without_closer(content: &str) -> &str {
    let closer = CLOSERS
        .iter()
        .find_map(|closer| content.strip_suffix(closer));
    closer.unwrap_or(content).trim_end()
}

/// A line without text of its own: empty, a rule of signs, or a lone tag such as `<summary>`.
fn is_decoration(content: &str) -> bool {
    let tag = content.starts_with('<')
        && content.ends_with('>')
        && !content[1..content.len() - 1].contains(['<', '>']);
    tag || !content.contains(|c: char| c.is_alphanumeric())
}

/// Where the first sentence ends, in bytes, when it does.
fn sentence_end(text: &str) -> Option<usize> {
    let mut rest = text.char_indices().peekable();
    let mut word = 0;
    while let Some((at, c)) = rest.next() {
        if c == '。' {
            return Some(at + c.len_utf8());
        }
        if c.is_whitespace() {
            word = at + c.len_utf8();
        }
        let ends_word = rest.peek().is_some_and(|(_, next)| next.is_whitespace());
        if !".!?".contains(c) || !ends_word {
            continue;
        }
        // `e.g. this` and `J. Doe` go on; so does what continues in lower case.
        let own = &text[word..at];
        let abbreviation = own.contains('.') || own.chars().count() < 2;
        let next = text[at + 1..].trim_start().chars().next();
        if !abbreviation && !next.is_some_and(char::is_lowercase) {
            return Some(at + 1);
        }
    }
    None
}

fn cut(mut sentence: String) -> String {
    if let Some((end, _)) = sentence.char_indices().nth(MAX_SENTENCE) {
        let end = sentence[..end].rfind(' ').unwrap_or(end);
        sentence.truncate(end);
    }
    sentence
}
