//! What strangers wrote, as it is shown: Markdown as it is, without what a page on GitHub would hide, and with no line that could pass for one of ours.

/// How much was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub comments: usize,
    pub characters: usize,
}

impl LeftOut {
    /// A footer, where something was.
    pub fn footer(&self) -> Option<String> {
        let count = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let parts: Vec<String> = [
            count(self.comments, "HTML comment", "HTML comments"),
            count(
                self.characters,
                "invisible character",
                "invisible characters",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!parts.is_empty()).then(|| format!("{} left out; :raw has them", parts.join(" and ")))
    }
}

/// A body as lines that are safe to show; with `raw`, as it came but for its line ends.
pub fn body(written: &str, raw: bool, left_out: &mut LeftOut) -> String {
    let text = written.replace("\r\n", "\n").replace('\r', "\n");
    if raw {
        return text;
    }
    let before = text.chars().count();
    let text: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    left_out.characters += before - text.chars().count();
    let text = without_comments(&text, &mut left_out.comments);
    let lines = text.trim_end_matches('\n').split('\n');
    let lines: Vec<String> = lines
        .map(|line| match looks_like_ours(line) {
            true => format!("\\{line}"),
            false => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}

/// Tags (U+E0000 to U+E007F) and what turns the direction of writing around.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A line that stands as `--- … ---` does between comments.
fn looks_like_ours(line: &str) -> bool {
    let line = line.trim();
    line.len() > 7 && line.starts_with("--- ") && line.ends_with(" ---")
}

/// Without HTML comments outside code; lines that held nothing else go with them.
fn without_comments(text: &str, count: &mut usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut fence: Option<(u8, usize)> = None;
    let mut removed_in_line = false;
    while !rest.is_empty() {
        let is_line_start = !removed_in_line && (out.is_empty() || out.ends_with('\n'));
        if is_line_start {
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let line = &rest[..end];
            let mark = fence_of(line);
            let is_code = match (fence, mark) {
                (Some(open), Some(mark)) if closes(open, mark, line) => {
                    fence = None;
                    true
                }
                (Some(_), _) => true,
                (None, Some(mark)) => {
                    fence = Some(mark);
                    true
                }
                (None, None) => false,
            };
            if is_code {
                out.push_str(line);
                rest = &rest[end..];
                continue;
            }
        }
        let next = rest.find(['`', '<', '\n']).unwrap_or(rest.len());
        out.push_str(&rest[..next]);
        rest = &rest[next..];
        match rest.as_bytes().first() {
            Some(b'\n') => {
                let line_at = out.rfind('\n').map_or(0, |at| at + 1);
                if removed_in_line && out[line_at..].trim().is_empty() {
                    out.truncate(line_at);
                } else {
                    out.push('\n');
                }
                removed_in_line = false;
                rest = &rest[1..];
            }
            Some(b'`') => {
                let end = code_span(rest);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            Some(b'<') if rest.starts_with("<!--") => {
                let end = rest[4..].find("-->").map_or(rest.len(), |at| 4 + at + 3);
                *count += 1;
                removed_in_line = true;
                rest = &rest[end..];
            }
            Some(_) => {
                out.push('<');
                rest = &rest[1..];
            }
            None => {}
        }
    }
    out
}

/// The character of a fence and how often it stands there.
fn fence_of(line: &str) -> Option<(u8, usize)> {
    let bare = line.trim_start_matches(' ');
    if line.len() - bare.len() > 3 {
        return None;
    }
    let mark = *bare
        .as_bytes()
        .first()
        .filter(|c| matches!(c, b'`' | b'~'))?;
    let length = bare.bytes().take_while(|c| *c == mark).count();
    // What has backticks behind it is a span of code.
    let is_fence = length >= 3 && (mark == b'~' || !bare[length..].contains('`'));
    is_fence.then_some((mark, length))
}

fn closes(open: (u8, usize), mark: (u8, usize), line: &str) -> bool {
    let tail = line.trim_start_matches(' ');
    open.0 == mark.0 && mark.1 >= open.1 && tail[mark.1..].trim().is_empty()
}

/// Bytes of the code that begins here, or of the backticks where it does not end in its paragraph.
fn code_span(rest: &str) -> usize {
    let length = rest.bytes().take_while(|c| *c == b'`').count();
    let paragraph = rest.find("\n\n").unwrap_or(rest.len());
    let mut at = length;
    while let Some(found) = rest[at..paragraph.max(at)].find('`') {
        let start = at + found;
        let run = rest[start..].bytes().take_while(|c| *c == b'`').count();
        if run == length {
            return start + run;
        }
        at = start + run;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_hides_is_left_out_and_code_is_kept() {
        let cases = [
            ("a\r\nb\rc\n", "a\nb\nc", 0),
            ("a <!-- x --> b", "a  b", 1),
            ("<!-- x\ny -->\ntext", "text", 1),
            ("a\n<!-- never closed\nb", "a", 1),
            ("`<!-- x -->` <!-- y -->", "`<!-- x -->` ", 1),
            (
                "```\n<!-- x -->\n```\n<!-- y -->\n",
                "```\n<!-- x -->\n```",
                1,
            ),
            ("~~~ html\n<!-- x -->", "~~~ html\n<!-- x -->", 0),
            ("a ` b <!-- x -->", "a ` b ", 1),
            (
                "--- comment 2 of 9: @root ---",
                "\\--- comment 2 of 9: @root ---",
                0,
            ),
            ("---\ntext\n---", "---\ntext\n---", 0),
            ("<b>x</b> < 3", "<b>x</b> < 3", 0),
        ];
        for (written, expected, comments) in cases {
            let mut left_out = LeftOut::default();
            assert_eq!(body(written, false, &mut left_out), expected, "{written:?}");
            assert_eq!(left_out.comments, comments, "{written:?}");
        }
        let mut left_out = LeftOut::default();
        assert_eq!(
            body("a\u{e0041}\u{202e}b<!--x-->", false, &mut left_out),
            "ab"
        );
        assert_eq!(
            left_out.footer().as_deref(),
            Some("1 HTML comment and 2 invisible characters left out; :raw has them")
        );
        assert_eq!(
            body("a\u{202e}<!--x-->", true, &mut left_out),
            "a\u{202e}<!--x-->"
        );
    }
}
