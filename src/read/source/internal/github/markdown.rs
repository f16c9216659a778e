//! What strangers wrote, as it is shown: Markdown as it is, without what a page on GitHub would hide, and with no line that could pass for one of ours.

/// How much was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OmittedParts {
    pub comments: usize,
    pub characters: usize,
}

impl OmittedParts {
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
pub fn body(written: &str, raw: bool, left_out: &mut OmittedParts) -> String {
    let text = written.replace("\r\n", "\n").replace('\r', "\n");
    if raw {
        return text;
    }
    let text = without_hidden(&text, left_out);
    let mut text = Uncommented::of(&text, &mut left_out.comments);
    text.run();
    let text = text.out;
    let lines = text.trim_end_matches('\n').split('\n');
    let lines: Vec<String> = lines
        .map(|line| match looks_like_ours(line) {
            true => format!("\\{line}"),
            false => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}

/// A line of code, which hides nothing but characters that cannot be seen.
pub fn code(line: &str, raw: bool, left_out: &mut OmittedParts) -> String {
    match raw {
        true => line.to_owned(),
        false => without_hidden(line, left_out),
    }
}

fn without_hidden(text: &str, left_out: &mut OmittedParts) -> String {
    let before = text.chars().count();
    let text: String = text.chars().filter(|c| !is_hidden(*c)).collect();
    left_out.characters += before - text.chars().count();
    text
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

/// A text on its way to having no HTML comments outside code; lines that held nothing else go with them.
struct Uncommented<'a> {
    rest: &'a str,
    out: String,
    count: &'a mut usize,
    /// The fence that is open.
    fence: Option<(u8, usize)>,
    removed_in_line: bool,
    /// Bytes behind the paragraph that was looked at last, so that each is looked through once.
    behind_paragraph: usize,
}

impl<'a> Uncommented<'a> {
    fn of(text: &'a str, count: &'a mut usize) -> Uncommented<'a> {
        Uncommented {
            rest: text,
            out: String::with_capacity(text.len()),
            count,
            fence: None,
            removed_in_line: false,
            behind_paragraph: usize::MAX,
        }
    }

    fn run(&mut self) {
        while !self.rest.is_empty() {
            if self.passes_code_line() {
                continue;
            }
            let next = self.rest.find(['`', '<', '\n']).unwrap_or(self.rest.len());
            self.keep(next);
            match self.rest.as_bytes().first() {
                Some(b'\n') => self.end_line(),
                Some(b'`') => {
                    let paragraph = self.paragraph();
                    self.keep(code_span(paragraph));
                }
                Some(b'<') if self.rest.starts_with("<!--") => {
                    let end = self.rest[4..].find("-->");
                    let end = end.map_or(self.rest.len(), |at| 4 + at + 3);
                    *self.count += 1;
                    self.removed_in_line = true;
                    self.rest = &self.rest[end..];
                }
                Some(_) => self.keep(1),
                None => {}
            }
        }
    }

    /// So many bytes go on as they are.
    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes);
        self.out.push_str(kept);
        self.rest = rest;
    }

    /// What is left of the paragraph that goes on here.
    fn paragraph(&mut self) -> &'a str {
        let left = self.rest.len();
        if left <= self.behind_paragraph {
            self.behind_paragraph = left - self.rest.find("\n\n").unwrap_or(left);
        }
        &self.rest[..left - self.behind_paragraph]
    }

    /// A line of a fence, or between two, goes on as it is.
    fn passes_code_line(&mut self) -> bool {
        let is_line_start =
            !self.removed_in_line && (self.out.is_empty() || self.out.ends_with('\n'));
        if !is_line_start {
            return false;
        }
        let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
        let line = &self.rest[..end];
        match (self.fence, fence_of(line)) {
            (Some(open), Some(mark)) if closes(open, mark, line) => self.fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => self.fence = Some(mark),
            (None, None) => return false,
        }
        self.keep(end);
        true
    }

    fn end_line(&mut self) {
        let line_at = self.out.rfind('\n').map_or(0, |at| at + 1);
        if self.removed_in_line && self.out[line_at..].trim().is_empty() {
            self.out.truncate(line_at);
            self.rest = &self.rest[1..];
        } else {
            self.keep(1);
        }
        self.removed_in_line = false;
    }
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
fn code_span(paragraph: &str) -> usize {
    let length = paragraph.bytes().take_while(|c| *c == b'`').count();
    let mut at = length;
    while let Some(found) = paragraph[at..].find('`') {
        let start = at + found;
        let run = paragraph[start..]
            .bytes()
            .take_while(|c| *c == b'`')
            .count();
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

    /// As long as all comments of a thread together; each part is looked at a few times at most.
    #[test]
    fn a_long_body_takes_no_longer_for_each_of_its_parts() {
        for part in ["`a` ", "` \n\n", "<!-- x", "<!---->", "<", "``` x\n", "a\n"] {
            let written = part.repeat((4 << 20) / part.len());
            body(&written, false, &mut OmittedParts::default());
        }
    }

    #[test]
    fn code_keeps_what_a_page_would_show() {
        let mut left_out = OmittedParts::default();
        assert_eq!(
            code("+<!-- x --> a\u{202e}b", false, &mut left_out),
            "+<!-- x --> ab"
        );
        assert_eq!((left_out.comments, left_out.characters), (0, 1));
    }

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
            ("a ` b\n\nc ` <!-- x -->", "a ` b\n\nc ` ", 1),
            ("`` ` <!-- x --> `` <!-- y -->`", "`` ` <!-- x --> `` `", 1),
            (
                "a\n\n`b` `<!-- x -->`\n\n`<!-- y\n\nz -->`",
                "a\n\n`b` `<!-- x -->`\n\n``",
                1,
            ),
        ];
        for (written, expected, comments) in cases {
            let mut left_out = OmittedParts::default();
            assert_eq!(body(written, false, &mut left_out), expected, "{written:?}");
            assert_eq!(left_out.comments, comments, "{written:?}");
        }
        let mut left_out = OmittedParts::default();
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
