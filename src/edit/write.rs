//! `agent/write`: a whole file, new or in the place of one whose every line was shown; nothing that is there is ever replaced unseen.

use serde_json::Value;

use crate::hashline::Tag;
use crate::hashline::changed;
use crate::hashline::replace_text::TextPosition;
use crate::hashline::splice::{Region, Splices, TextChange};
use crate::protocol::edit_refusal::Outdated;
use crate::protocol::params::Fields;
use crate::protocol::read::LineSpan;
use crate::protocol::{EditRefusal, Refusal};
use crate::read::session_name;
use crate::session::{Document, Form, Meaning, Notice, Version};
use crate::text::{LineEnding, Text};
use crate::view::LineSet;
use crate::workspace::ResourceId;

use super::applied::{Part, Request};
use super::bytes::bytes_after;
use super::live::refuse_read_only;
use super::moved::decoded;
use super::planned::{Planned, Planner, Plans};
use super::request::{answer_chars, flag};
use super::target::{AS_A_READ, find};
use super::{LiveDocument, Owner, WantedForm};

/// One call of `agent/write`.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    pub session: String,
    pub path: String,
    pub text: String,
    /// The version that is replaced; `None` where a file is to be made.
    pub replaces: Option<Tag>,
    pub dry_run: bool,
    /// Characters of the answer.
    pub chars: usize,
}

impl WriteRequest {
    pub fn parse(params: &Value, session: &str) -> Result<WriteRequest, Refusal> {
        let fields = Fields::of(params, "")?;
        let replaces = match fields.string("expect")?.map(str::trim) {
            None | Some("absent") => None,
            Some(written) => {
                let tag = written.rsplit_once('#').map_or(written, |(_, tag)| tag);
                Some(tag.parse().map_err(|_| {
                    let message = "'expect' must be \"absent\", or the tag of the file that is replaced: the four hex digits after # in the header of a read.";
                    Refusal::bad_params("expect", message)
                })?)
            }
        };
        Ok(WriteRequest {
            session: session_name(fields, session)?,
            path: fields.required_string("path")?.to_owned(),
            text: fields.required_string("text")?.to_owned(),
            replaces,
            dry_run: flag(fields, "dryRun")?,
            chars: answer_chars(fields)?,
        })
    }

    /// What it asks for.
    fn of(&self, session: &str, document: &Document) -> Request {
        let part = Part::of_write(document, self.replaces, &self.text);
        Request::of(session, &[part])
    }
}

impl Planner<'_> {
    /// Plans a whole file.
    pub fn plan_write(&self, request: &WriteRequest) -> Result<Plans, Refusal> {
        let is_there = self.find_exact(&request.path)?;
        refuse_prefixes(&request.text, &request.path)?;
        match (is_there, request.replaces) {
            (true, None) => self.made_before(request),
            (false, Some(_)) => Err(Refusal::NotFound {
                path: request.path.clone(),
                suggestions: Vec::new(),
            }),
            (false, None) => {
                let planned = self.made(request)?;
                let of = request.of(self.session, &planned.live.document);
                Ok(one(planned, Vec::new(), of))
            }
            (true, Some(tag)) => self.replaced(request, tag),
        }
    }

    /// Whether there is something of exactly this name, on disk or in the editor.
    fn find_exact(&self, path: &str) -> Result<bool, Refusal> {
        let means = self.means;
        if means.scope.find_exact(path)?.is_some() {
            return Ok(true);
        }
        match find(path, None, means.scope, means.overlays, means.work) {
            Ok(_) => Ok(true),
            Err(Refusal::NotFound { .. }) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    fn open_exact(&self, path: &str) -> Result<(LiveDocument, Vec<Notice>), Refusal> {
        let means = self.means;
        let located = find(path, AS_A_READ, means.scope, means.overlays, means.work)?;
        if !self.places.contains(&located.place(means.scope)) {
            let message = format!("'{path}' leads to another file than a moment ago.");
            return Err(Refusal::Busy { message });
        }
        // A whole file is its own text.
        LiveDocument::open(located, path, WantedForm::Text, means)
    }

    /// A file to be made that is there: it was made by the same request, or is refused with its
    /// tag where it has one.
    fn made_before(&self, request: &WriteRequest) -> Result<Plans, Refusal> {
        let path = request.path.clone();
        let tag = match self.open_exact(&path) {
            Ok((live, notices)) => {
                let of = request.of(self.session, &live.document);
                if self.was_written(of, &live) {
                    return Ok(applied(live, None, notices, of));
                }
                Some(live.version.tag.to_string())
            }
            Err(Refusal::Binary { .. } | Refusal::TooLarge { .. }) => None,
            Err(refusal) => return Err(refusal),
        };
        let message = match &tag {
            Some(tag) => format!(
                "'{path}' exists (#{tag}); nothing was written. Read all of it and write again with expect set to its tag, or edit only what is to change."
            ),
            None => format!(
                "'{path}' exists and is not a text file that can be replaced; nothing was written. Choose another path."
            ),
        };
        Err(Refusal::from(EditRefusal::Exists { message, path, tag }))
    }

    fn made(&self, request: &WriteRequest) -> Result<Planned, Refusal> {
        let scope = self.means.scope;
        let path = decoded(&request.path)?;
        let real = scope.destination(&path)?;
        refuse_read_only(&real, &request.path, scope)?;
        let live = LiveDocument {
            name: scope.display(&real),
            document: Document {
                id: ResourceId::File(real.clone()),
                form: Form::Text,
            },
            version: Version::nothing(),
            home: Owner::Absent { real },
            linked_to: None,
            notebook: None,
        };
        let splices = whole(live.text(), request.text.clone());
        let bytes = request.text.clone().into_bytes();
        Ok(planned(live, None, splices, Some(bytes)))
    }

    fn replaced(&self, request: &WriteRequest, tag: Tag) -> Result<Plans, Refusal> {
        let (live, notices) = self.open_exact(&request.path)?;
        let of = request.of(self.session, &live.document);
        if self.was_written(of, &live) {
            return Ok(applied(live, Some(tag), notices, of));
        }
        let total = live.text().len_lines() as u64;
        let every_line = LineSpan {
            start: 1,
            end: total,
        };
        let all = || (total > 0).then_some(every_line).into_iter();
        let revealer = self.revealer(&live);
        match self.means.sessions.meaning(&live.document, tag) {
            Meaning::Held(versions) => {
                let is_live = versions
                    .first()
                    .is_some_and(|version| version.content == live.version.content);
                if !is_live {
                    return Err(revealer.written_over(tag, all()));
                }
            }
            Meaning::Expired => {
                return Err(revealer.no_version(Outdated::ExpiredTag, tag, all()));
            }
            Meaning::Unknown | Meaning::Moved(_) => {
                return Err(revealer.no_version(Outdated::UnknownTag, tag, all()));
            }
        }
        if self.require_seen {
            let sessions = self.means.sessions;
            let shown = sessions.shown(self.session, &live.document, &live.version);
            let unseen = (1..=total).filter(|line| !shown.contains(*line));
            let unseen: LineSet = unseen.map(LineSpan::line).collect();
            if !unseen.is_empty() {
                return Err(revealer.not_shown(&unseen));
            }
        }
        let text = with_ends(&request.text, live.text());
        let splices = whole(live.text(), text);
        let bytes = bytes_after(&live, &splices.changes)?;
        Ok(one(planned(live, Some(tag), splices, bytes), notices, of))
    }
}

/// The plan of one file.
fn one(planned: Planned, notices: Vec<Notice>, request: Request) -> Plans {
    Plans {
        files: vec![planned],
        notices,
        request,
        is_applied: false,
    }
}

/// That of a file which the same request has written before.
fn applied(live: LiveDocument, tag: Option<Tag>, notices: Vec<Notice>, request: Request) -> Plans {
    Plans {
        is_applied: true,
        ..one(Planned::untouched(live, tag), notices, request)
    }
}

fn planned(
    live: LiveDocument,
    tag: Option<Tag>,
    splices: Splices,
    bytes: Option<Vec<u8>>,
) -> Planned {
    let outcome = changed::outcome(live.text(), &splices);
    Planned::new(live, tag, splices, outcome, bytes)
}

/// The new text with the line ends of the file that it replaces: those of its first line.
fn with_ends(new: &str, old: &Text) -> String {
    let plain = || new.replace("\r\n", "\n");
    match old.line_ending() {
        LineEnding::None => new.to_owned(),
        LineEnding::Lf => plain(),
        LineEnding::Crlf => plain().replace('\n', "\r\n"),
        LineEnding::Cr => plain().replace('\n', "\r"),
        LineEnding::Mixed => match old.raw_lines(0, 1).ends_with("\r\n") {
            true => plain().replace('\n', "\r\n"),
            false => plain(),
        },
    }
}

/// The change from one text to a whole other one, without the lines that both begin and end with.
pub(super) fn whole(old: &Text, new: String) -> Splices {
    let made = Text::new(&new);
    let (old_total, new_total) = (old.len_lines(), made.len_lines());
    let same =
        |one: usize, other: usize| old.raw_lines(one, one + 1) == made.raw_lines(other, other + 1);
    let comparable = old.line_ending() == made.line_ending();
    let shorter = if comparable {
        old_total.min(new_total)
    } else {
        0
    };
    let head = (0..shorter).take_while(|line| same(*line, *line)).count();
    let tail = (0..shorter - head)
        .take_while(|back| same(old_total - 1 - back, new_total - 1 - back))
        .count();
    let (removed, added) = (old_total - head - tail, new_total - head - tail);
    let spot = |line: usize| match line < old_total || old.ends_with_newline() || line == 0 {
        true => TextPosition { line, column: 0 },
        false => TextPosition {
            line: line - 1,
            column: old.line_bytes(line - 1),
        },
    };
    let text = match comparable {
        true => made.raw_lines(head, head + added),
        false => new,
    };
    let holds_cr = text.contains('\r');
    Splices {
        changes: vec![TextChange::new(spot(head), spot(head + removed), text)],
        regions: vec![Region {
            start: head as u64 + 1,
            removed: removed as u64,
            added: added as u64,
        }],
        holds_cr,
        moved: Vec::new(),
    }
}

/// A text that was copied from a read with its line numbers is not what anybody wants in a file.
fn refuse_prefixes(text: &str, path: &str) -> Result<(), Refusal> {
    let Some(cleaned) = without_prefixes(text) else {
        return Ok(());
    };
    Err(EditRefusal::ReaderPrefixes {
        message: format!(
            "Every line of the text for '{path}' begins with a line number as reads show them; nothing was written. Send it without them: the cleaned text is in suggestions."
        ),
        path: path.to_owned(),
        cleaned,
    }
    .into())
}

/// The text without the prefixes of a reader, where every line has one and they are consecutive.
fn without_prefixes(text: &str) -> Option<String> {
    let text = match text.split_once('\n') {
        Some((header, rest)) if header.starts_with('¶') => rest,
        _ => text,
    };
    let mut cleaned = String::with_capacity(text.len());
    let mut next: Option<u64> = None;
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        let (number, rest) = line.split_once(':')?;
        let number: u64 = number.parse().ok()?;
        if next.is_some_and(|next| next != number) {
            return None;
        }
        next = number.checked_add(1);
        cleaned.push_str(rest);
        count += 1;
    }
    // One line of that kind can be meant.
    (count > 1).then_some(cleaned)
}
