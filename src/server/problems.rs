//! What went wrong outside any request.

use std::collections::HashSet;

/// Each is told to the client once.
#[derive(Debug, Default)]
pub struct Problems {
    untold: Vec<String>,
    told: HashSet<String>,
}

/// Problems that are kept for `agent/status`.
const MAX_PROBLEMS: usize = 100;

impl Problems {
    pub fn add(&mut self, problem: String) {
        let full = self.told.len() + self.untold.len() >= MAX_PROBLEMS;
        if !full && !self.told.contains(&problem) && !self.untold.contains(&problem) {
            self.untold.push(problem);
        }
    }

    /// Takes what the client has not been told yet.
    pub fn take_untold(&mut self) -> Vec<String> {
        let untold = std::mem::take(&mut self.untold);
        self.told.extend(untold.iter().cloned());
        untold
    }

    pub fn all(&self) -> Vec<String> {
        let mut all: Vec<String> = self.told.iter().chain(&self.untold).cloned().collect();
        all.sort();
        all
    }
}
