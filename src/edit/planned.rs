//! What is to become of each file of an edit, and what that is worked out from; the working out is `plan`'s.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::hashline::changed::Outcome;
use crate::hashline::splice::{Splices, TextChange};
use crate::hashline::tag::Fingerprint;
use crate::hashline::{BlockSpan, LineMap, Remap, Tag};
use crate::protocol::edit::Warning;
use crate::protocol::read::LineSpan;
use crate::session::Notice;
use crate::text::Text;
use crate::view::LineSet;
use crate::workspace::{ResourceId, Stamp};

use super::LiveDocument;
use super::applied::{Applied, Request};
use super::cells::NotebookEdit;
use super::deferred::DeferredReport;
use super::deleted::DeletedFiles;
use super::live::EditContext;
use super::planned_name::{PlannedName, Restored};
use super::target::FoundFiles;
use super::undo_log::UndoLog;

/// One file of an edit, ready to be written.
#[derive(Debug)]
pub struct Planned {
    pub live: LiveDocument,
    pub tag_before: Option<Tag>,
    pub splices: Splices,
    pub outcome: Arc<Outcome>,
    pub deferred: Arc<DeferredReport>,
    /// Where the text is that of a notebook's cells: what becomes of the JSON.
    pub notebook_edit: Option<NotebookEdit>,
    /// The new bytes of a file that is written on disk.
    pub bytes: Option<Vec<u8>>,
    pub blocks: Vec<BlockSpan>,
    pub remapped: Vec<Remap>,
    /// Lines that went with a block, though the edit names but one of them.
    pub removed: Vec<Removed>,
    /// Texts of which all were to be replaced.
    pub replaced: Vec<ReplacedText>,
    pub warnings: Vec<Warning>,
    /// What becomes of the file's name after that.
    pub name: Option<PlannedName>,
    /// It was deleted, and comes back.
    pub restored: Option<Restored>,
    /// The stamp of its file once that is written on disk.
    pub written: Option<Stamp>,
    pub(super) no_change: OnceLock<bool>,
}

impl Planned {
    /// A file and what becomes of it, with nothing to be said of it so far.
    pub(super) fn new(
        live: LiveDocument,
        tag_before: Option<Tag>,
        splices: Splices,
        outcome: Outcome,
        bytes: Option<Vec<u8>>,
    ) -> Planned {
        let outcome = Arc::new(outcome);
        Planned {
            deferred: DeferredReport::new(&live, outcome.clone()),
            live,
            tag_before,
            splices,
            outcome,
            notebook_edit: None,
            bytes,
            blocks: Vec::new(),
            remapped: Vec::new(),
            removed: Vec::new(),
            replaced: Vec::new(),
            warnings: Vec::new(),
            name: None,
            restored: None,
            written: None,
            no_change: OnceLock::new(),
        }
    }

    /// Whether it leaves the file as it is.
    pub fn is_no_change(&self) -> bool {
        self.name.is_none() && self.restored.is_none() && self.keeps_text()
    }

    /// Whether it leaves the text as it is.
    pub fn keeps_text(&self) -> bool {
        *self
            .no_change
            .get_or_init(|| self.outcome.text == *self.live.text())
    }

    /// The changes of the text that the home holds.
    pub fn home_changes(&self) -> &[TextChange] {
        match &self.notebook_edit {
            Some(notebook_edit) => &notebook_edit.changes,
            None => &self.splices.changes,
        }
    }

    /// The text that the home is to hold.
    pub fn home_text(&self) -> &Text {
        match &self.notebook_edit {
            Some(notebook_edit) => &notebook_edit.text,
            None => &self.outcome.text,
        }
    }

    /// Of the text after the edit.
    pub fn fingerprint(&self) -> Fingerprint {
        self.deferred.fingerprint()
    }
}

/// What is to become of the files of one request.
#[derive(Debug)]
pub struct Plans {
    pub files: Vec<Planned>,
    /// For sessions whose lines were found changed.
    pub notices: Vec<Notice>,
    pub request: Request,
    /// The same request was carried out before, and every file still is what it made of it.
    pub is_applied: bool,
}

/// Plans the files of one request.
#[derive(Debug, Clone, Copy)]
pub struct Planner<'a> {
    pub session: &'a str,
    /// Characters of the answer, or of a refusal.
    pub chars: usize,
    pub means: EditContext<'a>,
    /// Whether only lines that were shown may be edited.
    pub require_seen: bool,
    /// The places that are this edit's to change.
    pub places: &'a [ResourceId],
    /// What was found there in this very moment.
    pub found: &'a FoundFiles,
    /// What was carried out before.
    pub applied: &'a Mutex<Applied>,
    /// What was deleted.
    pub deleted: &'a Mutex<DeletedFiles>,
    /// What that replaced.
    pub undo: &'a Mutex<UndoLog>,
}

/// Lines that went, in the numbers of the tagged version.
#[derive(Debug)]
pub struct Removed {
    pub lines: LineSpan,
    /// What the first of them said.
    pub first: String,
}

/// A text that was replaced wherever it was.
#[derive(Debug)]
pub struct ReplacedText {
    pub old: String,
    pub times: usize,
    /// In new numbers.
    pub lines: LineSet,
}

impl ReplacedText {
    /// With its lines, which are in the numbers of the live text, where they are afterwards.
    pub(super) fn placed(mut self, map: &LineMap) -> ReplacedText {
        let lines = self.lines.spans();
        self.lines = lines.iter().map(|span| map.place(*span)).collect();
        self
    }
}
