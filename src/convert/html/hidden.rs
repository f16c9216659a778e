//! What nobody sees of a page: it is left out before anything else looks at the words.
//!
//! Tab panels stay, whichever is shown first, and so does what `details` folds; MathML stays though
//! it is hidden, since it is what a screen reader says of a formula that is drawn.

use super::tree::{Index, LeftOut, Tree};

/// Elements that show no text.
const NAMES: &[&str] = &[
    "script",
    "style",
    "template",
    "head",
    "noscript",
    "svg",
    "object",
    "iframe",
    "input",
    "select",
    "button",
    "dialog",
    "datalist",
    "canvas",
    "audio",
    "video",
    "embed",
    "applet",
    "textarea",
    "clipboard-copy",
    "title",
    "meta",
    "link",
];

/// Class tokens of what is beside a heading or a block of code to be clicked on, and of what is only
/// read aloud.
const CLICKED: &[&str] = &[
    "copybtn",
    "copy-button",
    "copy-btn",
    "btn-copy",
    "copy-code-button",
    "clipboard-copy",
    "zeroclipboard-container",
    "btn-clipboard",
    "code-copy",
    "clipboard-button",
    "copy-to-clipboard",
    "mw-editsection",
    "vector-toc-toggle",
    "skip-link",
    "skip-to-content",
    "skiplink",
    "skip-nav",
    "sr-only",
    "sr-only-focusable",
    "visually-hidden",
    "visually-hidden-focusable",
    "visuallyhidden",
    "screen-reader-text",
    "screen-reader-only",
    "edit-this-page",
    "edit-page",
    "test-arrow",
    "hideme",
    "tooltip-button",
    "ttc",
    "jp-InputPrompt",
    "jp-OutputPrompt",
    "input_prompt",
    "output_prompt",
    "codeblock-copy",
    "code-lang-label",
];

/// Class tokens of formulas as scripts draw them, glyph by glyph.
const DRAWN: &[&str] = &[
    "MathJax_Preview",
    "MathJax",
    "MathJax_Display",
    "MathJax_SVG",
    "mjx-chtml",
    "katex-html",
];

/// Class tokens of panels of which one is shown at a time.
const PANELS: &[&str] = &[
    "tab-pane",
    "tabpanel",
    "tab-panel",
    "tabbed-block",
    "sphinx-tabs-panel",
    "sd-tab-content",
    "tab-content",
    "tabs-content",
    "tabs__panel",
    "tab_content",
    "tabItem",
];

/// What nobody sees of a page.
pub(super) fn unseen(tree: &Tree) -> LeftOut {
    let mut unseen = LeftOut::nothing(tree);
    let mut at = 0;
    while at < tree.len() {
        if is_unseen(tree, at) {
            unseen.add(at);
            at = tree.end(at);
        } else {
            at += 1;
        }
    }
    unseen
}

fn is_unseen(tree: &Tree, at: Index) -> bool {
    match tree.name(at) {
        "" | "html" | "body" | "math" => false,
        "script" => !is_tex(tree, at),
        "input" => !tree.is(at, "type", "checkbox") || !is_task(tree, at),
        "button" => !tree.is(at, "role", "tab"),
        "img" => is_pixel(tree, at) || is_drawn_beside(tree, at),
        "a" if is_skip_link(tree, at) => true,
        "span" if tree.has_class(at, "lang") => names_a_language(tree, at),
        name if NAMES.contains(&name) => true,
        _ if tree.has_any_class(at, CLICKED) => true,
        _ if tree.has_any_class(at, DRAWN) => !has_math(tree, at),
        _ => is_hidden(tree, at) && !is_panel(tree, at) && !has_math(tree, at),
    }
}

/// Whether a script holds a formula.
pub(super) fn is_tex(tree: &Tree, at: Index) -> bool {
    tree.value(at, "type")
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("math/tex"))
}

/// Whether a check box is one of a list of tasks.
fn is_task(tree: &Tree, at: Index) -> bool {
    tree.ancestors(at)
        .take(3)
        .any(|around| tree.name(around) == "li")
}

/// Whether a picture is there to be asked for, not to be seen.
fn is_pixel(tree: &Tree, at: Index) -> bool {
    let is_tiny = |side: &str| {
        tree.value(at, side)
            .map(|size| size.trim_end_matches("px"))
            .is_some_and(|size| matches!(size, "0" | "1"))
    };
    is_tiny("width") && is_tiny("height")
}

/// Whether it says over a block of code what the block says itself.
fn names_a_language(tree: &Tree, at: Index) -> bool {
    tree.parent(at).is_some_and(|around| {
        tree.classes(around)
            .any(|class| class.starts_with("language-"))
    })
}

/// Whether a picture shows a formula that stands beside it.
fn is_drawn_beside(tree: &Tree, at: Index) -> bool {
    let is_formula = tree
        .classes(at)
        .any(|class| class.starts_with("mwe-math-fallback"));
    is_formula && tree.parent(at).is_some_and(|around| has_math(tree, around))
}

fn is_skip_link(tree: &Tree, at: Index) -> bool {
    let leads_inside = tree
        .value(at, "href")
        .is_some_and(|href| href.starts_with('#'));
    leads_inside && {
        let text = tree.line(at).to_lowercase();
        [
            "skip to ",
            "jump to main",
            "jump to content",
            "skip navigation",
        ]
        .iter()
        .any(|start| text.starts_with(start))
    }
}

fn is_hidden(tree: &Tree, at: Index) -> bool {
    let hidden = tree.attribute(at, "hidden");
    if hidden.is_some_and(|value| !value.eq_ignore_ascii_case("until-found"))
        || tree.is(at, "aria-hidden", "true")
    {
        return true;
    }
    tree.value(at, "style").is_some_and(hides)
}

/// Whether a style makes that nothing is seen.
fn hides(style: &str) -> bool {
    style.split(';').any(|rule| {
        let Some((property, value)) = rule.split_once(':') else {
            return false;
        };
        let value = value.trim().to_ascii_lowercase();
        let value = value.trim_end_matches("!important").trim_end();
        match property.trim().to_ascii_lowercase().as_str() {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "opacity" => is_zero(value),
            "font-size" => is_zero(value),
            _ => false,
        }
    })
}

/// `0`, `0.0`, `0px`, `0%`.
fn is_zero(value: &str) -> bool {
    let number = value.trim_end_matches(|last: char| last.is_ascii_alphabetic() || last == '%');
    number.parse::<f64>().is_ok_and(|number| number == 0.0)
}

fn is_panel(tree: &Tree, at: Index) -> bool {
    tree.is(at, "role", "tabpanel") || tree.has_any_class(at, PANELS) || {
        // What stands beside a list of tabs.
        tree.parent(at).is_some_and(|around| {
            tree.children(around)
                .take(4)
                .any(|beside| beside != at && tree.is(beside, "role", "tablist"))
        })
    }
}

fn has_math(tree: &Tree, at: Index) -> bool {
    tree.has(at, &["math"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_that_hide() {
        for style in [
            "display:none",
            "DISPLAY : none !important",
            "opacity: 0.0",
            "font-size:0px",
        ] {
            assert!(hides(style), "{style}");
        }
        for style in [
            "display:block",
            "opacity:.5",
            "visibility:visible",
            "x-display:none",
        ] {
            assert!(!hides(style), "{style}");
        }
    }
}
