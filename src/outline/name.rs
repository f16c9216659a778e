//! Names of declarations with what they are in (`Foo::bar`), and which of a text's declarations a written one is of.

use std::fmt;

/// What parts the parts of a name in memory; no name has it.
const SEPARATOR: char = '\u{1f}';
/// Characters of a part.
const MAX_PART: usize = 200;

/// The name of a declaration, after those of what it is in, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct QualifiedName(String);

impl QualifiedName {
    /// A name of one part, whatever it looks like.
    pub fn whole(name: &str) -> QualifiedName {
        QualifiedName::of_parts(&[name])
    }

    pub(super) fn of_parts(parts: &[&str]) -> QualifiedName {
        let mut name = String::new();
        for part in parts.iter().map(|part| part.trim()) {
            if part.is_empty() {
                continue;
            }
            if !name.is_empty() {
                name.push(SEPARATOR);
            }
            let is_plain = |c: &char| *c != SEPARATOR && !c.is_control();
            name.extend(part.chars().filter(is_plain).take(MAX_PART));
        }
        QualifiedName(name)
    }

    /// As a node of that kind spells it: `Box<T>::contains`, `"a b"`, `$x`.
    pub(super) fn spelled(text: &str, kind: &str) -> QualifiedName {
        match kind {
            "operator_cast" => {
                let end = text.find('(').unwrap_or(text.len());
                return QualifiedName::whole(&squeezed(&text[..end]));
            }
            "inline" | "paragraph" => return QualifiedName::whole(text),
            _ => {}
        }
        let text = text.trim();
        let quoted = ['"', '\'', '`'].iter().find_map(|quote| {
            let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inner.contains(*quote)).then_some(inner)
        });
        if let Some(inner) = quoted {
            return QualifiedName::whole(inner);
        }
        let text = match kind {
            "variable_name" | "variable" => text.trim_start_matches('$'),
            _ => text,
        };
        QualifiedName::parsed(text)
    }

    /// As it is written behind a `#`, or spelled in a text: parts are set apart by `::`, `.`, `#`, `->` or
    /// `:`, and what stands between angle brackets behind a name is none of it.
    pub fn parsed(text: &str) -> QualifiedName {
        let mut parts: Vec<String> = Vec::new();
        let mut part = String::new();
        let mut rest = text.trim();
        while let Some(next) = rest.chars().next() {
            let parting = ["::", "->", ".", "#", ":"];
            let parting = parting.iter().find(|it| rest.starts_with(**it));
            let is_operator = part.trim_start().starts_with("operator");
            match parting {
                Some(parting) if !is_operator && ends_as_name(&part) => {
                    parts.push(std::mem::take(&mut part));
                    rest = &rest[parting.len()..];
                }
                _ if next == '<' && !is_operator && ends_as_name(&part) && !part.is_empty() => {
                    rest = after_brackets(rest);
                }
                _ => {
                    part.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
        }
        parts.push(part);
        let parts: Vec<String> = parts.iter().map(|part| squeezed(part)).collect();
        let parts = parts.iter().map(String::as_str);
        // What JavaScript and C++ write before the names of what is outermost.
        let parts: Vec<&str> = parts.filter(|part| *part != "prototype").collect();
        QualifiedName::of_parts(&parts)
    }

    /// As it came from a worker.
    pub fn of_text(text: &str) -> QualifiedName {
        QualifiedName(text.to_owned())
    }

    /// As it goes to whoever makes one of it again.
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// This with another name in it.
    pub(super) fn with(&self, inner: &QualifiedName) -> QualifiedName {
        match self.is_empty() {
            true => inner.clone(),
            false => QualifiedName(format!("{}{SEPARATOR}{}", self.0, inner.0)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split(SEPARATOR)
    }

    /// What it is called where it stands.
    pub fn last(&self) -> &str {
        self.parts().next_back().unwrap_or_default()
    }

    /// Whether a name that is asked for, written so, is this one: its last parts, or the whole of its last.
    pub fn is_called(&self, asked: &QualifiedName, written: &str) -> bool {
        self.last() == written || self.ends_in(asked, |own, part| own == part)
    }

    /// Whether it may be meant by such a name: with marks left out that only some of its uses have, or as
    /// a heading is written in addresses.
    pub fn may_be_called(&self, asked: &QualifiedName, written: &str) -> bool {
        slug(self.last()).is_some_and(|slug| slug == written)
            || self.ends_in(asked, |own, part| without_marks(own) == without_marks(part))
    }

    fn ends_in(&self, asked: &QualifiedName, is_equal: impl Fn(&str, &str) -> bool) -> bool {
        let mut own = self.parts().rev();
        let mut asked_parts = asked.parts().rev();
        !asked.is_empty()
            && asked_parts.all(|part| own.next().is_some_and(|own| is_equal(own, part)))
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts().enumerate() {
            if index > 0 {
                out.write_str("::")?;
            }
            out.write_str(part)?;
        }
        Ok(())
    }
}

/// Whether what was read of a part so far can be the whole of it.
fn ends_as_name(part: &str) -> bool {
    part.chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || "_$?!)]\"'>".contains(c))
}

/// What follows the brackets that a text begins with; the whole of it but the first character where they do not close.
fn after_brackets(text: &str) -> &str {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return &text[at + c.len_utf8()..];
        }
    }
    ""
}

/// Blanks only where they set two words apart.
fn squeezed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_word(out.chars().next_back()) && is_word(word.chars().next()) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A part without the marks that only some of its language's uses have: `#secret`, `$x`, `@x`.
fn without_marks(part: &str) -> &str {
    part.trim_start_matches(['#', '$', '@', '.'])
}

/// The name of a heading as addresses have it (`path-strings`); `None` for what has no blanks.
fn slug(name: &str) -> Option<String> {
    if !name.contains(' ') {
        return None;
    }
    let kept = name.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    Some(kept.flat_map(char::to_lowercase).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let parts = |text: &str| -> Vec<String> {
            let name = QualifiedName::parsed(text);
            name.parts().map(str::to_owned).collect()
        };
        assert_eq!(parts("Foo::bar"), ["Foo", "bar"]);
        assert_eq!(parts("Foo.bar"), ["Foo", "bar"]);
        assert_eq!(parts("Foo#bar?"), ["Foo", "bar?"]);
        assert_eq!(parts("M:f"), ["M", "f"]);
        assert_eq!(parts("Foo<T, U>::bar"), ["Foo", "bar"]);
        assert_eq!(parts("A::operator ()"), ["A", "operator()"]);
        assert_eq!(parts("operator<"), ["operator<"]);
        assert_eq!(parts("operator bool"), ["operator bool"]);
        assert_eq!(parts("Foo.prototype.bar"), ["Foo", "bar"]);
        assert_eq!(parts("#secret"), ["#secret"]);
    }

    #[test]
    fn a_name_is_found_by_its_end() {
        let name = QualifiedName::of_parts(&["shapes", "Circle", "area"]);
        let is_called = |asked: &str| name.is_called(&QualifiedName::parsed(asked), asked);
        assert!(is_called("area"));
        assert!(is_called("Circle::area"));
        assert!(is_called("shapes.Circle.area"));
        assert!(!is_called("shapes.area"));
        assert!(!is_called("x::shapes::Circle::area"));
        assert!(!is_called("Area"));
        let heading = QualifiedName::whole("Path strings");
        let may_be = |name: &QualifiedName, asked: &str| {
            name.may_be_called(&QualifiedName::parsed(asked), asked)
        };
        assert!(may_be(&heading, "path-strings"));
        assert!(heading.is_called(&QualifiedName::parsed("Path strings"), "Path strings"));
        let secret = QualifiedName::of_parts(&["A", "#secret"]);
        assert!(may_be(&secret, "A.secret") && may_be(&secret, "A.#secret"));
    }
}
