//! What a worker answered, as far as it can be of the text that was asked about; it is not to be trusted.

use crate::hashline::{NoBlock, SyntaxErrors};
use crate::outline::{
    Definition, Fold, Folding, MAX_DEFINITIONS, MAX_RUNS, OutlineRow, QualifiedName, SiblingRun,
};
use crate::protocol::read::LineSpan;
use crate::text::Text;

use super::errors::MAX_ERRORS;
use super::messages::{Defined, StructureResponse};

/// The strings of an answer, which stand one after the other in its body.
struct Strings<'b> {
    rest: &'b str,
}

impl<'b> Strings<'b> {
    /// The next one, of so many bytes and on one line; `None` where there is no such string.
    fn next(&mut self, bytes: usize) -> Option<&'b str> {
        let (string, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        (!string.contains('\n')).then_some(string)
    }
}

/// What is folded, which whoever uses it has still to place in the text.
pub(super) fn folding(response: StructureResponse, body: &str) -> Option<Folding> {
    let StructureResponse::Folds(folds, runs) = response else {
        return None;
    };
    if runs.len() > MAX_RUNS {
        return None;
    }
    let run = |(span, count, what)| SiblingRun { span, count, what };
    let mut strings = Strings { rest: body };
    let row = |fold: super::messages::Folded| {
        Some(OutlineRow {
            span: fold.span,
            fold: Some(Fold {
                head: strings.next(fold.head)?.to_owned(),
                tail: strings.next(fold.tail)?.to_owned(),
                shows_first: fold.shows_first,
                shows_last: fold.shows_last,
            }),
        })
    };
    Some(Folding {
        folds: folds.into_iter().map(row).collect::<Option<_>>()?,
        runs: runs.into_iter().map(run).collect(),
    })
}

pub(super) fn definitions(
    response: StructureResponse,
    body: &str,
    text: &Text,
) -> Option<Vec<Definition>> {
    let StructureResponse::Definitions(found) = response else {
        return None;
    };
    let mut strings = Strings { rest: body };
    let definition = |defined: Defined| {
        let within = |span: LineSpan| Some(span).filter(|span| is_within(span, text));
        let signature = strings.next(defined.signature)?.to_owned();
        let names = defined.names.iter();
        let names = names.map(|bytes| strings.next(*bytes).map(QualifiedName::of_text));
        Some(Definition {
            span: within(defined.span)?,
            whole: within(defined.whole)?,
            signature,
            rank: defined.rank,
            names: names.collect::<Option<_>>()?,
        })
    };
    if found.len() > MAX_DEFINITIONS {
        return None;
    }
    found.into_iter().map(definition).collect()
}

pub(super) fn errors(response: StructureResponse, text: &Text) -> Option<SyntaxErrors> {
    let StructureResponse::Errors(errors) = response else {
        return None;
    };
    let total = text.len_lines() as u64;
    let are_within = errors.lines.iter().all(|line| (1..=total).contains(line));
    let are_possible = are_within && errors.lines.is_sorted() && errors.lines.len() <= MAX_ERRORS;
    are_possible.then_some(errors)
}

pub(super) fn blocks(
    response: StructureResponse,
    asked: usize,
    text: &Text,
) -> Option<Vec<Result<LineSpan, NoBlock>>> {
    let StructureResponse::Blocks(blocks) = response else {
        return None;
    };
    let is_possible = |block: &Result<LineSpan, NoBlock>| match block {
        Ok(span) => is_within(span, text),
        Err(none) => none.enclosing.is_none_or(|span| is_within(&span, text)),
    };
    (blocks.len() == asked && blocks.iter().all(is_possible)).then_some(blocks)
}

fn is_within(span: &LineSpan, text: &Text) -> bool {
    1 <= span.start && span.start <= span.end && span.end <= text.len_lines() as u64
}
