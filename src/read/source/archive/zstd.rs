//! Zstandard: all frames of a stream one after the other, decoded by `ruzstd`, which is Rust alone.
//!
//! Frames are taken apart here, down to their blocks: headers, skippable frames, sizes and checksums are this file's, what is in a block is the library's. Of a frame that goes on, the library hands out only what lies before the window of up to 128 MiB: of a stream that is cut, the last of what came out would be lost, and meanwhile nobody could look at limits. But of a frame that has ended it hands out everything, and it decodes a next block all the same. So each block is given to it as a frame's last one, and what the block added is copied from the end of its buffer. When that is well over the window, it is emptied, and the window given back to it in blocks that are not compressed. That a frame goes on after its last block is nothing the library promises: it is pinned, and a version that refuses it fails the tests of frames and windows.

use std::io::{self, Read, Write};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use xxhash_rust::xxh64::Xxh64;

const MAGIC: u32 = 0xFD2F_B528;

/// The magic number of a skippable frame, but for its last four bits.
const SKIPPABLE: u32 = 0x184D_2A50;

/// Bytes of a block, packed or not.
const MAX_BLOCK: usize = 128 * 1024;

/// The kinds of blocks: as they are, one byte many times over, and the one that must not be.
const RAW: u32 = 0;
const REPEATED: u32 = 1;
const RESERVED: u32 = 3;

/// Bytes over the window at which the buffer is emptied: as many as the window has, so that a byte is copied once more on the average, but no fewer than this.
const MIN_SLACK: usize = MAX_BLOCK;

/// And no more than this, since the buffer and a copy of the window are both held for a moment.
const MAX_SLACK: usize = 16 * 1024 * 1024;

/// Bytes of a skippable frame that are passed over at a time.
const SKIPPED: u64 = 1024 * 1024;

/// Why a stream does not go on.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the zstd stream is cut")]
    Cut,
    #[error("no zstd frame begins where one should")]
    NoFrame,
    #[error("corrupt zstd stream")]
    Corrupt,
    #[error("corrupt zstd stream does not have a matching checksum")]
    Checksum,
    #[error("it was packed with zstd dictionary {0}, which is not in it")]
    Dictionary(u64),
    #[error("its zstd window of {0} bytes is too large")]
    Window(u64),
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        let kind = match failure {
            Failure::Cut => io::ErrorKind::UnexpectedEof,
            Failure::Window(_) => io::ErrorKind::OutOfMemory,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, failure)
    }
}

/// A frame within its blocks.
struct ZstdFrame {
    /// Bytes.
    window: usize,
    /// Bytes that its header says it holds.
    size: Option<u64>,
    /// Of what came out, where the frame ends with a checksum.
    sum: Option<Xxh64>,
    /// Bytes that came out.
    count: u64,
    /// Bytes in the library's buffer.
    buffered: usize,
}

/// What comes next in the stream.
enum Stage {
    Head,
    /// So many bytes of a skippable frame.
    Skippable(u64),
    Block(ZstdFrame),
    /// What follows the last block.
    Tail(ZstdFrame),
    End,
    /// Nothing, where more should be.
    Cut,
    /// An error was told.
    Failed,
}

/// What comes out of a stream. One read decodes one block at most; where nothing comes of it the error is `Interrupted`, so that whoever reads looks at its limits and reads on.
pub struct Decoder<R> {
    from: R,
    decoder: FrameDecoder,
    /// Bytes of the largest window that is kept.
    max_window: u64,
    stage: Stage,
    /// The header or block that is looked at.
    packed: Vec<u8>,
    /// What came out of the last block, and how many bytes of that were read.
    out: Vec<u8>,
    read: usize,
}

impl<R: Read> Decoder<R> {
    /// A frame whose window is over `2^max_window_log` bytes is an error of the kind `OutOfMemory`.
    pub fn new(from: R, max_window_log: u32) -> Decoder<R> {
        let max_window = 1 << max_window_log;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(max_window);
        Decoder {
            from,
            decoder,
            max_window,
            stage: Stage::Head,
            packed: Vec::new(),
            out: Vec::new(),
            read: 0,
        }
    }

    fn step(&mut self) -> io::Result<()> {
        self.stage = match mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Head => self.head()?,
            Stage::Skippable(left) => self.skip(left)?,
            Stage::Block(frame) => self.block(frame)?,
            Stage::Tail(frame) => self.tail(frame)?,
            Stage::End => Stage::End,
            Stage::Cut => return Err(Failure::Cut.into()),
            Stage::Failed => return Err(Failure::Corrupt.into()),
        };
        Ok(())
    }

    /// Adds the next bytes to `packed`; `false` where there are fewer.
    fn add(&mut self, count: usize) -> io::Result<bool> {
        self.packed.reserve(count);
        let mut from = (&mut self.from).take(count as u64);
        Ok(from.read_to_end(&mut self.packed)? == count)
    }

    /// The next bytes, at most eight, as a number whose lowest byte comes first.
    fn number(&mut self, bytes: usize) -> io::Result<u64> {
        self.packed.clear();
        if !self.add(bytes)? {
            return Err(Failure::Cut.into());
        }
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&self.packed);
        Ok(u64::from_le_bytes(number))
    }

    fn head(&mut self) -> io::Result<Stage> {
        self.packed.clear();
        let is_whole = self.add(4)?;
        if self.packed.is_empty() {
            return Ok(Stage::End);
        }
        let Some(magic) = self.packed.first_chunk().filter(|_| is_whole) else {
            return Err(Failure::Cut.into());
        };
        match u32::from_le_bytes(*magic) {
            MAGIC => Ok(Stage::Block(self.frame()?)),
            magic if magic & !0xF == SKIPPABLE => Ok(Stage::Skippable(self.number(4)?)),
            _ => Err(Failure::NoFrame.into()),
        }
    }

    /// What a frame says of itself after its magic number.
    fn frame(&mut self) -> io::Result<ZstdFrame> {
        let flags = self.number(1)?;
        let is_single_segment = flags & 0x20 != 0;
        let size_bytes = match flags >> 6 {
            0 => usize::from(is_single_segment),
            log => 1 << log,
        };
        let window = match is_single_segment {
            true => 0,
            false => self.number(1)?,
        };
        let dictionary = self.number([0, 1, 2, 4][(flags & 3) as usize])?;
        // A size of two bytes counts from where one of one byte ends.
        let size = self.number(size_bytes)? + if size_bytes == 2 { 256 } else { 0 };
        let window = match is_single_segment {
            true => size,
            false => (8 + (window & 7)) << (7 + (window >> 3)),
        };
        let is_reserved = flags & 0x08 != 0;
        if is_reserved {
            return Err(Failure::Corrupt.into());
        }
        if dictionary != 0 {
            return Err(Failure::Dictionary(dictionary).into());
        }
        if window > self.max_window {
            return Err(Failure::Window(window).into());
        }
        // What the library is told: one segment of so many bytes, which is to it the window, no checksum.
        let mut head = [0; 13];
        head[..4].copy_from_slice(&MAGIC.to_le_bytes());
        head[4] = 0xE0;
        head[5..].copy_from_slice(&window.to_le_bytes());
        self.decoder
            .reset(&head[..])
            .map_err(|_| Failure::Corrupt)?;
        Ok(ZstdFrame {
            window: window as usize,
            size: (size_bytes > 0).then_some(size),
            sum: (flags & 0x04 != 0).then(|| Xxh64::new(0)),
            count: 0,
            buffered: 0,
        })
    }

    fn skip(&mut self, left: u64) -> io::Result<Stage> {
        let part = left.min(SKIPPED);
        if io::copy(&mut (&mut self.from).take(part), &mut io::sink())? < part {
            return Err(Failure::Cut.into());
        }
        Ok(match left - part {
            0 => Stage::Head,
            left => Stage::Skippable(left),
        })
    }

    fn block(&mut self, mut frame: ZstdFrame) -> io::Result<Stage> {
        let head = self.number(3)? as u32;
        let (is_last, kind) = (head & 1 != 0, head >> 1 & 3);
        let bytes = match kind {
            REPEATED => 1,
            _ => (head >> 3) as usize,
        };
        if kind == RESERVED || bytes > MAX_BLOCK {
            return Err(Failure::Corrupt.into());
        }
        self.packed[0] |= 1;
        if !self.add(bytes)? {
            if kind == RAW {
                self.out.extend_from_slice(&self.packed[3..]);
            }
            return Ok(Stage::Cut);
        }
        feed(&mut self.decoder, &self.packed[..])?;
        self.take_new(&mut frame)?;
        frame.count += self.out.len() as u64;
        if let Some(sum) = &mut frame.sum {
            sum.update(&self.out);
        }
        Ok(match is_last {
            true => Stage::Tail(frame),
            false => Stage::Block(frame),
        })
    }

    /// Copies what the last block added to the library's buffer, and empties that to the window where it has grown too large.
    fn take_new(&mut self, frame: &mut ZstdFrame) -> io::Result<()> {
        let buffered = self.decoder.can_collect();
        let glance = Glance {
            seen: frame.buffered,
            new: &mut self.out,
        };
        self.decoder.collect_to_writer(glance)?;
        // Where the buffer went on at its other end, a glance would not have seen all.
        let is_all = frame.buffered + self.out.len() == buffered;
        let slack = frame.window.clamp(MIN_SLACK, MAX_SLACK);
        if is_all && buffered <= frame.window + slack {
            frame.buffered = buffered;
            return Ok(());
        }
        // No block adds more than the window has, so what it added is in what is left.
        let over = buffered.saturating_sub(frame.window) as u64;
        io::copy(&mut (&mut self.decoder).take(over), &mut io::sink())?;
        let window = self.decoder.collect().unwrap_or_default();
        let new = (buffered - frame.buffered).min(window.len());
        self.out.clear();
        self.out.extend_from_slice(&window[window.len() - new..]);
        for part in window.chunks(frame.window.clamp(1, MAX_BLOCK)) {
            let head = (part.len() as u32) << 3 | RAW << 1 | 1;
            feed(&mut self.decoder, head.to_le_bytes()[..3].chain(part))?;
        }
        frame.buffered = window.len();
        Ok(())
    }

    fn tail(&mut self, frame: ZstdFrame) -> io::Result<Stage> {
        if frame.size.is_some_and(|size| size != frame.count) {
            return Err(Failure::Corrupt.into());
        }
        if let Some(sum) = frame.sum
            && self.number(4)? != sum.digest() & 0xFFFF_FFFF
        {
            return Err(Failure::Checksum.into());
        }
        Ok(Stage::Head)
    }
}

/// Has the library decode one block. It asserts much of what it reads, and no panic of it is more than a stream that is damaged.
fn feed(decoder: &mut FrameDecoder, block: impl Read) -> io::Result<()> {
    let decode = || decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1));
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(_)) => Ok(()),
        _ => Err(Failure::Corrupt.into()),
    }
}

/// Looks at the library's buffer and takes nothing out of it.
struct Glance<'a> {
    /// Bytes at its start that are known.
    seen: usize,
    new: &'a mut Vec<u8>,
}

impl Write for Glance<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.new
            .extend_from_slice(bytes.get(self.seen..).unwrap_or_default());
        Ok(0)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.out.len() && !buffer.is_empty() {
            self.out.clear();
            self.read = 0;
            self.step()?;
            if self.out.is_empty() && !matches!(self.stage, Stage::End) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        let count = (&self.out[self.read..]).read(buffer)?;
        self.read += count;
        Ok(count)
    }
}
