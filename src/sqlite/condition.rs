//! The judgement of a `where`: one expression and nothing else; what it means is left to the database.

/// Words that begin another part of a statement, or another statement.
const FORBIDDEN: &[&str] = &[
    "ATTACH",
    "DETACH",
    "EXCEPT",
    "INTERSECT",
    "LIMIT",
    "OFFSET",
    "PRAGMA",
    "UNION",
    "VACUUM",
];

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    #[error("'where' is empty. Leave it out to get all rows.")]
    Empty,
    #[error("'where' must not hold comments or ';'. A query of your own is ?q=SELECT ….")]
    Ends,
    #[error(
        "'where' must not hold {0}: it is one condition, and limit and offset are parameters of their own. A query of your own is ?q=SELECT …."
    )]
    Word(&'static str),
    #[error("'where' has a quote or a bracket that is not closed.")]
    Open,
    #[error("'where' must not hold a character of code 0.")]
    Nul,
}

/// Refuses what could be more than one expression when it stands between brackets.
pub fn check(text: &str) -> Result<(), ConditionError> {
    if text.trim().is_empty() {
        return Err(ConditionError::Empty);
    }
    if text.contains('\0') {
        return Err(ConditionError::Nul);
    }
    let mut depth = 0usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\'' | '"' | '`' => after_quote(after, c)?,
            '[' => after_quote(after, ']')?,
            ';' => return Err(ConditionError::Ends),
            '-' if after.starts_with('-') => return Err(ConditionError::Ends),
            '/' if after.starts_with('*') => return Err(ConditionError::Ends),
            '(' => {
                depth += 1;
                after
            }
            ')' => {
                depth = depth.checked_sub(1).ok_or(ConditionError::Open)?;
                after
            }
            c if is_word(c) => after_word(rest)?,
            _ => after,
        };
    }
    match depth {
        0 => Ok(()),
        _ => Err(ConditionError::Open),
    }
}

/// What follows the end of a quote; a doubled quote within begins another right after it.
fn after_quote(text: &str, quote: char) -> Result<&str, ConditionError> {
    let end = text.find(quote).ok_or(ConditionError::Open)?;
    Ok(&text[end + quote.len_utf8()..])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn after_word(text: &str) -> Result<&str, ConditionError> {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let word = text[..end].to_ascii_uppercase();
    match FORBIDDEN.iter().find(|forbidden| **forbidden == word) {
        Some(forbidden) => Err(ConditionError::Word(forbidden)),
        None => Ok(&text[end..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_expression_passes() {
        for text in [
            "id > 5",
            "name = 'it''s; -- a LIMIT'",
            "\"limit\" = 1 AND [offset] = 2 OR `union` = 3",
            "id IN (SELECT user_id FROM orders)",
            "a - -1 = 2 / 3",
            "limited = 1",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn more_than_one_does_not() {
        use ConditionError::*;
        for (text, error) in [
            (" ", Empty),
            ("1; DROP TABLE users", Ends),
            ("1 -- and more", Ends),
            ("1 /* and */", Ends),
            ("1) OR (1", Open),
            ("(1", Open),
            ("a = 'x", Open),
            ("1 limit 5", Word("LIMIT")),
            ("1 UNION SELECT 2", Word("UNION")),
            ("1 Offset 2", Word("OFFSET")),
            ("1\0", Nul),
        ] {
            assert_eq!(check(text), Err(error), "{text}");
        }
    }
}
