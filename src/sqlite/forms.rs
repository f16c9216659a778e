//! The answers: the list of tables, a table's making, a row, rows, a query; no answer holds more rows than the caller can page through.

use std::collections::HashMap;

use crate::task::Work;
use crate::view::table::Table;
use crate::view::{Budget, Selector, in_listing};

use super::COUNT_TIME;
use super::ask::{self, Page, QueryForm};
use super::connection::Link;
use super::failure::Refused;
use super::failure::brief;
use super::fault::{self, QueryError, words};
use super::messages::{Answer, RowsAre};
use super::rows::{self, Fetched};
use super::schema::{self, Column, Key, Object, quoted};

/// Tables of a list that names no end (seed 000, SQLite).
const LIST_LIMIT: u64 = 500;
/// Bytes of a name that is looked for: longer ones are only to be had by a query.
const MAX_NAME: usize = 1000;
/// Rows that are shown of a table with its statement.
const SAMPLE: u64 = 5;
/// Rows that are counted, and no more.
const COUNTED: u64 = 50_000;
/// Rows of a query of the caller's own.
const QUERY_LIMIT: u64 = 1000;

/// One question to one database.
pub struct Question<'a> {
    pub link: &'a mut Link,
    /// The database as headers name it, for what continues.
    pub display: &'a str,
    pub inner: &'a str,
    pub selector: &'a Selector,
    pub budget: Budget,
    pub work: &'a Work,
}

impl Question<'_> {
    pub fn answer(&mut self) -> Result<Answer, QueryError> {
        let objects = schema::objects(&self.link.connection)?;
        // No two tables differ in case alone.
        let by_name: HashMap<String, &Object> = objects
            .iter()
            .filter(|object| object.name.len() <= MAX_NAME)
            .map(|object| (object.name.to_ascii_lowercase(), object))
            .collect();
        let longest = by_name.keys().map(String::len).max();
        let find = |name: &str| match Some(name.len()) <= longest {
            true => by_name.get(&name.to_ascii_lowercase()).copied(),
            false => None,
        };
        // Only a name that was found comes back as one.
        let found = |name: &str| find(name).ok_or_else(|| no_table(name));
        let mut answer = match ask::understand(self.inner, &|name| find(name).is_some())? {
            QueryForm::List(selector) => {
                let selector = match self.inner.is_empty() {
                    true => self.selector.clone(),
                    false => selector,
                };
                refuse_own(&selector)?;
                self.list(&objects, selector)?
            }
            QueryForm::Schema(name) => {
                let object = found(name)?;
                self.schema(object, name, Selector::default())?
            }
            QueryForm::Row { table, key } => {
                let object = found(table)?;
                self.row(object, table, key)?
            }
            QueryForm::Page { table, page, lines } => {
                let object = found(table)?;
                self.page(object, table, &page, lines)?
            }
            QueryForm::Raw { sql, lines } => self.raw(sql, lines, &objects)?,
            QueryForm::Unknown(name) => return Err(self.unknown_table(name, &objects).into()),
        };
        if self.link.salvaged {
            let what = "The database is damaged: what of it can be read is shown, and tables or rows may be missing";
            answer.notices.insert(0, what.to_owned());
            answer.footers.insert(0, what.to_owned());
        }
        Ok(answer)
    }

    fn list(&mut self, objects: &[Object], selector: Selector) -> Result<Answer, QueryError> {
        let listed: Vec<&Object> = objects.iter().filter(|o| !o.is_internal()).collect();
        let total = listed.len() as u64;
        // Only what will be shown is counted.
        let shown = selector.resolve(total).lines;
        let first = shown.spans().first().map_or(1, |span| span.start);
        let last = match selector.is_open_ended() {
            true => first + LIST_LIMIT - 1,
            false => total,
        };
        self.link.work_for(&self.work.within(COUNT_TIME))?;
        let mut answer = Answer {
            rows_are: RowsAre::Tables,
            open_lines: Some(LIST_LIMIT),
            selector,
            ..Answer::default()
        };
        let mut damaged = Vec::new();
        for (line, object) in (1..).zip(&listed) {
            let label = match object.is_view {
                true => "view".to_owned(),
                false if line > last || !shown.contains(line) => String::new(),
                false => match self.rows_of(&object.name) {
                    Ok(1) => "1 row".to_owned(),
                    Ok(count) if count > COUNTED => format!(">{COUNTED} rows"),
                    Ok(count) => format!("{count} rows"),
                    Err(QueryError::Sqlite(error)) if fault::is_stop(&error) => {
                        if self.work.check().is_err() {
                            return Err(error.into());
                        }
                        "not counted".to_owned()
                    }
                    Err(QueryError::Sqlite(error)) if fault::is_damage(&error) => {
                        damaged.push(in_listing(&object.name).into_owned());
                        format!("damaged: {}", words(&error))
                    }
                    Err(QueryError::Sqlite(error)) => format!("not readable: {}", words(&error)),
                    Err(other) => return Err(other),
                },
            };
            answer
                .text
                .push_str(&format!("{} ({label})\n", in_listing(&object.name)));
        }
        if listed.is_empty() {
            answer.text.push_str("(no tables)\n");
        }
        if !damaged.is_empty() {
            answer.notices.push(format!(
                "The file is damaged: {} cannot be read to the end",
                damaged.join(", ")
            ));
        }
        Ok(answer)
    }

    /// The rows of a table, counted to one more than [`COUNTED`].
    fn rows_of(&self, table: &str) -> Result<u64, QueryError> {
        let from = format!("{} LIMIT {}", quoted(table), COUNTED + 1);
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {from})");
        rows::count(self.link, &sql, &[])
    }

    pub(super) fn schema(
        &mut self,
        object: &Object,
        spelled: &str,
        selector: Selector,
    ) -> Result<Answer, QueryError> {
        let mut answer = Answer {
            name: format!(":{spelled}"),
            selector,
            ..Answer::default()
        };
        answer.text = schema::statement_of(&self.link.connection, object)?;
        if !answer.text.ends_with('\n') {
            answer.text.push('\n');
        }
        answer.text.push('\n');
        self.link.work_for(&self.work.within(COUNT_TIME))?;
        let sample = self.rows(object, &Page::default(), SAMPLE);
        self.link.work_for(self.work)?;
        let fetched = match sample {
            Ok(fetched) => fetched,
            Err(QueryError::Sqlite(error)) => {
                if self.work.check().is_err() {
                    return Err(error.into());
                }
                let why = match fault::is_stop(&error) {
                    true => format!("they take more than {} s", COUNT_TIME.as_secs()),
                    false => words(&error),
                };
                answer
                    .text
                    .push_str(&format!("(rows not readable: {why})\n"));
                let notice = format!("The rows cannot be read: {why}");
                answer.notices.push(notice);
                return Ok(answer);
            }
            Err(refused) => return Err(refused),
        };
        let (shown, table) = rows::lay_out(&fetched, 1, Budget::CAP);
        self.add_rows(&fetched, &table, &mut answer);
        if fetched.more {
            let next = Page::default().continued(shown);
            let more = self.more_rows(object, &Page::default(), shown, &next, spelled)?;
            answer.footers.push(more);
        }
        if (table.cut || fetched.cut) && fetched.fault.is_none() {
            answer.footers.push(self.cut_footer(object, spelled)?);
        }
        Ok(answer)
    }

    fn page(
        &mut self,
        object: &Object,
        spelled: &str,
        page: &Page,
        lines: Selector,
    ) -> Result<Answer, QueryError> {
        let mut answer = Answer {
            name: self.inner_without_lines().to_owned(),
            selector: lines,
            ..Answer::default()
        };
        let mut fetched = self.rows(object, page, page.rows())?;
        if self.is_shown_as_row(&mut fetched, page.offset, &mut answer) {
            return Ok(answer);
        }
        let (shown, table) = rows::lay_out(&fetched, page.offset + 1, self.budget);
        self.add_rows(&fetched, &table, &mut answer);
        if fetched.more || shown < fetched.rows.len() as u64 {
            let next = page.continued(page.offset + shown);
            let footer = self.more_rows(object, page, page.offset + shown, &next, spelled)?;
            answer.footers.push(footer);
            answer.shown = Some(shown);
        }
        if (table.cut || fetched.cut) && fetched.fault.is_none() {
            answer.footers.push(self.cut_footer(object, spelled)?);
        }
        Ok(answer)
    }

    fn raw(
        &mut self,
        sql: &str,
        lines: Selector,
        objects: &[Object],
    ) -> Result<Answer, QueryError> {
        let mut answer = Answer {
            name: self.inner_without_lines().to_owned(),
            selector: lines,
            ..Answer::default()
        };
        let run = || {
            let mut statement = rows::prepare(self.link, sql)?;
            rows::fetch(&mut statement, [], QUERY_LIMIT)
        };
        let mut fetched = run().map_err(|fault| self.with_hint(fault, None, objects))?;
        if self.is_shown_as_row(&mut fetched, 0, &mut answer) {
            return Ok(answer);
        }
        let (shown, table) = rows::lay_out(&fetched, 1, self.budget);
        self.add_rows(&fetched, &table, &mut answer);
        if shown < fetched.rows.len() as u64 {
            answer.footers.push(format!(
                "Output cut at {shown} rows, as many as fit in one answer; add LIMIT and OFFSET {shown} to the query for more"
            ));
            answer.shown = Some(shown);
        } else if fetched.more {
            answer.footers.push(format!(
                "Output capped at {shown} rows; add LIMIT and OFFSET {shown} to the query for more"
            ));
            answer.shown = Some(shown);
        }
        if table.cut || fetched.cut {
            let how = "a query that gives one row shows it whole";
            answer
                .footers
                .push(format!("Cells that end in … are cut; {how}"));
        }
        Ok(answer)
    }

    /// Rows of a table, by a statement of ours with a condition of the caller's.
    fn rows(&self, object: &Object, page: &Page, limit: u64) -> Result<Fetched, QueryError> {
        let columns = schema::columns(&self.link.connection, &object.name)?;
        let mut sql = format!("SELECT * FROM {}", quoted(&object.name));
        push_condition(page, &mut sql);
        if let Some(order) = &page.order {
            sql.push_str(&self.order(object, order, &columns)?);
        }
        sql.push_str(&format!(" LIMIT {} OFFSET {}", limit + 1, page.offset));
        let run = || {
            let mut statement = rows::prepare(self.link, &sql)?;
            rows::fetch(&mut statement, [], limit)
        };
        run().map_err(|fault| self.with_hint(fault, Some(&columns), &[]))
    }

    /// The order asked for, and after it one of our own: else rows alike in it could be shown
    /// twice, or never, over several pages.
    fn order(
        &self,
        object: &Object,
        order: &str,
        columns: &[Column],
    ) -> Result<String, QueryError> {
        let find = |name: &str| {
            let mut all = columns.iter();
            let exact = all.clone().find(|column| column.name == name);
            exact.or_else(|| all.find(|column| column.name.eq_ignore_ascii_case(name)))
        };
        let parted = order.rsplit_once(':');
        let (column, direction) = match (find(order), parted) {
            (Some(column), _) => (Some(column), "ASC"),
            (None, Some((name, way))) if way.eq_ignore_ascii_case("asc") => (find(name), "ASC"),
            (None, Some((name, way))) if way.eq_ignore_ascii_case("desc") => (find(name), "DESC"),
            (None, _) => (None, "ASC"),
        };
        let Some(column) = column else {
            let name = parted.map_or(order, |(name, _)| name);
            let names = columns.iter().map(|column| column.name.as_str());
            let hint = did_you_mean(&schema::near(name, names));
            return Err(QueryError::bad_params(format!(
                "'order' must be COLUMN, COLUMN:asc or COLUMN:desc with a column of '{}', not '{}'.{hint}",
                object.name,
                brief(order)
            )));
        };
        let mut sql = format!(" ORDER BY {} {direction}", quoted(&column.name));
        match schema::rowid(&self.link.connection, object, columns)? {
            Some(rowid) => sql.push_str(&format!(", {rowid}")),
            None => {
                for part in columns.iter().filter(|column| column.key_part > 0) {
                    sql.push_str(&format!(", {}", quoted(&part.name)));
                }
            }
        }
        Ok(sql)
    }

    /// `22 more rows; continue with …`. Counting them may take a while only.
    fn more_rows(
        &mut self,
        object: &Object,
        page: &Page,
        from: u64,
        next: &str,
        spelled: &str,
    ) -> Result<String, QueryError> {
        let mut sql = format!("SELECT 1 FROM {}", quoted(&object.name));
        push_condition(page, &mut sql);
        sql.push_str(&format!(" LIMIT {} OFFSET {from}", COUNTED + 1));
        self.link.work_for(&self.work.within(COUNT_TIME))?;
        let counted = rows::count(self.link, &format!("SELECT count(*) FROM ({sql})"), &[]);
        self.link.work_for(self.work)?;
        stop_if_done(self.work)?;
        let rows = match counted {
            Ok(1) => "1 more row".to_owned(),
            Ok(count) if count > COUNTED => format!(">{COUNTED} more rows"),
            Ok(count) => format!("{count} more rows"),
            Err(_) => "more rows".to_owned(),
        };
        Ok(format!(
            "{rows}; continue with {}:{spelled}?{next}",
            self.display
        ))
    }

    /// Where the whole of a cut cell is to be had.
    fn cut_footer(&self, object: &Object, spelled: &str) -> Result<String, QueryError> {
        let columns = schema::columns(&self.link.connection, &object.name)?;
        let at = format!("{}:{spelled}", self.display);
        let how = match schema::key(&self.link.connection, object, &columns)? {
            Key::Column(column) => format!("{at}:KEY shows a row whole, by its {column}"),
            Key::RowId(column) => format!("{at}:N shows a row whole, by its {column}"),
            Key::Composite(_) | Key::None => {
                format!("{at}?where=… that gives one row shows it whole")
            }
        };
        Ok(format!("Cells that end in … are cut; {how}"))
    }

    /// A table's rows, or in their place that there are none; and why they end early.
    fn add_rows(&self, fetched: &Fetched, table: &Table, answer: &mut Answer) {
        if fetched.rows.is_empty() {
            answer.text.push_str("(no rows)\n");
        } else {
            for line in table.head.iter().chain(table.rows.iter().flatten()) {
                answer.text.push_str(line);
                answer.text.push('\n');
            }
        }
        if let Some(error) = &fetched.fault {
            let notice = match fault::is_stop(error) {
                true => {
                    "The query was stopped for its time; these are the rows until then".to_owned()
                }
                false => format!("Further rows cannot be read: {}", words(error)),
            };
            answer.footers.push(notice.clone());
            answer.notices.push(notice);
        }
    }

    /// One row that a table would cut stands whole.
    fn is_shown_as_row(&self, fetched: &mut Fetched, offset: u64, answer: &mut Answer) -> bool {
        let Some((text, broken)) = fetched.only.take().filter(|_| !fetched.more) else {
            return false;
        };
        let table = Table::new(&fetched.columns, &fetched.rows, offset + 1);
        if table.cut || fetched.cut {
            answer.text = text;
            answer.footers.extend(broken_footer(&broken));
            return true;
        }
        false
    }

    /// SQLite's words about a query with the names that may have been meant.
    fn with_hint(
        &self,
        fault: QueryError,
        columns: Option<&[Column]>,
        objects: &[Object],
    ) -> QueryError {
        let QueryError::Sqlite(error) = &fault else {
            return fault;
        };
        let said = words(error);
        let names: Vec<String> = match (said.split_once(": "), columns) {
            (Some(("no such table", _)), None) => {
                objects.iter().map(|object| object.name.clone()).collect()
            }
            (Some(("no such column", _)), Some(columns)) => {
                columns.iter().map(|column| column.name.clone()).collect()
            }
            (Some(("no such column", _)), None) => self.all_columns(objects),
            _ => return fault,
        };
        let asked = said.split_once(": ").map_or("", |(_, name)| name);
        let asked = asked.split(" - ").next().unwrap_or(asked);
        let asked = asked.rsplit('.').next().unwrap_or(asked);
        let near = schema::near(asked, names.iter().map(String::as_str));
        QueryError::bad_params(format!("SQLite says \"{said}\".{}", did_you_mean(&near)))
    }

    /// The columns of the first tables.
    fn all_columns(&self, objects: &[Object]) -> Vec<String> {
        let columns = objects.iter().take(50).filter_map(|object| {
            let columns = schema::columns(&self.link.connection, &object.name).ok()?;
            Some(columns.into_iter().map(|column| column.name))
        });
        columns.flatten().collect()
    }

    fn unknown_table(&self, name: &str, objects: &[Object]) -> Refused {
        let names = objects.iter().map(|object| object.name.as_str());
        let near = schema::near(name, names).into_iter();
        Refused::NoSuchPart {
            message: format!(
                "No table or view '{}' in {1}. {1} alone lists them.",
                brief(name),
                self.display
            ),
            suggestions: near
                .map(|name| format!("{}:{name}", self.display))
                .collect(),
        }
    }

    /// The caller's words, without the lines at their end.
    fn inner_without_lines(&self) -> &str {
        ask::split_lines(self.inner).map_or(self.inner, |(head, _)| head)
    }
}

fn no_table(name: &str) -> Refused {
    Refused::NoSuchPart {
        message: format!("No table or view '{name}'."),
        suggestions: Vec::new(),
    }
}

/// The time for one part of a request may be over; that of the whole must not be.
fn stop_if_done(work: &Work) -> Result<(), QueryError> {
    work.check().map_err(|_| Refused::OutOfTime.into())
}

/// Refuses the forms of selectors that other kinds of resource have for themselves.
fn refuse_own(selector: &Selector) -> Result<(), QueryError> {
    match selector.own {
        None => Ok(()),
        Some(own) => Err(Refused::BadSelector(format!(
            "{}, and this is a database. Leave it out.",
            own.purpose()
        ))
        .into()),
    }
}

fn push_condition(page: &Page, sql: &mut String) {
    if let Some(filter) = &page.filter {
        sql.push_str(&format!(" WHERE ({filter})"));
    }
}

pub(super) fn broken_footer(broken: &[String]) -> Option<String> {
    match broken {
        [] => None,
        [one] => Some(format!("Lines of {one} over 16 KiB are broken there")),
        many => Some(format!(
            "Lines of {} over 16 KiB are broken there",
            many.join(", ")
        )),
    }
}

fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        names => format!(" Did you mean {}?", names.join(" or ")),
    }
}
