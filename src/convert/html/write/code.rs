//! Code: its text as it stands, without numbers of lines; its language; fences and spans that are longer than any backticks inside.

use super::super::lists::GUTTERS;
use super::super::tree::{Index, LeftOut, Tree};

/// The text of a block of code, byte for byte, with `br` and the ends of blocks as line ends.
pub(super) fn text(tree: &Tree, left_out: &LeftOut, at: Index) -> String {
    let mut text = String::new();
    collect(tree, left_out, at, &mut text);
    text
}

fn collect(tree: &Tree, left_out: &LeftOut, at: Index, text: &mut String) {
    let mut is_after_block = false;
    for child in tree.children(at) {
        let was_after_block = std::mem::take(&mut is_after_block);
        if let Some(own) = tree.text(child) {
            // What is between two lines that are blocks is how the page is written.
            if !(was_after_block && own.starts_with('\n') && own.trim().is_empty()) {
                text.push_str(own);
            }
            continue;
        }
        if is_gutter(tree, child) || (left_out.has(child) && tree.name(child) != "math") {
            continue;
        }
        match tree.name(child) {
            "br" => text.push('\n'),
            "div" | "p" | "li" | "tr" | "ol" | "ul" | "table" => {
                is_after_block = true;
                fresh_line(text);
                collect(tree, left_out, child, text);
                if tree.name(child) == "tr" || is_line(tree, child) {
                    // Also of an empty line.
                    if !text.ends_with('\n') || tree.line(child).is_empty() {
                        text.push('\n');
                    }
                } else {
                    fresh_line(text);
                }
            }
            _ => collect(tree, left_out, child, text),
        }
    }
}

fn fresh_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Whether an element is one line of code.
fn is_line(tree: &Tree, at: Index) -> bool {
    tree.name(at) == "li"
        || tree.has_any_class(
            at,
            &[
                "line",
                "code-line",
                "cl",
                "token-line",
                "view-line",
                "ec-line",
            ],
        )
}

/// Whether an element holds numbers of lines.
pub(super) fn is_gutter(tree: &Tree, at: Index) -> bool {
    if !tree.is_element(at) {
        return false;
    }
    if tree.has_any_class(at, GUTTERS) {
        // What numbers the lines of a block is also the name of the block that has them.
        return !matches!(tree.name(at), "pre" | "code" | "table");
    }
    let unselectable = tree.value(at, "style").is_some_and(|style| {
        let style: String = style.chars().filter(|next| !next.is_whitespace()).collect();
        style.contains("user-select:none")
    });
    unselectable && tree.line(at).chars().all(|letter| letter.is_ascii_digit())
}

/// A block of code as the lines of a fence, the fences among them.
pub(super) fn fence(text: &str, language: &str) -> Vec<String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let marks = "`".repeat(longest_run(&text).max(2) + 1);
    let mut lines = vec![format!("{marks}{language}")];
    lines.extend(text.split('\n').map(str::to_owned));
    lines.push(marks);
    lines
}

/// A span of code.
pub(super) fn span(text: &str) -> String {
    let marks = if text.contains('`') {
        "`".repeat(longest_run(text) + 1)
    } else {
        "`".to_owned()
    };
    let is_edged = text.starts_with('`')
        || text.ends_with('`')
        || (text.starts_with(' ') && text.ends_with(' '));
    if is_edged {
        format!("{marks} {text} {marks}")
    } else {
        format!("{marks}{text}{marks}")
    }
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Whether an element that is no `pre` is a block of code.
pub(super) fn is_block(tree: &Tree, at: Index) -> bool {
    match tree.name(at) {
        "div" if tree.has_class(at, "fragment") => {
            tree.children(at).any(|child| tree.has_class(child, "line"))
        }
        "table" => tree
            .below(at)
            .any(|below| tree.has_any_class(below, &["blob-code", "blob-code-inner"])),
        _ => false,
    }
}

/// The language that a block is said to be in; empty where none is.
pub(super) fn language(tree: &Tree, at: Index) -> String {
    let inner = tree
        .below(at)
        .filter(|&below| tree.name(below) == "code")
        .take(1);
    let around = tree.ancestors(at).take(3);
    let own = std::iter::once(at);
    own.chain(inner)
        .chain(around)
        .find_map(|place| said_by(tree, place))
        .map(|language| normal(&language))
        .unwrap_or_default()
}

/// What a class token begins with that ends in the name of a language.
const STARTS: &[&str] = &[
    "language-",
    "lang-",
    "highlight-source-",
    "highlight-text-html-",
    "highlight-text-",
    "mw-highlight-lang-",
    "highlight-",
    "hl-",
    "src-",
    "brush:",
];

/// What one element says of the language of the code in it.
fn said_by(tree: &Tree, at: Index) -> Option<String> {
    let name = tree.name(at);
    if matches!(name, "body" | "html" | "article" | "main") {
        return None;
    }
    let valued = [
        "data-lang",
        "data-language",
        "data-code-lang",
        "data-code-wrap",
    ]
    .iter()
    .find_map(|attribute| tree.value(at, attribute))
    .or_else(|| {
        tree.value(at, "lang")
            .filter(|_| matches!(name, "pre" | "code"))
    });
    if let Some(value) = valued.filter(|value| is_name(value)) {
        return Some(value.to_owned());
    }
    let classes: Vec<&str> = tree.classes(at).collect();
    for start in STARTS {
        for class in &classes {
            let Some(language) = class.strip_prefix(start) else {
                continue;
            };
            let language = language.trim_matches(';');
            let is_code = name != "div"
                || !matches!(*start, "src-" | "hl-")
                || language.starts_with("ipython");
            if is_name(language) && is_code && !NO_LANGUAGE.contains(&language) {
                return Some(language.to_owned());
            }
        }
    }
    let after = |mark: &str| {
        let at = classes
            .iter()
            .position(|class| class.eq_ignore_ascii_case(mark))?;
        classes.get(at + 1).copied()
    };
    // `brush: python`, `sourceCode haskell`, `hljs rust`, `src rust`.
    let beside = after("brush:")
        .or_else(|| after("sourceCode"))
        .or_else(|| after("hljs"));
    let beside = beside.map(|found| found.trim_matches(';'));
    if let Some(found) = beside.filter(|found| is_name(found) && !NO_LANGUAGE.contains(found)) {
        return Some(found.to_owned());
    }
    (name == "pre" && classes.first() == Some(&"rust")).then(|| "rust".to_owned())
}

/// What follows `highlight-` and the like without being a language.
const NO_LANGUAGE: &[&str] = &[
    "default",
    "none",
    "plaintext",
    "text",
    "plain",
    "txt",
    "nohighlight",
    "no-highlight",
    "block",
    "container",
    "wrapper",
    "code",
    "copy",
    "hljs",
    "literal",
    "undefined",
    "unknown",
    "source",
    "numberSource",
    "numberLines",
    "lines",
    "toolbar",
    "box",
    "content",
    "body",
    "header",
];

fn is_name(text: &str) -> bool {
    (1..=20).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+#._-".contains(&byte))
}

fn normal(language: &str) -> String {
    let language = language.to_ascii_lowercase();
    match language.as_str() {
        "python3" | "ipython3" | "ipython" | "py3" => "python".to_owned(),
        _ if NO_LANGUAGE.contains(&language.as_str()) => String::new(),
        _ => language,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_and_spans_are_longer_than_backticks_inside() {
        assert_eq!(
            fence("a\n\n```\n", "md"),
            ["````md", "a", "", "```", "````"]
        );
        assert_eq!(span("a"), "`a`");
        assert_eq!(span("a`b"), "``a`b``");
        assert_eq!(span("`"), "`` ` ``");
        assert_eq!(span(" a"), "` a`");
        assert_eq!(span(" a "), "`  a  `");
    }
}
