//! Reading a file that others may be writing: until it stands still, or as far as it stood still, and else it is said to be torn.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::time::Duration;

use rustix::fs::SeekFrom;
use xxhash_rust::xxh3::xxh3_128;

use crate::protocol::Refusal;
use crate::task::Work;
use crate::workspace::{Handle, Stamp, now_ns};

use super::MAX_BUFFER_BYTES;
use super::proof::COMPARED_BYTES_ELSEWHERE;

/// Attempts to read a file that does not change meanwhile.
pub const STEADY_ATTEMPTS: usize = 5;

/// A change so recent that the next one may still bear the same time stamp on kernels whose file
/// times tick every 1-10 ms.
const TICK_NS: i128 = 20_000_000;

/// Bytes between two looks at the cancel token.
const READ_CHUNK: usize = 1024 * 1024;

/// What was read of a file.
pub struct SteadyRead {
    pub bytes: Vec<u8>,
    /// xxh3-128 of them.
    pub hash: u128,
    pub stamp: Stamp,
    /// Before the first byte was read, in nanoseconds since the epoch.
    pub at: i64,
    /// The file may never have held these bytes: it was written all the while. Else it held them at
    /// one moment between the request and now.
    pub is_torn: bool,
}

/// One reading from beginning to end.
struct Attempt {
    bytes: Vec<u8>,
    before: Stamp,
    at: i64,
}

impl Attempt {
    /// What was in the file before it was read, if it was only added to meanwhile.
    fn sound(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::try_from(self.before.size).ok()?)
    }

    /// Whether `next` shows that.
    fn grew_into(&self, next: &[u8]) -> bool {
        let sound = self.sound();
        sound.is_some_and(|sound| !sound.is_empty() && next.starts_with(sound))
    }
}

/// Reads until the file's stamp is the same before and after. Where the last change is so fresh
/// that another could hide in the same tick of the clock, the bytes must also come out twice alike,
/// or be those that were `known`.
///
/// Of a file that never stands still but is only added to, such as a log, it is what the last
/// attempt but one found in it at its start.
pub fn read_steady(
    handle: &Handle,
    spelled: &str,
    known: Option<u128>,
    work: &Work,
) -> Result<SteadyRead, Refusal> {
    let refuse = |error: std::io::Error| Refusal::io(spelled, &error);
    let is_local = handle.is_local();
    let mut previous: Option<Attempt> = None;
    let mut only_grew = true;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut file = handle.open_read().map_err(refuse)?;
        if is_local {
            wait_for_writer(&file).map_err(refuse)?;
        }
        let at = now_ns();
        let before = handle.restamp().map_err(refuse)?;
        let bytes = read_all(&mut file, before.size, spelled, work)?;
        let after = handle.restamp().map_err(refuse)?;
        // Elsewhere the times are of another clock. To read a large file twice may take long there.
        let is_fresh = match is_local {
            true => i128::from(at) - after.mtime_ns.max(after.ctime_ns) < TICK_NS,
            false => after.size <= COMPARED_BYTES_ELSEWHERE,
        };
        let hash = xxh3_128(&bytes);
        let is_twice = previous.as_ref().is_some_and(|it| it.bytes == bytes);
        let steady = before == after && (!is_fresh || known == Some(hash) || is_twice);
        only_grew &= previous.as_ref().is_none_or(|it| it.grew_into(&bytes));
        if steady || attempt == STEADY_ATTEMPTS {
            return Ok(match previous.filter(|_| !steady && only_grew) {
                Some(previous) => previous.grown(),
                None => SteadyRead {
                    bytes,
                    hash,
                    stamp: after,
                    at,
                    is_torn: !steady,
                },
            });
        }
        if before != after {
            std::thread::sleep(Duration::from_millis(1));
        }
        previous = Some(Attempt { bytes, before, at });
    }
}

impl Attempt {
    /// What stayed as it was while more came.
    fn grown(mut self) -> SteadyRead {
        let sound = self.sound().map_or(0, <[u8]>::len);
        self.bytes.truncate(sound);
        SteadyRead {
            hash: xxh3_128(&self.bytes),
            bytes: self.bytes,
            stamp: self.before,
            at: self.at,
            is_torn: false,
        }
    }
}

/// Waits until a write that is under way is done. It sets the times when it begins: whoever only
/// looks at those takes half of it for all, as often as the writer is put to sleep in its middle.
/// To be told where the data begins, one waits for the file's lock on ext4, Btrfs, F2FS and tmpfs,
/// which a writer has to the end of its call; on XFS every read does so.
fn wait_for_writer(file: &File) -> std::io::Result<()> {
    // It fails for a file without data, and where it means nothing.
    if rustix::fs::seek(file, SeekFrom::Data(0)).is_ok() {
        rustix::fs::seek(file, SeekFrom::Start(0))?;
    }
    Ok(())
}

/// Reads to the end whatever size the file claims (/proc says 0), up to the cap.
pub fn read_all(
    file: &mut File,
    size: u64,
    spelled: &str,
    work: &Work,
) -> Result<Vec<u8>, Refusal> {
    // One byte more than the file claims: then its end is seen without making room for more.
    let mut bytes = vec![0; size.min(MAX_BUFFER_BYTES) as usize + 1];
    let mut count = 0;
    loop {
        work.check()?;
        if count == bytes.len() {
            bytes.resize(count + READ_CHUNK, 0);
        }
        let room = bytes.len().min(count + READ_CHUNK);
        match file.read(&mut bytes[count..room]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Refusal::io(spelled, &error)),
        }
        if count as u64 > MAX_BUFFER_BYTES {
            return Err(too_large(spelled, count as u64));
        }
    }
    bytes.truncate(count);
    Ok(bytes)
}

pub fn too_large(spelled: &str, size: u64) -> Refusal {
    Refusal::TooLarge {
        path: spelled.to_owned(),
        what: format!("{size} bytes, and text files are held up to 32 MiB"),
        instead: "Use a tool that streams, such as sed -n, for a part of it.".to_owned(),
    }
}
