//! Fragments: the section of a page that a `#` names, or the lines of a text.

use strsim::jaro_winkler;

use crate::convert::Section;
use crate::protocol::read::LineSpan;
use crate::text::Text;

use super::header::title;

/// Ids that are named where one is not there.
const MAX_NEAR: usize = 3;
const NEAR: f64 = 0.8;

/// What a fragment leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FragmentPlace {
    /// The section of that id.
    Lines(String, LineSpan),
    /// None; what is said of that.
    Nowhere(Option<String>),
}

/// Where in a text a fragment leads to. `sections` are those that a converter found in HTML.
pub fn place(fragment: &str, sections: Option<&[Section]>, text: &Text) -> FragmentPlace {
    if let (None, Some(span)) = (sections, lines(fragment)) {
        return FragmentPlace::Lines(title(fragment), span);
    }
    // A route of a script.
    if fragment.starts_with('/') || fragment.starts_with("!/") {
        return FragmentPlace::Nowhere(None);
    }
    let of_headings;
    let sections = match sections {
        Some(sections) => sections,
        None => {
            of_headings = headings(text);
            &of_headings
        }
    };
    let (id, directive) = match fragment.split_once(":~:") {
        Some((id, directive)) => (id, directive.strip_prefix("text=")),
        None => (fragment, None),
    };
    if let Some(words) = directive.and_then(start) {
        return match line_of(&words, text) {
            Some(line) => around(line, sections, text),
            None => {
                FragmentPlace::Nowhere(Some(format!("no text '{}' on the page", title(&words))))
            }
        };
    }
    let same = sections.iter().find(|section| section.id == id);
    let like = || sections.iter().find(|it| it.id.eq_ignore_ascii_case(id));
    match same.or_else(like) {
        Some(section) => lines_of(section),
        None if id.is_empty() => FragmentPlace::Nowhere(None),
        None => FragmentPlace::Nowhere(Some(missing(id, sections))),
    }
}

/// `L10-L20`, `L10`: lines of a text.
pub fn lines(fragment: &str) -> Option<LineSpan> {
    let (start, end) = fragment.split_once('-').unwrap_or((fragment, fragment));
    let number = |text: &str| {
        // A column may follow: `L10C5`.
        let digits = text.strip_prefix('L')?.split('C').next()?;
        digits.parse::<u64>().ok().filter(|line| *line > 0)
    };
    let (start, end) = (number(start)?, number(end)?);
    (start <= end).then_some(LineSpan { start, end })
}

fn lines_of(section: &Section) -> FragmentPlace {
    let span = LineSpan {
        start: section.start,
        end: section.end,
    };
    FragmentPlace::Lines(title(&section.id), span)
}

/// What a directive's text begins with: `text=[prefix-,]start[,end][,-suffix]`.
fn start(directive: &str) -> Option<String> {
    let first = directive.split('&').next()?;
    let mut parts = first
        .split(',')
        .filter(|part| !part.ends_with('-') && !part.starts_with('-'));
    parts.next().map(squeezed).filter(|words| !words.is_empty())
}

fn squeezed(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

fn line_of(words: &str, text: &Text) -> Option<u64> {
    let mut lines = text.lines_at(0).zip(1..);
    lines.find_map(|(line, number)| squeezed(&line).contains(words).then_some(number))
}

/// The innermost section that holds a line; where none does, the line and the text below it.
fn around(line: u64, sections: &[Section], text: &Text) -> FragmentPlace {
    let holds = |it: &&Section| (it.start..=it.end).contains(&line);
    match sections
        .iter()
        .filter(holds)
        .min_by_key(|it| it.end - it.start)
    {
        Some(section) => lines_of(section),
        None => {
            let span = LineSpan {
                start: line,
                end: text.len_lines() as u64,
            };
            FragmentPlace::Lines(String::new(), span)
        }
    }
}

fn missing(id: &str, sections: &[Section]) -> String {
    let mut near: Vec<(f64, &str)> = sections
        .iter()
        .map(|section| (jaro_winkler(id, &section.id), section.id.as_str()))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(MAX_NEAR);
    let names: Vec<String> = near.iter().map(|(_, id)| title(id)).collect();
    match names.is_empty() {
        true => format!("no section '{}'", title(id)),
        false => format!("no section '{}'; nearest: {}", title(id), names.join(", ")),
    }
}

/// The headings of Markdown, by the ids that they are given where Markdown is shown as a page.
fn headings(text: &Text) -> Vec<Section> {
    let total = text.len_lines() as u64;
    let found = super::summary::headings_of(text);
    let sections = found.iter().enumerate().map(|(index, heading)| {
        let next = found[index + 1..]
            .iter()
            .find(|next| next.level <= heading.level);
        Section {
            id: slug(&text.line(heading.line as usize - 1)),
            start: heading.line,
            end: next.map_or(total, |next| next.line - 1),
        }
    });
    sections.collect()
}

fn slug(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim();
    let kept = words.chars().filter_map(|c| match c {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: &str, start: u64, end: u64) -> Section {
        Section {
            id: id.to_owned(),
            start,
            end,
        }
    }

    fn span(start: u64, end: u64) -> LineSpan {
        LineSpan { start, end }
    }

    #[test]
    fn sections_by_their_ids() {
        let text = Text::new("# A\n## Install it\nRun   this\n## Use\nNow\n");
        let sections = [
            section("top", 1, 5),
            section("install", 2, 3),
            section("use", 4, 5),
        ];
        let of = |fragment: &str| place(fragment, Some(&sections), &text);
        assert_eq!(
            of("install"),
            FragmentPlace::Lines("install".to_owned(), span(2, 3))
        );
        assert_eq!(
            of("Use"),
            FragmentPlace::Lines("use".to_owned(), span(4, 5))
        );
        assert_eq!(
            of("instal"),
            FragmentPlace::Nowhere(Some("no section 'instal'; nearest: install".to_owned()))
        );
        assert_eq!(
            of("zzz"),
            FragmentPlace::Nowhere(Some("no section 'zzz'".to_owned()))
        );
        assert_eq!(of("/route"), FragmentPlace::Nowhere(None));
        assert_eq!(
            of(":~:text=run this,now"),
            FragmentPlace::Lines("install".to_owned(), span(2, 3))
        );
        assert_eq!(
            of("use:~:text=a-,now"),
            FragmentPlace::Lines("use".to_owned(), span(4, 5))
        );
        assert_eq!(
            of(":~:text=never"),
            FragmentPlace::Nowhere(Some("no text 'never' on the page".to_owned()))
        );
        assert_eq!(
            of("L2"),
            FragmentPlace::Nowhere(Some("no section 'L2'".to_owned()))
        );
    }

    #[test]
    fn lines_and_headings_of_texts() {
        let text = Text::new("# A\n## Install it!\nx\n### More\n## Use\n");
        assert_eq!(
            place("L2-L4", None, &text),
            FragmentPlace::Lines("L2-L4".to_owned(), span(2, 4))
        );
        assert_eq!(
            place("install-it", None, &text),
            FragmentPlace::Lines("install-it".to_owned(), span(2, 4))
        );
        assert_eq!(lines("L10C3-L12"), Some(span(10, 12)));
        assert_eq!(
            (lines("L0"), lines("L5-L4"), lines("5")),
            (None, None, None)
        );
    }
}
