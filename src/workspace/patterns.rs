//! A list of patterns in gitignore syntax, compiled; it never forgets what the user had written.

use std::path::PathBuf;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::spelling::fold_for_rules;

/// What a list of patterns says about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Silent,
    /// The last pattern that matches begins with `!`.
    Allowed,
    /// The pattern as it was written.
    Denied(String),
}

/// Patterns over folded paths ([`fold_for_rules`]), relative to the directory they are for.
#[derive(Debug)]
pub(super) enum Patterns {
    Compiled {
        rules: Gitignore,
        /// No pattern has a slash but at its end: a path is judged by its last name.
        by_name: bool,
    },
    /// The list does not compile as a whole (too large); it denies everything. Holds its first line.
    Broken(String),
}

impl Patterns {
    pub(super) fn compile<'a>(lines: impl Iterator<Item = &'a str>) -> Patterns {
        let mut builder = GitignoreBuilder::new("");
        let mut first = None;
        let mut by_name = true;
        for line in lines {
            first.get_or_insert(line);
            by_name &= !line.trim_end().trim_end_matches('/').contains('/');
            let folded = fold_for_rules(line);
            // The crate reports for each match the file its pattern is from: that field carries
            // the text as the user wrote it, since the pattern itself is folded.
            let written = PathBuf::from(line.trim_end());
            if builder.add_line(Some(written.clone()), &folded).is_err() {
                // A pattern that is no glob is meant as a name; leaving it out would open a door.
                let literal = escaped(&folded);
                if builder.add_line(Some(written), &literal).is_err() {
                    return Patterns::Broken(line.to_owned());
                }
            }
        }
        match builder.build() {
            Ok(rules) => Patterns::Compiled { rules, by_name },
            Err(_) => Patterns::Broken(first.unwrap_or_default().to_owned()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Patterns::Compiled { rules, .. } if rules.is_empty())
    }

    /// [`Patterns::verdict`] of a name in a directory, both folded; that one ends in a slash or is empty.
    pub(super) fn verdict_in(&self, directory: &str, name: &str, is_dir: bool) -> Verdict {
        match self {
            Patterns::Compiled { by_name: true, .. } => self.verdict(name, is_dir),
            _ => self.verdict(&[directory, name].concat(), is_dir),
        }
    }

    /// Judges `folded` alone, not its parents.
    pub(super) fn verdict(&self, folded: &str, is_dir: bool) -> Verdict {
        let (rules, by_name) = match self {
            Patterns::Broken(line) => return Verdict::Denied(line.clone()),
            Patterns::Compiled { rules, by_name } => (rules, by_name),
        };
        // Each directory on the way of a path is judged, so that all of it each time would make
        // long paths dear.
        let seen = match by_name {
            true => folded.rsplit('/').next().unwrap_or(folded),
            false => folded,
        };
        match rules.matched(seen, is_dir) {
            Match::None => Verdict::Silent,
            Match::Whitelist(_) => Verdict::Allowed,
            Match::Ignore(glob) => Verdict::Denied(match glob.from() {
                Some(written) => written.to_string_lossy().into_owned(),
                None => glob.original().to_owned(),
            }),
        }
    }
}

/// The pattern with everything special in it made literal, but for its `!` and its outer slashes.
fn escaped(line: &str) -> String {
    let (mark, name) = match line.strip_prefix('!') {
        Some(name) => ("!", name),
        None => ("", line),
    };
    let mut literal = mark.to_owned();
    for c in name.trim_end().chars() {
        if matches!(c, '\\' | '*' | '?' | '[' | ']' | '{' | '}') {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(lines: &[&str], path: &str, is_dir: bool) -> Verdict {
        Patterns::compile(lines.iter().copied()).verdict(path, is_dir)
    }

    fn denied(pattern: &str) -> Verdict {
        Verdict::Denied(pattern.to_owned())
    }

    #[test]
    fn the_last_match_wins_and_is_named_as_written() {
        let default = [".env", ".env.*", "!.env.example"];
        assert_eq!(verdict(&default, "a/.env", false), denied(".env"));
        assert_eq!(verdict(&default, ".env.local", false), denied(".env.*"));
        assert_eq!(verdict(&default, "b/.env.example", false), Verdict::Allowed);
        assert_eq!(verdict(&default, "env", false), Verdict::Silent);
        assert_eq!(verdict(&["*.PEM"], "key.pem", false), denied("*.PEM"));
        assert_eq!(
            verdict(&["E\u{301}te\u{301}/"], "\u{e9}t\u{e9}", true),
            denied("E\u{301}te\u{301}/")
        );
        assert_eq!(verdict(&["secrets/"], "secrets", false), Verdict::Silent);
        assert_eq!(verdict(&["/top"], "sub/top", false), Verdict::Silent);
        assert_eq!(
            verdict(&["# note", "", "  "], "# note", false),
            Verdict::Silent
        );
    }

    #[test]
    fn what_is_no_glob_is_a_name() {
        assert_eq!(verdict(&["[z-a]"], "[z-a]", false), denied("[z-a]"));
        assert_eq!(verdict(&["x{a"], "d/x{a", false), denied("x{a"));
        assert_eq!(verdict(&["back\\"], "back\\", false), denied("back\\"));
    }
}
