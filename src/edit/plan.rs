//! What an edit makes of each file, worked out before anything is written; a line that was not addressed is never part of it.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::hashline::block::{PlainError, TextHunk};
use crate::hashline::changed::{self, Outcome};
use crate::hashline::echo::echoes;
use crate::hashline::ops::Op;
use crate::hashline::replace_text::TextMatch;
use crate::hashline::splice::{Splices, TextChange, splices};
use crate::hashline::tag::Fingerprint;
use crate::hashline::{
    self, Batch, BlockSpan, Faulty, Hunk, Moved, NoBlockReason, Origin, PlainBatch, PlainHunk,
    Remap, Step, Tag, carry, replace_text,
};
use crate::protocol::Refusal;
use crate::protocol::edit::Warning;
use crate::protocol::edit_refusal::Outdated;
use crate::protocol::read::LineSpan;
use crate::session::{Meaning, Notice, Version, steps};
use crate::text::Text;
use crate::view::LineSet;
use crate::workspace::{ResourceId, Stamp};

use super::applied::{Applied, Part, Request};
use super::blocks::blocks_at;
use super::bytes::{bytes_after, check_characters};
use super::cells::{NotebookEdit, notebook_edit};
use super::deferred::DeferredReport;
use super::faults::{Fault, Faults};
use super::judge::Judge;
use super::live::EditContext;
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
            written: None,
            no_change: OnceLock::new(),
        }
    }

    /// Whether it leaves the text as it is.
    pub fn is_no_change(&self) -> bool {
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
        for (place, group) in groups {
            let tag = group.iter().find_map(|named| named.section.tag);
            match self.open(&group[0], &place, tag) {
                Ok((live, news)) => {
                    notices.extend(news);
                    opened.push((live, group));
                }
                Err(refusal) => {
                    let origin = group[0].section.origin;
                    faults.add(Fault::of(refusal, origin, &group[0].section.path)?);
                }
            }
        }
        let parts = opened.iter();
        let parts = parts.map(|(live, group)| Part::of_patch(&live.document, group));
        let request = Request::of(self.session, &parts.collect::<Vec<_>>());
        // What is faulty was never carried out.
        if faults.is_empty() && self.was_applied(request, &opened)? {
            let files = opened.into_iter().map(|(live, group)| {
                let tag = group.iter().find_map(|named| named.section.tag);
                Planned::untouched(live, tag)
            });
            return Ok(Plans {
                files: files.collect(),
                notices,
                request,
                is_applied: true,
            });
        }
        let mut planned = Vec::new();
        for (live, group) in opened {
            planned.extend(self.plan_file(live, group, &mut faults)?);
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

    fn open(
        &self,
        named: &Named,
        place: &ResourceId,
        tag: Option<Tag>,
    ) -> Result<(LiveDocument, Vec<Notice>), Refusal> {
        let EditContext {
            scope,
            overlays,
            work,
            ..
        } = self.means;
        let located = match self.found.take(place) {
            Some(located) => Ok(located),
            None => target::find(named.path(), AS_A_READ, scope, overlays, work),
        };
        let located = located.map_err(|refusal| match refusal {
            Refusal::NotFound { path, suggestions } => Refusal::NothingToEdit { path, suggestions },
            other => other,
        })?;
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
        LiveDocument::open(located, named.path(), WantedForm::Tagged(tag), self.means)
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
            ..
        } = hunks;
        let splices = splices(live.text(), &plain.hunks, found);
        let splices = splices.map_err(|error| judge.overlap(&error)).ok();
        check_characters(&live, &plain, &mut judge);
        let Some(splices) = splices.filter(|_| judge.is_sound()) else {
            judge.hand_on(faults);
            return Ok(None);
        };
        warnings.extend(echoes(live.text(), &plain.hunks).iter().map(on_the_wire));
        let name = live.name.clone();
        let planned = match self.carried_through(live, tag_before, splices) {
            Ok(planned) => planned,
            Err(refusal) => {
                faults.add(Fault::of(refusal, header, &name)?);
                return Ok(None);
            }
        };
        Ok(Some(Planned {
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
                let (notebook_edit, outcome) = notebook_edit(&live, notebook, json, outcome, work)?;
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

    /// The hunks of a file that can be applied, in live numbers; `None` where nobody knows what
    /// they are numbered by.
    fn hunks(&self, live: &LiveDocument, group: Vec<Named>, judge: &mut Judge) -> Option<Hunks> {
        let tagged_at = group.iter().find(|named| named.section.tag.is_some());
        let tagged_at = tagged_at.or(group.first())?.section.origin;
        let sections = group.into_iter().map(|named| named.section);
        let batch = Batch::join(sections).map_err(|error| judge.two_tags(&error));
        let batch = batch.ok()??;
        let tag_before = batch.tag;
        let ends = |hunk: &Hunk| matches!(hunk.op, Op::InsertHead { .. } | Op::InsertTail { .. });
        let has_ends = batch.hunks.iter().any(ends);
        let versions = self.versions(live, &batch, tagged_at, judge)?;
        let tagged = versions.first().unwrap_or(&live.version).clone();
        let steps = steps(&versions);
        let mut plain = self.plain(batch, &tagged, live, &steps, judge);
        let hunks = std::mem::take(&mut plain.hunks);
        let Moved { hunks, remapped } = self.moved(live, &tagged, hunks, &steps, judge);
        plain.hunks = hunks;
        let found = found(live, &plain.texts, judge);
        Some(Hunks {
            tagged,
            steps,
            plain,
            remapped,
            found,
            tag_before,
            has_ends,
        })
    }

    /// The version that a batch is numbered by and all that came after it, up to the live one.
    /// `origin` is where its tag was written.
    fn versions(
        &self,
        live: &LiveDocument,
        batch: &Batch,
        origin: Origin,
        judge: &mut Judge,
    ) -> Option<Vec<Version>> {
        let Some(tag) = batch.tag else {
            return Some(vec![live.version.clone()]);
        };
        let why = match self.means.sessions.meaning(&live.document, tag) {
            Meaning::Held(mut versions) => {
                let named = versions.first().map(|version| version.content);
                // What the store was told of last need not be what is there: a look at the disk
                // may end after the editor's next change.
                if named == Some(live.version.content) {
                    return Some(vec![live.version.clone()]);
                }
                let newest = versions.last().map(|version| version.content);
                if newest != Some(live.version.content) {
                    versions.push(live.version.clone());
                }
                return Some(versions);
            }
            Meaning::Expired => Outdated::ExpiredTag,
            Meaning::Unknown | Meaning::Moved(_) => Outdated::UnknownTag,
        };
        let named = batch.hunks.iter().filter_map(|hunk| hunk.op.named_lines());
        judge.no_version(why, (tag, origin), named);
        None
    }

    pub(super) fn revealer<'b>(&'b self, live: &'b LiveDocument) -> Revealer<'b> {
        Revealer {
            session: self.session,
            sessions: self.means.sessions,
            live,
            chars: self.chars,
        }
    }

    /// Blocks as ranges, in the numbers of the tagged version.
    fn plain(
        &self,
        batch: Batch,
        tagged: &Version,
        live: &LiveDocument,
        steps: &[Step],
        judge: &mut Judge,
    ) -> PlainBatch {
        let total = tagged.text.len_lines() as u64;
        let (batch, missing) = Faulty::parts(batch.check_lines(total));
        missing.iter().for_each(|error| judge.syntax(error, steps));
        let blocks = blocks_at(&batch.blocks(), tagged, live, self.means);
        let block_at = |at| match &blocks {
            // All of them were asked for.
            Ok(blocks) => blocks
                .get(&at)
                .cloned()
                .unwrap_or(Err(NoBlockReason::NoParser.alone())),
            Err(reason) => Err(reason.alone()),
        };
        let plain = batch.into_plain(block_at);
        let (plain, faults) = Faulty::parts(plain);
        for fault in &faults {
            match fault {
                PlainError::Patch(error) => judge.syntax(error, steps),
                PlainError::Overlap(error) => judge.overlap(error),
            }
        }
        plain
    }

    /// The hunks in live numbers whose lines still stand and were shown to this session.
    fn moved(
        &self,
        live: &LiveDocument,
        tagged: &Version,
        hunks: Vec<PlainHunk>,
        steps: &[Step],
        judge: &mut Judge,
    ) -> Moved {
        let addressed: Vec<Addressed> = hunks.iter().map(Addressed::of).collect();
        let moved = carry(hunks, steps).unwrap_or_else(|stale| {
            judge.stale(&stale);
            stale.standing
        });
        if self.require_seen {
            self.check_shown(live, tagged, &addressed, &moved.hunks, judge);
        }
        moved
    }

    /// Finds the hunks that touch lines which were never shown: `hunks`, in live numbers, are some
    /// of those that were `addressed`, in the same order.
    fn check_shown(
        &self,
        live: &LiveDocument,
        tagged: &Version,
        addressed: &[Addressed],
        hunks: &[PlainHunk],
        judge: &mut Judge,
    ) {
        let shown_of = |version: &Version| {
            let sessions = self.means.sessions;
            sessions.shown(self.session, &live.document, version)
        };
        // A line that was carried is the same one; what an error gave of the live text counts.
        let (shown, shown_live) = (shown_of(tagged), shown_of(&live.version));
        let mut addressed = addressed.iter();
        for hunk in hunks {
            let before = addressed.find(|before| before.origin == hunk.origin);
            let lines = before.and_then(|before| before.lines);
            let (Some((lines, touched)), Some(now)) = (lines, hunk.touched()) else {
                continue;
            };
            let mut unseen = LineSet::new();
            // A hunk has one offset, and the line that a block op names may be another than its
            // first.
            for line in lines.lines() {
                let now = match hunk.block_line {
                    Some(line) => line,
                    None => now.start + (line - touched.start),
                };
                // What was carried has the same text in both, so either will do.
                if !shown.contains(line) && !shown_live.contains(now) {
                    unseen.insert(now, now);
                }
            }
            if !unseen.is_empty() {
                judge.not_shown(hunk.origin, unseen);
            }
        }
    }
}

/// The lines of a hunk, as it was written.
struct Addressed {
    origin: Origin,
    /// Those that must have been shown, and those that it touches.
    lines: Option<(LineSpan, LineSpan)>,
}

impl Addressed {
    fn of(hunk: &PlainHunk) -> Addressed {
        Addressed {
            origin: hunk.origin,
            lines: hunk.must_be_shown().zip(hunk.touched()),
        }
    }
}

/// The hunks of a file, in live numbers.
struct Hunks {
    /// The version that they were numbered by.
    tagged: Version,
    /// From there to the live one.
    steps: Vec<Step>,
    plain: PlainBatch,
    remapped: Vec<Remap>,
    /// Where the texts of `replace_text` are.
    found: Vec<TextMatch>,
    tag_before: Option<Tag>,
    /// Whether any goes to the head or the tail.
    has_ends: bool,
}

impl Hunks {
    /// Tells that the file is another than the edit was made for.
    fn moved_on(&self, live: &LiveDocument) -> Option<Warning> {
        let is_diffed = |step: &Step| matches!(step, Step::Diffed(_));
        let went = if self.has_ends && self.tagged.content != live.version.content {
            "rows for the head or the tail went to those of what is there now"
        } else if self.steps.iter().any(is_diffed) {
            "the edit went to the same lines of what is there now"
        } else {
            return None;
        };
        let (name, tag) = (&live.name, self.tagged.tag);
        Some(Warning {
            code: "movedOn",
            message: format!("'{name}' has changed since #{tag}; {went}."),
        })
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

/// Where the texts of `replace_text` are.
fn found(live: &LiveDocument, texts: &[TextHunk], judge: &mut Judge) -> Vec<TextMatch> {
    let (found, missing) = replace_text::find(live.text(), texts);
    for error in &missing {
        judge.no_match(error);
    }
    found
}
