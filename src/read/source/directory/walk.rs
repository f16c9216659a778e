//! What a listing shows of a directory and of those in it, two deep; an ignored directory is never even opened.

use std::collections::HashSet;
use std::io::ErrorKind;

use crate::protocol::Refusal;
use crate::task::Work;
use crate::view::listing::{Contents, Inside, ListedKind, ListedName, Rest};
use crate::workspace::{self, Directory, EntryKind, FileType, Handle, ListError, Scope};

/// Entries that are read of one directory.
const MAX_ENTRIES: usize = 200_000;

/// Entries that are shown of a directory in the one that was asked for.
const SHOWN_IN_CHILD: usize = 12;

/// What is read of all directories in the one that was asked for: directories, and their entries.
const CHILDREN: Allowance = Allowance {
    directories: 2_000,
    entries: 400_000,
};

#[derive(Debug, Clone, Copy)]
struct Allowance {
    directories: usize,
    entries: usize,
}

/// An entry, and which of the directories that are listed as one it is in.
#[derive(Debug)]
struct ListedEntry {
    entry: workspace::Entry,
    of: usize,
}

/// All of what is in the directory, newest first; `deep`, with the newest of what is in those in it.
/// Where several have its address they are listed as one, and of one name the first has it.
/// `spelled` is for the refusal when it cannot be read.
pub fn contents(
    handle: &Handle,
    spelled: &str,
    deep: bool,
    scope: &Scope,
    work: &Work,
) -> Result<Contents, Refusal> {
    let refuse = |error: ListError| match error {
        ListError::Io(error) => Refusal::io(spelled, &error),
        ListError::Stopped(stopped) => stopped.into(),
    };
    let first = scope
        .list(handle)
        .map_err(|error| refuse(ListError::Io(error)))?;
    let behind = scope.directories_behind(handle);
    let more = behind.iter().filter_map(|handle| scope.list(handle).ok());
    let mut directories: Vec<Directory> = std::iter::once(first).chain(more).collect();
    let mut left = CHILDREN;
    let (entries, is_cut) = sorted(&mut directories, work).map_err(refuse)?;
    let mut shown = Vec::with_capacity(entries.len());
    for ListedEntry { entry, of } in entries {
        let inside = match entry.kind {
            EntryKind::Directory { ignored: true } => Some(Inside::Ignored),
            EntryKind::Mount(_) if !deep => None,
            EntryKind::Mount(ref kind) => Some(Inside::Mount(kind.clone())),
            EntryKind::Directory { ignored: false } if !deep => None,
            EntryKind::Link(Some(_)) if !deep => {
                work.check()?;
                let link = directories[of].real().join(&entry.name);
                let leads_to = scope.open(&link).ok();
                let is_directory =
                    leads_to.is_some_and(|found| found.file_type() == FileType::Directory);
                is_directory.then_some(Inside::NotOpened)
            }
            EntryKind::Directory { ignored: false } => {
                match inside(&directories[of..], &entry, &mut left, work) {
                    Ok(inside) => Some(inside),
                    // It went away, or became something else, after its name was read.
                    Err(ListError::Io(_)) => continue,
                    Err(stopped) => return Err(refuse(stopped)),
                }
            }
            _ => None,
        };
        shown.push(written(entry, inside));
    }
    Ok(Contents {
        entries: shown,
        rest: match is_cut {
            true => Rest::MoreThan(MAX_ENTRIES as u64),
            false => Rest::Nothing,
        },
    })
}

/// How exactly times are compared: what a checkout wrote within one is in order of name.
const MINUTE_NS: i128 = 60_000_000_000;

/// The entries, newest first by the minute and then by name; and whether there are more than
/// these.
fn sorted(
    directories: &mut [Directory<'_>],
    work: &Work,
) -> Result<(Vec<ListedEntry>, bool), ListError> {
    let mut all: Vec<ListedEntry> = Vec::new();
    let mut is_cut = false;
    for (of, directory) in directories.iter_mut().enumerate() {
        let found = directory.read(MAX_ENTRIES, work)?;
        is_cut |= found.is_cut;
        let known: HashSet<_> = match of {
            0 => HashSet::new(),
            _ => all.iter().map(|it| it.entry.name.clone()).collect(),
        };
        let new = found.entries.into_iter();
        let new = new.filter(|entry| !known.contains(&entry.name));
        all.extend(new.map(|entry| ListedEntry { entry, of }));
    }
    all.sort_unstable_by(|a, b| {
        let (a, b) = (&a.entry, &b.entry);
        let minute = |entry: &workspace::Entry| Some(entry.modified_ns?.div_euclid(MINUTE_NS));
        let newest_first = minute(b).cmp(&minute(a));
        newest_first.then_with(|| a.name_bytes().cmp(b.name_bytes()))
    });
    Ok((all, is_cut))
}

/// What is in a directory in the one that was asked for, as far as the allowance lasts. Errors
/// with `Io` where there is no such directory any more.
fn inside(
    parents: &[Directory<'_>],
    entry: &workspace::Entry,
    left: &mut Allowance,
    work: &Work,
) -> Result<Inside, ListError> {
    if left.directories == 0 || left.entries == 0 {
        return Ok(Inside::NotOpened);
    }
    work.check()?;
    left.directories -= 1;
    let mut children = parents.iter().map(|parent| parent.child(&entry.name));
    let first = children.next().unwrap_or(Err(ErrorKind::NotFound.into()));
    let read = first.map_err(ListError::Io).and_then(|first| {
        // What is no directory behind it is not reached.
        let behind = children.filter_map(Result::ok);
        let mut all: Vec<Directory> = std::iter::once(first).chain(behind).collect();
        sorted(&mut all, work)
    });
    let (entries, is_cut) = match read {
        Ok(read) => read,
        Err(ListError::Io(error)) if is_gone(&error) => return Err(ListError::Io(error)),
        Err(ListError::Io(error)) => return Ok(Inside::Unreadable(in_words(&error))),
        Err(stopped) => return Err(stopped),
    };
    left.entries = left.entries.saturating_sub(entries.len());
    let hidden = entries.len().saturating_sub(SHOWN_IN_CHILD);
    let rest = match (is_cut, hidden) {
        (true, _) => Rest::MoreThan(MAX_ENTRIES as u64),
        (false, 0) => Rest::Nothing,
        (false, hidden) => Rest::More(hidden as u64),
    };
    let shown = entries.into_iter().take(SHOWN_IN_CHILD);
    let shown = shown.map(|ListedEntry { entry, .. }| {
        let inside = match entry.kind {
            EntryKind::Directory { ignored: true } => Some(Inside::Ignored),
            EntryKind::Mount(ref kind) => Some(Inside::Mount(kind.clone())),
            EntryKind::Directory { ignored: false } => Some(Inside::Contents(Contents::default())),
            _ => None,
        };
        written(entry, inside)
    });
    Ok(Inside::Contents(Contents {
        entries: shown.collect(),
        rest,
    }))
}

/// The limit by which something of a listing was left out, if one was.
pub fn limit_met(contents: &Contents) -> Option<u64> {
    if let Rest::MoreThan(read) = contents.rest {
        return Some(read);
    }
    let mut inside = contents
        .entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            ListedKind::Directory(inside) => Some(inside),
            _ => None,
        });
    inside.find_map(|inside| match inside {
        Inside::Contents(Contents {
            rest: Rest::Nothing,
            ..
        }) => None,
        Inside::Contents(_) => Some(SHOWN_IN_CHILD as u64),
        Inside::NotOpened => Some(CHILDREN.directories as u64),
        Inside::Ignored | Inside::Unreadable(_) | Inside::Mount(_) => None,
    })
}

/// `inside` is that of a directory, and set of a link that leads to one.
fn written(entry: workspace::Entry, inside: Option<Inside>) -> ListedName {
    ListedName {
        name: entry.name.to_string_lossy().into_owned(),
        modified_ns: entry.modified_ns,
        kind: match entry.kind {
            EntryKind::Directory { .. } | EntryKind::Mount(_) => {
                ListedKind::Directory(inside.unwrap_or(Inside::NotOpened))
            }
            EntryKind::File(size) => ListedKind::File(size),
            EntryKind::Link(_) if inside.is_some() => ListedKind::LinkToDirectory,
            EntryKind::Link(to) => ListedKind::Link(to.map(|to| to.to_string_lossy().into_owned())),
            EntryKind::Special(what) => ListedKind::Special(what),
        },
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// `permission denied`: the system's own words, within a sentence.
fn in_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    words.to_lowercase()
}
