//! One search through folders: what it may open, how much of it there may be, and what it saw and found wrong on the way.
//!
//! Whatever is found was opened by the one access function. The workspace's folders are judged as the
//! workspace, without what settings allow besides; a folder of the user's is judged by itself. A link
//! that stands in a folder of the user's may lead to another, which is then judged by itself, and no
//! link leads on from there.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::protocol::{Refusal, Rule};
use crate::task::Work;
use crate::workspace::{At, EntryKind, FileType, Handle, ListError, Scope, Seen, UrlFolder, Whose};

use super::super::one_line;
use super::front_matter;
use super::places::{Giver, LookupPlace};

/// How deep below a folder of the table something may lie.
pub const MAX_DEPTH: usize = 3;
/// Folders that are looked at for one giver.
const MAX_FOLDERS: usize = 2_000;
/// Files that are read for one giver.
const MAX_FILES: usize = 2_000;
/// Names that are read of one folder.
const MAX_NAMES: usize = 20_000;
/// Problems that are told.
const MAX_PROBLEMS: usize = 100;

/// Folders in which nobody keeps what is meant for others.
const PASSED_OVER: &[&str] = &[".git", "node_modules"];

/// By what a file is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    Workspace,
    /// A folder without symlinks, by itself.
    Folder(PathBuf),
}

impl Ground {
    /// The scope by which its files are opened. `url` is what the addresses of those of a folder
    /// begin with.
    pub fn scope(&self, scope: &Scope, url: &str, writable: bool) -> Scope {
        match self {
            Ground::Workspace => scope.of_roots_alone(),
            Ground::Folder(real) => scope.with_folders(vec![UrlFolder {
                url: url.to_owned(),
                real: real.clone(),
                most_bytes: None,
                heeds_deny: true,
                writable,
            }]),
        }
    }
}

/// A folder or a file that was opened.
#[derive(Debug)]
pub struct Entered {
    pub giver: Giver,
    pub ground: Ground,
    /// By which it was opened.
    scope: Scope,
    pub handle: Handle,
    /// How messages name it.
    pub written: String,
    pub root: Option<usize>,
    pub writable: bool,
    /// A link in it may lead to another folder.
    may_lead_on: bool,
}

impl Entered {
    pub fn path(&self) -> &Path {
        self.handle.real().as_path()
    }

    pub fn is_folder(&self) -> bool {
        self.handle.file_type() == FileType::Directory
    }

    pub fn size(&self) -> u64 {
        self.handle.stamp().size
    }
}

/// A name in a folder.
#[derive(Debug)]
pub struct Name {
    pub name: String,
    pub is_folder: bool,
    pub is_link: bool,
}

/// A search that is under way.
pub struct Search<'a> {
    scope: &'a Scope,
    workspace: Scope,
    takes_workspace: bool,
    work: &'a Work,
    pub seen: Seen,
    problems: Vec<String>,
    left_out: usize,
    folders: HashMap<Giver, usize>,
    files: HashMap<Giver, usize>,
    /// What was found, by its real path: one file is one thing, however it is found.
    known: HashSet<PathBuf>,
    /// Folders of the workspace whose ignore files were looked at.
    ignoring: HashSet<PathBuf>,
}

impl<'a> Search<'a> {
    pub fn new(scope: &'a Scope, work: &'a Work) -> Search<'a> {
        let mut seen = Seen::default();
        for root in scope.roots().iter() {
            seen.itself(root.spelled());
        }
        Search {
            scope,
            workspace: scope.of_roots_alone(),
            takes_workspace: scope.settings().internal.workspace,
            work,
            seen,
            problems: Vec::new(),
            left_out: 0,
            folders: HashMap::new(),
            files: HashMap::new(),
            known: HashSet::new(),
            ignoring: HashSet::new(),
        }
    }

    /// What is wrong with what is at a place.
    pub fn problem(&mut self, written: &str, what: &str) {
        match self.problems.len() < MAX_PROBLEMS {
            true => self.problems.push(one_line(&format!("{written}: {what}"))),
            false => self.left_out += 1,
        }
    }

    /// What went wrong, and what proves that it would go the same way again.
    pub fn end(mut self) -> (Vec<String>, Seen) {
        if self.left_out > 0 {
            self.problems
                .push(format!("{} more problems", self.left_out));
        }
        (self.problems, self.seen)
    }

    /// Whether that file was not found before.
    pub fn is_new(&mut self, entered: &Entered) -> bool {
        self.known.insert(entered.path().to_owned())
    }

    /// Opens what is at a place of a table, if something is.
    pub fn enter(&mut self, place: &LookupPlace) -> Result<Option<Entered>, Refusal> {
        self.work.check()?;
        let made = self.judged(&place.path, place.giver);
        let Some((giver, ground, path)) = made else {
            return Ok(None);
        };
        let written = place.written.clone();
        let found = self.open(
            giver,
            ground,
            &path,
            written,
            place.giver != Giver::Workspace,
        )?;
        self.saw(&place.path, found.as_ref());
        Ok(found.map(|it| Entered {
            root: place.root,
            writable: place.writable,
            ..it
        }))
    }

    /// Whose a path of the user's is, and by what it is judged.
    fn judged(&mut self, path: &Path, giver: Giver) -> Option<(Giver, Ground, PathBuf)> {
        if giver == Giver::Workspace {
            return Some((giver, Ground::Workspace, path.to_owned()));
        }
        match self.scope.whose(path) {
            Whose::Nobody => {
                self.seen.nothing(path);
                None
            }
            Whose::Workspace(_) if !self.takes_workspace => {
                self.seen.nothing(path);
                None
            }
            Whose::Workspace(real) => Some((Giver::Workspace, Ground::Workspace, real)),
            // A file is judged as what lies in its folder.
            Whose::User(real, is_folder) => match is_folder {
                true => Some((giver, Ground::Folder(real.clone()), real)),
                false => Some((giver, Ground::Folder(real.parent()?.to_owned()), real)),
            },
        }
    }

    fn open(
        &mut self,
        giver: Giver,
        ground: Ground,
        path: &Path,
        written: String,
        may_lead_on: bool,
    ) -> Result<Option<Entered>, Refusal> {
        let scope = match &ground {
            Ground::Workspace => self.workspace.clone(),
            Ground::Folder(_) => ground.scope(self.scope, "", false),
        };
        let handle = match scope.look_at(path) {
            Ok(At::Here(handle)) => handle,
            Ok(At::Nothing(_)) => return Ok(None),
            Err(refusal) => {
                self.refused(&written, refusal)?;
                return Ok(None);
            }
        };
        // What was found by a link of the user's is called as it is called in the workspace.
        let written = match ground {
            Ground::Workspace => self.scope.display(handle.real()),
            Ground::Folder(_) => written,
        };
        Ok(Some(Entered {
            giver,
            ground,
            scope,
            handle,
            written,
            root: None,
            writable: false,
            may_lead_on: may_lead_on && giver != Giver::Workspace,
        }))
    }

    /// What is denied is not spoken of; that something leads out is, but not where.
    fn refused(&mut self, written: &str, refusal: Refusal) -> Result<(), Refusal> {
        match refusal {
            Refusal::Cancelled | Refusal::Timeout { .. } => return Err(refusal),
            Refusal::Denied { ref rule, .. } if !matches!(rule, Rule::LinkOut) => {}
            Refusal::OutsideWorkspace { .. } | Refusal::Denied { .. } => {
                self.problem(
                    written,
                    "a link leads out of its folder, and is not followed",
                );
            }
            Refusal::Busy { .. } => self.problem(written, "its file system is not waited for"),
            _ => self.problem(written, "it cannot be opened"),
        }
        // It may be another answer the next time.
        self.seen.doubt();
        Ok(())
    }

    fn saw(&mut self, path: &Path, found: Option<&Entered>) {
        match found {
            None => self.seen.nothing(path),
            Some(found) => {
                self.seen.here(path, &found.handle);
                if found.ground == Ground::Workspace {
                    let folder = match found.is_folder() {
                        true => Some(found.path()),
                        false => found.path().parent(),
                    };
                    self.see_ignore_files(folder);
                }
            }
        }
    }

    /// The rules of ignore files hold for what lies below them.
    fn see_ignore_files(&mut self, folder: Option<&Path>) {
        let settings = self.scope.settings().clone();
        let files = &settings.access.ignore_files;
        if files.is_empty() {
            return;
        }
        let is_in_root = |at: &Path| {
            let mut roots = self.scope.roots().iter();
            roots.any(|root| root.last_real().is_some_and(|real| at.starts_with(real)))
        };
        let ways: Vec<PathBuf> = folder
            .into_iter()
            .flat_map(Path::ancestors)
            .take_while(|at| is_in_root(at) && !self.ignoring.contains(*at))
            .map(Path::to_owned)
            .collect();
        for at in ways {
            for file in files {
                self.seen.nothing(&at.join(file));
            }
            self.ignoring.insert(at);
        }
    }

    /// The names in a folder, in the order of the alphabet; none where it cannot be listed.
    pub fn names(&mut self, folder: &Entered) -> Result<Vec<Name>, Refusal> {
        let read = folder.scope.list(&folder.handle).map_err(ListError::Io);
        let read = read.and_then(|mut listed| listed.read(MAX_NAMES, self.work));
        let entries = match read {
            Ok(entries) => entries,
            Err(ListError::Stopped(stopped)) => return Err(stopped.into()),
            Err(ListError::Io(_)) => {
                self.problem(&folder.written, "it cannot be listed");
                self.seen.doubt();
                return Ok(Vec::new());
            }
        };
        if entries.is_cut {
            let what = format!("more than {MAX_NAMES} names; the rest is left out");
            self.problem(&folder.written, &what);
        }
        let mut names: Vec<Name> = Vec::new();
        for entry in entries.entries {
            let is_folder = matches!(entry.kind, EntryKind::Directory { .. });
            let is_link = matches!(entry.kind, EntryKind::Link(_));
            let Ok(name) = entry.name.into_string() else {
                continue;
            };
            let is_file = matches!(entry.kind, EntryKind::File(_));
            if (is_folder || is_link || is_file) && !PASSED_OVER.contains(&&*name) {
                names.push(Name {
                    name,
                    is_folder,
                    is_link,
                });
            }
        }
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// Whether one more folder may be looked at; the first that may not is told.
    pub fn takes_folder(&mut self, giver: Giver, written: &str) -> bool {
        let looked_at = self.folders.entry(giver).or_default();
        *looked_at += 1;
        let count = *looked_at;
        if count == MAX_FOLDERS + 1 {
            let what = format!("more than {MAX_FOLDERS} folders; the rest is left out");
            self.problem(written, &what);
        }
        count <= MAX_FOLDERS
    }

    /// Opens what has that name in a folder.
    pub fn child(&mut self, folder: &Entered, name: &Name) -> Result<Option<Entered>, Refusal> {
        self.work.check()?;
        let path = folder.path().join(&name.name);
        let written = format!("{}/{}", folder.written, name.name);
        let leads_on = name.is_link && folder.may_lead_on;
        let (giver, ground, at) = match leads_on {
            false => (folder.giver, folder.ground.clone(), path.clone()),
            true => match self.judged(&path, folder.giver) {
                Some(judged) => judged,
                None => return Ok(None),
            },
        };
        let may_lead_on = folder.may_lead_on && !leads_on;
        let found = self.open(giver, ground, &at, written, may_lead_on)?;
        self.saw(&path, found.as_ref());
        Ok(found.map(|it| Entered {
            root: folder.root,
            writable: folder.writable && !leads_on,
            ..it
        }))
    }

    /// The same folder, judged by itself where it is the user's: no link leads out of it.
    pub fn alone(&self, folder: Entered) -> Entered {
        if folder.ground == Ground::Workspace {
            return folder;
        }
        let ground = Ground::Folder(folder.path().to_owned());
        Entered {
            scope: ground.scope(self.scope, "", false),
            ground,
            ..folder
        }
    }

    /// The beginning of a file, as far as front matter is looked for; `None` where it is none that
    /// can be read, or one too many.
    pub fn head(&mut self, file: &Entered) -> Option<Vec<u8>> {
        let read = self.files.entry(file.giver).or_default();
        *read += 1;
        let count = *read;
        if count > MAX_FILES {
            if count == MAX_FILES + 1 {
                let what = format!("more than {MAX_FILES} files; the rest is left out");
                self.problem(&file.written, &what);
            }
            return None;
        }
        match file.handle.file_type() {
            FileType::Regular => {}
            FileType::Directory => {
                self.problem(&file.written, "it is a directory");
                return None;
            }
            FileType::Other(what) => {
                self.problem(&file.written, &format!("it is {what}"));
                return None;
            }
        }
        let mut head = Vec::new();
        let read = file.handle.open_read().and_then(|opened| {
            let most = front_matter::MAX_BYTES as u64;
            opened.take(most).read_to_end(&mut head)
        });
        if read.is_err() {
            self.problem(&file.written, "it cannot be read");
            self.seen.doubt();
            return None;
        }
        Some(head)
    }
}
