//! What proves that a file still holds what it held: its bytes, as long as reading them costs little; of larger files the stamp.
//!
//! A stamp says nothing of stores through a shared mapping: the kernel sets the times at the first
//! one after the page was written back, and not again until the next time. So a file that is read
//! in a few microseconds is read in every request. On a file system that is not local others write
//! unseen, with clocks of their own, and a stamp is never proof: what is larger there is believed
//! for a moment.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use xxhash_rust::xxh3::Xxh3;

use crate::workspace::{Handle, now_ns};

/// Files of up to so many bytes are compared in every request. To open one again, to read it and to
/// hash it takes 5.5 µs at 4 KiB, 10 at 64, 14 at this size and 24 at twice of it; a warm read, 76.
pub const COMPARED_BYTES: u64 = 128 * 1024;

/// The same on file systems that are not local.
pub const COMPARED_BYTES_ELSEWHERE: u64 = 1024 * 1024;

/// How long larger ones are believed to be unchanged there.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// Bytes that are read at once: few enough to stay in the processor's cache until they are hashed.
const CHUNK: u64 = 64 * 1024;
const PAGE: u64 = 4096;

/// What it takes to know that a file is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The same bytes.
    Bytes,
    /// The same stamp, if it was old enough when the file was read.
    Stamp,
    /// The same stamp, if the file was looked at within the last second.
    Moment,
}

impl Proof {
    /// What it takes for a file of `size` bytes.
    pub fn of(handle: &Handle, size: u64) -> Proof {
        match handle.is_local() {
            true if size <= COMPARED_BYTES => Proof::Bytes,
            true => Proof::Stamp,
            false if size <= COMPARED_BYTES_ELSEWHERE => Proof::Bytes,
            false => Proof::Moment,
        }
    }
}

/// Whether what was looked at then is believed still. A clock that was set back ends it.
pub fn is_of_this_moment(looked_at: i64) -> bool {
    let age = i128::from(now_ns()) - i128::from(looked_at);
    (0..BELIEVED_FOR.as_nanos() as i128).contains(&age)
}

/// xxh3-128 of the bytes that the file holds now; `None` where there are more than `most`.
pub fn hash_of(handle: &Handle, most: u64) -> io::Result<Option<u128>> {
    let file = handle.open_read()?;
    let mut hash = Xxh3::new();
    let mut count = 0;
    let mut chunk = Vec::with_capacity(handle.stamp().size.clamp(PAGE, CHUNK) as usize);
    loop {
        chunk.clear();
        let read = rustix::io::retry_on_intr(|| {
            rustix::io::read(file.as_fd(), spare_capacity(&mut chunk))
        })?;
        if read == 0 {
            return Ok(Some(hash.digest128()));
        }
        count += read as u64;
        if count > most {
            return Ok(None);
        }
        hash.update(&chunk);
    }
}
