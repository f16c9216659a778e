//! Notebooks as editable text under a tag of their own; their JSON is the text of the same file, and neither form is ever taken for the other.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;

use crate::buffer::FileState;
use crate::hashline::fingerprint;
use crate::hashline::tag::Fingerprint;
use crate::notebook::{self, NotRead, Notebook, Rendered, Shown};
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::session::{self, AsOf, Current, Form};
use crate::task::{LONG_FROM_BYTES, Stopped, Work};
use crate::text::Text;
use crate::view::selector::{Own, Selector};
use crate::view::window::{self, Limits};
use crate::view::{Attachment, Document, Extras, Style};

use super::kind::{Asked, Kind, Subject};
use super::{Opened, ReadContext, Snapshot, image, refuse_own, text};

pub static NOTEBOOK: Jupyter = Jupyter;

/// Bytes of a notebook's JSON that are converted. Those over what a buffer holds are only shown.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Pictures of one answer.
const MAX_PICTURES: usize = 20;

#[derive(Debug)]
pub struct Jupyter;

/// A notebook, its JSON, and its text.
#[derive(Debug)]
pub struct Converted {
    pub json: String,
    pub notebook: Notebook,
    pub markers: Vec<usize>,
    pub text: Text,
    pub fingerprint: Fingerprint,
}

/// What is kept warm of a notebook.
#[derive(Debug)]
struct KeptNotebook {
    text: Text,
    fingerprint: Fingerprint,
    notices: Vec<String>,
    is_known: bool,
}

/// Whether a file is looked at as a notebook.
pub fn is_notebook_name(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The notebook that a JSON text is.
pub fn convert(json: &Text, work: &Work) -> Result<Converted, NotRead> {
    let json: String = json.chunks().collect();
    let notebook = notebook::parse(&json, work)?;
    let Rendered { text, markers, .. } = rendered(&notebook);
    let text = Text::new(&text);
    Ok(Converted {
        fingerprint: fingerprint(&text),
        json,
        notebook,
        markers,
        text,
    })
}

impl Converted {
    /// Its text, as the session store records it.
    pub fn current(&self, as_of: AsOf) -> Current {
        Current {
            text: self.text.clone(),
            fingerprint: self.fingerprint,
            // The editor's record is of the lines of the JSON.
            place: None,
            as_of,
        }
    }
}

fn rendered(notebook: &Notebook) -> Rendered {
    let cells = notebook.cells();
    notebook::render(cells.map(|cell| (cell.kind.as_str(), cell.source.as_str())))
}

impl Kind for Jupyter {
    fn kind(&self) -> ResourceKind {
        ResourceKind::Notebook
    }

    fn claims(&self, name: &str, selector: &Selector) -> bool {
        // The JSON is text as any other, and its conflicts are its lines'.
        is_notebook_name(Path::new(name)) && !selector.raw && !selector.conflicts
    }

    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Refusal> {
        let with_outputs = asked.selector.own == Some(Own::Outputs);
        if !with_outputs {
            refuse_own(asked.selector, asked.spelled, "a notebook")?;
        }
        let plain = match plain(asked) {
            Ok(plain) => plain,
            Err(Refusal::Binary { .. }) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let is_torn = matches!(asked.subject, Subject::File(_))
            && plain.document.text.whole().is_some()
            && plain.snapshot.is_none();
        let opened = match (plain.document.text.whole().cloned(), with_outputs) {
            (Some(json), false) => of_text(asked, plain, &json),
            (Some(json), true) => {
                if json.len_bytes() as u64 > LONG_FROM_BYTES {
                    asked.means.work.takes_long()?;
                }
                let json: String = json.chunks().collect();
                outputs(asked, plain, &json)
            }
            (None, with_outputs) => large(asked, plain, with_outputs),
        };
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(Failed::NotRead(NotRead::NoNotebook)) => Ok(None),
            // Halves of two states of a file are no JSON, and there is nothing to be mended.
            Err(Failed::Refused(Refusal::Damaged { path, .. })) if is_torn => {
                let message = format!("'{path}' is being changed all the time.");
                Err(Refusal::Busy { message })
            }
            Err(Failed::NotRead(NotRead::Stopped(stopped))) => Err(stopped.into()),
            Err(Failed::NotRead(NotRead::Damaged(_))) => Err(Refusal::Internal),
            Err(Failed::Refused(refusal)) => Err(refusal),
        }
    }
}

/// Why there is no document.
enum Failed {
    NotRead(NotRead),
    Refused(Refusal),
}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Failed {
        Failed::Refused(stopped.into())
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed::Refused(refusal)
    }
}

/// The JSON as a document of plain text; of one too large to hold, a line of it.
fn plain(asked: &Asked) -> Result<Opened, Refusal> {
    match asked.subject {
        Subject::File(handle) => {
            let selector = Selector::line(1);
            let means = ReadContext {
                selector: &selector,
                limits: Limits::ONE_LINE,
                ..asked.means
            };
            text::open(handle, asked.spelled, asked.encoding, means)
        }
        Subject::Member { bytes, .. } => {
            let decoded = crate::text::decode(bytes, asked.encoding).map_err(
                |crate::text::NotText::Binary { what }| Refusal::not_text(asked.spelled, what),
            )?;
            Ok(Opened::read_only(Document {
                kind: ResourceKind::Notebook,
                style: Style::Lines,
                location: asked.subject.location(),
                text: decoded.text.into(),
                cache: Cache::Miss,
                details: MoreDetails {
                    total_bytes: Some(bytes.len() as u64),
                    ..MoreDetails::default()
                },
                notices: Vec::new(),
                extras: Extras::default(),
            }))
        }
    }
}

/// The cells of JSON that is at hand.
fn of_text(asked: &Asked, plain: Opened, json: &Text) -> Result<Opened, Failed> {
    let (handle, of) = asked.subject.warm_key();
    // The text may be the editor's: it is named by what it says.
    let content = plain.snapshot.as_ref().map(|it| it.fingerprint.content);
    let state = content.map(|content| FileState::of_text(handle, content));
    let warm = asked.means.warm;
    let kept = state
        .as_ref()
        .and_then(|state| warm.get::<KeptNotebook>(state, "notebook", of));
    if let Some(kept) = kept {
        return Ok(as_notebook(plain, &kept, Cache::Hit));
    }
    if json.len_bytes() as u64 > LONG_FROM_BYTES && asked.means.work.takes_long()? {
        return of_text(asked, plain, json);
    }
    let json: String = json.chunks().collect();
    let kept = Arc::new(read(asked, &json)?);
    if let Some(state) = &state {
        let bytes = kept.text.len_bytes() as u64 * 9 / 8 + 256;
        warm.keep((state, handle), "notebook", of, kept.clone(), bytes);
    }
    Ok(as_notebook(plain, &kept, Cache::Miss))
}

fn read(asked: &Asked, json: &str) -> Result<KeptNotebook, Failed> {
    let notebook = parse(asked, json)?;
    let text = Text::new(&rendered(&notebook).text);
    Ok(KeptNotebook {
        fingerprint: fingerprint(&text),
        text,
        notices: notices(&notebook),
        is_known: notebook.is_known(),
    })
}

fn parse(asked: &Asked, json: &str) -> Result<Notebook, Failed> {
    notebook::parse(json, asked.means.work).map_err(|error| match error {
        NotRead::Damaged(fault) => {
            let (line, character) = fault.place(json);
            Failed::from(Refusal::Damaged {
                path: asked.spelled.to_owned(),
                what: format!(
                    "the notebook's JSON cannot be read at line {line}, character {character} ({fault})"
                ),
                instead: "Read it with :raw to see and to mend its text.".to_owned(),
            })
        }
        other => Failed::NotRead(other),
    })
}

fn notices(notebook: &Notebook) -> Vec<String> {
    let mut notices = Vec::new();
    if !notebook.is_known() {
        let format = match notebook.format {
            Some(format) => format!("has nbformat {format}, which is neither 3 nor 4"),
            None => "does not say its nbformat".to_owned(),
        };
        notices.push(format!(
            "The notebook {format}: its cells are shown as they were found and cannot be edited; :raw can"
        ));
    }
    let lossy = notebook.cells().filter(|cell| cell.is_lossy).count();
    if lossy > 0 {
        notices.push(format!(
            "{lossy} of the sources have half of a character (a lone surrogate), shown as U+FFFD; they can only be edited as JSON, with :raw"
        ));
    }
    notices
}

/// The document of a notebook's text, in the place of that of its JSON.
fn as_notebook(plain: Opened, kept: &KeptNotebook, cache: Cache) -> Opened {
    let Opened {
        document, snapshot, ..
    } = plain;
    let snapshot = snapshot.filter(|_| kept.is_known);
    let mut notices = document.notices;
    notices.extend(kept.notices.iter().cloned());
    let mut footers = document.extras.footers;
    footers.extend(kept.notices.iter().cloned());
    Opened::read_only(Document {
        kind: ResourceKind::Notebook,
        text: kept.text.clone().into(),
        cache,
        details: details(document.details, &kept.text),
        extras: Extras {
            footers,
            ..Extras::default()
        },
        notices,
        style: Style::Lines,
        location: document.location,
    })
    .with_snapshot(snapshot.map(|snapshot| Snapshot {
        document: session::Document {
            form: Form::Notebook,
            ..snapshot.document
        },
        fingerprint: kept.fingerprint,
        // The editor's record is of the lines of the JSON.
        place: None,
        ..snapshot
    }))
}

fn details(plain: MoreDetails, text: &Text) -> MoreDetails {
    MoreDetails {
        total_lines: Some(text.len_lines() as u64),
        line_ending: Some(text.line_ending().as_str()),
        ..plain
    }
}

impl Opened {
    fn with_snapshot(self, snapshot: Option<Snapshot>) -> Opened {
        Opened { snapshot, ..self }
    }
}

/// A notebook whose JSON is too large to be held: it is gone through once, and only shown.
fn large(asked: &Asked, plain: Opened, with_outputs: bool) -> Result<Opened, Failed> {
    let (handle, of) = asked.subject.warm_key();
    let warm = asked.means.warm;
    let state = asked.subject.state(asked.spelled)?;
    if !with_outputs && let Some(kept) = warm.get::<KeptNotebook>(&state, "notebook", of) {
        return Ok(as_notebook(plain, &kept, Cache::Hit));
    }
    if asked.means.work.takes_long()? {
        return large(asked, plain, with_outputs);
    }
    let size = asked.subject.size();
    let _share = asked
        .means
        .memory
        .take(size.min(MAX_BYTES), asked.means.work)?;
    let bytes = asked
        .subject
        .bytes(MAX_BYTES, asked.spelled, asked.means.work)?;
    let Some(bytes) = bytes else {
        return Err(Failed::from(Refusal::TooLarge {
            path: asked.spelled.to_owned(),
            what: "notebooks over 64 MiB are not converted".to_owned(),
            instead: "Read lines of its JSON with :raw, or ask the user to clear its outputs."
                .to_owned(),
        }));
    };
    let json = std::str::from_utf8(&bytes).map_err(|error| Refusal::Damaged {
        path: asked.spelled.to_owned(),
        what: format!("its byte {} is not UTF-8", error.valid_up_to()),
        instead: "Read it with :raw to see its text.".to_owned(),
    })?;
    let json = json.strip_prefix('\u{feff}').unwrap_or(json);
    let mut kept = read(asked, json)?;
    kept.is_known = false;
    kept.notices.push(
        "The notebook is over 32 MiB: it is shown, but cannot be edited before its outputs are cleared"
            .to_owned(),
    );
    if with_outputs {
        return outputs(asked, plain, json);
    }
    let bytes = kept.text.len_bytes() as u64 * 9 / 8 + 256;
    let kept = Arc::new(kept);
    warm.keep((&state, handle), "notebook", of, kept.clone(), bytes);
    Ok(as_notebook(plain, &kept, Cache::Miss))
}

/// The cells with what they gave: another text, which no edit can be of.
fn outputs(asked: &Asked, plain: Opened, json: &str) -> Result<Opened, Failed> {
    let notebook = parse(asked, json)?;
    let shown = notebook::with_outputs(json, &notebook, asked.means.work)?;
    let text = Text::new(&shown.text);
    let (attachments, more) = pictures(asked, json, &shown, &text)?;
    let mut own = notices(&notebook);
    own.extend(more);
    let document = plain.document;
    let mut notices = document.notices;
    notices.extend(own.iter().cloned());
    let mut footers = document.extras.footers;
    footers.append(&mut own);
    Ok(Opened::read_only(Document {
        kind: ResourceKind::Notebook,
        style: Style::Lines,
        location: document.location,
        details: details(document.details, &text),
        text: text.into(),
        cache: Cache::Miss,
        notices,
        extras: Extras {
            attachments,
            footers,
            ..Extras::default()
        },
    }))
}

/// The pictures of the rows that will be shown; and what must be said of others.
fn pictures(
    asked: &Asked,
    json: &str,
    shown: &Shown,
    text: &Text,
) -> Result<(Vec<Attachment>, Vec<String>), Refusal> {
    let ReadContext {
        scope,
        limits,
        work,
        ..
    } = asked.means;
    let settings = &scope.settings().images;
    if !settings.inline || shown.pictures.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let window = window::open(text, asked.selector, &limits);
    let spans: Vec<_> = window.spans().collect();
    let is_shown = |line: u64| spans.iter().any(|s| s.start <= line && line <= s.end);
    let wanted = shown.pictures.iter().filter(|p| is_shown(p.line));
    let wanted: Vec<_> = wanted.collect();
    if !wanted.is_empty() {
        work.takes_long()?;
    }
    let mut attachments = Vec::new();
    let mut notices = Vec::new();
    for picture in wanted.iter().take(MAX_PICTURES) {
        work.check()?;
        let bytes = BASE64.decode(picture.base64(json));
        let made = match bytes {
            Ok(bytes) => image::embedded(bytes, settings, &asked.means)?,
            Err(_) => Err("its Base64 is damaged".to_owned()),
        };
        match made {
            Ok((mime_type, data)) => attachments.push(Attachment {
                line: Some(picture.line),
                mime_type,
                data,
                made_of: None,
            }),
            Err(what) => notices.push(format!(
                "The image of line {} cannot be shown: {what}",
                picture.line
            )),
        }
    }
    if wanted.len() > MAX_PICTURES {
        let next = wanted[MAX_PICTURES].line;
        notices.push(format!(
            "Only the first {MAX_PICTURES} images are shown; use :outputs:{next}- for those from line {next} on"
        ));
    }
    Ok((attachments, notices))
}
