//! The sparse line index of one file: 16 bytes for every mebibyte that was counted; it never holds a byte of the file.

use xxhash_rust::xxh3::xxh3_64;

use super::head::Newline;

/// Bytes of a block. Even, so that no unit of UTF-16 lies across two.
pub const BLOCK: u64 = 1024 * 1024;

/// Blocks that are compared to tell an append from a rewrite. An index of no more is compared whole.
const SAMPLES: u64 = 8;

/// A counted block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub newlines: u64,
    pub bytes: u64,
    /// xxh3 of the bytes.
    pub hash: u64,
    pub ends_with_newline: bool,
}

impl Counted {
    pub fn of(bytes: &[u8], newline: Newline) -> Counted {
        let unit = newline.bytes();
        let tail = &bytes[bytes.len() - bytes.len().min(unit)..];
        // A file in UTF-16 that ends within a unit does not end in a newline.
        let whole = bytes.len().is_multiple_of(unit);
        Counted {
            newlines: newline.count(bytes),
            bytes: bytes.len() as u64,
            hash: xxh3_64(bytes),
            ends_with_newline: whole && newline.ends(tail).next().is_some(),
        }
    }
}

/// A block as it was when it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedBlock {
    /// Which block of the file.
    pub block: u64,
    pub bytes: u64,
    pub hash: u64,
    /// Newlines before it.
    pub newlines_before: u64,
}

/// The blocks that were counted so far, from the start without a gap; only the last may be short.
#[derive(Debug, Clone, Default)]
pub struct LineIndex {
    blocks: Vec<(u64, u64)>,
    /// Bytes counted.
    frontier: u64,
    newlines: u64,
    ends_with_newline: bool,
    /// Newlines of the last block.
    last_newlines: u64,
}

impl LineIndex {
    pub fn frontier(&self) -> u64 {
        self.frontier
    }

    /// Newlines counted so far.
    pub fn newlines(&self) -> u64 {
        self.newlines
    }

    /// Bytes in memory, about.
    pub fn weight(&self) -> u64 {
        (self.blocks.capacity() * size_of::<(u64, u64)>()) as u64 + 1024
    }

    pub fn push(&mut self, counted: Counted) {
        self.blocks.push((self.newlines, counted.hash));
        self.newlines += counted.newlines;
        self.frontier += counted.bytes;
        self.last_newlines = counted.newlines;
        self.ends_with_newline = counted.ends_with_newline;
    }

    /// Takes back a short last block, of which there is more now.
    pub fn reopen(&mut self) {
        let short = self.frontier % BLOCK;
        if short > 0 && self.blocks.pop().is_some() {
            self.frontier -= short;
            self.newlines -= self.last_newlines;
        }
    }

    /// Lines of the file, if it has `size` bytes and all of them are counted.
    pub fn total_lines(&self, size: u64, bom_bytes: u64) -> Option<u64> {
        let open_line = u64::from(!self.ends_with_newline && size > bom_bytes);
        (self.frontier == size).then_some(self.newlines + open_line)
    }

    /// The block that holds the `nth` newline, from 1.
    pub fn place_of_newline(&self, nth: u64) -> Option<CountedBlock> {
        if nth > self.newlines {
            return None;
        }
        let after = self.blocks.partition_point(|(before, _)| *before < nth);
        self.place(after.checked_sub(1)? as u64)
    }

    fn place(&self, block: u64) -> Option<CountedBlock> {
        let (newlines_before, hash) = *self.blocks.get(block as usize)?;
        Some(CountedBlock {
            block,
            bytes: (self.frontier - block * BLOCK).min(BLOCK),
            hash,
            newlines_before,
        })
    }

    /// Blocks to compare with the file: the first, the last and some in between.
    pub fn samples(&self) -> Vec<CountedBlock> {
        let count = self.blocks.len() as u64;
        let picked: Vec<u64> = match count <= SAMPLES {
            true => (0..count).collect(),
            false => (0..SAMPLES)
                .map(|nth| nth * (count - 1) / (SAMPLES - 1))
                .collect(),
        };
        let places = picked.into_iter().filter_map(|block| self.place(block));
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_block_of_a_newline_and_counts_the_last_line() {
        let mut index = LineIndex::default();
        let block = |newlines, bytes, ends_with_newline| Counted {
            newlines,
            bytes,
            hash: 0,
            ends_with_newline,
        };
        for newlines in [3, 0, 2] {
            index.push(block(newlines, BLOCK, false));
        }
        let at = |nth| index.place_of_newline(nth).map(|place| place.block);
        assert_eq!(
            [at(1), at(3), at(4), at(5), at(6)],
            [Some(0), Some(0), Some(2), Some(2), None]
        );
        assert_eq!(index.total_lines(3 * BLOCK, 0), Some(6));
        assert_eq!(index.total_lines(3 * BLOCK + 1, 0), None);
        index.push(block(1, 10, true));
        assert_eq!(index.total_lines(3 * BLOCK + 10, 0), Some(6));
        index.reopen();
        assert_eq!((index.frontier(), index.newlines()), (3 * BLOCK, 5));
        index.reopen();
        assert_eq!(index.frontier(), 3 * BLOCK);
    }
}
