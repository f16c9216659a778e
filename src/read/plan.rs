//! One read from parameters to result; what is shown is recorded before the answer is handed on, never after.

use std::sync::Arc;

use encoding_rs::Encoding;
use serde_json::Value;

use crate::buffer::{Detour, Lane, Store};
use crate::protocol::params::Fields;
use crate::protocol::read::{
    DisplayContent, Hashline, Limits as ListingLimits, Meta, MoreDetails, ReadDetails, ReadResult,
    SuffixResolution, Truncation,
};
use crate::protocol::{Refusal, Settings};
use crate::session::{Sessions, Version};
use crate::task::Work;
use crate::text::encoding_for_label;
use crate::view::dialect::{self, Body, Dialect, Request, View};
use crate::view::window::{self, Limits, Spent, Window};
use crate::view::{Budget, LineSet, Style};
use crate::workspace::{Scope, Via};

use super::source::{self, Means, Opened};
use super::target::{Located, locate};

/// What a caller set of the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetParams {
    pub lines: Option<u64>,
    pub bytes: Option<u64>,
}

impl BudgetParams {
    /// Reads `budget` of a request; counts start at 1.
    pub fn parse(fields: Fields) -> Result<BudgetParams, Refusal> {
        let Some(budget) = fields.object("budget")? else {
            return Ok(BudgetParams::default());
        };
        Ok(BudgetParams {
            lines: budget.count("lines")?,
            bytes: budget.count("bytes")?,
        })
    }

    /// These values where they are set, else those of `otherwise`; capped.
    pub fn over(&self, otherwise: Budget) -> Budget {
        Budget {
            lines: self.lines.unwrap_or(otherwise.lines).min(Budget::CAP.lines),
            bytes: self.bytes.unwrap_or(otherwise.bytes).min(Budget::CAP.bytes),
        }
    }

    pub fn is_set(&self) -> bool {
        *self != BudgetParams::default()
    }
}

/// One read as it was asked for.
#[derive(Debug, Clone)]
pub struct Ask {
    pub session: String,
    pub dialect: &'static dyn Dialect,
    pub request: Request,
    pub budget: BudgetParams,
    /// Whether the budget is one that other reads draw on as well.
    pub shares_budget: bool,
    pub encoding: Option<&'static Encoding>,
    pub display_content: bool,
    /// Whether snapshots are recorded and headers shown.
    pub editable: bool,
}

/// Bytes of a session's name.
const MAX_SESSION_BYTES: usize = 256;

/// `session` of a request, or `default`.
pub fn session_name(fields: Fields, default: &str) -> Result<String, Refusal> {
    let name = fields.string("session")?.unwrap_or(default);
    if name.is_empty() || name.len() > MAX_SESSION_BYTES {
        return Err(Refusal::bad_params(
            "session",
            format!("'session' must have 1 to {MAX_SESSION_BYTES} bytes."),
        ));
    }
    Ok(name.to_owned())
}

impl Ask {
    /// Parses the parameters of `agent/read`. Errors name the parameter at fault.
    pub fn parse(params: &Value, session: &str, settings: &Settings) -> Result<Ask, Refusal> {
        let fields = Fields::of(params, "")?;
        let dialect = fields.string("dialect")?.unwrap_or(&settings.read.dialect);
        let dialect = dialect::by_name(dialect)?;
        let encoding = match fields.string("encoding")? {
            None => None,
            Some(label) => Some(encoding_for_label(label).ok_or_else(|| {
                Refusal::bad_params(
                    "encoding",
                    format!("'encoding' must be a WHATWG encoding label such as utf-8, windows-1252 or shift_jis, not '{label}'."),
                )
            })?),
        };
        Ok(Ask {
            session: session_name(fields, session)?,
            dialect,
            request: dialect.request(fields, settings)?,
            budget: BudgetParams::parse(fields)?,
            shares_budget: false,
            encoding,
            display_content: wants_display_content(fields)?,
            editable: settings.edit.enabled,
        })
    }

    /// The path as the caller wrote it.
    pub fn path(&self) -> &str {
        self.request.target.as_written()
    }

    fn limits(&self) -> Limits {
        let BudgetParams { lines, bytes } = self.budget;
        self.request.limits.with_budget(lines, bytes)
    }
}

fn wants_display_content(fields: Fields) -> Result<bool, Refusal> {
    let wanted = fields.list("want")?.unwrap_or_default();
    for item in wanted {
        if item != "displayContent" {
            return Err(Refusal::bad_params(
                "want",
                "'want' may only hold \"displayContent\".",
            ));
        }
    }
    Ok(!wanted.is_empty())
}

/// What was found, before any limit is applied to it.
#[derive(Debug)]
pub struct Prepared {
    located: Located,
    opened: Opened,
}

/// The warm state that reads share.
#[derive(Debug)]
pub struct Reader {
    pub buffers: Arc<Store>,
    pub sessions: Sessions,
}

impl Reader {
    /// Holds at most `budget` bytes, in buffers and in snapshots alike.
    pub fn new(budget: u64) -> Reader {
        Reader {
            buffers: Arc::new(Store::new(budget / 2)),
            sessions: Sessions::new(budget / 2),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        self.buffers.set_budget(budget / 2);
        self.sessions.set_budget(budget / 2);
    }

    /// Finds and loads what is asked for. Blocking; work that would take long is refused in the
    /// short lane.
    pub fn prepare(
        &self,
        ask: &Ask,
        scope: &Scope,
        lane: Lane,
        work: &Work,
    ) -> Result<Prepared, Detour> {
        let target = &ask.request.target;
        let located = locate(target, scope, lane, work)?;
        let means = Means {
            scope,
            buffers: &self.buffers,
            lane,
            work,
        };
        let handle = &located.found.handle;
        let opened = source::open(handle, target.as_written(), ask.encoding, means)?;
        if located.selector.conflicts {
            return Err(Refusal::Unsupported {
                path: Some(target.as_written().to_owned()),
                message: ":conflicts is not available in this version. Read the lines instead."
                    .to_owned(),
            }
            .into());
        }
        Ok(Prepared { located, opened })
    }

    /// What a read would take if it alone had the whole of a shared budget.
    pub fn demand(&self, ask: &Ask, prepared: &Prepared, shared: Budget) -> Spent {
        let text = &prepared.opened.document.text;
        let limits = ask.limits().at_most(shared);
        window::open(text, &prepared.located.selector, &limits).spent
    }

    /// Opens the window, records what it shows, and writes it down. `share` is the part of a
    /// budget shared with other reads, if there is one.
    pub fn finish(&self, ask: &Ask, prepared: &Prepared, share: Option<Budget>) -> ReadResult {
        let Prepared { located, opened } = prepared;
        let document = &opened.document;
        let limits = match share {
            Some(share) => ask.limits().at_most(share),
            None => ask.limits(),
        };
        let window = window::open(&document.text, &located.selector, &limits);
        let version = self.record(ask, opened, &window);
        let name = located.found.display.as_str();
        let tag = version.as_ref().map(|version| version.tag.to_string());
        let raw = window.raw.then(|| raw_text(opened, &window));
        let written = ask.dialect.write(&View {
            understood: &located.understood,
            header: tag.as_deref().map(|tag| (name, tag)),
            name,
            style: document.style,
            window: &window,
            byte_limit: limits.budget.bytes,
            body: raw.as_deref().map_or(Body::Rows, Body::Raw),
        });
        let mut more = details(ask, prepared, &window, &limits);
        more.native = written.native;
        more.hashline = tag.map(|tag| Hashline {
            path: name.to_owned(),
            tag,
        });
        ReadResult {
            content: written.content,
            details: ReadDetails {
                kind: document.kind,
                meta: Meta {
                    source: document.source.clone(),
                },
                cache: document.cache,
                more,
            },
            is_error: None,
        }
    }

    /// Appends the facts: this text has this name, and these of its lines were shown.
    fn record(&self, ask: &Ask, opened: &Opened, window: &Window) -> Option<Version> {
        let snapshot = opened.snapshot.as_ref().filter(|_| ask.editable)?;
        let text = &opened.document.text;
        let version = self
            .sessions
            .record(&snapshot.document, text, snapshot.fingerprint);
        let shown: LineSet = window.whole_lines().into_iter().collect();
        self.sessions
            .show(&ask.session, &snapshot.document, &version, &shown);
        Some(version)
    }
}

/// The text of the window with its own line ends; a line that was cut stands as it was cut.
fn raw_text(opened: &Opened, window: &Window) -> String {
    let text = &opened.document.text;
    let mut raw = String::new();
    for block in &window.blocks {
        match &block.rows[..] {
            [row] if row.total_chars.is_some() => raw.push_str(&row.text),
            [first, .., last] | [first @ last] => {
                raw.push_str(&text.raw_lines(first.number as usize - 1, last.number as usize));
            }
            [] => {}
        }
    }
    raw
}

fn details(ask: &Ask, prepared: &Prepared, window: &Window, limits: &Limits) -> MoreDetails {
    let document = &prepared.opened.document;
    let mut more = document.details.clone();
    if let Via::Suffix { from, to } = &prepared.located.found.via {
        more.suffix_resolution = Some(SuffixResolution {
            from: from.clone(),
            to: to.clone(),
        });
    }
    more.shown = Some(window.whole_lines());
    let cut_lines = window.cut_lines();
    more.cut_lines = (!cut_lines.is_empty()).then_some(cut_lines);
    more.truncation = window.stop.as_ref().map(|stop| Truncation {
        reason: stop.reason,
        next_selector: stop.next_selector.clone(),
    });
    if document.style == Style::Listing && window.stop.is_some() {
        more.limits = Some(ListingLimits {
            result_limit: limits.budget.lines,
            total: more.total_lines,
        });
    }
    if ask.display_content {
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
