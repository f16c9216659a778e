//! What stands between `---` lines at the top of a skill or a rule; at most 16 KiB of a file are looked at, and nothing in it is followed or run.
//!
//! It is YAML, as far as it is. People and other programs write lines that are not
//! (`description: Use when: always`, `globs: **/*.ts`); then each key is read by itself, and a value
//! that is no YAML is the rest of its line.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Bytes of a file that are looked at.
pub const MAX_BYTES: usize = 16 * 1024;

/// Values of one list that are kept.
const MAX_VALUES: usize = 256;

/// The keys that anybody asks for.
const KEYS: &[&str] = &[
    "name",
    "description",
    "globs",
    "applyTo",
    "paths",
    "fileMatchPattern",
    "alwaysApply",
    "inclusion",
    "trigger",
];

/// What is said in it, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    fields: BTreeMap<String, Vec<String>>,
}

impl FrontMatter {
    /// That of a file which begins with these bytes. `None` where it has none, or has one that does
    /// not end in them.
    pub fn of(head: &[u8]) -> Option<FrontMatter> {
        let text = String::from_utf8_lossy(&head[..head.len().min(MAX_BYTES)]);
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
        let mut lines = text.split_inclusive('\n');
        if lines.next()?.trim_end() != "---" {
            return None;
        }
        let mut yaml = String::new();
        for line in lines {
            if matches!(line.trim_end(), "---" | "...") {
                return Some(FrontMatter::parse(&yaml));
            }
            yaml.push_str(line.trim_end_matches(['\r', '\n']));
            yaml.push('\n');
        }
        None
    }

    /// Whether a file that begins so has one that is not known to end.
    pub fn is_endless(head: &[u8]) -> bool {
        let head = head.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(head);
        let begins = head.starts_with(b"---\n") || head.starts_with(b"---\r\n");
        begins && FrontMatter::of(head).is_none()
    }

    fn parse(yaml: &str) -> FrontMatter {
        let fields = parsed(yaml).unwrap_or_else(|| by_keys(yaml));
        FrontMatter { fields }
    }

    /// The one value of a key, if it has a value that is not empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        let value = self.fields.get(key)?.first()?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// The values of a key that is a list, or has commas (those in braces and brackets part nothing).
    pub fn list(&self, key: &str) -> Vec<String> {
        let values = self.fields.get(key).map(Vec::as_slice).unwrap_or_default();
        let parts = values.iter().flat_map(|value| parted(value));
        parts.take(MAX_VALUES).collect()
    }

    /// Whether a key is said to be so, or not to be.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.text(key)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

/// The parts of a value between its commas.
fn parted(value: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut depth = 0usize;
    for c in value.chars() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match c {
            ',' if depth == 0 => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

type Fields = BTreeMap<String, Vec<String>>;

/// A text as YAML; `None` where it is none. What it may take is bounded, and aliases are few.
fn parsed(yaml: &str) -> Option<Fields> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 20_000,
            max_aliases: 64,
            max_anchors: 64,
            max_depth: 32,
            max_documents: 1,
            max_nodes: 10_000,
            max_total_scalar_bytes: 256 * 1024,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 4_096,
            max_replay_stack_depth: 8,
        },
        // `n` is a name, and `yes` is understood where a flag is looked for.
        strict_booleans: true,
        with_snippet: false,
    };
    if yaml.trim().is_empty() {
        return Some(Fields::new());
    }
    let known: Known = serde_saphyr::from_str_with_options(yaml, options).ok()?;
    Some(known.0)
}

/// Key by key: from a line that begins with one to the next such line.
fn by_keys(yaml: &str) -> Fields {
    let mut fields = Fields::new();
    let mut block = String::new();
    for line in yaml.lines().chain(["end:"]) {
        let begins = key_of(line).is_some();
        if begins && let Some((key, rest)) = key_of(&block) {
            let value = match parsed(&block) {
                Some(mut one) => one.remove(key).unwrap_or_default(),
                None => vec![unquoted(rest).to_owned()],
            };
            if KEYS.contains(&key) {
                // Of a key that stands there twice the first counts.
                fields.entry(key.to_owned()).or_insert(value);
            }
        }
        if begins {
            block.clear();
        }
        block.push_str(line);
        block.push('\n');
    }
    fields
}

/// The key that a line begins with, and the rest of that line.
fn key_of(block: &str) -> Option<(&str, &str)> {
    let line = block.lines().next()?;
    let (key, rest) = line.split_once(':')?;
    let is_key = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let is_parted = rest.is_empty() || rest.starts_with([' ', '\t']);
    (is_key && is_parted).then(|| (key, rest.trim()))
}

/// Without the quotes around it, if it has any.
fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// The known keys of a mapping; what is under others is passed over.
struct Known(Fields);

impl<'de> Deserialize<'de> for Known {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Known, D::Error> {
        struct Mapping;
        impl<'de> Visitor<'de> for Mapping {
            type Value = Known;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Known, A::Error> {
                let mut fields = Fields::new();
                while let Some(key) = map.next_key::<String>()? {
                    if KEYS.contains(&key.as_str()) {
                        let WordList(words) = map.next_value()?;
                        fields.entry(key).or_insert(words);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Known(fields))
            }
        }
        deserializer.deserialize_map(Mapping)
    }
}

/// A scalar, or the scalars of a list; of a mapping nothing.
struct WordList(Vec<String>);

impl<'de> Deserialize<'de> for WordList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WordList, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = WordList;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<WordList, E> {
        Ok(WordList(vec![text.to_owned()]))
    }

    fn visit_bool<E>(self, is: bool) -> Result<WordList, E> {
        Ok(WordList(vec![is.to_string()]))
    }

    fn visit_i64<E>(self, number: i64) -> Result<WordList, E> {
        Ok(WordList(vec![number.to_string()]))
    }

    fn visit_u64<E>(self, number: u64) -> Result<WordList, E> {
        Ok(WordList(vec![number.to_string()]))
    }

    fn visit_f64<E>(self, number: f64) -> Result<WordList, E> {
        Ok(WordList(vec![number.to_string()]))
    }

    fn visit_unit<E>(self) -> Result<WordList, E> {
        Ok(WordList(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<WordList, E> {
        Ok(WordList(Vec::new()))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<WordList, D::Error> {
        WordList::deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WordList, A::Error> {
        let mut words = Vec::new();
        while let Some(WordList(inner)) = list.next_element()? {
            if words.len() < MAX_VALUES {
                words.extend(inner);
            }
        }
        Ok(WordList(words))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WordList, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(WordList(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn of(yaml: &str) -> FrontMatter {
        FrontMatter::of(format!("---\n{yaml}---\nbody\n").as_bytes()).expect("front matter")
    }

    #[test]
    fn yaml_is_read_as_yaml() {
        let it = of(
            "name: pdf\ndescription: >\n  Fill\n  forms.\nlicense: {a: [b]}\npaths: ['a/**', \"b\"]\nalwaysApply: false\n",
        );
        assert_eq!(it.text("name"), Some("pdf"));
        assert_eq!(it.text("description"), Some("Fill forms."));
        assert_eq!(it.list("paths"), ["a/**", "b"]);
        assert_eq!(it.flag("alwaysApply"), Some(false));
        assert_eq!(it.text("license"), None);
        assert_eq!(
            of("name: 123\ndescription: null\n").text("name"),
            Some("123")
        );
        assert_eq!(
            of("name: 123\ndescription: null\n").text("description"),
            None
        );
        assert_eq!(of("").text("name"), None);
        assert_eq!(of("name: n\nalwaysApply: yes\n").text("name"), Some("n"));
        assert_eq!(
            of("name: n\nalwaysApply: yes\n").flag("alwaysApply"),
            Some(true)
        );
        let flow = of("{name: x, description: 'a, b'}\n");
        assert_eq!(flow.text("description"), Some("a, b"));
    }

    #[test]
    fn what_is_no_yaml_is_the_rest_of_its_line() {
        let it = of(
            "name: review\ndescription: Use when: always\nglobs: **/*.ts, *.{js,jsx}\nalwaysApply: true\npaths:\n- a\n- b\n",
        );
        assert_eq!(it.text("name"), Some("review"));
        assert_eq!(it.text("description"), Some("Use when: always"));
        assert_eq!(it.list("globs"), ["**/*.ts", "*.{js,jsx}"]);
        assert_eq!(it.flag("alwaysApply"), Some(true));
        assert_eq!(it.list("paths"), ["a", "b"]);
        let it = of("description: \"a: b\": c\nname: 'x\nglobs: *.ts\nname: second\n");
        assert_eq!(it.text("description"), Some("\"a: b\": c"));
        assert_eq!(it.text("name"), Some("'x"));
        assert_eq!(it.list("globs"), ["*.ts"]);
    }

    #[test]
    fn only_what_ends_in_time_is_any() {
        for none in ["", "name: x\n", "--- \nname: x\n", "----\nname: x\n---\n"] {
            assert_eq!(FrontMatter::of(none.as_bytes()), None, "{none}");
        }
        let long = format!("---\nname: x\nother: {}\n---\n", "a".repeat(1 << 20));
        assert_eq!(FrontMatter::of(long.as_bytes()), None);
        assert!(FrontMatter::is_endless(long.as_bytes()));
        assert!(!FrontMatter::is_endless(b"# A title\n"));
        let windows = FrontMatter::of("\u{FEFF}---\r\nname: x\r\n---\r\n".as_bytes());
        assert_eq!(windows.expect("front matter").text("name"), Some("x"));
    }

    /// Nothing that fits into 16 KiB takes long or much.
    #[test]
    fn bombs_do_not_go_off() {
        let mut laughs = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
        for (new, old) in [
            ("b", "a"),
            ("c", "b"),
            ("d", "c"),
            ("e", "d"),
            ("f", "e"),
            ("g", "f"),
        ] {
            let list = vec![format!("*{old}"); 9].join(", ");
            laughs.push_str(&format!("{new}: &{new} [{list}]\n"));
        }
        laughs.push_str("paths: *g\nname: laughs\ndescription: *f\n");
        let bombs = [
            laughs,
            format!("paths: {}\nname: deep\n", "[".repeat(12_000)),
            format!("name: deep\n{}: x\n", "? ".repeat(6_000)),
            format!("name: keys\n{}", "a: &a\n".repeat(2_000)),
            format!("name: colons\ndescription: {}\n", ": ".repeat(5_000)),
            format!("name: commas\npaths: {}\n", "a,".repeat(5_000)),
        ];
        for bomb in bombs {
            let began = Instant::now();
            let it = of(&bomb);
            assert!(it.text("name").is_some(), "{}", &bomb[..40]);
            assert!(it.list("paths").len() <= MAX_VALUES);
            assert!(began.elapsed() < Duration::from_secs(5), "{}", &bomb[..40]);
        }
    }
}
