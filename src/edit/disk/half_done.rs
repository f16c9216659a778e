//! A write of several files that was killed between two of them: taken back or brought to its end, by its journal; a file that somebody changed since is left alone.
//!
//! Taken back wherever that can be, since nobody was told that it was done. Both are writes like any
//! other: all or none, under locks, noted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;

use crate::task::{CancelToken, Work};
use crate::workspace::{FileType, Handle, RealPath};

use super::content::{Planned, read_all};
use super::journal::JournalEntry;
use super::recovery::{Recovery, Whereabouts};
use super::renamed::NoteOfName;
use super::{FileWrite, LOCK_WAIT, Target};

/// One file of a write, by the journal.
#[derive(Debug)]
struct HalfDoneFile {
    path: PathBuf,
    /// What it held; `None` for a file that was to be made.
    old: Option<Planned>,
    new: Planned,
    /// The bytes of both, as far as something still has them.
    old_bytes: Option<Vec<u8>>,
    new_bytes: Option<Vec<u8>>,
    now: Now,
}

/// What is there now.
#[derive(Debug)]
enum Now {
    Old(Option<Handle>),
    New(Handle),
    /// Something else. Whether ours was there before is told by what is left of it.
    Other {
        was_written: bool,
    },
}

impl HalfDoneFile {
    /// Whether the file is as the write made it.
    fn is_new(&self) -> bool {
        matches!(self.now, Now::New(_))
    }

    /// Whether the write had come to it.
    fn is_written(&self) -> bool {
        match self.now {
            Now::Old(_) => false,
            Now::New(_) => true,
            Now::Other { was_written } => was_written,
        }
    }
}

impl Recovery<'_> {
    /// Makes the files of a journal agree: all as before the write, or all as after it. Whether they
    /// do; else what is left of the write is still needed.
    pub(super) fn settle(&mut self, entries: &[JournalEntry]) -> bool {
        let noted = by_target(entries);
        // Another start has all of its roots.
        let Some(names) = self.names(entries) else {
            return false;
        };
        if noted.len() + names.len() < 2 {
            return true;
        }
        let Some(mut pieces) = self.pieces(&noted, &names) else {
            return false;
        };
        let written = pieces.iter().filter(|piece| piece.is_written()).count();
        let renamed = names.iter().filter(|name| name.is_done).count();
        if [0, pieces.len() + names.len()].contains(&(written + renamed)) {
            return true;
        }
        if names.is_empty() && self.is_left && !pieces.iter().any(HalfDoneFile::is_new) {
            // Said by an earlier start, which left the journal for the sake of one file.
            return true;
        }
        let outcome = match names.is_empty() {
            true => self.undo_or_complete(&pieces),
            false => self.names_back(&names).and_then(|()| {
                // Each file is where it was before.
                let now = self.pieces(&noted, &[]);
                pieces = now.ok_or("a file cannot be reached")?;
                self.undo(&pieces).map(|()| Became::Undone)
            }),
        };
        self.problems.push(told(&pieces, &names, &outcome));
        outcome.is_ok()
    }

    /// What there is of each file, where `names` have brought them; `None` where one cannot be
    /// reached, or not in these roots.
    fn pieces(
        &mut self,
        noted: &BTreeMap<&Path, About>,
        names: &[NoteOfName],
    ) -> Option<Vec<HalfDoneFile>> {
        let pieces = noted.iter().map(|(path, about)| {
            let place = self.place_now(path, names);
            self.piece(path, &place, about)
        });
        pieces.collect()
    }

    /// What there is of one file, which is at `place` now; `None` where it cannot be reached, or not in
    /// these roots.
    fn piece(&self, path: &Path, place: &Path, about: &About) -> Option<HalfDoneFile> {
        let mut piece = HalfDoneFile {
            path: path.to_path_buf(),
            old: about.old,
            new: about.new,
            old_bytes: None,
            new_bytes: None,
            now: Now::Old(None),
        };
        for temporary in &about.temporaries {
            let bytes = match self.open(temporary) {
                Whereabouts::Here(handle) => {
                    handle.open_read().and_then(|file| read_all(&file)).ok()
                }
                Whereabouts::Gone => None,
                Whereabouts::Closed => return None,
            };
            let Some(bytes) = bytes else { continue };
            let held = Planned::of(&bytes);
            if Some(held) == piece.old {
                piece.old_bytes = Some(bytes);
            } else if held == piece.new {
                piece.new_bytes = Some(bytes);
            }
        }
        if let (Some(copy), Some(old)) = (about.copy, &piece.old)
            && let Some((_, old_bytes, new_bytes)) = self.copy_of(copy, (old, &piece.new))
        {
            (piece.old_bytes, piece.new_bytes) = (Some(old_bytes), Some(new_bytes));
        }
        // A new text that is still beside its file was not put in its place.
        let was_written = piece.new_bytes.is_none() || about.copy.is_some();
        let other = Now::Other { was_written };
        piece.now = match self.open(place) {
            Whereabouts::Closed => return None,
            Whereabouts::Gone if piece.old.is_none() => Now::Old(None),
            Whereabouts::Here(handle) if handle.file_type() == FileType::Regular => {
                let file = handle.open_read().ok()?;
                if piece.new.is_in(&file).ok()? {
                    Now::New(handle)
                } else if let Some(old) = piece.old
                    && old.is_in(&file).ok()?
                {
                    Now::Old(Some(handle))
                } else {
                    other
                }
            }
            Whereabouts::Gone | Whereabouts::Here(_) => other,
        };
        Some(piece)
    }

    /// Errors with why it could be neither.
    fn undo_or_complete(&self, pieces: &[HalfDoneFile]) -> Result<Became, String> {
        let can_undo = |piece: &HalfDoneFile| match piece.now {
            Now::New(_) => piece.old.is_none() || piece.old_bytes.is_some(),
            _ => true,
        };
        let can_complete = |piece: &HalfDoneFile| match piece.now {
            Now::Old(_) => piece.new_bytes.is_some(),
            _ => true,
        };
        if pieces.iter().all(can_undo) {
            self.undo(pieces).map(|()| Became::Undone)
        } else if pieces.iter().all(can_complete) {
            self.complete(pieces).map(|()| Became::Completed)
        } else {
            Err("the texts are gone".to_owned())
        }
    }

    fn undo(&self, pieces: &[HalfDoneFile]) -> Result<(), String> {
        let is_lost = |piece: &HalfDoneFile| {
            piece.is_new() && piece.old.is_some() && piece.old_bytes.is_none()
        };
        if pieces.iter().any(is_lost) {
            return Err("the texts are gone".to_owned());
        }
        let back = pieces.iter().filter_map(|piece| match &piece.now {
            Now::New(handle) => Some(FileWrite {
                target: Target::opened(handle, piece.new),
                bytes: piece.old_bytes.as_deref()?.into(),
            }),
            _ => None,
        });
        self.write(back.collect())?;
        for piece in pieces {
            if let (None, Now::New(handle)) = (piece.old, &piece.now) {
                self.remove_made(handle, piece.new)?;
            }
        }
        Ok(())
    }

    fn complete(&self, pieces: &[HalfDoneFile]) -> Result<(), String> {
        let mut writes = Vec::new();
        for piece in pieces {
            let (Now::Old(handle), Some(bytes)) = (&piece.now, &piece.new_bytes) else {
                continue;
            };
            let target = match (handle, piece.old) {
                (Some(handle), Some(old)) => Target::opened(handle, old),
                _ => Target::New {
                    path: self.destination(&piece.path)?,
                },
            };
            writes.push(FileWrite {
                target,
                bytes: bytes.as_slice().into(),
            });
        }
        self.write(writes)
    }

    fn destination(&self, path: &Path) -> Result<RealPath, String> {
        let text = path.to_str().ok_or("a path that is not UTF-8")?;
        self.scope
            .destination(text)
            .map_err(|error| error.to_string())
    }

    fn write(&self, files: Vec<FileWrite>) -> Result<(), String> {
        let work = Work::new(CancelToken::new(), LOCK_WAIT * 4);
        let written = self.writer.write(self.scope, files, &work);
        written.map(drop).map_err(|error| error.to_string())
    }

    /// Removes a file that the write made, if it is still what was made.
    fn remove_made(&self, handle: &Handle, new: Planned) -> Result<(), String> {
        let path = handle.real().as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(());
        };
        let file = handle.open_read().map_err(|error| error.to_string())?;
        let (file, _locks) = self
            .locked(handle, file)
            .map_err(|fault| fault.of(0).to_string())?;
        let is_ours = new.is_in(&file).map_err(|error| error.to_string())?;
        let Whereabouts::Here(folder) = self.folder(parent) else {
            return Ok(());
        };
        if is_ours && handle.still_there() {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// What became of a write.
#[derive(Debug)]
enum Became {
    Undone,
    Completed,
}

/// What is said of it.
fn told(pieces: &[HalfDoneFile], names: &[NoteOfName], outcome: &Result<Became, String>) -> String {
    let list = |wanted: fn(&HalfDoneFile) -> bool| {
        let paths = pieces.iter().filter(|piece| wanted(piece));
        let paths = paths.map(|piece| piece.path.display().to_string());
        paths.collect::<Vec<_>>().join(", ")
    };
    let became = match outcome {
        Ok(Became::Undone) => "It was undone: its files are as they were before".to_owned(),
        Ok(Became::Completed) => "It was completed: its files have their new texts".to_owned(),
        Err(why) if names.is_empty() => format!(
            "It could be neither undone nor completed ({why}): only {} have the new text",
            list(HalfDoneFile::is_new)
        ),
        Err(why) => {
            let moved = names.iter().filter(|name| name.is_done);
            let moved =
                moved.map(|name| format!("{} is {}", name.path.display(), name.to.display()));
            let moved: Vec<String> = moved.collect();
            format!("It could not be undone ({why}): {}", moved.join(", "))
        }
    };
    let paths = pieces.iter().map(|piece| piece.path.as_path());
    let paths: BTreeSet<&Path> = paths.chain(names.iter().map(|name| name.path)).collect();
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let all = paths.join(", ");
    let mut told = format!("A write of {all} was cut short when its process died. {became}");
    let left_alone = list(|piece| matches!(piece.now, Now::Other { .. }));
    if !left_alone.is_empty() {
        told.push_str(", but for those that somebody changed meanwhile: ");
        told.push_str(&left_alone);
    }
    told.push('.');
    told
}

/// What a journal says of one file.
#[derive(Debug)]
struct About<'a> {
    old: Option<Planned>,
    new: Planned,
    temporaries: Vec<&'a Path>,
    /// The name of its recovery copy.
    copy: Option<&'a str>,
}

fn by_target(entries: &[JournalEntry]) -> BTreeMap<&Path, About<'_>> {
    let mut noted: BTreeMap<&Path, About> = BTreeMap::new();
    for entry in entries {
        let (target, old, new) = match entry {
            JournalEntry::Temporary {
                target, old, new, ..
            } => (target, *old, new),
            JournalEntry::Overwritten { path, old, new, .. } => (path, Some(*old), new),
            JournalEntry::NotMade { .. }
            | JournalEntry::Directory { .. }
            | JournalEntry::Moved { .. }
            | JournalEntry::Deleted { .. } => continue,
        };
        let about = noted.entry(target).or_insert_with(|| About {
            old,
            new: *new,
            temporaries: Vec::new(),
            copy: None,
        });
        match entry {
            JournalEntry::Temporary { path, .. } => about.temporaries.push(path),
            JournalEntry::Overwritten { copy, .. } => about.copy = Some(copy),
            _ => {}
        }
    }
    noted
}
