//! A database, as the daemon asks it.

use std::io;
use std::sync::Arc;

use crate::task::Work;
use crate::worker::{Call, Choice, Death, Input, Readable, Status, Stop, WorkerLimits, Workers};

use super::failure::Failure;
use super::messages::{Answer, Order, Request, Response};

/// Databases that are open at a time, and questions.
const PLACES: usize = 8;

/// The workers for databases of one engine.
#[derive(Debug)]
pub struct Queriers(Arc<Workers>);

/// A worker that has answered, with the database open. One that is dropped without a word about its
/// connection is ended: nobody knows what became of the files.
#[derive(Debug)]
pub struct Job(Option<Call>);

/// What came of a question.
#[derive(Debug)]
pub enum Reply {
    Answer(Answer),
    /// Without its text, which has so many bytes; see [`Job::text`].
    Long(Answer, u64),
    Failed(Failure),
}

/// No bytes go with a question.
const NOTHING: Input = Input {
    bytes: 0,
    open: &|| Ok(Box::new(io::empty())),
};

impl Queriers {
    pub fn new(limits: WorkerLimits) -> Queriers {
        Queriers(Arc::new(Workers::new("query", PLACES, limits)))
    }

    pub fn status(&self) -> Status {
        self.0.status()
    }

    /// Ends what holds databases open that are no longer where they were.
    pub fn let_go_of_what_is_gone(&self) {
        self.0.end_for_what_is_gone();
    }

    /// Asks a worker that may read exactly these files, of which the first is the database, and
    /// waits for what it says; see [`Workers::call`].
    pub fn ask(&self, files: &[Readable], order: Order, work: &Work) -> Result<(Job, Reply), Stop> {
        let request = Request::Ask(Box::new(order));
        let choice = Choice::Reader(files);
        let (call, response, body) = self.0.call(&request, &NOTHING, choice, work)?;
        let mut job = Job(Some(call));
        let reply = match response {
            Response::Answer(answer) => Reply::Answer(Answer {
                text: job.readable(body)?,
                ..answer
            }),
            Response::Long(answer, bytes) if bytes <= self.0.limits().output_bytes => {
                Reply::Long(answer, bytes)
            }
            Response::Failed(failure) => Reply::Failed(failure),
            Response::Long(..) | Response::Text | Response::Closed => {
                return Err(job.nonsense());
            }
        };
        match &reply {
            Reply::Answer(answer) | Reply::Long(answer, _) if !answer.makes_sense() => {
                Err(job.nonsense())
            }
            _ => Ok((job, reply)),
        }
    }
}

impl Job {
    /// The text of a long answer, of so many bytes. After an error the job is over.
    pub fn text(&mut self, bytes: u64) -> Result<String, Stop> {
        match self.next(&Request::Text)? {
            (Response::Text, body) if body.len() as u64 == bytes => self.readable(body),
            _ => Err(self.nonsense()),
        }
    }

    /// Lets the worker keep its connection for the next question about the same state.
    pub fn keep(mut self) {
        self.0 = None;
    }

    /// Closes the database; the worker stays. One that does not do so is ended.
    pub fn close(mut self) {
        if let Ok((Response::Closed, _)) = self.next(&Request::Close) {
            self.0 = None;
        }
    }

    fn next(&mut self, request: &Request) -> Result<(Response, Vec<u8>), Stop> {
        match &mut self.0 {
            Some(call) => call.next(request),
            None => Err(Stop::Died(Death::Other)),
        }
    }

    fn nonsense(&mut self) -> Stop {
        match &mut self.0 {
            Some(call) => call.nonsense(),
            None => Stop::Died(Death::Other),
        }
    }

    /// A body as the text that it must be.
    fn readable(&mut self, body: Vec<u8>) -> Result<String, Stop> {
        String::from_utf8(body).map_err(|_| self.nonsense())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call.retire();
        }
    }
}
