//! The hunks of one file in live line numbers, as far as their lines still stand and were shown; what is wrong with the others goes to the judge.

use crate::hashline::block::{PlainError, TextHunk};
use crate::hashline::ops::Op;
use crate::hashline::replace_text::TextMatch;
use crate::hashline::{
    Batch, Faulty, Hunk, Moved, NoBlockReason, Origin, PlainBatch, PlainHunk, Remap, Step, Tag,
    carry, replace_text,
};
use crate::protocol::edit::Warning;
use crate::protocol::edit_refusal::Outdated;
use crate::protocol::read::LineSpan;
use crate::session::{Meaning, Version, steps};
use crate::view::LineSet;

use super::blocks::blocks_at;
use super::judge::Judge;
use super::planned::Planner;
use super::planned_name::NameOp;
use super::{LiveDocument, Named};

impl Planner<'_> {
    /// The hunks of a file that can be applied, in live numbers; `None` where nobody knows what
    /// they are numbered by.
    pub(super) fn hunks(
        &self,
        live: &LiveDocument,
        group: Vec<Named>,
        judge: &mut Judge,
    ) -> Option<Hunks> {
        let tagged_at = group.iter().find(|named| named.section.tag.is_some());
        let tagged_at = tagged_at.or(group.first())?.section.origin;
        let sections = group.into_iter().map(|named| named.section);
        let batch = Batch::join(sections).map_err(|error| judge.two_tags(&error));
        let batch = batch.ok()??;
        let (batch, badly_placed) = Faulty::parts(batch.check_company());
        badly_placed
            .iter()
            .for_each(|error| judge.syntax(error, &[]));
        let (batch, name) = take_name_op(batch);
        let tag_before = batch.tag;
        let ends = |hunk: &Hunk| matches!(hunk.op, Op::InsertHead { .. } | Op::InsertTail { .. });
        let has_ends = batch.hunks.iter().any(ends);
        let tag = tag_before.map(|tag| (tag, tagged_at));
        let named = batch.hunks.iter().flat_map(|hunk| hunk.op.named_lines());
        let versions = self.versions(live, tag, named, judge)?;
        let tagged = versions.first().unwrap_or(&live.version).clone();
        if let Some((_, origin)) = &name
            && tagged.content != live.version.content
        {
            judge.changed_since(tagged.tag, *origin);
        }
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
            name,
        })
    }

    /// The version of a tag, with where that is written, and all that came after it, up to the live
    /// one; without a tag that alone. `named` are the lines addressed by it.
    pub(super) fn versions(
        &self,
        live: &LiveDocument,
        tag: Option<(Tag, Origin)>,
        named: impl Iterator<Item = LineSpan>,
        judge: &mut Judge,
    ) -> Option<Vec<Version>> {
        let Some((tag, origin)) = tag else {
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
        judge.no_version(why, (tag, origin), named);
        None
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
    pub(super) fn check_shown(
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
            if let (Some(line), Some(now)) = (before.and_then(|it| it.beside), hunk.beside())
                && !shown.contains(line)
                && !shown_live.contains(now)
            {
                unseen.insert(now, now);
            }
            if !unseen.is_empty() {
                judge.not_shown(hunk.origin, unseen);
            }
        }
    }
}

/// The lines of a hunk, as it was written.
#[derive(Debug)]
pub(super) struct Addressed {
    origin: Origin,
    /// Those that must have been shown, and those that it touches.
    lines: Option<(LineSpan, LineSpan)>,
    /// What lines are moved beside.
    beside: Option<u64>,
}

impl Addressed {
    pub(super) fn of(hunk: &PlainHunk) -> Addressed {
        Addressed {
            origin: hunk.origin,
            lines: hunk.must_be_shown().zip(hunk.touched()),
            beside: hunk.beside(),
        }
    }
}

/// The hunks of a file, in live numbers.
#[derive(Debug)]
pub(super) struct Hunks {
    /// The version that they were numbered by.
    pub tagged: Version,
    /// From there to the live one.
    steps: Vec<Step>,
    pub plain: PlainBatch,
    pub remapped: Vec<Remap>,
    /// Where the texts of `replace_text` are.
    pub found: Vec<TextMatch>,
    pub tag_before: Option<Tag>,
    /// Whether any goes to the head or the tail.
    has_ends: bool,
    /// What is to become of the file's name after that, and where it says so.
    pub name: Option<(NameOp, Origin)>,
}

impl Hunks {
    /// Tells that the file is another than the edit was made for.
    pub(super) fn moved_on(&self, live: &LiveDocument) -> Option<Warning> {
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

/// Takes out the op that changes the file's name; it is the last one.
fn take_name_op(mut batch: Batch) -> (Batch, Option<(NameOp, Origin)>) {
    let name = match batch.hunks.last() {
        Some(Hunk {
            op: Op::MoveFile { to },
            origin,
        }) => Some((NameOp::MoveTo(to.clone()), *origin)),
        Some(Hunk {
            op: Op::DeleteFile,
            origin,
        }) => Some((NameOp::Delete, *origin)),
        _ => None,
    };
    if name.is_some() {
        batch.hunks.pop();
    }
    (batch, name)
}

/// Where the texts of `replace_text` are.
fn found(live: &LiveDocument, texts: &[TextHunk], judge: &mut Judge) -> Vec<TextMatch> {
    let (found, missing) = replace_text::find(live.text(), texts);
    for error in &missing {
        judge.no_match(error);
    }
    found
}
