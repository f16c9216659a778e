//! A commit: its blocking part, and between its parts the editor. Who has to be asked is asked
//! before anything is written on disk.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::timeout_at;

use crate::buffer::DocumentId;
use crate::edit::{
    Begun, Change, EditAnswer, EditContext, Finished, FoundFiles, Job, Made, Owner, Part, Plan,
    Planned, Planner, Plans, Request, declined, partly,
};
use crate::protocol::edit::EditResult;
use crate::protocol::{EditRefusal, Refusal};
use crate::session::Actor;
use crate::task::Work;

use super::client::Client;
use super::config::WorkspaceConfig;
use super::documents::look_again;
use super::edit_queue::Commit;
use super::editor::NotApplied;
use super::engine::Engine;
use super::follow::follow;

/// How often a plan is made anew because the editor's text moved on before it was asked.
const PLANS: usize = 3;

/// How far a commit came in its blocking part.
pub enum Came {
    /// To the end: the turn is over.
    Done(Box<EditAnswer>),
    /// The editor has to be asked.
    AsksEditor(Commit, Plans),
}

/// A change that is carried out, and for whom.
#[derive(Clone)]
pub struct CarryOut {
    pub engine: Arc<Engine>,
    pub client: Arc<Client>,
    pub change: Change,
    pub config: Arc<WorkspaceConfig>,
}

impl CarryOut {
    /// Plans the change and writes it. Editors are asked first: what they refuse leaves the disk as
    /// it was. `found` is what was found at its places right before.
    pub async fn run(
        self,
        mut commit: Commit,
        plan: Arc<Plan>,
        mut found: FoundFiles,
    ) -> Result<EditResult, Refusal> {
        self.engine.recovery.done().await;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let found = std::mem::take(&mut found);
            let plans;
            (commit, plans) = match self.planned(commit, &plan, found).await? {
                Came::Done(answer) => return Ok(self.answered(*answer).await),
                Came::AsksEditor(commit, plans) => (commit, plans),
            };
            self.client.send(plans.notices).await;
            // What the editor was asked cannot be called off.
            self.change.cancel.close()?;
            let _asking = Asking::of(&self, &plans.files);
            let request = plans.request;
            let parts = match self.ask_editor(plans.files, request).await {
                Ok(parts) => parts,
                Err(NotApplied::MovedOn) if attempt < PLANS => continue,
                Err(NotApplied::MovedOn | NotApplied::Declined) => {
                    let message = "The document is being typed in.".to_owned();
                    return Err(Refusal::Busy { message });
                }
                Err(NotApplied::Unconfirmed) => return Err(EditRefusal::unconfirmed(None).into()),
                Err(NotApplied::Refused(refusal)) => return Err(refusal),
            };
            let answer = self.finished(commit, parts, request).await?;
            return Ok(self.answered(answer).await);
        }
    }

    /// Plans the change, and writes it unless the editor is to be asked. The turn ends before what
    /// was written is looked at again.
    async fn planned(
        &self,
        commit: Commit,
        plan: &Arc<Plan>,
        found: FoundFiles,
    ) -> Result<Came, Refusal> {
        let (job, plan) = (self.clone(), plan.clone());
        let planned = move |work: &Work| {
            let begin = |job: &Job| job.begin(&*plan);
            match job.now(&commit, found, work, begin)? {
                Begun::Finished(finished) => {
                    drop(commit);
                    Ok(Came::Done(Box::new(finished.answer(work))))
                }
                Begun::AsksEditor(plans) => Ok(Came::AsksEditor(commit, plans)),
            }
        };
        let cancel = self.change.cancel.clone();
        self.engine.run_commit(cancel, planned).await
    }

    /// Writes what is left when the editor has done its part.
    async fn finished(
        &self,
        commit: Commit,
        parts: Vec<Part>,
        request: Request,
    ) -> Result<EditAnswer, Refusal> {
        let job = self.clone();
        let finished = move |work: &Work| {
            let finish = |job: &Job| job.finish(parts, request);
            let finished: Finished = job.now(&commit, FoundFiles::default(), work, finish)?;
            // Its turn ends before it is looked at again.
            drop(commit);
            Ok(finished.answer(work))
        };
        let cancel = self.change.cancel.clone();
        self.engine.run_commit(cancel, finished).await
    }

    /// The answer, when others have heard of it or would take too long to be told.
    async fn answered(&self, answer: EditAnswer) -> EditResult {
        let EditAnswer {
            result,
            notices,
            until,
            followed,
        } = answer;
        follow(&self.client, followed).await;
        if !notices.is_empty() {
            let client = self.client.clone();
            let (tell, sent) = oneshot::channel();
            self.engine.threads.start(async move {
                client.send(notices).await;
                let _ = tell.send(());
            });
            // They are sent all the same where that takes longer.
            let _ = timeout_at(until.into(), sent).await;
        }
        result
    }

    /// The blocking part of a commit, here and now, with the open documents as they are now.
    fn now<T>(
        &self,
        commit: &Commit,
        mut found: FoundFiles,
        work: &Work,
        part: impl FnOnce(&Job) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let overlays = found.overlays(self.client.snapshot().overlays);
        let (engine, reader) = (&self.engine, &self.engine.reader);
        let whose = (self.change.session.as_str(), self.change.names_own);
        let scope = &engine.scope_to_edit(&self.config, whose, work)?;
        part(&Job {
            change: &self.change,
            planner: Planner {
                session: &self.change.session,
                chars: self.change.chars,
                means: EditContext {
                    scope,
                    overlays: &overlays,
                    buffers: &reader.buffers,
                    sessions: &reader.sessions,
                    checks: &reader.checks,
                    editor_applies: self.client.facts().apply_edit,
                    on_disk: false,
                    editor_follows: self.client.facts().follow,
                    work,
                },
                require_seen: self.config.settings.edit.require_seen,
                places: commit.places(),
                found: &found,
                applied: &engine.applied,
                deleted: &engine.deleted,
                undo: &engine.undo,
            },
            settings: &self.config.settings,
            writer: &engine.writer,
            no_ops: &engine.no_ops,
        })
    }

    /// Has the editor change its documents, one after the other.
    async fn ask_editor(
        &self,
        planned: Vec<Planned>,
        request: Request,
    ) -> Result<Vec<Part>, NotApplied> {
        let session = &self.change.session;
        let made = Made::of_planned(&planned);
        let mut parts: Vec<Part> = Vec::new();
        let mut planned = planned.into_iter();
        while let Some(file) = planned.next() {
            let Owner::Editor { overlay, .. } = &file.live.home else {
                parts.push((file, None));
                continue;
            };
            if file.is_no_change() {
                parts.push((file, None));
                continue;
            }
            match self.client.apply_in_editor(overlay, &file).await {
                Ok(seen) => parts.push((file, Some(seen))),
                Err(refused) => {
                    if let NotApplied::Unconfirmed = refused {
                        // It may show it later.
                        self.engine.applied.lock().remember(session, request, made);
                    }
                    let done = parts.iter().filter(|(_, seen)| seen.is_some());
                    let written: Vec<String> =
                        done.map(|(file, _)| file.live.name.clone()).collect();
                    return Err(match (written.is_empty(), refused) {
                        (true, NotApplied::Declined) => {
                            let sessions = &self.engine.reader.sessions;
                            NotApplied::Refused(declined(session, sessions, &file))
                        }
                        (true, NotApplied::Unconfirmed) => {
                            let name = Some(file.live.name.as_str());
                            NotApplied::Refused(EditRefusal::unconfirmed(name).into())
                        }
                        (true, refused) => refused,
                        (false, refused) => {
                            let unwritten = parts.iter().filter(|(_, seen)| seen.is_none());
                            let mut not_written: Vec<String> =
                                unwritten.map(|(file, _)| file.live.name.clone()).collect();
                            not_written.push(file.live.name.clone());
                            not_written.extend(planned.map(|file| file.live.name));
                            NotApplied::Refused(partly(&refused.in_words(), written, not_written))
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
    engine: Arc<Engine>,
    client: Arc<Client>,
    keys: Vec<DocumentId>,
}

impl Asking {
    fn of(change: &CarryOut, planned: &[Planned]) -> Asking {
        let key = |file: &Planned| match &file.live.home {
            Owner::Editor { overlay, .. } => Some(overlay.key.clone()),
            Owner::Disk { .. } | Owner::Absent { .. } => None,
        };
        let keys: Vec<DocumentId> = planned.iter().filter_map(key).collect();
        change.client.asked.lock().extend(keys.iter().cloned());
        Asking {
            engine: change.engine.clone(),
            client: change.client.clone(),
            keys,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        for key in self.keys.drain(..) {
            self.client.asked.lock().remove(&key);
            look_again(&self.engine, &self.client, key, Actor::Editor);
        }
    }
}
