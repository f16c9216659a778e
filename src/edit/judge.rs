//! What is wrong with the hunks of one file, each judged by itself; one that cannot be applied never keeps another from being looked at.

use crate::hashline::ops::TwoTags;
use crate::hashline::replace_text::NoMatch;
use crate::hashline::{Origin, apply::EncodingError};
use crate::hashline::{Overlap, PatchError, Stale, Step, Syntax, Tag, carry};
use crate::protocol::edit_refusal::Outdated;
use crate::protocol::read::LineSpan;
use crate::protocol::{EditRefusal, Refusal};
use crate::view::LineSet;

use super::faults::{Fault, Faults};
use super::outdated::{Revealed, Revealer, around, written_at};
use super::refuse::{self, sentence};

/// Candidates that are given with the lines around them.
const WITH_CONTEXT: usize = 5;

/// The faults of one file.
#[derive(Debug)]
pub struct Judge<'a> {
    revealer: Revealer<'a>,
    found: Vec<HunkFault>,
    /// Live lines to be given.
    lines: LineSet,
}

#[derive(Debug)]
enum HunkFault {
    Plain(Origin, Refusal),
    /// The lines are no longer what was addressed; why.
    Outdated(Outdated, Origin, String),
    NotShown(Origin, LineSet),
}

impl<'a> Judge<'a> {
    pub fn new(revealer: Revealer<'a>) -> Judge<'a> {
        Judge {
            revealer,
            found: Vec::new(),
            lines: LineSet::new(),
        }
    }

    pub fn is_sound(&self) -> bool {
        self.found.is_empty()
    }

    fn give(&mut self, spans: impl Iterator<Item = LineSpan>) {
        self.lines.extend(around(spans).spans());
    }

    pub fn two_tags(&mut self, error: &TwoTags) {
        self.found
            .push(HunkFault::Plain(error.second.1, refuse::two_tags(error)));
    }

    /// A tag that names nothing, or nothing any more; `named` are the lines addressed by it.
    pub fn no_version(
        &mut self,
        why: Outdated,
        (tag, origin): (Tag, Origin),
        named: impl Iterator<Item = LineSpan>,
    ) {
        let words = self.revealer.no_version_words(why, tag);
        let reason = format!("{}{words}", written_at(Some(origin)));
        self.found.push(HunkFault::Outdated(why, origin, reason));
        self.give(named);
    }

    /// Lines or blocks that are not there; `steps` lead to the live text.
    pub fn syntax(&mut self, error: &PatchError, steps: &[Step]) {
        let line = match error.what {
            Syntax::NoBlock { line, .. } => Some(line),
            Syntax::NoSuchLine { total, .. } => Some(total),
            _ => None,
        };
        if let Some(line) = line {
            let span = LineSpan::line(line);
            self.give(std::iter::once(carry::place_of(span, steps)));
        }
        self.found
            .push(HunkFault::Plain(error.origin, refuse::syntax(error)));
    }

    /// Something that cannot be done to this file; why.
    pub fn unsupported(&mut self, origin: Origin, why: &str) {
        let refusal = Refusal::Unsupported {
            path: Some(self.revealer.live.name.clone()),
            message: sentence(&format!("{}{why}", written_at(Some(origin)))),
        };
        self.found.push(HunkFault::Plain(origin, refusal));
    }

    pub fn overlap(&mut self, error: &Overlap) {
        let name = &self.revealer.live.name;
        self.found
            .push(HunkFault::Plain(error.second, refuse::overlap(error, name)));
    }

    /// Lines that are others now. What stands around all anchors is given, of sound ones too.
    pub fn stale(&mut self, stale: &Stale) {
        self.found.extend(
            stale
                .reasons()
                .map(|(origin, reason)| HunkFault::Outdated(Outdated::Stale, origin, reason)),
        );
        self.give(stale.anchors.iter().map(|anchor| anchor.now));
    }

    /// A file is another than the one whose name is to be changed.
    pub fn changed_since(&mut self, tag: Tag, origin: Origin) {
        let live = self.revealer.live;
        let reason = format!(
            "{}'{}' has changed since #{tag} and is #{} now; look at what changed, and send it under that tag if you mean it all the same.",
            written_at(Some(origin)),
            live.name,
            live.version.tag
        );
        self.found
            .push(HunkFault::Outdated(Outdated::Stale, origin, reason));
    }

    /// The edit was made before, and the file has changed since; `named` are the lines addressed.
    pub fn sent_again(&mut self, origin: Origin, named: impl Iterator<Item = LineSpan>) {
        let live = self.revealer.live;
        let reason = format!(
            "this very edit was made before, and '{}' is #{} now; send it under that tag if you mean it once more.",
            live.name, live.version.tag
        );
        self.found
            .push(HunkFault::Outdated(Outdated::Stale, origin, reason));
        self.give(named);
    }

    /// Lines that were never shown, in live numbers.
    pub fn not_shown(&mut self, origin: Origin, unseen: LineSet) {
        self.lines.extend(unseen.spans());
        self.found.push(HunkFault::NotShown(origin, unseen));
    }

    pub fn no_match(&mut self, error: &NoMatch) {
        let name = &self.revealer.live.name;
        let refusal = refuse::no_match(error, name);
        self.found.push(HunkFault::Plain(error.origin, refusal));
        let diverges = error.divergence.as_ref().map(|at| LineSpan::line(at.line));
        let candidates = error.candidates.iter().copied();
        match error.candidates.len() <= WITH_CONTEXT {
            true => self.give(candidates.chain(diverges)),
            // What tells them apart has to stand in their own rows then.
            false => self.lines.extend(&candidates.collect::<Vec<_>>()),
        }
    }

    pub fn encoding(&mut self, error: &EncodingError, origin: Origin) {
        let refusal = Refusal::Encoding {
            path: self.revealer.live.name.clone(),
            message: format!("{}{error}", written_at(Some(origin))),
        };
        self.found.push(HunkFault::Plain(origin, refusal));
    }

    /// Hands the faults on, with the lines that are given for them.
    pub fn hand_on(self, faults: &mut Faults) {
        if self.found.is_empty() {
            return;
        }
        let revealer = self.revealer;
        let revealed = revealer.reveal(&self.lines, &mut faults.room);
        for found in &self.found {
            faults.add(fault(&revealer, found, &revealed));
        }
        if !revealed.file.lines.is_empty() || self.found.iter().any(HunkFault::gives_lines) {
            faults.add_lines(revealed.file);
        }
    }
}

impl HunkFault {
    /// Whether a client is promised the live tag with it.
    fn gives_lines(&self) -> bool {
        matches!(self, HunkFault::Outdated(..) | HunkFault::NotShown(..))
    }
}

fn fault(revealer: &Revealer, found: &HunkFault, revealed: &Revealed) -> Fault {
    let name = &revealer.live.name;
    let outdated = |why, message: &str| {
        Refusal::from(EditRefusal::Outdated {
            why,
            message: sentence(message),
            path: name.clone(),
            files: Vec::new(),
        })
    };
    match found {
        HunkFault::Plain(origin, refusal) => Fault::new(*origin, name, refusal.clone()),
        HunkFault::Outdated(why, origin, reason) => {
            let message = format!("{reason} {}", revealer.go_on());
            Fault {
                reason: Some(sentence(reason)),
                ..Fault::new(*origin, name, outdated(*why, &message))
            }
        }
        HunkFault::NotShown(origin, unseen) => {
            let message = revealer.not_shown_words(unseen, Some(*origin), revealed);
            Fault::new(*origin, name, outdated(Outdated::NotShown, &message))
        }
    }
}
