//! The steps of a write, by the names that failpoints and messages give them.

/// A step of a write that can fail. Each is a failpoint too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteStep {
    Note,
    Open,
    MakeDirectory,
    Create,
    Write,
    Owner,
    Mode,
    Attributes,
    /// Inode flags, those of chattr(1).
    Flags,
    Sync,
    Copy,
    /// Locks a file that is to be changed.
    Lock,
    /// Locks a file that is to take another's name.
    LockNew,
    /// Opens the file that is locked where the file itself cannot be.
    LockFile,
    /// Asks whether somebody has the file open for writing.
    Lease,
    Recheck,
    Exchange,
    /// Gives a name to a new file, if nothing has it.
    Claim,
    Link,
    Rename,
    /// Gives a file that is moved its new name.
    Move,
    /// Takes the name of a file that is deleted.
    Delete,
    Overwrite,
    SyncDirectory,
    Rollback,
    Remove,
    /// Looks at what was written.
    Record,
    /// Looks whether it parses, perhaps while it is written.
    Check,
    /// Makes the answer, when the turn is over.
    Answer,
}

impl WriteStep {
    /// How `PILCROW_FAIL` calls it.
    pub fn point(self) -> &'static str {
        match self {
            WriteStep::Note => "note",
            WriteStep::Open => "open",
            WriteStep::MakeDirectory => "mkdir",
            WriteStep::Create => "create",
            WriteStep::Write => "write",
            WriteStep::Owner => "chown",
            WriteStep::Mode => "chmod",
            WriteStep::Attributes => "xattr",
            WriteStep::Flags => "chattr",
            WriteStep::Sync => "fsync",
            WriteStep::Copy => "copy",
            WriteStep::Lock => "lock",
            WriteStep::LockNew => "locknew",
            WriteStep::LockFile => "lockfile",
            WriteStep::Lease => "lease",
            WriteStep::Recheck => "recheck",
            WriteStep::Exchange => "exchange",
            WriteStep::Claim => "claim",
            WriteStep::Link => "link",
            WriteStep::Rename => "rename",
            WriteStep::Move => "move",
            WriteStep::Delete => "delete",
            WriteStep::Overwrite => "overwrite",
            WriteStep::SyncDirectory => "fsyncdir",
            WriteStep::Rollback => "rollback",
            WriteStep::Remove => "remove",
            WriteStep::Record => "record",
            WriteStep::Check => "check",
            WriteStep::Answer => "answer",
        }
    }
}

/// What was being done, as in "could not … 'FILE'".
impl std::fmt::Display for WriteStep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            WriteStep::Note => "note what is about to be done to",
            WriteStep::Open => "open for writing",
            WriteStep::MakeDirectory => "make the directory for",
            WriteStep::Create => "make a temporary file beside",
            WriteStep::Write => "write the new text of",
            WriteStep::Owner => "keep the owner of",
            WriteStep::Mode => "keep the mode of",
            WriteStep::Attributes => "keep the attributes of",
            WriteStep::Flags => "keep the inode flags of",
            WriteStep::Sync => "flush to the disk",
            WriteStep::Copy => "keep a recovery copy of",
            WriteStep::Lock | WriteStep::LockFile => "lock",
            WriteStep::LockNew => "lock the temporary file beside",
            WriteStep::Lease => "ask who has open",
            WriteStep::Recheck | WriteStep::Record => "look again at",
            WriteStep::Check => "parse",
            WriteStep::Answer => "tell of",
            WriteStep::Exchange | WriteStep::Claim | WriteStep::Rename => {
                "put the new text in the place of"
            }
            WriteStep::Move => "move",
            WriteStep::Delete => "delete",
            WriteStep::Link => "keep the old text of",
            WriteStep::Overwrite => "overwrite",
            WriteStep::SyncDirectory => "flush to the disk the directory of",
            WriteStep::Rollback => "put back the old text of",
            WriteStep::Remove => "remove the temporary file beside",
        })
    }
}
