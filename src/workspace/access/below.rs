//! A path as rules see it: its names below a folder, folded, and which rule of an ignore file is of which of them; nothing is opened here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::protocol::Rule;

use super::super::ignore_files::PathRules;
use super::super::patterns::Verdict;
use super::super::spelling::fold_for_rules;
use super::PathKind;

/// A path below a folder, in the form that rules are matched against.
pub(super) struct Below<'a> {
    pub(super) base: &'a Path,
    pub(super) names: Vec<&'a OsStr>,
    /// The names folded and joined by `/`, and where in that each ends.
    pub(super) text: String,
    ends: Vec<usize>,
}

impl<'a> Below<'a> {
    pub(super) fn new(base: &'a Path, path: &'a Path) -> Below<'a> {
        let names: Vec<&OsStr> = path.strip_prefix(base).unwrap_or(path).iter().collect();
        let mut text = String::new();
        let mut ends = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                text.push('/');
            }
            text.push_str(&fold_for_rules(&name.to_string_lossy()));
            ends.push(text.len());
        }
        Below {
            base,
            names,
            text,
            ends,
        }
    }

    /// The first `depth` names as seen from the directory that is `from` names down.
    pub(super) fn folded(&self, from: usize, depth: usize) -> &str {
        let start = match from {
            0 => 0,
            _ => self.ends[from - 1] + 1,
        };
        &self.text[start..self.ends[depth - 1]]
    }

    pub(super) fn kinds(&self, depth: usize, kind: PathKind) -> &'static [bool] {
        match kind {
            _ if depth < self.names.len() => &[true],
            PathKind::Directory => &[true],
            PathKind::File => &[false],
            PathKind::Unknown => &[true, false],
        }
    }

    /// Gitignore's order: from the top down, since what is excluded there cannot be re-included;
    /// for each name the deepest directory with an opinion decides.
    pub(super) fn ignore_rule(
        &self,
        rules: &[&PathRules],
        file: &str,
        kind: PathKind,
    ) -> Option<Rule> {
        let named = |at: usize| {
            let mut path: PathBuf = self.names[..at].iter().collect();
            path.push(file);
            path.to_string_lossy().into_owned()
        };
        for depth in 1..=self.names.len() {
            if let Some(PathRules::Unreadable) = rules.get(depth - 1) {
                let file = named(depth - 1);
                return Some(Rule::UnreadableIgnoreFile { file });
            }
            for is_dir in self.kinds(depth, kind) {
                for at in (0..depth.min(rules.len())).rev() {
                    let PathRules::Patterns(patterns) = rules[at] else {
                        continue;
                    };
                    match patterns.verdict(self.folded(at, depth), *is_dir) {
                        Verdict::Silent => {}
                        Verdict::Allowed => break,
                        Verdict::Denied(pattern) => {
                            let file = named(at);
                            return Some(Rule::IgnoreFile { file, pattern });
                        }
                    }
                }
            }
        }
        None
    }
}
