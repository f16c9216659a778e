//! The commit of a planned change, by the editor or on disk; an answer is never given before what it says is on record.

use std::sync::Arc;

use crate::buffer::Detour;
use crate::edit::disk::{self, FileWrite, Target, WriteError};
use crate::edit::{
    Done, EditorCan, Home, Means, Outcome, Planned, Recorded, changed_since, parse_warning,
    record_disk, record_seen, reply,
};
use crate::protocol::edit::{EditResult, Warning};
use crate::protocol::{EditRefusal, Refusal};
use crate::read::Place;
use crate::session::Notice;
use crate::task::Work;

use super::editor::Seen;
use super::intake::Commit;
use super::state::{Moment, State, World};

/// What is known of a change besides its plan.
#[derive(Debug, Clone)]
pub struct Change {
    pub session: String,
    /// Equal for changes that are sent again unchanged.
    pub identity: u128,
    pub dry_run: bool,
    /// Roots and settings as they were when it came.
    pub world: Arc<World>,
}

/// What a plan is made with.
#[derive(Clone, Copy)]
pub struct Planning<'a> {
    pub session: &'a str,
    pub means: Means<'a>,
    pub require_seen: bool,
    pub places: &'a [Place],
}

pub type Plan =
    Arc<dyn Fn(Planning) -> Result<(Vec<Planned>, Vec<Notice>), Detour> + Send + Sync + 'static>;

/// How often a plan is made anew because the editor's text moved on before it was asked.
const PLANS: usize = 3;

/// A plan before and after the editor did its part.
type Part = (Planned, Option<Seen>);

/// The answer, and what other sessions are to hear.
type Answer = (EditResult, Vec<Notice>);

impl State {
    /// Plans the change and writes it. Editors are asked first: what they refuse leaves the disk
    /// as it was.
    pub async fn carry_out(
        self: &Arc<State>,
        commit: Arc<Commit>,
        change: Change,
        plan: Plan,
    ) -> Result<EditResult, Refusal> {
        self.cleaned().await;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let moment = Moment {
                world: change.world.clone(),
                overlays: self.engine.moment().overlays,
            };
            let (job_state, job_change, job_plan) = (self.clone(), change.clone(), plan.clone());
            let begun = self
                .in_commit_lane(commit.clone(), move |commit, work| {
                    let job = Job {
                        state: &job_state,
                        change: &job_change,
                        moment: &moment,
                        work,
                    };
                    job.plan_and_write(commit, &job_plan)
                })
                .await?;
            let planned = match begun {
                Begun::Done(answer) => return Ok(self.told(*answer).await),
                Begun::AsksEditor(planned, notices) => {
                    self.send(notices).await;
                    planned
                }
            };
            let parts = match self.ask_editor(planned).await {
                Ok(parts) => parts,
                Err(Asked::MovedOn) if attempt < PLANS => continue,
                Err(Asked::MovedOn) => {
                    let message = "The document is being typed in.".to_owned();
                    return Err(Refusal::Busy { message });
                }
                Err(Asked::Refused(refusal)) => return Err(refusal),
            };
            let (job_state, job_change) = (self.clone(), change.clone());
            let moment = Moment {
                world: change.world.clone(),
                overlays: self.engine.moment().overlays,
            };
            let answer = self
                .in_commit_lane(commit.clone(), move |_, work| {
                    let job = Job {
                        state: &job_state,
                        change: &job_change,
                        moment: &moment,
                        work,
                    };
                    job.write(parts)
                })
                .await?;
            return Ok(self.told(answer).await);
        }
    }

    async fn told(&self, (result, notices): Answer) -> EditResult {
        self.send(notices).await;
        result
    }

    /// Has the editor change its documents, one after the other.
    async fn ask_editor(self: &Arc<State>, planned: Vec<Planned>) -> Result<Vec<Part>, Asked> {
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

/// Why the editor did not do it.
#[derive(Debug)]
pub enum Asked {
    /// Its text is another than was planned on.
    MovedOn,
    Refused(Refusal),
}

impl Asked {
    fn in_words(&self) -> String {
        match self {
            Asked::MovedOn => "the document is being typed in".to_owned(),
            Asked::Refused(refusal) => refusal.to_string(),
        }
    }
}

enum Begun {
    Done(Box<Answer>),
    AsksEditor(Vec<Planned>, Vec<Notice>),
}

/// The blocking part of a commit.
struct Job<'a> {
    state: &'a State,
    change: &'a Change,
    moment: &'a Moment,
    work: &'a Work,
}

impl Job<'_> {
    fn means(&self) -> Means<'_> {
        let reader = &self.state.engine.reader;
        let facts = self.state.client_facts.get().copied().unwrap_or_default();
        Means {
            scope: &self.moment.world.scope,
            overlays: &self.moment.overlays,
            buffers: &reader.buffers,
            sessions: &reader.sessions,
            editor: EditorCan {
                apply: facts.apply_edit,
            },
            work: self.work,
        }
    }

    fn plan_and_write(&self, commit: &Commit, plan: &Plan) -> Result<Begun, Refusal> {
        let planning = Planning {
            session: &self.change.session,
            means: self.means(),
            require_seen: self.change.world.settings.edit.require_seen,
            places: commit.places(),
        };
        let (planned, notices) = plan(planning).map_err(|detour| match detour {
            Detour::Refused(refusal) => refusal,
            // Nothing is too long for a commit.
            Detour::TakesLong => Refusal::Internal,
        })?;
        let asks = planned
            .iter()
            .any(|file| file.live.is_editors() && !file.is_no_change());
        if asks && !self.change.dry_run {
            return Ok(Begun::AsksEditor(planned, notices));
        }
        let parts = planned.into_iter().map(|file| (file, None)).collect();
        let (result, mut news) = self.write(parts)?;
        news.splice(0..0, notices);
        Ok(Begun::Done(Box::new((result, news))))
    }

    /// Writes what is the disk's, records everything and makes the answer.
    fn write(&self, parts: Vec<Part>) -> Result<Answer, Refusal> {
        let all_same = parts.iter().all(|(file, _)| file.is_no_change());
        if all_same && !self.change.dry_run {
            self.state
                .no_ops
                .lock()
                .count(&self.change.session, self.change.identity, || {
                    parts.first().map(|(file, _)| file.live.name.clone())
                })?;
        } else if !self.change.dry_run {
            self.state.no_ops.lock().forget(&self.change.session);
        }
        let mut parts = parts;
        let several = parts.len() > 1;
        if !self.change.dry_run {
            self.write_disk(&mut parts)?;
        }
        let mut done = Vec::new();
        let mut notices = Vec::new();
        for (mut planned, seen) in parts {
            if planned.is_no_change() && several && !all_same {
                planned.warnings.push(no_change(&planned));
            }
            let outcome = match (planned.is_no_change(), self.change.dry_run) {
                (true, _) => Outcome::NoChange,
                (false, true) => Outcome::Tried,
                (false, false) => {
                    let recorded = self.record(&planned, seen);
                    notices.extend(recorded.notices);
                    if recorded.drifted {
                        planned.warnings.push(changed_since(&planned.live.name));
                    }
                    Outcome::Written {
                        now: recorded.now,
                        changed: recorded.changed,
                        persisted: !planned.live.is_editors(),
                    }
                }
            };
            done.push(Done { planned, outcome });
        }
        Ok((self.answer(&done), notices))
    }

    fn answer(&self, done: &[Done]) -> EditResult {
        let settings = &self.change.world.settings;
        let (result, shown) = reply(done, self.change.dry_run, settings.read.max_columns);
        let sessions = &self.state.engine.reader.sessions;
        for (file, mut shown) in done.iter().zip(shown) {
            if let Outcome::Written { now, changed, .. } = &file.outcome {
                // What a session wrote itself counts as shown.
                changed
                    .iter()
                    .for_each(|span| shown.insert(span.start, span.end));
                let live = &file.planned.live;
                sessions.show(
                    &self.change.session,
                    &live.document,
                    now,
                    &shown,
                    &live.name,
                );
            }
        }
        result
    }

    fn record(&self, planned: &Planned, seen: Option<Seen>) -> Recorded {
        let session = &self.change.session;
        match seen {
            None => record_disk(planned, session, self.means()),
            Some(seen) => {
                let latest = self.moment.overlays.get(&seen.key).cloned();
                record_seen(
                    planned,
                    session,
                    self.means(),
                    &seen.overlay,
                    latest.as_ref(),
                )
            }
        }
    }

    /// Writes the files that are on disk, all or none, and finds meanwhile whether they parse.
    fn write_disk(&self, parts: &mut [Part]) -> Result<(), Refusal> {
        let files: Vec<usize> = (0..parts.len())
            .filter(|at| parts[*at].0.bytes.is_some() && !parts[*at].0.is_no_change())
            .collect();
        let mut writes = Vec::new();
        for at in &files {
            writes.extend(file_write(&parts[*at].0, self.means())?);
        }
        let (parts_seen, means) = (&*parts, self.means());
        let (written, warnings) = std::thread::scope(|threads| {
            let parsing = threads.spawn(move || -> Vec<Option<Warning>> {
                let changed = |file: &Planned| match file.is_no_change() {
                    true => None,
                    false => parse_warning(file, means),
                };
                parts_seen.iter().map(|(file, _)| changed(file)).collect()
            });
            let writer = &self.state.engine.writer;
            let written = match writes.is_empty() {
                true => Ok(Vec::new()),
                false => writer.write(means.scope, writes, self.work),
            };
            (written, parsing.join().unwrap_or_default())
        });
        for ((file, _), warning) in parts.iter_mut().zip(warnings) {
            file.warnings.extend(warning);
        }
        match written {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refuse_write(&error, &files, parts)),
        }
    }

    fn refuse_write(&self, error: &WriteError, files: &[usize], parts: &[Part]) -> Refusal {
        let name = |index: &usize| parts[files[*index]].0.live.name.clone();
        let editors: Vec<String> = parts
            .iter()
            .filter(|(_, seen)| seen.is_some())
            .map(|(file, _)| file.live.name.clone())
            .collect();
        if let WriteError::Partly {
            cause,
            written,
            not_written,
            half_written,
        } = error
        {
            let written = editors.into_iter().chain(written.iter().map(name));
            let unwritten = not_written.iter().chain(half_written).map(name);
            return partly(&cause.to_string(), written.collect(), unwritten.collect());
        }
        if !editors.is_empty() {
            let unwritten = files.iter().map(|at| parts[*at].0.live.name.clone());
            return partly(&error.to_string(), editors, unwritten.collect());
        }
        let index = error.index().unwrap_or(0);
        let path = name(&index);
        match error {
            WriteError::Refused { refusal, .. } => refusal.clone(),
            WriteError::Stopped(stopped) => (*stopped).into(),
            WriteError::Busy { .. } => Refusal::Busy {
                message: format!("Another process is writing '{path}'."),
            },
            WriteError::Exists { .. } => EditRefusal::Exists {
                message: format!(
                    "'{path}' has come to exist meanwhile; nothing was written. Read it first."
                ),
                path,
                tag: None,
            }
            .into(),
            WriteError::Changed { .. } | WriteError::Gone { .. } => Refusal::Busy {
                message: format!(
                    "'{path}' was changed by somebody else just now; nothing was written."
                ),
            },
            WriteError::Io { step, source, .. } => Refusal::Write {
                message: format!("could not {step} it: {}", plain_words(source)),
                state: "Nothing was written.".to_owned(),
                path,
            },
            // Taken care of above.
            WriteError::Partly { .. } => Refusal::Internal,
        }
    }
}

fn plain_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn file_write(planned: &Planned, means: Means) -> Result<Option<FileWrite>, Refusal> {
    let Some(bytes) = &planned.bytes else {
        return Ok(None);
    };
    let target = match &planned.live.home {
        Home::Disk { handle, bytes, .. } => Target::Existing {
            handle: means.scope.open(handle.real().as_path())?,
            planned: disk::Planned::of(bytes),
        },
        Home::Absent { real } => Target::New { path: real.clone() },
        Home::Editor { .. } => return Ok(None),
    };
    Ok(Some(FileWrite {
        target,
        bytes: bytes.as_slice().into(),
    }))
}

fn no_change(planned: &Planned) -> Warning {
    Warning {
        code: "noChange",
        message: format!(
            "'{}' already reads so; it was not written.",
            planned.live.name
        ),
    }
}

fn partly(cause: &str, written: Vec<String>, not_written: Vec<String>) -> Refusal {
    let list = |names: &[String]| names.join(", ");
    EditRefusal::Partly {
        message: format!(
            "The edit was carried out in part: {cause}. Written: {}. Not written: {}.",
            list(&written),
            list(&not_written)
        ),
        path: not_written.first().cloned().unwrap_or_default(),
        written,
        not_written,
    }
    .into()
}
