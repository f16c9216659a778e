//! The end of a read: what is shown is opened, recorded and written down, in as many characters as it may have.
//!
//! What is shown is recorded before the answer is handed on, and never before it is known what fits.

use crate::protocol::Refusal;
use crate::protocol::read::{
    DisplayContent, Hashline, ListingLimits, MoreDetails, ReadDetails, ReadResult, ResourceKind,
    SuffixResolution, Summary as SummaryDetails, Truncation,
};
use crate::session::{self, Notice, Version};
use crate::view::dialect::{Body, View, Written};
use crate::view::excerpt::Lines;
use crate::view::window::{Limits, Window};
use crate::view::{Attachment, Document, LineSet, Style};
use crate::workspace::{Found, Via};

use super::ask::Ask;
use super::fit;
use super::look::Look;
use super::plan::{Prepared, Reader};
use super::share::Share;
use super::source::Opened;
use super::target::Spot;

/// A text that has its name, and who must hear of that.
struct RecordedText<'a> {
    document: &'a session::Document,
    version: Version,
    notices: Vec<Notice>,
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
    ) -> Result<(ReadResult, Vec<Notice>), Refusal> {
        let Prepared { opened, wanted, .. } = prepared;
        let document = &opened.document;
        let mut limits = ask.limits_of(prepared.is_whole_text);
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
        let mut written = write(ask, prepared, &look, tag.as_deref(), &asked)?;
        for _ in 0..fit::TRIES {
            let window = look.window();
            let smaller = most.and_then(|most| fit::smaller(&written.content, window, most));
            let Some(bytes) = smaller else { break };
            limits.budget.bytes = bytes;
            look = wanted.look(document, &limits);
            written = write(ask, prepared, &look, tag.as_deref(), &asked)?;
        }
        let is_cut = most.is_some_and(|most| fit::cut(&mut written.content, most));
        let shown: LineSet = match is_cut {
            // Nobody knows which of them stand before the cut.
            true => LineSet::new(),
            false => look.whole_lines().into_iter().collect(),
        };
        let notices = recorded.map(|recorded| self.show(ask, recorded, &shown, prepared.name()));
        let mut more = details(ask, prepared, &look, &limits);
        if is_cut {
            more.shown = Some(Vec::new());
        }
        more.native = written.native;
        if let Some(truncation) = &mut more.truncation {
            truncation.next = written.next;
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

    /// Appends the fact that this text has this name.
    fn record<'a>(&self, ask: &Ask, opened: &'a Opened, look: &Look) -> Option<RecordedText<'a>> {
        let is_text = !look.is_empty_sheet();
        let snapshot = opened.snapshot.as_ref();
        let snapshot = snapshot.filter(|_| ask.editable && is_text && opened.web.is_none())?;
        let current = snapshot.current(opened.document.text.whole()?);
        let document = &snapshot.document;
        let (version, notices) = self.sessions.record(document, &current, &snapshot.actor);
        Some(RecordedText {
            document,
            version,
            notices,
        })
    }

    /// Appends the fact that these of its lines were shown, under that name. Who must hear that
    /// what they were shown has changed.
    fn show(&self, ask: &Ask, text: RecordedText, shown: &LineSet, name: &str) -> Vec<Notice> {
        let RecordedText {
            document,
            version,
            notices,
        } = text;
        self.sessions
            .show(&ask.session, document, &version, shown, name);
        // What this very answer shows is no news to its reader.
        let news = notices
            .into_iter()
            .filter_map(|notice| match notice.session == ask.session {
                true => notice.without(shown),
                false => Some(notice),
            });
        news.collect()
    }
}

/// Writes down what is looked at, with the limits that were asked for.
fn write(
    ask: &Ask,
    prepared: &Prepared,
    look: &Look,
    tag: Option<&str>,
    asked: &Limits,
) -> Result<Written, Refusal> {
    let opened = &prepared.opened;
    let document = &opened.document;
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

/// The text of the window with its own line ends; a line that was cut stands as it was cut.
fn raw_text(opened: &Opened, window: &Window) -> String {
    let lines = Lines::from(&opened.document.text);
    let mut raw = String::new();
    for block in &window.blocks {
        match &block.rows[..] {
            [row] if row.total_chars.is_some() => raw.push_str(&row.text),
            [first, .., last] | [first @ last] => {
                raw.push_str(&lines.raw(first.number, last.number));
            }
            [] => {}
        }
    }
    raw
}

/// The attachments of what is shown.
fn attachments<'a>(document: &'a Document, window: &Window) -> Vec<&'a Attachment> {
    let attachments = document.extras.attachments.iter();
    attachments
        .filter(|attachment| {
            attachment.line.is_none_or(|line| {
                let mut spans = window.spans();
                spans.any(|span| span.start <= line && line <= span.end)
            })
        })
        .collect()
}

fn details(ask: &Ask, prepared: &Prepared, look: &Look, limits: &Limits) -> MoreDetails {
    let window = look.window();
    let document = &prepared.opened.document;
    let mut more = document.details.clone();
    if let Spot::OnDisk(Found {
        via: Via::Suffix { from, to },
        ..
    }) = &prepared.located.spot
    {
        more.suffix_resolution = Some(SuffixResolution {
            from: from.clone(),
            to: to.clone(),
        });
    }
    // Rows counted from the end have no line numbers yet: nothing that names a line can be said.
    let numbered = !window.is_from_end();
    more.shown = numbered.then(|| look.whole_lines());
    let cut_lines = window.cut_lines();
    more.is_raw = window.raw;
    more.cut_lines = (numbered && !cut_lines.is_empty()).then_some(cut_lines);
    more.truncation = window.stop.as_ref().map(|stop| Truncation {
        reason: stop.reason,
        next_selector: stop.next_selector.clone(),
        next: None,
    });
    if let Look::Summary(summary) = look {
        more.summary = Some(SummaryDetails {
            language: summary.language,
            lines: window.total_lines,
            elided_lines: summary.elided.lines,
            elided_spans: summary.elided.spans.clone(),
        });
    }
    if document.style == Style::Listing && window.stop.is_some() {
        // A read that names its end goes on to it.
        let selector = prepared.opened.selector.as_ref();
        let open = match selector
            .unwrap_or(&prepared.located.selector)
            .is_open_ended()
        {
            true => limits.open_lines,
            false => u64::MAX,
        };
        let of_kind = document.extras.open_lines.unwrap_or(u64::MAX);
        more.limits = Some(ListingLimits {
            result_limit: limits.budget.lines.min(open).min(of_kind),
            total: more.total_lines,
        });
    }
    if ask.display_content && numbered {
        let rows: Vec<&str> = window.rows().map(|row| row.text.as_ref()).collect();
        more.display_content = Some(DisplayContent {
            text: rows.join("\n"),
            start_line: window.rows().next().map_or(1, |row| row.number),
        });
    }
    let mut notices = document.notices.clone();
    notices.extend(window.skipped_notices());
    more.notices = (!notices.is_empty()).then_some(notices);
    more
}
