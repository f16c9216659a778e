//! One row by its key, every value of it whole; a key is never taken for lines where a row has it.

use rusqlite::types::Value;

use crate::view::Selector;
use crate::view::table::plain;

use super::ask::{self, DEFAULT_LIMIT};
use super::failure::Refused;
use super::failure::brief;
use super::fault::QueryError;
use super::forms::{Question, broken_footer};
use super::messages::Answer;
use super::schema::{self, Column, Key, Object, quoted};
use super::values;

impl Question<'_> {
    pub(super) fn row(
        &mut self,
        object: &Object,
        spelled: &str,
        key: &str,
    ) -> Result<Answer, QueryError> {
        let columns = schema::columns(&self.link.connection, &object.name)?;
        let by = schema::key(&self.link.connection, object, &columns)?;
        if let Some(text) = self.row_text(object, &by, key)? {
            return Ok(self.row_answer(text, spelled, key, Selector::default()));
        }
        if let Some((head, lines)) = ask::split_lines(key)
            && let Some(text) = self.row_text(object, &by, head)?
        {
            return Ok(self.row_answer(text, spelled, head, lines));
        }
        // What our own footer says of a long statement: no key was found that looks like that.
        let first_line = key.strip_suffix('-').map(|line| line.parse::<u64>());
        if let (Some(Ok(1..)), Ok(selector)) = (first_line, Selector::parse(key)) {
            return self.schema(object, spelled, selector);
        }
        Err(self.no_row(object, &by, &columns, spelled, key).into())
    }

    fn row_answer(
        &self,
        (text, broken): (String, Vec<String>),
        spelled: &str,
        key: &str,
        selector: Selector,
    ) -> Answer {
        Answer {
            text,
            footers: broken_footer(&broken).into_iter().collect(),
            name: format!(":{spelled}:{key}"),
            selector,
            ..Answer::default()
        }
    }

    /// The row with that key, whole.
    fn row_text(
        &self,
        object: &Object,
        by: &Key,
        key: &str,
    ) -> Result<Option<(String, Vec<String>)>, QueryError> {
        let column = match by {
            Key::Column(name) => quoted(name),
            Key::RowId(name) => (*name).to_owned(),
            Key::Composite(_) | Key::None => return Ok(None),
        };
        let table = quoted(&object.name);
        let sql = format!("SELECT * FROM {table} WHERE {column} = ?1 LIMIT 1");
        let mut statement = self.link.connection.prepare(&sql)?;
        let names = statement.column_names();
        let names: Vec<String> = names.map(|name| plain(name, 100).0).collect();
        for value in key_values(key) {
            let mut rows = statement.query([value])?;
            if let Some(row) = rows.next()? {
                return match values::row_text(row, &names)? {
                    Some(text) => Ok(Some(text)),
                    None => Err(Refused::TooLarge {
                        what: "the row has more than 32 MiB of text".to_owned(),
                        instead: "Ask for some of its columns with ?q=SELECT ….".to_owned(),
                    }
                    .into()),
                };
            }
        }
        Ok(None)
    }

    fn no_row(
        &self,
        object: &Object,
        by: &Key,
        columns: &[Column],
        spelled: &str,
        key: &str,
    ) -> Refused {
        let at = format!("{}:{spelled}", self.display);
        if ask::has_parameters(key) {
            return Refused::BadParams(format!(
                "A row takes no parameters. Use {at}:KEY, or {at}?where=… for rows."
            ));
        }
        let name = &object.name;
        match by {
            Key::Composite(parts) => Refused::BadParams(format!(
                "Table '{name}' has a primary key of more than one column ({}). Use {at}?where={} = … AND {} = ….",
                parts.join(", "),
                parts[0],
                parts[1],
            )),
            Key::None => {
                let what = if object.is_view { "View" } else { "Table" };
                let column = columns.iter().find(|column| !column.hidden);
                let column = column.map_or("…", |column| &column.name);
                Refused::BadParams(format!(
                    "{what} '{name}' has no key. Use {at}?where={column} = …."
                ))
            }
            Key::Column(column) => self.no_such_row(name, column, key, &at),
            Key::RowId(column) => self.no_such_row(name, column, key, &at),
        }
    }

    fn no_such_row(&self, table: &str, column: &str, key: &str, at: &str) -> Refused {
        Refused::NoSuchPart {
            message: format!(
                "No row of '{table}' has the key {column} = {}. Use {at}?where=… or {at}?limit={DEFAULT_LIMIT} to look for it.",
                brief(key)
            ),
            suggestions: Vec::new(),
        }
    }
}

/// What a key may mean, in the order in which it is tried. A text is compared as the column's type
/// has it: `7` finds a number where the column holds numbers.
fn key_values(key: &str) -> Vec<Value> {
    let mut values = vec![Value::Text(key.to_owned())];
    if let Ok(number) = key.parse() {
        values.push(Value::Integer(number));
    } else if let Ok(number) = key.parse() {
        values.push(Value::Real(number));
    }
    values.extend(blob_literal(key).map(Value::Blob));
    values
}

fn blob_literal(key: &str) -> Option<Vec<u8>> {
    let digits = key.strip_prefix("x'").or_else(|| key.strip_prefix("X'"))?;
    let digits = digits.strip_suffix('\'')?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
        _ => None,
    });
    pairs.collect()
}
