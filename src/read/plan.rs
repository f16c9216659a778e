//! One read from parameters to result; what is shown is recorded before the answer is handed on, never after.

use std::sync::Arc;

use crate::buffer::{DocumentId, MAX_BUFFER_BYTES, Overlays};
use crate::outline::{Definition, Outline};
use crate::protocol::read::ResourceKind;
use crate::protocol::settings::Summarize;
use crate::protocol::{Refusal, shortened};
use crate::session::{self, Actor, Form, Notice};
use crate::structure::NoStructure;
use crate::syntax;
use crate::task::Work;
use crate::view::window::{Limits, Spent};
use crate::view::{Budget, Document, ListingStyle, Own, Selector, Style};
use crate::workspace::{At, FileType, ResourceId, Scope};

use super::ask::Ask;
use super::declared::Selected;
use super::look::Wanted;
use super::obtained::{Lacking, Obtained, StageResult};
use super::places::{Whereabouts, go_on_mount};
use super::reader::Reader;
use super::source::internal::{self, InternalContext};
use super::source::web::{self, PageLacking};
use super::source::{self, Opened, ReadContext};
use super::source_file::{Lack, SourceFile};
use super::target::{Located, TargetKind, locate};

/// What was found, before any limit is applied to it.
#[derive(Debug)]
pub struct Prepared {
    pub(super) located: Located,
    pub(super) opened: Opened,
    pub(super) wanted: Wanted,
    /// The path names no part of it; parameters may name lines.
    pub(super) is_bare: bool,
    /// A text, of which no lines in particular are asked for.
    pub(super) is_whole_text: bool,
    /// What only the hard limits cut.
    pub(super) is_shown_whole: bool,
    /// What it defines, where that is to be told if it is not shown to its end.
    pub(super) definitions: Option<Arc<[Definition]>>,
}

impl Prepared {
    pub(super) fn limits(&self, ask: &Ask) -> Limits {
        ask.limits_of(self.is_whole_text, self.is_shown_whole)
    }

    /// How what was found is called in headers and messages.
    pub(super) fn name(&self) -> &str {
        let part = self.opened.name.as_deref();
        part.unwrap_or(self.located.display())
    }

    /// The same, absolute: with the real path of what was found on disk, or as an address.
    pub(super) fn path(&self) -> String {
        let display = self.located.display();
        if let TargetKind::Internal(_) = self.located.target_kind {
            return self.name().to_owned();
        }
        let Some(resolved) = &self.opened.document.location.resolved_path else {
            return self.name().to_owned();
        };
        match self.name().strip_prefix(display) {
            Some(within) => format!("{resolved}{within}"),
            None => resolved.clone(),
        }
    }
}

impl Reader {
    /// Finds and loads what is asked for; of what is not on this machine, what was `obtained` so far.
    /// Blocking. `found` hears where it is as soon as that is known, and as much of it as is known
    /// before a wait for a mount.
    pub fn prepare(
        &self,
        ask: &Ask,
        obtained: Option<&Obtained>,
        scope: &Scope,
        overlays: &Overlays,
        work: &Work,
        found: &dyn Fn(Whereabouts),
    ) -> Result<StageResult<Prepared>, Refusal> {
        if let Some(refusal) = &ask.request.refusal {
            return Err(refusal.clone());
        }
        let target = &ask.request.target;
        let page = obtained.and_then(Obtained::page);
        let context = self.context(ask, (scope, overlays), obtained, work);
        let mut located = match page {
            Some(page) => Located::on_web(page.ask.address.clone()),
            None => {
                go_on_mount(ask, scope, found)?;
                locate_any(ask, &context)?
            }
        };
        // No edit waits for what is obtained.
        found(Whereabouts::At(located.place(scope)));
        if let Some(lacking) = located.lacks() {
            return Ok(StageResult::Lacks(lacking));
        }
        // Until it is opened it stays as it is.
        let hold = located.take_hold();
        ask.refuse_barred(&located)?;
        let is_bare = located.is_bare();
        let is_shown_whole = matches!(&located.target_kind, TargetKind::Internal(target_kind) if target_kind.provider.facts().is_shown_whole);
        located.selector = ask.selected(&located.selector);
        let means = ReadContext {
            display: located.display(),
            scope,
            overlays,
            buffers: &self.buffers,
            warm: &self.warm,
            memory: &self.memory,
            converters: &self.converters,
            queriers: &self.queriers,
            selector: &located.selector,
            limits: match is_shown_whole {
                true => ask.hard_limits(),
                false => ask.limits(),
            },
            listing: ask.request.listing,
            whole_file: ask
                .request
                .whole_file
                .filter(|_| is_bare && !ask.documents_as_text),
            image_bytes: ask.request.image_bytes,
            held_up_to: MAX_BUFFER_BYTES,
            counts_lines: ask.request.counts_lines,
            work,
        };
        let (spelled, inner) = (shortened(target.as_written()), located.inner.as_deref());
        let mut opened = match (&located.target_kind, page) {
            (TargetKind::OnDisk(found), _) => {
                source::open(&found.handle, &spelled, inner, ask.encoding, means)?
            }
            (TargetKind::InEditor(overlay, _), _) => source::editor::unsaved(overlay),
            (TargetKind::Internal(target_kind), _) => {
                internal::open::open(target_kind, (&spelled, inner), ask.encoding, means)?
            }
            (TargetKind::Web(address), None) => {
                let lacking = PageLacking::Page(address.clone());
                return Ok(StageResult::Lacks(Lacking::Page(lacking)));
            }
            (TargetKind::Web(_), Some(page)) => match web::open(page, &spelled, means)? {
                StageResult::Ready(opened) => opened,
                StageResult::Lacks(lacking) => return Ok(StageResult::Lacks(lacking)),
            },
        };
        drop(hold);
        opened.selector = opened.selector.map(|selector| ask.selected(&selector));
        if let Some(part) = &located.part {
            let source = source_file(&opened, &located);
            let name = opened.name.as_deref().unwrap_or(located.display());
            match self.select_part(ask, part, (&opened, source), name, work)? {
                Selected::Lines(selector) => opened.selector = Some(selector),
                Selected::List(document) => opened = Opened::read_only(*document),
            }
        }
        let selector = opened.selector.as_ref().unwrap_or(&located.selector);
        let document = &opened.document;
        if is_bare {
            ask.refuse_controls(&located, document)?;
        }
        let is_whole = *selector == Selector::default();
        let mut no_structure = None;
        let outline = self.outline(ask, (&opened, &located), selector, work, &mut no_structure)?;
        let is_whole_text =
            is_whole && document.style == Style::Lines && document.kind != ResourceKind::Document;
        let definitions = match ask.request.truncate {
            Some(lines) if is_whole_text && is_longer(document, lines) => {
                let file = source_file(&opened, &located);
                let found = file.map(|file| self.definitions.of(&file, work));
                had(found.unwrap_or(Ok(None)), &mut no_structure)?
            }
            _ => None,
        };
        let wanted = match outline {
            Some(outline) => Wanted::summary(outline, selector),
            None => Wanted::of(document, selector, target.as_written(), work)?,
        };
        // Of what nothing folds, and is shown whole, there is nothing to say.
        let is_cut = is_longer_than(&opened.document, &ask.limits());
        let says_why = |why: &NoStructure| is_cut || !matches!(why, NoStructure::Nothing(_));
        if let Some(why) = no_structure.filter(says_why) {
            let why = format!("No structure: {why}");
            opened.document.notices.push(why.clone());
            opened.document.extras.footers.push(why);
        }
        Ok(StageResult::Ready(Prepared {
            located,
            opened,
            wanted,
            is_bare,
            is_whole_text,
            is_shown_whole,
            definitions,
        }))
    }

    /// The outline that is shown of a text: of one that is asked for as a whole, or by `:outline`.
    /// `lacking` hears why there is none.
    fn outline(
        &self,
        ask: &Ask,
        (opened, located): (&Opened, &Located),
        selector: &Selector,
        work: &Work,
        lacking: &mut Option<NoStructure>,
    ) -> Result<Option<Arc<Outline>>, Refusal> {
        let is_asked_for = selector.own == Some(Own::Outline);
        let is_whole = *selector == Selector::default();
        let settings = match ask.request.summarize {
            Some(settings) if is_asked_for => Summarize {
                enabled: true,
                min_total_lines: 1,
                ..settings
            },
            Some(settings) if is_whole && settings.enabled => settings,
            _ if is_asked_for => {
                let why = format!("in '{}' texts have no outlines", ask.dialect.name());
                return Err(no_outline(ask, &why));
            }
            _ => return Ok(None),
        };
        let of_page = opened.web.as_ref().and_then(|web| web.outline.clone());
        if of_page.is_some() && is_whole {
            return Ok(of_page);
        }
        let file = source_file(opened, located);
        let outline = file.map(|file| self.outlines.of(&file, &settings, work));
        let outline = had(outline.unwrap_or(Ok(None)), lacking)?;
        match (&outline, &lacking) {
            (None, Some(why)) if is_asked_for => Err(no_outline(ask, &why.to_string())),
            (None, None) if is_asked_for => Err(no_outline(ask, "this is in no language with one")),
            _ => Ok(outline),
        }
    }

    /// What a read would take if it alone had the whole of a shared budget.
    pub fn demand(&self, ask: &Ask, prepared: &Prepared, shared: Budget) -> Spent {
        let limits = prepared.limits(ask).at_most(shared);
        let Prepared { opened, wanted, .. } = prepared;
        wanted.look(&opened.document, &limits).window().spent
    }

    /// A document is gone, in each of its forms: tells everyone who was shown lines of it.
    pub fn vanished(&self, id: &ResourceId, actor: &Actor) -> Vec<Notice> {
        forms_of(id.clone())
            .flat_map(|gone| self.sessions.vanished(&gone, actor))
            .collect()
    }

    /// Whether anything of what is there was ever shown, in any form.
    fn is_known(&self, id: ResourceId) -> bool {
        forms_of(id).any(|document| self.sessions.is_known(&document))
    }

    /// Looks at a document again because it may have changed, for the sake of the sessions that
    /// were shown lines of it. Blocking, as [`Reader::prepare`] is.
    pub fn look_again(
        &self,
        key: &DocumentId,
        actor: &Actor,
        scope: &Scope,
        overlays: &Overlays,
        work: &Work,
    ) -> Result<Vec<Notice>, Refusal> {
        if let DocumentId::Other(uri) = key
            && overlays.of_no_file(key).is_none()
        {
            return Ok(self.vanished(&ResourceId::Document(uri.clone()), actor));
        }
        let Some(opened) = self.open_known(key, scope, overlays, work)? else {
            return Ok(Vec::new());
        };
        let (Some(snapshot), Some(text)) = (&opened.snapshot, opened.document.text.whole()) else {
            return Ok(Vec::new());
        };
        let mut notices = Vec::new();
        if self.sessions.is_known(&snapshot.document) {
            let current = snapshot.current(text);
            let recorded = self.sessions.record(&snapshot.document, &current, actor);
            notices.extend(recorded.1);
        }
        let cells = session::Document {
            form: Form::Notebook,
            ..snapshot.document.clone()
        };
        if self.sessions.is_known(&cells) {
            // What is no notebook just now may be half written: the next look tells.
            if let Ok(converted) = source::notebook::convert(text, work) {
                let current = converted.current(snapshot.as_of);
                notices.extend(self.sessions.record(&cells, &current, actor).1);
            }
        }
        Ok(notices)
    }

    /// The text that a document has now, if anything of it was ever shown.
    fn open_known(
        &self,
        key: &DocumentId,
        scope: &Scope,
        overlays: &Overlays,
        work: &Work,
    ) -> Result<Option<Opened>, Refusal> {
        let DocumentId::File(path) = key else {
            return Ok(overlays.of_no_file(key).map(source::editor::unsaved));
        };
        let handle = match scope.look_at(path)? {
            At::Here(handle) => handle,
            At::Nothing(real) => {
                let overlay = overlays.of_file(&real, scope);
                return Ok(overlay.map(source::editor::unsaved));
            }
        };
        // Of most documents nothing was ever shown: those are not loaded.
        let is_text = handle.file_type() == FileType::Regular;
        if !is_text || !self.is_known(ResourceId::File(handle.real().clone())) {
            return Ok(None);
        }
        let means = ReadContext {
            display: "",
            scope,
            overlays,
            buffers: &self.buffers,
            warm: &self.warm,
            memory: &self.memory,
            converters: &self.converters,
            queriers: &self.queriers,
            // Of a file too large to hold there is nothing to tell: one line of it is enough.
            selector: &Selector::line(1),
            limits: Limits::ONE_LINE,
            listing: ListingStyle::Tree,
            whole_file: None,
            image_bytes: None,
            held_up_to: MAX_BUFFER_BYTES,
            counts_lines: false,
            work,
        };
        let spelled = path.to_string_lossy();
        source::text::open(&handle, &spelled, None, means).map(Some)
    }
}

/// Finds what a read is of: behind an internal address, else a file or what the editor has.
pub(super) fn locate_any(ask: &Ask, context: &InternalContext) -> Result<Located, Refusal> {
    let target = &ask.request.target;
    if let Some(located) = internal::locate::locate(target, context)? {
        return Ok(located);
    }
    let InternalContext {
        scope, overlays, ..
    } = context;
    let found = locate(
        target,
        Some(ask.request.guess),
        scope,
        overlays,
        context.work,
    );
    // An address that nobody has, and no file.
    if let Err(Refusal::Unsupported { .. }) = &found
        && let Some(located) = internal::mcp::listed_so_far(target, context)?
    {
        return Ok(located);
    }
    found
}

/// What was opened as a text that may be in some language. A notebook's text is in none.
fn source_file<'a>(opened: &'a Opened, located: &'a Located) -> Option<SourceFile<'a>> {
    if opened.document.kind != ResourceKind::File {
        return None;
    }
    if let Some(web) = &opened.web {
        let (document, content) = web.code.as_ref()?;
        return (!web.fits || !web.folds_only_if_long).then_some(SourceFile {
            document,
            file_name: &web.file_name,
            said: None,
            text: opened.document.text.whole()?,
            content: *content,
        });
    }
    let snapshot = opened.snapshot.as_ref()?;
    let name = located.display();
    Some(SourceFile {
        document: &snapshot.document,
        file_name: name.rsplit('/').next().unwrap_or(name),
        // What is in no file has no name that would tell; the editor knows.
        said: match &located.target_kind {
            TargetKind::InEditor(overlay, _) => syntax::named(&overlay.language_id),
            TargetKind::OnDisk(_) | TargetKind::Internal(_) | TargetKind::Web(_) => None,
        },
        text: opened.document.text.whole()?,
        content: snapshot.fingerprint.content,
    })
}

/// What is had of a structure; `lacking` hears why there is none.
fn had<T>(
    structure: Result<Option<T>, Lack>,
    lacking: &mut Option<NoStructure>,
) -> Result<Option<T>, Refusal> {
    match structure {
        Ok(structure) => Ok(structure),
        Err(Lack::Refused(refusal)) => Err(refusal),
        Err(Lack::NoStructure(why)) => {
            *lacking = Some(why);
            Ok(None)
        }
    }
}

fn forms_of(id: ResourceId) -> impl Iterator<Item = session::Document> {
    let forms = [Form::Text, Form::Notebook].into_iter();
    forms.map(move |form| session::Document {
        id: id.clone(),
        form,
    })
}

fn no_outline(ask: &Ask, why: &str) -> Refusal {
    Refusal::BadSelector {
        path: Some(ask.path().to_owned()),
        message: format!("No outline: {why}. Leave :outline out."),
    }
}

/// Whether a read of all of it is cut.
fn is_longer_than(document: &Document, limits: &Limits) -> bool {
    let lines = limits.budget.lines.min(limits.open_lines);
    is_longer(document, lines)
        || document
            .text
            .whole()
            .is_some_and(|text| (text.len_bytes() + text.len_lines()) as u64 > limits.budget.bytes)
}

fn is_longer(document: &Document, lines: u64) -> bool {
    let text = document.text.whole();
    text.is_some_and(|text| text.len_lines() as u64 > lines)
}
