//! What a converter is asked for, as the daemon asks it.

use std::sync::Arc;

use crate::picture::Written;
use crate::protocol::status::WorkersOfKind;
use crate::task::Work;
use crate::worker::{Choice, Input, Stop, WorkerCall, WorkerLimits, Workers};

use super::html;
use super::messages::{
    ConvertRequest, ConvertResponse, Damage, FeedRequest, FeedText, Format, HtmlPage, HtmlRequest,
    PageState, Picture, Whole, Why,
};

/// Converters at a time.
const PLACES: usize = 2;

/// Links or sections of a page that a converter may list.
const MOST_LISTED: usize = 10_000;

/// The converters of one engine.
#[derive(Debug)]
pub struct Converters(Arc<Workers>);

/// What a converter made of a document.
#[derive(Debug)]
pub enum ConvertAnswer {
    Whole(Whole, String),
    Pages(Pages),
    Failed(Why),
}

/// A PDF of which no page is converted yet.
#[derive(Debug)]
pub struct Pages {
    pub count: u32,
    pub damage: Option<Damage>,
    /// Whether it has an XFA form, which is on none of its pages.
    pub has_xfa: bool,
    /// What is filled in in its form, as a list.
    pub fields: String,
}

/// A document that is open in a converter.
#[derive(Debug)]
pub struct Conversion(WorkerCall);

impl Converters {
    pub fn new(limits: WorkerLimits) -> Converters {
        Converters(Arc::new(Workers::new("convert", PLACES, limits)))
    }

    pub fn limits(&self) -> &WorkerLimits {
        self.0.limits()
    }

    pub fn status(&self) -> WorkersOfKind {
        self.0.status()
    }

    /// Hands a document to a converter and waits for what it says of it; see [`Workers::call`].
    pub fn open(
        &self,
        format: Format,
        input: &Input,
        work: &Work,
    ) -> Result<(Conversion, ConvertAnswer), Stop> {
        let request = ConvertRequest::Open {
            format,
            output_bytes: self.limits().output_bytes,
        };
        let (call, response, body) = self.0.call(&request, input, Choice::Any, work)?;
        let mut job = Conversion(call);
        let text = job.text(body)?;
        let answer = match response {
            ConvertResponse::Whole(whole) if has_its_parts(&whole, &text) => {
                ConvertAnswer::Whole(whole, text)
            }
            ConvertResponse::Pages {
                count,
                damage,
                has_xfa,
            } => ConvertAnswer::Pages(Pages {
                count,
                damage,
                has_xfa,
                fields: text,
            }),
            ConvertResponse::Failed(why) => ConvertAnswer::Failed(why),
            _ => return Err(job.0.nonsense()),
        };
        Ok((job, answer))
    }

    /// Has a converter decode a picture, and write it anew where that is wanted; the inner error
    /// says in a few words why it does not decode. Waits as [`Converters::open`] does.
    pub fn picture(
        &self,
        picture: Picture,
        input: &Input,
        work: &Work,
    ) -> Result<Result<Option<Written>, String>, Stop> {
        let request = ConvertRequest::Picture(picture);
        let (mut call, response, data) = self.0.call(&request, input, Choice::Any, work)?;
        match response {
            ConvertResponse::Picture(painted) => Ok(Ok(painted.map(|painted| Written {
                format: painted.format,
                width: painted.width,
                height: painted.height,
                data,
            }))),
            ConvertResponse::Failed(Why::Unreadable(what)) => Ok(Err(what)),
            _ => Err(call.nonsense()),
        }
    }

    /// Has a converter make Markdown of an HTML page, of at most its first 8 MB; the inner error
    /// says why there is none. Waits as [`Converters::open`] does.
    pub fn page(
        &self,
        request: &HtmlRequest,
        input: &Input,
        work: &Work,
    ) -> Result<Result<(HtmlPage, String), Why>, Stop> {
        let mut request = request.clone();
        request.whole_bytes = request.whole_bytes.max(input.bytes);
        request.output_bytes = request.output_bytes.min(self.limits().output_bytes);
        // A reader that ends early is one that was cut: no more than this is asked of it.
        let input = Input {
            bytes: input.bytes.min(html::MOST_BYTES),
            open: input.open,
        };
        let request = ConvertRequest::Html(request);
        let (call, response, body) = self.0.call(&request, &input, Choice::Any, work)?;
        let mut job = Conversion(call);
        let text = job.text(body)?;
        match response {
            ConvertResponse::Html(page) if is_of_its_text(&page, &text) => Ok(Ok((*page, text))),
            ConvertResponse::Failed(why) => Ok(Err(why)),
            _ => Err(job.0.nonsense()),
        }
    }

    /// Has a converter make Markdown of a feed, as [`Converters::page`] does of a page.
    pub fn feed(
        &self,
        request: &FeedRequest,
        input: &Input,
        work: &Work,
    ) -> Result<Result<(FeedText, String), Why>, Stop> {
        let mut request = request.clone();
        request.output_bytes = request.output_bytes.min(self.limits().output_bytes);
        let request = ConvertRequest::Feed(request);
        let (call, response, body) = self.0.call(&request, input, Choice::Any, work)?;
        let mut job = Conversion(call);
        let text = job.text(body)?;
        match response {
            ConvertResponse::Feed(feed) if feed.left_out <= feed.entries => Ok(Ok((feed, text))),
            ConvertResponse::Failed(why) => Ok(Err(why)),
            _ => Err(job.0.nonsense()),
        }
    }
}

impl Conversion {
    /// One page of a PDF that is open. After an error the job is over.
    pub fn page(&mut self, number: u32) -> Result<(PageState, String), Stop> {
        match self.0.next(&ConvertRequest::Page(number))? {
            (ConvertResponse::Page(state), body) => Ok((state, self.text(body)?)),
            _ => Err(self.0.nonsense()),
        }
    }

    /// A body as the text that it must be.
    fn text(&mut self, body: Vec<u8>) -> Result<String, Stop> {
        String::from_utf8(body).map_err(|_| self.0.nonsense())
    }
}

/// Whether the parts of a document begin one after the other, on lines of its text or behind them.
fn has_its_parts(whole: &Whole, text: &str) -> bool {
    let Some((_, starts)) = &whole.parts else {
        return true;
    };
    let behind = text.lines().count() as u64 + 1;
    starts.is_sorted() && starts.iter().all(|start| (1..=behind).contains(start))
}

/// Whether what is said of a page can be true of its text: its sections are lines of it, and its
/// lists no longer than a converter makes them.
fn is_of_its_text(page: &HtmlPage, text: &str) -> bool {
    let lines = text.lines().count() as u64;
    let mut sections = page.sections.iter();
    page.links.len() <= MOST_LISTED
        && page.sections.len() <= MOST_LISTED
        && page.feed_alternates.len() <= MOST_LISTED
        && page.notes.len() <= MOST_LISTED
        && sections.all(|section| {
            (1..=lines).contains(&section.start) && (section.start..=lines).contains(&section.end)
        })
}
