//! What died in the middle of a write is cleaned up after, in the background; no edit begins before that is done, and no read waits for it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::task::{CancelToken, Work};

use super::lifecycle::report_problems;
use super::state::{State, WORK_LIMIT};

/// How long an edit waits. After that it goes on: both lock what they write and look at it again,
/// so that neither undoes what the other did.
const WAIT: Duration = Duration::from_secs(5);

/// The cleanings since the start.
#[derive(Debug)]
pub struct Cleanings {
    /// How many are wanted and not done.
    open: watch::Sender<usize>,
    /// One at a time: a note that one works through is passed over by another.
    turn: Arc<Mutex<()>>,
}

impl Default for Cleanings {
    fn default() -> Cleanings {
        Cleanings {
            open: watch::Sender::new(0),
            turn: Arc::default(),
        }
    }
}

/// A cleaning that is not done. It is when this is dropped, however it ended.
struct Open(Arc<State>);

impl Open {
    fn new(state: &Arc<State>) -> Open {
        state.cleanings.open.send_modify(|open| *open += 1);
        Open(state.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.cleanings.open.send_modify(|open| *open -= 1);
    }
}

impl State {
    /// Begins to remove what dead processes left in the roots as they are now.
    pub fn clean_leftovers(self: &Arc<State>) {
        let open = Open::new(self);
        let state = self.clone();
        self.threads.start(async move {
            let (engine_state, turn) = (state.clone(), state.cleanings.turn.clone());
            let job = move |work: &Work| {
                let _turn = turn.lock();
                let engine = &engine_state.engine;
                engine
                    .writer
                    .clean_leftovers(&engine.world().scope.of_job(work))
            };
            let work = Work::new(CancelToken::new(), WORK_LIMIT);
            let left = state.run_background(work, job).await;
            let left = left.unwrap_or_else(|stopped| {
                vec![format!(
                    "What earlier processes left behind could not be cleaned up: {stopped}"
                )]
            });
            for problem in left {
                tracing::warn!(problem, "leftovers");
                state.problems.lock().add(problem);
            }
            drop(open);
        });
    }

    /// Whether nothing of that is left to do.
    pub fn is_cleaned(&self) -> bool {
        *self.cleanings.open.borrow() == 0
    }

    /// Waits until what dead processes left is cleaned up, or for a while.
    pub async fn cleaned(&self) {
        let mut open = self.cleanings.open.subscribe();
        let done = open.wait_for(|open| *open == 0);
        if timeout(WAIT, done).await.is_err() {
            tracing::warn!("leftovers are still being cleaned up; edits go on");
        }
    }

    /// Tells the client what could not be cleaned up, once that is known.
    pub fn report_when_cleaned(self: &Arc<State>) {
        let state = self.clone();
        self.threads.start(async move {
            state.cleaned().await;
            report_problems(&state).await;
        });
    }
}
