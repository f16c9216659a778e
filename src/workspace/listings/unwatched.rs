//! Systems without a queue of changes that can be asked: no listing is ever kept.

use super::Handle;

/// There are none.
#[derive(Debug, Default)]
pub(super) struct Watches;

impl Watches {
    pub(super) fn add(&mut self, _directory: &Handle) -> Option<i32> {
        None
    }

    pub(super) fn remove(&mut self, _watch: i32) {}

    pub(super) fn changed(&mut self) -> Option<Vec<i32>> {
        Some(Vec::new())
    }
}
