//! Inflating under limits: so many bytes, so much more than there were, and only as long as somebody waits; a declared size is never believed.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::protocol::Refusal;
use crate::task::{LONG_FROM_BYTES, Stopped, Work};
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

/// Bytes between two looks at the limits.
const CHUNK: usize = 64 * 1024;

/// Memory for the window that a stream may ask to be kept.
pub const MAX_WINDOW_LOG: u32 = 27;

/// Why inflating ended before the end.
#[derive(Debug)]
pub enum Halt {
    Refused(Refusal),
    /// More than the limit comes out.
    TooMuch,
    /// So much more than went in that it is meant to do harm.
    Bomb,
    /// What has to be kept to decode it is over [`MAX_WINDOW_LOG`].
    Window,
    /// The stream does not go on, or not as it should.
    Broken(io::Error),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Halt {
        Halt::Refused(refusal)
    }
}

impl From<Stopped> for Halt {
    fn from(stopped: Stopped) -> Halt {
        Halt::Refused(stopped.into())
    }
}

/// Held by who inflates much: one at a time, so that what several hold does not add up. It is of the
/// whole process and no field of the engine: a turn that borrowed it would tie every [`Disk`] to one
/// lifetime, through the cell that holds the turn.
static HEAVY: Mutex<()> = Mutex::new(());

/// A turn at [`HEAVY`].
type Turn = MutexGuard<'static, ()>;

/// The archive's own bytes, and for whom they are gone through.
#[derive(Debug)]
pub struct Disk<'a> {
    handle: &'a Handle,
    /// Opened when the first bytes are wanted: what is warm needs none.
    file: OnceLock<File>,
    pub len: u64,
    pub work: &'a Work,
    turn: RefCell<Option<Turn>>,
}

impl<'a> Disk<'a> {
    /// The file as it is now, of `len` bytes.
    pub fn new(handle: &'a Handle, len: u64, work: &'a Work) -> Disk<'a> {
        Disk {
            handle,
            file: OnceLock::new(),
            len,
            work,
            turn: RefCell::new(None),
        }
    }

    /// Much is inflated from here on, or gone through: waits for its turn as long as somebody
    /// waits for the answer. The turn is kept until it is given up or this is dropped.
    ///
    /// Whether it has only got it now: what is wanted may be warm by now.
    pub fn takes_long(&self) -> Result<bool, Stopped> {
        let mut turn = self.turn.borrow_mut();
        if turn.is_some() {
            return Ok(false);
        }
        // First: who has the turn never waits for a place.
        self.work.takes_long()?;
        loop {
            self.work.check()?;
            *turn = HEAVY.try_lock_for(Duration::from_millis(20));
            if turn.is_some() {
                return Ok(true);
            }
        }
    }

    /// Lets others have their turn: nothing is inflated for the time being.
    pub fn give_up_turn(&self) {
        drop(self.turn.take());
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
    disk: &'a Disk<'a>,
    /// Bytes that came out.
    pub position: u64,
}

impl<'a> Inflow<'a> {
    /// `packed` bytes of that archive go in, at most `limit` may come out.
    pub fn new(
        from: Box<dyn Read + 'a>,
        packed: u64,
        limit: u64,
        disk: &'a Disk<'a>,
    ) -> Inflow<'a> {
        Inflow {
            from,
            packed,
            limit,
            disk,
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
        self.disk.work.check()?;
        // Before anything comes out where so much goes in: who waits for its turn holds little.
        if self.packed.max(self.position) > LONG_FROM_BYTES {
            self.disk.takes_long()?;
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
