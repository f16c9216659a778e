//! What an edit makes of each file, worked out before anything is written; a line that was not addressed is never part of it.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::hashline::apply::{FileBytes, new_bytes};
use crate::hashline::block::TextHunk;
use crate::hashline::changed::{self, Outcome};
use crate::hashline::echo::echoes;
use crate::hashline::ops::Op;
use crate::hashline::replace_text::TextMatch;
use crate::hashline::splice::{Change, Splices, splices};
use crate::hashline::tag::Fingerprint;
use crate::hashline::{
    self, Batch, BlockSpan, Blocks, Moved, Origin, PlainBatch, PlainHunk, Remap, Step, Tag, carry,
    replace_text,
};
use crate::protocol::Refusal;
use crate::protocol::edit::Warning;
use crate::protocol::edit_refusal::Outdated;
use crate::protocol::read::LineSpan;
use crate::read::Place;
use crate::session::{Meaning, Notice, Version, steps};
use crate::task::{Detour, Lane};
use crate::text::{Text, encode};
use crate::view::LineSet;
use crate::workspace::Stamp;

use super::applied::{Applied, Part, Request};
use super::beside::Beside;
use super::cells::{Recast, recast};
use super::job::Found;
use super::live::Means;
use super::outdated::{Revealer, joined};
use super::{Home, Job, Live, Named, Wanted, refuse, target};

/// One file of an edit, ready to be written.
#[derive(Debug)]
pub struct Planned {
    pub live: Live,
    pub tag_before: Option<Tag>,
    pub splices: Splices,
    pub outcome: Arc<Outcome>,
    pub beside: Arc<Beside>,
    /// Where the text is that of a notebook's cells: what becomes of the JSON.
    pub recast: Option<Recast>,
    /// The new bytes of a file that is written on disk.
    pub bytes: Option<Vec<u8>>,
    pub blocks: Vec<BlockSpan>,
    pub remapped: Vec<Remap>,
    pub warnings: Vec<Warning>,
    /// The stamp of its file once that is written on disk.
    pub written: Option<Stamp>,
    pub(super) no_change: OnceLock<bool>,
}

impl Planned {
    /// Whether it leaves the text as it is.
    pub fn is_no_change(&self) -> bool {
        *self
            .no_change
            .get_or_init(|| self.outcome.text == *self.live.text())
    }

    /// The changes of the text that the home holds.
    pub fn home_changes(&self) -> &[Change] {
        match &self.recast {
            Some(recast) => &recast.changes,
            None => &self.splices.changes,
        }
    }

    /// The text that the home is to hold.
    pub fn home_text(&self) -> &Text {
        match &self.recast {
            Some(recast) => &recast.text,
            None => &self.outcome.text,
        }
    }

    /// Of the text after the edit.
    pub fn fingerprint(&self) -> Fingerprint {
        self.beside.fingerprint()
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
    pub means: Means<'a>,
    /// Whether only lines that were shown may be edited.
    pub require_seen: bool,
    /// The places that are this edit's to change.
    pub places: &'a [Place],
    /// What was found there in this very moment.
    pub found: &'a Found,
    /// What was carried out before.
    pub applied: &'a Mutex<Applied>,
}

impl<'a> Planner<'a> {
    pub fn of(job: &'a Job<'_>) -> Planner<'a> {
        Planner {
            session: &job.change.session,
            means: job.means,
            require_seen: job.settings.edit.require_seen,
            places: job.places,
            found: &job.found,
            applied: job.applied,
        }
    }

    /// Plans all files, or says why one of them cannot be.
    pub fn plan(&self, named: Vec<Named>) -> Result<Plans, Detour> {
        let mut groups: Vec<(Place, Vec<Named>)> = Vec::new();
        for named in named {
            match groups.iter_mut().find(|(place, _)| *place == named.place) {
                Some((_, group)) => group.push(named),
                None => groups.push((named.place.clone(), vec![named])),
            }
        }
        let mut notices = Vec::new();
        // Access to every file is judged before the tag of any.
        let mut opened = Vec::new();
        for (place, group) in groups {
            let tag = group.iter().find_map(|named| named.section.tag);
            let (live, news) = self.open(&group[0], &place, tag)?;
            notices.extend(news);
            opened.push((live, group));
        }
        let parts = opened.iter();
        let parts = parts.map(|(live, group)| Part::of_patch(&live.document, group));
        let request = Request::of(self.session, &parts.collect::<Vec<_>>());
        if self.was_applied(request, &opened)? {
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
        let mut refused = Vec::new();
        for (live, group) in opened {
            match self.plan_file(live, group) {
                Ok(file) => planned.push(file),
                Err(Detour::Refused(refusal)) => refused.push(refusal),
                Err(detour) => return Err(detour),
            }
        }
        match joined(refused) {
            Some(refusal) => Err(refusal.into()),
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
        place: &Place,
        tag: Option<Tag>,
    ) -> Result<(Live, Vec<Notice>), Detour> {
        let Means {
            scope,
            overlays,
            work,
            ..
        } = self.means;
        let located = match self.found.take(place) {
            Some(located) => Ok(located),
            None => target::find(named.path(), scope, overlays, Lane::Long, work),
        };
        let located = located.map_err(|detour| match detour {
            Detour::Refused(Refusal::NotFound { path, suggestions }) => {
                Detour::Refused(Refusal::NothingToEdit { path, suggestions })
            }
            other => other,
        })?;
        if located.place(scope) != *place || !self.places.contains(place) {
            let message = format!(
                "'{}' leads to another file than a moment ago.",
                named.path()
            );
            return Err(Refusal::Busy { message }.into());
        }
        if located.selector != Default::default() {
            return Err(Refusal::Unsupported {
                path: Some(named.path().to_owned()),
                message: format!(
                    "'{}' names a part of a file. Give the path alone; lines are named in the edit.",
                    named.path()
                ),
            }
            .into());
        }
        Live::open(located, named.path(), Wanted::Tagged(tag), self.means)
    }

    fn plan_file(&self, live: Live, group: Vec<Named>) -> Result<Planned, Detour> {
        let mut warnings: Vec<Warning> = group.iter().flat_map(rebound_warnings).collect();
        let tagged_at = group.iter().find(|named| named.section.tag.is_some());
        let tagged_at = tagged_at
            .or(group.first())
            .map(|named| named.section.origin);
        let sections = group.into_iter().map(|named| named.section);
        let batch = Batch::join(sections).map_err(|error| refuse::two_tags(&error))?;
        let batch = batch.ok_or(Refusal::Internal)?;
        let tag_before = batch.tag;
        let ends = batch
            .hunks
            .iter()
            .any(|hunk| matches!(hunk.op, Op::InsertHead { .. } | Op::InsertTail { .. }));
        let versions = self.versions(&live, &batch, tagged_at.ok_or(Refusal::Internal)?)?;
        let tagged = versions.first().unwrap_or(&live.version).clone();
        let plain = self.plain(batch, &tagged, &live)?;
        warnings.extend(plain.warnings.iter().map(on_the_wire));
        let PlainBatch {
            hunks,
            texts,
            blocks,
            ..
        } = plain;
        let steps = steps(&versions);
        let Moved { hunks, remapped } = self.moved(&live, &tagged, hunks, &steps)?;
        if ends && tagged.content != live.version.content {
            let went = "rows for the head or the tail went to those of what is there now";
            warnings.push(moved_on(&live, tagged.tag, went));
        } else if steps.iter().any(|step| matches!(step, Step::Diffed(_))) {
            let went = "the edit went to the same lines of what is there now";
            warnings.push(moved_on(&live, tagged.tag, went));
        }
        let found = found(&live, &texts)?;
        let splices = splices(live.text(), &hunks, found)
            .map_err(|error| refuse::overlap(&error, &live.name))?;
        warnings.extend(echoes(live.text(), &hunks).iter().map(on_the_wire));
        let outcome = changed::outcome(live.text(), &splices);
        let (recast, outcome) = match (&live.notebook, live.home.text()) {
            (Some(notebook), Some(json)) => {
                let work = self.means.work;
                let (recast, outcome) = recast(&live, notebook, json, outcome, work)?;
                (Some(recast), outcome)
            }
            _ => (None, outcome),
        };
        let changes = recast.as_ref().map_or(&splices.changes, |it| &it.changes);
        let bytes = bytes_after(&live, changes)?;
        let outcome = Arc::new(outcome);
        Ok(Planned {
            beside: Beside::new(&live, outcome.clone()),
            live,
            tag_before,
            splices,
            outcome,
            recast,
            bytes,
            blocks,
            remapped,
            warnings,
            written: None,
            no_change: OnceLock::new(),
        })
    }

    /// The version that a batch is numbered by and all that came after it, up to the live one.
    /// `origin` is where its tag was written.
    fn versions(
        &self,
        live: &Live,
        batch: &Batch,
        origin: Origin,
    ) -> Result<Vec<Version>, Refusal> {
        let Some(tag) = batch.tag else {
            return Ok(vec![live.version.clone()]);
        };
        let named = || batch.hunks.iter().filter_map(|hunk| hunk.op.named_lines());
        match self.means.sessions.meaning(&live.document, tag) {
            Meaning::Held(mut versions) => {
                let named = versions.first().map(|version| version.content);
                // What the store was told of last need not be what is there: a look at the disk
                // may end after the editor's next change.
                if named == Some(live.version.content) {
                    return Ok(vec![live.version.clone()]);
                }
                let newest = versions.last().map(|version| version.content);
                if newest != Some(live.version.content) {
                    versions.push(live.version.clone());
                }
                Ok(versions)
            }
            Meaning::Expired => Err(self.revealer(live).no_version(
                Outdated::ExpiredTag,
                (tag, Some(origin)),
                named(),
            )),
            Meaning::Unknown => Err(self.revealer(live).no_version(
                Outdated::UnknownTag,
                (tag, Some(origin)),
                named(),
            )),
        }
    }

    pub(super) fn revealer<'b>(&'b self, live: &'b Live) -> Revealer<'b> {
        Revealer {
            session: self.session,
            sessions: self.means.sessions,
            live,
        }
    }

    /// Blocks as ranges, in the numbers of the tagged version.
    fn plain(&self, batch: Batch, tagged: &Version, live: &Live) -> Result<PlainBatch, Refusal> {
        batch
            .check_lines(tagged.text.len_lines() as u64)
            .map_err(|error| refuse::syntax(&error))?;
        // Most edits name no block.
        let mut blocks = None;
        let blocks_of = || {
            let language = live.language(&tagged.text);
            Blocks::new(&tagged.text, language, self.means.work)
        };
        batch
            .into_plain(|line| blocks.get_or_insert_with(blocks_of).at(line))
            .map_err(|error| refuse::plain(&error, &live.name))
    }

    /// The hunks in live numbers, if their lines still stand and were shown to this session.
    fn moved(
        &self,
        live: &Live,
        tagged: &Version,
        hunks: Vec<PlainHunk>,
        steps: &[Step],
    ) -> Result<Moved, Refusal> {
        let must_be_shown: Vec<_> = hunks.iter().map(shown_and_touched).collect();
        let moved = carry(hunks, steps).map_err(|stale| self.revealer(live).stale(&stale))?;
        if !self.require_seen {
            return Ok(moved);
        }
        let shown_of = |version: &Version| {
            let sessions = self.means.sessions;
            sessions.shown(self.session, &live.document, version)
        };
        // A line that was carried is the same one; what an error gave of the live text counts.
        let (shown, shown_live) = (shown_of(tagged), shown_of(&live.version));
        let mut unseen = LineSet::new();
        let mut first = None;
        for (before, hunk) in must_be_shown.iter().zip(&moved.hunks) {
            let (Some((lines, touched)), Some(now)) = (before, hunk.touched()) else {
                continue;
            };
            // A hunk has one offset, and the line that a block op names is its own or below it.
            for line in lines.start..=lines.end {
                let now = match hunk.block_line {
                    Some(line) => line,
                    None => now.start + (line - touched.start),
                };
                // What was carried has the same text in both, so either will do.
                if !shown.contains(line) && !shown_live.contains(now) {
                    unseen.insert(now, now);
                    first.get_or_insert(hunk.origin);
                }
            }
        }
        match first {
            None => Ok(moved),
            origin => Err(self.revealer(live).not_shown(&unseen, origin)),
        }
    }
}

/// The lines of a hunk that must have been shown, and those that it touches.
fn shown_and_touched(hunk: &PlainHunk) -> Option<(LineSpan, LineSpan)> {
    hunk.must_be_shown().zip(hunk.touched())
}

/// The new bytes of a file that is written on disk.
pub(super) fn bytes_after(live: &Live, changes: &[Change]) -> Result<Option<Vec<u8>>, Refusal> {
    let (buffer, bytes) = match &live.home {
        Home::Disk { buffer, bytes, .. } => (buffer, bytes),
        Home::Editor { overlay, disk } => {
            // Saving is the editor's, which may write another character where it lacks one.
            let encoding = overlay.encoding.or(disk.as_ref().map(|disk| disk.encoding));
            for change in changes {
                let fits =
                    encoding.map_or(Ok(()), |encoding| encode(&change.text, encoding).map(drop));
                fits.map_err(|error| refuse::encoding(&error.into(), &live.name))?;
            }
            return Ok(None);
        }
        Home::Absent { .. } => return Ok(None),
    };
    let file = FileBytes {
        bytes,
        text: &buffer.text,
        encoding: buffer.encoding,
        confidence: buffer.confidence,
        bom: buffer.bom,
    };
    new_bytes(&file, changes)
        .map(Some)
        .map_err(|error| refuse::encoding(&error, &live.name))
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

fn moved_on(live: &Live, tag: Tag, went: &str) -> Warning {
    Warning {
        code: "movedOn",
        message: format!("'{}' has changed since #{tag}; {went}.", live.name),
    }
}

/// Where the texts of `replace_text` are.
fn found(live: &Live, texts: &[TextHunk]) -> Result<Vec<TextMatch>, Refusal> {
    replace_text::find(live.text(), texts).map_err(|error| refuse::no_match(&error, &live.name))
}
