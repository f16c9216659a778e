//! Refusals that show the live lines, so that the next call can succeed from the error alone; a line that is not given whole never counts as shown.

use crate::hashline::patch::header_text;
use crate::hashline::{Origin, Stale, Tag};
use crate::protocol::edit_refusal::{LiveFile, LiveLine, Outdated};
use crate::protocol::read::LineSpan;
use crate::protocol::{EditRefusal, Refusal};
use crate::session::Sessions;
use crate::view::LineSet;

use super::refuse::sentence;
use super::{Live, Planned};

/// Lines of a file that an error gives.
const MAX_LINES: usize = 40;
const MANY: u64 = MAX_LINES as u64;
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
        let (file, _) = self.reveal(&around(anchors));
        self.refuse(Outdated::Stale, &format!("{stale} {}", self.go_on()), file)
    }

    /// A version that is to be replaced as a whole is no longer what is there.
    pub fn written_over(&self, tag: Tag, all: impl Iterator<Item = LineSpan>) -> Refusal {
        let live = &self.live.version;
        let message = format!(
            "'{}' has changed since #{tag} and is #{} now. Nothing was written; look at what is there, then write again with its tag.",
            self.live.name, live.tag
        );
        let (file, _) = self.reveal(&all.collect());
        self.refuse(Outdated::Stale, &message, file)
    }

    /// An edit that was made before, of a file that has changed since. `named` are the lines
    /// addressed.
    pub fn sent_again(&self, named: impl Iterator<Item = LineSpan>) -> Refusal {
        let message = format!(
            "This very edit was made before, and '{}' is #{} now. Nothing was written; if you mean it once more, use the header {} and the lines given here.",
            self.live.name,
            self.live.version.tag,
            self.header()
        );
        let (file, _) = self.reveal(&around(named));
        self.refuse(Outdated::Stale, &message, file)
    }

    /// A tag that names nothing, or nothing any more. `named` are the lines addressed by it.
    pub fn no_version(
        &self,
        why: Outdated,
        (tag, origin): (Tag, Option<Origin>),
        named: impl Iterator<Item = LineSpan>,
    ) -> Refusal {
        let name = &self.live.name;
        let what = match why {
            Outdated::ExpiredTag => {
                format!("the version #{tag} of '{name}' is too old and no longer held.")
            }
            _ => format!("#{tag} is no tag of '{name}' given out since the daemon started."),
        };
        let message = format!("{}{what} {}", written_at(origin), self.go_on());
        let (file, _) = self.reveal(&around(named));
        self.refuse(why, &message, file)
    }

    /// Lines that this session was never shown, in live numbers; `origin` names the first.
    pub fn not_shown(&self, unseen: &LineSet, origin: Option<Origin>) -> Refusal {
        let name = &self.live.name;
        let total: u64 = unseen.spans().iter().map(length).sum();
        let first = unseen.spans().first().map_or(1, |span| span.start);
        let (which, them) = match total {
            1 => (format!("line {first} of '{name}' was"), "it"),
            _ => (format!("{total} lines of '{name}' were"), "them"),
        };
        let (file, cut) = self.reveal(unseen);
        let given = match total {
            1 => "it is".to_owned(),
            2..=MANY => "they are".to_owned(),
            _ => format!("the first {MAX_LINES} are"),
        };
        let header = self.header();
        let how = match cut {
            Some(line) => format!(
                "line {line} is too long to be given whole: read '{name}:{line}-{line}:raw'"
            ),
            None if total > MANY => {
                format!("{given} given here, numbered as in {header}: read the rest")
            }
            None => format!("{given} given here, numbered as in {header}: check {them}"),
        };
        let message = format!(
            "{}{which} never shown to you. Nothing was written; {how} and send the edit again.",
            written_at(origin)
        );
        self.refuse(Outdated::NotShown, &message, file)
    }

    fn header(&self) -> String {
        header_text(&self.live.name, Some(self.live.version.tag))
    }

    fn go_on(&self) -> String {
        let header = self.header();
        format!("Nothing was written; use the header {header} and the lines given here.")
    }

    fn refuse(&self, why: Outdated, message: &str, file: LiveFile) -> Refusal {
        EditRefusal::Outdated {
            why,
            message: sentence(message),
            path: self.live.name.clone(),
            files: vec![file],
        }
        .into()
    }

    /// Gives the lines that there are of these, and records them as shown; also tells the first
    /// that is too long to be given whole.
    fn reveal(&self, lines: &LineSet) -> (LiveFile, Option<u64>) {
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
        let mut cut = None;
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
                false => {
                    cut.get_or_insert(line);
                    format!("{}…", &text[..text.floor_char_boundary(MAX_LINE_BYTES)])
                }
            };
            given.push(LiveLine { line, text });
        }
        self.sessions
            .show(self.session, document, version, &shown, name);
        let file = LiveFile {
            path: name.clone(),
            tag: version.tag.to_string(),
            lines: given,
        };
        (file, cut)
    }
}

/// Where in a patch, for the beginning of a message; a whole file has no such place.
fn written_at(origin: Option<Origin>) -> String {
    origin.map_or_else(String::new, |origin| format!("{origin}: "))
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
    let (file, _) = revealer.reveal(&around(regions));
    revealer.refuse(Outdated::Stale, &message, file)
}
