//! What a file holds, as a plan saw it; bytes are always compared, a time stamp is never proof.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes read at a time.
const CHUNK: usize = 128 * 1024;

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
        if file.metadata()?.len() != self.bytes {
            return Ok(false);
        }
        if self.bytes < CHUNK as u64 {
            return Ok(Planned::of(&read_up_to(file, self.bytes as usize + 1)?) == *self);
        }
        let mut hash = Xxh3::new();
        let mut chunk = vec![0; CHUNK];
        let mut at = 0;
        loop {
            match file.read_at(&mut chunk, at) {
                Ok(0) => break,
                Ok(count) => {
                    hash.update(&chunk[..count]);
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // Somebody adds to it all the time.
            if at > self.bytes {
                return Ok(false);
            }
        }
        Ok(at == self.bytes && hash.digest128() == self.hash)
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

/// The first bytes of a file, `most` of them or as many as there are.
fn read_up_to(file: &File, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut at = 0;
    while at < most {
        match file.read_at(&mut bytes[at..], at as u64) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}

/// All bytes of a file, read from its beginning; its offset is left alone.
pub(super) fn read_all(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.metadata()?.len() as usize + 1];
    let mut at = 0;
    loop {
        match file.read_at(&mut bytes[at..], at as u64) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if at == bytes.len() {
            bytes.resize(at * 2, 0);
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}
