//! What an edit makes of each file, worked out before anything is written; a line that was not addressed is never part of it.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::hashline::changed::{self, Outcome};
use crate::hashline::echo::echoes;
use crate::hashline::splice::{Splices, TextChange, splices};
use crate::hashline::tag::Fingerprint;
use crate::hashline::{self, BlockSpan, PlainBatch, Remap, Tag};
use crate::protocol::Refusal;
use crate::protocol::edit::Warning;
use crate::protocol::read::LineSpan;
use crate::session::{Notice, Version};
use crate::text::Text;
use crate::workspace::{ResourceId, Stamp};

use super::applied::{Applied, Part, Request};
use super::bytes::{bytes_after, check_characters};
use super::cells::{NotebookEdit, check_cells, notebook_edit};
use super::deferred::DeferredReport;
use super::deleted::DeletedFiles;
use super::faults::{Fault, Faults};
use super::hunks::Hunks;
use super::judge::Judge;
use super::live::EditContext;
use super::names::{PlannedName, Restored, changes_name, is_of_name};
use super::outdated::Revealer;
use super::target::{self, AS_A_READ, FoundFiles};
use super::{LiveDocument, Named, WantedForm, refuse};

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
}

impl Planner<'_> {
    /// Plans all files, or says everything that is wrong: `known` is what parsing found.
    pub fn plan(&self, named: Vec<Named>, known: &[Fault]) -> Result<Plans, Refusal> {
        let mut groups: Vec<(ResourceId, Vec<Named>)> = Vec::new();
        for named in named {
            match groups.iter_mut().find(|(place, _)| *place == named.place) {
                Some((_, group)) => group.push(named),
                None => groups.push((named.place.clone(), vec![named])),
            }
        }
        let mut faults = Faults::new(known.to_vec(), self.chars);
        let mut notices = Vec::new();
        // Access to every file is judged before the tag of any.
        let mut opened = Vec::new();
        let mut missing = Vec::new();
        let mut parts = Vec::new();
        for (place, group) in groups {
            match self.open(&group, &place) {
                Ok((live, news)) => {
                    notices.extend(news);
                    parts.push(self.part(&live, &group)?);
                    opened.push((live, group));
                }
                Err(refusal) => {
                    if let Some(gone) = self.gone(&place, &group, &refusal) {
                        parts.push(Part::of_name(&gone.real, &group));
                        missing.push(gone);
                        continue;
                    }
                    let origin = group[0].section.origin;
                    faults.add(Fault::of(refusal, origin, &group[0].section.path)?);
                }
            }
        }
        let request = Request::of(self.session, &parts);
        // What is faulty was never carried out.
        if faults.is_empty() && self.was_applied(request, &opened, &missing)? {
            let files = opened.into_iter().map(|(live, group)| {
                let tag = group.iter().find_map(|named| named.section.tag);
                Planned::untouched(live, tag)
            });
            let missing = missing.into_iter().map(|gone| gone.untouched(self));
            return Ok(Plans {
                files: files.chain(missing).collect(),
                notices,
                request,
                is_applied: true,
            });
        }
        let mut planned = Vec::new();
        for (live, group) in opened {
            planned.extend(self.plan_file(live, group, &mut faults)?);
        }
        for gone in missing {
            let again = self.restored(&gone);
            match again.unwrap_or_else(|| Err(gone.refusal())) {
                Ok(again) => planned.push(again),
                Err(refusal) => {
                    let section = &gone.group[0].section;
                    faults.add(Fault::of(refusal, section.origin, &section.path)?);
                }
            }
        }
        match faults.refusal() {
            Some(refusal) => Err(refusal),
            None => Ok(Plans {
                files: planned,
                notices,
                request,
                is_applied: false,
            }),
        }
    }

    /// What sections ask for of a document.
    fn part(&self, live: &LiveDocument, group: &[Named]) -> Result<Part, Refusal> {
        let ResourceId::File(real) = &live.document.id else {
            return Ok(Part::of_patch(&live.document, group));
        };
        if !is_of_name(group) {
            return Ok(Part::of_patch(&live.document, group));
        }
        let link = self.means.scope.link_at(&live.name)?;
        let place = link.as_ref().map_or(real, |link| &link.real);
        Ok(Part::of_name(place, group))
    }

    fn open(
        &self,
        group: &[Named],
        place: &ResourceId,
    ) -> Result<(LiveDocument, Vec<Notice>), Refusal> {
        let named = &group[0];
        let tag = group.iter().find_map(|named| named.section.tag);
        let EditContext {
            scope,
            overlays,
            work,
            ..
        } = self.means;
        let located = match self.found.take(place) {
            Some(located) => Ok(located),
            None => {
                let guess = AS_A_READ.filter(|_| !is_of_name(group));
                target::find(named.path(), guess, scope, overlays, work)
            }
        };
        let located = located.map_err(|refusal| match refusal {
            Refusal::NotFound { path, suggestions } => Refusal::NothingToEdit { path, suggestions },
            other => other,
        })?;
        if self.is_not_it(&located, place, tag) {
            return Err(Refusal::NothingToEdit {
                path: named.path().to_owned(),
                suggestions: Vec::new(),
            });
        }
        if located.place(scope) != *place || !self.places.contains(place) {
            let message = format!(
                "'{}' leads to another file than a moment ago.",
                named.path()
            );
            return Err(Refusal::Busy { message });
        }
        if located.selector != Default::default() {
            return Err(Refusal::Unsupported {
                path: Some(named.path().to_owned()),
                message: format!(
                    "'{}' names a part of a file. Give the path alone; lines are named in the edit.",
                    named.path()
                ),
            });
        }
        let means = EditContext {
            on_disk: changes_name(group),
            ..self.means
        };
        LiveDocument::open(located, named.path(), WantedForm::Tagged(tag), means)
    }

    /// Plans a file; `None` where something is wrong with it, which goes to the faults.
    fn plan_file(
        &self,
        live: LiveDocument,
        group: Vec<Named>,
        faults: &mut Faults,
    ) -> Result<Option<Planned>, Refusal> {
        let mut warnings: Vec<Warning> = group.iter().flat_map(rebound_warnings).collect();
        let header = group[0].section.origin;
        let mut judge = Judge::new(self.revealer(&live));
        let Some(hunks) = self.hunks(&live, group, &mut judge) else {
            judge.hand_on(faults);
            return Ok(None);
        };
        warnings.extend(hunks.plain.warnings.iter().map(on_the_wire));
        warnings.extend(hunks.moved_on(&live));
        let Hunks {
            tagged,
            plain,
            remapped,
            found,
            tag_before,
            name: name_op,
            ..
        } = hunks;
        let splices = splices(live.text(), &plain.hunks, found);
        let splices = splices.map_err(|error| judge.overlap(&error)).ok();
        check_characters(&live, &plain, &mut judge);
        check_cells(&live, &plain, &mut judge);
        let Some(splices) = splices.filter(|_| judge.is_sound()) else {
            judge.hand_on(faults);
            return Ok(None);
        };
        warnings.extend(echoes(live.text(), &plain.hunks).iter().map(on_the_wire));
        let called = live.name.clone();
        let name = name_op.map(|(op, origin)| {
            let link = self.means.scope.link_at(&live.name);
            let planned = link.and_then(|link| self.planned_name(&live, link, op));
            planned.map_err(|refusal| (refusal, origin))
        });
        let planned = self.carried_through(live, tag_before, splices);
        let planned = planned.map_err(|refusal| (refusal, header));
        let (planned, name) = match planned.and_then(|planned| Ok((planned, name.transpose()?))) {
            Ok(planned) => planned,
            Err((refusal, origin)) => {
                faults.add(Fault::of(refusal, origin, &called)?);
                return Ok(None);
            }
        };
        if let Some(name) = &name {
            warnings.extend(self.stays_open(name));
        }
        Ok(Some(Planned {
            name,
            removed: removed(&plain, &tagged),
            blocks: plain.blocks,
            remapped,
            warnings,
            ..planned
        }))
    }

    /// What the edit makes of the text and of the bytes, and of the JSON of a notebook.
    fn carried_through(
        &self,
        live: LiveDocument,
        tag_before: Option<Tag>,
        splices: Splices,
    ) -> Result<Planned, Refusal> {
        let outcome = changed::outcome(live.text(), &splices);
        let (notebook_edit, outcome) = match (&live.notebook, live.home.text()) {
            (Some(notebook), Some(json)) => {
                let work = self.means.work;
                let moved = &splices.moved;
                let (notebook_edit, outcome) =
                    notebook_edit(&live, notebook, json, outcome, moved, work)?;
                (Some(notebook_edit), outcome)
            }
            _ => (None, outcome),
        };
        let changes = notebook_edit
            .as_ref()
            .map_or(&splices.changes, |it| &it.changes);
        let bytes = bytes_after(&live, changes)?;
        Ok(Planned {
            notebook_edit,
            ..Planned::new(live, tag_before, splices, outcome, bytes)
        })
    }

    pub(super) fn revealer<'b>(&'b self, live: &'b LiveDocument) -> Revealer<'b> {
        Revealer {
            session: self.session,
            sessions: self.means.sessions,
            live,
            chars: self.chars,
        }
    }
}

/// Lines that went, in the numbers of the tagged version.
#[derive(Debug)]
pub struct Removed {
    pub lines: LineSpan,
    /// What the first of them said.
    pub first: String,
}

/// The lines of blocks that go.
fn removed(plain: &PlainBatch, tagged: &Version) -> Vec<Removed> {
    let gone = plain.blocks.iter().filter(|block| block.goes);
    gone.map(|BlockSpan { lines, .. }| Removed {
        lines: *lines,
        first: tagged.text.line((lines.start - 1) as usize).into_owned(),
    })
    .collect()
}

/// What an edit goes to that names no file there is.
fn rebound_warnings(named: &Named) -> impl Iterator<Item = Warning> {
    let rebound = named.rebound.iter().map(|path| {
        format!(
            "There is no '{}'; its tag was shown to you for '{path}', which was edited.",
            named.section.path
        )
    });
    let understood = named.understood.iter().map(|how| format!("{how}."));
    rebound.chain(understood).map(|message| Warning {
        code: "rebound",
        message,
    })
}

fn on_the_wire(warning: &hashline::Warning) -> Warning {
    Warning {
        code: warning.code.as_str(),
        message: refuse::sentence(&warning.message),
    }
}
