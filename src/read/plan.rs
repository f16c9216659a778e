//! One read from parameters to result; what is shown is recorded before the answer is handed on, never after.

use std::sync::Arc;

use encoding_rs::Encoding;
use serde_json::Value;

use crate::buffer::{Detour, DocumentKey, Lane, Overlays, Store, Warm};
use crate::convert::{self, Converters};
use crate::outline::Outline;
use crate::protocol::params::Fields;
use crate::protocol::read::{
    DisplayContent, Hashline, Limits as ListingLimits, Meta, MoreDetails, ReadDetails, ReadResult,
    SuffixResolution, Summary as SummaryDetails, Truncation,
};
use crate::protocol::settings::Summarize;
use crate::protocol::{Refusal, Settings};
use crate::session::{self, Actor, Form, Notice, Sessions, Site, Version};
use crate::syntax;
use crate::task::Work;
use crate::text::encoding_for_label;
use crate::view::dialect::{self, Body, Dialect, Request, View};
use crate::view::excerpt::Lines;
use crate::view::window::{Limits, Spent, Window};
use crate::view::{Attachment, Budget, Document, LineSet, Selector, Style};
use crate::workspace::{FileType, Found, Scope, Via};

use super::look::{Look, Wanted};
use super::outlines::Outlines;
use super::places::Place;
use super::source::{self, Means, Opened};
use super::target::{Located, Spot, locate};

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
    wanted: Wanted,
}

impl Prepared {
    /// How what was found is called in headers and messages.
    fn name(&self) -> &str {
        let part = self.opened.name.as_deref();
        part.unwrap_or(self.located.display())
    }
}

/// The warm state that reads share.
#[derive(Debug)]
pub struct Reader {
    pub buffers: Arc<Store>,
    pub sessions: Sessions,
    pub outlines: Outlines,
    pub warm: Warm,
    pub converters: Converters,
}

impl Reader {
    /// Holds at most `budget` bytes: an eighth of it in outlines, as much in what other kinds than
    /// text keep warm, the rest in buffers and in snapshots alike.
    pub fn new(budget: u64) -> Reader {
        let (texts, eighth) = shares(budget);
        Reader {
            buffers: Arc::new(Store::new(texts)),
            sessions: Sessions::new(texts),
            outlines: Outlines::new(eighth),
            warm: Warm::new(eighth),
            converters: Converters::new(convert::Limits::from_environment()),
        }
    }

    pub fn set_budget(&self, budget: u64) {
        let (texts, eighth) = shares(budget);
        self.buffers.set_budget(texts);
        self.sessions.set_budget(texts);
        self.outlines.set_budget(eighth);
        self.warm.set_budget(eighth);
    }

    /// Finds and loads what is asked for. Blocking; work that would take long is refused in the
    /// short lane. `found` hears where it is as soon as that is known.
    pub fn prepare(
        &self,
        ask: &Ask,
        scope: &Scope,
        overlays: &Overlays,
        lane: Lane,
        work: &Work,
        found: &dyn Fn(Place),
    ) -> Result<Prepared, Detour> {
        let target = &ask.request.target;
        let located = locate(target, scope, overlays, lane, work)?;
        found(located.place(scope));
        let means = Means {
            display: located.display(),
            scope,
            overlays,
            buffers: &self.buffers,
            warm: &self.warm,
            converters: &self.converters,
            selector: &located.selector,
            limits: ask.limits(),
            lane,
            work,
        };
        let opened = match &located.spot {
            Spot::OnDisk(found) => {
                let (spelled, inner) = (target.as_written(), located.inner.as_deref());
                source::open(&found.handle, spelled, inner, ask.encoding, means)?
            }
            Spot::InEditor(overlay, _) => source::editor::unsaved(overlay),
        };
        let selector = opened.selector.as_ref().unwrap_or(&located.selector);
        let document = &opened.document;
        let outline = match (&ask.request.summarize, *selector == Selector::default()) {
            (Some(settings), true) => self.outline(&opened, &located, settings, lane, work)?,
            _ => None,
        };
        let wanted = match outline {
            Some(outline) => Wanted::summary(outline),
            None => Wanted::of(document, selector, target.as_written(), lane, work)?,
        };
        Ok(Prepared {
            located,
            opened,
            wanted,
        })
    }

    /// The outline of what can be edited as text, if it is to be shown as one.
    fn outline(
        &self,
        opened: &Opened,
        located: &Located,
        settings: &Summarize,
        lane: Lane,
        work: &Work,
    ) -> Result<Option<Arc<Outline>>, Detour> {
        let (Some(snapshot), Some(text)) = (&opened.snapshot, opened.document.text.whole()) else {
            return Ok(None);
        };
        let name = located.display();
        let file_name = name.rsplit('/').next().unwrap_or(name);
        // What is in no file has no name that would tell; the editor knows.
        let said = match &located.spot {
            Spot::InEditor(overlay, _) => syntax::named(&overlay.language_id),
            Spot::OnDisk(_) => None,
        };
        let text = (text, snapshot.fingerprint.content);
        self.outlines.of(
            &snapshot.document,
            (file_name, said),
            text,
            settings,
            lane,
            work,
        )
    }

    /// What a read would take if it alone had the whole of a shared budget.
    pub fn demand(&self, ask: &Ask, prepared: &Prepared, shared: Budget) -> Spent {
        let limits = ask.limits().at_most(shared);
        let Prepared { opened, wanted, .. } = prepared;
        wanted.look(&opened.document, &limits).window().spent
    }

    /// Opens the window, records what it shows, and writes it down. `share` is the part of a
    /// budget shared with other reads, if there is one. Also tells which sessions must hear that
    /// what they were shown has changed.
    pub fn finish(
        &self,
        ask: &Ask,
        prepared: &Prepared,
        share: Option<Budget>,
    ) -> (ReadResult, Vec<Notice>) {
        let Prepared {
            located,
            opened,
            wanted,
        } = prepared;
        let document = &opened.document;
        let limits = match share {
            Some(share) => ask.limits().at_most(share),
            None => ask.limits(),
        };
        let look = wanted.look(document, &limits);
        let window = look.window();
        let name = prepared.name();
        let (version, notices) = self.record(ask, opened, &look, name).unzip();
        let tag = version.as_ref().map(|version| version.tag.to_string());
        let raw = window.raw.then(|| raw_text(opened, window));
        let written = ask.dialect.write(&View {
            understood: &located.understood,
            header: tag.as_deref().map(|tag| (name, tag)),
            name,
            document,
            attachments: attachments(document, window),
            window,
            byte_limit: limits.budget.bytes,
            conflicts: look.conflicts_to_mention(document),
            elided: match &look {
                Look::Summary(summary) => Some(&summary.elided),
                Look::Window(_) | Look::Conflicts(_) => None,
            },
            body: match (&look, &raw) {
                (Look::Conflicts(sheet), _) => Body::Conflicts(sheet),
                (_, Some(raw)) => Body::Raw(raw),
                (_, None) => Body::Rows,
            },
        });
        let mut more = details(ask, prepared, &look, &limits);
        more.native = written.native;
        more.hashline = tag.map(|tag| Hashline {
            path: name.to_owned(),
            tag,
        });
        let result = ReadResult {
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
        };
        (result, notices.unwrap_or_default())
    }

    /// Appends the facts: this text has this name, and these of its lines were shown.
    fn record(
        &self,
        ask: &Ask,
        opened: &Opened,
        look: &Look,
        name: &str,
    ) -> Option<(Version, Vec<Notice>)> {
        let is_text = !look.is_empty_sheet();
        let snapshot = opened.snapshot.as_ref();
        let snapshot = snapshot.filter(|_| ask.editable && is_text)?;
        let current = snapshot.current(opened.document.text.whole()?);
        let document = &snapshot.document;
        let (version, notices) = self.sessions.record(document, &current, &snapshot.actor);
        let shown: LineSet = look.whole_lines().into_iter().collect();
        self.sessions
            .show(&ask.session, document, &version, &shown, name);
        // What this very answer shows is no news to its reader.
        let news = notices
            .into_iter()
            .filter_map(|notice| match notice.session == ask.session {
                true => notice.without(&shown),
                false => Some(notice),
            });
        Some((version, news.collect()))
    }

    /// Looks at a document again because it may have changed, for the sake of the sessions that
    /// were shown lines of it. Blocking, as [`Reader::prepare`] is.
    pub fn look_again(
        &self,
        key: &DocumentKey,
        actor: &Actor,
        scope: &Scope,
        overlays: &Overlays,
        lane: Lane,
        work: &Work,
    ) -> Result<Vec<Notice>, Detour> {
        // Of a file too large to hold there is nothing to tell: one line of it is enough.
        let (selector, limits) = (Selector::line(1), Limits::ONE_LINE);
        let opened = match (key, overlays.get(key)) {
            (DocumentKey::File(path), overlay) => match (scope.open(path), overlay) {
                (Ok(handle), _) => {
                    let means = Means {
                        display: "",
                        scope,
                        overlays,
                        buffers: &self.buffers,
                        warm: &self.warm,
                        converters: &self.converters,
                        selector: &selector,
                        limits,
                        lane,
                        work,
                    };
                    let spelled = path.to_string_lossy();
                    match handle.file_type() {
                        FileType::Regular => source::text::open(&handle, &spelled, None, means)?,
                        FileType::Directory | FileType::Other(_) => return Ok(Vec::new()),
                    }
                }
                (Err(Refusal::NotFound { .. }), Some(overlay)) => source::editor::unsaved(overlay),
                (Err(refusal), _) => return Err(refusal.into()),
            },
            (DocumentKey::Other(_), Some(overlay)) => source::editor::unsaved(overlay),
            (DocumentKey::Other(uri), None) => {
                let gone = session::Document {
                    site: Site::Editor(uri.clone()),
                    form: Form::Text,
                };
                return Ok(self.sessions.vanished(&gone, actor));
            }
        };
        let (Some(snapshot), Some(text)) = (&opened.snapshot, opened.document.text.whole()) else {
            return Ok(Vec::new());
        };
        if !self.sessions.is_known(&snapshot.document) {
            return Ok(Vec::new());
        }
        let current = snapshot.current(text);
        let recorded = self.sessions.record(&snapshot.document, &current, actor);
        Ok(recorded.1)
    }
}

/// Of a budget, what buffers and what snapshots may hold each, and an eighth.
fn shares(budget: u64) -> (u64, u64) {
    let eighth = budget / 8;
    ((budget - 2 * eighth) / 2, eighth)
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
    more.cut_lines = (numbered && !cut_lines.is_empty()).then_some(cut_lines);
    more.truncation = window.stop.as_ref().map(|stop| Truncation {
        reason: stop.reason,
        next_selector: stop.next_selector.clone(),
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
        more.limits = Some(ListingLimits {
            result_limit: limits
                .budget
                .lines
                .min(document.extras.open_lines.unwrap_or(u64::MAX)),
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
