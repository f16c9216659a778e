//! From the path strings of reads and edits to the places they are ordered by; nothing is read or written here.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::Refusal;
use crate::read::{Ask, Place, place_to_edit, places_to_read};
use crate::task::Work;

use super::super::state::{Moment, State};
use super::{Reading, Submission};

/// A path as an edit names it.
#[derive(Debug, Clone)]
pub struct EditPath {
    pub path: String,
    /// Whether the edit makes the file where there is none. Then only the exact name counts:
    /// look-alikes and suffixes are other files.
    pub creates: bool,
}

impl State {
    /// Takes an edit of these paths in. To be called before the handler's first await.
    pub fn submit_edit(
        self: &Arc<State>,
        session: &str,
        paths: Vec<EditPath>,
        moment: &Moment,
    ) -> Result<Submission, Refusal> {
        let moment = moment.clone();
        self.submit_resolved(session, move |work| {
            let Moment { world, overlays } = &moment;
            let place = |named: &EditPath| {
                work.check()?;
                let EditPath { path, creates } = named;
                place_to_edit(path, *creates, &world.scope, overlays, work)
            };
            paths.iter().map(place).collect()
        })
    }

    /// How long an edit may take to find its places.
    pub fn resolving_limit(&self) -> Duration {
        self.intake.limits.resolving
    }

    /// Takes an edit in whose places are found by a job. To be called before the handler's first
    /// await.
    pub fn submit_resolved(
        self: &Arc<State>,
        session: &str,
        places: impl FnOnce(&Work) -> Result<Vec<Place>, Refusal> + Send + 'static,
    ) -> Result<Submission, Refusal> {
        let state = self.clone();
        let resolve = async move {
            let limit = state.intake.limits.resolving;
            state.in_lanes_within(limit, places).await
        };
        self.intake.submit(session, resolve)
    }

    /// Waits for the edits that came before a read and concern what it reads. Who had to wait sees
    /// the open documents as the edits left them.
    pub async fn in_turn(
        &self,
        reading: &Reading,
        ask: &Arc<Ask>,
        moment: Moment,
    ) -> Result<Moment, Refusal> {
        if reading.is_free() {
            return Ok(moment);
        }
        let (jobs_ask, jobs_moment) = (ask.clone(), moment.clone());
        let places = self
            .in_lanes(move |work| {
                let Moment { world, overlays } = &jobs_moment;
                places_to_read(&jobs_ask, &world.scope, overlays, work)
            })
            .await?;
        reading.turn(&places).await?;
        let overlays = self.engine.moment().overlays;
        Ok(Moment { overlays, ..moment })
    }
}
