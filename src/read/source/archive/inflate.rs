//! Inflating under limits: so many bytes, so much more than there were, and only as long as somebody waits; a declared size is never believed.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::sync::OnceLock;

use crate::task::{Detour, Lane, Stopped, Work};
use crate::workspace::Handle;

use super::zstd;

/// Bytes of one member.
pub const MAX_MEMBER: u64 = 64 * 1024 * 1024;

/// Bytes inflated to find out what an archive holds, and to come to a member of it.
pub const MAX_PASS: u64 = 256 * 1024 * 1024;

/// How many times more may come out than went in.
const MAX_RATIO: u64 = 1000;

/// Bytes that may come out whatever went in: zeros are packed ten thousandfold by honest programs.
const UNSUSPICIOUS: u64 = 1024 * 1024;

/// Bytes inflated in the short lane.
pub const SHORT_LANE_BYTES: u64 = 1024 * 1024;

/// Bytes between two looks at the limits.
const CHUNK: usize = 64 * 1024;

/// Memory for the window that a stream may ask to be kept.
pub const MAX_WINDOW_LOG: u32 = 27;

/// Why inflating ended before the end.
#[derive(Debug)]
pub enum Halt {
    Detour(Detour),
    /// More than the limit comes out.
    TooMuch,
    /// So much more than went in that it is meant to do harm.
    Bomb,
    /// What has to be kept to decode it is over [`MAX_WINDOW_LOG`].
    Window,
    /// The stream does not go on, or not as it should.
    Broken(io::Error),
}

impl From<Detour> for Halt {
    fn from(detour: Detour) -> Halt {
        Halt::Detour(detour)
    }
}

impl From<Stopped> for Halt {
    fn from(stopped: Stopped) -> Halt {
        Halt::Detour(stopped.into())
    }
}

/// The archive's own bytes.
#[derive(Debug)]
pub struct Disk<'a> {
    handle: &'a Handle,
    /// Opened when the first bytes are wanted: what is warm needs none.
    file: OnceLock<File>,
    pub len: u64,
}

impl<'a> Disk<'a> {
    /// The file as it is now, of `len` bytes.
    pub fn new(handle: &'a Handle, len: u64) -> Disk<'a> {
        Disk {
            handle,
            file: OnceLock::new(),
            len,
        }
    }

    fn file(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = self.handle.open_read()?;
        Ok(self.file.get_or_init(|| file))
    }

    /// At most `len` bytes from `offset` on.
    pub fn range(&self, offset: u64, len: u64) -> io::Result<BufReader<Take<&File>>> {
        let mut file = self.file()?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(BufReader::with_capacity(CHUNK, file.take(len)))
    }

    /// As many bytes from `offset` on as there are, at most `len`.
    pub fn bytes(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len.min(CHUNK));
        let mut file = self.file()?;
        file.seek(SeekFrom::Start(offset))?;
        file.take(len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// A stream that is inflated under limits.
pub struct Inflow<'a> {
    from: Box<dyn Read + 'a>,
    /// Bytes that went in, all of them.
    packed: u64,
    limit: u64,
    lane: Lane,
    work: &'a Work,
    /// Bytes that came out.
    pub position: u64,
}

impl<'a> Inflow<'a> {
    /// `packed` bytes go in, at most `limit` may come out.
    pub fn new(
        from: Box<dyn Read + 'a>,
        packed: u64,
        limit: u64,
        (lane, work): (Lane, &'a Work),
    ) -> Inflow<'a> {
        Inflow {
            from,
            packed,
            limit,
            lane,
            work,
            position: 0,
        }
    }

    /// Fills as much of `buffer` as there is; less than all of it only at the end.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Halt> {
        let mut filled = 0;
        while filled < buffer.len() {
            self.check()?;
            let end = buffer.len().min(filled + CHUNK);
            match self.from.read(&mut buffer[filled..end]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    self.position += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    return Err(Halt::Window);
                }
                Err(error) => return Err(Halt::Broken(error)),
            }
        }
        self.check()?;
        Ok(filled)
    }

    /// Leaves out so many bytes; the bytes really left out are less only at the end.
    pub fn skip(&mut self, count: u64) -> Result<u64, Halt> {
        let mut scratch = vec![0; CHUNK.min(count as usize)];
        let mut left = count;
        while left > 0 {
            let part = left.min(CHUNK as u64) as usize;
            let got = self.fill(&mut scratch[..part])?;
            left -= got as u64;
            if got < part {
                break;
            }
        }
        Ok(count - left)
    }

    /// All that is left, up to `most` bytes. What came before the halt is kept in `bytes`.
    pub fn take_into(&mut self, bytes: &mut Vec<u8>, most: u64) -> Result<(), Halt> {
        let mut scratch = vec![0; CHUNK];
        let mut left = most;
        while left > 0 {
            let part = left.min(CHUNK as u64) as usize;
            let before = self.position;
            let got = self.fill(&mut scratch[..part]);
            let count = (self.position - before) as usize;
            if bytes.capacity() - bytes.len() < count {
                // Doubling would copy tens of megabytes and hold both.
                bytes.reserve_exact(count.max(bytes.len() / 2));
            }
            bytes.extend_from_slice(&scratch[..count]);
            left -= count as u64;
            if got? < part {
                break;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Halt> {
        self.work.check()?;
        if self.lane == Lane::Short && self.position > SHORT_LANE_BYTES {
            return Err(Halt::Detour(Detour::TakesLong));
        }
        if self.position > UNSUSPICIOUS && self.position / MAX_RATIO > self.packed {
            return Err(Halt::Bomb);
        }
        match self.position > self.limit {
            true => Err(Halt::TooMuch),
            false => Ok(()),
        }
    }
}

/// How a whole file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Codec {
    /// By a file's first bytes.
    pub fn of(head: &[u8]) -> Option<Codec> {
        // A Zstandard file may begin with a frame to be skipped.
        let skippable = |head: &[u8]| {
            head.first().is_some_and(|byte| byte & 0xF0 == 0x50)
                && head[1..].starts_with(b"\x2A\x4D\x18")
        };
        match head {
            [0x1F, 0x8B, ..] => Some(Codec::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
                if rest.starts_with(b"1AY&SY") || rest.starts_with(b"\x17\x72\x45\x38\x50\x90") =>
            {
                Some(Codec::Bzip2)
            }
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Codec::Xz),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Codec::Zstd),
            head if skippable(head) => Some(Codec::Zstd),
            _ => None,
        }
    }

    /// What comes out of `from`, of all streams in it one after the other.
    pub fn decoder<'a>(self, from: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Codec::Gzip => Box::new(flate2::read::MultiGzDecoder::new(from)),
            Codec::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(from)),
            Codec::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(
                from,
                true,
                MAX_WINDOW_KIB,
            )),
            Codec::Zstd => Box::new(zstd::Decoder::new(from, MAX_WINDOW_LOG)),
        })
    }
}

/// [`MAX_WINDOW_LOG`] for LZMA, with what its decoder needs besides.
pub const MAX_WINDOW_KIB: u32 = (1 << (MAX_WINDOW_LOG - 10)) + 1024;
