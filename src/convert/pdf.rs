//! PDF to Markdown, one page when it is asked for; no page is ever converted before.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use unpdf::model::Page;
use unpdf::{
    Document, ErrorKind, ErrorMode, PageSelection, PageStreamOptions, ParseEvent, ParseOptions,
    PdfParser, RenderOptions, render,
};

use crate::worker::WorkerLoop;

use super::child::STOPPED;
use super::messages::{PageState, Request, Response, Why};
use super::rows::{cap, clean, wrapped};

/// Opens a PDF and converts the pages that are asked for; returns the request that ends that.
/// `None` at the end of the input.
pub(super) fn serve(
    requests: &mut WorkerLoop,
    bytes: Vec<u8>,
    cap_bytes: u64,
) -> Option<(Request, Vec<u8>)> {
    let opened =
        catch_unwind(|| PdfParser::from_bytes_with_options(from_header(&bytes), options()));
    let is_cut = !has_end(&bytes);
    let has_xfa = memchr::memmem::find(&bytes, b"/XFA").is_some();
    drop(bytes);
    let parser = match opened.map(|parser| parser.map_err(|error| why(&error))) {
        Ok(Ok(parser)) => parser,
        Ok(Err(why)) => return refuse(requests, why),
        Err(_) => return refuse(requests, Why::Unreadable(STOPPED.to_owned())),
    };
    let pages = parser.page_count();
    if pages == 0 {
        return refuse(
            requests,
            Why::Unreadable("damaged: it has no pages".to_owned()),
        );
    }
    let (fields, lacks) = look_around(&parser);
    let found = Response::Pages {
        count: pages,
        is_damaged: lacks == Lacks::Pages || lacks == Lacks::Table && is_cut,
        has_xfa,
    };
    requests.answer(&found, &fields)?;
    let mut next = requests.next()?;
    while let (Request::Page(first), _) = next {
        let run = Run {
            requests: &mut *requests,
            page: first,
            cap_bytes,
            next: None,
        };
        next = run.from(&parser, first, pages)?;
    }
    Some(next)
}

fn refuse(requests: &mut WorkerLoop, why: Why) -> Option<(Request, Vec<u8>)> {
    requests.answer(&Response::Failed(why), "")?;
    loop {
        let next = requests.next()?;
        match next {
            (Request::Open { .. } | Request::Picture(_), _) => return Some(next),
            (Request::Page(_), _) => requests.answer(&Response::Page(PageState::Failed), "")?,
        }
    }
}

/// The document without what some program put before it: its offsets count from its header.
fn from_header(bytes: &[u8]) -> &[u8] {
    let start = &bytes[..bytes.len().min(1024)];
    memchr::memmem::find(start, b"%PDF-").map_or(bytes, |at| &bytes[at..])
}

/// Whether it ends as such a file does, but for some bytes after that.
fn has_end(bytes: &[u8]) -> bool {
    let end = &bytes[bytes.len().saturating_sub(1024)..];
    memchr::memmem::find(end, b"%%EOF").is_some()
}

/// What of a document's structure had to be made up.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    /// Where its objects are: many a program writes that wrong, and nothing is lost by it.
    Table,
    Pages,
}

/// What is on no page: the fields of a form that are filled in, as a list; and what is missing.
fn look_around(parser: &PdfParser) -> (String, Lacks) {
    let mut list = String::new();
    let no_page = stream(PageSelection::Pages(Vec::new()));
    let walked = catch_unwind(AssertUnwindSafe(|| {
        parser.for_each_page(no_page, |event| {
            if let ParseEvent::DocumentStart { form_fields, .. } = event {
                for field in form_fields {
                    let value = clean(&field.display_value()).replace('\n', "<br>");
                    if !value.is_empty() {
                        let name = clean(&field.name).replace('\n', " ");
                        list.push_str(&format!("- {name}: {value}\n"));
                    }
                }
            }
            ControlFlow::Continue(())
        })
    }));
    let lacks = match walked {
        Ok(Ok(quality)) if quality.pages_incomplete => Lacks::Pages,
        Ok(Ok(quality)) if quality.xref_reconstructed => Lacks::Table,
        _ => Lacks::Nothing,
    };
    (list, lacks)
}

/// Written out whole: the defaults would start a thread for each core, which a small address space
/// has no room for.
fn stream(pages: PageSelection) -> PageStreamOptions {
    PageStreamOptions {
        error_mode: ErrorMode::Lenient,
        extract_text: true,
        extract_resources: false,
        min_image_dimension: 0,
        pages,
        password: None,
        parallel: false,
        suppress_low_confidence_ocr: true,
        window_size: 1,
        emit_progress_every: u32::MAX,
    }
}

fn options() -> ParseOptions {
    // One thread, which has the large stack.
    ParseOptions::new()
        .lenient()
        .with_resources(false)
        .sequential()
}

fn why(error: &unpdf::Error) -> Why {
    match error.kind() {
        ErrorKind::Encrypted | ErrorKind::InvalidPassword => Why::Encrypted,
        _ => Why::Unreadable(format!("damaged: {error}")),
    }
}

/// Pages in a row.
struct Run<'b> {
    requests: &'b mut WorkerLoop,
    /// The page that is being converted.
    page: u32,
    /// Bytes of its Markdown at most.
    cap_bytes: u64,
    /// What was asked for in the place of the page after it.
    next: Option<(Request, Vec<u8>)>,
}

impl Run<'_> {
    /// Converts the page `first` and those after it for as long as each next one is asked for.
    fn from(mut self, parser: &PdfParser, first: u32, pages: u32) -> Option<(Request, Vec<u8>)> {
        if first == 0 || first > pages {
            self.requests
                .answer(&Response::Page(PageState::Failed), "")?;
            return self.requests.next();
        }
        let stream = stream(PageSelection::Range(first..=pages));
        // `None`: nobody listens any more.
        let mut listens = Some(());
        let _ = catch_unwind(AssertUnwindSafe(|| {
            parser.for_each_page(stream, |event| {
                let (state, text) = match event {
                    ParseEvent::PageParsed(page) => {
                        self.page = page.number;
                        markdown(page)
                    }
                    ParseEvent::PageFailed { page, .. } => {
                        self.page = page;
                        (PageState::Failed, String::new())
                    }
                    _ => return ControlFlow::Continue(()),
                };
                listens = self.tell(state, &cap(text, self.cap_bytes).0);
                match listens.is_some() && self.next.is_none() {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })
        }));
        listens?;
        if let Some(next) = self.next {
            return Some(next);
        }
        // It broke off, by an error or a panic, at a page that somebody waits for.
        self.requests
            .answer(&Response::Page(PageState::Failed), "")?;
        self.requests.next()
    }

    /// Answers with the page, and takes what is asked for next.
    fn tell(&mut self, state: PageState, text: &str) -> Option<()> {
        self.requests.answer(&Response::Page(state), text)?;
        let next = self.requests.next()?;
        self.page += 1;
        if next.0 != Request::Page(self.page) {
            self.next = Some(next);
        }
        Some(())
    }
}

fn markdown(page: Page) -> (PageState, String) {
    let drawn = [page.form_op_count, page.text_op_count, page.fill_op_count];
    let without_text = match page.image_op_count {
        0 if drawn == [0; 3] => PageState::Blank,
        0 => PageState::Drawn,
        _ => PageState::Empty,
    };
    let mut document = Document::new();
    document.add_page(page);
    match render::to_markdown(&document, &RenderOptions::default()) {
        Err(_) => (PageState::Failed, String::new()),
        Ok(text) => match clean(text.trim_matches('\n')) {
            text if text.trim().is_empty() => (without_text, String::new()),
            text => (PageState::Text, wrapped(text)),
        },
    }
}
