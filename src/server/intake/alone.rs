//! An edit that came when no other was waiting or being written: it takes its own tickets, and never goes before one that came earlier.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::protocol::Refusal;
use crate::read::Place;

use super::flight::Flight;
use super::{Grant, Intake, PendingEdit, Submission, too_slow};

/// Its place in the order, which is the first one. Dropping it withdraws the edit.
#[derive(Debug)]
pub struct Alone(PendingEdit);

impl Intake {
    /// Takes an edit in if nobody is in front of it: no edit that is not yet committed, and no read
    /// of its session. To be called before the handler's first await.
    pub fn submit_alone(self: &Arc<Intake>, session: &str) -> Option<Alone> {
        if !self.reads.of(session).is_empty() {
            return None;
        }
        let flight = Flight::alone(session);
        let is_first = self.now.send_if_modified(|now| {
            let is_first = now.pending.is_empty() && !now.closed;
            if is_first {
                Arc::make_mut(&mut now.pending).push(flight.clone());
            }
            is_first
        });
        is_first.then(|| {
            let intake = self.clone();
            Alone(PendingEdit { intake, flight })
        })
    }
}

impl Alone {
    /// Takes the tickets of its places. Refuses where it took so long to find them that those who
    /// came later were let pass.
    pub fn take_tickets(self, places: Vec<Place>) -> Result<Submission, Refusal> {
        let Alone(pending) = self;
        let tickets = pending.intake.lines.join(places.clone());
        if !pending.flight.publish(places) {
            return Err(too_slow());
        }
        let (reply, receiver) = oneshot::channel();
        // The receiver is here.
        let _ = reply.send(Ok(tickets));
        Ok(Submission {
            pending,
            tickets: receiver,
            reads: Vec::new(),
        })
    }

    /// Lets those who came later pass, unless it has its tickets; whether it did.
    pub fn pass_over(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let flight = self.0.flight.clone();
        move || flight.publish(Vec::new())
    }
}

impl Submission {
    /// The turn, if it need not be waited for.
    pub fn granted_now(mut self) -> Result<Grant, Submission> {
        match self.tickets.try_recv() {
            Ok(Ok(tickets)) if tickets.are_first() && self.reads.is_empty() => Ok(Grant {
                pending: self.pending,
                tickets,
            }),
            Ok(tickets) => {
                let (reply, receiver) = oneshot::channel();
                let _ = reply.send(tickets);
                self.tickets = receiver;
                Err(self)
            }
            Err(_) => Err(self),
        }
    }
}
