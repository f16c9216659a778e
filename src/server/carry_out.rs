//! The way of a commit between the blocking threads and the editor; who has to be asked is asked before anything is written on disk.

use std::sync::Arc;

use crate::buffer::DocumentKey;
use crate::edit::{
    Begun, Change, EditorCan, Found, Home, Job, Means, Part, Planned, declined, partly,
};
use crate::protocol::Refusal;
use crate::protocol::edit::EditResult;
use crate::session::{Actor, Notice};
use crate::task::{Detour, Work};

use super::documents::look_again;
use super::intake::Commit;
use super::state::{State, World};

/// What plans the files of a change; it may be asked more than once.
pub type Plan =
    Arc<dyn Fn(&Job) -> Result<(Vec<Planned>, Vec<Notice>), Detour> + Send + Sync + 'static>;

/// How often a plan is made anew because the editor's text moved on before it was asked.
const PLANS: usize = 3;

impl State {
    /// Plans the change, unless that has `begun`, and writes it. Editors are asked first: what they refuse leaves the disk
    /// as it was.
    pub async fn carry_out(
        self: &Arc<State>,
        commit: Arc<Commit>,
        change: Change,
        world: Arc<World>,
        plan: Plan,
        begun: Option<Begun>,
    ) -> Result<EditResult, Refusal> {
        self.cleaned().await;
        let mut attempt = 0;
        let mut begun = begun;
        loop {
            attempt += 1;
            let plan = plan.clone();
            let begun = match begun.take() {
                Some(begun) => begun,
                None => {
                    self.in_job(&commit, &change, &world, move |job| job.begin(&*plan))
                        .await?
                }
            };
            let planned = match begun {
                Begun::Done(answer) => {
                    let (result, notices) = *answer;
                    self.send(notices).await;
                    return Ok(result);
                }
                Begun::AsksEditor(planned, notices) => {
                    self.send(notices).await;
                    planned
                }
            };
            let _asking = Asking::of(self, &planned);
            let parts = match self.ask_editor(&change.session, planned).await {
                Ok(parts) => parts,
                Err(Asked::MovedOn) if attempt < PLANS => continue,
                Err(Asked::MovedOn | Asked::Declined) => {
                    let message = "The document is being typed in.".to_owned();
                    return Err(Refusal::Busy { message });
                }
                Err(Asked::Refused(refusal)) => return Err(refusal),
            };
            let finish = move |job: &Job| job.finish(parts);
            let (result, notices) = self.in_job(&commit, &change, &world, finish).await?;
            self.send(notices).await;
            return Ok(result);
        }
    }

    /// Runs a blocking part of a commit.
    async fn in_job<T: Send + 'static>(
        self: &Arc<State>,
        commit: &Arc<Commit>,
        change: &Change,
        world: &Arc<World>,
        part: impl FnOnce(&Job) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (state, change, world) = (self.clone(), change.clone(), world.clone());
        self.in_commit_lane(commit.clone(), move |commit: &Commit, work: &Work| {
            let change = (&change, Found::default());
            state.job_of(commit, change, &world, work, part)
        })
        .await
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
        let facts = self.client_facts.get().copied().unwrap_or_default();
        part(&Job {
            change,
            means: Means {
                scope: &world.scope,
                overlays: &overlays,
                buffers: &reader.buffers,
                sessions: &reader.sessions,
                trees: &reader.trees,
                editor: EditorCan {
                    apply: facts.apply_edit,
                },
                work,
            },
            settings: &world.settings,
            writer: &self.engine.writer,
            no_ops: &self.no_ops,
            places: commit.places(),
            found,
        })
    }

    /// Has the editor change its documents, one after the other.
    async fn ask_editor(
        self: &Arc<State>,
        session: &str,
        planned: Vec<Planned>,
    ) -> Result<Vec<Part>, Asked> {
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
                    let done = parts.iter().filter(|(_, seen)| seen.is_some());
                    let written: Vec<String> =
                        done.map(|(file, _)| file.live.name.clone()).collect();
                    return Err(match (written.is_empty(), refused) {
                        (true, Asked::Declined) => {
                            let sessions = &self.engine.reader.sessions;
                            Asked::Refused(declined(session, sessions, &file))
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
    Refused(Refusal),
}

impl Asked {
    fn in_words(&self) -> String {
        match self {
            Asked::MovedOn => "the document is being typed in".to_owned(),
            Asked::Declined => "the editor did not take the edit".to_owned(),
            Asked::Refused(refusal) => refusal.to_string(),
        }
    }
}
