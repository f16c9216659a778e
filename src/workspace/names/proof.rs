//! That the names in a tree are still those that a walk found: every directory is watched from before it was read, and rules outside of the tree are looked at; nothing is believed on a clock's word but that of rules two seconds old.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::gitignore::gitconfig_excludes_path;
use parking_lot::Mutex;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::super::access::home;
use super::super::file_system::tells_of_all_changes;
use super::super::handle::{Stamp, now_ns};
use super::super::mounts::is_same_table;
use super::super::spelling::fold;
use super::hash_of;

/// Watches of one tree; each costs the system about a kilobyte.
const MAX_WATCHES: usize = 16_384;

/// The part of the user's watches that one tree may take: editors need them too.
const SHARE: usize = 4;

/// Rule files outside of the tree that are looked at in each request.
const MAX_RULES: usize = 96;

/// Bytes for events that are read at once.
const BUFFER: usize = 16 * 1024;

/// What happens to names in a directory, to the directory, and to who may read it.
const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::MASK_ADD)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// What happens to the content of a rule file, or to the file.
const RULES: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::MASK_ADD);

/// The names by which a directory decides what in it is ignored.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];
const REPOSITORIES: [&str; 2] = [".git", ".jj"];

#[derive(Debug)]
pub(super) struct NamesProof {
    root: PathBuf,
    identity: Option<Stamp>,
    inotify: OwnedFd,
    /// The table of mounts: polling it tells whether it changed since the last time.
    mounts: File,
    watches: AtomicUsize,
    limit: usize,
    /// There is more than can be watched or kept.
    exhausted: AtomicBool,
    /// Rule files that no watch tells of, as they were before the walk.
    rules: Mutex<Vec<(PathBuf, Option<Stamp>)>>,
}

impl NamesProof {
    /// Before the walk of `real`; `None` where no proof can be had.
    pub(super) fn begin(real: &Path) -> Option<NamesProof> {
        if !tells_of_all_changes(real) {
            return None;
        }
        let proof = NamesProof {
            root: real.to_path_buf(),
            identity: seen(real),
            inotify: init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?,
            mounts: File::open("/proc/self/mountinfo").ok()?,
            watches: AtomicUsize::new(0),
            limit: limit(),
            exhausted: AtomicBool::new(false),
            rules: Mutex::default(),
        };
        for above in real.ancestors().skip(1) {
            for name in RULE_FILES.iter().chain(&REPOSITORIES) {
                proof.look_at(above.join(name));
            }
            proof.look_at_repository(above);
        }
        for config in git_configs() {
            proof.look_at(config);
        }
        proof.add(real, NAMES);
        // Whatever the reason is, a root that is not watched proves nothing.
        (proof.watches.load(Ordering::Relaxed) == 1).then(|| {
            proof.watch_rules(real);
            proof
        })
    }

    /// Watches a directory that is to be read next, and its rules.
    pub(super) fn watch(&self, directory: &Path) {
        if !self.is_exhausted() {
            self.add(directory, NAMES);
            self.watch_rules(directory);
        }
    }

    fn watch_rules(&self, directory: &Path) {
        for name in RULE_FILES {
            self.add(&directory.join(name), RULES);
        }
        self.look_at_repository(directory);
    }

    /// What cannot be watched because it is not there, or may not be read, is not read by the walk
    /// either, and the directory that it is in tells when that changes.
    fn add(&self, path: &Path, what: WatchFlags) {
        match add_watch(&self.inotify, path, what) {
            Ok(_) => {
                if self.watches.fetch_add(1, Ordering::Relaxed) >= self.limit {
                    self.give_up();
                }
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {}
            Err(_) => self.give_up(),
        }
    }

    /// The names are too many, or watches are.
    pub(super) fn give_up(&self) {
        self.exhausted.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    fn look_at(&self, rule: PathBuf) {
        let stamp = seen(&rule);
        let mut rules = self.rules.lock();
        if rules.len() >= MAX_RULES || !stamp.is_none_or(|stamp| stamp.is_settled(now_ns())) {
            self.give_up();
        } else {
            rules.push((rule, stamp));
        }
    }

    /// A repository has a rule file of its own (`info/exclude`), which is elsewhere where `.git`
    /// is a file: that of a linked work tree or a submodule.
    fn look_at_repository(&self, directory: &Path) {
        let git = directory.join(".git");
        let Ok(metadata) = git.metadata() else {
            return;
        };
        if metadata.is_dir() {
            return self.look_at(git.join("info/exclude"));
        }
        let first_line = |path: &Path| {
            let text = std::fs::read_to_string(path).ok()?;
            Some(text.lines().next()?.to_owned())
        };
        let git_dir =
            first_line(&git).and_then(|line| Some(PathBuf::from(line.strip_prefix("gitdir: ")?)));
        self.look_at(git);
        if let Some(git_dir) = git_dir {
            let common = git_dir.join("commondir");
            let exclude = first_line(&common).map(|line| git_dir.join(line).join("info/exclude"));
            self.look_at(common);
            exclude
                .into_iter()
                .for_each(|exclude| self.look_at(exclude));
        }
    }

    /// Whether the names are those of the walk, but for those that are added to `appeared`.
    pub(super) fn holds(&mut self, appeared: &mut HashSet<u64>) -> bool {
        let rules = self.rules.get_mut();
        !self.exhausted.load(Ordering::Relaxed)
            && seen(&self.root) == self.identity
            && rules.iter().all(|(rule, stamp)| seen(rule) == *stamp)
            && is_same_table(&self.mounts)
            && only_files_came(&self.inotify, appeared)
    }
}

/// Takes all events that are there; whether they are of files alone, and not of rules.
fn only_files_came(inotify: &OwnedFd, appeared: &mut HashSet<u64>) -> bool {
    let mut buffer = [MaybeUninit::uninit(); BUFFER];
    let mut reader = Reader::new(inotify.as_fd(), &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::WOULDBLOCK) => return true,
            Err(Errno::INTR) => continue,
            Err(_) => return false,
        };
        // Without a name it is of a watched directory or rule file itself, or events were lost.
        let Some(name) = event.file_name().and_then(|name| name.to_str().ok()) else {
            // A name that is not UTF-8 is never asked for.
            match event.file_name() {
                Some(_) if !event.events().contains(ReadFlags::ISDIR) => continue,
                _ => return false,
            }
        };
        let is_rule = RULE_FILES.contains(&name) || REPOSITORIES.contains(&name);
        if is_rule || event.events().contains(ReadFlags::ISDIR) {
            return false;
        }
        if event
            .events()
            .intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO)
        {
            appeared.insert(hash_of(&fold(name)));
        }
    }
}

/// What is at a path, links followed; of a directory only which it is.
fn seen(path: &Path) -> Option<Stamp> {
    let metadata = path.metadata().ok()?;
    let stamp = Stamp::of(&metadata);
    Some(match metadata.is_dir() {
        false => stamp,
        true => Stamp {
            size: 0,
            mtime_ns: 0,
            ctime_ns: 0,
            ..stamp
        },
    })
}

/// The files that say which rules of git hold everywhere, and those rules.
fn git_configs() -> Vec<PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty());
    let below_home = |path: &str| home().map(|home| home.join(path).into_os_string());
    let xdg = named("XDG_CONFIG_HOME").map(|config| {
        let config: OsString = Path::new(&config).join("git/config").into();
        config
    });
    let configs = [
        named("GIT_CONFIG_GLOBAL"),
        below_home(".gitconfig"),
        xdg.or_else(|| below_home(".config/git/config")),
        named("GIT_CONFIG_SYSTEM").or_else(|| Some("/etc/gitconfig".into())),
        gitconfig_excludes_path().map(PathBuf::into_os_string),
    ];
    configs.into_iter().flatten().map(PathBuf::from).collect()
}

fn limit() -> usize {
    let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    let most = most.ok().and_then(|most| most.trim().parse::<usize>().ok());
    most.map_or(MAX_WATCHES, |most| MAX_WATCHES.min(most / SHARE))
}
