//! The text that an edit is applied to, and who is to write it; an open document's unsaved text is never passed over.

use std::sync::Arc;
use std::time::Instant;

use crate::buffer::{Buffer, EncodingHints, MAX_BUFFER_BYTES, Overlay, Overlays, Store};
use crate::hashline::Tag;
use crate::hashline::tag::Fingerprint;
use crate::notebook::NotRead;
use crate::protocol::Refusal;
use crate::read::{
    Converted, Held, Located, SyntaxChecks, TargetKind, convert, held, id_of_unsaved,
    is_notebook_name, refuse_change,
};
use crate::session::{Actor, AsOf, Current, Document, Form, Meaning, Notice, Sessions, Version};
use crate::syntax::{self, Language};
use crate::task::Work;
use crate::text::Text;
use crate::workspace::{FileType, Handle, RealPath, ResourceId, Scope};

/// A document as it is now.
#[derive(Debug)]
pub struct LiveDocument {
    /// As headers name it.
    pub name: String,
    pub document: Document,
    /// Recorded, so that its tag is that of the text.
    pub version: Version,
    pub home: Owner,
    /// Where it was written, where the path is a link.
    pub linked_to: Option<String>,
    /// Where the text is that of a notebook's cells: the JSON that the home holds.
    pub notebook: Option<Converted>,
}

/// Who holds the text.
#[derive(Debug)]
pub enum Owner {
    Disk {
        handle: Handle,
        buffer: Arc<Buffer>,
        bytes: Vec<u8>,
        as_of: AsOf,
    },
    Editor {
        overlay: Arc<Overlay>,
        /// What the file of that document holds, where it has one.
        disk: Option<Arc<Buffer>>,
    },
    /// Nobody: it is to be made.
    Absent { real: RealPath },
}

/// What a document is opened with.
#[derive(Debug, Clone, Copy)]
pub struct EditContext<'a> {
    pub scope: &'a Scope,
    pub overlays: &'a Overlays,
    pub buffers: &'a Store,
    pub sessions: &'a Sessions,
    pub checks: &'a Arc<SyntaxChecks>,
    /// Whether the editor can be asked to change its documents (`workspace/applyEdit`, by version).
    pub editor_applies: bool,
    /// Whether it is a file on disk or none: names are changed there alone.
    pub on_disk: bool,
    /// Whether the editor's documents follow files that are moved or deleted.
    pub editor_follows: bool,
    pub work: &'a Work,
}

/// What tells the language of a document's texts.
#[derive(Debug, Clone)]
pub enum Naming {
    /// A notebook's text is in none.
    Nothing,
    Said(&'static Language),
    File(String),
}

impl Naming {
    /// The language of a text, if it has a grammar.
    pub fn language(&self, text: &Text) -> Option<&'static Language> {
        match self {
            Naming::Nothing => None,
            Naming::Said(language) => Some(language),
            Naming::File(name) => syntax::detect(name, text),
        }
    }
}

impl LiveDocument {
    /// The text.
    pub fn text(&self) -> &Text {
        &self.version.text
    }

    /// Whether the editor is to change it.
    pub fn is_editors(&self) -> bool {
        matches!(self.home, Owner::Editor { .. })
    }

    /// The language of a text of this document, if it has a grammar: by the file's name, or in the
    /// editor's word for what is in no file.
    pub fn language(&self, text: &Text) -> Option<&'static Language> {
        self.naming().language(text)
    }

    /// What tells the language.
    pub fn naming(&self) -> Naming {
        if self.notebook.is_some() {
            return Naming::Nothing;
        }
        let said = match (&self.document.id, &self.home) {
            (ResourceId::Document(_), Owner::Editor { overlay, .. }) => {
                syntax::named(&overlay.language_id)
            }
            _ => None,
        };
        match said {
            Some(language) => Naming::Said(language),
            None => {
                let file_name = self.name.rsplit('/').next().unwrap_or(&self.name);
                Naming::File(file_name.to_owned())
            }
        }
    }

    /// When the text was looked at.
    pub fn as_of(&self) -> AsOf {
        match &self.home {
            Owner::Disk { as_of, .. } => *as_of,
            Owner::Editor { overlay, .. } => AsOf::of_editor(overlay.since),
            Owner::Absent { .. } => AsOf::of_editor(Instant::now()),
        }
    }

    /// Its absolute path, or its URI where it is in no file.
    pub fn resolved_path(&self) -> String {
        match &self.document.id {
            ResourceId::File(real) => real.as_path().display().to_string(),
            ResourceId::Document(uri) | ResourceId::Url(uri) => uri.clone(),
            ResourceId::Internal(url) => url.to_string(),
        }
    }

    /// Opens what was found, if it can be edited as text. Also tells which sessions must hear that
    /// what they were shown has changed.
    ///
    /// A notebook is opened in the form that `wanted` says.
    pub fn open(
        located: Located,
        spelled: &str,
        wanted: WantedForm,
        means: EditContext,
    ) -> Result<(LiveDocument, Vec<Notice>), Refusal> {
        let name = located.display().to_owned();
        let (document, home, actor) = match located.target_kind {
            TargetKind::OnDisk(found) => {
                let real = found.handle.real().clone();
                let home = Owner::of_file(found.handle, spelled, means)?;
                let actor = match home {
                    Owner::Editor { .. } => Actor::Editor,
                    Owner::Disk { .. } | Owner::Absent { .. } => Actor::Disk,
                };
                (ResourceId::File(real), home, actor)
            }
            TargetKind::InEditor(overlay, _) => {
                let id = id_of_unsaved(&overlay);
                let disk = None;
                (id, Owner::Editor { overlay, disk }, Actor::Editor)
            }
            TargetKind::Internal(_) | TargetKind::Web(_) => {
                refuse_change(spelled, means.scope, means.overlays)?;
                return Err(Refusal::Internal);
            }
        };
        let home = home.checked(spelled, means)?;
        let mut current = home.current().ok_or(Refusal::Internal)?;
        let notebook = match wanted.is_cells(&document, means.sessions) {
            true => cells_of(&current, means.work)?,
            false => None,
        };
        if let Some(notebook) = &notebook {
            current = notebook.current(current.as_of);
        }
        let document = Document {
            id: document,
            form: match notebook {
                Some(_) => Form::Notebook,
                None => Form::Text,
            },
        };
        let (version, notices) = means.sessions.record(&document, &current, &actor);
        let live = LiveDocument {
            linked_to: linked_to(&document, &name, means.scope),
            name,
            document,
            version,
            home,
            notebook,
        };
        Ok((live, notices))
    }
}

/// In which form a notebook is to be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedForm {
    /// As the file's own text.
    Text,
    /// As whatever the tag names; without one, as a read shows it.
    Tagged(Option<Tag>),
}

impl WantedForm {
    /// Whether it is the text of a notebook's cells.
    fn is_cells(self, id: &ResourceId, sessions: &Sessions) -> bool {
        let (WantedForm::Tagged(tag), ResourceId::File(real)) = (self, id) else {
            return false;
        };
        if !is_notebook_name(real.as_path()) {
            return false;
        }
        let Some(tag) = tag else {
            return true;
        };
        let meaning = |form: Form| {
            let id = id.clone();
            sessions.meaning(&Document { id, form }, tag)
        };
        match (meaning(Form::Notebook), meaning(Form::Text)) {
            (Meaning::Held(_), _) => true,
            (_, Meaning::Held(_)) => false,
            (Meaning::Expired, _) => true,
            (Meaning::Unknown | Meaning::Moved(_), text) => {
                matches!(text, Meaning::Unknown | Meaning::Moved(_))
            }
        }
    }
}

/// The cells of a notebook that is known well enough to be written; `None` for other texts, which
/// are edited as they are.
fn cells_of(json: &Current, work: &Work) -> Result<Option<Converted>, Refusal> {
    match convert(&json.text, work) {
        Ok(converted) => Ok(Some(converted).filter(|it| it.notebook.is_known())),
        Err(NotRead::NoNotebook | NotRead::Damaged(_)) => Ok(None),
        Err(NotRead::Stopped(stopped)) => Err(stopped.into()),
    }
}

/// What a document of that form says, where its home holds `current`; `None` where that is no
/// notebook any more.
pub fn in_form(current: Current, form: Form, work: &Work) -> Option<Current> {
    match form {
        Form::Text => Some(current),
        Form::Notebook => {
            let converted = convert(&current.text, work).ok()?;
            Some(converted.current(current.as_of))
        }
    }
}

/// The real path, where the name is one of another place.
fn linked_to(document: &Document, name: &str, scope: &Scope) -> Option<String> {
    let ResourceId::File(real) = &document.id else {
        return None;
    };
    let is_link = scope.display(real) != name;
    is_link.then(|| real.as_path().display().to_string())
}

impl Owner {
    fn of_file(handle: Handle, spelled: &str, means: EditContext) -> Result<Owner, Refusal> {
        refuse_uneditable(&handle, spelled, means.scope)?;
        let overlays = (means.overlays, means.scope);
        let buffers = (means.buffers, MAX_BUFFER_BYTES);
        match held(&handle, spelled, None, overlays, buffers, means.work)? {
            Held::Editor { overlay, disk } => {
                // A dirty document's file tells what the editor cannot hold; it may be gone.
                let hints = EncodingHints {
                    declared: None,
                    editor: overlay.encoding,
                };
                let load = || {
                    let loaded = means.buffers.load(&handle, spelled, hints, means.work);
                    loaded.ok().map(|loaded| loaded.buffer)
                };
                let disk = disk.or_else(load);
                Ok(Owner::Editor { overlay, disk })
            }
            Held::Huge { .. } => Err(too_large(spelled)),
            Held::Torn { .. } => {
                let message = format!("'{spelled}' is being changed all the time.");
                Err(Refusal::Busy { message })
            }
            Held::Disk { overlay, loaded } => {
                let hints = EncodingHints {
                    declared: None,
                    editor: overlay.as_ref().and_then(|overlay| overlay.encoding),
                };
                let loaded = (&handle, loaded);
                let (buffer, bytes) = means
                    .buffers
                    .with_bytes(loaded, spelled, hints, means.work)?;
                match overlay {
                    Some(overlay)
                        if means.editor_applies
                            && !means.on_disk
                            && *overlay.text() == buffer.text =>
                    {
                        let disk = Some(buffer);
                        Ok(Owner::Editor { overlay, disk })
                    }
                    clean => Ok(Owner::Disk {
                        as_of: AsOf::of_disk(handle.opened_at(), clean.as_deref(), means.overlays),
                        handle,
                        buffer,
                        bytes,
                    }),
                }
            }
        }
    }

    /// Refuses what the editor is not able to do, and what it would lose.
    fn checked(self, spelled: &str, means: EditContext) -> Result<Owner, Refusal> {
        let Owner::Editor { overlay, disk } = &self else {
            return Ok(self);
        };
        if means.on_disk {
            return Err(Refusal::Unsupported {
                path: Some(spelled.to_owned()),
                message: format!(
                    "'{spelled}' is open in the editor with changes that are not on disk; files are moved and deleted on disk. Ask the user to save or close it first."
                ),
            });
        }
        if !means.editor_applies {
            return Err(Refusal::Unsupported {
                path: Some(spelled.to_owned()),
                message: format!(
                    "'{spelled}' has unsaved changes in the editor, which cannot be asked to edit it. Ask the user to save it, then read it again."
                ),
            });
        }
        let damaged = |text: &Text| {
            text.chunks()
                .flat_map(str::chars)
                .filter(is_replacement)
                .count()
        };
        let lost = disk
            .as_ref()
            .is_some_and(|disk| damaged(overlay.text()) > damaged(&disk.text));
        if lost {
            return Err(Refusal::Encoding {
                path: spelled.to_owned(),
                message: "the editor's text has lost characters that the file has (U+FFFD); saving it would damage the file. Ask the user to reopen it with the right encoding.".to_owned(),
            });
        }
        Ok(self)
    }

    /// The text that it holds.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Owner::Disk { buffer, .. } => Some(&buffer.text),
            Owner::Editor { overlay, .. } => Some(overlay.text()),
            Owner::Absent { .. } => None,
        }
    }

    /// The text, as the session store records it; `None` where there is none.
    fn current(&self) -> Option<Current> {
        match self {
            Owner::Disk { buffer, as_of, .. } => Some(Current {
                text: buffer.text.clone(),
                fingerprint: buffer.fingerprint(),
                place: None,
                as_of: *as_of,
            }),
            Owner::Editor { overlay, .. } => Some(of_overlay(overlay)),
            Owner::Absent { .. } => None,
        }
    }
}

fn is_replacement(c: &char) -> bool {
    *c == '\u{fffd}'
}

/// The editor's text, as the session store records it.
pub fn of_overlay(overlay: &Overlay) -> Current {
    let fingerprint: Fingerprint = overlay.fingerprint();
    Current {
        text: overlay.text().clone(),
        fingerprint,
        place: Some(overlay.place.clone()),
        as_of: AsOf::of_editor(overlay.since),
    }
}

/// Access for writing, and what is no text file, are judged before anything is read.
fn refuse_uneditable(handle: &Handle, spelled: &str, scope: &Scope) -> Result<(), Refusal> {
    refuse_read_only(handle.real(), spelled, scope)?;
    match handle.file_type() {
        FileType::Regular => Ok(()),
        FileType::Directory => Err(Refusal::Unsupported {
            path: Some(spelled.to_owned()),
            message: format!("'{spelled}' is a directory; only files can be edited."),
        }),
        FileType::Other(what) => Err(Refusal::NotRegular {
            path: spelled.to_owned(),
            what: what.to_owned(),
        }),
    }
}

/// What may be read but not changed (`access.outsideWorkspace: "read"`).
pub(super) fn refuse_read_only(
    real: &RealPath,
    spelled: &str,
    scope: &Scope,
) -> Result<(), Refusal> {
    match scope.may_edit(real) {
        true => Ok(()),
        false => Err(Refusal::OutsideWorkspace {
            path: spelled.to_owned(),
            real_path: real.as_path().display().to_string(),
        }),
    }
}

fn too_large(spelled: &str) -> Refusal {
    Refusal::TooLarge {
        path: spelled.to_owned(),
        what: "files over 32 MiB are not edited".to_owned(),
        instead: "Use a tool that streams, such as sed, for it.".to_owned(),
    }
}
