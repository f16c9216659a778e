//! The schemes of which the client has the texts: it says so at `initialize`, and again when they change.

use std::sync::Arc;

/// What no client may take over: files, the web, and what only the session's store has.
const NOT_OFFERED: &[&str] = &["file", "http", "https", "artifact", "local"];
/// Schemes of one client.
const MOST: usize = 64;
const MAX_NAME: usize = 64;

/// Their names, in lower case. Clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedSchemes(Arc<[String]>);

impl OfferedSchemes {
    /// Takes a client's list; what cannot be offered is left out, and a sentence says so.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> (OfferedSchemes, Vec<String>) {
        let mut taken: Vec<String> = Vec::new();
        let mut problems = Vec::new();
        for name in names {
            let name = name.to_ascii_lowercase();
            let shown = crate::text::one_line(&name, MAX_NAME);
            if !is_scheme(&name) {
                problems.push(format!(
                    "'{shown}' is no name of a scheme; it is not taken from the client."
                ));
            } else if NOT_OFFERED.contains(&name.as_str()) {
                problems.push(format!(
                    "The scheme '{shown}' cannot be taken over by the client."
                ));
            } else if taken.len() == MOST {
                problems.push(format!(
                    "The scheme '{shown}' is not taken from the client: there are more than {MOST}."
                ));
                break;
            } else if !taken.contains(&name) {
                taken.push(name);
            }
        }
        (OfferedSchemes(taken.into()), problems)
    }

    /// The name of a scheme that is offered, however it is written.
    pub fn name(&self, written: &str) -> Option<&str> {
        let mut names = self.0.iter();
        let found = names.find(|name| name.eq_ignore_ascii_case(written));
        found.map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Two or more letters, digits, `+`, `-` and `.`, a letter first: one letter would be a drive.
fn is_scheme(name: &str) -> bool {
    let is_of_it = |c: u8| c.is_ascii_alphanumeric() || b"+-.".contains(&c);
    (2..=MAX_NAME).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(is_of_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_offered_is_left_out_and_named() {
        let names = [
            "mcp", "JIRA", "jira", "file", "local", "x", "a b", "1x", "skill",
        ];
        let (offered, problems) = OfferedSchemes::of(names);
        assert_eq!(
            offered.names().collect::<Vec<_>>(),
            ["mcp", "jira", "skill"]
        );
        assert_eq!(
            (offered.name("Jira"), offered.name("file")),
            (Some("jira"), None)
        );
        assert_eq!(problems.len(), 5);
        let many: Vec<String> = (0..100).map(|n| format!("s{n}")).collect();
        let (offered, problems) = OfferedSchemes::of(many.iter().map(String::as_str));
        assert_eq!((offered.names().count(), problems.len()), (64, 1));
    }
}
