//! A pattern as it is asked for, compiled; one that cannot be meant is refused with the place of its fault.

use grep_matcher::Matcher;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::protocol::Refusal;

/// Bytes of a pattern.
const MAX_BYTES: usize = 64 * 1024;

/// Bytes that a compiled pattern, and what each thread remembers of it, may take. Those of ripgrep
/// are ten and a hundred times that: it ends with its search.
const COMPILED_BYTES: usize = 10 << 20;
const REMEMBERED_BYTES: usize = 10 << 20;

/// Groups within groups, as ripgrep has it.
const NESTED: u32 = 250;

/// How a pattern is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Matching {
    /// Its characters as they stand, and no regex.
    pub literal: bool,
    pub ignore_case: bool,
    /// Whole words alone.
    pub word: bool,
    /// A match may go over several lines.
    pub multiline: bool,
}

/// A compiled pattern. A clone shares it.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub(super) matcher: RegexMatcher,
    pub(super) multiline: bool,
}

impl Pattern {
    /// Compiles a pattern, as ripgrep does with `--crlf`: `$` is before a CRLF as well.
    ///
    /// # Errors
    ///
    /// `badParams` for one that does not parse, that is empty, or too large.
    pub fn new(pattern: &str, how: Matching) -> Result<Pattern, Refusal> {
        if pattern.is_empty() {
            return Err(bad("'pattern' is empty; it must be what to look for."));
        }
        if pattern.len() > MAX_BYTES {
            return Err(bad("'pattern' is longer than 64 KiB."));
        }
        // Before it is put between brackets, with which `)(` would be none.
        if !how.literal
            && let Some(fault) = syntax_fault(pattern)
        {
            return Err(bad(&format!(
                "{fault} Escape with \\ what stands for itself, or set literal: true."
            )));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .fixed_strings(how.literal)
            .case_insensitive(how.ignore_case)
            .word(how.word)
            .size_limit(COMPILED_BYTES)
            .dfa_size_limit(REMEMBERED_BYTES)
            .crlf(true);
        if how.multiline {
            builder.line_terminator(None);
        }
        let matcher = builder.build(pattern).map_err(|error| match error.kind() {
            ErrorKind::NotAllowed(_) => bad(
                "'pattern' has a line end in it, and each line is searched by itself. Set multiline: true.",
            ),
            _ => bad(&format!("'pattern' cannot be compiled: {error}.")),
        })?;
        Ok(Pattern {
            matcher,
            multiline: how.multiline,
        })
    }
}

impl Pattern {
    /// The byte at which the first match in a line begins.
    pub fn first_in(&self, line: &str) -> Option<usize> {
        let found = self.matcher.find(line.as_bytes()).ok().flatten()?;
        line.is_char_boundary(found.start())
            .then_some(found.start())
    }
}

/// What is wrong with a regex, and at which character.
fn syntax_fault(pattern: &str) -> Option<String> {
    let mut parser = regex_syntax::ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .crlf(true)
        .nest_limit(NESTED)
        .build();
    let (span, what) = match parser.parse(pattern).err()? {
        regex_syntax::Error::Parse(error) => (*error.span(), error.kind().to_string()),
        regex_syntax::Error::Translate(error) => (*error.span(), error.kind().to_string()),
        error => return Some(format!("'pattern' does not parse: {error}.")),
    };
    let before = pattern.get(..span.start.offset).unwrap_or(pattern);
    let character = before.chars().count() + 1;
    Some(format!(
        "'pattern' does not parse at character {character}: {what}."
    ))
}

fn bad(message: &str) -> Refusal {
    Refusal::bad_params("pattern", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pattern: &str, how: Matching) -> String {
        let refusal = Pattern::new(pattern, how).expect_err("a refusal");
        refusal.to_string()
    }

    #[test]
    fn a_fault_is_named_with_its_place() {
        let plain = Matching::default();
        assert_eq!(
            refused("ü(a", plain),
            "'pattern' does not parse at character 2: unclosed group. Escape with \\ what stands for itself, or set literal: true."
        );
        assert!(refused(")(", plain).contains("at character 1"));
        assert!(refused(r"a\p{Nonsense}", plain).contains("at character 2"));
        assert!(refused("a{1000}{1000}{1000}", plain).contains("cannot be compiled"));
        assert!(refused(r"a\nb", plain).contains("multiline: true"));
        assert!(refused("", plain).contains("empty"));
        let literal = Matching {
            literal: true,
            ..plain
        };
        assert!(Pattern::new(")(", literal).is_ok());
        assert!(refused("a\nb", literal).contains("multiline: true"));
        let multiline = Matching {
            multiline: true,
            ..plain
        };
        assert!(Pattern::new(r"a\nb", multiline).is_ok());
    }
}
