//! What is told of a read besides what its model sees, made of what was found and of what is shown of it.

use crate::protocol::read::{
    DisplayContent, ListingLimits, MoreDetails, SuffixResolution, Summary as SummaryDetails,
    Truncation,
};
use crate::view::excerpt::Lines;
use crate::view::window::{Limits, Window};
use crate::view::{Attachment, Document, Style};
use crate::workspace::{Found, Via};

use super::ask::Ask;
use super::look::Look;
use super::source::Opened;
use super::target::{Located, TargetKind};

/// The text of the window with its own line ends; a line that was cut stands as it was cut.
pub fn raw_text(opened: &Opened, window: &Window) -> String {
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
pub fn attachments<'a>(document: &'a Document, window: &Window) -> Vec<&'a Attachment> {
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

pub fn details(
    ask: &Ask,
    (located, opened): (&Located, &Opened),
    look: &Look,
    limits: &Limits,
) -> MoreDetails {
    let window = look.window();
    let document = &opened.document;
    let mut more = document.details.clone();
    if let TargetKind::OnDisk(Found {
        via: Via::Suffix { from, to },
        ..
    }) = &located.target_kind
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
        artifact_id: None,
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
        let selector = opened.selector.as_ref();
        let open = match selector.unwrap_or(&located.selector).is_open_ended() {
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
