//! Refusals that show the live lines, so that the next call can succeed from the error alone; a line that is not given whole never counts as shown.

use crate::hashline::{Stale, Tag};
use crate::protocol::edit_refusal::{LiveFile, LiveLine, Outdated};
use crate::protocol::read::LineSpan;
use crate::protocol::{EditRefusal, Refusal};
use crate::session::Sessions;
use crate::view::LineSet;

use super::{Live, Planned};

/// Lines of a file that an error gives.
const MAX_LINES: usize = 40;
/// Bytes of a line that is given whole.
const MAX_LINE_BYTES: usize = 4096;
/// Lines around what was addressed.
const CONTEXT: u64 = 2;

/// What a refusal is made from.
#[derive(Debug, Clone, Copy)]
pub struct Revealer<'a> {
    pub session: &'a str,
    pub sessions: &'a Sessions,
    pub live: &'a Live,
}

impl Revealer<'_> {
    /// Some addressed lines are others now.
    pub fn stale(&self, stale: &Stale) -> Refusal {
        let anchors = stale.anchors.iter().map(|anchor| anchor.now);
        self.refuse(Outdated::Stale, stale.to_string(), around(anchors))
    }

    /// A version that is to be replaced as a whole is no longer what is there.
    pub fn written_over(&self, tag: Tag, all: impl Iterator<Item = LineSpan>) -> Refusal {
        let live = &self.live.version;
        let message = format!(
            "'{}' has changed since #{tag} and is #{} now. Nothing was written; look at what is there, then write again with its tag.",
            self.live.name, live.tag
        );
        self.refuse(Outdated::Stale, message, all.collect())
    }

    /// A tag that names nothing, or nothing any more. `named` are the lines addressed by it.
    pub fn no_version(
        &self,
        why: Outdated,
        tag: Tag,
        named: impl Iterator<Item = LineSpan>,
    ) -> Refusal {
        let name = &self.live.name;
        let live = self.live.version.tag;
        let message = match why {
            Outdated::ExpiredTag => format!(
                "The version #{tag} of '{name}' is too old and no longer held. Nothing was written; number the edit by #{live}, whose lines are given here."
            ),
            _ => format!(
                "#{tag} is not a tag of '{name}' that was given out since the daemon started. Nothing was written; number the edit by #{live}, whose lines are given here."
            ),
        };
        self.refuse(why, message, around(named))
    }

    /// Lines that this session was never shown, in live numbers.
    pub fn not_shown(&self, unseen: &LineSet) -> Refusal {
        let total: u64 = unseen.spans().iter().map(length).sum();
        let first = unseen.spans().first().map_or(1, |span| span.start);
        let which = match total {
            1 => format!("line {first} of '{}' was", self.live.name),
            _ => format!("{total} lines of '{}' were", self.live.name),
        };
        let rest = match total > MAX_LINES as u64 {
            true => format!(" These are the first {MAX_LINES}; read the rest before you edit it."),
            false => " They are given here: check them and send the edit again.".to_owned(),
        };
        let message = format!("Nothing was written: {which} never shown to you.{rest}");
        self.refuse(Outdated::NotShown, message, unseen.clone())
    }

    fn refuse(&self, why: Outdated, message: String, lines: LineSet) -> Refusal {
        EditRefusal::Outdated {
            why,
            message,
            path: self.live.name.clone(),
            files: vec![self.reveal(&lines)],
        }
        .into()
    }

    /// Gives the lines that there are of these, and records them as shown.
    fn reveal(&self, lines: &LineSet) -> LiveFile {
        let Live {
            name,
            document,
            version,
            ..
        } = self.live;
        let total = version.text.len_lines() as u64;
        let numbers = lines.spans().iter().flat_map(|span| span.start..=span.end);
        let mut shown = LineSet::new();
        let mut given = Vec::new();
        for line in numbers
            .filter(|line| (1..=total).contains(line))
            .take(MAX_LINES)
        {
            let text = version.text.line((line - 1) as usize);
            let whole = text.len() <= MAX_LINE_BYTES;
            if whole {
                shown.insert(line, line);
            }
            let text = match whole {
                true => text.into_owned(),
                false => format!("{}…", &text[..text.floor_char_boundary(MAX_LINE_BYTES)]),
            };
            given.push(LiveLine { line, text });
        }
        self.sessions
            .show(self.session, document, version, &shown, name);
        LiveFile {
            path: name.clone(),
            tag: version.tag.to_string(),
            lines: given,
        }
    }
}

/// Spans with some lines around each.
fn around(spans: impl Iterator<Item = LineSpan>) -> LineSet {
    let wide = spans.map(|span| LineSpan {
        start: span.start.saturating_sub(CONTEXT).max(1),
        // A range may be as wide as a number can say; more than this is never given.
        end: span.end.min(span.start + 2 * MAX_LINES as u64) + CONTEXT,
    });
    wide.collect()
}

fn length(span: &LineSpan) -> u64 {
    span.end - span.start + 1
}

/// Joins refusals of several files that all ask for newer lines into one; else the first one.
pub fn joined(refusals: Vec<Refusal>) -> Option<Refusal> {
    let mut refusals = refusals.into_iter();
    let mut first = refusals.next()?;
    if let Refusal::Edit(refusal) = &mut first
        && let EditRefusal::Outdated { files, .. } = refusal.as_mut()
    {
        for other in refusals {
            if let Refusal::Edit(other) = other
                && let EditRefusal::Outdated { files: more, .. } = *other
            {
                files.extend(more);
            }
        }
    }
    Some(first)
}

/// The editor did not take a planned edit though its text is what was planned on.
pub fn declined(session: &str, sessions: &Sessions, planned: &Planned) -> Refusal {
    let live = &planned.live;
    let revealer = Revealer {
        session,
        sessions,
        live,
    };
    let message = format!(
        "The editor did not take the edit of '{}', whose text is as it was. Nothing was changed; the lines are given here to send it again.",
        live.name
    );
    let regions = planned.splices.regions.iter().map(|region| LineSpan {
        start: region.start,
        end: region.start + region.removed.saturating_sub(1),
    });
    revealer.refuse(Outdated::Stale, message, around(regions))
}
