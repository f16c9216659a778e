//! What follows a database's path, told apart into its forms; nothing here opens or asks a database.

use std::borrow::Cow;

use crate::view::Selector;

use super::condition::{self, ConditionError};
use super::failure::brief;

/// Rows of a query that names no limit, and the most that one may name (seed 000, SQLite).
pub const DEFAULT_LIMIT: u64 = 20;
pub const MAX_LIMIT: u64 = 500;

/// Bytes of what follows a database's path.
pub const MAX_BYTES: usize = 100_000;

/// What is asked of a database.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryForm<'a> {
    /// Its tables and views.
    List(Selector),
    /// How a table was made, and some of its rows.
    Schema(&'a str),
    /// One row by its key, which may also turn out to end in a selector of lines.
    Row { table: &'a str, key: &'a str },
    /// Rows of a table.
    Page {
        table: &'a str,
        page: Page<'a>,
        lines: Selector,
    },
    /// A query of the caller's own.
    Raw { sql: &'a str, lines: Selector },
    /// A name that no table has.
    Unknown(&'a str),
}

/// Which rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page<'a> {
    /// A condition that was judged.
    pub filter: Option<Cow<'a, str>>,
    /// As it was given: a column, or a column and a direction.
    pub order: Option<Cow<'a, str>>,
    pub limit: Option<u64>,
    pub offset: u64,
    /// The parameters as they were spelled, but for the offset.
    spelled: Vec<&'a str>,
}

impl Page<'_> {
    /// The parameters of the rows from `offset` on.
    pub fn continued(&self, offset: u64) -> String {
        let mut parts: Vec<String> = self.spelled.iter().map(|part| (*part).to_owned()).collect();
        if self.limit.is_none() {
            parts.push(format!("limit={DEFAULT_LIMIT}"));
        }
        parts.push(format!("offset={offset}"));
        parts.join("&")
    }

    pub fn rows(&self) -> u64 {
        self.limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT)
    }
}

/// Why it cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("What follows the database's path has {0} bytes, and {MAX_BYTES} are allowed.")]
    TooLong(usize),
    #[error("'q' is empty. Use ?q=SELECT ….")]
    EmptyQuery,
    #[error(
        "'q' stands alone, right after the database's path: ?q=SELECT …. It is not combined with a table or another parameter."
    )]
    CombinedQuery,
    #[error(
        "'{0}' needs a table: DATABASE:TABLE?{0}=…. A query of your own is DATABASE?q=SELECT …."
    )]
    NeedsTable(String),
    #[error("Unknown parameter '{0}'. A table takes limit, offset, order and where.")]
    UnknownParameter(String),
    #[error("'{0}' is given twice.")]
    Twice(&'static str),
    #[error(
        "'limit' must be a whole number of at least 1, not '{0}'. At most {MAX_LIMIT} rows are given at a time."
    )]
    Limit(String),
    #[error("'offset' must be a whole number of at least 0, not '{0}'.")]
    Offset(String),
    #[error("'order' is empty. Use order=COLUMN, order=COLUMN:asc or order=COLUMN:desc.")]
    EmptyOrder,
    #[error(transparent)]
    Condition(#[from] ConditionError),
}

/// Whether it is short enough to be understood.
pub fn check_length(inner: &str) -> Result<(), AskError> {
    match inner.len() > MAX_BYTES {
        true => Err(AskError::TooLong(inner.len())),
        false => Ok(()),
    }
}

/// Understands what follows the path; the longest name that `is_table` wins over every other
/// reading.
pub fn understand<'a>(
    inner: &'a str,
    is_table: &dyn Fn(&str) -> bool,
) -> Result<QueryForm<'a>, AskError> {
    check_length(inner)?;
    if let Some(query) = inner.strip_prefix('?') {
        return without_table(query);
    }
    let rest = inner.strip_prefix(':').unwrap_or(inner);
    if is_table(rest) {
        return Ok(QueryForm::Schema(rest));
    }
    for (index, parted) in rest.rmatch_indices([':', '?']) {
        let (table, tail) = (&rest[..index], &rest[index + 1..]);
        if !is_table(table) {
            continue;
        }
        if parted == ":" {
            return Ok(QueryForm::Row { table, key: tail });
        }
        let (tail, lines) = split_lines(tail).unwrap_or((tail, Selector::default()));
        let page = parameters(tail)?;
        return Ok(QueryForm::Page { table, page, lines });
    }
    if rest.is_empty() {
        return Ok(QueryForm::List(Selector::default()));
    }
    if let Ok(selector) = Selector::parse(rest) {
        return Ok(QueryForm::List(selector));
    }
    let end = rest.find([':', '?']).unwrap_or(rest.len());
    Ok(QueryForm::Unknown(&rest[..end]))
}

fn without_table(query: &str) -> Result<QueryForm<'_>, AskError> {
    if let Some(sql) = query.strip_prefix("q=") {
        let (sql, lines) = split_lines(sql).unwrap_or((sql, Selector::default()));
        return match sql.trim().is_empty() {
            true => Err(AskError::EmptyQuery),
            false => Ok(QueryForm::Raw { sql, lines }),
        };
    }
    let names: Vec<&str> = query.split('&').map(name_of).collect();
    if names.contains(&"q") {
        return Err(AskError::CombinedQuery);
    }
    match names[0] {
        name @ ("limit" | "offset" | "order" | "where") => {
            Err(AskError::NeedsTable(name.to_owned()))
        }
        name => Err(AskError::UnknownParameter(brief(name))),
    }
}

fn name_of(part: &str) -> &str {
    part.split_once('=').map_or(part, |(name, _)| name)
}

/// A selector of lines at the very end, as our own continuations have it: with a dash or a comma,
/// so that a number alone is never taken for one. In SQL nothing can end like that.
pub fn split_lines(text: &str) -> Option<(&str, Selector)> {
    let colon = text.rfind(':')?;
    let tail = &text[colon + 1..];
    let selector = Selector::parse(tail).ok()?;
    let is_ours = selector.has_lines() && tail.contains(['-', ',']) && !tail.starts_with('-');
    (is_ours && selector.own.is_none()).then_some((&text[..colon], selector))
}

/// Whether the text looks like parameters after a key: a row takes none.
pub fn has_parameters(key: &str) -> bool {
    let Some((_, query)) = key.split_once('?') else {
        return false;
    };
    let known = ["limit", "offset", "order", "where", "q"];
    query.split('&').any(|part| known.contains(&name_of(part)))
}

fn parameters(query: &str) -> Result<Page<'_>, AskError> {
    let mut page = Page::default();
    let mut has_offset = false;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let value = decoded(value);
        match name {
            "where" if page.filter.is_some() => return Err(AskError::Twice("where")),
            "order" if page.order.is_some() => return Err(AskError::Twice("order")),
            "limit" if page.limit.is_some() => return Err(AskError::Twice("limit")),
            "offset" if has_offset => return Err(AskError::Twice("offset")),
            "where" => {
                condition::check(&value)?;
                page.filter = Some(value);
            }
            "order" if value.is_empty() => return Err(AskError::EmptyOrder),
            "order" => page.order = Some(value),
            "limit" => match whole_number(&value) {
                Some(limit) if limit > 0 => page.limit = Some(limit),
                _ => return Err(AskError::Limit(brief(&value))),
            },
            "offset" => {
                let offset = whole_number(&value).filter(|offset| *offset <= i64::MAX as u64);
                page.offset = offset.ok_or_else(|| AskError::Offset(brief(&value)))?;
                has_offset = true;
                continue;
            }
            "q" => return Err(AskError::CombinedQuery),
            name => return Err(AskError::UnknownParameter(brief(name))),
        }
        page.spelled.push(part);
    }
    Ok(page)
}

fn whole_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A number that no machine word holds is as good as the largest that one does.
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Percent-decoded once. Escapes that do not give UTF-8 stand for themselves: `LIKE '%ada%'` is
/// meant as it is written.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut bytes = Vec::new();
        while let Some(byte) = escape_at(rest, bytes.len() * 3) {
            bytes.push(byte);
        }
        let taken = (bytes.len() * 3).max(1);
        match std::str::from_utf8(&bytes) {
            Ok(text) if !bytes.is_empty() => out.push_str(text),
            _ => out.push_str(&rest[..taken]),
        }
        rest = &rest[taken..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn escape_at(text: &str, at: usize) -> Option<u8> {
    let digits = text.as_bytes().get(at..at + 3)?.strip_prefix(b"%")?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLES: &[&str] = &["users", "que?stion", "col:on", "a:b", "a", "50", ""];

    fn form(inner: &str) -> Result<QueryForm<'_>, AskError> {
        // The table without a name is there only for the tests that ask for it.
        understand(inner, &|name| !name.is_empty() && TABLES.contains(&name))
    }

    fn page(inner: &str) -> Page<'_> {
        match form(inner) {
            Ok(QueryForm::Page { page, .. }) => page,
            other => panic!("{inner}: {other:?}"),
        }
    }

    #[test]
    fn the_longest_name_of_a_table_wins() {
        assert_eq!(form(":users"), Ok(QueryForm::Schema("users")));
        assert_eq!(form(":que?stion"), Ok(QueryForm::Schema("que?stion")));
        assert_eq!(form(":a:b"), Ok(QueryForm::Schema("a:b")));
        let row = |table, key| Ok(QueryForm::Row { table, key });
        assert_eq!(form(":a:c"), row("a", "c"));
        assert_eq!(form(":a:b:c"), row("a:b", "c"));
        assert_eq!(form(":users:5-9"), row("users", "5-9"));
        assert_eq!(form(":users:3?limit=2"), row("users", "3?limit=2"));
        assert_eq!(form(":users:"), row("users", ""));
        assert_eq!(form(":50"), Ok(QueryForm::Schema("50")));
        assert_eq!(form(":nope:5"), Ok(QueryForm::Unknown("nope")));
        assert_eq!(form(":nope?limit=5"), Ok(QueryForm::Unknown("nope")));
        assert_eq!(form(""), Ok(QueryForm::List(Selector::default())));
        assert_eq!(
            understand(":", &|name| name.is_empty()),
            Ok(QueryForm::Schema(""))
        );
        let lines = Selector::parse("501-").expect("a selector");
        assert_eq!(form(":501-"), Ok(QueryForm::List(lines)));
    }

    #[test]
    fn parameters_are_decoded_once_and_kept_as_they_were_spelled() {
        let found = page(":users?where=id%3E5+1%26id>2&order=id:desc&offset=3&limit=3");
        assert_eq!(found.filter.as_deref(), Some("id>5+1&id>2"));
        assert_eq!(found.order.as_deref(), Some("id:desc"));
        assert_eq!((found.rows(), found.offset), (3, 3));
        assert_eq!(
            found.continued(6),
            "where=id%3E5+1%26id>2&order=id:desc&limit=3&offset=6"
        );
        assert_eq!(page(":users?").continued(20), "limit=20&offset=20");
        assert_eq!(page(":users?limit=9999").rows(), 500);
        assert_eq!(page(":users?limit=99999999999999999999999").rows(), 500);
        let like = page(":users?where=name LIKE '%ada%25%'");
        assert_eq!(like.filter.as_deref(), Some("name LIKE '%ada%%'"));
        let marks = page(":que?stion?where=a='?'");
        assert_eq!(marks.filter.as_deref(), Some("a='?'"));
    }

    #[test]
    fn a_query_takes_the_rest() {
        let lines = Selector::default();
        let sql = "SELECT '%41+' & 1&limit=5";
        assert_eq!(
            form("?q=SELECT '%41+' & 1&limit=5"),
            Ok(QueryForm::Raw { sql, lines })
        );
        let lines = Selector::parse("57-").expect("a selector");
        let sql = "SELECT 1";
        assert_eq!(form("?q=SELECT 1:57-"), Ok(QueryForm::Raw { sql, lines }));
    }

    #[test]
    fn what_cannot_be_meant() {
        for (inner, message) in [
            ("?q=", "'q' is empty. Use ?q=SELECT …."),
            ("?q= ", "'q' is empty. Use ?q=SELECT …."),
            (
                "?limit=3&q=SELECT 1",
                "'q' stands alone, right after the database's path: ?q=SELECT …. It is not combined with a table or another parameter.",
            ),
            (
                ":users?q=SELECT 1",
                "'q' stands alone, right after the database's path: ?q=SELECT …. It is not combined with a table or another parameter.",
            ),
            (
                "?limit=3",
                "'limit' needs a table: DATABASE:TABLE?limit=…. A query of your own is DATABASE?q=SELECT ….",
            ),
            (
                ":users?foo=1",
                "Unknown parameter 'foo'. A table takes limit, offset, order and where.",
            ),
            (
                ":users?limit=0",
                "'limit' must be a whole number of at least 1, not '0'. At most 500 rows are given at a time.",
            ),
            (
                ":users?limit=-1",
                "'limit' must be a whole number of at least 1, not '-1'. At most 500 rows are given at a time.",
            ),
            (
                ":users?offset=x",
                "'offset' must be a whole number of at least 0, not 'x'.",
            ),
            (":users?limit=3&limit=4", "'limit' is given twice."),
            (
                ":users?order=",
                "'order' is empty. Use order=COLUMN, order=COLUMN:asc or order=COLUMN:desc.",
            ),
        ] {
            let error = form(inner).expect_err(inner);
            assert_eq!(error.to_string(), message, "{inner}");
        }
        assert!(has_parameters("3?limit=2") && !has_parameters("what?") && !has_parameters("3"));
    }

    proptest! {
        #[test]
        fn any_text_is_understood_or_refused(inner in "[:?]?[a-z:?%&='0-9\\-]{0,40}") {
            let _ = form(&inner);
        }

        #[test]
        fn escaped_text_comes_back(text in "\\PC{0,20}") {
            let escaped: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(decoded(&escaped), text);
        }
    }
}
