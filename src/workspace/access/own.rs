//! The judgement of what lies in a folder that is judged by itself alone: a link in it leads nowhere else, and no rule but that of the settings is asked.

use std::io;
use std::path::Path;

use crate::protocol::{Refusal, Rule};

use super::super::handle::{RealPath, Unjudged};
use super::super::listed::is_as_listed;
use super::super::url_folder::UrlFolder;
use super::deepest::deepest_existing;
use super::{Access, Below, Opened, PathKind, denied};

impl Access {
    /// The innermost such folder that a path lies in, by its text.
    pub(in crate::workspace) fn own_folder(&self, path: &Path) -> Option<&UrlFolder> {
        let over = self.folders.iter().filter(|it| path.starts_with(&it.real));
        over.max_by_key(|folder| folder.real.as_os_str().len())
    }

    /// What was opened of such a folder, or that it may be said that nothing is there.
    pub(super) fn judged_in(
        &self,
        folder: &UrlFolder,
        path: &Path,
        opened: io::Result<Unjudged>,
        asked: &str,
    ) -> Result<Opened, Refusal> {
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let real = folder.would_be(path, asked)?;
                return match self.own_rule(folder, real.as_path(), PathKind::Unknown) {
                    Some(rule) => Err(denied(asked, rule)),
                    None => Ok(Opened::Nothing(error)),
                };
            }
        };
        let real = opened.real().filter(|real| real.starts_with(&folder.real));
        let Some(real) = real else {
            return Err(denied(asked, Rule::LinkOut));
        };
        let kind = PathKind::of(opened.is_dir());
        let rules = [path, real].map(|it| self.own_rule(folder, it, kind));
        if let Some(rule) = rules.into_iter().flatten().next() {
            return Err(denied(asked, rule));
        }
        Ok(match is_as_listed(&opened, |_| Some(folder.real.clone())) {
            Ok(true) => Opened::Here(opened.allowed(path)),
            Ok(false) => Opened::Nothing(io::ErrorKind::NotFound.into()),
            Err(error) => Opened::Nothing(error),
        })
    }

    /// The rule that denies what lies in such a folder, if one does.
    pub(super) fn own_rule(&self, folder: &UrlFolder, path: &Path, kind: PathKind) -> Option<Rule> {
        match folder.heeds_deny {
            true => self.deny_rule(&Below::new(&folder.real, path), kind),
            false => None,
        }
    }
}

impl UrlFolder {
    /// Where something would be that is not there; refuses what a link leads out of the folder.
    pub(super) fn would_be(&self, path: &Path, asked: &str) -> Result<RealPath, Refusal> {
        let real = match path == self.real {
            true => Some(path.to_path_buf()),
            false => deepest_existing(path),
        };
        match real.filter(|real| real.starts_with(&self.real)) {
            Some(real) => Ok(RealPath::would_be(real)),
            None => Err(denied(asked, Rule::LinkOut)),
        }
    }
}
