//! The worker for a database itself: one question after another, until its parent hangs up.

use std::time::Duration;

use crate::task::{CancelToken, Work, give_back_memory};
use crate::worker::WorkerLoop;

use super::connection::{self, Link};
use super::failure::{QueryFailure, Refused};
use super::fault::QueryError;
use super::forms::Question;
use super::messages::{Answer, Order, QueryRequest, QueryResponse};

/// Bytes of a text that goes out with its answer. A longer one waits until the parent has room.
const TEXT_AT_ONCE: usize = 1024 * 1024;

/// Bytes of the longest text: a row of [`connection::MAX_VALUE`] bytes, its names and its breaks.
const LONGEST_TEXT: usize = 33 * 1024 * 1024;

/// After SQLite held so many bytes, what the allocator keeps of them is given back.
const TRIMMED_OVER: u64 = 2 * 1024 * 1024;

/// What a worker keeps between two requests.
#[derive(Debug, Default)]
struct Warm {
    open: Option<OpenConnection>,
    /// The text that waits to be asked for.
    text: String,
}

/// A connection, and the state of the files that it was made for.
#[derive(Debug)]
struct OpenConnection {
    link: Link,
    state: String,
}

/// Answers requests until nobody listens any more.
pub fn serve(requests: &mut WorkerLoop) -> Option<()> {
    let mut warm = Warm::default();
    loop {
        let (request, _) = requests.receive()?;
        match request {
            QueryRequest::Ask(order) => {
                #[cfg(any(feature = "failpoints", debug_assertions))]
                if misbehave(requests, &order)? {
                    continue;
                }
                answer(&mut warm, &order, requests)?;
            }
            QueryRequest::Text => {
                let text = std::mem::take(&mut warm.text);
                requests.answer(&QueryResponse::Text, &text)?;
                trim_after(text);
            }
            QueryRequest::Close => {
                warm.open = None;
                requests.answer(&QueryResponse::Closed, "")?;
            }
        }
    }
}

fn answer(warm: &mut Warm, order: &Order, requests: &mut WorkerLoop) -> Option<()> {
    let asked = warm.ask(order);
    let asked = asked.and_then(|answer| match answer.is_brief() {
        true if answer.text.len() <= LONGEST_TEXT => Ok(answer),
        _ => Err(too_long().into()),
    });
    match asked {
        Err(fault) => requests.answer(&QueryResponse::Failed(QueryFailure::from(fault)), "")?,
        Ok(mut answer) => {
            let text = std::mem::take(&mut answer.text);
            if text.len() <= TEXT_AT_ONCE {
                requests.answer(&QueryResponse::Answer(answer), &text)?;
            } else {
                warm.text = text;
                let bytes = warm.text.len() as u64;
                requests.answer(&QueryResponse::Long(answer, bytes), "")?;
            }
        }
    }
    if connection::peak_since() > TRIMMED_OVER {
        give_back_memory();
    }
    Some(())
}

fn too_long() -> Refused {
    Refused::TooLarge {
        what: "the answer has more than 32 MiB of text".to_owned(),
        instead: "Ask for some of it with ?q=SELECT ….".to_owned(),
    }
}

impl Warm {
    /// Asks the database in the state that the order is about.
    fn ask(&mut self, order: &Order) -> Result<Answer, QueryError> {
        self.text = String::new();
        // One for another state is closed before the next is opened.
        let open = self.open.take().filter(|open| open.state == order.state);
        let mut link = match open {
            Some(open) => open.link,
            None => Link::open(&order.uri, order.way, order.salvage)?,
        };
        let limit = Duration::from_millis(order.time_ms);
        let work = Work::new(CancelToken::new(), limit);
        let answer = ask(&mut link, order, &work);
        // What is in the middle of something is not used again.
        if link.connection.is_autocommit() {
            let state = order.state.clone();
            self.open = Some(OpenConnection { link, state });
        }
        answer
    }
}

/// One state of the database, asked.
fn ask(link: &mut Link, order: &Order, work: &Work) -> Result<Answer, QueryError> {
    link.work_for(work)?;
    link.begin()?;
    let answer = Question {
        link,
        display: &order.display,
        inner: &order.inner,
        selector: &order.selector,
        budget: order.budget,
        work,
    }
    .answer();
    // Should this fail, the connection is not kept.
    let _ = link.work_for(work).and_then(|()| link.end());
    answer
}

/// Lets go of a text, and where it was long of what the allocator keeps of it.
fn trim_after(text: String) {
    let is_long = text.len() > TEXT_AT_ONCE;
    drop(text);
    if is_long {
        give_back_memory();
    }
}

/// Does what a question of tests asks for. Whether that was all; `None` where nobody listens any
/// more.
#[cfg(any(feature = "failpoints", debug_assertions))]
fn misbehave(requests: &mut WorkerLoop, order: &Order) -> Option<bool> {
    use crate::view::Selector;
    use crate::view::selector::Piece;

    let text = order.inner.as_bytes();
    if requests.misbehave(text)? {
        return Some(true);
    }
    let asks = |what: &str| requests.may_be_asked(text, what);
    if asks("bus") {
        read_beyond_the_end(&order.uri);
    }
    let whole = QueryResponse::Answer(Answer::default());
    if asks("probe") {
        requests.answer(&whole, crate::worker::probe() + &probe_database(&order.uri))?;
    } else if asks("bytes") {
        requests.answer(&whole, [0xFF, 0xFE])?;
    } else if asks("text") {
        // One that is shorter than it says when it is asked for.
        requests.answer(&QueryResponse::Long(Answer::default(), 99), "")?;
    } else if asks("closed") {
        requests.answer(&QueryResponse::Closed, "")?;
    } else if asks("lines") {
        let selector = Selector {
            pieces: vec![Piece::Range(9, 0)],
            ..Selector::default()
        };
        let answer = Answer {
            selector,
            ..Answer::default()
        };
        requests.answer(&QueryResponse::Answer(answer), "a line\n")?;
    } else {
        return Some(false);
    }
    Some(true)
}

/// What can be done to the database itself, in lines like those of [`crate::worker::probe`].
#[cfg(any(feature = "failpoints", debug_assertions))]
fn probe_database(uri: &str) -> String {
    let path = uri.trim_start_matches("file:");
    let said = |outcome: std::io::Result<std::fs::File>| match outcome {
        Ok(_) => "allowed".to_owned(),
        Err(error) => error.to_string(),
    };
    let read = said(std::fs::File::open(path));
    let write = said(std::fs::File::options().append(true).open(path));
    let another = said(std::fs::File::open(format!("{path}.another")));
    format!("its database: {read}\nwrite its database: {write}\nanother beside it: {another}\n")
}

/// Reads a mapped page that is not in the database any more, which ends the process.
#[cfg(any(feature = "failpoints", debug_assertions))]
fn read_beyond_the_end(uri: &str) {
    use std::os::fd::AsRawFd;

    let Ok(file) = std::fs::File::open(uri.trim_start_matches("file:")) else {
        return;
    };
    let len = file
        .metadata()
        .map_or(0, |metadata| metadata.len() as usize);
    let beyond = len + 128 * 1024;
    // SAFETY: a mapping of our own that nobody else knows; that the page is not there is the point.
    unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            beyond,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if start != libc::MAP_FAILED {
            start.cast::<u8>().add(beyond - 1).read_volatile();
        }
    }
}
