//! The worker of the kind `syntax`: one question about one text after another, until its parent hangs up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::outline::{self, Rules};
use crate::syntax::{Language, Source, languages};
use crate::task::{Stopped, Work, give_back_memory};
use crate::worker::{WorkerLoop, child};

use super::blocks::Blocks;
use super::errors::syntax_errors;
use super::messages::{Ask, Defined, Folded, StructureRequest, StructureResponse};
use super::trees::{ParseRequest, Trees};

/// Processor time of one answer, after which the parser is stopped and the worker goes on.
const TIME_BUDGET: Duration = Duration::from_millis(100);

/// Processor time after which the kernel ends the process: a scanner that spins asks no callback.
const TIME_LIMIT: Duration = Duration::from_millis(150);

/// After so long without a request most trees go.
const RESTS_AFTER: Duration = Duration::from_secs(60);

/// After a text of so many bytes the memory that it took is given back to the system.
const LARGE_BYTES: usize = 256 * 1024;

/// Answers requests until nobody listens any more.
pub fn serve(requests: &mut WorkerLoop) -> Option<()> {
    let mut trees = Trees::default();
    let rests_after = RESTS_AFTER.min(requests.may_be_idle_for());
    loop {
        if !trees.is_empty() && requests.is_quiet_for(rests_after) {
            trees.rest();
            give_back_memory();
        }
        let (request, text) = requests.receive::<StructureRequest>()?;
        let bytes = text.len();
        // Where it cannot be armed, the parent's clock is left.
        let _ = child::end_after(TIME_LIMIT);
        #[cfg(any(feature = "failpoints", debug_assertions))]
        if super::misbehave::misbehave(requests, &text)? {
            let _ = child::end_after(Duration::ZERO);
            continue;
        }
        let answer = catch_unwind(AssertUnwindSafe(|| answer(&mut trees, &request, text)));
        let _ = child::end_after(Duration::ZERO);
        let (response, body) = match answer {
            Ok(Some(Ok(answer))) => answer,
            Ok(_) => (StructureResponse::NotFinished, String::new()),
            Err(_) => {
                // Nobody knows what state they are in.
                trees = Trees::default();
                (StructureResponse::NotFinished, String::new())
            }
        };
        requests.answer(&response, body)?;
        trees.shrink();
        if bytes > LARGE_BYTES {
            give_back_memory();
        }
    }
}

/// `None` where the request makes no sense.
fn answer(
    trees: &mut Trees,
    request: &StructureRequest,
    text: Vec<u8>,
) -> Option<Result<(StructureResponse, String), Stopped>> {
    let source = Source::of(String::from_utf8(text).ok()?);
    let mut languages = languages().iter();
    let language = languages.find(|language| language.name() == request.language)?;
    Some(answer_on(trees, request, source, language))
}

fn answer_on(
    trees: &mut Trees,
    request: &StructureRequest,
    source: Source,
    language: &'static Language,
) -> Result<(StructureResponse, String), Stopped> {
    let work = Work::of_processor_time(TIME_BUDGET);
    let wanted = ParseRequest {
        document: request.document,
        content: request.content,
        // Whether there is an error is the same either way; what is shown must be the same
        // every time.
        fresh: matches!(request.ask, Ask::Outline { .. } | Ask::Definitions),
    };
    let parsed = trees.parsed(wanted, source, language, &work)?;
    let mut body = String::new();
    let response = match &request.ask {
        Ask::Outline {
            min_body_lines,
            prose,
        } => {
            let rules = Rules {
                min_body_lines: *min_body_lines,
                prose: *prose,
            };
            let outline::Folding { folds, runs } = outline::folding(parsed, rules, &work)?;
            let run = |run: outline::SiblingRun| (run.span, run.count, run.what);
            let runs = runs.into_iter().map(run).collect();
            StructureResponse::Folds(folded(folds, &mut body), runs)
        }
        Ask::Definitions => {
            let found = outline::definitions(parsed, &work)?;
            let mut add = |definition: outline::Definition| {
                body.push_str(&definition.signature);
                let names = definition.names.iter().map(|name| name.as_text());
                names.clone().for_each(|name| body.push_str(name));
                Defined {
                    span: definition.span,
                    whole: definition.whole,
                    rank: definition.rank,
                    signature: definition.signature.len(),
                    names: names.map(str::len).collect(),
                }
            };
            StructureResponse::Definitions(found.into_iter().map(&mut add).collect())
        }
        Ask::Errors => StructureResponse::Errors(syntax_errors(parsed)),
        Ask::Blocks(asked) => {
            let blocks = Blocks::new(parsed, language);
            StructureResponse::Blocks(asked.iter().map(|at| blocks.at(*at)).collect())
        }
    };
    Ok((response, body))
}

fn folded(rows: Vec<outline::OutlineRow>, body: &mut String) -> Vec<Folded> {
    let folds = rows
        .into_iter()
        .filter_map(|row| Some((row.span, row.fold?)));
    folds
        .map(|(span, fold)| {
            body.push_str(&fold.head);
            body.push_str(&fold.tail);
            Folded {
                span,
                head: fold.head.len(),
                tail: fold.tail.len(),
                shows_first: fold.shows_first,
                shows_last: fold.shows_last,
            }
        })
        .collect()
}
