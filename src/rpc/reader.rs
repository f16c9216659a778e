//! The threads that read, parse and begin calls in arrival order, one at a time; whoever reads never waits for a call to finish.
//!
//! The thread that leads may run the blocking job of a call it has begun: then another takes the
//! lead. So a job that hangs costs one thread, and a job is never kept while no other thread
//! stands ready to lead. The threads wait for the lead at a lock: to let the system wake one of
//! them by the input itself (epoll) made a warm read slower, not faster.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use futures::{FutureExt, SinkExt, Stream};
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tower::Service;
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use super::errand::Errand;
use super::flight::Flight;
use super::frame::{Frame, Frames};
use super::gate::{Gate, Place};
use super::lifeline::{EndOnDrop, Ending, Lifeline};
use super::message::{self, Message};
use super::writer::{Outbox, Pump};

/// What a call comes to: the service's word, or that it panicked.
type Outcome = std::thread::Result<Result<Option<Response>, ExitedError>>;

/// Reads the input and calls the service.
pub struct Reader<S, A, T> {
    pub service: S,
    /// Takes the client's answers to our requests.
    pub answers: A,
    pub gate: Arc<Gate>,
    pub busy: fn() -> Error,
    pub replies: Replies<T>,
}

/// Threads that take turns at reading: the leader, and those that run jobs or stand ready.
const THREADS: usize = 3;

/// What is done by the thread that leads.
type Reading<S, A, T> = (Reader<S, A, T>, Frames<Box<dyn Read + Send>>);

/// The lead: who holds the lock reads.
struct Lead<S, A, T> {
    reading: Mutex<Reading<S, A, T>>,
    /// Threads that wait for the lead. They only ever become more while one leads.
    followers: Arc<AtomicUsize>,
}

impl<S, A, T> Lead<S, A, T>
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError> + Send + 'static,
    S::Future: Send + 'static,
    A: futures::Sink<Response> + Send + Unpin + 'static,
    T: Stream<Item = Request> + Send + Unpin + 'static,
{
    /// Leads whenever it can, and runs what it took on while another leads, until the end.
    fn work(&self) {
        let mut reading = self.follow();
        let _ending = EndOnDrop(reading.0.replies.lifeline.clone(), Ending::EndOfInput);
        loop {
            let (more, errand) = Errand::offered(&self.followers, || {
                let (reader, frames) = &mut *reading;
                reader.take_next(frames)
            });
            if !more {
                return;
            }
            let Some(errand) = errand else { continue };
            drop(reading);
            errand.run();
            reading = self.follow();
        }
    }

    /// Waits for the lead.
    fn follow(&self) -> MutexGuard<'_, Reading<S, A, T>> {
        self.followers.fetch_add(1, Ordering::SeqCst);
        let reading = self.reading.lock();
        self.followers.fetch_sub(1, Ordering::SeqCst);
        reading
    }
}

/// Where answers go.
pub struct Replies<T> {
    pub outbox: Arc<Outbox>,
    pub pump: Arc<Pump<T>>,
    pub lifeline: Lifeline,
}

impl<T> Clone for Replies<T> {
    fn clone(&self) -> Replies<T> {
        Replies {
            outbox: self.outbox.clone(),
            pump: self.pump.clone(),
            lifeline: self.lifeline.clone(),
        }
    }
}

impl<S, A, T> Reader<S, A, T>
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError> + Send + 'static,
    S::Future: Send + 'static,
    A: futures::Sink<Response> + Send + Unpin + 'static,
    T: Stream<Item = Request> + Send + Unpin + 'static,
{
    /// Starts the reading threads. They end with the input, with the lifeline, or with the
    /// service; one that waits for input cannot be called back and is left to the end of the
    /// process.
    pub fn start(
        self,
        input: impl Read + Send + 'static,
        frame_bytes: u64,
        runtime: &Handle,
    ) -> io::Result<()> {
        let input: Box<dyn Read + Send> = Box::new(input);
        let lead = Arc::new(Lead {
            reading: Mutex::new((self, Frames::new(input, frame_bytes))),
            followers: Arc::default(),
        });
        for number in 0..THREADS {
            let (lead, runtime) = (lead.clone(), runtime.clone());
            let thread = std::thread::Builder::new().name(format!("rpc-reader-{number}"));
            thread.spawn(move || {
                let _entered = runtime.enter();
                lead.work();
            })?;
        }
        Ok(())
    }

    /// Reads and takes one frame; false at the end.
    fn take_next(&mut self, frames: &mut Frames<impl Read>) -> bool {
        if !self.replies.outbox.wait_for_room() || self.replies.lifeline.ending().is_some() {
            return false;
        }
        match frames.next() {
            Ok(Some(frame)) if self.replies.lifeline.ending().is_none() => {
                self.take(&frame);
                true
            }
            Ok(_) => false,
            Err(error) => {
                tracing::warn!(%error, "the input cannot be read");
                false
            }
        }
    }

    fn take(&mut self, frame: &Frame<'_>) {
        let refusal = match frame {
            Frame::BadHeader => Response::from_error(Id::Null, Error::parse_error()),
            Frame::TooLarge => Response::from_error(Id::Null, Error::invalid_request()),
            Frame::Body(body) => match message::parse(body) {
                Ok(Message::Call(request)) => return self.call(request),
                Ok(Message::Answer(response)) => {
                    // The sink is a table of waiters and takes everything at once.
                    let _ = self.answers.send(response).now_or_never();
                    return;
                }
                Err(refusal) => refusal,
            },
        };
        self.replies.outbox.send(&refusal);
    }

    /// Begins a call: what its handler does before its first await is done on return.
    fn call(&mut self, request: Request) {
        let id = request.id().cloned();
        let place = match &id {
            Some(id) => match self.gate.enter() {
                Some(place) => Some(place),
                None => {
                    let refusal = Response::from_error(id.clone(), (self.busy)());
                    return self.replies.outbox.send(&refusal);
                }
            },
            None => None,
        };
        let ready = std::future::poll_fn(|context| self.service.poll_ready(context));
        if let Err(exited) = futures::executor::block_on(ready) {
            return self.replies.finish(id, Ok(Err(exited)), place);
        }
        match catch_unwind(AssertUnwindSafe(|| self.service.call(request))) {
            Err(panic) => self.replies.finish(id, Err(panic), place),
            Ok(future) => {
                let future = AssertUnwindSafe(future).catch_unwind();
                let replies = self.replies.clone();
                Flight::begin(async move { replies.finish(id, future.await, place) });
            }
        }
        // After an exit no further frame may ever come, so ask now.
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(Err(_)) = self.service.poll_ready(&mut context) {
            self.replies.lifeline.end(Ending::Exit);
        }
    }
}

impl<T: Stream<Item = Request> + Unpin> Replies<T> {
    /// Answers a request; its place is given back only when the answer is on its way.
    fn finish(&self, id: Option<Id>, outcome: Outcome, place: Option<Place>) {
        self.pump.forward_ready();
        let response = match (outcome, id) {
            (Ok(Ok(Some(response))), Some(_)) => Some(response),
            // The service keeps silent about unknown methods that begin with `$/`. Right for
            // notifications, but every request has an answer.
            (Ok(Ok(None)), Some(id)) => Some(Response::from_error(id, Error::method_not_found())),
            (Ok(Err(_)), Some(id)) => Some(Response::from_error(id, Error::invalid_request())),
            (Err(_), Some(id)) => Some(Response::from_error(id, Error::internal_error())),
            (Ok(Err(_)), None) => {
                self.lifeline.end(Ending::Exit);
                None
            }
            (_, None) => None,
        };
        if let Some(response) = response {
            // Answers that come by the dozen are better written many at a time.
            match place.as_ref().is_some_and(Place::is_alone) {
                true => self.outbox.send_at_once(&response),
                false => self.outbox.send(&response),
            }
        }
        drop(place);
    }
}
