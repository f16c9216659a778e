//! Refusals that show the live lines, so that the next call can succeed from the error alone; a line that is not given whole never counts as shown.

use std::fmt::Write;

use crate::hashline::patch::header_text;
use crate::hashline::{Origin, Tag};
use crate::protocol::edit_refusal::{LiveFile, LiveLine, Outdated};
use crate::protocol::read::LineSpan;
use crate::protocol::{EditRefusal, Refusal};
use crate::session::Sessions;
use crate::view::{LineSet, in_header};

use super::refuse::sentence;
use super::{LiveDocument, Planned};

/// Lines of a file that an error gives.
const MAX_LINES: usize = 40;
/// Bytes of a line that is given whole.
const MAX_LINE_BYTES: usize = 4096;
/// Bytes of the lines that one refusal gives, of all its files together.
const MAX_BYTES: usize = 16 * 1024;
/// Lines around what was addressed.
const CONTEXT: u64 = 2;

/// What a refusal is made from.
#[derive(Debug, Clone, Copy)]
pub struct Revealer<'a> {
    pub session: &'a str,
    pub sessions: &'a Sessions,
    pub live: &'a LiveDocument,
    /// Characters of the refusal.
    pub chars: usize,
}

/// What a refusal has room for.
#[derive(Debug)]
pub struct RefusalRoom {
    bytes: usize,
}

impl RefusalRoom {
    /// In a refusal of so many characters, of which the faults' own words have a third.
    pub fn of(chars: usize) -> RefusalRoom {
        RefusalRoom {
            bytes: MAX_BYTES.min(chars / 3),
        }
    }
}

/// Live lines that a refusal gives.
#[derive(Debug)]
pub struct Revealed {
    pub file: LiveFile,
    /// Those that are given whole.
    whole: LineSet,
    /// Those that are too long for that.
    cut: LineSet,
}

impl Revealer<'_> {
    /// A version that is to be replaced as a whole is no longer what is there.
    pub fn written_over(&self, tag: Tag, all: impl Iterator<Item = LineSpan>) -> Refusal {
        let live = &self.live.version;
        let message = format!(
            "'{}' has changed since #{tag} and is #{} now. Nothing was written; look at what is there, then write again with its tag.",
            self.live.name, live.tag
        );
        let revealed = self.reveal(&all.collect(), &mut RefusalRoom::of(self.chars));
        self.refuse_alone(Outdated::Stale, &message, revealed)
    }

    /// A tag of a whole file that names nothing, or nothing any more.
    pub fn no_version(
        &self,
        why: Outdated,
        tag: Tag,
        all: impl Iterator<Item = LineSpan>,
    ) -> Refusal {
        let message = format!("{} {}", self.no_version_words(why, tag), self.go_on());
        let revealed = self.reveal(&around(all), &mut RefusalRoom::of(self.chars));
        self.refuse_alone(why, &message, revealed)
    }

    pub fn no_version_words(&self, why: Outdated, tag: Tag) -> String {
        let name = &self.live.name;
        match why {
            Outdated::ExpiredTag => {
                format!("the version #{tag} of '{name}' is too old and no longer held.")
            }
            _ => format!("#{tag} is no tag of '{name}' given out since the daemon started."),
        }
    }

    /// Lines of a whole file that this session was never shown.
    pub fn not_shown(&self, unseen: &LineSet) -> Refusal {
        let revealed = self.reveal(unseen, &mut RefusalRoom::of(self.chars));
        let message = self.not_shown_words(unseen, None, &revealed);
        self.refuse_alone(Outdated::NotShown, &message, revealed)
    }

    /// Lines that this session was never shown, in live numbers; `origin` is where they are named.
    pub fn not_shown_words(
        &self,
        unseen: &LineSet,
        origin: Option<Origin>,
        revealed: &Revealed,
    ) -> String {
        let name = &self.live.name;
        let total: u64 = unseen.spans().iter().map(|span| span.count()).sum();
        let first = unseen.spans().first().map_or(1, |span| span.start);
        let (which, them) = match total {
            1 => (format!("line {first} of '{name}' was"), "it"),
            _ => (format!("{total} lines of '{name}' were"), "them"),
        };
        let given = unseen.lines().filter(|line| revealed.whole.contains(*line));
        let given = given.count() as u64;
        let cut = unseen.lines().find(|line| revealed.cut.contains(*line));
        let header = self.header();
        let how = match (cut, given) {
            (Some(line), _) => format!(
                "line {line} is too long to be given whole: read '{name}:{line}-{line}:raw'"
            ),
            (None, 0) => format!("there is no room here to give {them}: read {them}"),
            (None, 1) if total == 1 => {
                format!("it is given here, numbered as in {header}: check it")
            }
            (None, given) if given == total => {
                format!("they are given here, numbered as in {header}: check them")
            }
            (None, given) => {
                format!("the first {given} are given here, numbered as in {header}: read the rest")
            }
        };
        format!(
            "{}{which} never shown to you. Nothing was written; {how} and send the edit again.",
            written_at(origin)
        )
    }

    fn header(&self) -> String {
        header_text(&self.live.name, Some(self.live.version.tag))
    }

    pub fn go_on(&self) -> String {
        let header = self.header();
        format!("Nothing was written; use the header {header} and the lines given here.")
    }

    /// A refusal of one file that has no place in a patch.
    fn refuse_alone(&self, why: Outdated, message: &str, revealed: Revealed) -> Refusal {
        let files = vec![revealed.file];
        EditRefusal::Outdated {
            why,
            message: with_lines(&sentence(message), &files),
            path: self.live.name.clone(),
            files,
        }
        .into()
    }

    /// Gives the lines that there are of these, and records those as shown that it gives whole.
    pub fn reveal(&self, lines: &LineSet, room: &mut RefusalRoom) -> Revealed {
        let LiveDocument {
            name,
            document,
            version,
            ..
        } = self.live;
        let total = version.text.len_lines() as u64;
        let mut numbers = lines.lines().filter(|line| (1..=total).contains(line));
        let (mut whole, mut cut) = (LineSet::new(), LineSet::new());
        let mut given = Vec::new();
        let mut is_cut = false;
        for line in numbers.by_ref().take(MAX_LINES) {
            let text = version.text.line((line - 1) as usize);
            let fits = text.len() <= MAX_LINE_BYTES;
            let text = match fits {
                true => text.into_owned(),
                false => format!("{}…", &text[..text.floor_char_boundary(MAX_LINE_BYTES)]),
            };
            let Some(left) = room.bytes.checked_sub(text.len()) else {
                is_cut = true;
                break;
            };
            room.bytes = left;
            let kept = if fits { &mut whole } else { &mut cut };
            kept.insert(line, line);
            given.push(LiveLine { line, text });
        }
        self.sessions
            .show(self.session, document, version, &whole, name);
        Revealed {
            file: LiveFile {
                path: name.clone(),
                tag: version.tag.to_string(),
                lines: given,
                is_cut: is_cut || numbers.next().is_some(),
            },
            whole,
            cut,
        }
    }
}

/// A message and the lines it speaks of, as a read gives them: most clients show a model nothing
/// else.
pub fn with_lines(message: &str, files: &[LiveFile]) -> String {
    let mut out = message.to_owned();
    for file in files.iter().filter(|file| !file.lines.is_empty()) {
        let _ = write!(out, "\n¶{}#{}", in_header(&file.path), file.tag);
        let mut last = None;
        for LiveLine { line, text } in &file.lines {
            if last.is_some_and(|last| last + 1 < *line) {
                out.push_str("\n…");
            }
            let _ = write!(out, "\n{line}:{text}");
            last = Some(*line);
        }
        if file.is_cut {
            out.push_str("\n[There is no room for more lines here; read the file to see them.]");
        }
    }
    out
}

/// Where in a patch, for the beginning of a message; a whole file has no such place.
pub fn written_at(origin: Option<Origin>) -> String {
    origin.map_or_else(String::new, |origin| format!("{origin}: "))
}

/// Spans with some lines around each.
pub fn around(spans: impl Iterator<Item = LineSpan>) -> LineSet {
    let wide = spans.map(|span| LineSpan {
        start: span.start.saturating_sub(CONTEXT).max(1),
        // A range may be as wide as a number can say; more than this is never given.
        end: span.end.min(span.start + 2 * MAX_LINES as u64) + CONTEXT,
    });
    wide.collect()
}

/// The editor did not take a planned edit though its text is what was planned on.
pub fn declined(session: &str, sessions: &Sessions, planned: &Planned) -> Refusal {
    let live = &planned.live;
    let revealer = Revealer {
        session,
        sessions,
        live,
        chars: usize::MAX,
    };
    let message = format!(
        "The editor did not take the edit of '{}', whose text is as it was. Nothing was changed; the lines are given here to send it again.",
        live.name
    );
    let regions = planned.splices.regions.iter().map(|region| LineSpan {
        start: region.start,
        end: region.start + region.removed.saturating_sub(1),
    });
    let revealed = revealer.reveal(&around(regions), &mut RefusalRoom::of(usize::MAX));
    revealer.refuse_alone(Outdated::Stale, &message, revealed)
}
