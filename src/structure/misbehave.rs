//! What a parser does wrong when the text of a test asks for it: lies about lengths, lines and kinds. Not in releases.

use crate::hashline::SyntaxErrors;
use crate::outline::Rank;
use crate::protocol::read::LineSpan;
use crate::worker::WorkerLoop;

use super::messages::{Defined, Folded, StructureResponse};

/// Does what the text asks of a parser. Whether that was all that is to be done; `None` where nobody
/// listens any more.
pub(super) fn misbehave(requests: &mut WorkerLoop, text: &[u8]) -> Option<bool> {
    if requests.misbehave(text)? {
        return Some(true);
    }
    let asks = |what: &str| requests.may_be_asked(text, what);
    if asks("probe") {
        let report = crate::worker::probe();
        // Each row as the signature of a definition.
        let lines = report.lines();
        let found = lines.clone().map(|row| defined(row.len())).collect();
        requests.answer(
            &StructureResponse::Definitions(found),
            lines.collect::<String>(),
        )?;
    } else if asks("lengths") {
        requests.answer(
            &StructureResponse::Definitions(vec![defined(1 << 40)]),
            "short",
        )?;
    } else if asks("lines") {
        requests.answer(&past_the_text(), "")?;
    } else if asks("kind") {
        requests.answer(&StructureResponse::Errors(SyntaxErrors::default()), "")?;
    } else {
        return Some(false);
    }
    Some(true)
}

/// One whose signature has so many bytes.
fn defined(signature: usize) -> Defined {
    Defined {
        span: line(1),
        whole: line(1),
        rank: Rank::Definition,
        signature,
        names: Vec::new(),
    }
}

fn line(number: u64) -> LineSpan {
    LineSpan::line(number)
}

/// Folds that overlap and lie behind the end.
fn past_the_text() -> StructureResponse {
    let fold = |start, end| Folded {
        span: LineSpan { start, end },
        head: 0,
        tail: 0,
        shows_first: false,
        shows_last: false,
    };
    StructureResponse::Folds(vec![fold(5, 9), fold(7, u64::MAX)], Vec::new())
}
