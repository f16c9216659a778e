//! What is made ready before a file is moved or deleted; `rename` then gives the names.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use crate::workspace::{FileType, Folder, NewPlace, RealPath};

use super::FileWrite;
use super::content::{Planned, read_all};
use super::error::{FileError, attempt, step};
use super::journal::{JournalEntry, next_number};
use super::lease::stays_open_for_writing;
use super::metadata::{FileMetadata, Old, refuse_guarded};
use super::rename::{
    NameChange, NameOf, Renamed, Renaming, inode_at, leads, looked_at, unsupported,
};
use super::stage::{For, NAME_LIMITS, StageContext, Staged, Way, like, temporary_name};
use super::write_step::WriteStep;

impl StageContext<'_, '_> {
    /// Makes everything ready for a name to become another one, after the bytes are written that
    /// come with it.
    pub(super) fn rename(
        &mut self,
        index: usize,
        write: Option<FileWrite>,
        change: NameChange,
    ) -> Result<Vec<Staged>, FileError> {
        let NameChange { from, to } = change;
        let real = from.real().clone();
        let (folder, name) = self.place_of(&real)?;
        let Some(to) = to else {
            let what = self.renamed(&folder, from)?;
            return Ok(vec![self.deletion(index, (real, folder, name), what)?]);
        };
        let target = self.new_folder(&to)?;
        if let NameOf::File { .. } = &from
            && device_of(&folder)? != device_of(&target.0)?
        {
            return self.across(index, write, (real, folder, name), from, (to, target));
        }
        let mut staged = Vec::new();
        if let Some(write) = write {
            staged.push(self.file(index, write)?);
        }
        let (what, inode) = match (&from, staged.first()) {
            (NameOf::File { .. }, Some(written)) => (Renamed::Written, written.new_inode()),
            _ => {
                let what = self.renamed(&folder, from)?;
                let inode = what.inode();
                (what, inode)
            }
        };
        let inode = inode.ok_or(FileError::Gone)?;
        let by = to.is_alias.then(|| self.free_name(&folder, &name));
        let by = by.transpose()?;
        let path = real.as_path().to_path_buf();
        let mut places = vec![path];
        places.extend(by.as_ref().map(|by| folder.real().join(by)));
        places.push(target.0.real().join(&target.1));
        for pair in places.windows(2) {
            self.cleanup.note(&JournalEntry::Moved {
                path: pair[0].clone(),
                to: pair[1].clone(),
                inode,
            })?;
        }
        let new = what.planned();
        staged.push(Staged {
            index,
            real,
            folder,
            name,
            new,
            way: Way::Rename(Renaming {
                what,
                inode,
                to: target,
                by,
                is_deletion: false,
            }),
        });
        Ok(staged)
    }

    fn deletion(
        &mut self,
        index: usize,
        (real, folder, name): (RealPath, Arc<Folder>, OsString),
        what: Renamed,
    ) -> Result<Staged, FileError> {
        let inode = what.inode().ok_or(FileError::Gone)?;
        let aside = self.free_name(&folder, &name)?;
        self.cleanup.note(&JournalEntry::Deleted {
            path: real.as_path().to_path_buf(),
            to: folder.real().join(&aside),
            inode,
        })?;
        Ok(Staged {
            index,
            real,
            folder: folder.clone(),
            name,
            new: what.planned(),
            way: Way::Rename(Renaming {
                what,
                inode,
                to: (folder, aside),
                by: None,
                is_deletion: true,
            }),
        })
    }

    /// To another file system: a copy there, and the file goes.
    fn across(
        &mut self,
        index: usize,
        write: Option<FileWrite>,
        place: (RealPath, Arc<Folder>, OsString),
        from: NameOf,
        (to, (target, name)): (NewPlace, (Arc<Folder>, OsString)),
    ) -> Result<Vec<Staged>, FileError> {
        let what = self.renamed(&place.1, from)?;
        let Renamed::File(old) = &what else {
            return Err(FileError::Gone);
        };
        let shown = place.0.as_path().display().to_string();
        if stays_open_for_writing(&old.file) {
            return Err(unsupported(
                &shown,
                "another program has it open for writing, and what that writes would be lost on the way to another file system. Close it there first",
            ));
        }
        let bytes = match write {
            Some(write) => write.bytes,
            None => step(WriteStep::Copy, || read_all(&old.file))?.into(),
        };
        let new = Planned::of(&bytes);
        let creation = For {
            folder: &target,
            name: &name,
            old: None,
            new,
        };
        let Some(temporary) = like(self.cleanup, creation, old, &bytes)? else {
            return Err(unsupported(
                &shown,
                "it would be on another file system, where it cannot have the owner, mode and attributes that it has",
            ));
        };
        let made = Staged {
            index,
            real: to.real,
            folder: target,
            name,
            new,
            way: Way::Create { temporary },
        };
        Ok(vec![made, self.deletion(index, place, what)?])
    }

    fn place_of(&mut self, real: &RealPath) -> Result<(Arc<Folder>, OsString), FileError> {
        let path = real.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::Gone);
        };
        Ok((self.folders.existing(parent)?, name.to_owned()))
    }

    /// The folder of a new place, made where it is missing; nothing has the name there.
    fn new_folder(&mut self, to: &NewPlace) -> Result<(Arc<Folder>, OsString), FileError> {
        let path = to.real.as_path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::Gone);
        };
        let folder = self.folders.made(parent, self.cleanup)?;
        if !to.is_alias && is_taken(&folder, name)? {
            return Err(FileError::Exists);
        }
        Ok((folder, name.to_owned()))
    }

    /// What has the name now, if it is what was planned on.
    fn renamed(&self, folder: &Arc<Folder>, from: NameOf) -> Result<Renamed, FileError> {
        match from {
            NameOf::File {
                real,
                stamp,
                planned,
            } => {
                let handle = match attempt(WriteStep::Open, || folder.open(&real)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        return Err(FileError::Gone);
                    }
                    opened => opened.map_err(|error| FileError::Io(WriteStep::Open, error))?,
                };
                if handle.file_type() != FileType::Regular {
                    return Err(FileError::Changed);
                }
                let file = Arc::new(step(WriteStep::Open, || handle.open_read())?);
                let look = step(WriteStep::Open, || FileMetadata::at(&*file))?;
                step(WriteStep::Flags, || refuse_guarded(&file))?;
                // An equal stamp is no proof, but it is read again before anything goes.
                if !look.is_of(&stamp) && !step(WriteStep::Open, || planned.is_in(&file))? {
                    return Err(FileError::Changed);
                }
                Ok(Renamed::File(Old {
                    file,
                    look,
                    planned,
                }))
            }
            NameOf::Link { real, leads_to } => {
                let name = real.as_path().file_name().unwrap_or_default();
                let look = looked_at(folder, name, WriteStep::Open)?;
                match leads(folder, name)? == leads_to {
                    true => Ok(Renamed::Link { look, leads_to }),
                    false => Err(FileError::Changed),
                }
            }
        }
    }

    /// A name of a temporary that nothing has.
    fn free_name(&self, folder: &Folder, name: &OsStr) -> Result<OsString, FileError> {
        let shortest = NAME_LIMITS.into_iter().min().unwrap_or_default();
        loop {
            let free = temporary_name(name, next_number(), shortest);
            if !is_taken(folder, &free)? {
                return Ok(free);
            }
        }
    }
}

fn device_of(folder: &Folder) -> Result<i128, FileError> {
    let look = step(WriteStep::Open, || FileMetadata::at(folder))?;
    Ok(look.inode.0)
}

fn is_taken(folder: &Folder, name: &OsStr) -> Result<bool, FileError> {
    step(WriteStep::Open, || inode_at(folder, name)).map(|inode| inode.is_some())
}
