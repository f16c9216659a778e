//! A database, as the daemon asks it.

use std::io;
use std::sync::Arc;

use crate::protocol::status::WorkersOfKind;
use crate::task::Work;
use crate::worker::{Choice, Death, Input, Readable, Stop, WorkerCall, WorkerLimits, Workers};

use super::failure::QueryFailure;
use super::messages::{Answer, Order, QueryRequest, QueryResponse};

/// Databases that are open at a time, and questions.
const PLACES: usize = 8;

/// The workers for databases of one engine.
#[derive(Debug)]
pub struct Queriers(Arc<Workers>);

/// A worker that has answered, with the database open. One that is dropped without a word about its
/// connection is ended: nobody knows what became of the files.
#[derive(Debug)]
pub struct QueryJob(Option<WorkerCall>);

/// What came of a question.
#[derive(Debug)]
pub enum Reply {
    Answer(Answer),
    /// Without its text, which has so many bytes; see [`QueryJob::text`].
    Long(Answer, u64),
    Failed(QueryFailure),
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

    pub fn status(&self) -> WorkersOfKind {
        self.0.status()
    }

    /// Ends what holds databases open that are no longer where they were.
    pub fn let_go_of_what_is_gone(&self) {
        self.0.end_for_what_is_gone();
    }

    /// Asks a worker that may read exactly these files, of which the first is the database, and
    /// waits for what it says; see [`Workers::call`].
    pub fn ask(
        &self,
        files: &[Readable],
        order: Order,
        work: &Work,
    ) -> Result<(QueryJob, Reply), Stop> {
        let request = QueryRequest::Ask(Box::new(order));
        let choice = Choice::Reader(files);
        let (call, response, body) = self.0.call(&request, &NOTHING, choice, work)?;
        let mut job = QueryJob(Some(call));
        let reply = match response {
            QueryResponse::Answer(answer) => Reply::Answer(Answer {
                text: job.readable(body)?,
                ..answer
            }),
            QueryResponse::Long(answer, bytes) if bytes <= self.0.limits().output_bytes => {
                Reply::Long(answer, bytes)
            }
            QueryResponse::Failed(failure) => Reply::Failed(failure),
            QueryResponse::Long(..) | QueryResponse::Text | QueryResponse::Closed => {
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

impl QueryJob {
    /// The text of a long answer, of so many bytes. After an error the job is over.
    pub fn text(&mut self, bytes: u64) -> Result<String, Stop> {
        match self.next(&QueryRequest::Text)? {
            (QueryResponse::Text, body) if body.len() as u64 == bytes => self.readable(body),
            _ => Err(self.nonsense()),
        }
    }

    /// Lets the worker keep its connection for the next question about the same state.
    pub fn keep(mut self) {
        self.0 = None;
    }

    /// Closes the database; the worker stays. One that does not do so is ended.
    pub fn close(mut self) {
        if let Ok((QueryResponse::Closed, _)) = self.next(&QueryRequest::Close) {
            self.0 = None;
        }
    }

    fn next(&mut self, request: &QueryRequest) -> Result<(QueryResponse, Vec<u8>), Stop> {
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

impl Drop for QueryJob {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call.retire();
        }
    }
}
