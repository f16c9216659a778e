//! What a database says of its tables and views; no name from a caller is ever put into a statement unquoted.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// A table or a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub name: String,
    pub is_view: bool,
}

impl Object {
    /// SQLite's own tables are not listed.
    pub fn is_internal(&self) -> bool {
        let prefix = self.name.get(..7);
        prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("sqlite_"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// 1, 2 … for the columns of the primary key, in its order.
    pub key_part: i64,
    /// `*` does not name it.
    pub hidden: bool,
}

/// How one row is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// By the one column of the primary key.
    Column(String),
    /// By a column that stands for the number that every row has.
    RowId(&'static str),
    /// The columns of the primary key: there is more than one.
    Composite(Vec<String>),
    None,
}

/// All tables and views, by name.
pub fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    let sql = "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name COLLATE NOCASE, name";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut objects = Vec::new();
    while let Some(row) = rows.next()? {
        // A damaged schema may hold what is no name.
        if let (ValueRef::Text(name), ValueRef::Text(kind)) = (row.get_ref(0)?, row.get_ref(1)?)
            && let Ok(name) = std::str::from_utf8(name)
        {
            objects.push(Object {
                name: name.to_owned(),
                is_view: kind == b"view",
            });
        }
    }
    Ok(objects)
}

/// The statement that made it.
pub fn statement_of(connection: &Connection, object: &Object) -> rusqlite::Result<String> {
    let sql = "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1";
    connection.query_row(sql, [&object.name], |row| match row.get_ref(0)? {
        ValueRef::Text(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        _ => Ok(String::new()),
    })
}

pub fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    let sql = "SELECT name, pk, hidden FROM pragma_table_xinfo(?1)";
    let mut statement = connection.prepare(sql)?;
    let columns = statement.query_map([table], |row| {
        Ok(Column {
            name: String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned(),
            key_part: row.get(1)?,
            hidden: row.get::<_, i64>(2)? == 1,
        })
    })?;
    columns.collect()
}

pub fn key(connection: &Connection, object: &Object, columns: &[Column]) -> rusqlite::Result<Key> {
    if object.is_view {
        return Ok(Key::None);
    }
    let mut parts: Vec<&Column> = columns
        .iter()
        .filter(|column| column.key_part > 0)
        .collect();
    parts.sort_by_key(|column| column.key_part);
    match &parts[..] {
        [] => Ok(rowid(connection, object, columns)?.map_or(Key::None, Key::RowId)),
        [only] => Ok(Key::Column(only.name.clone())),
        parts => Ok(Key::Composite(
            parts.iter().map(|column| column.name.clone()).collect(),
        )),
    }
}

/// A name of the rows' numbers that no column has taken.
pub fn rowid(
    connection: &Connection,
    object: &Object,
    columns: &[Column],
) -> rusqlite::Result<Option<&'static str>> {
    if object.is_view {
        return Ok(None);
    }
    let is_column = |name: &str| {
        let mut columns = columns.iter();
        columns.any(|column| column.name.eq_ignore_ascii_case(name))
    };
    let names = ["rowid", "_rowid_", "oid"];
    let Some(name) = names.into_iter().find(|name| !is_column(name)) else {
        return Ok(None);
    };
    // Whether the rows have numbers at all only `PRAGMA table_list` tells, which looks into every
    // view of the database for it.
    let sql = format!("SELECT {name} FROM {}", quoted(&object.name));
    Ok(connection.prepare(&sql).is_ok().then_some(name))
}

/// A name as SQL takes it literally.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// At most three of the names that may have been meant, the nearest first.
pub fn near<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let asked = asked.to_lowercase();
    let measure = |name: &'a str| {
        let lower = name.to_lowercase();
        let distance = strsim::osa_distance(&asked, &lower);
        let are_words = asked.len().min(lower.len()) >= 3;
        let contains = are_words && (lower.contains(&asked) || asked.contains(&lower));
        let is_near = distance <= 2.max(asked.len() / 3) && distance < asked.len().max(lower.len());
        (!name.is_empty() && (is_near || contains)).then_some((distance, name))
    };
    let mut near: Vec<_> = names.into_iter().filter_map(measure).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}
