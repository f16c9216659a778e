//! `undo`: what an edit replaced is kept with what it made, and put back as an ordinary edit; what another program or the editor made is never undone.
//!
//! Kept by the text that was made, whichever session made it: the lines that were replaced, with
//! their bytes; of a notebook the parts of its JSON as well, so that a cell comes back with all
//! that it had.

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_128;

use crate::hashline::apply::byte_range;
use crate::hashline::changed;
use crate::hashline::splice::{Splices, TextChange};
use crate::hashline::{Inverse, Moved, Op, Origin, Remap, Stale, Tag, carry};
use crate::notebook::is_marker;
use crate::protocol::Refusal;
use crate::session::{Form, steps};
use crate::text::Text;

use super::bytes::file_bytes;
use super::cells::{NotebookEdit, position, put_back};
use super::faults::{Fault, Faults};
use super::hunks::Addressed;
use super::judge::Judge;
use super::planned::{Planned, Planner};
use super::undo_log::{Replaced, ReplacedJson, UndoLog};
use super::{LiveDocument, Named, Owner};

impl Replaced {
    /// By an edit that was carried out; `None` where nobody can tell.
    fn by(planned: &Planned) -> Option<Replaced> {
        if let Owner::Absent { .. } = planned.live.home {
            return None;
        }
        let file = match planned.notebook_edit {
            Some(_) => None,
            None => file_bytes(&planned.live),
        };
        let lines = Inverse::of(planned.live.text(), &planned.outcome, file.as_ref())?;
        let json = match (&planned.notebook_edit, planned.live.home.text()) {
            (Some(edit), Some(before)) => Some(ReplacedJson::by(edit, before)),
            _ => None,
        };
        Some(Replaced { lines, json })
    }
}

impl ReplacedJson {
    fn by(edit: &NotebookEdit, before: &Text) -> ReplacedJson {
        let (mut added, mut removed) = (0, 0);
        let parts = edit.changes.iter().map(|change| {
            let old = byte_range(before, change);
            let start = old.start + added - removed;
            added += change.text.len();
            removed += old.len();
            let text = before.rope().byte_slice(old).to_string();
            (start..start + change.text.len(), text)
        });
        ReplacedJson {
            parts: parts.collect(),
            made: hash(&edit.text),
        }
    }
}

fn hash(text: &Text) -> u128 {
    xxh3_128(text.raw_lines(0, text.len_lines()).as_bytes())
}

/// Keeps what a plan replaced that was carried out and made this text, as far as that is known.
pub(super) fn remember(log: &Mutex<UndoLog>, planned: &Planned, made: u128) {
    let replaced = Replaced::by(planned);
    log.lock()
        .keep((planned.live.document.clone(), made), replaced);
}

/// The tag of sections whose only op is `undo`, and where that is written.
pub(super) fn undone_tag(group: &[Named]) -> Option<(Tag, Origin)> {
    let sections = group.iter().map(|named| &named.section);
    let mut hunks = sections.flat_map(|section| section.hunks.iter().map(move |it| (section, it)));
    match (hunks.next(), hunks.next()) {
        (Some((section, hunk)), None) if hunk.op == Op::Undo => Some((section.tag?, hunk.origin)),
        _ => None,
    }
}

/// What is to be put back, in live numbers.
struct PutBack {
    splices: Splices,
    remapped: Vec<Remap>,
    /// Of a notebook, where its JSON is as the edit left it.
    json: Option<Vec<TextChange>>,
}

impl Planner<'_> {
    /// Plans to put back what the edit replaced that made the tagged version; `None` where
    /// something is wrong, which goes to the faults.
    pub(super) fn plan_undo(
        &self,
        live: LiveDocument,
        (tag, origin): (Tag, Origin),
        group: &[Named],
        faults: &mut Faults,
    ) -> Result<Option<Planned>, Refusal> {
        let warnings = group.iter().flat_map(Named::warnings).collect();
        let mut judge = Judge::new(self.revealer(&live));
        let header = group[0].section.origin;
        let put_back = self.put_back(&live, tag, (header, origin), &mut judge);
        let Some(put_back) = put_back.filter(|_| judge.is_sound()) else {
            judge.hand_on(faults);
            return Ok(None);
        };
        let (name, remapped) = (live.name.clone(), put_back.remapped);
        let planned = match put_back.json {
            None => self.carried_through(live, Some(tag), put_back.splices),
            Some(changes) => self.json_put_back(live, tag, put_back.splices, changes),
        };
        match planned {
            Ok(planned) => Ok(Some(Planned {
                remapped,
                warnings,
                ..planned
            })),
            Err(refusal) => {
                faults.add(Fault::of(refusal, origin, &name)?);
                Ok(None)
            }
        }
    }

    fn put_back(
        &self,
        live: &LiveDocument,
        tag: Tag,
        (header, origin): (Origin, Origin),
        judge: &mut Judge,
    ) -> Option<PutBack> {
        if let Some(why) = self.moved_here(live, tag) {
            judge.unsupported(origin, &why);
            return None;
        }
        let nothing = std::iter::empty();
        let versions = self.versions(live, Some((tag, header)), nothing, judge)?;
        let tagged = versions.first().unwrap_or(&live.version);
        let Some(replaced) = self.undo.lock().by_edit(&live.document, tagged.content) else {
            judge.unsupported(
                origin,
                &format!(
                    "'undo' takes back an edit made here, and #{tag} was made by none that is still known: by another program, as a new file, or too long ago. Edit by lines instead."
                ),
            );
            return None;
        };
        let steps = steps(&versions);
        let lines = &replaced.lines;
        let Moved { hunks, remapped } = match carry(lines.hunks(origin), &steps) {
            Ok(moved) => moved,
            Err(stale) => {
                judge.stale(&stale);
                return None;
            }
        };
        if self.require_seen {
            let made = lines.made(&lines.hunks(origin));
            let made: Vec<Addressed> = made.iter().map(Addressed::of).collect();
            self.check_shown(live, tagged, &made, &lines.made(&hunks), judge);
        }
        let splices = match lines.splices(live.text(), &hunks, origin) {
            Ok(splices) => splices,
            Err(anchors) => {
                judge.stale(&Stale {
                    anchors,
                    standing: Moved::default(),
                });
                return None;
            }
        };
        let json = json_changes(&replaced, live);
        if live.document.form == Form::Notebook
            && json.is_none()
            && lines.has_line(live.text(), &hunks, is_marker)
        {
            judge.unsupported(
                origin,
                "the notebook has changed since, and what cells had besides their text cannot be put back. Edit by lines instead.",
            );
        }
        Some(PutBack {
            splices,
            remapped,
            json,
        })
    }

    /// The plan for a notebook whose JSON is as the edit left it.
    fn json_put_back(
        &self,
        live: LiveDocument,
        tag: Tag,
        splices: Splices,
        changes: Vec<TextChange>,
    ) -> Result<Planned, Refusal> {
        let outcome = changed::outcome(live.text(), &splices);
        let json = live.home.text().ok_or(Refusal::Internal)?;
        let (edit, outcome) = put_back(&live, json, outcome, changes, self.means.work)?;
        self.assembled(live, Some(tag), (splices, outcome), Some(edit))
    }
}

/// What makes the JSON as it was before, where it is as the edit left it.
fn json_changes(replaced: &Replaced, live: &LiveDocument) -> Option<Vec<TextChange>> {
    let (replaced, json) = (replaced.json.as_ref()?, live.home.text()?);
    if hash(json) != replaced.made {
        return None;
    }
    let changes = replaced.parts.iter().map(|(place, text)| {
        let (start, end) = (position(json, place.start), position(json, place.end));
        TextChange::new(start, end, text.clone())
    });
    Some(changes.collect())
}
