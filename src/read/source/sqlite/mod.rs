//! SQLite databases, read-only; no file beside a database is made or changed, and no answer outlives a change of it.

mod ask;
mod condition;
mod connection;
mod fault;
mod forms;
mod functions;
mod pool;
mod row;
mod rows;
mod schema;
mod sides;
mod values;
mod watched;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::buffer::FileState;
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::task::{Detour, Lane, Work};
use crate::text::Text;
use crate::view::{Budget, Document, Extras, Selector, Style};
use crate::workspace::Handle;

use super::kind::{Asked, Kind, Subject};
use super::memory::{self, Share};
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
/// three run at a time; what needs more is run again alone.
const SHARE: u64 = 32 * 1024 * 1024;

/// After SQLite held so much, what the allocator keeps of it is given back.
const TRIMMED_OVER: u64 = 8 * 1024 * 1024;

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
        let state = asked.subject.state(asked.spelled)?;
        let kept = asked.means.warm.get::<Kept>(&state, MAKER, &part);
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
        let begun = Instant::now();
        let (text, answer, sides) = match read(handle, asked, SHARE, QUERY_TIME)? {
            Some(read) => read,
            None => {
                let left = QUERY_TIME.saturating_sub(begun.elapsed()).max(COUNT_TIME);
                read(handle, asked, memory::ALL, left)?
                    .ok_or_else(|| fault::refusal(Fault::Large, asked.spelled, asked.means.work))?
            }
        };
        let bytes = text.len_bytes() as u64 * 2 + 1024;
        let kept = Arc::new(Kept {
            text,
            answer,
            sides,
        });
        if sides.are_settled(handle) {
            let warm = asked.means.warm;
            warm.keep((&state, handle), MAKER, &part, kept.clone(), bytes);
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
    /// There was not enough memory for it, and there is more.
    Large,
}

/// As [`read_with`], with so much of the memory; the text of the answer is parted from it. `None`
/// where that was not enough, and was not all.
fn read(
    handle: &Handle,
    asked: &Asked,
    bytes: u64,
    time: Duration,
) -> Result<Option<(Text, Answer, Sides)>, Refusal> {
    let share = Arc::new(memory::take(bytes, asked.means.work)?);
    let limited = asked.means.work.within(time);
    let read = read_with(handle, asked, (&limited, &share))?;
    let read = read.map(|(mut answer, sides)| {
        let text = Text::new(&std::mem::take(&mut answer.text));
        (text, answer, sides)
    });
    if connection::peak_since() > TRIMMED_OVER {
        memory::trim();
    }
    Ok(read)
}

/// What the database says, and what was beside it then.
fn read_with(
    handle: &Handle,
    asked: &Asked,
    (limited, share): (&Work, &Arc<Share>),
) -> Result<Option<(Answer, Sides)>, Refusal> {
    let mut manner = Manner::default();
    for _ in 0..ATTEMPTS {
        asked.means.work.check()?;
        match attempt(handle, asked, (limited, share), manner)? {
            Attempt::Done(done) => return Ok(Some(*done)),
            Attempt::Large => return Ok(None),
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
    (limited, share): (&Work, &Arc<Share>),
    manner: Manner,
) -> Result<Attempt, Refusal> {
    let refuse = |fault| fault::refusal(fault, asked.spelled, asked.means.work);
    let (state, file) = state(handle, asked, manner)?;
    let warm = pool::take(&state).filter(|link| link.salvaged == manner.salvage);
    let link = match warm {
        Some(link) => link,
        None => Link::open(handle.real().as_path(), state.way, manner.salvage)
            .map_err(|error| refuse(error.into()))?,
    };
    let order = Order::of(asked, limited, share.is_all());
    let held = share.clone();
    let done = watched::run(link, limited, move |link| {
        let answer = ask(link, &order);
        drop(held);
        answer
    });
    let (link, outcome) = match done {
        Ok(Some(done)) => done,
        Ok(None) => {
            share.leave();
            return Err(refuse(Fault::stopped()));
        }
        Err(error) => return Err(Refusal::io(asked.spelled, &error)),
    };
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
    let is_large = match (&outcome, error) {
        (Err(Fault::Large), _) => true,
        // Alone as it was it would find no more.
        (_, Some(error)) => fault::is_memory(error) && share.has_company(),
        _ => false,
    };
    if is_large && !share.is_all() {
        return Ok(Attempt::Large);
    }
    let answer = outcome.map_err(refuse)?;
    let sides = state.sides;
    if link.connection.is_autocommit() {
        pool::keep(state, (&file, handle), link);
    }
    Ok(Attempt::Done(Box::new((answer, sides))))
}

/// What there is, and by what means it is read.
fn state(handle: &Handle, asked: &Asked, manner: Manner) -> Result<(State, FileState), Refusal> {
    let refuse = |error: std::io::Error| Refusal::io(asked.spelled, &error);
    let sides = Sides::look(handle, asked.means.scope)?;
    let stamp = handle.restamp().map_err(refuse)?;
    let file = FileState::of(handle, stamp).map_err(refuse)?;
    if !handle.still_there() {
        let message = format!("'{}' was just replaced.", asked.spelled);
        return Err(Refusal::Busy { message });
    }
    let head = asked.subject.head(HEAD, asked.spelled)?;
    let way = match Way::of(&padded(head), &sides) {
        Way::Shared if manner.without_index => Way::Alone,
        way => way,
    };
    let state = State {
        real: handle.real().clone(),
        stamp,
        hash: file.hash(),
        sides,
        way,
    };
    Ok((state, file))
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

/// What is asked, for a thread that may outlive who asked.
#[derive(Debug)]
struct Order {
    display: String,
    spelled: String,
    inner: String,
    selector: Selector,
    budget: Budget,
    is_alone: bool,
    work: Work,
}

impl Order {
    fn of(asked: &Asked, work: &Work, is_alone: bool) -> Order {
        Order {
            display: asked.means.display.to_owned(),
            spelled: asked.spelled.to_owned(),
            inner: asked.inner.unwrap_or_default().to_owned(),
            selector: asked.selector.clone(),
            budget: asked.means.limits.budget,
            is_alone,
            work: work.clone(),
        }
    }
}

/// One state of the database, asked.
fn ask(link: &mut Link, order: &Order) -> Result<Answer, Fault> {
    link.work_for(&order.work)?;
    link.begin()?;
    let answer = Request {
        link,
        display: &order.display,
        spelled: &order.spelled,
        inner: &order.inner,
        selector: &order.selector,
        budget: order.budget,
        is_alone: order.is_alone,
        work: &order.work,
    }
    .answer();
    // Should this fail, the connection is in the middle of something, and is not kept.
    let _ = link.work_for(&order.work).and_then(|()| link.end());
    answer
}
