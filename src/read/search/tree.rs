//! All files of a tree, looked at by several threads; what they find is taken in the order of path, as far as it is of use.
//!
//! A task is a folder to be listed, or some files of one. Tasks have keys in the order of path, and the
//! first that waits is taken first, so that an answer is full soon. What is done stays ahead until
//! every task before it is done: that is the end up to which everything is known. Where what is ahead
//! would fill the answer, no task behind it is begun any more, so that what is held has a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ignore::Match;
use ignore::overrides::Override;
use parking_lot::{Condvar, Mutex};

use crate::protocol::search::LeftOut;
use crate::task::{Stopped, Work, in_crew};
use crate::workspace::{ListError, RealPath, TreeEntry, TreeFolder};

use super::look::{Hit, Looker, SearchContext};
use super::new_files::NewFiles;

/// Files that are one task.
const FILES: usize = 16;

/// Between two looks at the cancel token of a thread that has nothing to do.
const LOOK: Duration = Duration::from_millis(20);

/// Where a search goes on in a tree.
#[derive(Debug, Clone)]
pub(super) struct Resume {
    /// The names from the tree's folder down to the file at which it ended.
    pub(super) names: Arc<[OsString]>,
    /// Behind this line of it; `None` behind all of it.
    pub(super) line: Option<u64>,
}

/// A folder that is searched with all that is below it.
pub(super) struct Top<'a> {
    pub(super) folder: TreeFolder<'a>,
    pub(super) globs: Option<Override>,
    pub(super) resume: Option<Resume>,
}

/// How it is searched.
pub(super) struct Trees<'a> {
    pub(super) context: SearchContext<'a>,
    pub(super) new_files: NewFiles,
    /// Rows that the answer has room for.
    pub(super) most: u64,
}

/// What came of a search, in the order of path.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    pub(super) hits: Vec<Hit>,
    pub(super) left_out: LeftOut,
    /// Files that were looked at.
    pub(super) searched: u64,
    /// The last of them.
    pub(super) last: Option<PathBuf>,
    /// Nothing was left to be looked at.
    pub(super) is_complete: bool,
    pub(super) stopped: Option<Stopped>,
    rows: u64,
}

/// The place of a task in the order of path: which of the names in which of the names.
type SortKey = Vec<u32>;

enum TreeTask<'a> {
    Top(Top<'a>),
    Folder {
        above: Arc<TreeFolder<'a>>,
        globs: Option<Arc<Override>>,
        name: OsString,
        /// With how many of its names are above this folder.
        resume: Option<(Resume, usize)>,
    },
    Files {
        folder: Arc<TreeFolder<'a>>,
        /// Each with the line behind which it is searched.
        files: Vec<(OsString, u64)>,
    },
}

struct State<'a> {
    waiting: BTreeMap<SortKey, TreeTask<'a>>,
    at_work: BTreeSet<SortKey>,
    /// What is done and not yet settled.
    ahead: BTreeMap<SortKey, Harvest>,
    rows_ahead: u64,
    /// Everything before the first task that is not done.
    settled: Harvest,
    /// What is behind it is of no use.
    cutoff: Option<SortKey>,
    was_cut: bool,
    stopped: Option<Stopped>,
}

impl<'a> Trees<'a> {
    /// Looks through trees, one after the other. Blocking, and in threads of its own.
    pub(super) fn search(&self, tops: Vec<Top<'a>>) -> Harvest {
        let tasks = (0..).zip(tops);
        let tasks = tasks.map(|(at, top)| (vec![at], TreeTask::Top(top)));
        let state = Mutex::new(State {
            waiting: tasks.collect(),
            at_work: BTreeSet::new(),
            ahead: BTreeMap::new(),
            rows_ahead: 0,
            settled: Harvest::default(),
            cutoff: None,
            was_cut: false,
            stopped: None,
        });
        let changed = Condvar::new();
        in_crew(|_| self.run(&state, &changed));
        let mut state = state.into_inner();
        state.settle(u64::MAX);
        let State {
            mut settled,
            waiting,
            at_work,
            was_cut,
            stopped,
            ..
        } = state;
        settled.stopped = stopped;
        settled.is_complete =
            stopped.is_none() && !was_cut && waiting.is_empty() && at_work.is_empty();
        settled
    }

    /// One thread: takes the first task until there is none, or until what is found is enough.
    fn run(&self, state: &Mutex<State<'a>>, changed: &Condvar) {
        let work = self.context.work;
        let mut looker = Looker::new(self.context);
        while let Some((key, task)) = next(state, changed, work) {
            let ending = Ending(state, changed);
            let done = self.carry_out(task, &mut looker);
            let mut state = state.lock();
            match done {
                Ok((harvest, tasks)) => {
                    state.at_work.remove(&key);
                    state.take(key, harvest, tasks, self.most);
                }
                // It stays at work: it is not known what is there.
                Err(stopped) => {
                    state.stopped.get_or_insert(stopped);
                }
            }
            drop(state);
            drop(ending);
            changed.notify_all();
        }
    }

    /// What came of a task, and the tasks that it leaves, in order.
    fn carry_out(
        &self,
        task: TreeTask<'a>,
        looker: &mut Looker<'a>,
    ) -> Result<(Harvest, Vec<TreeTask<'a>>), Stopped> {
        let mut harvest = Harvest::default();
        let tasks = match task {
            TreeTask::Top(Top {
                folder,
                globs,
                resume,
            }) => {
                let resume = resume.map(|resume| (resume, 0));
                self.list(folder, globs.map(Arc::new), resume, &mut harvest)?
            }
            TreeTask::Folder {
                above,
                globs,
                name,
                resume,
            } => match above.folder(&name) {
                Ok(folder) => self.list(folder, globs, resume, &mut harvest)?,
                Err(error) => {
                    let is_gone = error.kind() == std::io::ErrorKind::NotFound;
                    harvest.left_out.not_readable += u64::from(!is_gone);
                    Vec::new()
                }
            },
            TreeTask::Files { folder, files } => {
                for (name, after) in &files {
                    let left_out = &mut harvest.left_out;
                    let hit = looker.look(&folder, name, *after, left_out)?;
                    harvest.searched += 1;
                    harvest.rows += hit.as_ref().map_or(0, Hit::rows);
                    harvest.hits.extend(hit);
                }
                let last = files.last();
                harvest.last = last.map(|(name, _)| folder.real().join(name));
                Vec::new()
            }
        };
        Ok((harvest, tasks))
    }

    /// Lists a folder, and makes tasks of what is in it and comes behind where the search goes on.
    fn list(
        &self,
        mut folder: TreeFolder<'a>,
        globs: Option<Arc<Override>>,
        resume: Option<(Resume, usize)>,
        harvest: &mut Harvest,
    ) -> Result<Vec<TreeTask<'a>>, Stopped> {
        let mut entries = match folder.entries(&mut harvest.left_out, self.context.work) {
            Ok(entries) => entries,
            Err(ListError::Stopped(stopped)) => return Err(stopped),
            Err(ListError::Io(_)) => {
                harvest.left_out.not_readable += 1;
                return Ok(Vec::new());
            }
        };
        self.new_files
            .add(&folder, self.context.scope, &mut entries);
        let folder = Arc::new(folder);
        let mut tasks = Vec::new();
        let mut files = Vec::new();
        for entry in entries {
            if !is_wanted(globs.as_deref(), &folder, &entry) {
                continue;
            }
            let Some(place) = TreePlace::of(&entry, resume.as_ref()) else {
                continue;
            };
            if entry.is_folder {
                flush(&folder, &mut files, &mut tasks);
                tasks.push(TreeTask::Folder {
                    above: folder.clone(),
                    globs: globs.clone(),
                    name: entry.name,
                    resume: place.resume,
                });
                continue;
            }
            files.push((entry.name, place.after));
            if files.len() == FILES {
                flush(&folder, &mut files, &mut tasks);
            }
        }
        flush(&folder, &mut files, &mut tasks);
        Ok(tasks)
    }
}

/// Whether the globs let it be looked at: a folder, unless one says that it is not.
fn is_wanted(globs: Option<&Override>, folder: &TreeFolder, entry: &TreeEntry) -> bool {
    let Some(globs) = globs else { return true };
    let path = folder.real().join(&entry.name);
    !matches!(globs.matched(path, entry.is_folder), Match::Ignore(_))
}

/// How an entry stands to where a search goes on.
struct TreePlace {
    after: u64,
    resume: Option<(Resume, usize)>,
}

impl TreePlace {
    /// `None` for one that is before it.
    fn of(entry: &TreeEntry, resume: Option<&(Resume, usize)>) -> Option<TreePlace> {
        let behind = TreePlace {
            after: 0,
            resume: None,
        };
        let Some((resume, depth)) = resume else {
            return Some(behind);
        };
        let Some(name) = resume.names.get(*depth) else {
            return Some(behind);
        };
        let is_last = depth + 1 == resume.names.len();
        match entry.name.cmp(name) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Greater => Some(behind),
            // What was a file then, or a folder, has become the other.
            std::cmp::Ordering::Equal if entry.is_folder && is_last => Some(behind),
            std::cmp::Ordering::Equal if entry.is_folder => Some(TreePlace {
                after: 0,
                resume: Some((resume.clone(), depth + 1)),
            }),
            std::cmp::Ordering::Equal if !is_last => None,
            std::cmp::Ordering::Equal => Some(TreePlace {
                after: resume.line?,
                resume: None,
            }),
        }
    }
}

/// Makes a task of the files so far.
fn flush<'a>(
    folder: &Arc<TreeFolder<'a>>,
    files: &mut Vec<(OsString, u64)>,
    tasks: &mut Vec<TreeTask<'a>>,
) {
    if !files.is_empty() {
        tasks.push(TreeTask::Files {
            folder: folder.clone(),
            files: std::mem::take(files),
        });
    }
}

/// The first task that waits; `None` once there is nothing left to do.
fn next<'a>(
    state: &Mutex<State<'a>>,
    changed: &Condvar,
    work: &Work,
) -> Option<(SortKey, TreeTask<'a>)> {
    let mut state = state.lock();
    loop {
        if let Err(stopped) = work.check() {
            state.stopped.get_or_insert(stopped);
        }
        if state.stopped.is_some() {
            return None;
        }
        if let Some((key, task)) = state.waiting.pop_first() {
            state.at_work.insert(key.clone());
            return Some((key, task));
        }
        if state.at_work.is_empty() {
            return None;
        }
        changed.wait_for(&mut state, LOOK);
    }
}

impl<'a> State<'a> {
    /// Takes in what came of a task.
    fn take(&mut self, key: SortKey, harvest: Harvest, tasks: Vec<TreeTask<'a>>, most: u64) {
        let is_of_use =
            |cutoff: &Option<SortKey>, key: &SortKey| cutoff.as_ref().is_none_or(|it| key <= it);
        if !is_of_use(&self.cutoff, &key) {
            self.was_cut = true;
            return;
        }
        for (at, task) in (0..).zip(tasks) {
            let mut below = key.clone();
            below.push(at);
            match is_of_use(&self.cutoff, &below) {
                true => drop(self.waiting.insert(below, task)),
                false => self.was_cut = true,
            }
        }
        self.rows_ahead += harvest.rows;
        self.ahead.insert(key, harvest);
        self.settle(most);
        if self.settled.rows + self.rows_ahead > most {
            self.cut(most);
        }
    }

    /// Moves what has nothing undone before it, until the answer is full.
    fn settle(&mut self, most: u64) {
        let waiting = self.waiting.first_key_value().map(|(key, _)| key);
        let first = waiting
            .into_iter()
            .chain(self.at_work.first())
            .min()
            .cloned();
        while let Some(next) = self.ahead.first_entry() {
            let is_known = first.as_ref().is_none_or(|first| next.key() < first);
            if !is_known || self.settled.rows > most {
                break;
            }
            let harvest = next.remove();
            self.rows_ahead -= harvest.rows;
            self.settled.add(harvest);
        }
    }

    /// Drops what is behind that which fills the answer.
    fn cut(&mut self, most: u64) {
        let mut rows = self.settled.rows;
        let full = self.ahead.iter().find(|(_, harvest)| {
            rows += harvest.rows;
            rows > most
        });
        let cutoff = match full {
            Some((key, _)) => key.clone(),
            // What is settled fills it alone.
            None => SortKey::new(),
        };
        let is_behind = |key: &SortKey| *key > cutoff;
        let (waiting, ahead) = (self.waiting.len(), self.ahead.len());
        self.waiting.retain(|key, _| !is_behind(key));
        self.ahead.retain(|key, _| !is_behind(key));
        self.was_cut |= waiting > self.waiting.len() || ahead > self.ahead.len();
        self.was_cut |= self.at_work.iter().any(is_behind);
        self.rows_ahead = self.ahead.values().map(|harvest| harvest.rows).sum();
        self.cutoff = Some(cutoff);
    }
}

impl Harvest {
    fn add(&mut self, next: Harvest) {
        self.hits.extend(next.hits);
        self.left_out += next.left_out;
        self.searched += next.searched;
        self.rows += next.rows;
        self.last = next.last.or(self.last.take());
    }
}

/// Tells the other threads when a task ends by a panic: nobody would hear of its end.
struct Ending<'s, 'a>(&'s Mutex<State<'a>>, &'s Condvar);

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().stopped.get_or_insert(Stopped::Panicked);
            self.1.notify_all();
        }
    }
}

/// The names from a folder down to a path below it, both real.
pub(super) fn names_below(folder: &RealPath, path: &RealPath) -> Option<Arc<[OsString]>> {
    let below = path.as_path().strip_prefix(folder.as_path()).ok()?;
    Some(below.iter().map(OsString::from).collect())
}
