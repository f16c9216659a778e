//! A change that is carried out and on record, and what is still to be told of it; from here on it is answered with success, whatever fails.

use std::time::Instant;

use crate::protocol::edit::EditResult;
use crate::session::Notice;
use crate::task::Work;
use crate::workspace::RealPath;

use super::deferred::{DeferredReports, REPORTED_WITHIN};
use super::disk::{WriteStep, failpoint};
use super::reply::{Done, FileOutcome, Rows, reply};

/// A change whose turn may end.
#[derive(Debug)]
pub struct Finished {
    pub(super) done: Vec<Done>,
    pub(super) rows: Vec<Rows>,
    /// Of these of the files.
    pub(super) reports: (Vec<usize>, DeferredReports),
    pub(super) dry_run: bool,
    /// Characters of the answer.
    pub(super) chars: usize,
    /// What other sessions are to hear.
    pub(super) notices: Vec<Notice>,
    /// When there was nothing left to be carried out.
    pub(super) since: Instant,
}

/// The answer to a change.
#[derive(Debug)]
pub struct EditAnswer {
    pub result: EditResult,
    /// What other sessions are to hear.
    pub notices: Vec<Notice>,
    /// How long it may wait for them to be sent.
    pub until: Instant,
    /// Files whose open documents are to follow them.
    pub followed: Vec<Followed>,
}

/// A file that has another name now, or none.
#[derive(Debug)]
pub struct Followed {
    pub from: RealPath,
    pub to: Option<RealPath>,
}

impl Followed {
    fn of(done: &Done) -> Option<Followed> {
        let name = done.planned.name.as_ref()?;
        // What a link leads to has the name that it had.
        let is_done = matches!(done.outcome, FileOutcome::Written { .. }) && name.link.is_none();
        is_done.then(|| Followed {
            from: name.real.clone(),
            to: name.to.as_ref().map(|to| to.place.real.clone()),
        })
    }
}

impl Finished {
    /// Makes the answer. That takes a tenth of a second at most: what is not known by then is left
    /// out.
    pub fn answer(self, work: &Work) -> EditAnswer {
        // It can be held up here, but not fail.
        let _ = failpoint(WriteStep::Answer);
        let Finished {
            mut done,
            rows,
            reports: (files, reports),
            dry_run,
            chars,
            notices,
            since,
        } = self;
        for (at, warnings) in files.iter().zip(reports.warnings(since)) {
            done[*at].planned.warnings.extend(warnings);
        }
        let followed = done.iter().filter_map(Followed::of).collect();
        let result = reply(&done, &rows, dry_run, chars);
        // The handles of the files that were replaced: they are the last ones.
        work.let_go_later(done);
        EditAnswer {
            result,
            notices,
            until: since + REPORTED_WITHIN,
            followed,
        }
    }
}
