//! The blocking part of a commit: planned, written on disk, recorded; what is told of it then is never waited for by whoever comes next.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::buffer::Overlay;
use crate::protocol::edit::Warning;
use crate::protocol::{EditRefusal, Refusal, Settings};
use crate::session::{Document, Notice};
use crate::task::CancelToken;

use super::applied::{Made, Request};
use super::commit::{record_disk, record_seen};
use super::deferred::DeferredReports;
use super::disk::{
    self, DiskWriter, FileChange, FileError, FileWrite, Target, WriteError, WrittenFile,
};
use super::finished::Finished;
use super::live::EditContext;
use super::planned::{Planned, Planner, Plans};
use super::record::Recorded;
use super::renamed::record_name;
use super::reply::{Done, FileOutcome, Rows, changed_since, rows};
use super::{NoOps, Owner, undo};

/// What is known of a change besides its plan.
#[derive(Debug, Clone)]
pub struct Change {
    pub session: String,
    pub dry_run: bool,
    /// Some of its files may be scratch files of the session.
    pub names_own: bool,
    /// Characters of its answer, or of its refusal.
    pub chars: usize,
    /// By which it is called off. That is not heard any more once a file has its new text, or the
    /// editor was asked.
    pub cancel: CancelToken,
}

/// A planned file, and the open document as it first showed the text that it was to have; there may
/// be later versions by now.
pub type Part = (Planned, Option<Arc<Overlay>>);

/// What came of a plan before any editor was asked.
#[derive(Debug)]
pub enum Begun {
    Finished(Box<Finished>),
    AsksEditor(Plans),
}

/// What plans the files of a change.
pub type Plan = dyn Fn(&Planner) -> Result<Plans, Refusal> + Send + Sync;

/// A change and all that its blocking part needs.
#[derive(Debug)]
pub struct Job<'a> {
    pub change: &'a Change,
    pub planner: Planner<'a>,
    pub settings: &'a Settings,
    pub writer: &'a DiskWriter,
    pub no_ops: &'a Mutex<NoOps>,
}

/// How often a plan is made anew because a file was changed before it was written.
const PLANS: usize = 3;

/// Why a commit failed; the refusal is for when it is not tried again.
enum CommitFailed {
    /// A file is no longer what was planned on, and nothing was written.
    Changed(Refusal),
    Refused(Refusal),
}

impl From<Refusal> for CommitFailed {
    fn from(refusal: Refusal) -> CommitFailed {
        CommitFailed::Refused(refusal)
    }
}

impl From<CommitFailed> for Refusal {
    fn from(failed: CommitFailed) -> Refusal {
        match failed {
            CommitFailed::Changed(refusal) | CommitFailed::Refused(refusal) => refusal,
        }
    }
}

impl Job<'_> {
    /// Plans the change, and writes it unless an editor is to be asked.
    pub fn begin(&self, plan: &Plan) -> Result<Begun, Refusal> {
        let mut news = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut plans = plan(&self.planner)?;
            news.append(&mut plans.notices);
            let asks = plans
                .files
                .iter()
                .any(|file| file.live.is_editors() && !file.is_no_change());
            if asks && !self.change.dry_run {
                plans.notices = news;
                return Ok(Begun::AsksEditor(plans));
            }
            if plans.is_applied {
                return Ok(Begun::Finished(Box::new(self.applied_before(plans, news))));
            }
            let parts = plans.files.into_iter().map(|file| (file, None)).collect();
            match self.try_finish(parts, plans.request) {
                Ok(mut finished) => {
                    news.append(&mut finished.notices);
                    finished.notices = news;
                    return Ok(Begun::Finished(Box::new(finished)));
                }
                // Somebody else was quicker: the lines may well stand in what they wrote.
                Err(CommitFailed::Changed(_)) if attempt < PLANS => {}
                Err(failed) => return Err(failed.into()),
            }
        }
    }

    /// Writes what is the disk's and records everything.
    pub fn finish(&self, parts: Vec<Part>, request: Request) -> Result<Finished, Refusal> {
        Ok(self.try_finish(parts, request)?)
    }

    fn try_finish(&self, mut parts: Vec<Part>, request: Request) -> Result<Finished, CommitFailed> {
        let (session, dry_run) = (&self.change.session, self.change.dry_run);
        let all_same = parts.iter().all(|(file, _)| file.is_no_change());
        if all_same && !dry_run {
            let first = || parts.first().map(|(file, _)| file.live.name.clone());
            self.no_ops.lock().count(session, request, first)?;
        } else if !dry_run {
            self.no_ops.lock().forget(session);
        }
        let (changed, reports) = self.reports(&parts);
        if !dry_run {
            self.write_disk(&mut parts, &reports)?;
        }
        // From here on it is done, and nothing fails any more.
        let since = Instant::now();
        let several = parts.len() > 1;
        let mut done = Vec::new();
        let mut made = Vec::new();
        let mut notices = Vec::new();
        for (mut planned, seen) in parts {
            if planned.is_no_change() && several && !all_same {
                planned.warnings.push(no_change(&planned));
            }
            let content = planned.live.version.content;
            let outcome = match (planned.is_no_change(), dry_run) {
                (true, _) => FileOutcome::NoChange,
                (false, true) => FileOutcome::Tried,
                (false, false) => {
                    let recorded = self.recorded(&mut planned, seen, &mut made);
                    notices.extend(recorded.notices);
                    FileOutcome::Written {
                        now: recorded.now,
                        changed: recorded.changed,
                        persisted: !planned.live.is_editors(),
                    }
                }
            };
            if !matches!(outcome, FileOutcome::Written { .. }) {
                made.push((planned.live.document.clone(), content));
            }
            done.push(Done { planned, outcome });
        }
        if !all_same && !dry_run {
            let made = Made::of(made.iter().map(|(document, content)| (document, *content)));
            self.planner.applied.lock().remember(session, request, made);
        }
        Ok(Finished {
            rows: self.shown_rows(&done),
            done,
            reports: (changed, reports),
            dry_run,
            chars: self.change.chars,
            notices,
            since,
        })
    }

    /// Records a file that was written, and what the change made of it, under the name that it has.
    fn recorded(
        &self,
        planned: &mut Planned,
        seen: Option<Arc<Overlay>>,
        made: &mut Vec<(Document, u128)>,
    ) -> Recorded {
        let mut recorded = self.record(planned, seen);
        made.extend(planned.made(recorded.made));
        if !planned.keeps_text() && planned.restored.is_none() {
            undo::remember(self.planner.undo, planned, recorded.made);
        }
        let (session, means) = (&self.change.session, self.planner.means);
        record_name(planned, &mut recorded, session, means);
        if recorded.drifted {
            planned.warnings.push(changed_since(&planned.live.name));
        }
        recorded
    }

    /// The answer of a request that was carried out before.
    fn applied_before(&self, plans: Plans, notices: Vec<Notice>) -> Finished {
        let done: Vec<Done> = plans.files.into_iter().map(Done::applied).collect();
        Finished {
            rows: rows(&done, 0, self.change.chars),
            done,
            reports: (
                Vec::new(),
                DeferredReports::of(Vec::new(), self.planner.means),
            ),
            dry_run: self.change.dry_run,
            chars: self.change.chars,
            notices,
            since: Instant::now(),
        }
    }

    /// Begins to work out what is to be told, and of which of the files.
    fn reports(&self, parts: &[Part]) -> (Vec<usize>, DeferredReports) {
        let is_changed = |at: &usize| !parts[*at].0.is_no_change();
        let changed: Vec<usize> = (0..parts.len()).filter(is_changed).collect();
        let reports = changed.iter().map(|at| parts[*at].0.deferred.clone());
        let reports = DeferredReports::of(reports.collect(), self.planner.means);
        (changed, reports)
    }

    /// The rows that the answer shows, which count as shown from now on.
    fn shown_rows(&self, done: &[Done]) -> Vec<Rows> {
        let columns = self.settings.read.max_columns;
        let mut rows = rows(done, columns.min(self.change.chars / 4), self.change.chars);
        let sessions = self.planner.means.sessions;
        for (file, rows) in done.iter().zip(&mut rows) {
            if let FileOutcome::Written { now, changed, .. } = &file.outcome {
                let Planned { live, restored, .. } = &file.planned;
                let shown = &mut rows.shown;
                if restored.is_none() {
                    // What a session wrote itself counts as shown.
                    shown.extend(changed);
                }
                if file.planned.is_deletion() {
                    continue;
                }
                let session = &self.change.session;
                sessions.show(session, &live.document, now, shown, &live.name);
            }
        }
        rows
    }

    fn record(&self, planned: &Planned, seen: Option<Arc<Overlay>>) -> Recorded {
        let (session, means) = (&self.change.session, self.planner.means);
        match seen {
            None => record_disk(planned, session, means),
            Some(seen) => {
                let latest = means.overlays.unjudged(&seen.key);
                record_seen(planned, session, means, &seen, latest)
            }
        }
    }

    /// Writes the files that are on disk, all or none. What is to be told of them is worked out
    /// meanwhile.
    fn write_disk(
        &self,
        parts: &mut [Part],
        reports: &DeferredReports,
    ) -> Result<(), CommitFailed> {
        let is_disks = |at: &usize| {
            let (file, _) = &parts[*at];
            !file.is_no_change() && file.bytes.is_some()
        };
        let files: Vec<usize> = (0..parts.len()).filter(is_disks).collect();
        let changes = files.iter().map(|at| file_change(&parts[*at].0));
        let writes: Vec<FileChange> = changes.collect();
        if writes.is_empty() {
            return Ok(());
        }
        let EditContext { scope, work, .. } = self.planner.means;
        for write in writes.iter().filter_map(|change| change.write.as_ref()) {
            scope.refuse_overfull(write.target.real().as_path(), write.bytes.len() as u64)?;
        }
        let written = self
            .writer
            .change_and(scope, writes, work, || reports.work_out());
        match written {
            Ok(written) => {
                self.take_in(&written, &files, parts);
                Ok(())
            }
            Err(error) => Err(self.refuse_write(&error, &files, parts)),
        }
    }

    /// Keeps what was written warm.
    fn take_in(&self, written: &[WrittenFile], files: &[usize], parts: &mut [Part]) {
        for (written, at) in written.iter().zip(files) {
            let planned = &mut parts[*at].0;
            if written.open_elsewhere {
                // What is there now is read again.
                let warning = open_elsewhere(&planned.live.name);
                planned.warnings.push(warning);
                continue;
            }
            if let Some(attributes) = written.deleted {
                self.planner.keep_deleted(planned, attributes);
            }
            if planned.name.is_some() {
                // What is under the new name is read again.
                continue;
            }
            planned.written = written.stamp;
            if let (Owner::Disk { buffer, .. }, Some(bytes), Some(stamp)) =
                (&planned.live.home, &planned.bytes, written.stamp)
            {
                let fingerprint = planned
                    .notebook_edit
                    .is_none()
                    .then(|| planned.fingerprint());
                let text = (planned.home_text(), fingerprint);
                let buffers = self.planner.means.buffers;
                let bytes = (bytes.len() as u64, written.hash);
                buffers.wrote(&written.real, buffer, bytes, text, stamp);
            }
        }
    }

    fn refuse_write(&self, error: &WriteError, files: &[usize], parts: &[Part]) -> CommitFailed {
        let refusal = self.refusal(error, files, parts);
        match error {
            WriteError::File {
                fault: FileError::Changed | FileError::Gone,
                ..
            } => CommitFailed::Changed(refusal),
            _ => CommitFailed::Refused(refusal),
        }
    }

    fn refusal(&self, error: &WriteError, files: &[usize], parts: &[Part]) -> Refusal {
        let name = |index: &usize| parts[files[*index]].0.live.name.clone();
        let editors: Vec<String> = parts
            .iter()
            .filter(|(_, seen)| seen.is_some())
            .map(|(file, _)| file.live.name.clone())
            .collect();
        match error {
            WriteError::Partly {
                cause,
                written,
                not_written,
                half_written,
            } => {
                let written = editors.into_iter().chain(written.iter().map(name));
                let unwritten = not_written.iter().chain(half_written).map(name);
                partly(&cause.to_string(), written.collect(), unwritten.collect())
            }
            error if !editors.is_empty() => {
                let unwritten = (0..files.len()).map(|index| name(&index));
                partly(&error.to_string(), editors, unwritten.collect())
            }
            WriteError::Stopped(stopped) => (*stopped).into(),
            WriteError::File { index, fault } => {
                let planned = &parts[files[*index]].0;
                let to = planned.name.as_ref().and_then(|name| name.to.as_ref());
                match (fault, to) {
                    (FileError::Exists, Some(to)) => refuse_file(fault, to.name.clone()),
                    _ => refuse_file(fault, name(index)),
                }
            }
        }
    }
}

/// Nothing was written, for what is wrong with one file.
fn refuse_file(fault: &FileError, path: String) -> Refusal {
    match fault {
        FileError::Refused(refusal) => refusal.clone(),
        FileError::Stopped(stopped) => (*stopped).into(),
        FileError::Busy => Refusal::Busy {
            message: format!("Another process is writing '{path}'."),
        },
        FileError::Exists => EditRefusal::Exists {
            message: format!(
                "'{path}' has come to exist meanwhile; nothing was written. Read it first."
            ),
            path,
            tag: None,
        }
        .into(),
        FileError::Changed | FileError::Gone => Refusal::Busy {
            message: format!(
                "'{path}' was changed by somebody else just now; nothing was written."
            ),
        },
        FileError::Io(step, source) => Refusal::Write {
            message: format!("could not {step} it: {}", plain_words(source)),
            state: "Nothing was written.".to_owned(),
            path,
        },
    }
}

fn plain_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn file_change(planned: &Planned) -> FileChange {
    let keeps_bytes = planned.name.is_some() && planned.keeps_text();
    FileChange {
        write: file_write(planned).filter(|_| !keeps_bytes),
        name: planned.name_change(),
    }
}

fn file_write(planned: &Planned) -> Option<FileWrite> {
    let bytes = planned.bytes.as_ref()?;
    let target = match &planned.live.home {
        Owner::Disk {
            handle,
            buffer,
            bytes,
            ..
        } => {
            let planned = disk::Planned::known(bytes.len() as u64, buffer.bytes_hash());
            Target::opened(handle, planned)
        }
        Owner::Absent { real } => planned.target_of_new(real),
        Owner::Editor { .. } => return None,
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
