//! The converter itself: one document or picture after another, until its parent hangs up.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::worker::WorkerLoop;

#[cfg(any(feature = "failpoints", debug_assertions))]
use super::messages::Whole;
use super::messages::{Format, Request, Response, Why};
use super::{office, paint, pdf};

/// What a job that panicked is said to be.
pub(super) const STOPPED: &str = "the converter stopped";

/// Answers requests until nobody listens any more.
pub fn serve(requests: &mut WorkerLoop) -> Option<()> {
    let mut next = None;
    loop {
        let (request, bytes) = match next.take() {
            Some(request) => request,
            None => requests.receive()?,
        };
        #[cfg(any(feature = "failpoints", debug_assertions))]
        if requests.may_misbehave()
            && let Some(report) = misbehave(&bytes)
        {
            requests.answer(&Response::Whole(Whole::default()), report)?;
            continue;
        }
        let (format, output_bytes) = match request {
            Request::Open {
                format,
                output_bytes,
            } => (format, output_bytes),
            Request::Picture(picture) => {
                match paint::paint(picture, bytes) {
                    Ok((painted, data)) => requests.answer(&Response::Picture(painted), data)?,
                    Err(what) => requests.answer(&failed(&what), "")?,
                }
                continue;
            }
            Request::Page(_) => {
                requests.answer(&failed("no document is open"), "")?;
                continue;
            }
        };
        if format == Format::Pdf {
            next = Some(pdf::serve(requests, bytes, output_bytes)?);
            continue;
        }
        let made = catch_unwind(AssertUnwindSafe(|| {
            office::convert(&bytes, format, output_bytes)
        }));
        drop(bytes);
        match made.unwrap_or_else(|_| Err(Why::Unreadable(STOPPED.to_owned()))) {
            Ok((whole, text)) => requests.answer(&Response::Whole(whole), &text)?,
            Err(why) => requests.answer(&Response::Failed(why), "")?,
        }
    }
}

fn failed(why: &str) -> Response {
    Response::Failed(Why::Unreadable(why.to_owned()))
}

/// Does what a document for tests asks for; the text that it is then answered with, if it gets that
/// far.
#[cfg(any(feature = "failpoints", debug_assertions))]
fn misbehave(bytes: &[u8]) -> Option<String> {
    let asks = |what: &[u8]| memchr::memmem::find(bytes, what).is_some();
    if asks(b"pilcrow:abort") {
        std::process::abort();
    }
    while asks(b"pilcrow:spin") {
        std::hint::spin_loop();
    }
    while asks(b"pilcrow:sleep") {
        std::thread::park();
    }
    asks(b"pilcrow:probe").then(crate::worker::probe)
}
