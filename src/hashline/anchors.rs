//! Whether the lines that ops name exist, and whether ops may stand beside each other; nothing here is ever clamped.

use super::error::{Faulty, PatchError, Syntax, verb};
use super::ops::{Batch, Hunk, Op};

impl Batch {
    /// Checks every named line against the `total` lines of the version that the numbers are of;
    /// sound are the hunks whose lines exist.
    pub fn check_lines(mut self, total: u64) -> Result<Batch, Faulty<Batch, PatchError>> {
        let check = |hunk: &Hunk| {
            let line = missing(hunk, total)?;
            Some(Syntax::NoSuchLine { line, total })
        };
        let hunks = std::mem::take(&mut self.hunks);
        let judged = hunks.into_iter().map(|hunk| (check(&hunk), hunk));
        let judged: Vec<_> = judged.collect();
        self.keep_sound(judged)
    }

    /// Checks that what puts a whole file back or away is alone, and that what moves a file comes
    /// last; sound are the other ops where it is not.
    pub fn check_company(mut self) -> Result<Batch, Faulty<Batch, PatchError>> {
        let hunks = std::mem::take(&mut self.hunks);
        let last = hunks.len().saturating_sub(1);
        let judged = hunks.into_iter().enumerate().map(|(at, hunk)| {
            let what = match &hunk.op {
                Op::Undo | Op::DeleteFile if last > 0 => Some(Syntax::NotAlone {
                    verb: verb(&hunk.op),
                }),
                Op::MoveFile { .. } if at < last => Some(Syntax::NotLast),
                _ => None,
            };
            (what, hunk)
        });
        let judged: Vec<_> = judged.collect();
        self.keep_sound(judged)
    }

    fn keep_sound(
        mut self,
        judged: Vec<(Option<Syntax>, Hunk)>,
    ) -> Result<Batch, Faulty<Batch, PatchError>> {
        let mut faults = Vec::new();
        for (what, hunk) in judged {
            match what {
                None => self.hunks.push(hunk),
                Some(what) => faults.push(PatchError {
                    what,
                    origin: hunk.origin,
                    path: Some(self.path.clone()),
                    tag: self.tag,
                }),
            }
        }
        Faulty::unless_sound(self, faults)
    }
}

/// The first line that a hunk names and the text has not.
fn missing(hunk: &Hunk, total: u64) -> Option<u64> {
    let named = hunk.op.named_lines();
    let mut ends = named.flat_map(|lines| [lines.start, lines.end]);
    ends.find(|line| !(1..=total).contains(line))
}
