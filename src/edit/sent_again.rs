//! Requests that come again after they were carried out; one is never carried out a second time on what it made of its files, or on what became of that.

use std::sync::OnceLock;

use crate::hashline::Tag;
use crate::hashline::changed;
use crate::hashline::splice::Splices;
use crate::protocol::Refusal;

use super::applied::{Made, Request};
use super::faults::Faults;
use super::gone::{self, Gone};
use super::judge::Judge;
use super::planned::{Planned, Planner};
use super::{LiveDocument, Named};

impl Planner<'_> {
    /// Whether the same request was carried out before, and every file still is what it made of it.
    ///
    /// # Errors
    ///
    /// `stale` where it was carried out and something has changed since, unless the versions that
    /// it names are the live ones again.
    pub(super) fn was_applied(
        &self,
        request: Request,
        opened: &[(LiveDocument, Vec<Named>)],
        missing: &[Gone],
    ) -> Result<bool, Refusal> {
        let Some(made) = self.made_by(request) else {
            return Ok(false);
        };
        let live = opened.iter();
        let live = live.map(|(live, _)| (&live.document, live.version.content));
        let gone_made = gone::made_of(missing);
        let gone_made = gone_made.iter();
        let gone_made = gone_made.map(|(document, content)| (document, *content));
        if made == Made::of(live.chain(gone_made)) {
            return Ok(true);
        }
        if !missing.is_empty() {
            // That its files are not there is what is to be said of it.
            return Ok(false);
        }
        let tags = |group: &[Named]| group.iter().find_map(|named| named.section.tag);
        let tagged: Vec<(&LiveDocument, Tag)> = opened
            .iter()
            .filter_map(|(live, group)| Some((live, tags(group)?)))
            .collect();
        let is_live = |(live, tag): &(&LiveDocument, Tag)| live.version.tag == *tag;
        if !tagged.is_empty() && tagged.iter().all(is_live) {
            return Ok(false);
        }
        let mut faults = Faults::new(Vec::new(), self.chars);
        for (live, group) in opened {
            let hunks = group.iter().flat_map(|named| &named.section.hunks);
            let named = hunks.flat_map(|hunk| hunk.op.named_lines());
            let mut judge = Judge::new(self.revealer(live));
            judge.sent_again(group[0].section.origin, named);
            judge.hand_on(&mut faults);
        }
        Err(faults.refusal().unwrap_or(Refusal::Internal))
    }

    /// Whether the same request to write a whole file was carried out before, and the file still is
    /// what it made of it.
    pub(super) fn was_written(&self, request: Request, live: &LiveDocument) -> bool {
        self.made_by(request) == Some(made_of(std::iter::once(live)))
    }

    fn made_by(&self, request: Request) -> Option<Made> {
        self.applied.lock().made_by(request)
    }
}

fn made_of<'a>(files: impl Iterator<Item = &'a LiveDocument>) -> Made {
    Made::of(files.map(|live| (&live.document, live.version.content)))
}

impl Planned {
    /// A file with which nothing is done.
    pub(super) fn untouched(live: LiveDocument, tag_before: Option<Tag>) -> Planned {
        let splices = Splices::default();
        let outcome = changed::outcome(live.text(), &splices);
        Planned {
            no_change: OnceLock::from(true),
            ..Planned::new(live, tag_before, splices, outcome, None)
        }
    }
}
