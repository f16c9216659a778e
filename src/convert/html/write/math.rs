//! Formulas as TeX, by whatever a page has of it: annotations, alternative texts, scripts, pictures.

use super::super::hidden::is_tex;
use super::super::tree::{Index, Tree};

/// The formula that an element is, between `$` or `$$`.
pub(super) fn formula(tree: &Tree, at: Index) -> Option<String> {
    match tree.name(at) {
        "math" => Some(of_mathml(tree, at)),
        "script" if is_tex(tree, at) => {
            let is_display = tree
                .value(at, "type")
                .is_some_and(|kind| kind.contains("display"));
            Some(written(&tree.raw_text(at), is_display))
        }
        "img" => of_picture(tree, at),
        "span" | "div" | "p" if tree.has_any_class(at, &["math", "arithmatex"]) => {
            delimited(tree, at)
        }
        _ => None,
    }
}

/// Whether a formula stands alone.
pub(super) fn is_display(tree: &Tree, at: Index) -> bool {
    match tree.name(at) {
        "script" => tree
            .value(at, "type")
            .is_some_and(|kind| kind.contains("display")),
        "math" => {
            let is_block = |place: Index| {
                tree.is(place, "display", "block")
                    || tree.is(place, "mode", "display")
                    || tree.has_any_class(place, &["katex-display"])
                    || tree.is(place, "display", "true")
            };
            is_block(at) || tree.ancestors(at).take(4).any(is_block)
        }
        "div" => tree.has_any_class(at, &["math", "arithmatex"]),
        _ => false,
    }
}

fn of_mathml(tree: &Tree, at: Index) -> String {
    let annotation = tree.below(at).find(|&below| {
        tree.name(below) == "annotation"
            && tree
                .value(below, "encoding")
                .is_some_and(|kind| kind.to_ascii_lowercase().contains("tex"))
    });
    let tex = annotation
        .map(|annotation| tree.raw_text(annotation))
        .or_else(|| tree.value(at, "alttext").map(str::to_owned));
    match tex {
        Some(tex) => written(&tex, is_display(tree, at)),
        None => plain(tree, at),
    }
}

/// What MathML without TeX says, its parts one after the other.
fn plain(tree: &Tree, at: Index) -> String {
    let mut text = String::new();
    for below in tree.below(at) {
        if tree
            .ancestors(below)
            .take(2)
            .any(|up| tree.name(up) == "annotation")
        {
            continue;
        }
        if let Some(own) = tree.text(below) {
            text.push_str(own.trim());
        } else if matches!(tree.name(below), "mfrac" | "msup" | "msub") {
            text.push(' ');
        }
    }
    format!("${}$", text.trim())
}

/// A picture of a formula, whose words are TeX.
fn of_picture(tree: &Tree, at: Index) -> Option<String> {
    let is_formula = tree
        .classes(at)
        .any(|class| matches!(class, "math" | "tex" | "latex") || class.starts_with("mwe-math"));
    let alt = tree.value(at, "alt").filter(|_| is_formula)?;
    let is_display = tree.classes(at).any(|class| class.contains("display"));
    Some(written(alt, is_display))
}

/// TeX that is left for a script to draw: `\(…\)`, `\[…\]`, `$…$`.
fn delimited(tree: &Tree, at: Index) -> Option<String> {
    if tree.below(at).any(|below| {
        tree.is_element(below) && !matches!(tree.name(below), "span" | "br" | "script")
    }) {
        return None;
    }
    let text = tree.raw_text(at);
    let text = text.trim();
    let between = |open: &str, close: &str| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(tex) = between("\\(", "\\)") {
        return Some(written(tex, false));
    }
    between("\\[", "\\]")
        .or_else(|| between("$$", "$$"))
        .map(|tex| written(tex, true))
}

fn written(tex: &str, is_display: bool) -> String {
    let tex = tex.trim();
    let tex = tex
        .strip_prefix("{\\displaystyle")
        .and_then(|inner| inner.strip_suffix('}'))
        .or_else(|| {
            tex.strip_prefix("{\\textstyle")
                .and_then(|inner| inner.strip_suffix('}'))
        })
        .unwrap_or(tex)
        .trim();
    let lines: Vec<&str> = tex
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let tex = lines.join(" ");
    if tex.is_empty() {
        return String::new();
    }
    if is_display {
        format!("$${tex}$$")
    } else {
        format!("${tex}$")
    }
}
