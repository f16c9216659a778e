//! What stands behind a `#` at the end of a path string: a tag that was copied with its path, lines, or the name of a declaration.
//!
//! Nothing here looks whether the path is there, nor what the text has: a name may be that of nothing,
//! and four hex digits may be a tag or a name.

use crate::hashline::tag::Tag;
use crate::outline::QualifiedName;
use crate::view::Selector;
use crate::view::selector::{Piece, SelectorError};

/// What a header begins with.
const PILCROW: char = '¶';
/// Places in a path string at which a path may end that are looked at.
const MAX_ENDS: usize = 8;

/// What is behind the `#`, and the selector behind that.
#[derive(Debug, Clone, PartialEq)]
pub enum Fragment {
    /// `#L10-L20`.
    Lines(Selector),
    Name(NamedPart),
}

/// A part of a text that is asked for by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedPart {
    /// As it is written, and for a JSON string what that says.
    pub written: String,
    pub name: QualifiedName,
    /// What it is where that is one of the document: the document itself is meant.
    pub tag: Option<Tag>,
    /// It is a JSON string: a name, whatever it looks like.
    pub is_quoted: bool,
    /// It stands in a header with its sign, so that it can be nothing but a tag.
    pub is_in_header: bool,
    pub selector: Selector,
}

impl Fragment {
    /// Where a path string may be parted from a fragment: the path, and what is behind its `#`, the longest
    /// path first. The pilcrow sign of a header is no part of a path.
    pub fn splits(written: &str) -> impl Iterator<Item = (&str, FragmentText<'_>)> {
        let bare = written.strip_prefix(PILCROW);
        let bare = bare.into_iter().flat_map(|bare| split(bare, true));
        split(written, false).chain(bare)
    }
}

fn split(written: &str, is_in_header: bool) -> impl Iterator<Item = (&str, FragmentText<'_>)> {
    let places = Selector::places(written, [b'#'; 2]).take(MAX_ENDS);
    places.map(move |at| {
        let text = FragmentText {
            text: &written[at + 1..],
            is_in_header,
        };
        (&written[..at], text)
    })
}

/// What is behind a `#`, not looked at yet.
#[derive(Debug, Clone, Copy)]
pub struct FragmentText<'a> {
    text: &'a str,
    is_in_header: bool,
}

impl FragmentText<'_> {
    /// What it says.
    ///
    /// # Errors
    ///
    /// `SelectorError` where it is a selector, which follows a colon, or can be nothing at all.
    pub fn parse(self) -> Result<Fragment, SelectorError> {
        let unknown = || SelectorError::Unknown(format!("#{}", self.text));
        if let Some(quoted) = self.quoted() {
            let (written, rest) = quoted.ok_or_else(unknown)?;
            return self.named(written, true, selector_behind(rest)?);
        }
        let (name, rest) = match selector_at(self.text) {
            Some(at) => self.text.split_at(at),
            None => (self.text, ""),
        };
        let selector = selector_behind(rest)?;
        if name.parse::<Tag>().is_err() {
            if name.starts_with('L')
                && let Ok(lines) = Selector::parse(name)
            {
                let is_one = name.ends_with(|c: char| c.is_ascii_digit());
                return lines_and(lines, is_one, &selector).ok_or_else(unknown);
            }
            let reads_otherwise = !matches!(Selector::parse(name), Err(SelectorError::Unknown(_)))
                || name.is_empty()
                || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
            if reads_otherwise {
                return Err(unknown());
            }
        }
        let called = name.strip_suffix("()").filter(|name| !name.is_empty());
        self.named(called.unwrap_or(name).to_owned(), false, selector)
    }

    /// The JSON string that it begins with and what follows it, where it begins with one.
    fn quoted(&self) -> Option<Option<(String, &str)>> {
        let text = self.text;
        if !text.starts_with('"') {
            return None;
        }
        let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let string = strings.next().and_then(Result::ok);
        let string = string.filter(|string| !string.trim().is_empty());
        Some(string.map(|string| (string, &text[strings.byte_offset()..])))
    }

    fn named(
        self,
        written: String,
        is_quoted: bool,
        selector: Selector,
    ) -> Result<Fragment, SelectorError> {
        let tag = written.parse::<Tag>().ok().filter(|_| !is_quoted);
        let takes = selector.pieces.is_empty() && !selector.conflicts && selector.own.is_none();
        if !takes && tag.is_none() {
            return Err(SelectorError::Invalid(format!(
                "'#{written}' stands for lines of its own; behind it only :raw goes."
            )));
        }
        if self.is_in_header && tag.is_none() {
            return Err(SelectorError::Unknown(format!("#{}", self.text)));
        }
        Ok(Fragment::Name(NamedPart {
            name: QualifiedName::parsed(&written),
            written,
            tag,
            is_quoted,
            is_in_header: self.is_in_header,
            selector,
        }))
    }
}

/// Where a selector begins: at the first colon that is none of `::` and has one behind it. Other colons
/// are of the name (`Queue:push`).
fn selector_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_colon = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b':');
    let lone = memchr::memchr_iter(b':', bytes)
        .filter(|at| !is_colon(at.checked_sub(1)) && !is_colon(Some(at + 1)));
    let is_selector = |at: &usize| {
        !matches!(
            Selector::parse(&text[at + 1..]),
            Err(SelectorError::Unknown(_))
        )
    };
    lone.take(MAX_ENDS).find(is_selector)
}

/// The selector that the rest of a fragment is, with its colon.
fn selector_behind(rest: &str) -> Result<Selector, SelectorError> {
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok(Selector::default()),
        None => Err(SelectorError::Unknown(rest.to_owned())),
        Some(selector) => Selector::parse(selector),
    }
}

/// Lines as `#L10` names them: of one number it is that line.
fn lines_and(lines: Selector, is_one: bool, behind: &Selector) -> Option<Fragment> {
    let only_form = behind.pieces.is_empty() && !behind.conflicts && behind.own.is_none();
    let lines = match lines.pieces[..] {
        [Piece::From(line)] if is_one => Selector {
            bounded: true,
            ..Selector::line(line)
        },
        _ => lines,
    };
    let lines = Selector {
        raw: behind.raw,
        full: behind.full,
        ..lines
    };
    only_form.then_some(Fragment::Lines(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Fragment, SelectorError> {
        let (_, text) = Fragment::splits(text).last().expect("a fragment");
        text.parse()
    }

    fn name(text: &str) -> (String, bool) {
        match parsed(text) {
            Ok(Fragment::Name(part)) => (part.name.to_string(), part.selector.raw),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn names_end_before_a_selector() {
        assert_eq!(name("x.rs#Foo::bar"), ("Foo::bar".into(), false));
        assert_eq!(name("x.rs#Foo::bar:raw"), ("Foo::bar".into(), true));
        assert_eq!(name("x.rs#Foo.bar()"), ("Foo::bar".into(), false));
        assert_eq!(
            name("x.cpp#\"operator ()\":raw"),
            ("operator()".into(), true)
        );
        assert_eq!(name("x.rb#Foo#bar?"), ("Foo::bar?".into(), false));
        assert_eq!(name("x.lua#M:f:raw"), ("M::f".into(), true));
        assert_eq!(name("¶x.rs#0A1B"), ("0A1B".into(), false));
    }

    #[test]
    fn lines_are_told_by_their_letter() {
        let lines = |selector: &str, raw: &str| {
            let selector = Selector::parse(&format!("{selector}{raw}"));
            selector.map(Fragment::Lines)
        };
        assert_eq!(parsed("x#L10"), lines("10-10", ""));
        assert_eq!(parsed("x#L10-L20"), lines("10-20", ""));
        assert_eq!(parsed("x#L10-20:raw"), lines("10-20", ":raw"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_behind_the_mark_is_read(written in "¶?[a.]{0,3}(#|[\":,aL09\\\\ é-]|::){0,12}") {
            for (head, text) in Fragment::splits(&written) {
                proptest::prop_assert!(!head.is_empty());
                if let Ok(Fragment::Name(part)) = text.parse() {
                    proptest::prop_assert!(!part.written.is_empty());
                }
            }
        }
    }

    #[test]
    fn selectors_are_no_names() {
        for text in [
            "x#raw", "x#50", "x#50-80", "x#", "x#a b", "x#a:5-9", "x#\"a", "x#\"\"", "x#\"a\"b",
            "¶x#foo",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
