//! The converter itself: one document or picture after another, until its parent hangs up.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::worker::WorkerLoop;

use super::messages::{ConvertRequest, ConvertResponse, Format, STOPPED, Why};
#[cfg(any(feature = "failpoints", debug_assertions))]
use super::messages::{PageState, PartKind, Whole};
use super::{feed, html, office, paint, pdf};

/// Answers requests until nobody listens any more.
pub fn serve(requests: &mut WorkerLoop) -> Option<()> {
    let mut next = None;
    loop {
        let (request, bytes) = match next.take() {
            Some(request) => request,
            None => requests.receive()?,
        };
        #[cfg(any(feature = "failpoints", debug_assertions))]
        if misbehave(requests, &bytes)? {
            continue;
        }
        let (format, output_bytes) = match request {
            ConvertRequest::Open {
                format,
                output_bytes,
            } => (format, output_bytes),
            ConvertRequest::Picture(picture) => {
                match paint::paint(picture, bytes) {
                    Ok((painted, data)) => {
                        requests.answer(&ConvertResponse::Picture(painted), data)?
                    }
                    Err(what) => requests.answer(&failed(&what), "")?,
                }
                continue;
            }
            ConvertRequest::Html(request) => {
                let made = guarded(|| html::convert(&bytes, &request));
                answer(requests, made, |page| ConvertResponse::Html(Box::new(page)))?;
                continue;
            }
            ConvertRequest::Feed(request) => {
                let made = guarded(|| feed::convert(&bytes, &request));
                answer(requests, made, ConvertResponse::Feed)?;
                continue;
            }
            ConvertRequest::Page(_) => {
                requests.answer(&failed("no document is open"), "")?;
                continue;
            }
        };
        if format == Format::Pdf {
            next = Some(pdf::serve(requests, bytes, output_bytes)?);
            continue;
        }
        let made = guarded(|| office::convert(&bytes, format, output_bytes));
        drop(bytes);
        answer(requests, made, ConvertResponse::Whole)?;
    }
}

/// What a conversion makes, also where it panics.
fn guarded<T>(convert: impl FnOnce() -> Result<(T, String), Why>) -> Result<(T, String), Why> {
    let made = catch_unwind(AssertUnwindSafe(convert));
    made.unwrap_or_else(|_| Err(Why::Unreadable(STOPPED.to_owned())))
}

fn answer<T>(
    requests: &mut WorkerLoop,
    made: Result<(T, String), Why>,
    response: impl FnOnce(T) -> ConvertResponse,
) -> Option<()> {
    match made {
        Ok((facts, text)) => requests.answer(&response(facts), &text),
        Err(why) => requests.answer(&ConvertResponse::Failed(why), ""),
    }
}

fn failed(why: &str) -> ConvertResponse {
    ConvertResponse::Failed(Why::Unreadable(why.to_owned()))
}

/// Does what a document for tests asks for. Whether that was all; `None` where nobody listens any
/// more.
#[cfg(any(feature = "failpoints", debug_assertions))]
fn misbehave(requests: &mut WorkerLoop, bytes: &[u8]) -> Option<bool> {
    if requests.misbehave(bytes)? {
        return Some(true);
    }
    let asks = |what: &str| requests.may_be_asked(bytes, what);
    let whole = ConvertResponse::Whole(Whole::default());
    if asks("probe") {
        requests.answer(&whole, crate::worker::probe())?;
    } else if asks("bytes") {
        requests.answer(&whole, [0xff, 0xfe])?;
    } else if asks("kind") {
        requests.answer(&ConvertResponse::Page(PageState::Text), "a page of nothing")?;
    } else if asks("lines") {
        // Parts that begin where there is no line.
        let parts = Some((PartKind::Page, vec![9, 1, u64::MAX]));
        let whole = Whole {
            parts,
            ..Whole::default()
        };
        requests.answer(&ConvertResponse::Whole(whole), "a line\n")?;
    } else {
        return Some(false);
    }
    Some(true)
}
