//! What a worker does wrong when the text of a test asks for it. Not in releases.

use memchr::memmem;

use crate::hashline::SyntaxErrors;
use crate::protocol::read::LineSpan;
use crate::worker::WorkerLoop;

use super::messages::{Folded, Response};

/// Does what the text asks for. Whether that was all that is to be done; `None` where nobody
/// listens any more.
pub(super) fn misbehave(requests: &mut WorkerLoop, text: &[u8]) -> Option<bool> {
    let asks = |what: &str| memmem::find(text, what.as_bytes()).is_some();
    if asks("pilcrow:abort") {
        std::process::abort();
    }
    if asks("pilcrow:overflow") {
        return Some(overflow(text, 1) == 0);
    }
    if asks("pilcrow:spin") {
        let _ = crate::worker::child::end_after(super::child::TIME_LIMIT);
        loop {
            std::hint::spin_loop();
        }
    }
    while asks("pilcrow:sleep") {
        std::thread::park();
    }
    if asks("pilcrow:probe") {
        let report = crate::worker::probe();
        // Each row as the signature of a definition.
        let lines = report.lines();
        let found = lines.clone().map(|row| (line(1), row.len())).collect();
        requests.answer(&Response::Definitions(found), lines.collect::<String>())?;
    } else if asks("pilcrow:lengths") {
        requests.answer(&Response::Definitions(vec![(line(1), 1 << 40)]), "short")?;
    } else if asks("pilcrow:lines") {
        requests.answer(&past_the_text(), "")?;
    } else if asks("pilcrow:kind") {
        requests.answer(&Response::Errors(SyntaxErrors::default()), "")?;
    } else if asks("pilcrow:number") {
        requests.mistake_the_request();
        requests.answer(&Response::NotFinished, "")?;
    } else if asks("pilcrow:frame") {
        requests.write_nonsense(&[0xff; 64])?;
    } else if asks("pilcrow:half") {
        requests.write_nonsense(&[1, 0, 0])?;
        std::process::exit(1);
    } else {
        return Some(false);
    }
    Some(true)
}

fn line(number: u64) -> LineSpan {
    LineSpan {
        start: number,
        end: number,
    }
}

/// Folds that overlap and lie behind the end.
fn past_the_text() -> Response {
    let fold = |start, end| Folded {
        span: LineSpan { start, end },
        head: 0,
        tail: 0,
        shows_first: false,
        shows_last: false,
    };
    Response::Folds(vec![fold(5, 9), fold(7, u64::MAX)])
}

/// Takes more stack than there is.
fn overflow(text: &[u8], depth: usize) -> usize {
    if depth == usize::MAX {
        return 0;
    }
    let mut room = [0u8; 4096];
    room[depth % 4096] = text[depth % text.len()];
    let below = overflow(text, std::hint::black_box(depth + 1));
    below + usize::from(std::hint::black_box(&room)[depth % 4096])
}
