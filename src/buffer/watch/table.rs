//! Which files are warm, which directories are watched for them, and what is to be done next; nothing here does I/O or waits.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::workspace::RealPath;

use super::super::Buffer;
use super::watcher::Event;

/// A file that was not read for so long is not warmed again.
const RECENT: Duration = Duration::from_secs(600);
/// After an event of a file, how long it is left alone: whoever writes it may not be done.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// A file under constant change is looked at all the same after so many debounces.
const MAX_DEBOUNCES: u32 = 10;
/// The debounce doubles with each warming that nobody read, up to 25 s: a log that grows all day
/// must not be read all day.
const MAX_DOUBLINGS: u32 = 9;
/// After the system refused a watch, no other is asked for during this time.
const REFUSED_FOR: Duration = Duration::from_secs(60);
/// Entries of each queue; what does not fit is dropped, which costs speed only.
const QUEUE: usize = 1024;

/// Device and inode of a directory.
pub type Identity = (u64, u64);

/// What a load knows of a file before it reads it.
#[derive(Debug, Clone, Copy, Default)]
pub struct PriorState {
    /// Something was heard of it since it was last read: an unchanged stamp is not enough.
    pub doubtful: bool,
    /// It is in the table.
    pub known: bool,
    /// Somebody asked for it; else it is being warmed.
    pub asked: bool,
    tick: u64,
}

/// What the background thread is to do.
#[derive(Debug)]
pub enum Task {
    Stop,
    Watch(Arc<Path>),
    /// See whether what is watched is still what has that name.
    Verify(Arc<Path>, Identity),
    Unwatch(Arc<Path>),
    /// Tell that a file has other content, or none.
    Tell(RealPath, Option<Arc<Buffer>>),
    /// Find out which file an outside event is of.
    Resolve(Event),
    /// See whether these directories may still be looked at.
    Judge(Vec<Arc<Path>>),
    Rewarm(RealPath),
}

/// The next task, or when to ask again; without a moment, when something happened.
#[derive(Debug)]
pub enum NextTask {
    Task(Task),
    Wait(Option<Instant>),
}

/// Everything that is known about watching. Files are those that are warm.
#[derive(Debug, Default)]
pub struct WatchTable {
    files: HashMap<RealPath, File>,
    /// The directories of those files. In order, so that what is below a path can be found.
    directories: BTreeMap<Arc<Path>, WatchedDirectory>,
    watched: usize,
    limit: usize,
    /// Counts doubts. A file is doubtful when one came after the look at which it was last read.
    clock: u64,
    all_doubted: u64,
    to_watch: VecDeque<Arc<Path>>,
    to_verify: VecDeque<Arc<Path>>,
    to_unwatch: VecDeque<Arc<Path>>,
    to_tell: VecDeque<(RealPath, Option<Arc<Buffer>>)>,
    to_resolve: VecDeque<Event>,
    to_judge: bool,
    changing: HashMap<RealPath, Changing>,
    refused: Option<Refused>,
    overflows: u64,
    stopped: bool,
}

#[derive(Debug)]
struct File {
    directory: Arc<Path>,
    read_at: Instant,
    doubted: u64,
    settled: u64,
    /// Warmings since it was last asked for.
    unread: u32,
}

#[derive(Debug)]
struct WatchedDirectory {
    files: HashSet<RealPath>,
    read_at: Instant,
    state: WatchState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchState {
    Unwatched,
    Asked,
    Watched(Identity),
}

/// A file that events came of.
#[derive(Debug)]
struct Changing {
    first: Instant,
    last: Instant,
    debounce: Duration,
}

#[derive(Debug)]
struct Refused {
    at: Instant,
    problem: String,
}

/// For `agent/status`.
#[derive(Debug, Clone, Default)]
pub struct WatchStatus {
    /// Directories that are watched.
    pub count: usize,
    /// How often the system said that it lost events.
    pub overflows: u64,
    /// Why not all are watched that should be, in one sentence.
    pub problem: Option<String>,
}

impl Changing {
    fn due(&self) -> Instant {
        (self.last + self.debounce).min(self.first + self.debounce * MAX_DEBOUNCES)
    }
}

impl WatchTable {
    /// A look at a file that is about to be read because somebody `asked`, or to warm it.
    pub fn look(&mut self, path: &RealPath, asked: bool, now: Instant) -> PriorState {
        let mut seen = PriorState {
            asked,
            tick: self.clock,
            ..PriorState::default()
        };
        let Some(file) = self.files.get_mut(path) else {
            return seen;
        };
        seen.known = true;
        seen.doubtful = file.doubted.max(self.all_doubted) > file.settled;
        if asked {
            file.read_at = now;
            file.unread = 0;
            let directory = file.directory.clone();
            self.touch(&directory, now);
        }
        seen
    }

    /// Whether there is something to do that does not wait for its moment.
    pub fn has_tasks(&self) -> bool {
        self.stopped
            || self.to_judge
            || !self.to_watch.is_empty()
            || !self.to_verify.is_empty()
            || !self.to_unwatch.is_empty()
            || !self.to_tell.is_empty()
            || !self.to_resolve.is_empty()
    }

    /// Whether directories wait to be watched.
    pub fn has_to_watch(&self) -> bool {
        !self.to_watch.is_empty()
    }

    /// The file was read after that look and is warm.
    pub fn keep(&mut self, path: &RealPath, seen: PriorState, now: Instant) {
        let Some(parent) = path.as_path().parent() else {
            return;
        };
        let parent = match self.directories.get_key_value(parent) {
            Some((known, _)) => known.clone(),
            None => Arc::from(parent),
        };
        let directory = self.directories.entry(parent.clone());
        let directory = directory.or_insert_with(|| WatchedDirectory {
            files: HashSet::new(),
            read_at: now,
            state: WatchState::Unwatched,
        });
        if !self.files.contains_key(path) {
            directory.files.insert(path.clone());
        }
        let file = self.files.entry(path.clone()).or_insert_with(|| File {
            directory: parent.clone(),
            read_at: now,
            doubted: 0,
            settled: 0,
            unread: 0,
        });
        file.settled = file.settled.max(seen.tick);
        if seen.asked {
            self.touch(&parent, now);
        } else {
            file.unread += 1;
            // Warming may not take the place of a directory that was read.
            if self.watched < self.limit {
                self.ask(&parent, now);
            }
        }
    }

    /// A warm file turned out to be another than it was. If nothing was heard of it, the watch of
    /// its directory may be of one that was moved away with a parent.
    pub fn found_changed(
        &mut self,
        path: &RealPath,
        seen: PriorState,
        news: Option<Option<Arc<Buffer>>>,
    ) {
        if let Some(buffer) = news
            && self.to_tell.len() < QUEUE
        {
            self.to_tell.push_back((path.clone(), buffer));
        }
        let Some(parent) = path.as_path().parent() else {
            return;
        };
        if let Some((parent, directory)) = self.directories.get_key_value(parent)
            && matches!(directory.state, WatchState::Watched(_))
            && !seen.doubtful
            && self.to_verify.len() < QUEUE
        {
            self.to_verify.push_back(parent.clone());
        }
    }

    /// The file is not warm any more.
    pub fn forget(&mut self, path: &Path) {
        let Some((path, file)) = self.files.remove_entry(path) else {
            return;
        };
        self.changing.remove(&path);
        let Some(directory) = self.directories.get_mut(&file.directory) else {
            return;
        };
        directory.files.remove(&path);
        if directory.files.is_empty() {
            self.give_up(&file.directory);
            self.directories.remove(&file.directory);
        }
    }

    /// An event of the watcher or of the client. Returns whether it was of anything warm.
    pub fn heard(&mut self, event: &Event, now: Instant) -> bool {
        match event {
            Event::Changed(path) => self.doubt(path, now),
            Event::Replaced(path) => self.doubt(path, now) | self.doubt_below(path, now),
            Event::Lost => {
                self.clock += 1;
                self.all_doubted = self.clock;
                self.overflows += 1;
                let files: Vec<RealPath> = self.files.keys().take(QUEUE).cloned().collect();
                for path in files {
                    self.rewarm_soon(&path, now);
                }
                true
            }
        }
    }

    /// An event that was of nothing warm as it was spelled may be of something by another name.
    pub fn resolve_later(&mut self, event: Event) {
        if !self.files.is_empty() && self.to_resolve.len() < QUEUE {
            self.to_resolve.push_back(event);
        }
    }

    fn doubt(&mut self, path: &Path, now: Instant) -> bool {
        let Some((path, _)) = self.files.get_key_value(path) else {
            return false;
        };
        let path = path.clone();
        self.clock += 1;
        if let Some(file) = self.files.get_mut(&path) {
            file.doubted = self.clock;
        }
        self.rewarm_soon(&path, now);
        true
    }

    fn doubt_below(&mut self, path: &Path, now: Instant) -> bool {
        let from = (Bound::Included(path), Bound::Unbounded);
        let below = self.directories.range::<Path, _>(from);
        let below = below.map(|(directory, _)| directory.clone());
        let below: Vec<Arc<Path>> = below.take_while(|known| known.starts_with(path)).collect();
        for directory in &below {
            // The watch is of the directory that had this name.
            self.give_up(directory);
            let files = self.directories.get(directory).map(|known| &known.files);
            let files: Vec<RealPath> = files.into_iter().flatten().cloned().collect();
            for file in files {
                self.doubt(file.as_path(), now);
            }
        }
        !below.is_empty()
    }

    fn rewarm_soon(&mut self, path: &RealPath, now: Instant) {
        let Some(file) = self.files.get(path) else {
            return;
        };
        if now.saturating_duration_since(file.read_at) > RECENT {
            return;
        }
        if let Some(changing) = self.changing.get_mut(path) {
            changing.last = now;
        } else if self.changing.len() < QUEUE {
            let changing = Changing {
                first: now,
                last: now,
                debounce: DEBOUNCE * (1 << file.unread.min(MAX_DOUBLINGS)),
            };
            self.changing.insert(path.clone(), changing);
        }
    }

    fn touch(&mut self, directory: &Arc<Path>, now: Instant) {
        if let Some(known) = self.directories.get_mut(directory) {
            known.read_at = now;
            self.ask(directory, now);
        }
    }

    /// Has the directory watched, unless it is, or the system just refused.
    fn ask(&mut self, directory: &Arc<Path>, now: Instant) {
        let refused = |refused: &Refused| now.saturating_duration_since(refused.at) < REFUSED_FOR;
        if self.limit == 0
            || self.to_watch.len() >= QUEUE
            || self.refused.as_ref().is_some_and(refused)
        {
            return;
        }
        if let Some(known) = self.directories.get_mut(directory)
            && known.state == WatchState::Unwatched
        {
            known.state = WatchState::Asked;
            self.to_watch.push_back(directory.clone());
        }
    }

    /// Has a watched directory unwatched.
    fn give_up(&mut self, directory: &Arc<Path>) {
        if let Some(known) = self.directories.get_mut(directory)
            && matches!(known.state, WatchState::Watched(_))
        {
            known.state = WatchState::Unwatched;
            self.watched -= 1;
            self.to_unwatch.push_back(directory.clone());
        }
    }

    fn give_up_least_recent(&mut self) {
        let watched = self.directories.iter();
        let watched = watched.filter(|(_, known)| matches!(known.state, WatchState::Watched(_)));
        let oldest = watched.min_by_key(|(_, known)| known.read_at);
        if let Some(oldest) = oldest.map(|(directory, _)| directory.clone()) {
            self.give_up(&oldest);
        }
    }

    /// At most so many directories are watched from now on; what was refused may be tried again.
    pub fn set_limit(&mut self, limit: usize) {
        if self.limit != limit {
            self.limit = limit;
            self.refused = None;
        }
        while self.watched > limit {
            self.give_up_least_recent();
        }
    }

    /// Other roots or rules hold: what may not be looked at any more is to be let go.
    pub fn judge_again(&mut self) {
        self.to_judge = true;
    }

    /// Ends the background thread, at its next task.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// What came of [`Task::Watch`].
    pub fn watched(&mut self, directory: &Arc<Path>, identity: Identity, now: Instant) {
        self.refused = None;
        let known = self.directories.get_mut(directory);
        let Some(known) = known.filter(|known| known.state == WatchState::Asked) else {
            self.to_unwatch.push_back(directory.clone());
            return;
        };
        known.state = WatchState::Watched(identity);
        self.watched += 1;
        // What changed between their reading and the watch was not heard of.
        for file in known.files.iter().cloned().collect::<Vec<_>>() {
            self.rewarm_soon(&file, now);
        }
        self.set_limit(self.limit);
    }

    /// The directory cannot be watched; it will be asked for again when it is read again.
    pub fn not_watched(&mut self, directory: &Arc<Path>) {
        if let Some(known) = self.directories.get_mut(directory) {
            known.state = WatchState::Unwatched;
        }
    }

    /// The system gives no more watches.
    pub fn refused(&mut self, problem: String, now: Instant) {
        self.refused = Some(Refused { at: now, problem });
        for directory in std::mem::take(&mut self.to_watch) {
            self.not_watched(&directory);
        }
    }

    /// What is watched by that name has another one now.
    pub fn mistaken(&mut self, directory: &Arc<Path>, now: Instant) {
        self.give_up(directory);
        self.ask(directory, now);
    }

    /// The warm files in a directory.
    pub fn files_in(&self, directory: &Arc<Path>) -> Vec<RealPath> {
        let known = self.directories.get(directory);
        known
            .into_iter()
            .flat_map(|known| known.files.iter().cloned())
            .collect()
    }

    pub fn status(&self) -> WatchStatus {
        WatchStatus {
            count: self.watched,
            overflows: self.overflows,
            problem: self.refused.as_ref().map(|refused| refused.problem.clone()),
        }
    }

    /// Unwatching goes first: it makes room, and a directory that was replaced by another of its
    /// name must lose the old watch before it gets a new one.
    pub fn next(&mut self, now: Instant) -> NextTask {
        if self.stopped {
            return NextTask::Task(Task::Stop);
        }
        if std::mem::take(&mut self.to_judge) {
            let directories = self.directories.keys().cloned().collect();
            return NextTask::Task(Task::Judge(directories));
        }
        if let Some(task) = self.next_watch() {
            return NextTask::Task(task);
        }
        if let Some((path, buffer)) = self.to_tell.pop_front() {
            return NextTask::Task(Task::Tell(path, buffer));
        }
        if let Some(event) = self.to_resolve.pop_front() {
            return NextTask::Task(Task::Resolve(event));
        }
        let soonest = self.changing.iter().min_by_key(|(_, known)| known.due());
        match soonest.map(|(path, known)| (path.clone(), known.due())) {
            Some((path, due)) if due <= now => {
                self.changing.remove(&path);
                NextTask::Task(Task::Rewarm(path))
            }
            soonest => NextTask::Wait(soonest.map(|(_, due)| due)),
        }
    }

    fn next_watch(&mut self) -> Option<Task> {
        while let Some(directory) = self.to_verify.pop_front() {
            let known = self.directories.get(&directory);
            if let Some(WatchState::Watched(identity)) = known.map(|known| known.state) {
                return Some(Task::Verify(directory, identity));
            }
        }
        while self.to_unwatch.is_empty()
            && let Some(directory) = self.to_watch.pop_front()
        {
            let known = self.directories.get(&directory);
            if known.is_none_or(|known| known.state != WatchState::Asked) {
                continue;
            }
            if self.watched < self.limit {
                return Some(Task::Watch(directory));
            }
            if self.limit == 0 {
                self.not_watched(&directory);
                continue;
            }
            self.give_up_least_recent();
            self.to_watch.push_front(directory);
        }
        self.to_unwatch.pop_front().map(Task::Unwatch)
    }
}

/// The path an event is of.
pub fn path_of(event: &Event) -> Option<&PathBuf> {
    match event {
        Event::Changed(path) | Event::Replaced(path) => Some(path),
        Event::Lost => None,
    }
}
