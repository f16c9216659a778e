//! A file that a worker may read: a path and the inode that it led to when the daemon judged it.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// One such file. It goes to the worker as an argument, `DEVICE:INODE:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readable {
    /// Absolute, without links on the way.
    pub path: PathBuf,
    /// The device of the inode.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl Readable {
    /// As the hidden command `worker` takes it: `DEVICE:INODE:PATH`.
    pub fn to_argument(&self) -> OsString {
        let mut argument = OsString::from(format!("{}:{}:", self.device, self.inode));
        argument.push(&self.path);
        argument
    }

    /// `None` for what [`Readable::to_argument`] never makes.
    pub fn from_argument(argument: &OsStr) -> Option<Readable> {
        let mut parts = argument.as_bytes().splitn(3, |byte| *byte == b':');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let (device, inode) = (number()?, number()?);
        let path = OsString::from_vec(parts.next()?.to_vec());
        Some(Readable {
            path: path.into(),
            device,
            inode,
        })
    }

    /// Whether this is the inode.
    pub fn is(&self, metadata: &Metadata) -> bool {
        (metadata.dev(), metadata.ino()) == (self.device, self.inode)
    }

    /// Whether the path still leads to it.
    pub fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok_and(|now| self.is(&now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_back_whatever_the_path_holds() {
        let readable = Readable {
            path: OsString::from_vec(b"/a:b/\xff.db".to_vec()).into(),
            device: 7,
            inode: u64::MAX,
        };
        let argument = readable.to_argument();
        assert_eq!(Readable::from_argument(&argument), Some(readable));
        for wrong in ["", "1:2", "1:x:/a", ":2:/a"] {
            assert_eq!(Readable::from_argument(OsStr::new(wrong)), None, "{wrong}");
        }
    }
}
