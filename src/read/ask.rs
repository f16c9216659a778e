//! One read as it was asked for, and how its dialect says that it is refused; nothing is read here.

use std::sync::Arc;
use std::time::Instant;

use encoding_rs::{Encoding, UTF_8};
use serde_json::{Value, json};

use crate::buffer::Overlays;
use crate::protocol::params::Fields;
use crate::protocol::read::{
    Cache, ContentBlock, Location, MoreDetails, ReadDetails, ReadResult, ResourceKind,
};
use crate::protocol::{Refusal, RefusalKind, Settings, shortened};
use crate::text::{encoding_for_label, percent_of_controls};
use crate::view::dialect::{self, Asked, Dialect, Request, Said};
use crate::view::window::Limits;
use crate::view::{Budget, Document, Selector, Style};
use crate::workspace::{FileType, Scope};

use super::fragment::Fragment;
use super::obtained::Lacking;
use super::scheme;
use super::source::internal::github::pages::address_of_page;
use super::source::kind::Subject;
use super::source::web::{self, Looks, PageAsk, PageLacking, WebAddress};
use super::target::{Located, TargetKind};

/// What a caller set of the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetParams {
    pub lines: Option<u64>,
    pub bytes: Option<u64>,
    /// Characters of the whole text of an answer, whatever else stands in it.
    pub chars: Option<u64>,
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
            chars: budget.count("chars")?,
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
    /// Whether documents are text, also in a dialect that gives the files themselves.
    pub documents_as_text: bool,
    /// Whether snapshots are recorded and headers shown.
    pub editable: bool,
    /// What it is and how large stands above what is shown of it, where it is kept for a session.
    pub tells_title: bool,
    /// As what the client hears how far a wait for the network is.
    pub progress: Option<Value>,
    /// The client waits for it to answer a question of ours: it is not asked another.
    pub is_resolving: bool,
}

/// First bytes of a text in which control characters are counted (seed 001).
const CONTROL_SAMPLE: usize = 4096;

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
        // What a model got wrong is answered as its tool answers everything else.
        let mut request = dialect.request(fields, settings).unwrap_or_else(|refusal| {
            let path = fields.string(dialect.path_parameter());
            Request::refused(path.ok().flatten().unwrap_or_default(), refusal)
        });
        if let Some(target) = address_of_page(&request.target, &settings.github) {
            request.target = target;
        }
        Ok(Ask {
            session: session_name(fields, session)?,
            dialect,
            request,
            budget: BudgetParams::parse(fields)?,
            shares_budget: false,
            encoding,
            display_content: wants(fields, "displayContent")?,
            documents_as_text: wants(fields, "text")?,
            editable: settings.edit.enabled,
            tells_title: false,
            progress: fields.get("workDoneToken").cloned(),
            is_resolving: is_resolving(fields)?,
        })
    }

    /// What has to be obtained before anything is looked for, as its path alone tells.
    ///
    /// # Errors
    ///
    /// `badParams` and `badSelector` for an address that cannot be meant.
    pub fn lacks(&self) -> Result<Option<Lacking>, Refusal> {
        if self.request.refusal.is_some() {
            return Ok(None);
        }
        let address = scheme::web_address(&self.request.target)?;
        let page = address.map(|address| PageLacking::Page(Box::new(address)));
        Ok(page.map(Lacking::Page))
    }

    /// Its path as the log may have it.
    pub fn logged_path(&self) -> String {
        shortened(&web::without_secrets(self.path())).into_owned()
    }

    /// Whether it can be of nothing but what was put away for its session.
    pub fn is_of_store(&self) -> bool {
        scheme::is_of_store(self.path())
    }

    /// Whether it can be of nothing but a web page.
    pub fn is_of_web(&self) -> bool {
        web::looks(self.path()) == Looks::Web
    }

    /// Whether it can be of nothing that an edit changes: a web page, or what the client or a server
    /// has and no open document is.
    pub fn is_of_no_file(&self, overlays: &Overlays) -> bool {
        let path = self.path();
        let open = || {
            let ends = Selector::splits(path).into_iter().map(|(end, _)| end);
            let names = ends.chain([path.len()]).map(|end| &path[..end]);
            let heads = Fragment::splits(path).map(|(head, _)| head);
            names
                .chain(heads)
                .any(|name| overlays.called(name).is_some())
        };
        self.is_of_web() || (scheme::is_elsewhere(path, overlays) && !open())
    }

    /// A page that it is of.
    pub fn of_page(
        &self,
        address: WebAddress,
        settings: &Arc<Settings>,
        deadline: Instant,
    ) -> PageAsk {
        PageAsk {
            address,
            session: self.session.clone(),
            names_lines: self.request.lines.is_some(),
            has_budget: self.budget.is_set(),
            encoding: self.encoding,
            settings: Arc::new(settings.web.clone()),
            deadline,
            progress: None,
        }
    }

    /// The path as the caller wrote it.
    pub fn path(&self) -> &str {
        self.request.target.as_written()
    }

    /// The limits before anything is known of what is read.
    pub(super) fn limits(&self) -> Limits {
        let BudgetParams {
            lines,
            bytes,
            chars,
        } = self.budget;
        let mut limits = self.request.limits.with_budget(lines, bytes);
        if let Some(chars) = chars {
            limits = limits.in_answer_of(chars);
        }
        if let Some(most) = self.request.most {
            limits.budget.lines = limits.budget.lines.min(most);
        }
        limits
    }

    /// The limits of what was found: a text of which no lines in particular are asked for, or
    /// something else.
    pub(super) fn limits_of(&self, is_whole_text: bool, is_shown_whole: bool) -> Limits {
        let mut limits = self.limits();
        if is_shown_whole {
            return self.hard_limits();
        }
        if let (Some(lines), true) = (self.request.truncate, is_whole_text)
            && self.budget.lines.is_none()
        {
            limits.open_lines = limits.open_lines.min(lines);
        }
        limits
    }

    /// Those that hold for whatever is read, below which only the caller's own are.
    pub(super) fn hard_limits(&self) -> Limits {
        let hard = self.budget.over(Budget::CAP);
        let limits = self.request.limits;
        let mut limits = limits.with_budget(Some(hard.lines), Some(hard.bytes));
        if let Some(most) = self.request.most {
            limits.budget.lines = limits.budget.lines.min(most);
        }
        limits
    }

    /// The lines that are asked for: those of the parameters, else those of the path's selector.
    pub(super) fn selected(&self, selector: &Selector) -> Selector {
        match self.request.lines {
            None => selector.clone(),
            Some(lines) => selector.with_lines(lines),
        }
    }

    /// What its own tool does not read by its bytes: what has too many control characters among the
    /// first of them. Who names an encoding says that it is text.
    pub(super) fn refuse_controls(
        &self,
        located: &Located,
        document: &Document,
    ) -> Result<(), Refusal> {
        let (Some(percent), None) = (self.request.refused_by_default.controls, self.encoding)
        else {
            return Ok(());
        };
        if document.kind != ResourceKind::File || document.style != Style::Lines {
            return Ok(());
        }
        let head: Vec<u8> = match (document.text.whole(), &located.target_kind) {
            (Some(text), _) => text
                .chunks()
                .flat_map(str::bytes)
                .take(CONTROL_SAMPLE)
                .collect(),
            (None, TargetKind::OnDisk(found)) => {
                let subject = Subject::File(&found.handle);
                let bytes = subject.head(CONTROL_SAMPLE, self.path())?;
                let label = document.details.encoding.as_deref();
                let encoding = label.and_then(encoding_for_label).unwrap_or(UTF_8);
                encoding.decode(&bytes).0.into_owned().into_bytes()
            }
            (None, TargetKind::InEditor(..) | TargetKind::Internal(_) | TargetKind::Web(_)) => {
                return Ok(());
            }
        };
        match percent_of_controls(&head) > percent {
            true => Err(Refusal::not_text(
                self.path(),
                "it is dense in control characters".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// What its own tool does not read where nothing but a path is given.
    pub(super) fn refuse_barred(&self, located: &Located) -> Result<(), Refusal> {
        let TargetKind::OnDisk(found) = &located.target_kind else {
            return Ok(());
        };
        let bare = located.is_bare();
        let path = || self.path().to_owned();
        match found.handle.file_type() {
            FileType::Directory if bare && self.request.refused_by_default.directories => {
                Err(Refusal::Directory { path: path() })
            }
            FileType::Regular if bare => {
                let name = found.display.to_lowercase();
                let extensions = self.request.refused_by_default.extensions.iter();
                match extensions.into_iter().find(|end| name.ends_with(**end)) {
                    None => Ok(()),
                    Some(end) => Err(Refusal::Binary {
                        path: path(),
                        what: format!("by its name, which ends in {end}"),
                        instead: "Ask for a part of it.".to_owned(),
                    }),
                }
            }
            _ => Ok(()),
        }
    }

    /// The answer that a refusal is in this dialect. Looks at the names that are suggested.
    pub fn refused(&self, refusal: Refusal, scope: &Scope) -> Result<ReadResult, Refusal> {
        if matches!(
            refusal.kind(),
            RefusalKind::Cancelled | RefusalKind::Internal
        ) {
            return Err(refusal);
        }
        let path = shortened(self.path());
        let asked = Asked {
            path: &path,
            absolute: &|path| absolute(path, scope),
        };
        match self.dialect.refuse(&refusal, &asked) {
            Said::AsIs => Err(refusal),
            Said::Thrown(text) => Err(Refusal::Worded {
                text,
                refusal: Box::new(refusal),
            }),
            Said::Result(text) => Ok(ReadResult {
                content: vec![ContentBlock::Text { text }],
                details: ReadDetails::new(
                    ResourceKind::File,
                    Location {
                        source: path.into_owned(),
                        ..Location::default()
                    },
                    Cache::Miss,
                    MoreDetails {
                        native: Some(json!({ "error": refusal.to_tool_error() })),
                        ..MoreDetails::default()
                    },
                ),
                is_error: Some(true),
            }),
        }
    }
}

/// The absolute path that a path is, where it is found, or in the first root.
fn absolute(path: &str, scope: &Scope) -> String {
    if scheme::looks_like_address(path) || web::looks(path) == Looks::Web {
        return path.to_owned();
    }
    let folders = || scope.roots().iter().map(|root| root.spelled().join(path));
    let there = match scope.roots().len() {
        0..=1 => None,
        _ => folders().find(|path| scope.open(path).is_ok()),
    };
    let absolute = there.or_else(|| folders().next());
    let absolute = absolute.map(|path| path.to_string_lossy().into_owned());
    absolute.unwrap_or_else(|| path.to_owned())
}

/// Whether it carries what a question to the client came with.
pub fn is_resolving(fields: Fields) -> Result<bool, Refusal> {
    let meta = fields.object("_meta")?;
    Ok(meta.is_some_and(|meta| meta.get("pilcrow/resolving").is_some()))
}

/// What can be wanted beside what is shown.
const WANTS: [&str; 2] = ["displayContent", "text"];

fn wants(fields: Fields, what: &str) -> Result<bool, Refusal> {
    let wanted = fields.list("want")?.unwrap_or_default();
    let is_known = |item: &Value| WANTS.iter().any(|known| item == known);
    if !wanted.iter().all(is_known) {
        let message = "'want' may only hold \"displayContent\" and \"text\".";
        return Err(Refusal::bad_params("want", message));
    }
    Ok(wanted.iter().any(|item| item == what))
}
