//! The end of a read: what is shown is opened, recorded and written down, in as many characters as it may have.
//!
//! What is shown is recorded before the answer is handed on, and never before it is known what fits.

use crate::protocol::Refusal;
use crate::protocol::read::{Hashline, ReadDetails, ReadResult, ResourceKind};
use crate::session::{self, Notice, Version};
use crate::task::Work;
use crate::text::Text;
use crate::view::dialect::{Body, View, Written};
use crate::view::window::{Limits, Window};
use crate::view::{Document, LineSet};

use super::ask::Ask;
use super::details::{attachments, details, raw_text};
use super::fit;
use super::look::Look;
use super::plan::Prepared;
use super::reader::Reader;
use super::share::Share;
use super::source::{Opened, Snapshot};

/// A text that has its name, and who must hear of that.
pub(super) struct RecordedText<'a> {
    pub(super) document: &'a session::Document,
    pub(super) version: Version,
    pub(super) notices: Vec<Notice>,
}

impl Reader {
    /// Opens the window, records what it shows, and writes it down. `share` is the part of a
    /// budget shared with other reads, if there is one. Also tells which sessions must hear that
    /// what they were shown has changed.
    pub fn finish(
        &self,
        ask: &Ask,
        prepared: &Prepared,
        share: Option<Share>,
        work: &Work,
    ) -> Result<(ReadResult, Vec<Notice>), Refusal> {
        let Prepared { opened, wanted, .. } = prepared;
        let document = &opened.document;
        let mut limits = prepared.limits(ask);
        let mut most = ask.budget.chars;
        if let Some(share) = share {
            limits = limits.at_most(share.budget);
            most = share.chars.or(most);
        }
        if let Some(most) = most {
            limits = limits.in_answer_of(most);
        }
        let asked = limits;
        let mut look = wanted.look(document, &limits);
        let recorded = self.record(ask, opened, &look);
        let version = recorded.as_ref().map(|recorded| &recorded.version);
        let tag = version.map(|version| version.tag.to_string());
        let mut spilled = self.spill(ask, prepared, look.window(), work);
        let mut written = write(ask, prepared, (&look, spilled), tag.as_deref(), &asked)?;
        for _ in 0..fit::TRIES {
            let window = look.window();
            let smaller = most.and_then(|most| fit::smaller(&written.content, window, most));
            let Some(bytes) = smaller else { break };
            limits.budget.bytes = bytes;
            look = wanted.look(document, &limits);
            spilled = spilled.or_else(|| self.spill(ask, prepared, look.window(), work));
            written = write(ask, prepared, (&look, spilled), tag.as_deref(), &asked)?;
        }
        let is_cut = most.is_some_and(|most| fit::cut(&mut written.content, most));
        let shown: LineSet = match is_cut {
            // Nobody knows which of them stand before the cut.
            true => LineSet::new(),
            false => look.whole_lines().into_iter().collect(),
        };
        let notices =
            recorded.map(|recorded| self.show(&ask.session, recorded, &shown, prepared.name()));
        let mut more = details(ask, (&prepared.located, opened), &look, &limits);
        if is_cut {
            more.shown = Some(Vec::new());
        }
        more.native = written.native;
        if let Some(truncation) = &mut more.truncation {
            truncation.next = written.next;
            truncation.artifact_id = spilled.map(|number| number.to_string());
        }
        more.hashline = tag.map(|tag| Hashline {
            path: prepared.name().to_owned(),
            tag,
        });
        let kind = match more.web {
            Some(_) => ResourceKind::Url,
            None => document.kind,
        };
        let result = ReadResult {
            content: written.content,
            details: ReadDetails::new(kind, document.location.clone(), document.cache, more),
            is_error: None,
        };
        Ok((result, notices.unwrap_or_default()))
    }

    /// Keeps the whole of a text that is to be had again only from somebody else, and is cut here; the
    /// number of the artifact.
    fn spill(&self, ask: &Ask, prepared: &Prepared, window: &Window, work: &Work) -> Option<u64> {
        let opened = &prepared.opened;
        let document = &opened.document;
        let is_page = opened.web.is_some() && document.kind == ResourceKind::File;
        let is_whole = prepared.is_bare && ask.request.lines.is_none();
        let spills = is_whole && (opened.spills || is_page) && window.stop.is_some();
        let text = document.text.whole().filter(|_| spills)?;
        let title = prepared.located.display().to_owned();
        self.stores.spill(&ask.session, Some(title), text, work)
    }

    /// Appends the fact that this text has this name.
    fn record<'a>(&self, ask: &Ask, opened: &'a Opened, look: &Look) -> Option<RecordedText<'a>> {
        let is_text = !look.is_empty_sheet();
        let snapshot = opened.snapshot.as_ref();
        let snapshot = snapshot.filter(|_| ask.editable && is_text && opened.web.is_none())?;
        Some(self.name(snapshot, opened.document.text.whole()?))
    }

    /// Gives a text its name.
    pub(super) fn name<'a>(&self, snapshot: &'a Snapshot, text: &Text) -> RecordedText<'a> {
        let document = &snapshot.document;
        let current = snapshot.current(text);
        let (version, notices) = self.sessions.record(document, &current, &snapshot.actor);
        RecordedText {
            document,
            version,
            notices,
        }
    }

    /// Appends the fact that these of its lines were shown, under that name. Who must hear that
    /// what they were shown has changed.
    pub(super) fn show(
        &self,
        session: &str,
        text: RecordedText,
        shown: &LineSet,
        name: &str,
    ) -> Vec<Notice> {
        let RecordedText {
            document,
            version,
            notices,
        } = text;
        self.sessions.show(session, document, &version, shown, name);
        // What this very answer shows is no news to its reader.
        let news = notices
            .into_iter()
            .filter_map(|notice| match notice.session == session {
                true => notice.without(shown),
                false => Some(notice),
            });
        news.collect()
    }
}

/// Writes down what is looked at, with the limits that were asked for, and where its whole is.
fn write(
    ask: &Ask,
    prepared: &Prepared,
    (look, spilled): (&Look, Option<u64>),
    tag: Option<&str>,
    asked: &Limits,
) -> Result<Written, Refusal> {
    let opened = &prepared.opened;
    let ended;
    let document = match spilled {
        None => &opened.document,
        Some(number) => {
            ended = with_whole(&opened.document, number);
            &ended
        }
    };
    let window = look.window();
    let name = prepared.name();
    let raw = window.raw.then(|| raw_text(opened, window));
    let mut understood = prepared.located.understood.clone();
    if let Some(header) = document.extras.web_header.as_ref()
        && !ask.dialect.writes_web_header()
    {
        understood.push(header.sentence());
    }
    understood.extend_from_slice(&ask.request.remarks);
    ask.dialect.write(&View {
        request: &ask.request,
        path: &prepared.path(),
        asks_for_whole_file: prepared.is_bare,
        definitions: prepared.definitions.as_deref().unwrap_or_default(),
        understood: &understood,
        header: tag.map(|tag| (name, tag)),
        name,
        document,
        attachments: attachments(document, window),
        window,
        byte_limit: asked.budget.bytes,
        raw_line: asked.raw_line,
        conflicts: look.conflicts_to_mention(document),
        elided: match look {
            Look::Summary(summary) => Some(&summary.elided),
            Look::Window(_) | Look::Conflicts(_) => None,
        },
        body: match (look, &raw) {
            (Look::Conflicts(sheet), _) => Body::Conflicts(sheet),
            (_, Some(raw)) => Body::Raw(raw),
            (_, None) => Body::Rows,
        },
    })
}

/// With where the whole text is.
fn with_whole(document: &Document, number: u64) -> Document {
    let mut document = document.clone();
    let footers = &mut document.extras.footers;
    footers.push(format!("Whole text: artifact://{number}"));
    document
}
