//! Sections of a patch whose file is not where they say: moved or deleted by an edit, which is sent again, taken back, or unknown to whoever sends this one.

use std::sync::Arc;

use crate::hashline::patch::header_text;
use crate::hashline::{Op, Tag, changed};
use crate::protocol::edit_refusal::{LiveFile, Outdated};
use crate::protocol::{EditRefusal, Refusal};
use crate::read::{Located, TargetKind, convert, place_to_edit};
use crate::session::{Document, Form, MovedTo, Version};
use crate::workspace::{RealPath, ResourceId};

use super::cells::NotebookEdit;
use super::deleted::DeletedFile;
use super::disk::Attributes;
use super::live::{EditContext, refuse_read_only};
use super::moved::was_moved;
use super::names::{gone, is_of_name, moves_to};
use super::planned::{Planned, Planner};
use super::planned_name::{PlannedName, Restored};
use super::target;
use super::write::whole;
use super::{LiveDocument, Named, Owner, WantedForm};

/// Sections of a file that is not there.
#[derive(Debug)]
pub struct Gone {
    pub group: Vec<Named>,
    pub real: RealPath,
    /// Where it was to be moved to, and what is there.
    moved: Option<LiveDocument>,
    refusal: Refusal,
}

impl Gone {
    /// What is of its documents now.
    pub fn made(&self) -> impl Iterator<Item = (&Document, u128)> {
        let moved = self.moved.iter();
        moved.map(|live| (&live.document, live.version.content))
    }

    /// Why it cannot be changed.
    pub fn refusal(&self) -> Refusal {
        self.refusal.clone()
    }

    /// The file, where the change that took it from its place is the one that is asked for again.
    pub fn untouched(self, planner: &Planner) -> Planned {
        let Gone {
            group, real, moved, ..
        } = self;
        let tag = group.iter().find_map(|named| named.section.tag);
        let name = planner.means.scope.display(&real);
        let is_moved = moved.is_some();
        let live = moved.unwrap_or_else(|| nothing_at(&real, name.clone(), tag));
        let deleted = (!is_moved).then_some(PlannedName {
            from: name,
            real,
            link: None,
            to: None,
        });
        Planned {
            name: deleted,
            ..Planned::untouched(live, tag)
        }
    }
}

/// What stands for a file that is not there, under the tag that it had.
fn nothing_at(real: &RealPath, name: String, tag: Option<Tag>) -> LiveDocument {
    let mut version = Version::nothing();
    version.tag = tag.unwrap_or(version.tag);
    LiveDocument {
        name,
        document: Document {
            id: ResourceId::File(real.clone()),
            form: Form::Text,
        },
        version,
        home: Owner::Absent { real: real.clone() },
        linked_to: None,
        notebook: None,
    }
}

impl Planner<'_> {
    /// What is to be said of sections whose file is not at its place: why it could not be opened is
    /// `refusal`. `None` where no edit took it from there.
    pub(super) fn gone(
        &self,
        place: &ResourceId,
        group: &[Named],
        refusal: &Refusal,
    ) -> Option<Gone> {
        let ResourceId::File(real) = place else {
            return None;
        };
        if !matches!(refusal, Refusal::NothingToEdit { .. }) {
            return None;
        }
        let path = &group[0].section.path;
        let tag = group.iter().find_map(|named| named.section.tag);
        let why = tag.and_then(|tag| self.moved_from(real, path, tag));
        let why = why.or_else(|| self.was_deleted(real, path));
        if why.is_none() && !is_of_name(group) {
            return None;
        }
        let moved = moves_to(group).and_then(|to| self.moved_to(to, tag));
        Some(Gone {
            group: group.to_vec(),
            real: real.clone(),
            moved,
            refusal: why.unwrap_or_else(|| refusal.clone()),
        })
    }

    /// Whether what was found is no more the file that an edit took from there: it is only in the
    /// editor, which has it open still under that name, or another one is guessed at.
    pub(super) fn is_not_it(
        &self,
        located: &Located,
        place: &ResourceId,
        tag: Option<Tag>,
    ) -> bool {
        let is_in_place =
            matches!(located.target_kind, TargetKind::OnDisk(_)) && located.is_exact();
        let (false, ResourceId::File(real), Some(tag)) = (is_in_place, place, tag) else {
            return false;
        };
        let deleted = self.deleted.lock().at(real);
        deleted.is_some_and(|deleted| deleted.tag == tag)
            || was_moved(self.means.sessions, real, tag).is_some()
    }

    /// Why a file that is guessed at is not taken for one that an edit has moved: when its place was
    /// named, that edit had renamed it and had not said so yet.
    pub(super) fn moved_meanwhile(
        &self,
        located: &Located,
        path: &str,
        tag: Option<Tag>,
    ) -> Option<Refusal> {
        let EditContext {
            scope,
            overlays,
            work,
            ..
        } = self.means;
        let tag = tag.filter(|_| !located.is_exact())?;
        match place_to_edit(path, true, scope, overlays, work) {
            Ok(ResourceId::File(real)) => self.moved_from(&real, path, tag),
            _ => None,
        }
    }

    /// What is where a file was to be moved to.
    fn moved_to(&self, to: &str, tag: Option<Tag>) -> Option<LiveDocument> {
        let EditContext {
            scope,
            overlays,
            work,
            ..
        } = self.means;
        let located = target::find(to, None, scope, overlays, work).ok()?;
        let is_ours = self.places.contains(&located.place(scope));
        let wanted = WantedForm::Tagged(tag);
        let opened = is_ours.then(|| LiveDocument::open(located, to, wanted, self.means));
        Some(opened?.ok()?.0)
    }

    /// Why the tag of a file that was moved is unknown under its old path.
    fn moved_from(&self, real: &RealPath, path: &str, tag: Tag) -> Option<Refusal> {
        let MovedTo {
            document,
            tag: newest,
        } = was_moved(self.means.sessions, real, tag)?;
        let ResourceId::File(now) = &document.id else {
            return None;
        };
        let now = self.means.scope.display(now);
        let header = header_text(&now, newest);
        Some(
            EditRefusal::Outdated {
                why: Outdated::UnknownTag,
                message: format!(
                    "'{path}' is '{now}' now: it was moved. Nothing was written; use the header {header}."
                ),
                path: path.to_owned(),
                files: vec![LiveFile {
                    path: now,
                    tag: newest.map(|tag| tag.to_string()).unwrap_or_default(),
                    lines: Vec::new(),
                    is_cut: false,
                }],
            }
            .into(),
        )
    }

    fn was_deleted(&self, real: &RealPath, path: &str) -> Option<Refusal> {
        let deleted = self.deleted.lock().at(real)?;
        let name = self.means.scope.display(real);
        let header = header_text(&name, Some(deleted.tag));
        Some(Refusal::NoSuchPart {
            path: path.to_owned(),
            message: format!(
                "'{name}' was deleted by an edit. Nothing was written; `undo` under the header {header} brings it back."
            ),
            suggestions: Vec::new(),
        })
    }

    /// The plan that brings a deleted file back, where its sections ask for that under the tag that it
    /// had.
    pub(super) fn restored(&self, gone: &Gone) -> Option<Result<Planned, Refusal>> {
        let hunks = gone.group.iter().flat_map(|named| &named.section.hunks);
        let mut ops = hunks.into_iter().map(|hunk| &hunk.op);
        let is_undo = (ops.next(), ops.next()) == (Some(&Op::Undo), None);
        let tag = gone.group.iter().find_map(|named| named.section.tag);
        let deleted = self.deleted.lock().at(&gone.real);
        let deleted = deleted.filter(|deleted| is_undo && Some(deleted.tag) == tag)?;
        Some(self.planned_again(deleted))
    }

    fn planned_again(&self, deleted: DeletedFile) -> Result<Planned, Refusal> {
        let EditContext { scope, work, .. } = self.means;
        let real = &deleted.real;
        let name = scope.display(real);
        refuse_read_only(real, &name, scope)?;
        let mut live = nothing_at(real, name, Some(deleted.tag));
        let converted = match deleted.form {
            Form::Notebook => convert(&deleted.text, work).ok(),
            Form::Text => None,
        };
        let text = match &converted {
            Some(converted) => converted.text.clone(),
            None => deleted.text.clone(),
        };
        live.document.form = match converted {
            Some(_) => Form::Notebook,
            None => Form::Text,
        };
        live.notebook = converted;
        let notebook_edit = live.notebook.as_ref().map(|_| NotebookEdit {
            changes: Vec::new(),
            text: deleted.text.clone(),
        });
        let splices = whole(live.text(), text.rope().to_string());
        let outcome = changed::outcome(live.text(), &splices);
        let bytes = deleted.bytes.to_vec();
        Ok(Planned {
            notebook_edit,
            restored: Some(Restored(deleted.attributes)),
            ..Planned::new(live, Some(deleted.tag), splices, outcome, Some(bytes))
        })
    }

    /// Keeps what is about to be deleted; `bytes` are all of it.
    pub(super) fn keep_deleted(&self, planned: &Planned, attributes: Attributes) {
        let (Owner::Disk { buffer, bytes, .. }, Some(name)) = (&planned.live.home, &planned.name)
        else {
            return;
        };
        self.deleted.lock().keep(DeletedFile {
            real: name.real.clone(),
            tag: planned.live.version.tag,
            form: planned.live.document.form,
            bytes: Arc::from(bytes.as_slice()),
            text: buffer.text.clone(),
            attributes,
        });
    }
}

/// What became of the places of files that are not there.
pub(super) fn made_of(gone_files: &[Gone]) -> Vec<(Document, u128)> {
    let made = gone_files.iter().flat_map(|file| {
        let there = file
            .made()
            .map(|(document, content)| (document.clone(), content));
        std::iter::once(gone(&file.real)).chain(there)
    });
    made.collect()
}
