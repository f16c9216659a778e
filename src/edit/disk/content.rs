//! What a file holds, as a plan saw it; bytes are always compared, a time stamp is never proof.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes read at a time.
pub(super) const CHUNK: usize = 128 * 1024;

/// The whole bytes that a plan was made from: their number and their hash (xxh3-128).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    bytes: u64,
    hash: u128,
}

impl Planned {
    pub fn of(bytes: &[u8]) -> Planned {
        Planned {
            bytes: bytes.len() as u64,
            hash: xxh3_128(bytes),
        }
    }

    /// As [`Planned::of`] bytes of this number and this hash.
    pub fn known(bytes: u64, hash: u128) -> Planned {
        Planned { bytes, hash }
    }

    /// xxh3-128 of the bytes.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    /// Whether the file holds exactly these bytes now; its offset is left alone.
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        // Somebody may add to it all the time.
        Ok(file.metadata()?.len() == self.bytes
            && self.begins(file)?
            && file.metadata()?.len() == self.bytes)
    }

    /// Whether the file begins with these bytes; its offset is left alone.
    pub(super) fn begins(&self, file: &File) -> io::Result<bool> {
        let mut hash = Xxh3::new();
        let mut chunk = vec![0; CHUNK.min(self.bytes as usize)];
        let mut at = 0;
        while at < self.bytes {
            let wanted = chunk.len().min((self.bytes - at) as usize);
            let count = fill(file, &mut chunk[..wanted], at)?;
            hash.update(&chunk[..count]);
            at += count as u64;
            if count < wanted {
                return Ok(false);
            }
        }
        Ok(hash.digest128() == self.hash)
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> u64 {
        self.bytes
    }

    /// Reads what [`Display`](std::fmt::Display) writes.
    pub(super) fn parse(text: &[u8]) -> Option<Planned> {
        let (bytes, hash) = std::str::from_utf8(text).ok()?.split_once(' ')?;
        Some(Planned {
            bytes: bytes.parse().ok()?,
            hash: u128::from_str_radix(hash, 16).ok()?,
        })
    }
}

impl std::fmt::Display for Planned {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {:032x}", self.bytes, self.hash)
    }
}

/// Reads from `at` until `bytes` are full or the file ends; gives how many there were.
pub(super) fn fill(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// All bytes of a file, read from its beginning; its offset is left alone.
pub(super) fn read_all(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.metadata()?.len() as usize + 1];
    let mut at = 0;
    loop {
        at += fill(file, &mut bytes[at..], at as u64)?;
        if at < bytes.len() {
            break;
        }
        bytes.resize(at * 2, 0);
    }
    bytes.truncate(at);
    Ok(bytes)
}
