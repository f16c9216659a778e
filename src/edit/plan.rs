//! What an edit makes of each file, worked out before anything is written; a line that was not addressed is never part of it.

use crate::hashline::changed::{self, Outcome};
use crate::hashline::echo::echoes;
use crate::hashline::replace_text::TextMatch;
use crate::hashline::splice::{Splices, splices};
use crate::hashline::{self, BlockSpan, Origin, PlainBatch, Tag};
use crate::protocol::Refusal;
use crate::protocol::edit::Warning;
use crate::protocol::read::LineSpan;
use crate::session::{Notice, Version};
use crate::text::Text;
use crate::workspace::ResourceId;

use super::applied::{Part, Request};
use super::bytes::{bytes_after, check_characters};
use super::cells::{NotebookEdit, check_cells, notebook_edit};
use super::faults::{Fault, Faults};
use super::gone::Gone;
use super::hunks::Hunks;
use super::judge::Judge;
use super::live::EditContext;
use super::names::{changes_name, is_of_name};
use super::outdated::Revealer;
use super::planned::{Planned, Planner, Plans, Removed, ReplacedText};
use super::planned_name::NameOp;
use super::target::{self, AS_A_READ};
use super::undo::undone_tag;
use super::{LiveDocument, Named, WantedForm, refuse};

impl Planner<'_> {
    /// Plans all files, or says everything that is wrong: `known` is what parsing found.
    pub fn plan(&self, named: Vec<Named>, known: &[Fault]) -> Result<Plans, Refusal> {
        let groups = by_place(named);
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
            planned.extend(self.plan_missing(&gone, &mut faults)?);
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

    /// Plans a file that is not there; `None` where it is not to be brought back.
    fn plan_missing(&self, gone: &Gone, faults: &mut Faults) -> Result<Option<Planned>, Refusal> {
        let again = self.restored(gone);
        match again.unwrap_or_else(|| Err(gone.refusal())) {
            Ok(again) => Ok(Some(again)),
            Err(refusal) => {
                let section = &gone.group[0].section;
                faults.add(Fault::of(refusal, section.origin, &section.path)?);
                Ok(None)
            }
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
        if let Some(refusal) = self.moved_meanwhile(&located, named.path(), tag) {
            return Err(refusal);
        }
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
        if let Some(undone) = undone_tag(&group) {
            return self.plan_undo(live, undone, &group, faults);
        }
        let mut warnings: Vec<Warning> = group.iter().flat_map(Named::warnings).collect();
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
        let replaced = replaced(&plain, &found, live.text());
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
        let planned = match self.with_name(live, (tag_before, splices), name_op, header) {
            Ok(planned) => planned,
            Err((refusal, origin)) => {
                faults.add(Fault::of(refusal, origin, &called)?);
                return Ok(None);
            }
        };
        warnings.extend(planned.name.iter().filter_map(|name| self.stays_open(name)));
        let map = &planned.outcome.map;
        let replaced = replaced.into_iter().map(|it| it.placed(map));
        Ok(Some(Planned {
            replaced: replaced.collect(),
            removed: removed(&plain, &tagged),
            blocks: plain.blocks,
            remapped,
            warnings,
            ..planned
        }))
    }

    /// The plan of a file, and of its name; what is wrong is told with where it was written.
    fn with_name(
        &self,
        live: LiveDocument,
        (tag_before, splices): (Option<Tag>, Splices),
        name: Option<(NameOp, Origin)>,
        header: Origin,
    ) -> Result<Planned, (Refusal, Origin)> {
        let name = name.map(|(op, origin)| {
            let link = self.means.scope.link_at(&live.name);
            let planned = link.and_then(|link| self.planned_name(&live, link, op));
            planned.map_err(|refusal| (refusal, origin))
        });
        let planned = self.carried_through(live, tag_before, splices);
        let planned = planned.map_err(|refusal| (refusal, header))?;
        Ok(Planned {
            name: name.transpose()?,
            ..planned
        })
    }

    /// What the edit makes of the text and of the bytes, and of the JSON of a notebook.
    pub(super) fn carried_through(
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
        self.assembled(live, tag_before, (splices, outcome), notebook_edit)
    }

    /// The plan of a file of which all is known but its bytes.
    pub(super) fn assembled(
        &self,
        live: LiveDocument,
        tag_before: Option<Tag>,
        (splices, outcome): (Splices, Outcome),
        notebook_edit: Option<NotebookEdit>,
    ) -> Result<Planned, Refusal> {
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

/// The texts of which all are replaced, with their lines in the live text.
fn replaced(plain: &PlainBatch, found: &[TextMatch], text: &Text) -> Vec<ReplacedText> {
    let total = text.len_lines() as u64;
    let all = plain.texts.iter().filter(|text| text.all);
    let replaced = all.map(|text| {
        let of_text = found.iter().filter(|found| found.origin == text.origin);
        let lines = of_text.map(TextMatch::lines).map(|lines| LineSpan {
            start: lines.start.min(total),
            // It may end past the last line.
            end: lines.end.min(total),
        });
        let lines: Vec<LineSpan> = lines.collect();
        ReplacedText {
            old: text.old.clone(),
            times: lines.len(),
            lines: lines.into_iter().collect(),
        }
    });
    replaced.collect()
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

fn on_the_wire(warning: &hashline::Warning) -> Warning {
    Warning {
        code: warning.code.as_str(),
        message: refuse::sentence(&warning.message),
    }
}

/// The sections of each file.
fn by_place(named: Vec<Named>) -> Vec<(ResourceId, Vec<Named>)> {
    let mut groups: Vec<(ResourceId, Vec<Named>)> = Vec::new();
    for named in named {
        match groups.iter_mut().find(|(place, _)| *place == named.place) {
            Some((_, group)) => group.push(named),
            None => groups.push((named.place.clone(), vec![named])),
        }
    }
    groups
}
