//! Short messages, written by the thread that made them; it never waits for the output.

use std::fs::File;
use std::io::Write;

/// Where messages are written to.
pub struct Output {
    pub(super) stream: Box<dyn Write + Send>,
    pub(super) at_once: Option<AtOnce>,
}

impl Output {
    /// An output that only the writing thread writes to.
    pub fn new(stream: impl Write + Send + 'static) -> Output {
        Output {
            stream: Box::new(stream),
            at_once: None,
        }
    }

    /// A pipe or a socket, which may be asked to take what it can without a wait.
    pub fn of(file: File) -> Output {
        Output {
            at_once: AtOnce::of(&file),
            stream: Box::new(file),
        }
    }
}

/// A second handle of the output.
#[derive(Debug)]
pub(super) struct AtOnce(File);

impl AtOnce {
    fn of(file: &File) -> Option<AtOnce> {
        match cfg!(target_os = "linux") {
            true => file.try_clone().ok().map(AtOnce),
            false => None,
        }
    }

    /// Writes what the output takes of `parts` without a wait; how many bytes that are. What is
    /// wrong with it finds out whoever writes the rest.
    ///
    /// pwritev2(2): the offset -1 is the stream's own; `RWF_NOWAIT` is known to sockets, and to
    /// pipes since Linux 6.4. Where it is not known, nothing is taken.
    #[cfg(target_os = "linux")]
    pub(super) fn write(&self, parts: [&[u8]; 2]) -> usize {
        use rustix::io::{ReadWriteFlags, pwritev2};
        let parts = parts.map(std::io::IoSlice::new);
        pwritev2(&self.0, &parts, u64::MAX, ReadWriteFlags::NOWAIT).unwrap_or(0)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn write(&self, _parts: [&[u8]; 2]) -> usize {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{self, Read};
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn what_has_no_room_is_not_waited_for() -> io::Result<()> {
        let (mut input, output) = io::pipe()?;
        let at_once = AtOnce::of(&File::from(OwnedFd::from(output))).expect("another handle");
        assert_eq!(at_once.write([b"sho", b"rt"]), 5);
        let much = vec![b'x'; 1 << 20];
        let taken = at_once.write([b"", &much]);
        assert!(taken > 0 && taken < much.len(), "{taken}");
        assert_eq!(at_once.write([b"more", b""]), 0);
        let mut read = [0; 5];
        input.read_exact(&mut read)?;
        assert_eq!(&read, b"short");
        drop(input);
        // Broken: the writing thread finds out.
        assert_eq!(at_once.write([b"more", b""]), 0);
        Ok(())
    }
}
