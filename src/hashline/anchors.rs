//! Whether the lines that ops name exist; nothing here is ever clamped.

use super::error::{PatchError, Syntax};
use super::ops::Batch;

impl Batch {
    /// Checks every named line against the `total` lines of the version that the numbers are of.
    pub fn check_lines(&self, total: u64) -> Result<(), PatchError> {
        for hunk in &self.hunks {
            let Some(lines) = hunk.op.named_lines() else {
                continue;
            };
            let missing = [lines.start, lines.end]
                .into_iter()
                .find(|line| !(1..=total).contains(line));
            if let Some(line) = missing {
                return Err(PatchError {
                    what: Syntax::NoSuchLine { line, total },
                    origin: hunk.origin,
                    path: Some(self.path.clone()),
                    tag: self.tag,
                });
            }
        }
        Ok(())
    }
}
