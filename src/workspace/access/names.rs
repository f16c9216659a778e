//! The judgement of the names in one directory; what holds for all of them is never worked out for each.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use super::super::ignore_files::{DirRules, MayHave, PathRules};
use super::super::patterns::Verdict;
use super::super::spelling::fold_for_rules;
use super::{Access, Below, PathKind};

/// What may be named of a directory that was itself allowed.
pub(in crate::workspace) struct Names<'a> {
    access: &'a Access,
    /// The real path.
    directory: &'a Path,
    /// A workspace folder lies right in it, and its name is not judged by the rules around it.
    holds_folder: bool,
    allowed: bool,
    /// The directory as each folder that contains it sees it, folded, with a final slash.
    seen_from: Vec<String>,
    /// The ignore files from the outermost folder down to the directory, and the directory as seen
    /// from there.
    rules: Vec<(Arc<DirRules>, String)>,
}

impl Access {
    /// `directory` is the real path of a directory that may be listed.
    pub(in crate::workspace) fn names_in<'a>(&'a self, directory: &'a Path) -> Names<'a> {
        self.names_listed(directory, &|_| true)
    }

    /// The same for a directory that was just listed, which tells what may be there: there is no
    /// look for an ignore file that is not.
    pub(in crate::workspace) fn names_listed<'a>(
        &'a self,
        directory: &'a Path,
        may_have: &MayHave<'_>,
    ) -> Names<'a> {
        let with_slash = |text: &str| match text.is_empty() {
            true => String::new(),
            false => format!("{text}/"),
        };
        if let Some(folder) = self.own_folder(directory) {
            let seen_from = folder
                .heeds_deny
                .then(|| Below::new(&folder.real, directory));
            return Names {
                access: self,
                directory,
                holds_folder: false,
                allowed: true,
                seen_from: seen_from.iter().map(|it| with_slash(&it.text)).collect(),
                rules: Vec::new(),
            };
        }
        let bases = self.bases(directory, false);
        let mut containing: Vec<&Path> = bases.containing(directory).collect();
        if containing.is_empty() {
            // Outside every folder, where that is allowed: rules hold from the top down.
            containing.push(Path::new("/"));
        }
        let seen_from = containing
            .iter()
            .map(|base| with_slash(&Below::new(base, directory).text))
            .collect();
        let outermost = containing.iter().min_by_key(|base| base.as_os_str().len());
        let rules = match outermost.filter(|_| !self.ignore_files.names().is_empty()) {
            None => Vec::new(),
            Some(base) => {
                let below = Below::new(base, directory);
                let rules = self.rules_down(&bases, base, &below.names, directory, may_have);
                let seen = |depth| match depth < below.names.len() {
                    true => with_slash(below.folded(depth, below.names.len())),
                    false => String::new(),
                };
                let seen_from = (0..rules.len()).map(seen);
                rules.into_iter().zip(seen_from).collect()
            }
        };
        Names {
            access: self,
            directory,
            holds_folder: bases
                .folders
                .iter()
                .any(|(_, real)| real.parent() == Some(directory)),
            allowed: bases.allow(directory),
            seen_from,
            rules,
        }
    }
}

impl Names<'_> {
    /// As [`Access::permits`] for this name in the directory.
    pub(in crate::workspace) fn permit(&self, name: &OsStr, is_dir: bool) -> bool {
        if self.holds_folder {
            let path = self.directory.join(name);
            return self.access.permits(&path, PathKind::of(is_dir));
        }
        if !self.allowed {
            return false;
        }
        let name = name.to_string_lossy();
        let name = fold_for_rules(&name);
        let denied = |seen: &String| {
            let verdict = self.access.deny.verdict_in(seen, &name, is_dir);
            matches!(verdict, Verdict::Denied(_))
        };
        let mut files = 0..self.access.ignore_files.names().len();
        !self.seen_from.iter().any(denied)
            && !files.any(|file| self.ignored_by(file, &name, is_dir))
    }

    /// The deepest directory with an opinion decides; those above the directory allowed it itself.
    fn ignored_by(&self, file: usize, name: &str, is_dir: bool) -> bool {
        if let Some((own, _)) = self.rules.last()
            && matches!(own.of(file), PathRules::Unreadable)
        {
            return true;
        }
        for (rules, seen) in self.rules.iter().rev() {
            let PathRules::Patterns(patterns) = rules.of(file) else {
                continue;
            };
            match patterns.verdict_in(seen, name, is_dir) {
                Verdict::Silent => {}
                Verdict::Allowed => return false,
                Verdict::Denied(_) => return true,
            }
        }
        false
    }
}
