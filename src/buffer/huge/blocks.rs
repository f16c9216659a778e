//! Reading a huge file block by block, up to the size it had; nothing here holds more than one block.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_64;

use crate::protocol::Refusal;
use crate::task::{Stopped, Work};

use super::index::{BLOCK, CountedBlock};

/// Why a look at the file ended early.
#[derive(Debug)]
pub enum Halt {
    /// The file no longer holds what it did; nothing that was counted can be trusted.
    Rewritten,
    /// The file is shorter than it was at the start of the look.
    Shrunk,
    Refused(Refusal),
}

impl From<Stopped> for Halt {
    fn from(stopped: Stopped) -> Halt {
        Halt::Refused(stopped.into())
    }
}

/// To read more blocks than these takes long: the head, those compared after an append, and a few
/// to count and to show.
const LONG_FROM_BLOCKS: u32 = 13;

/// A file at one moment. Bytes that are appended meanwhile are never read.
#[derive(Debug)]
pub struct BlockReader<'a> {
    file: File,
    size: u64,
    spelled: &'a str,
    work: &'a Work,
    /// Blocks read so far.
    read: u32,
    held: Vec<u8>,
    held_block: Option<u64>,
}

impl<'a> BlockReader<'a> {
    /// The first `size` bytes of a file; `spelled` names it in refusals.
    pub fn new(file: File, size: u64, spelled: &'a str, work: &'a Work) -> BlockReader<'a> {
        BlockReader {
            file,
            size,
            spelled,
            work,
            read: 0,
            held: Vec::new(),
            held_block: None,
        }
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of a block; shorter only at the end of the file.
    pub fn block(&mut self, block: u64) -> Result<&[u8], Halt> {
        if self.held_block != Some(block) {
            self.work.check()?;
            if self.read >= LONG_FROM_BLOCKS {
                self.work.takes_long()?;
            }
            self.read += 1;
            self.held_block = None;
            let at = block * BLOCK;
            self.held
                .resize(self.size.saturating_sub(at).min(BLOCK) as usize, 0);
            self.file
                .read_exact_at(&mut self.held, at)
                .map_err(|error| match error.kind() {
                    ErrorKind::UnexpectedEof => Halt::Shrunk,
                    _ => Halt::Refused(Refusal::io(self.spelled, &error)),
                })?;
            self.held_block = Some(block);
        }
        Ok(&self.held)
    }

    /// A block as it was counted. Errors with [`Halt::Rewritten`] when it is another one now.
    pub fn counted(&mut self, place: &CountedBlock) -> Result<&[u8], Halt> {
        let bytes = self.block(place.block)?;
        match bytes.get(..place.bytes as usize) {
            Some(counted) if xxh3_64(counted) == place.hash => Ok(counted),
            Some(_) => Err(Halt::Rewritten),
            None => Err(Halt::Shrunk),
        }
    }

    /// The rest of the block that holds the byte `at`, from there; empty at the end of the file.
    pub fn from(&mut self, at: u64) -> Result<&[u8], Halt> {
        if at >= self.size {
            return Ok(&[]);
        }
        let bytes = self.block(at / BLOCK)?;
        Ok(&bytes[(at % BLOCK) as usize..])
    }
}
