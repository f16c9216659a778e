//! Edits that change nothing, sent again and again; a model in such a loop is told so, and nobody else.

use std::collections::HashMap;

use crate::protocol::{EditRefusal, Refusal};
use crate::session::MAX_SESSIONS;

use super::applied::Request;

/// The same edit without effect is refused from this time on (`hashline.md`, Reply).
const REFUSED_AT: u32 = 3;

/// The last edit without effect of each session, and how often it came in a row.
#[derive(Debug, Default)]
pub struct NoOps(HashMap<String, (Request, u32)>);

impl NoOps {
    /// Counts one; refuses the third identical one in a row.
    pub fn count(
        &mut self,
        session: &str,
        request: Request,
        path: impl FnOnce() -> Option<String>,
    ) -> Result<(), Refusal> {
        if self.0.len() >= MAX_SESSIONS && !self.0.contains_key(session) {
            self.0.clear();
        }
        let (last, times) = self.0.entry(session.to_owned()).or_insert((request, 0));
        if *last != request {
            (*last, *times) = (request, 0);
        }
        *times += 1;
        match *times >= REFUSED_AT {
            false => Ok(()),
            true => {
                let path = path().unwrap_or_default();
                Err(EditRefusal::NoChange {
                    message: format!(
                        "This very edit of '{path}' has changed nothing {times} times in a row: the file already reads so. Read it again and go on to something else."
                    ),
                    path,
                }
                .into())
            }
        }
    }

    /// An edit of the session had an effect.
    pub fn forget(&mut self, session: &str) {
        self.0.remove(session);
    }
}
