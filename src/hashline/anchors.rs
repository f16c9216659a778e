//! Whether the lines that ops name exist; nothing here is ever clamped.

use super::error::{Faulty, PatchError, Syntax};
use super::ops::{Batch, Hunk};

impl Batch {
    /// Checks every named line against the `total` lines of the version that the numbers are of;
    /// sound are the hunks whose lines exist.
    pub fn check_lines(mut self, total: u64) -> Result<Batch, Faulty<Batch, PatchError>> {
        let mut faults = Vec::new();
        let hunks = std::mem::take(&mut self.hunks);
        for hunk in hunks {
            match missing(&hunk, total) {
                None => self.hunks.push(hunk),
                Some(line) => faults.push(PatchError {
                    what: Syntax::NoSuchLine { line, total },
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
    let lines = hunk.op.named_lines()?;
    let mut ends = [lines.start, lines.end].into_iter();
    ends.find(|line| !(1..=total).contains(line))
}
