//! SQLite databases, read-only; no file beside a database is made or changed, and no answer outlives a change of it.

mod ask;
mod condition;
mod connection;
mod fault;
mod forms;
mod pool;
mod row;
mod rows;
mod schema;
mod sides;
mod values;

use std::sync::Arc;
use std::time::Duration;

use crate::buffer::{Detour, Lane};
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::task::Work;
use crate::text::Text;
use crate::view::{Document, Extras, Selector, Style};
use crate::workspace::Handle;

use super::kind::{Asked, Kind, Subject};
use super::memory;
use super::{Opened, file_uri, refuse_own};

use connection::{Link, Way};
use fault::Fault;
use forms::{Answer, Request};
use pool::State;
use sides::Sides;

/// How long a request may keep a database at work, and the part of it for counting rows.
const QUERY_TIME: Duration = Duration::from_secs(5);
const COUNT_TIME: Duration = Duration::from_secs(2);

/// Bytes that a query may hold: its part of SQLite's heap, and the values taken out of that. So
/// three run at a time.
const SHARE: u64 = 32 * 1024 * 1024;

/// Attempts to read a database that does not change meanwhile.
const ATTEMPTS: usize = 4;

/// The kind of databases.
#[derive(Debug)]
pub struct Sqlite;

/// The endings of a database's name, each also as it stands in a path that leads on.
const ENDINGS: &[&str] = &[".sqlite", ".sqlite3", ".db", ".db3"];

/// How every database begins (<https://www.sqlite.org/fileformat2.html>), and how much of it is
/// looked at.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEAD: usize = 100;

impl Kind for Sqlite {
    fn kind(&self) -> ResourceKind {
        ResourceKind::Sqlite
    }

    fn files(&self) -> &'static str {
        ".sqlite .sqlite3 .db .db3 with a SQLite header"
    }

    fn claims(&self, name: &str, _: &Selector) -> bool {
        let name = name.to_ascii_lowercase();
        ENDINGS.iter().any(|ending| name.ends_with(ending))
    }

    fn splits(&self, path: &str) -> Vec<usize> {
        let lower = path.to_ascii_lowercase();
        let at = lower.match_indices([':', '?']).map(|(index, _)| index);
        at.filter(|index| {
            let before = &lower[..*index];
            ENDINGS.iter().any(|ending| before.ends_with(ending))
        })
        .take(8)
        .collect()
    }

    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Detour> {
        // A database within an archive has no name by which SQLite could open it.
        let Subject::File(handle) = asked.subject else {
            return Ok(None);
        };
        let part = part_of(asked);
        let kept = asked.means.warm.get::<Kept>(handle, MAKER, &part);
        if let Some(kept) = kept
            && kept.sides == Sides::look(handle, asked.means.scope)?
        {
            return Ok(Some(opened(handle, asked, &kept, Cache::Hit)));
        }
        let head = asked.subject.head(HEAD, asked.spelled)?;
        if !head.starts_with(MAGIC) {
            return Ok(None);
        }
        refuse_own(asked.selector, asked.spelled, "a database")?;
        if asked.means.lane == Lane::Short {
            return Err(Detour::TakesLong);
        }
        let share = memory::take(SHARE, asked.means.work)?;
        let (mut answer, sides) = read(handle, asked)?;
        drop(share);
        let text = Text::new(&std::mem::take(&mut answer.text));
        let bytes = text.len_bytes() as u64 * 2 + 1024;
        let kept = Arc::new(Kept {
            text,
            answer,
            sides,
        });
        if sides.are_settled() {
            let warm = asked.means.warm;
            warm.keep(handle, MAKER, &part, kept.clone(), bytes);
        }
        Ok(Some(opened(handle, asked, &kept, Cache::Miss)))
    }
}

const MAKER: &str = "sqlite";

/// An answer that holds as long as neither the database nor what is beside it changes.
#[derive(Debug)]
struct Kept {
    text: Text,
    /// Without its text.
    answer: Answer,
    sides: Sides,
}

/// By what an answer is kept: everything that it depends on besides the files.
fn part_of(asked: &Asked) -> String {
    let means = &asked.means;
    let budget = means.limits.budget;
    format!(
        "{}\0{:?}\0{}\0{}\0{}",
        means.display,
        asked.selector,
        budget.lines,
        budget.bytes,
        asked.inner.unwrap_or_default()
    )
}

fn opened(handle: &Handle, asked: &Asked, kept: &Kept, cache: Cache) -> Opened {
    let path = handle.real().as_path().display().to_string();
    let Kept { text, answer, .. } = kept;
    let document = Document {
        kind: ResourceKind::Sqlite,
        style: Style::Listing,
        source: path.clone(),
        cache,
        notices: answer.notices.clone(),
        details: MoreDetails {
            uri: Some(file_uri(handle.real().as_path())),
            resolved_path: Some(path),
            total_lines: Some(text.len_lines() as u64),
            limits: answer.limits.clone(),
            ..MoreDetails::default()
        },
        text: text.clone().into(),
        extras: Extras {
            footers: answer.footers.clone(),
            open_lines: answer.open_lines,
            rows_are: Some(answer.rows_are),
            ..Extras::default()
        },
    };
    Opened {
        selector: Some(answer.selector.clone()),
        name: Some(format!("{}{}", asked.means.display, answer.name)),
        ..Opened::read_only(document)
    }
}

/// What the next attempt is to leave out.
#[derive(Debug, Clone, Copy, Default)]
struct Manner {
    /// The database is damaged: what of it can be read is to be had.
    salvage: bool,
    /// The log's index is not to be used.
    without_index: bool,
}

/// What came of one attempt.
enum Attempt {
    Done(Box<(Answer, Sides)>),
    /// Once more, as soon as it stands still, or in another manner.
    Again(Manner),
}

/// What the database says, and what was beside it then.
fn read(handle: &Handle, asked: &Asked) -> Result<(Answer, Sides), Refusal> {
    let limited = asked.means.work.within(QUERY_TIME);
    let mut manner = Manner::default();
    for _ in 0..ATTEMPTS {
        asked.means.work.check()?;
        match attempt(handle, asked, &limited, manner)? {
            Attempt::Done(done) => return Ok(*done),
            Attempt::Again(next) => manner = next,
        }
    }
    Err(Refusal::Busy {
        message: format!("'{}' is being changed all the time.", asked.spelled),
    })
}

fn attempt(
    handle: &Handle,
    asked: &Asked,
    limited: &Work,
    manner: Manner,
) -> Result<Attempt, Refusal> {
    let refuse = |fault| fault::refusal(fault, asked.spelled, asked.means.work);
    let state = state(handle, asked, manner)?;
    let warm = pool::take(&state).filter(|link| link.salvaged == manner.salvage);
    let mut link = match warm {
        Some(link) => link,
        None => Link::open(handle.real().as_path(), state.way, manner.salvage)
            .map_err(|error| refuse(error.into()))?,
    };
    let outcome = ask(&mut link, asked, limited);
    // Where SQLite's locks reach, a log may grow while it is read. Everywhere else nothing may
    // have changed: a lock of ours ends when any file of ours to the same inode is closed.
    let is_steady = match state.way {
        Way::Shared => handle.still_there(),
        Way::Locked | Way::Alone | Way::Fixed => is_unchanged(handle, asked, &state)?,
    };
    let error = match &outcome {
        Err(Fault::Sqlite(error)) => Some(error),
        _ => None,
    };
    if error.is_some_and(fault::is_about_index) && state.way == Way::Shared {
        return Ok(Attempt::Again(Manner {
            without_index: true,
            ..manner
        }));
    }
    if error.is_some_and(fault::is_damage) && !(is_steady && manner.salvage) {
        return Ok(Attempt::Again(Manner {
            salvage: is_steady,
            ..manner
        }));
    }
    if !is_steady && error.is_none() {
        return Ok(Attempt::Again(manner));
    }
    let answer = outcome.map_err(refuse)?;
    let sides = state.sides;
    if link.connection.is_autocommit() {
        pool::keep(state, handle, link);
    }
    Ok(Attempt::Done(Box::new((answer, sides))))
}

/// What there is, and by what means it is read.
fn state(handle: &Handle, asked: &Asked, manner: Manner) -> Result<State, Refusal> {
    let sides = Sides::look(handle, asked.means.scope)?;
    let stamp = handle
        .restamp()
        .map_err(|error| Refusal::io(asked.spelled, &error))?;
    if !handle.still_there() {
        let message = format!("'{}' was just replaced.", asked.spelled);
        return Err(Refusal::Busy { message });
    }
    let head = asked.subject.head(HEAD, asked.spelled)?;
    let way = match Way::of(&padded(head), &sides) {
        Way::Shared if manner.without_index => Way::Alone,
        way => way,
    };
    Ok(State {
        real: handle.real().clone(),
        stamp,
        sides,
        way,
    })
}

fn is_unchanged(handle: &Handle, asked: &Asked, state: &State) -> Result<bool, Refusal> {
    let stamp = handle
        .restamp()
        .map_err(|error| Refusal::io(asked.spelled, &error))?;
    Ok(handle.still_there()
        && stamp == state.stamp
        && Sides::look(handle, asked.means.scope)? == state.sides)
}

/// A file that ends within its header is read as if zeros followed.
fn padded(mut head: Vec<u8>) -> Vec<u8> {
    head.resize(HEAD, 0);
    head
}

/// One state of the database, asked.
fn ask(link: &mut Link, asked: &Asked, work: &Work) -> Result<Answer, Fault> {
    link.work_for(work)?;
    link.begin()?;
    let means = &asked.means;
    let answer = Request {
        link,
        display: means.display,
        spelled: asked.spelled,
        inner: asked.inner.unwrap_or_default(),
        selector: asked.selector,
        budget: means.limits.budget,
        work,
    }
    .answer();
    // Should this fail, the connection is in the middle of something, and is not kept.
    let _ = link.work_for(work).and_then(|()| link.end());
    answer
}
