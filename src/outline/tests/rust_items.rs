//! Where Rust files declare items, found without a grammar; it never looks into functions or macros.

use crate::text::Text;

/// The lines, from 1, on which items of modules, `impl`s and traits begin, attributes not counted.
pub(super) fn lines(text: &Text) -> Vec<usize> {
    let mut source = String::new();
    text.chunks().for_each(|chunk| source.push_str(chunk));
    let tokens = tokens(&source);
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
    };
    let mut found = Vec::new();
    reader.items(&mut found);
    found
}

#[derive(Debug)]
struct RustToken {
    text: String,
    line: usize,
}

/// Words and signs; comments are nothing, strings and characters are one `"`.
fn tokens(source: &str) -> Vec<RustToken> {
    let chars: Vec<char> = source.chars().collect();
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while at < chars.len() {
        let (start, begun) = (at, line);
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        match chars[at] {
            '/' if next == '/' => at = end_of_line(&chars, at),
            '/' if next == '*' => at = end_of_comment(&chars, at),
            '"' => at = end_of_string(&chars, at + 1),
            'r' | 'b' | 'c' if raw_hashes(&chars, at).is_some() => at = end_of_raw(&chars, at),
            '\'' if next == '\\' || chars.get(at + 2) == Some(&'\'') => {
                at += if next == '\\' { 3 } else { 2 };
                while at < chars.len() && chars[at] != '\'' {
                    at += 1;
                }
                at += 1;
            }
            '\'' => at += 1,
            c if is_word(c) => {
                while at < chars.len() && is_word(chars[at]) {
                    at += 1;
                }
            }
            _ => at += 1,
        }
        let end = at.min(chars.len());
        line += chars[start..end].iter().filter(|c| **c == '\n').count();
        let text: String = match chars[start] {
            '/' if end > start + 1 => continue,
            c if c.is_whitespace() || c == '\'' => continue,
            '"' => "\"".to_owned(),
            _ => chars[start..end].iter().collect(),
        };
        let text = if text.contains('"') {
            "\"".to_owned()
        } else {
            text
        };
        found.push(RustToken { text, line: begun });
    }
    found
}

fn end_of_line(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() && chars[at] != '\n' {
        at += 1;
    }
    at
}

fn end_of_comment(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn end_of_string(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Where the quote of a raw string is, and how many `#` stand before it.
fn raw_hashes(chars: &[char], at: usize) -> Option<(usize, usize)> {
    let mut quote = at;
    while quote < at + 2 && chars.get(quote).is_some_and(|c| "bcr".contains(*c)) {
        quote += 1;
    }
    let is_raw = chars[at..quote].contains(&'r');
    let hashes = chars[quote..].iter().take_while(|c| **c == '#').count();
    let is_string = chars.get(quote + hashes) == Some(&'"');
    (is_string && (is_raw || hashes == 0))
        .then_some((quote + hashes, if is_raw { hashes } else { usize::MAX }))
}

fn end_of_raw(chars: &[char], at: usize) -> usize {
    let Some((quote, hashes)) = raw_hashes(chars, at) else {
        return at + 1;
    };
    if hashes == usize::MAX {
        return end_of_string(chars, quote + 1);
    }
    let mut end = quote + 1;
    while end < chars.len() {
        let closes = chars[end] == '"'
            && chars[end + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes;
        if closes {
            return end + 1 + hashes;
        }
        end += 1;
    }
    end
}

struct Reader<'a> {
    tokens: &'a [RustToken],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> &str {
        self.tokens
            .get(self.at)
            .map_or("", |token| token.text.as_str())
    }

    /// Takes a sign if it is next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = self.peek() == text;
        self.at += usize::from(is_next);
        is_next
    }

    /// Past the bracket that closes the one that is next.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.peek() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth <= 0 {
                return;
            }
        }
    }

    /// Items up to the end; the braces of containers are passed as they come.
    fn items(&mut self, found: &mut Vec<usize>) {
        while self.at < self.tokens.len() {
            if self.take("}") || self.take(";") {
                continue;
            }
            if self.take("#") {
                self.take("!");
                self.skip_group();
                continue;
            }
            self.item(found);
        }
    }

    fn item(&mut self, found: &mut Vec<usize>) {
        let begun = self.at;
        self.qualifiers();
        let word = self.peek().to_owned();
        let is_declaration = [
            "fn", "struct", "enum", "trait", "impl", "mod", "type", "const", "static", "union",
        ]
        .contains(&word.as_str());
        if is_declaration && let Some(first) = self.tokens.get(begun) {
            found.push(first.line);
        }
        let holds_items = ["trait", "impl", "mod"].contains(&word.as_str());
        let ends_in_semicolon = ["type", "const", "static", "use"].contains(&word.as_str());
        while self.at < self.tokens.len() {
            match self.peek() {
                ";" => {
                    self.at += 1;
                    return;
                }
                "{" if holds_items => {
                    self.at += 1;
                    return;
                }
                "{" if !ends_in_semicolon => return self.skip_group(),
                "}" => return,
                "(" | "[" | "{" => self.skip_group(),
                _ => self.at += 1,
            }
        }
    }

    fn qualifiers(&mut self) {
        loop {
            match self.peek() {
                "pub" => {
                    self.at += 1;
                    if self.peek() == "(" {
                        self.skip_group();
                    }
                }
                "default" | "async" | "unsafe" | "safe" | "extern" | "\"" => self.at += 1,
                "const" if self.is_before_function() => self.at += 1,
                _ => return,
            }
        }
    }

    fn is_before_function(&self) -> bool {
        let next = self
            .tokens
            .get(self.at + 1)
            .map(|token| token.text.as_str());
        next.is_some_and(|next| ["fn", "unsafe", "async", "extern"].contains(&next))
    }
}

#[test]
fn items_are_found_where_they_begin() {
    let text = Text::new(
        "#![a]\nuse a::{b};\n#[b(\"fn\")]\npub(crate) const fn a<'a>() -> [u8; 2] {\n  fn inner() {}\n}\n\
        impl A {\n  const B: C = C { d: '{' };\n  /* fn */ fn e(&self) { r#\"}\"#; }\n}\nmacro! { fn no() {} }\nstruct F;\n",
    );
    assert_eq!(lines(&text), [4, 7, 8, 9, 12]);
}
