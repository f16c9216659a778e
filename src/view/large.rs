//! A text that is held as one string, because a rope of it would be as large again: the lines of it that one request can show, and no more.

use crate::text::Text;

use super::excerpt::{Excerpt, ExcerptLine, Length};
use super::selector::Selector;
use super::window::{Limits, RAW_LINE_CAP};

/// The lines of `text` that a window of that selector may take, and one more.
pub fn excerpt(text: &str, selector: &Selector, limits: &Limits) -> Excerpt {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
    let has_open_line = !text.is_empty() && !text.ends_with('\n');
    let total = newlines + u64::from(has_open_line);
    let wanted = selector.resolve(total);
    let spans = wanted.lines.spans();
    let context = match (selector.bounded && !selector.raw, spans) {
        (true, [only]) => {
            let from = only.start.saturating_sub(limits.leading);
            Some((from, only.start, only.end, only.end + limits.trailing))
        }
        _ => None,
    };
    let context_end = context.map_or(0, |(_, _, _, to)| to);
    let budget = limits.for_selector(selector);
    let mut excerpt = Excerpt {
        lines: Vec::new(),
        total_lines: Some(total),
        total_bytes: text.len() as u64,
    };
    let (mut lines, mut bytes, mut span) = (0, 0, 0);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        while spans.get(span).is_some_and(|span| span.end < number) {
            span += 1;
        }
        let is_asked = spans.get(span).is_some_and(|span| span.start <= number);
        let is_context = context.is_some_and(|(from, start, end, to)| {
            (from..start).contains(&number) || (end + 1..=to).contains(&number)
        });
        // The first line is shown whatever its size, so the one after it tells why there are no more.
        let is_full = lines > 1 && (lines > budget.lines || bytes > budget.bytes);
        if is_asked && !is_full || is_context {
            let line = taken(number, line, selector.raw, limits.columns);
            if is_asked {
                lines += 1;
                bytes += line.text.len() as u64 + 1;
            }
            excerpt.lines.push(line);
        } else if (is_full || span == spans.len()) && number > context_end {
            break;
        }
    }
    excerpt
}

/// One line, cut as a window cuts it.
fn taken(number: u64, line: &str, raw: bool, columns: usize) -> ExcerptLine {
    let (line, end) = match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
        (Some(line), _) => (line, "\r\n"),
        (None, Some(line)) => (line, "\n"),
        (None, None) => (line, ""),
    };
    let cut_at = match raw {
        true => (line.len() > RAW_LINE_CAP).then(|| line.floor_char_boundary(RAW_LINE_CAP)),
        false if line.len() <= columns => None,
        false => line.char_indices().nth(columns).map(|(at, _)| at),
    };
    let text = match cut_at {
        None => line.to_owned(),
        Some(at) if raw => line[..at].to_owned(),
        Some(at) => format!("{}…", &line[..at]),
    };
    ExcerptLine {
        number,
        text,
        end,
        cut: cut_at.map(|_| Length::Chars(line.chars().count() as u64)),
    }
}

/// How the text ends its lines, in the words of the details, by its first lines.
pub fn line_ending(text: &str) -> &'static str {
    const SAMPLE: usize = 64 * 1024;
    let sample = &text[..text.floor_char_boundary(SAMPLE)];
    Text::new(sample).line_ending().as_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::window::{Count, open};
    use super::super::{Budget, Content};
    use super::*;

    proptest! {
        /// A window on the excerpt is the window on the whole text.
        #[test]
        fn shows_what_the_whole_text_would_show(
            text in "([a-zé]{0,30}(\r)?\n){0,40}[a-z]{0,5}",
            selector in "([1-9][0-9]?(-)?|-[1-9]|[1-9]-[1-9][0-9]|[1-9]\\+[1-9]|[1-9],[1-9]-[1-9][0-9],3[0-9])(:raw)?",
            lines in 1u64..20, bytes in 1u64..300, columns in 1usize..40,
        ) {
            let Ok(selector) = Selector::parse(&selector) else { return Ok(()) };
            let limits = Limits {
                budget: Budget { lines, bytes },
                open_lines: lines,
                columns,
                raw_line: RAW_LINE_CAP,
                leading: 1,
                trailing: 3,
                count: Count::Line,
            };
            let whole = Text::new(&text);
            let part = Content::Excerpt(excerpt(&text, &selector, &limits));
            prop_assert_eq!(open(&part, &selector, &limits), open(&whole, &selector, &limits));
        }
    }
}
