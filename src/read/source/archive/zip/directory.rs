//! The central directory of a zip: where it is and what it says, in one pass; its counts and sizes are never believed.

use std::borrow::Cow;
use std::io::{self, Read};

use crate::protocol::Refusal;
use crate::task::{LONG_FROM_BYTES, Work};

use super::super::index::{Builder, Entry, EntryKind, Index, Packing, RawName, Special};
use super::super::inflate::Disk;
use super::{
    AES, CENTRAL, CENTRAL_BYTES, ENCRYPTED, END, END_BYTES, LOCAL, SELF_ENDING, UTF8, extra_fields,
    recover, u16_at, u32_at, u64_at, wide,
};

/// Bytes at the end of a file in which the end record is looked for: it and the longest comment.
const TAIL: u64 = 65_535 + END_BYTES as u64;

/// Where the central directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CentralDirectory {
    start: u64,
    end: u64,
    /// What is to be added to every offset, modulo 2^64: bytes before the archive, as of a
    /// self-extractor.
    shift: u64,
    /// Entries as the end record counts them, in its 16 or 64 bits.
    said: u64,
    is_zip64: bool,
}

impl CentralDirectory {
    pub fn directory_bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// Looks for the central directory; `None` where the file ends without one.
pub fn find(disk: &Disk) -> io::Result<Option<CentralDirectory>> {
    let tail_at = disk.len.saturating_sub(TAIL);
    let tail = disk.bytes(tail_at, TAIL as usize)?;
    let mut empty = None;
    let mut loose = None;
    for at in memchr::memmem::rfind_iter(&tail, END) {
        let Some(record) = tail.get(at..at + END_BYTES) else {
            continue;
        };
        let exact = at + END_BYTES + usize::from(u16_at(record, 20)) == tail.len();
        let Some(found) = directory_before(disk, tail_at + at as u64, record)? else {
            continue;
        };
        match (found.start == found.end, exact) {
            (false, true) => return Ok(Some(found)),
            (false, false) => loose = loose.or(Some(found)),
            (true, _) => empty = empty.or(Some(found)),
        }
    }
    Ok(loose.or(empty))
}

/// The directory that the end record at `end` speaks of, if it is there.
fn directory_before(disk: &Disk, end: u64, record: &[u8]) -> io::Result<Option<CentralDirectory>> {
    let mut found = CentralDirectory {
        start: u64::from(u32_at(record, 16)),
        end,
        shift: 0,
        said: u64::from(u16_at(record, 10)),
        is_zip64: false,
    };
    let mut size = u64::from(u32_at(record, 12));
    if let Some(wide) = zip64_record(disk, end)? {
        (found.said, size, found.start) = (wide.said, wide.size, wide.start);
        (found.end, found.is_zip64) = (wide.at, true);
    }
    if size == 0 {
        return Ok(Some(CentralDirectory {
            start: found.end,
            ..found
        }));
    }
    // Where it should be by its size, if bytes were put before the archive; else where it says.
    let by_size = found.end.checked_sub(size);
    for start in [by_size, Some(found.start)].into_iter().flatten() {
        if start < found.end && disk.bytes(start, 4)? == CENTRAL {
            let shift = start.wrapping_sub(found.start);
            return Ok(Some(CentralDirectory {
                start,
                shift,
                ..found
            }));
        }
    }
    Ok(None)
}

/// What a record for large archives says.
struct Wide {
    at: u64,
    said: u64,
    size: u64,
    start: u64,
}

fn zip64_record(disk: &Disk, end: u64) -> io::Result<Option<Wide>> {
    const LOCATOR: u64 = 20;
    const RECORD: u64 = 56;
    let Some(locator_at) = end.checked_sub(LOCATOR) else {
        return Ok(None);
    };
    let locator = disk.bytes(locator_at, LOCATOR as usize)?;
    if !locator.starts_with(b"PK\x06\x07") {
        return Ok(None);
    }
    let said_at = u64_at(&locator, 8);
    for at in [Some(said_at), locator_at.checked_sub(RECORD)] {
        let Some(at) = at.filter(|at| *at < locator_at) else {
            continue;
        };
        let record = disk.bytes(at, RECORD as usize)?;
        if record.len() == RECORD as usize && record.starts_with(b"PK\x06\x06") {
            return Ok(Some(Wide {
                at,
                said: u64_at(&record, 32),
                size: u64_at(&record, 40),
                start: u64_at(&record, 48),
            }));
        }
    }
    Ok(None)
}

/// What the archive holds: by its directory, else by what stands before each member.
pub fn index(disk: &Disk, found: Option<CentralDirectory>) -> Result<io::Result<Index>, Refusal> {
    let work = disk.work;
    if let Some(found) = found {
        let entries = found.directory_bytes() as usize / CENTRAL_BYTES;
        let mut builder = Builder::new(entries, true);
        match read_directory(disk, found, &mut builder, work)? {
            Ok(true) => return Ok(Ok(builder.finish(work)?)),
            Ok(false) => {}
            Err(error) => return Ok(Err(error)),
        }
        if disk.len > LONG_FROM_BYTES {
            disk.takes_long()?;
        }
    }
    let mut builder = Builder::new(0, true);
    builder.notice(
        "The archive's directory is missing or damaged: its members were found by their own headers, and some may be missing"
            .to_owned(),
    );
    if let Err(error) = recover::scan(disk, &mut builder, work)? {
        return Ok(Err(error));
    }
    Ok(Ok(builder.finish(work)?))
}

/// Reads all entries; whether it is a directory at all.
fn read_directory(
    disk: &Disk,
    found: CentralDirectory,
    builder: &mut Builder,
    work: &Work,
) -> Result<io::Result<bool>, Refusal> {
    // Before the reader, which goes on where the file was last looked at.
    let shift = match settled_shift(disk, found) {
        Ok(shift) => shift,
        Err(error) => return Ok(Err(error)),
    };
    let mut reader = match disk.range(found.start, found.end - found.start) {
        Ok(reader) => reader,
        Err(error) => return Ok(Err(error)),
    };
    let mut at = found.start;
    let mut fields = Vec::new();
    let mut full = false;
    while at < found.end {
        if builder.len().is_multiple_of(1024) {
            work.check()?;
        }
        let Some(head) = next_header(&mut reader, &mut fields) else {
            break;
        };
        at += (CENTRAL_BYTES + fields.len()) as u64;
        let (name, rest) = fields.split_at(usize::from(u16_at(&head, 28)));
        let extra = &rest[..usize::from(u16_at(&head, 30))];
        let entry = entry(&head, extra, shift);
        let (name, is_utf8) = unicode_name(name, extra)
            .map_or((Cow::Borrowed(name), false), |name| {
                (Cow::Owned(name), true)
            });
        let utf8 = is_utf8 || u16_at(&head, 8) & UTF8 != 0;
        let entry = match name.last() {
            Some(b'/' | b'\\') if entry.kind == EntryKind::File => Entry {
                kind: EntryKind::Directory,
                ..entry
            },
            _ => entry,
        };
        let raw = RawName {
            bytes: &name,
            link: b"",
            utf8,
        };
        if !builder.add(raw, entry, None) {
            full = true;
            break;
        }
    }
    say_what_is_wrong(found, at, full, builder);
    Ok(Ok(builder.len() > 0
        || found.start == found.end
            && found.said == 0
            && is_only_an_end(disk, found)))
}

/// Reads a header, and what follows it of varying length into `fields`.
fn next_header(reader: &mut impl Read, fields: &mut Vec<u8>) -> Option<[u8; CENTRAL_BYTES]> {
    let mut head = [0; CENTRAL_BYTES];
    reader.read_exact(&mut head).ok()?;
    let lengths = [28, 30, 32].map(|at| usize::from(u16_at(&head, at)));
    fields.resize(lengths.iter().sum(), 0);
    reader.read_exact(fields).ok()?;
    (head[..4] == *CENTRAL).then_some(head)
}

/// What is to be added to the offsets of members: nothing, where it is only the directory's own
/// offset that is wrong.
fn settled_shift(disk: &Disk, found: CentralDirectory) -> io::Result<u64> {
    let head = disk.bytes(found.start, CENTRAL_BYTES)?;
    let offset = u64::from(u32_at(&head, 42));
    let is_local = |at| Ok::<bool, io::Error>(disk.bytes(at, 4)? == LOCAL);
    let shifted = offset.wrapping_add(found.shift);
    let is_shifted = shifted < disk.len && is_local(shifted)?;
    Ok(match !is_shifted && is_local(offset)? {
        true => 0,
        false => found.shift,
    })
}

/// Whether an archive without entries is nothing else either.
fn is_only_an_end(disk: &Disk, found: CentralDirectory) -> bool {
    let head = disk.bytes(0, 4).unwrap_or_default();
    found.start == 0 || head != LOCAL
}

fn say_what_is_wrong(found: CentralDirectory, at: u64, full: bool, builder: &mut Builder) {
    if full {
        return;
    }
    let there = builder.len() as u64;
    // The old count has 16 bits, and writers of many entries let it run over.
    let agrees = match found.is_zip64 {
        true => there == found.said,
        false => there & 0xFFFF == found.said,
    };
    if at < found.end && there > 0 {
        builder.notice(format!(
            "The archive's directory is damaged after {} of {} entries; the others are missing here",
            there, found.said
        ));
    } else if !agrees && there > 0 {
        builder.notice(format!(
            "The archive says that it has {} entries; {there} are there",
            found.said
        ));
    }
}

fn entry(head: &[u8], extra: &[u8], shift: u64) -> Entry {
    let flags = u16_at(head, 8);
    let method = u16_at(head, 10);
    let narrow = [24, 20, 42].map(|at| u32_at(head, at));
    let [size, packed, offset] = wide(extra, narrow);
    // Only systems that have modes write them; MS-DOS and Windows say nothing there.
    let mode = match head[5] {
        3 | 19 => u32_at(head, 38) >> 16,
        _ => 0,
    };
    let kind = match mode & 0o170_000 {
        0o120_000 => EntryKind::Symlink,
        0o040_000 => EntryKind::Directory,
        // What was packed from a pipe is what came out of it.
        0o010_000 if size == 0 => EntryKind::Special(Special::Fifo),
        0o020_000 => EntryKind::Special(Special::CharacterDevice),
        0o060_000 => EntryKind::Special(Special::BlockDevice),
        0o140_000 => EntryKind::Special(Special::Socket),
        _ => EntryKind::File,
    };
    Entry {
        encrypted: flags & ENCRYPTED != 0 || method == AES,
        self_ending: flags & SELF_ENDING != 0,
        size,
        packed,
        offset: offset.wrapping_add(shift),
        crc: Some(u32_at(head, 16)),
        ..Entry::new(kind, Packing::Method(method))
    }
}

/// The name in the field by Info-ZIP, if it is that of this very name.
fn unicode_name(name: &[u8], extra: &[u8]) -> Option<Vec<u8>> {
    const UNICODE_PATH: u16 = 0x7075;
    let (_, content) = extra_fields(extra).find(|(number, _)| *number == UNICODE_PATH)?;
    let (head, unicode) = content.split_at_checked(5)?;
    let mut crc = flate2::Crc::new();
    crc.update(name);
    let valid =
        head[0] == 1 && u32_at(head, 1) == crc.sum() && std::str::from_utf8(unicode).is_ok();
    valid.then(|| unicode.to_vec())
}
