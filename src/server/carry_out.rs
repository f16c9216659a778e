//! A commit: its blocking part, and between its parts the editor. Who has to be asked is asked
//! before anything is written on disk.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::timeout_at;

use crate::buffer::DocumentKey;
use crate::edit::{
    Answer, Begun, Change, EditorCan, Finished, Found, Home, Job, Made, Means, Part, Planned,
    Plans, Request, declined, partly,
};
use crate::protocol::edit::EditResult;
use crate::protocol::{EditRefusal, Refusal};
use crate::session::Actor;
use crate::task::Work;

use super::documents::look_again;
use super::edit_queue::Commit;
use super::state::{State, World};

/// What plans the files of a change; it may be asked more than once.
pub type Plan = Arc<dyn Fn(&Job) -> Result<Plans, Refusal> + Send + Sync + 'static>;

/// How often a plan is made anew because the editor's text moved on before it was asked.
const PLANS: usize = 3;

/// How far a commit came in its blocking part.
pub enum Came {
    /// To the end: the turn is over.
    Done(Box<Answer>),
    /// The editor has to be asked.
    AsksEditor(Commit, Plans),
}

impl State {
    /// Plans the change and writes it. Editors are asked first: what they refuse leaves the disk as
    /// it was. `found` is what was found at its places right before.
    pub async fn carry_out(
        self: &Arc<State>,
        mut commit: Commit,
        change: Change,
        world: Arc<World>,
        plan: Plan,
        mut found: Found,
    ) -> Result<EditResult, Refusal> {
        self.cleaned().await;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let found = std::mem::take(&mut found);
            let plans;
            (commit, plans) = match self.planned(commit, &change, &world, &plan, found).await? {
                Came::Done(answer) => return Ok(self.answered(*answer).await),
                Came::AsksEditor(commit, plans) => (commit, plans),
            };
            self.send(plans.notices).await;
            // What the editor was asked cannot be called off.
            change.cancel.close()?;
            let _asking = Asking::of(self, &plans.files);
            let request = plans.request;
            let parts = match self.ask_editor(&change.session, plans.files, request).await {
                Ok(parts) => parts,
                Err(Asked::MovedOn) if attempt < PLANS => continue,
                Err(Asked::MovedOn | Asked::Declined) => {
                    let message = "The document is being typed in.".to_owned();
                    return Err(Refusal::Busy { message });
                }
                Err(Asked::Unconfirmed) => return Err(EditRefusal::unconfirmed(None).into()),
                Err(Asked::Refused(refusal)) => return Err(refusal),
            };
            let finish = move |job: &Job| job.finish(parts, request);
            let answer = self.finished(commit, change, world, finish).await?;
            return Ok(self.answered(answer).await);
        }
    }

    /// Plans the change, and writes it unless the editor is to be asked. The turn ends before what
    /// was written is looked at again.
    async fn planned(
        self: &Arc<State>,
        commit: Commit,
        change: &Change,
        world: &Arc<World>,
        plan: &Plan,
        found: Found,
    ) -> Result<Came, Refusal> {
        let (state, world, plan) = (self.clone(), world.clone(), plan.clone());
        let change = change.clone();
        self.run_commit(change.cancel.clone(), move |work| {
            let begin = |job: &Job| job.begin(&*plan);
            match state.job_of(&commit, (&change, found), &world, work, begin)? {
                Begun::Finished(finished) => {
                    drop(commit);
                    Ok(Came::Done(Box::new(finished.answer(work))))
                }
                Begun::AsksEditor(plans) => Ok(Came::AsksEditor(commit, plans)),
            }
        })
        .await
    }

    /// Writes what is left when the editor has done its part.
    async fn finished(
        self: &Arc<State>,
        commit: Commit,
        change: Change,
        world: Arc<World>,
        finish: impl FnOnce(&Job) -> Result<Finished, Refusal> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let state = self.clone();
        self.run_commit(change.cancel.clone(), move |work| {
            let found = (&change, Found::default());
            let finished = state.job_of(&commit, found, &world, work, finish)?;
            // Its turn ends before it is looked at again.
            drop(commit);
            Ok(finished.answer(work))
        })
        .await
    }

    /// The answer, when others have heard of it or would take too long to be told.
    pub async fn answered(self: &Arc<State>, answer: Answer) -> EditResult {
        let Answer {
            result,
            notices,
            until,
        } = answer;
        if !notices.is_empty() {
            let state = self.clone();
            let (tell, sent) = oneshot::channel();
            self.threads.start(async move {
                state.send(notices).await;
                let _ = tell.send(());
            });
            // They are sent all the same where that takes longer.
            let _ = timeout_at(until.into(), sent).await;
        }
        result
    }

    /// The blocking part of a commit, here and now, with the open documents as they are now.
    /// With the change comes what was found at its places in this very moment.
    pub fn job_of<T>(
        &self,
        commit: &Commit,
        (change, mut found): (&Change, Found),
        world: &World,
        work: &Work,
        part: impl FnOnce(&Job) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let overlays = found.overlays(self.engine.moment().overlays);
        let reader = &self.engine.reader;
        let scope = &world.scope.of_job(work);
        let facts = self.client_facts.get().copied().unwrap_or_default();
        part(&Job {
            change,
            means: Means {
                scope,
                overlays: &overlays,
                buffers: &reader.buffers,
                sessions: &reader.sessions,
                checks: &reader.checks,
                editor: EditorCan {
                    apply: facts.apply_edit,
                },
                work,
            },
            settings: &world.settings,
            writer: &self.engine.writer,
            no_ops: &self.no_ops,
            applied: &self.applied,
            places: commit.places(),
            found,
        })
    }

    /// Has the editor change its documents, one after the other.
    async fn ask_editor(
        self: &Arc<State>,
        session: &str,
        planned: Vec<Planned>,
        request: Request,
    ) -> Result<Vec<Part>, Asked> {
        let made = Made::of_planned(&planned);
        let mut parts: Vec<Part> = Vec::new();
        let mut planned = planned.into_iter();
        while let Some(file) = planned.next() {
            let Home::Editor { overlay, .. } = &file.live.home else {
                parts.push((file, None));
                continue;
            };
            if file.is_no_change() {
                parts.push((file, None));
                continue;
            }
            match self.apply_in_editor(overlay, &file).await {
                Ok(seen) => parts.push((file, Some(seen))),
                Err(refused) => {
                    if let Asked::Unconfirmed = refused {
                        // It may show it later.
                        self.applied.lock().remember(session, request, made);
                    }
                    let done = parts.iter().filter(|(_, seen)| seen.is_some());
                    let written: Vec<String> =
                        done.map(|(file, _)| file.live.name.clone()).collect();
                    return Err(match (written.is_empty(), refused) {
                        (true, Asked::Declined) => {
                            let sessions = &self.engine.reader.sessions;
                            Asked::Refused(declined(session, sessions, &file))
                        }
                        (true, Asked::Unconfirmed) => {
                            let name = Some(file.live.name.as_str());
                            Asked::Refused(EditRefusal::unconfirmed(name).into())
                        }
                        (true, refused) => refused,
                        (false, refused) => {
                            let unwritten = parts.iter().filter(|(_, seen)| seen.is_none());
                            let mut not_written: Vec<String> =
                                unwritten.map(|(file, _)| file.live.name.clone()).collect();
                            not_written.push(file.live.name.clone());
                            not_written.extend(planned.map(|file| file.live.name));
                            Asked::Refused(partly(&refused.in_words(), written, not_written))
                        }
                    });
                }
            }
        }
        Ok(parts)
    }
}

/// Documents that the editor is being asked to change. What others did to them is looked at when
/// this is dropped.
struct Asking {
    state: Arc<State>,
    keys: Vec<DocumentKey>,
}

impl Asking {
    fn of(state: &Arc<State>, planned: &[Planned]) -> Asking {
        let key = |file: &Planned| match &file.live.home {
            Home::Editor { overlay, .. } => Some(overlay.key.clone()),
            Home::Disk { .. } | Home::Absent { .. } => None,
        };
        let keys: Vec<DocumentKey> = planned.iter().filter_map(key).collect();
        state.asked.lock().extend(keys.iter().cloned());
        Asking {
            state: state.clone(),
            keys,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        for key in self.keys.drain(..) {
            self.state.asked.lock().remove(&key);
            look_again(&self.state, key, Actor::Editor);
        }
    }
}

/// Why the editor did not do it.
#[derive(Debug)]
pub enum Asked {
    /// Its text is another than was planned on.
    MovedOn,
    /// It did not take the edit, though its text is what was planned on.
    Declined,
    /// Nobody knows whether it did.
    Unconfirmed,
    Refused(Refusal),
}

impl Asked {
    fn in_words(&self) -> String {
        match self {
            Asked::MovedOn => "the document is being typed in".to_owned(),
            Asked::Declined => "the editor did not take the edit".to_owned(),
            Asked::Unconfirmed => "the editor did not show the edit in time".to_owned(),
            Asked::Refused(refusal) => refusal.to_string(),
        }
    }
}
