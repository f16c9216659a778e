//! PDF to Markdown, one page when it is asked for; no page is ever converted before.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use unpdf::model::Page;
use unpdf::{
    Document, ErrorKind, ErrorMode, PageSelection, PageStreamOptions, ParseEvent, ParseOptions,
    PdfParser, RenderOptions, render,
};

use crate::worker::WorkerLoop;

use super::mend;
use super::messages::{ConvertRequest, ConvertResponse, Damage, PageState, STOPPED, Why};
use super::rows::{cap, clean, wrapped};

/// Opens a PDF and converts the pages that are asked for; returns the request that ends that.
/// `None` at the end of the input.
pub(super) fn serve(
    requests: &mut WorkerLoop,
    bytes: Vec<u8>,
    cap_bytes: u64,
) -> Option<(ConvertRequest, Vec<u8>)> {
    let has_xfa = memchr::memmem::find(&bytes, b"/XFA").is_some();
    let OpenPdf {
        parser,
        pages,
        fields,
        damage,
    } = match open_or_mend(bytes) {
        Ok(opened) => opened,
        Err(why) => return refuse(requests, why),
    };
    let found = ConvertResponse::Pages {
        count: pages,
        damage,
        has_xfa,
    };
    requests.answer(&found, &fields)?;
    let mut next = requests.receive()?;
    while let (ConvertRequest::Page(first), _) = next {
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

fn refuse(requests: &mut WorkerLoop, why: Why) -> Option<(ConvertRequest, Vec<u8>)> {
    requests.answer(&ConvertResponse::Failed(why), "")?;
    loop {
        let next = requests.receive()?;
        match next {
            (ConvertRequest::Page(_), _) => {
                requests.answer(&ConvertResponse::Page(PageState::Failed), "")?
            }
            _ => return Some(next),
        }
    }
}

/// A PDF with pages.
struct OpenPdf {
    parser: PdfParser,
    pages: u32,
    /// What is filled in in its form, as a list.
    fields: String,
    damage: Option<Damage>,
}

/// Opens it as it is, or mended where that gives more of its pages.
fn open_or_mend(bytes: Vec<u8>) -> Result<OpenPdf, Why> {
    let is_cut = !has_end(&bytes);
    let mut opened = match open(&bytes) {
        Ok(opened) if opened.damage == Some(Damage::Parts) => {
            let pages = opened.pages;
            // One parser at a time: each holds all of the document.
            drop(opened);
            with_more_pages(bytes, pages)
        }
        Err(why @ Why::Unreadable(_)) => with_any_pages(bytes, why),
        opened => opened,
    }?;
    if opened.damage == Some(Damage::Table) && is_cut {
        opened.damage = Some(Damage::Parts);
    }
    Ok(opened)
}

/// Of a document of which some pages are found.
fn with_more_pages(mut bytes: Vec<u8>, pages: u32) -> Result<OpenPdf, Why> {
    let end = bytes.len();
    mend::forget_table(&mut bytes);
    match open(&bytes) {
        Ok(found) if found.pages > pages => Ok(found),
        _ => {
            bytes.truncate(end);
            open(&bytes)
        }
    }
}

/// Of a document of which no page is found; `why` is what is said where none is to be had.
fn with_any_pages(mut bytes: Vec<u8>, why: Why) -> Result<OpenPdf, Why> {
    mend::forget_table(&mut bytes);
    if let Ok(found) = open(&bytes) {
        return Ok(found);
    }
    let header = header(&bytes);
    let append = AssertUnwindSafe(|| mend::append_pages(&mut bytes, header));
    if !catch_unwind(append).unwrap_or(false) {
        return Err(why);
    }
    let found = open(&bytes).map_err(|_| why)?;
    Ok(OpenPdf {
        damage: Some(Damage::Tree),
        ..found
    })
}

fn open(bytes: &[u8]) -> Result<OpenPdf, Why> {
    let document = &bytes[header(bytes)..];
    let parser = catch_unwind(|| PdfParser::from_bytes_with_options(document, options()))
        .map_err(|_| Why::Unreadable(STOPPED.to_owned()))?
        .map_err(|error| why(&error))?;
    let pages = parser.page_count();
    if pages == 0 {
        return Err(Why::Unreadable("damaged: it has no pages".to_owned()));
    }
    let (fields, damage) = look_around(&parser);
    Ok(OpenPdf {
        parser,
        pages,
        fields,
        damage,
    })
}

/// Where it begins: its offsets count from its header, whatever some program put before that.
fn header(bytes: &[u8]) -> usize {
    let start = &bytes[..bytes.len().min(1024)];
    memchr::memmem::find(start, b"%PDF-").unwrap_or(0)
}

/// Whether it ends as such a file does, but for some bytes after that.
fn has_end(bytes: &[u8]) -> bool {
    let end = &bytes[bytes.len().saturating_sub(1024)..];
    memchr::memmem::find(end, b"%%EOF").is_some()
}

/// What is on no page: the fields of a form that are filled in, as a list; and what is missing.
fn look_around(parser: &PdfParser) -> (String, Option<Damage>) {
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
    let damage = match walked {
        Ok(Ok(quality)) if quality.pages_incomplete => Some(Damage::Parts),
        Ok(Ok(quality)) if quality.xref_reconstructed => Some(Damage::Table),
        _ => None,
    };
    (list, damage)
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
    next: Option<(ConvertRequest, Vec<u8>)>,
}

impl Run<'_> {
    /// Converts the page `first` and those after it for as long as each next one is asked for.
    fn from(
        mut self,
        parser: &PdfParser,
        first: u32,
        pages: u32,
    ) -> Option<(ConvertRequest, Vec<u8>)> {
        if first == 0 || first > pages {
            self.requests
                .answer(&ConvertResponse::Page(PageState::Failed), "")?;
            return self.requests.receive();
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
            .answer(&ConvertResponse::Page(PageState::Failed), "")?;
        self.requests.receive()
    }

    /// Answers with the page, and takes what is asked for next.
    fn tell(&mut self, state: PageState, text: &str) -> Option<()> {
        self.requests.answer(&ConvertResponse::Page(state), text)?;
        let next = self.requests.receive()?;
        self.page += 1;
        if next.0 != ConvertRequest::Page(self.page) {
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
