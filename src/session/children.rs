//! Sessions within sessions: `A/b` is a child of `A` and ends with it.

/// Whether a session is this one or a child of it.
pub fn is_below(name: &str, session: &str) -> bool {
    let rest = name.strip_prefix(session);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A session's name and those of the sessions whose child it is, the nearest first.
pub fn with_those_above(session: &str) -> impl Iterator<Item = &str> {
    let slashes = session.rmatch_indices('/').map(|(at, _)| &session[..at]);
    std::iter::once(session).chain(slashes.filter(|name| !name.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whose_child_a_session_is() {
        let above = |name| with_those_above(name).collect::<Vec<_>>();
        assert_eq!(above("A/b/c"), ["A/b/c", "A/b", "A"]);
        assert_eq!(above("A"), ["A"]);
        assert_eq!(above("/x"), ["/x"]);
        assert!(is_below("A/b", "A") && is_below("A", "A"));
        assert!(!is_below("AB", "A") && !is_below("A", "A/b"));
    }
}
