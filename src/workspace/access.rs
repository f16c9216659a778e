//! The judgement of paths: inside or outside, denied or not; nothing that failed it is ever opened for reading.

mod alone;
mod below;
mod deepest;
mod names;
mod own;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::protocol::settings::Outside;
use crate::protocol::{Refusal, Rule, Settings};

use super::handle::{Handle, RealPath, Unjudged};
use super::ignore_files::{DirRules, IgnoreFiles, MayHave, PathRules};
use super::listed::is_as_listed;
use super::mounts::Crossing;
use super::patterns::{Patterns, Verdict};
use super::roots::{Root, Roots};
use super::spelling::{climbs, normalise};
use super::url_folder::UrlFolder;

use below::Below;
pub use deepest::where_it_leads;
use deepest::{deepest_existing, deepest_opened};
pub(super) use names::Names;

/// Names that one path may climb out of. More are no path that anybody means, and each is judged.
const MAX_CLIMBS: usize = 32;

/// Links followed in one path before the rest is taken as it is (the kernel's own limit).
const MAX_LINKS: usize = 40;

/// Who may be read: the roots, what is allowed besides them, and the rules within. A clone shares
/// them.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) roots: Arc<Roots>,
    additional: Arc<Roots>,
    pub(super) outside: Outside,
    deny: Arc<Patterns>,
    ignore_files: Arc<IgnoreFiles>,
    /// Folders that are judged by themselves alone.
    pub(super) folders: Arc<[UrlFolder]>,
    /// Which mounts may be touched.
    pub(super) crossing: Crossing,
}

/// A judged look at a path.
#[derive(Debug)]
pub(super) enum Opened {
    Here(Handle),
    /// It cannot be opened, and that may be said: its place is allowed.
    Nothing(io::Error),
}

/// Whether a name is known to be a directory, known not to be, or not known to be there at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    Directory,
    File,
    /// Counts as both, so that a rule for directories tells nothing about what is there.
    Unknown,
}

impl PathKind {
    pub(super) fn of(is_dir: bool) -> PathKind {
        match is_dir {
            true => PathKind::Directory,
            false => PathKind::File,
        }
    }
}

/// The folders in which a path is allowed, each with its real path.
struct Bases<'a> {
    folders: Vec<(&'a Root, Arc<Path>)>,
    everywhere: bool,
}

impl Bases<'_> {
    /// The real paths of the folders that contain `real`, in order.
    fn containing<'b>(&'b self, real: &Path) -> impl Iterator<Item = &'b Path> {
        let folders = self.folders.iter().map(|(_, base)| &**base);
        folders.filter(move |base| real.starts_with(base))
    }

    fn allow(&self, real: &Path) -> bool {
        self.everywhere || self.containing(real).next().is_some()
    }

    /// The innermost folder that contains `path`, by its text; the top where none does. It is a
    /// real path, so no link is on the way to it.
    fn innermost(&self, path: &Path) -> &Path {
        let innermost = self
            .containing(path)
            .max_by_key(|base| base.as_os_str().len());
        innermost.unwrap_or(Path::new("/"))
    }

    /// Whether links at `position` may be looked at: it is inside a folder or on the way to one.
    fn may_look(&self, position: &Path) -> bool {
        let near = |folder: &Path| position.starts_with(folder) || folder.starts_with(position);
        let mut folders = self.folders.iter();
        self.everywhere || folders.any(|(root, real)| near(real) || near(root.spelled()))
    }

    /// The lexical form of `path` with its root's real path in place of the root's spelling.
    fn mapped(&self, path: &Path) -> Option<PathBuf> {
        let plain = normalise(path);
        for (root, real) in &self.folders {
            if let Ok(below) = plain.strip_prefix(root.spelled()) {
                return Some(real.components().chain(below.components()).collect());
            }
            if plain.starts_with(real) {
                return Some(plain);
            }
        }
        self.everywhere.then_some(plain)
    }
}

/// Where a path leads, as far as that may be known.
struct Walked {
    /// Links resolved while inside (or on the way), taken by its text from where it left.
    path: PathBuf,
    /// The part before the first link, or before the first name that is not there.
    before_links: PathBuf,
    /// How much of `path` is there, as far as that was looked at.
    there: PathBuf,
    /// A link was followed. Where none was, `path` is the path that was walked.
    has_links: bool,
    /// A link climbed back in from outside, so what is outside decides where it leads.
    wandered: bool,
}

impl Access {
    pub(super) fn new(roots: Roots, settings: &Settings) -> Access {
        let access = &settings.access;
        let additional = access.additional_roots.iter().filter_map(|root| {
            match root
                .strip_prefix('~')
                .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                Some(rest) => Some(home()?.join(rest.trim_start_matches('/'))),
                None => Some(PathBuf::from(root)),
            }
        });
        Access {
            roots: Arc::new(roots),
            additional: Arc::new(Roots::new(additional.collect())),
            outside: access.outside_workspace,
            deny: Arc::new(Patterns::compile(access.deny.iter().map(String::as_str))),
            ignore_files: Arc::new(IgnoreFiles::new(&access.ignore_files)),
            folders: Arc::default(),
            crossing: Crossing::default(),
        }
    }

    /// Opens `path`, absolute, if it and what it leads to are allowed; `asked` is for the refusal.
    ///
    /// What is refused is refused the same whether it exists; but with `busy` where that cannot be
    /// known, because it is on a mount that hangs.
    pub(super) fn open(&self, path: &Path, asked: &str) -> Result<Opened, Refusal> {
        let path = &*self.without_climbs(path, asked)?;
        self.crossing.enter(path)?;
        let opened = Unjudged::open(path);
        if let Some(folder) = self.own_folder(path) {
            return self.judged_in(folder, path, opened, asked);
        }
        // A folder whose real path has changed unnoticed must not make a file an outside one, nor
        // an ignore file one that may not be read.
        for again in [false, true] {
            let bases = self.bases(path, again);
            let judged = match &opened {
                Ok(opened) => self.judge_opened(&bases, path, opened, asked),
                Err(_) => self.judge_missing(&bases, path, asked),
            };
            match judged {
                Err(_) if !again => {}
                Err(refusal) => return Err(refusal),
                Ok(()) => break,
            }
        }
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Opened::Nothing(error)),
        };
        Ok(match is_as_listed(&opened, |real| self.folder_of(real)) {
            Ok(true) => Opened::Here(opened.allowed(path)),
            // The name that was judged is one that the file system made up.
            Ok(false) => Opened::Nothing(io::ErrorKind::NotFound.into()),
            Err(error) => Opened::Nothing(error),
        })
    }

    /// Where a path that cannot be opened, and was judged, would be: links that are inside are
    /// followed though they lead nowhere, and the rest is put below what exists of it.
    pub(super) fn would_be(&self, path: &Path, asked: &str) -> Result<RealPath, Refusal> {
        self.crossing.enter(path)?;
        if let Some(folder) = self.own_folder(path) {
            return folder.would_be(path, asked);
        }
        let bases = self.bases(path, false);
        let walked = self.walk(&bases, path, asked)?.path;
        if let Some((opened, _)) = deepest_opened(&walked) {
            match is_as_listed(&opened, |real| self.folder_of(real)) {
                Ok(true) => {}
                Ok(false) => return Err(unlisted(asked)),
                Err(error) => return Err(Refusal::io(asked, &error)),
            }
        }
        let real = deepest_existing(&walked).unwrap_or(walked);
        Ok(RealPath::would_be(real))
    }

    /// Whether `real`, a path without symlinks, may be named to the caller.
    pub(super) fn permits(&self, real: &Path, kind: PathKind) -> bool {
        if let Some(folder) = self.own_folder(real) {
            return self.own_rule(folder, real, kind).is_none();
        }
        let bases = self.bases(real, false);
        bases.allow(real) && self.rule(&bases, real, kind, real).is_none()
    }

    /// The real path of the outermost folder that contains `real`.
    pub(super) fn folder_of(&self, real: &Path) -> Option<PathBuf> {
        if let Some(folder) = self.own_folder(real) {
            return Some(folder.real.clone());
        }
        let bases = self.bases(real, false);
        let outermost = bases
            .containing(real)
            .min_by_key(|base| base.as_os_str().len());
        outermost.map(Path::to_path_buf)
    }

    /// Whether `real` may be changed: inside a root or an additional one, or all is allowed.
    pub(super) fn may_edit(&self, real: &Path) -> bool {
        if let Some(folder) = self.own_folder(real) {
            return folder.writable;
        }
        let bases = self.bases(real, false);
        self.outside == Outside::Allow || bases.containing(real).next().is_some()
    }

    /// The folders for judging `path`. Only those it may be in are looked at, and all when it
    /// seems to be in none: a root on a hung mount does not hold up the others.
    fn bases(&self, path: &Path, again: bool) -> Bases<'_> {
        let mut inside = false;
        let mut look = |root: &'_ Root| {
            let known = root.last_real();
            let real_contains = |real: &Arc<Path>| path.starts_with(real);
            let contains =
                path.starts_with(root.spelled()) || known.as_ref().is_some_and(real_contains);
            inside |= contains;
            match (contains || again, known) {
                (false, known) => known.unwrap_or_else(|| Arc::from(root.spelled())),
                (true, _) => root.real(again, &self.crossing),
            }
        };
        let all = || self.roots.iter().chain(self.additional.iter());
        let mut folders: Vec<(&Root, Arc<Path>)> = all().map(|root| (root, look(root))).collect();
        if !inside {
            let real = |root: &Root| root.real(again, &self.crossing);
            folders = all().map(|root| (root, real(root))).collect();
        }
        Bases {
            folders,
            everywhere: self.outside != Outside::Deny,
        }
    }

    fn judge_opened(
        &self,
        bases: &Bases<'_>,
        path: &Path,
        opened: &Unjudged,
        asked: &str,
    ) -> Result<(), Refusal> {
        let real = opened.real();
        // What is spelled as it is has no other way to be judged.
        let is_real = real.is_some_and(|real| real == path && bases.allow(real));
        if !is_real && (real.is_none() || bases.mapped(path).as_deref() != real) {
            let walked = self.judge_way(bases, path, asked)?;
            if walked.wandered || !real.is_some_and(|real| bases.allow(real)) && !bases.everywhere {
                return Err(outside(asked, &walked));
            }
        }
        let kind = PathKind::of(opened.is_dir());
        match real {
            Some(real) => self.judge_rules(bases, real, kind, asked),
            None => self.judge_rules(bases, &normalise(path), kind, asked),
        }
    }

    /// Judges a path that cannot be opened by where it would be.
    fn judge_missing(&self, bases: &Bases<'_>, path: &Path, asked: &str) -> Result<(), Refusal> {
        let first = self.judge_way(bases, path, asked)?;
        if first.wandered {
            return Err(outside(asked, &first));
        }
        // The place is the spelling, and that is judged.
        if !first.has_links && bases.allow(&first.path) {
            return Ok(());
        }
        let (mut place, mut there) = (first.path.clone(), first.there.clone());
        for _ in 0..MAX_LINKS {
            if bases.allow(&place) {
                // There are no ignore files in directories that are not there.
                return match self.rule(bases, &place, PathKind::Unknown, &there) {
                    Some(rule) => Err(denied(asked, rule)),
                    None => Ok(()),
                };
            }
            // A link outside may still lead back inside, as /tmp does on a Mac.
            let Some(real) = deepest_existing(&place).filter(|real| bases.allow(real)) else {
                break;
            };
            Walked {
                path: place,
                there,
                ..
            } = self.walk(bases, &real, asked)?;
        }
        Err(outside(asked, &first))
    }

    /// Judges the spelling of a path and every link on its way that is inside.
    fn judge_way(&self, bases: &Bases<'_>, path: &Path, asked: &str) -> Result<Walked, Refusal> {
        let Some(lexical) = bases.mapped(path) else {
            return self.walk(bases, path, asked);
        };
        let walked = self.walk(bases, &lexical, asked);
        // Ignore files behind the first link are not asked: they may be outside, and where they
        // are not, the real path is judged by them.
        let known = walked
            .as_ref()
            .map_or(&*lexical, |walked| &walked.before_links);
        match self.rule(bases, &lexical, PathKind::Unknown, known) {
            Some(rule) => Err(denied(asked, rule)),
            None => walked,
        }
    }

    fn judge_rules(
        &self,
        bases: &Bases<'_>,
        real: &Path,
        kind: PathKind,
        asked: &str,
    ) -> Result<(), Refusal> {
        match self.rule(bases, real, kind, real) {
            Some(rule) => Err(denied(asked, rule)),
            None => Ok(()),
        }
    }

    /// `path` with everything up to its last `..` resolved, as the system would do it; but what is
    /// outside is taken by its text, and so is what does not exist.
    pub(super) fn without_climbs(&self, path: &Path, asked: &str) -> Result<PathBuf, Refusal> {
        if !climbs(path) {
            return Ok(path.to_path_buf());
        }
        self.crossing.enter(path)?;
        let parts: Vec<Component<'_>> = path.components().collect();
        let last = parts.iter().rposition(|part| *part == Component::ParentDir);
        let (head, tail) = parts.split_at(last.map_or(0, |last| last + 1));
        let bases = self.bases(path, false);
        let mut plain = PathBuf::new();
        let mut climbs = 0;
        for (index, part) in head.iter().enumerate() {
            if *part != Component::ParentDir {
                plain.push(part);
                continue;
            }
            // A denied name may not be climbed out of either: that would tell what it is. What is
            // above it was judged with it.
            if index > 0 && head[index - 1] != Component::ParentDir {
                climbs += 1;
                if climbs > MAX_CLIMBS {
                    return Err(Refusal::NotFound {
                        path: asked.to_owned(),
                        suggestions: Vec::new(),
                    });
                }
                self.judge_way(&bases, &plain, asked)?;
            }
            plain.pop();
        }
        let walked = self.walk(&bases, &head.iter().collect::<PathBuf>(), asked)?;
        Ok(walked
            .path
            .components()
            .chain(tail.iter().copied())
            .collect())
    }

    /// Follows `path` link by link. Refuses where a link inside is itself denied.
    fn walk(&self, bases: &Bases<'_>, path: &Path, asked: &str) -> Result<Walked, Refusal> {
        let start = bases.innermost(path);
        let below = path.strip_prefix(start).unwrap_or(path);
        // Components still to go, and whether a link brought them in.
        let mut ahead: VecDeque<(OsString, bool)> = names_of(below, false).collect();
        let mut at = start.to_path_buf();
        let mut depth = names_of(start, false).count();
        // The depth of the directory in which a name was not found: below it nothing is.
        let mut missing_in = None;
        let mut before_links = None;
        let mut wandered = false;
        let mut links = 0;
        while let Some((name, from_link)) = ahead.pop_front() {
            if name == ".." {
                wandered |= from_link && !bases.may_look(&at);
                depth -= usize::from(at.pop());
                missing_in = missing_in.filter(|missing_in| *missing_in < depth);
                continue;
            }
            at.push(&name);
            depth += 1;
            if missing_in.is_some() || links == MAX_LINKS || !bases.may_look(&at) {
                continue;
            }
            let target = match std::fs::read_link(&at) {
                Ok(target) => target,
                Err(error) => {
                    if is_missing(&error) {
                        missing_in = Some(depth - 1);
                        before_links.get_or_insert_with(|| parent_of(&at));
                    }
                    continue;
                }
            };
            links += 1;
            if bases.containing(&at).next().is_some() {
                self.judge_rules(bases, &at, PathKind::Unknown, asked)?;
            }
            before_links.get_or_insert_with(|| parent_of(&at));
            depth -= usize::from(at.pop());
            if target.is_absolute() {
                (at, depth) = (PathBuf::from("/"), 0);
            }
            let parts: Vec<_> = names_of(&target, true).collect();
            for part in parts.into_iter().rev() {
                ahead.push_front(part);
            }
        }
        let below = missing_in.map_or(0, |missing_in| depth - missing_in);
        let there = at.ancestors().nth(below).unwrap_or(&at).to_path_buf();
        Ok(Walked {
            before_links: before_links.unwrap_or_else(|| at.clone()),
            there,
            path: at,
            has_links: links > 0,
            wandered,
        })
    }

    /// The rule that denies `path`, if one does: that of an ignore file before one of the settings.
    /// Ignore files are asked in the directories from the root down to the parent, as far as those
    /// are also above or at `known`.
    fn rule(&self, bases: &Bases<'_>, path: &Path, kind: PathKind, known: &Path) -> Option<Rule> {
        let containing: Vec<&Path> = bases.containing(path).collect();
        // Outside every root, and allowed to be: the rules hold from the top down.
        let outermost = containing.iter().min_by_key(|base| base.as_os_str().len());
        let outermost = outermost.copied().unwrap_or(Path::new("/"));
        let below = Below::new(outermost, path);
        let others = containing.iter().filter(|base| **base != outermost);
        let denied = self.deny_rule(&below, kind).or_else(|| {
            others
                .map(|base| Below::new(base, path))
                .find_map(|below| self.deny_rule(&below, kind))
        });
        self.ignore_rule(bases, &below, kind, known).or(denied)
    }

    fn deny_rule(&self, below: &Below<'_>, kind: PathKind) -> Option<Rule> {
        for depth in 1..=below.names.len() {
            for is_dir in below.kinds(depth, kind) {
                let verdict = self.deny.verdict(below.folded(0, depth), *is_dir);
                if let Verdict::Denied(pattern) = verdict {
                    return Some(Rule::Setting { pattern });
                }
            }
        }
        None
    }

    fn ignore_rule(
        &self,
        bases: &Bases<'_>,
        below: &Below<'_>,
        kind: PathKind,
        known: &Path,
    ) -> Option<Rule> {
        if self.ignore_files.names().is_empty() || below.names.is_empty() {
            return None;
        }
        let parents = &below.names[..below.names.len() - 1];
        let directories = self.rules_down(bases, below.base, parents, known, &|_| true);
        // Each file name has rules of its own: one cannot re-allow what another denies.
        for (index, name) in self.ignore_files.names().iter().enumerate() {
            let rules: Vec<&PathRules> = directories.iter().map(|rules| rules.of(index)).collect();
            if let Some(rule) = below.ignore_rule(&rules, name, kind) {
                return Some(rule);
            }
        }
        None
    }

    /// The ignore files of `base` and of each directory down from there along `names`, as far as
    /// those are also above or at `known`. The last directory `may_have` them.
    fn rules_down(
        &self,
        bases: &Bases<'_>,
        base: &Path,
        names: &[&OsStr],
        known: &Path,
        may_have: &MayHave<'_>,
    ) -> Vec<Arc<DirRules>> {
        let open = |path: &Path| {
            let opened = Unjudged::open(path)?;
            match opened.real().is_some_and(|real| bases.allow(real)) {
                true => Ok(opened.allowed(path)),
                false => Err(io::ErrorKind::PermissionDenied.into()),
            }
        };
        let mut rules = Vec::with_capacity(names.len() + 1);
        let mut directory = base.to_path_buf();
        let mut names = names.iter();
        while known.starts_with(&directory) {
            let next = names.next();
            let may_have = if next.is_some() {
                &|_: &str| true
            } else {
                may_have
            };
            rules.push(self.ignore_files.at(&directory, may_have, &open));
            match next {
                Some(name) => directory.push(name),
                None => break,
            }
        }
        rules
    }
}

/// The user's home directory, from the environment alone.
pub(super) fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from)?;
    home.is_absolute().then_some(home)
}

/// Nothing is there, and nothing can be below it.
fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

fn parent_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_path_buf()
}

/// For who would make or replace what is found under a name that is not listed.
fn unlisted(asked: &str) -> Refusal {
    Refusal::NoSuchPart {
        path: asked.to_owned(),
        message: format!(
            "File not found: {asked}. The file system knows that name, but no folder lists it so; use the listed name."
        ),
        suggestions: Vec::new(),
    }
}

fn names_of(path: &Path, from_link: bool) -> impl Iterator<Item = (OsString, bool)> {
    path.components().filter_map(move |part| match part {
        Component::Normal(name) => Some((name.to_owned(), from_link)),
        Component::ParentDir => Some((OsString::from(".."), from_link)),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

fn outside(asked: &str, walked: &Walked) -> Refusal {
    Refusal::OutsideWorkspace {
        path: asked.to_owned(),
        real_path: walked.path.to_string_lossy().into_owned(),
    }
}

fn denied(asked: &str, rule: Rule) -> Refusal {
    Refusal::Denied {
        path: asked.to_owned(),
        rule,
    }
}
