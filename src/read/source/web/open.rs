//! A page as a document: what of it is shown, under which header, and what is said with it.

use std::sync::Arc;

use crate::convert::HtmlPage;
use crate::hashline::tag::fingerprint;
use crate::protocol::Refusal;
use crate::protocol::read::{
    Cache, LineSpan, Location, MoreDetails, Origin, ResourceKind, WebDetails, WebSection,
};
use crate::read::obtained::Lacking;
use crate::read::obtained::StageResult;
use crate::read::source::{Opened, ReadContext, WebPart, location, refuse_own};
use crate::session::{self, Form as TextForm};
use crate::text::Text;
use crate::view::selector::Piece;
use crate::view::size::file_size;
use crate::view::{Document, Extras, Own, Selector, Style, WebHeader};
use crate::workspace::{Handle, ResourceId};

use super::choose::{Choice, choose};
use super::content::{self, ContentType, HEAD, Sort};
use super::fragment::{self, FragmentPlace};
use super::header;
use super::made::{self, made};
use super::made_text::MadeText;
use super::obtain::{ObtainedPage, PageLacking};
use super::page::{Form, Page};

/// Lines of a page that is asked for without any.
pub const OPEN_LINES: u64 = 300;
/// What is shown of an answer that was no success.
const FAILED_LINES: usize = 40;
const FAILED_BYTES: usize = 4096;

const CHANGED: &str = "The page has changed since it was last shown; line numbers may differ";

/// What is shown, and how it came to be.
struct PageView<'a> {
    obtained: &'a ObtainedPage,
    page: &'a Page,
    sent: ContentType,
    sort: Option<Sort>,
    method: Option<&'static str>,
    notes: Vec<String>,
    spelled: &'a str,
}

/// Opens what was obtained. `spelled` is the address as the caller wrote it, for refusals.
///
/// # Errors
///
/// `badSelector` for a selector that has no meaning here; what the kinds of resource refuse.
pub fn open(
    obtained: &ObtainedPage,
    spelled: &str,
    means: ReadContext,
) -> Result<StageResult<Opened>, Refusal> {
    let page = &obtained.page;
    // Known from now on, for who reads on once the page is dropped.
    page.hash().map_err(|error| Refusal::io(spelled, &error))?;
    let (substitute, notes) = match substitute(obtained, &means)? {
        Choice::Settled(substitute, notes) => (substitute, notes),
        Choice::Ask(guesses) => {
            return Ok(StageResult::Lacks(Lacking::Page(PageLacking::Guesses(
                guesses,
            ))));
        }
    };
    let mut shown = PageView::of(obtained, page, spelled)?;
    shown.notes = notes;
    if let Some(substitute) = &substitute {
        shown = PageView::of(obtained, &substitute.page, spelled)?;
        shown.method = substitute.method;
        shown.notes.extend(substitute.note.clone());
        if let Some(entry) = &substitute.entry {
            return shown.text(entry, means).map(StageResult::Ready);
        }
    }
    let opened = match shown.sort {
        _ if !shown.page.is_success() => shown.failed(means)?,
        _ if shown.page.fetched.body.bytes() == 0 => {
            shown.note("(no content)".to_owned(), "text", None)
        }
        Some(sort) if !obtained.ask.address.selector.raw => {
            let text = made(shown.page, sort, form(obtained), &means)?;
            shown.text(&text, means)?
        }
        _ => shown.file(means)?,
    };
    Ok(StageResult::Ready(opened))
}

fn form(obtained: &ObtainedPage) -> Form {
    Form {
        is_whole: obtained.ask.address.selector.own == Some(Own::WholePage),
        is_full: obtained.ask.address.selector.full,
        encoding: obtained.ask.encoding,
    }
}

/// What is shown in the place of the page; decided once for each page.
fn substitute(obtained: &ObtainedPage, means: &ReadContext) -> Result<Choice, Refusal> {
    let page = &obtained.page;
    let selector = &obtained.ask.address.selector;
    if selector.raw || selector.own == Some(Own::WholePage) || !page.is_success() {
        return Ok(Choice::Settled(None, Vec::new()));
    }
    if let Some((known, notes)) = page.choice.get() {
        return Ok(Choice::Settled(known.clone(), notes.clone()));
    }
    let shown = PageView::of(obtained, page, "")?;
    if shown.sort != Some(Sort::Html) || page.fetched.body.bytes() == 0 {
        return Ok(Choice::Settled(None, Vec::new()));
    }
    let text = made(page, Sort::Html, form(obtained), means)?;
    let choice = choose(obtained, &text, means)?;
    if let Choice::Settled(substitute, notes) = &choice {
        // Another read may have been as quick, with the same.
        let _ = page.choice.set((substitute.clone(), notes.clone()));
    }
    Ok(choice)
}

impl<'a> PageView<'a> {
    fn of(
        obtained: &'a ObtainedPage,
        page: &'a Page,
        spelled: &'a str,
    ) -> Result<PageView<'a>, Refusal> {
        let head = made::head(&page.fetched.body, HEAD as u64)?;
        let sent = ContentType::of_headers(&page.fetched.headers);
        Ok(PageView {
            sort: content::sort(&sent, page.url(), &head),
            obtained,
            page,
            sent,
            method: None,
            notes: Vec::new(),
            spelled,
        })
    }

    /// A text that was made of the body.
    fn text(mut self, made: &Arc<MadeText>, means: ReadContext) -> Result<Opened, Refusal> {
        let mut selector = self.obtained.ask.address.selector.clone();
        let is_page = made.html.is_some();
        match selector.own {
            Some(Own::Links | Own::WholePage) if is_page => {}
            Some(Own::Outline) if !is_page => {}
            _ => refuse_own(
                &selector,
                self.spelled,
                if is_page { "a web page" } else { "a text" },
            )?,
        }
        let mut method = self.method.unwrap_or(made.method);
        if self.sort == Some(Sort::Markdown) && self.is_negotiated() && self.method.is_none() {
            method = "content-negotiation";
        }
        let mut needs_javascript = None;
        if let Some(html) = &made.html {
            if html.is_shell && self.method.is_none() {
                method = "shell";
                needs_javascript = Some(true);
                self.notes.push(format!(
                    "needs JavaScript: the page itself holds {} words",
                    html.words
                ));
            }
            self.notes.extend(self.login(html));
        }
        self.notes.extend(made.notes.iter().cloned());
        let section = self.section(made, &mut selector);
        let links = match (selector.own, &made.html) {
            (Some(Own::Links), Some(html)) => Some(links(html)),
            _ => None,
        };
        let text = links.unwrap_or_else(|| made.text.clone());
        if text.len_bytes() == 0 {
            return Ok(self.note("(no content)".to_owned(), method, made.encoding.clone()));
        }
        let fits = self.fits(&text, &means);
        let is_whole = selector == Selector::default();
        let mut opened = self.document(text, Style::Lines, method);
        opened.selector = Some(selector.clone());
        opened.document.extras.open_lines = self.open_lines(&selector);
        opened.document.details.encoding = made.encoding.clone();
        opened.document.details.line_ending = Some(opened_line_ending(&opened.document));
        if let Some(part) = opened.web.as_mut() {
            part.file_name = made.file_name.to_owned();
            part.outline = made.outline().filter(|_| is_whole && !fits);
            part.folds_only_if_long = true;
            part.fits = fits;
            if made.file_name == "page.json" {
                let id = ResourceId::Url(self.page.url().to_string());
                let document = session::Document {
                    id,
                    form: TextForm::Text,
                };
                part.code = Some((document, fingerprint(&made.text).content));
            }
        }
        if let Some(details) = opened.document.details.web.as_mut() {
            details.section = section;
            details.needs_java_script = needs_javascript;
            details.title = made.title.as_deref().map(header::title);
        }
        Ok(self.with_header(opened, method))
    }

    /// Whether Markdown came for an address that is not one of Markdown.
    fn is_negotiated(&self) -> bool {
        let path = self.page.url().path().to_ascii_lowercase();
        !path.ends_with(".md") && !path.ends_with(".markdown")
    }

    fn login(&self, html: &HtmlPage) -> Option<String> {
        let says_login = |path: &str| {
            let path = path.to_ascii_lowercase();
            ["login", "signin", "sso", "oauth"]
                .iter()
                .any(|word| path.contains(word))
        };
        let was_sent = says_login(self.page.url().path()) && !says_login(self.page.asked.path());
        let is_login = (html.has_password_field && html.words < 120) || was_sent;
        is_login.then(|| "this looks like a login page".to_owned())
    }

    /// The lines of the section that a fragment names, unless lines are asked for.
    fn section(&mut self, made: &MadeText, selector: &mut Selector) -> Option<WebSection> {
        let fragment = self.obtained.ask.address.fragment.as_deref()?;
        if selector.has_lines() || selector.own == Some(Own::Links) {
            return None;
        }
        let sections = made.html.as_ref().map(|html| &html.sections[..]);
        match fragment::place(fragment, sections, &made.text) {
            FragmentPlace::Lines(id, LineSpan { start, end }) => {
                selector.pieces = vec![Piece::Range(start, end)];
                selector.full = false;
                Some(WebSection { id, start, end })
            }
            FragmentPlace::Nowhere(note) => {
                self.notes.extend(note);
                None
            }
        }
    }

    /// What is no text that is made here, as the kind of file that it is.
    fn file(mut self, means: ReadContext) -> Result<Opened, Refusal> {
        let page = self.page;
        let refuse = |error: std::io::Error| Refusal::io(self.spelled, &error);
        let head = made::head(&page.fetched.body, HEAD as u64)?;
        let name = content::file_name(&page.fetched.headers, &self.sent, page.url(), &head);
        if page.file.get().is_none() {
            let file = self
                .obtained
                .web
                .spool()
                .keep(&page.fetched.body, &name)
                .map_err(refuse)?;
            // Another read may have been as quick, with the same bytes.
            let _ = page.file.set(file);
        }
        let file = page.file.get().ok_or(Refusal::Internal)?;
        let handle = Handle::of_own_file(file.path()).map_err(refuse)?;
        let address = &self.obtained.ask.address;
        let declared = self
            .obtained
            .ask
            .encoding
            .or_else(|| made::declared(page, &head));
        let mut selector = address.selector.clone();
        if let (Some(fragment), false) = (address.fragment.as_deref(), selector.has_lines()) {
            match fragment::lines(fragment) {
                Some(LineSpan { start, end }) => selector.pieces = vec![Piece::Range(start, end)],
                None => self.notes.push(format!(
                    "no section '{}' in what is no page",
                    header::title(fragment)
                )),
            }
        }
        let url = page.url().to_string();
        let of_file = ReadContext {
            display: &url,
            selector: &selector,
            ..means
        };
        let opened = crate::read::source::open(
            &handle,
            self.spelled,
            address.inner.as_deref(),
            declared,
            of_file,
        );
        let mut opened = match opened {
            Err(Refusal::Binary { .. }) => {
                let found = content::found_type(&head).map(str::to_owned);
                let essence = found.unwrap_or_else(|| self.sent.essence.clone());
                return Ok(self.note(
                    binary(&essence, page.fetched.body.bytes(), &head),
                    "binary",
                    None,
                ));
            }
            opened => opened?,
        };
        let method = match opened.document.kind {
            _ if self.method.is_some() => self.method.unwrap_or_default(),
            ResourceKind::Image => "image",
            ResourceKind::Document => "document",
            ResourceKind::Archive => "archive",
            ResourceKind::Sqlite => "sqlite",
            ResourceKind::Notebook => "notebook",
            _ => "text",
        };
        let selector = opened.selector.clone().unwrap_or(selector);
        let open = self.open_lines(&selector);
        let extras = &mut opened.document.extras;
        extras.open_lines = extras.open_lines.map_or(open, |of_kind| {
            Some(open.map_or(of_kind, |open| open.min(of_kind)))
        });
        opened.selector = Some(selector);
        let code = opened
            .snapshot
            .take()
            .map(|snapshot| (snapshot.document, snapshot.fingerprint.content));
        opened.web = Some(Box::new(WebPart {
            file_name: name,
            code,
            ..self.part()
        }));
        opened.name.get_or_insert(url);
        self.adopt(&mut opened.document, method);
        Ok(self.with_header(opened, method))
    }

    /// An answer that was no success: what the server said, cut short.
    fn failed(self, means: ReadContext) -> Result<Opened, Refusal> {
        let page = self.page;
        let head = made::head(&page.fetched.body, FAILED_BYTES as u64 * 4)?;
        let text = match self.sort {
            _ if head.is_empty() => None,
            Some(sort) => Some(made(page, sort, form(self.obtained), &means)?.text.clone()),
            None => crate::text::decode(&head, made::declared(page, &head))
                .ok()
                .map(|it| it.text),
        };
        Ok(match text.map(|text| cut_short(&text)) {
            Some(text) if text.len_bytes() > 0 => {
                let opened = self.document(text, Style::Lines, "failed");
                self.with_header(opened, "failed")
            }
            _ if !head.is_empty() => {
                let said = binary(&self.sent.essence, page.fetched.body.bytes(), &head);
                self.note(said, "failed", None)
            }
            _ => self.note("(no content)".to_owned(), "failed", None),
        })
    }

    /// A few words in the place of a text.
    fn note(self, words: String, method: &'static str, encoding: Option<String>) -> Opened {
        let mut opened = self.document(Text::new(&(words + "\n")), Style::Note, method);
        opened.document.details.encoding = encoding;
        self.with_header(opened, method)
    }

    fn document(&self, text: Text, style: Style, method: &'static str) -> Opened {
        let mut document = Document {
            kind: ResourceKind::File,
            style,
            location: Location::default(),
            details: MoreDetails {
                total_lines: Some(text.len_lines() as u64),
                total_bytes: Some(text.len_bytes() as u64),
                ..MoreDetails::default()
            },
            text: text.into(),
            cache: Cache::Miss,
            notices: Vec::new(),
            extras: Extras::default(),
        };
        self.adopt(&mut document, method);
        let mut opened = Opened::read_only(document);
        opened.name = Some(self.page.url().to_string());
        opened.web = Some(Box::new(self.part()));
        opened
    }

    fn part(&self) -> WebPart {
        WebPart {
            file_name: String::new(),
            code: None,
            outline: None,
            folds_only_if_long: false,
            fits: true,
        }
    }

    /// Lines of a read that names none; `None` where other limits hold.
    fn open_lines(&self, selector: &Selector) -> Option<u64> {
        let is_bare = selector.pieces.is_empty() && !selector.full && !selector.raw;
        (is_bare && !self.obtained.ask.has_budget).then_some(OPEN_LINES)
    }

    /// Whether a text is shown whole where no lines are asked for.
    fn fits(&self, text: &Text, means: &ReadContext) -> bool {
        let lines = match self.obtained.ask.has_budget {
            true => means.limits.open_lines,
            false => means.limits.open_lines.min(OPEN_LINES),
        };
        let (count, bytes) = (text.len_lines() as u64, text.len_bytes() as u64);
        count <= lines && bytes + count <= means.limits.budget.bytes
    }

    /// Where it is and what is told of it, whatever it was opened as.
    fn adopt(&self, document: &mut Document, method: &'static str) {
        let page = self.page;
        document.location = location(&ResourceId::Url(page.url().to_string()), None);
        document.cache = self.obtained.cache;
        let details = &mut document.details;
        details.origin = Some(Origin::Web);
        details.web = Some(Box::new(WebDetails {
            url: self.obtained.ask.address.url.to_string(),
            final_url: page.url().to_string(),
            content_type: header::content_type(&self.sent, page),
            method,
            status: page.fetched.status,
            redirects: header::redirects(page),
            fetched_at: header::rfc3339(page.fetched.responded_at),
            section: None,
            needs_java_script: None,
            trusted: false,
            title: None,
        }));
    }

    /// With the header, and the notes in their order.
    fn with_header(self, mut opened: Opened, method: &'static str) -> Opened {
        let ObtainedPage {
            understood,
            age,
            has_changed,
            ..
        } = self.obtained;
        let mut notes = understood.clone();
        notes.extend(header::redirected(self.page));
        if !self.page.is_success() {
            notes.push(header::status(self.page));
        }
        notes.extend(age.clone());
        notes.extend(header::cut(self.page));
        notes.extend(self.notes.iter().cloned());
        let notes: Vec<String> = notes.iter().map(|note| header::note(note)).collect();
        let document = &mut opened.document;
        let is_raw = self.obtained.ask.address.selector.raw;
        document.extras.web_header = (!is_raw).then(|| WebHeader {
            url: self.page.url().to_string(),
            content_type: header::content_type(&self.sent, self.page),
            method,
            notes: notes.clone(),
        });
        document.notices.splice(0..0, notes);
        let was = *has_changed;
        if was.is_some() && was != self.obtained.page.known_hash() {
            document.extras.footers.push(CHANGED.to_owned());
            document.notices.push(CHANGED.to_owned());
        }
        opened
    }
}

fn opened_line_ending(document: &Document) -> &'static str {
    document
        .text
        .whole()
        .map_or("lf", |text| text.line_ending().as_str())
}

fn links(html: &HtmlPage) -> Text {
    let rows = html
        .links
        .iter()
        .map(|link| format!("[{}]({})\n", link.text, link.url));
    Text::new(&rows.collect::<String>())
}

/// `[Binary content: application/octet-stream, 2.5KB; begins 7f 45 4c 46]`.
fn binary(essence: &str, bytes: u64, head: &[u8]) -> String {
    let essence = if essence.is_empty() {
        "application/octet-stream"
    } else {
        essence
    };
    let begins: Vec<String> = head
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!(
        "[Binary content: {essence}, {}; begins {}]",
        file_size(bytes),
        begins.join(" ")
    )
}

/// As much as is shown of an answer that was no success.
fn cut_short(text: &Text) -> Text {
    let mut short = String::new();
    for line in text.lines_at(0).take(FAILED_LINES) {
        let room = FAILED_BYTES.saturating_sub(short.len());
        if line.len() + 1 > room {
            short.push_str(&line[..line.floor_char_boundary(room.saturating_sub(1))]);
            break;
        }
        short.push_str(&line);
        short.push('\n');
    }
    Text::new(short.trim_end())
}
