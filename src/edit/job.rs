//! The blocking part of a commit: planned, written on disk, recorded, answered; an answer is never given before what it says is on record.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::buffer::{Overlay, Overlays};
use crate::protocol::edit::{EditResult, Warning};
use crate::protocol::{EditRefusal, Refusal, Settings};
use crate::read::{Located, Place};
use crate::session::Notice;
use crate::task::Detour;

use super::beside::Told;
use super::commit::{record_disk, record_seen};
use super::disk::{self, DiskWriter, FileWrite, Target, WriteError, Written};
use super::live::Means;
use super::record::Recorded;
use super::reply::{Done, Outcome, changed_since, reply};
use super::target::PlacedFiles;
use super::{Home, NoOps, Planned};

/// What is known of a change besides its plan.
#[derive(Debug, Clone)]
pub struct Change {
    pub session: String,
    /// Equal for changes that are sent again unchanged.
    pub identity: u128,
    pub dry_run: bool,
}

/// A document that showed the text it was to have.
#[derive(Debug)]
pub struct Seen {
    /// At the version that showed it; there may be later ones by now.
    pub overlay: Arc<Overlay>,
}

/// A planned file, and what showed that the editor has changed it.
pub type Part = (Planned, Option<Seen>);

/// The answer, and what other sessions are to hear.
pub type Answer = (EditResult, Vec<Notice>);

/// What came of a plan before any editor was asked.
#[derive(Debug)]
pub enum Begun {
    Done(Box<Answer>),
    AsksEditor(Vec<Planned>, Vec<Notice>),
}

/// What plans the files of a change.
pub type Plan<'a> = &'a dyn Fn(&Job) -> Result<(Vec<Planned>, Vec<Notice>), Detour>;

/// A change and all that its blocking part needs.
#[derive(Debug)]
pub struct Job<'a> {
    pub change: &'a Change,
    pub means: Means<'a>,
    pub settings: &'a Settings,
    pub writer: &'a DiskWriter,
    pub no_ops: &'a Mutex<NoOps>,
    /// The places that are this change's to write to.
    pub places: &'a [Place],
    /// What was found there in this very moment, and not before a wait.
    pub found: Found,
}

/// Files that were found for a change, to be opened without looking for them again.
#[derive(Debug, Default)]
pub struct Found {
    files: Mutex<PlacedFiles>,
    /// The open documents by which they were found.
    by: Option<Overlays>,
}

impl Found {
    /// One file for each place, found by these open documents.
    pub fn new(files: PlacedFiles, by: Overlays) -> Found {
        Found {
            files: Mutex::new(files),
            by: Some(by),
        }
    }

    /// The open documents to go by, if those are now `overlays`: the moment that these files were
    /// found after. Where documents have changed since, nothing counts as found.
    pub fn overlays(&mut self, overlays: Overlays) -> Overlays {
        match self.by.take() {
            Some(by) if by.is_same(&overlays) => by,
            _ => {
                self.files.get_mut().clear();
                overlays
            }
        }
    }

    /// What was found at a place. It is given once: a second plan is made because of a change.
    pub fn take(&self, place: &Place) -> Option<Located> {
        let mut found = self.files.lock();
        let at = found.iter().position(|(known, _)| known == place)?;
        Some(found.swap_remove(at).1)
    }
}

/// How often a plan is made anew because a file was changed before it was written.
const PLANS: usize = 3;

/// Why a commit failed; the refusal is for when it is not tried again.
enum Failed {
    /// A file is no longer what was planned on, and nothing was written.
    Changed(Refusal),
    Refused(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed::Refused(refusal)
    }
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Refusal {
        match failed {
            Failed::Changed(refusal) | Failed::Refused(refusal) => refusal,
        }
    }
}

impl Job<'_> {
    /// Plans the change, and writes it unless an editor is to be asked.
    pub fn begin(&self, plan: Plan) -> Result<Begun, Refusal> {
        let mut news = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (planned, notices) = plan(self).map_err(|detour| match detour {
                Detour::Refused(refusal) => refusal,
                // Nothing is too long for a commit.
                Detour::TakesLong => Refusal::Internal,
            })?;
            news.extend(notices);
            let asks = planned
                .iter()
                .any(|file| file.live.is_editors() && !file.is_no_change());
            if asks && !self.change.dry_run {
                return Ok(Begun::AsksEditor(planned, news));
            }
            let parts = planned.into_iter().map(|file| (file, None)).collect();
            match self.try_finish(parts) {
                Ok((result, notices)) => {
                    news.extend(notices);
                    return Ok(Begun::Done(Box::new((result, news))));
                }
                // Somebody else was quicker: the lines may well stand in what they wrote.
                Err(Failed::Changed(_)) if attempt < PLANS => {}
                Err(failed) => return Err(failed.into()),
            }
        }
    }

    /// Writes what is the disk's, records everything and makes the answer.
    pub fn finish(&self, parts: Vec<Part>) -> Result<Answer, Refusal> {
        Ok(self.try_finish(parts)?)
    }

    fn try_finish(&self, parts: Vec<Part>) -> Result<Answer, Failed> {
        let all_same = parts.iter().all(|(file, _)| file.is_no_change());
        if all_same && !self.change.dry_run {
            self.no_ops
                .lock()
                .count(&self.change.session, self.change.identity, || {
                    parts.first().map(|(file, _)| file.live.name.clone())
                })?;
        } else if !self.change.dry_run {
            self.no_ops.lock().forget(&self.change.session);
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
        let result = self.answer(&done);
        // The handles of the files that were replaced: they are the last ones.
        self.means.work.let_go_later(done);
        Ok((result, notices))
    }

    fn answer(&self, done: &[Done]) -> EditResult {
        let columns = self.settings.read.max_columns;
        let (result, shown) = reply(done, self.change.dry_run, columns);
        let sessions = self.means.sessions;
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
            None => record_disk(planned, session, self.means),
            Some(seen) => {
                let latest = self.means.overlays.unjudged(&seen.overlay.key);
                record_seen(planned, session, self.means, &seen.overlay, latest)
            }
        }
    }

    /// Writes the files that are on disk, all or none. What is to be told of them is worked out
    /// meanwhile.
    fn write_disk(&self, parts: &mut [Part]) -> Result<(), Failed> {
        let changed: Vec<usize> = (0..parts.len())
            .filter(|at| !parts[*at].0.is_no_change())
            .collect();
        let beside = changed.iter().map(|at| parts[*at].0.beside.clone());
        let told = Told::of(beside.collect(), self.means);
        let files: Vec<usize> = changed
            .iter()
            .copied()
            .filter(|at| parts[*at].0.bytes.is_some())
            .collect();
        let writes = files.iter().filter_map(|at| file_write(&parts[*at].0));
        let writes: Vec<FileWrite> = writes.collect();
        let written = match writes.is_empty() {
            true => Ok(Vec::new()),
            false => {
                let (scope, work) = (self.means.scope, self.means.work);
                self.writer
                    .write_and(scope, writes, work, || told.work_out())
            }
        };
        match written {
            Ok(written) => self.take_in(&written, &files, parts),
            Err(error) => return Err(self.refuse_write(&error, &files, parts)),
        }
        for (at, warning) in changed.iter().zip(told.warnings()) {
            parts[*at].0.warnings.extend(warning.clone());
        }
        Ok(())
    }

    /// Keeps what was written warm.
    fn take_in(&self, written: &[Written], files: &[usize], parts: &mut [Part]) {
        for (written, at) in written.iter().zip(files) {
            let planned = &mut parts[*at].0;
            if written.open_elsewhere {
                // What is there now is read again.
                let warning = open_elsewhere(&planned.live.name);
                planned.warnings.push(warning);
                continue;
            }
            planned.written = Some(written.stamp);
            if let (Home::Disk { buffer, .. }, Some(bytes)) = (&planned.live.home, &planned.bytes) {
                let fingerprint = planned.recast.is_none().then(|| planned.fingerprint());
                let text = (planned.home_text(), fingerprint);
                let buffers = self.means.buffers;
                let bytes = (bytes.len() as u64, written.hash);
                buffers.wrote(&written.real, buffer, bytes, text, written.stamp);
            }
        }
    }

    fn refuse_write(&self, error: &WriteError, files: &[usize], parts: &[Part]) -> Failed {
        let refusal = self.refusal(error, files, parts);
        match error {
            WriteError::Changed { .. } | WriteError::Gone { .. } => Failed::Changed(refusal),
            _ => Failed::Refused(refusal),
        }
    }

    fn refusal(&self, error: &WriteError, files: &[usize], parts: &[Part]) -> Refusal {
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

fn file_write(planned: &Planned) -> Option<FileWrite> {
    let bytes = planned.bytes.as_ref()?;
    let target = match &planned.live.home {
        Home::Disk {
            handle,
            buffer,
            bytes,
            ..
        } => {
            let planned = disk::Planned::known(bytes.len() as u64, buffer.bytes_hash());
            Target::opened(handle, planned)
        }
        Home::Absent { real } => Target::New { path: real.clone() },
        Home::Editor { .. } => return None,
    };
    Some(FileWrite {
        target,
        bytes: bytes.as_slice().into(),
    })
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

fn open_elsewhere(name: &str) -> Warning {
    Warning {
        code: "openElsewhere",
        message: format!(
            "Another program has '{name}' open for writing, so it was written in place. What that program adds to its end stays; what it writes elsewhere may go over this edit."
        ),
    }
}

/// Some files are written and others are not.
pub fn partly(cause: &str, written: Vec<String>, not_written: Vec<String>) -> Refusal {
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
