//! What an edit makes of a file's name: moved or deleted, planned before anything is written; nothing is moved over what is there.

use std::path::Path;

use crate::hashline::{Op, Tag};
use crate::protocol::edit::Warning;
use crate::protocol::{EditRefusal, Refusal, shortened};
use crate::session::{Document, Form};
use crate::workspace::{LinkPlace, RealPath, ResourceId, TakenBy, TakenPlace};

use super::disk::{self, NameChange, NameOf, Target};
use super::live::{EditContext, refuse_read_only};
use super::moved::new_place;
use super::planned::{Planned, Planner};
use super::planned_name::{NameOp, PlannedName, PlannedPlace, Restored};
use super::target::find;
use super::{LiveDocument, Named, Owner};

/// Whether sections say something of a file's name, or bring one back.
pub fn is_of_name(group: &[Named]) -> bool {
    let mut hunks = group.iter().flat_map(|named| &named.section.hunks);
    hunks.any(|hunk| hunk.op.is_of_name())
}

/// Whether they change it.
pub fn changes_name(group: &[Named]) -> bool {
    let hunks = group.iter().flat_map(|named| &named.section.hunks);
    hunks
        .into_iter()
        .any(|hunk| matches!(hunk.op, Op::MoveFile { .. } | Op::DeleteFile))
}

/// Where the sections of a file want it moved to, if they do.
pub fn moves_to(group: &[Named]) -> Option<&str> {
    let hunks = group.iter().flat_map(|named| &named.section.hunks);
    hunks.into_iter().find_map(|hunk| match &hunk.op {
        Op::MoveFile { to } => Some(to.as_str()),
        _ => None,
    })
}

impl Planner<'_> {
    /// What is to become of the name of a document that is on disk.
    pub(super) fn planned_name(
        &self,
        live: &LiveDocument,
        link: Option<LinkPlace>,
        op: NameOp,
    ) -> Result<PlannedName, Refusal> {
        let scope = self.means.scope;
        let Owner::Disk { handle, .. } = &live.home else {
            return Err(Refusal::Internal);
        };
        let real = match &link {
            Some(link) => link.real.clone(),
            None => handle.real().clone(),
        };
        refuse_read_only(&real, &live.name, scope)?;
        let to = match op {
            NameOp::Delete => None,
            NameOp::MoveTo(to) => Some(self.planned_place(live, (&real, link.as_ref()), &to)?),
        };
        Ok(PlannedName {
            from: live.name.clone(),
            real,
            link,
            to,
        })
    }

    fn planned_place(
        &self,
        live: &LiveDocument,
        (from, link): (&RealPath, Option<&LinkPlace>),
        to: &str,
    ) -> Result<PlannedPlace, Refusal> {
        let EditContext {
            scope,
            overlays,
            work,
            ..
        } = self.means;
        let place = match new_place(to, from, (scope, overlays))? {
            Ok(place) => place,
            Err(taken) => return Err(self.refuse_taken(&live.name, to, &taken)),
        };
        // The file system may well find it by that name.
        if !place.is_alias && find(to, None, scope, overlays, work).is_ok() {
            return Err(exists(to, "is open in the editor", None));
        }
        if !self.places.contains(&ResourceId::File(place.real.clone())) {
            let message = format!("'{to}' leads to another place than a moment ago.");
            return Err(Refusal::Busy { message });
        }
        let unsupported = |message: String| Refusal::Unsupported {
            path: Some(shortened(to).into_owned()),
            message,
        };
        if !scope.are_of_one_store(from, &place.real) {
            return Err(unsupported(format!(
                "'{}' and '{to}' are not of one store; nothing was written. A file of the session is moved below local:// alone.",
                live.name
            )));
        }
        let parent = |path: &'_ Path| path.parent().map(Path::to_path_buf);
        if let Some(link) = link
            && link.leads_to.is_relative()
            && parent(from.as_path()) != parent(place.real.as_path())
        {
            return Err(unsupported(format!(
                "'{}' is a link to '{}', which would lead elsewhere from '{to}'; nothing was written. Move the file that it leads to, or leave the link in its folder.",
                live.name,
                link.leads_to.display()
            )));
        }
        Ok(PlannedPlace {
            name: scope.display(&place.real),
            place,
        })
    }

    fn refuse_taken(&self, name: &str, to: &str, taken: &TakenPlace) -> Refusal {
        match taken.by {
            TakenBy::Itself => exists(to, &format!("is where '{name}' is already"), None),
            TakenBy::Directory => exists(
                to,
                "is a directory: give the whole new path, with the file's name",
                None,
            ),
            TakenBy::Other => {
                let document = Document {
                    id: ResourceId::File(taken.real.clone()),
                    form: Form::Text,
                };
                let tag = self.means.sessions.newest_tag(&document);
                exists(to, "exists, and nothing is moved over it", tag)
            }
        }
    }

    /// Tells that a document stays open whose file is not there any more.
    pub(super) fn stays_open(&self, name: &PlannedName) -> Option<Warning> {
        let EditContext {
            scope,
            overlays,
            editor_follows,
            ..
        } = self.means;
        let is_open = overlays.of_file(&name.real, scope).is_some();
        (is_open && !editor_follows).then(|| Warning {
            code: "stillOpen",
            message: format!(
                "'{}' is open in the editor, which keeps it open under that name; ask the user to close it.",
                name.from
            ),
        })
    }

    /// Why the version of a tag cannot be undone, if that is because its file was moved here.
    pub(super) fn moved_here(&self, live: &LiveDocument, tag: Tag) -> Option<String> {
        let EditContext {
            scope, sessions, ..
        } = self.means;
        let from = sessions.moved_from(&live.document, tag)?;
        let ResourceId::File(real) = &from.id else {
            return None;
        };
        let (name, from) = (&live.name, scope.display(real));
        Some(format!(
            "'{name}' was moved here from '{from}', and that is not undone; `move file to {from}` moves it back."
        ))
    }
}

fn exists(to: &str, what: &str, tag: Option<Tag>) -> Refusal {
    let path = shortened(to).into_owned();
    EditRefusal::Exists {
        message: format!("'{path}' {what}. Nothing was written; choose another path."),
        path,
        tag: tag.map(|tag| tag.to_string()),
    }
    .into()
}

/// What stands for a file that is not there.
const GONE: u128 = u128::MAX;

/// That a place has no file any more, among what a change makes of its files.
pub(super) fn gone(real: &RealPath) -> (Document, u128) {
    let document = Document {
        id: ResourceId::File(real.clone()),
        form: Form::Text,
    };
    (document, GONE)
}

impl Planned {
    /// What it makes of its documents, where its text is to be `content`.
    pub(super) fn made(&self, content: u128) -> Vec<(Document, u128)> {
        let Some(name) = &self.name else {
            return vec![(self.live.document.clone(), content)];
        };
        let mut made = vec![gone(&name.real)];
        if let Some(to) = &name.to {
            made.push((self.document_at(name, to), content));
        }
        made
    }

    /// The document when its file has the new name.
    pub(super) fn document_at(&self, name: &PlannedName, to: &PlannedPlace) -> Document {
        let id = match &name.link {
            // What the link leads to stays where it is.
            Some(_) => self.live.document.id.clone(),
            None => ResourceId::File(to.place.real.clone()),
        };
        Document {
            id,
            form: self.live.document.form,
        }
    }

    /// Whether the file, or the link to it, goes.
    pub fn is_deletion(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.to.is_none())
    }

    /// What is to be done to the name on disk.
    pub(super) fn name_change(&self) -> Option<NameChange> {
        let name = self.name.as_ref()?;
        let from = match (&name.link, &self.live.home) {
            (Some(link), _) => NameOf::Link {
                real: link.real.clone(),
                leads_to: link.leads_to.clone(),
            },
            (
                None,
                Owner::Disk {
                    handle,
                    buffer,
                    bytes,
                    ..
                },
            ) => NameOf::File {
                real: handle.real().clone(),
                stamp: handle.stamp(),
                planned: disk::Planned::known(bytes.len() as u64, buffer.bytes_hash()),
            },
            (None, _) => return None,
        };
        Some(NameChange {
            from,
            to: name.to.as_ref().map(|to| to.place.clone()),
        })
    }

    /// Where a file is made that is not there.
    pub(super) fn target_of_new(&self, real: &RealPath) -> Target {
        let path = real.clone();
        match self.restored {
            Some(Restored(attributes)) => Target::Restored { path, attributes },
            None => Target::New { path },
        }
    }
}
