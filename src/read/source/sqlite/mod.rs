//! SQLite databases, read-only; no file beside a database is made or changed, and no answer outlives a change of it.

mod sides;

use std::time::{Duration, Instant};

use std::sync::Arc;

use crate::buffer::FileState;
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, ListingLimits, MoreDetails, ResourceKind};
use crate::sqlite::{
    self, Answer, ConnectMode, Order, QUERY_TIME, QueryFailure, QueryJob, Reply, Trouble,
};
use crate::text::Text;
use crate::view::{Document, Extras, Selector, Style};
use crate::worker::{Death, Readable, Stop};
use crate::workspace::{Handle, RealPath, Stamp};

use super::kind::{Asked, Kind, Subject};
use super::{Opened, ReadContext, location, refuse_own};

use sides::Sides;

/// How long a long answer waits for memory to be held in; together with the time of a query less
/// than a worker is given.
const MEMORY_WAIT: Duration = Duration::from_secs(1);

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

    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Refusal> {
        // A database within an archive has no name by which SQLite could open it.
        let Subject::File(handle) = asked.subject else {
            return Ok(None);
        };
        let part = part_of(asked);
        let state = asked.subject.state(asked.spelled)?;
        let kept = asked.means.warm.get::<KeptAnswer>(&state, MAKER, &part);
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
        if asked.means.work.takes_long()? {
            return self.open(asked);
        }
        if let Some(inner) = asked.inner {
            let checked = sqlite::check_length(inner);
            checked.map_err(|error| Refusal::bad_params("path", error.to_string()))?;
        }
        let kept = Arc::new(read(handle, asked)?);
        let bytes = kept.text.len_bytes() as u64 * 2 + 1024;
        if kept.sides.are_settled(handle) {
            let warm = asked.means.warm;
            warm.keep((&state, handle), MAKER, &part, kept.clone(), bytes);
        }
        Ok(Some(opened(handle, asked, &kept, Cache::Miss)))
    }
}

const MAKER: &str = "sqlite";

/// An answer that holds as long as neither the database nor what is beside it changes.
#[derive(Debug)]
struct KeptAnswer {
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

fn opened(handle: &Handle, asked: &Asked, kept: &KeptAnswer, cache: Cache) -> Opened {
    let KeptAnswer { text, answer, .. } = kept;
    let document = Document {
        kind: ResourceKind::Sqlite,
        style: Style::Listing,
        location: location(&handle.into(), None),
        cache,
        notices: answer.notices.clone(),
        details: MoreDetails {
            total_lines: Some(text.len_lines() as u64),
            limits: answer.shown.map(|shown| ListingLimits {
                result_limit: shown,
                total: None,
            }),
            ..MoreDetails::default()
        },
        text: text.clone().into(),
        extras: Extras {
            footers: answer.footers.clone(),
            open_lines: answer.open_lines,
            rows_are: Some(answer.rows_are.words()),
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

/// What the files were when they were looked at. A connection made in one state is never used in
/// another.
#[derive(Debug)]
struct FilesState {
    real: RealPath,
    stamp: Stamp,
    /// Of its bytes, where it is small enough to be compared.
    hash: Option<u128>,
    sides: Sides,
    way: ConnectMode,
    salvage: bool,
}

impl FilesState {
    /// All of it, for a worker to tell one from another.
    fn text(&self) -> String {
        let path = self.real.as_path();
        let look = (path, self.stamp, self.hash, self.sides);
        format!("{look:?} {:?} {}", self.way, self.salvage)
    }

    /// The database and what is beside it, as the worker may read them.
    fn readable(&self) -> Vec<Readable> {
        let path = self.real.as_path();
        let database = Readable {
            path: path.to_owned(),
            device: self.stamp.dev,
            inode: self.stamp.ino,
        };
        let mut files = vec![database];
        files.extend(self.sides.readable(path));
        files
    }
}

/// What came of one attempt.
enum Attempt {
    Done(Box<KeptAnswer>),
    /// Once more, as soon as it stands still, or in another manner.
    Again(Manner),
}

/// What the database says, and what was beside it then.
fn read(handle: &Handle, asked: &Asked) -> Result<KeptAnswer, Refusal> {
    let begun = Instant::now();
    let mut manner = Manner::default();
    for _ in 0..ATTEMPTS {
        asked.means.work.check()?;
        match attempt(handle, asked, begun, manner)? {
            Attempt::Done(read) => return Ok(*read),
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
    begun: Instant,
    manner: Manner,
) -> Result<Attempt, Refusal> {
    let means = &asked.means;
    let (state, file) = state(handle, asked, manner)?;
    let files = state.readable();
    let order = order(asked, &state, begun);
    let outcome = means.queriers.ask(&files, order, means.work);
    // Where SQLite's locks reach, a log may grow while it is read. Everywhere else nothing may
    // have changed: a lock of SQLite's ends when any file of its process to the same inode is
    // closed, and a worker that may be somebody else's by then is not taken at its word.
    let is_steady = match (state.way, &outcome) {
        (ConnectMode::Shared, Ok((_, Reply::Answer(_) | Reply::Long(..)))) => handle.still_there(),
        (ConnectMode::Shared, _) => handle.still_there() && has_same_files(handle, asked, &files)?,
        _ => is_unchanged(handle, asked, &state)?,
    };
    let (job, reply) = match outcome {
        Ok(answered) => answered,
        Err(Stop::Died(death)) => {
            let next = after_death(death, &state, is_steady, manner);
            return next.map_or_else(|| Err(died(death, asked)), |next| Ok(Attempt::Again(next)));
        }
        Err(stop) => return Err(not_answered(stop, asked)),
    };
    let mut answer = match reply {
        Reply::Failed(failure) => {
            let next = after_failure(&failure, &state, is_steady, manner);
            if !failure.trouble().is_some_and(Trouble::is_about_files) {
                leave(job, is_steady, (&state, &file), handle, asked);
            }
            return match next {
                Some(next) => Ok(Attempt::Again(next)),
                None => Err(failure.refusal(asked.spelled, means.work)),
            };
        }
        Reply::Answer(_) | Reply::Long(..) if !is_steady => {
            job.close();
            return Ok(Attempt::Again(manner));
        }
        Reply::Answer(answer) => answer,
        Reply::Long(answer, bytes) => {
            let (job, text) = long_text(job, bytes, asked)?;
            leave(job, is_steady, (&state, &file), handle, asked);
            return Ok(done(text, answer, state.sides));
        }
    };
    let text = Text::new(&std::mem::take(&mut answer.text));
    leave(job, is_steady, (&state, &file), handle, asked);
    Ok(done(text, answer, state.sides))
}

fn done(text: Text, answer: Answer, sides: Sides) -> Attempt {
    Attempt::Done(Box::new(KeptAnswer {
        text,
        answer,
        sides,
    }))
}

/// In what manner to try again after a failure, if at all.
fn after_failure(
    failure: &QueryFailure,
    state: &FilesState,
    is_steady: bool,
    manner: Manner,
) -> Option<Manner> {
    let trouble = failure.trouble();
    let is = |test: fn(Trouble) -> bool| trouble.is_some_and(test);
    if is(Trouble::is_about_index) && state.way == ConnectMode::Shared {
        return Some(Manner {
            without_index: is_steady || manner.without_index,
            ..manner
        });
    }
    if trouble == Some(Trouble::Damage) && !(is_steady && manner.salvage) {
        return Some(Manner {
            salvage: is_steady,
            ..manner
        });
    }
    let may_be_for_it = trouble.is_none() || is(Trouble::is_about_files);
    (!is_steady && may_be_for_it).then_some(manner)
}

/// In what manner to try again after the worker's end, if at all: where a file was cut off or
/// replaced while it was read, that may have ended it.
fn after_death(
    death: Death,
    state: &FilesState,
    is_steady: bool,
    manner: Manner,
) -> Option<Manner> {
    // Of all files only the log's index is mapped into memory.
    let was_cut = death == Death::Signal(libc::SIGBUS) && state.way == ConnectMode::Shared;
    let next = Manner {
        without_index: was_cut || manner.without_index,
        ..manner
    };
    (was_cut || !is_steady).then_some(next)
}

/// The text that was too long to come with its answer.
fn long_text(mut job: QueryJob, bytes: u64, asked: &Asked) -> Result<(QueryJob, Text), Refusal> {
    let ReadContext { memory, work, .. } = asked.means;
    let share = memory.take(bytes * 2, &work.within(MEMORY_WAIT));
    let _share = share.map_err(|refusal| match work.check() {
        Ok(()) => Refusal::Busy {
            message: "other large files are being read.".to_owned(),
        },
        Err(_) => refusal,
    })?;
    let text = job.text(bytes).map_err(|stop| match stop {
        Stop::Died(death) => died(death, asked),
        stop => not_answered(stop, asked),
    })?;
    Ok((job, Text::new(&text)))
}

/// Lets the worker keep its connection where the files are still in this state and every later
/// change shows. `file` is what `handle` was before it was asked. Elsewhere than on a local file
/// system nothing tells whether that is so still when it is used again, and nothing is kept.
///
/// One with a log that other programs have open is not kept: while it is open, its lock would keep
/// them from taking their log away when they end.
fn leave(
    job: QueryJob,
    is_steady: bool,
    (state, file): (&FilesState, &FileState),
    handle: &Handle,
    asked: &Asked,
) {
    let settled = || file.still_holds(handle) && state.sides.are_settled(handle);
    if !handle.is_local() {
        // Ended: not even a look at its file is for free there.
        drop(job);
    } else if is_steady && state.way != ConnectMode::Shared && settled() {
        job.keep();
    } else {
        job.close();
    }
    asked.means.queriers.let_go_of_what_is_gone();
}

/// The refusal where a worker ended on its own, or was ended for what it said.
fn died(death: Death, asked: &Asked) -> Refusal {
    let how = match death {
        Death::Signal(signal) => format!("was ended by signal {signal}"),
        Death::Retired | Death::Other => "ended, or gave an answer that makes no sense".to_owned(),
    };
    Refusal::Damaged {
        path: sqlite::brief(asked.spelled),
        what: format!("the process that was reading it {how}"),
        instead: "Everything else goes on. Ask once more; if it ends again, ask for another part of it, or ask the user for a sound copy.".to_owned(),
    }
}

/// The refusal where no worker answered for another reason.
fn not_answered(stop: Stop, asked: &Asked) -> Refusal {
    let spelled = asked.spelled;
    match stop {
        Stop::Stopped(_) | Stop::Cpu(_) | Stop::Wall(_) => {
            sqlite::stopped(spelled, asked.means.work)
        }
        Stop::Busy => Refusal::Busy {
            message: "all that ask databases are at work.".to_owned(),
        },
        Stop::Died(death) => died(death, asked),
        Stop::Input(error) => Refusal::io(spelled, &error),
        Stop::Start(error) => Refusal::Io {
            path: sqlite::brief(spelled),
            message: format!("the process that reads databases cannot be started: {error}"),
        },
    }
}

/// What there is, and by what means it is read.
fn state(
    handle: &Handle,
    asked: &Asked,
    manner: Manner,
) -> Result<(FilesState, FileState), Refusal> {
    let refuse = |error: std::io::Error| Refusal::io(asked.spelled, &error);
    let sides = Sides::look(handle, asked.means.scope)?;
    let stamp = handle.restamp().map_err(refuse)?;
    let file = FileState::of(handle, stamp).map_err(refuse)?;
    if !handle.still_there() {
        let message = format!("'{}' was just replaced.", asked.spelled);
        return Err(Refusal::Busy { message });
    }
    let head = asked.subject.head(HEAD, asked.spelled)?;
    let way = match sides.way(&padded(head)) {
        ConnectMode::Shared if manner.without_index => ConnectMode::Alone,
        way => way,
    };
    let state = FilesState {
        real: handle.real().clone(),
        stamp,
        hash: file.hash(),
        sides,
        way,
        salvage: manner.salvage,
    };
    Ok((state, file))
}

fn is_unchanged(handle: &Handle, asked: &Asked, state: &FilesState) -> Result<bool, Refusal> {
    let stamp = handle
        .restamp()
        .map_err(|error| Refusal::io(asked.spelled, &error))?;
    Ok(handle.still_there()
        && stamp == state.stamp
        && Sides::look(handle, asked.means.scope)? == state.sides)
}

/// Whether the same files are beside the database, whatever they hold by now.
fn has_same_files(handle: &Handle, asked: &Asked, files: &[Readable]) -> Result<bool, Refusal> {
    let sides = Sides::look(handle, asked.means.scope)?;
    Ok(sides.readable(handle.real().as_path()) == files[1..])
}

/// A file that ends within its header is read as if zeros followed.
fn padded(mut head: Vec<u8>) -> Vec<u8> {
    head.resize(HEAD, 0);
    head
}

/// What is asked of a worker. All attempts of a request that began then share its time.
fn order(asked: &Asked, state: &FilesState, begun: Instant) -> Order {
    Order {
        uri: sqlite::uri(state.real.as_path()),
        way: state.way,
        salvage: state.salvage,
        state: state.text(),
        display: asked.means.display.to_owned(),
        inner: asked.inner.unwrap_or_default().to_owned(),
        selector: asked.selector.clone(),
        budget: asked.means.limits.budget,
        time_ms: QUERY_TIME.saturating_sub(begun.elapsed()).as_millis() as u64,
    }
}
