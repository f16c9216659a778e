//! How a read waits for the edits that came before it.

use std::sync::Arc;

use crate::protocol::Refusal;
use crate::read::{Ask, go_on_mount, places_to_read};

use super::edit_queue::Reading;
use super::state::{Moment, State};

impl State {
    /// Waits for the edits that came before a read and concern what it reads. Who had to wait sees
    /// the open documents as the edits left them.
    pub async fn in_turn(
        &self,
        reading: &Arc<Reading>,
        ask: &Arc<Ask>,
        moment: Moment,
    ) -> Result<Moment, Refusal> {
        if reading.is_free() {
            return Ok(moment);
        }
        let (jobs_ask, jobs_moment) = (ask.clone(), moment.clone());
        let jobs_reading = reading.clone();
        let places = self
            .run(move |work| {
                let Moment { world, overlays } = &jobs_moment;
                let scope = &world.scope.of_job(work);
                go_on_mount(&jobs_ask, scope, &|it| jobs_reading.is_known(it))?;
                places_to_read(&jobs_ask, scope, overlays, work)
            })
            .await?;
        reading.turn(&places).await?;
        let overlays = self.engine.moment().overlays;
        Ok(Moment { overlays, ..moment })
    }
}
