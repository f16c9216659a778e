//! Statements run to their rows, as far as these can be shown; a statement that does more than read is never run.

use rusqlite::types::Value;
use rusqlite::{Params, Row, Statement};

use crate::view::Budget;
use crate::view::table::{Table, plain};

use super::connection::Link;
use super::fault::{self, QueryError};
use super::values;

/// Characters of a column's name.
const NAME_CHARS: usize = 100;

/// Bytes of cells that are collected before they are laid out: a multiple of what can be shown.
const COLLECTED_BYTES: usize = 2 * 1024 * 1024;

/// Rows of an answer.
#[derive(Debug)]
pub struct Fetched {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// There are more than were asked for, or than are held.
    pub more: bool,
    /// A cell does not hold its whole value.
    pub cut: bool,
    /// The only row, whole; with the columns whose lines had to be broken.
    pub only: Option<(String, Vec<String>)>,
    /// Why the rows end where they end, where that is not their end.
    pub fault: Option<rusqlite::Error>,
}

/// Takes at most `limit` rows. What fails after the first ones is part of the answer.
pub fn fetch(
    statement: &mut Statement,
    values: impl Params,
    limit: u64,
) -> Result<Fetched, QueryError> {
    let columns = statement.column_names();
    let columns: Vec<String> = columns.map(|name| plain(name, NAME_CHARS).0).collect();
    let mut fetched = Fetched {
        rows: Vec::new(),
        more: false,
        cut: false,
        only: None,
        fault: None,
        columns,
    };
    let mut rows = statement.query(values)?;
    let mut bytes = 0;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(fetched),
            Err(error) => {
                if fetched.rows.is_empty() || !fault::ends_rows(&error) {
                    return Err(error.into());
                }
                if fetched.rows.len() as u64 == limit {
                    fetched.more = true;
                    return Ok(fetched);
                }
                fetched.only = None;
                fetched.fault = Some(error);
                return Ok(fetched);
            }
        };
        if fetched.rows.len() as u64 == limit || bytes > COLLECTED_BYTES {
            fetched.more = true;
            return Ok(fetched);
        }
        let cells = cells(row, fetched.columns.len(), &mut fetched.cut)?;
        bytes += cells.iter().map(|cell| cell.len() + 3).sum::<usize>();
        fetched.only = match fetched.rows.is_empty() {
            true => values::row_text(row, &fetched.columns)?,
            false => None,
        };
        fetched.rows.push(cells);
    }
}

fn cells(row: &Row, columns: usize, cut: &mut bool) -> rusqlite::Result<Vec<String>> {
    let mut cells = Vec::with_capacity(columns);
    for index in 0..columns {
        let (cell, whole) = values::cell(row.get_ref(index)?);
        *cut |= !whole;
        cells.push(cell);
    }
    Ok(cells)
}

/// Prepares a statement that came, wholly or in part, from a caller; refuses what does not read,
/// what is more than one statement, and what has parameters.
pub fn prepare<'l>(link: &'l Link, sql: &str) -> Result<Statement<'l>, QueryError> {
    link.take_refused();
    let prepared = link.connection.prepare(sql);
    let refused = link.take_refused();
    let only_reading = |what: Option<&str>| {
        let what = what_it_does(sql).or(what.map(str::to_owned));
        QueryError::bad_params(format!(
            "Only reading is possible here, and {} is not. Use SELECT.",
            what.as_deref().unwrap_or("this statement")
        ))
    };
    let statement = match prepared {
        Ok(statement) => statement,
        Err(rusqlite::Error::MultipleStatement) => {
            return Err(QueryError::bad_params(
                "There is more than one statement. Ask them one by one.".to_owned(),
            ));
        }
        Err(error) => {
            let is_refused = matches!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::AuthorizationForStatementDenied)
            );
            return Err(match refused {
                Some(what) if is_refused => only_reading(Some(&what)),
                _ => error.into(),
            });
        }
    };
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(match refused {
            Some(what) => only_reading(Some(&what)),
            None if statement.readonly() => QueryError::bad_params(
                "'q' holds no statement that gives rows. Use ?q=SELECT ….".to_owned(),
            ),
            None => only_reading(None),
        });
    }
    if statement.parameter_count() > 0 {
        return Err(QueryError::bad_params(
            "Parameters (?, :name, @name, $name) have no values here. Write the values into the SQL; a text is in single quotes.".to_owned(),
        ));
    }
    Ok(statement)
}

/// The word that a statement begins with, where that says it all.
fn what_it_does(sql: &str) -> Option<String> {
    let word = sql
        .trim_start()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()?;
    let word = word.to_ascii_uppercase();
    let says_all = !["", "SELECT", "VALUES", "WITH", "EXPLAIN", "PRAGMA"].contains(&&*word);
    says_all.then_some(word)
}

/// A number that a statement of ours counts.
pub fn count(link: &Link, sql: &str, values: &[Value]) -> Result<u64, QueryError> {
    let mut statement = link.connection.prepare(sql)?;
    let count: i64 = statement.query_row(rusqlite::params_from_iter(values), |row| row.get(0))?;
    Ok(count.max(0) as u64)
}

/// Rows laid out, as many as a budget holds and at least one: how many these are, and their lines.
pub fn lay_out(fetched: &Fetched, first: u64, budget: Budget) -> (u64, Table) {
    let mut table = Table::new(&fetched.columns, &fetched.rows, first);
    let cost = |line: &String| (1, line.len() as u64 + 1);
    let (mut lines, mut bytes) = table.head.iter().map(cost).fold((0, 0), add);
    let mut shown = 0;
    for row in &table.rows {
        (lines, bytes) = row.iter().map(cost).fold((lines, bytes), add);
        if shown > 0 && (lines > budget.lines || bytes > budget.bytes) {
            break;
        }
        shown += 1;
    }
    table.rows.truncate(shown);
    (shown as u64, table)
}

fn add(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}
