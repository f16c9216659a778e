//! A zip whose directory is gone: its members by their own headers; where one ends is never taken from a size that the file does not bear out.

use std::io::{self, Read};

use crate::protocol::Refusal;
use crate::task::Work;

use super::super::index::{Builder, Entry, EntryKind, Packing, RawName};
use super::super::inflate::Disk;
use super::{
    AES, CENTRAL, DESCRIPTOR, ENCRYPTED, LOCAL, LOCAL_BYTES, SELF_ENDING, SIZES_FOLLOW, UTF8,
    u16_at, u32_at, wide,
};

/// Bytes that are searched at a time, and in all.
const PIECE: usize = 1024 * 1024;
const MAX_SEARCHED: u64 = 1024 * 1024 * 1024;

/// A local header.
struct Local {
    entry: Entry,
    name: Vec<u8>,
    utf8: bool,
    data: u64,
    sizes_follow: bool,
}

/// Adds every member that is found.
pub fn scan(disk: &Disk, builder: &mut Builder, work: &Work) -> Result<io::Result<()>, Refusal> {
    let mut search = SignatureSearch {
        disk,
        work,
        searched: 0,
    };
    let mut at = 0;
    loop {
        // After a member the next one, or garbage to be passed over.
        let next = match search.next(at, &[LOCAL, CENTRAL])? {
            Ok(Some((next, signature))) if signature == LOCAL => next,
            Ok(_) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let local = match local_at(disk, next) {
            Ok(Some(local)) => local,
            Ok(None) => {
                at = next + 4;
                continue;
            }
            Err(error) => return Ok(Err(error)),
        };
        at = match add(disk, local, &mut search, builder)? {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
    }
}

/// Adds a member, and says where it ends; `None` where no more can be added.
fn add(
    disk: &Disk,
    mut local: Local,
    search: &mut SignatureSearch,
    builder: &mut Builder,
) -> Result<io::Result<Option<u64>>, Refusal> {
    let data = local.data;
    let (packed, end) = match local.sizes_follow {
        false => (local.entry.packed, data.saturating_add(local.entry.packed)),
        true => match search.end_of_member(data)? {
            Ok((packed, end, sizes)) => {
                if let Some((crc, size)) = sizes {
                    (local.entry.crc, local.entry.size) = (Some(crc), size);
                }
                (packed, end)
            }
            Err(error) => return Ok(Err(error)),
        },
    };
    let left = disk.len.saturating_sub(data);
    local.entry.cut = packed > left || local.sizes_follow && end >= disk.len;
    local.entry.packed = packed.min(left);
    let raw = RawName {
        bytes: &local.name,
        link: b"",
        utf8: local.utf8,
    };
    let goes_on = builder.add(raw, local.entry, None) && end < disk.len;
    Ok(Ok(goes_on.then_some(end)))
}

fn local_at(disk: &Disk, at: u64) -> io::Result<Option<Local>> {
    let head = disk.bytes(at, LOCAL_BYTES)?;
    if head.len() < LOCAL_BYTES {
        return Ok(None);
    }
    let [name_length, extra_length] = [26, 28].map(|at| usize::from(u16_at(&head, at)));
    let mut fields = disk.bytes(at + LOCAL_BYTES as u64, name_length + extra_length)?;
    if fields.len() < name_length + extra_length || name_length == 0 {
        return Ok(None);
    }
    let extra = fields.split_off(name_length);
    let flags = u16_at(&head, 6);
    let method = u16_at(&head, 8);
    let [size, packed] = wide(&extra, [22, 18].map(|at| u32_at(&head, at)));
    let kind = match fields.ends_with(b"/") {
        true => EntryKind::Directory,
        false => EntryKind::File,
    };
    let entry = Entry {
        encrypted: flags & ENCRYPTED != 0 || method == AES,
        self_ending: flags & SELF_ENDING != 0,
        size,
        packed,
        offset: at,
        crc: Some(u32_at(&head, 14)),
        ..Entry::new(kind, Packing::Method(method))
    };
    let sizes_follow = flags & SIZES_FOLLOW != 0 && packed == 0;
    Ok(Some(Local {
        entry: Entry {
            crc: entry.crc.filter(|_| !sizes_follow),
            ..entry
        },
        name: fields,
        utf8: flags & UTF8 != 0,
        data: at + (LOCAL_BYTES + name_length + extra_length) as u64,
        sizes_follow,
    }))
}

/// Checksum and size, as they stand behind a member.
type Sizes = Option<(u32, u64)>;

/// Where a signature is, and which one.
type Signed<'s> = (u64, &'s [u8; 4]);

struct SignatureSearch<'a> {
    disk: &'a Disk<'a>,
    work: &'a Work,
    searched: u64,
}

impl SignatureSearch<'_> {
    /// The first of these signatures from `from` on.
    fn next<'s>(
        &mut self,
        from: u64,
        signatures: &[&'s [u8; 4]],
    ) -> Result<io::Result<Option<Signed<'s>>>, Refusal> {
        let mut at = from;
        while at < self.disk.len && self.searched < MAX_SEARCHED {
            self.work.check()?;
            let mut piece = Vec::with_capacity(PIECE);
            // A signature that is cut by a piece's end is found whole in the next one.
            let read = self
                .disk
                .range(at, PIECE as u64)
                .and_then(|mut reader| reader.read_to_end(&mut piece));
            if let Err(error) = read {
                return Ok(Err(error));
            }
            let first = memchr::memmem::find_iter(&piece, b"PK").find_map(|index| {
                let here = piece.get(index..index + 4)?;
                let signature = signatures.iter().find(|signature| here == **signature)?;
                Some((index, *signature))
            });
            if let Some((index, signature)) = first {
                self.searched += index as u64;
                return Ok(Ok(Some((at + index as u64, signature))));
            }
            if piece.len() < PIECE {
                break;
            }
            at += PIECE as u64 - 3;
            self.searched += PIECE as u64;
        }
        Ok(Ok(None))
    }

    /// The packed size of a member whose sizes follow it, where what follows it begins, and its
    /// checksum and size if they are said.
    fn end_of_member(&mut self, data: u64) -> Result<io::Result<(u64, u64, Sizes)>, Refusal> {
        let mut from = data;
        loop {
            let (at, signature) = match self.next(from, &[DESCRIPTOR, LOCAL, CENTRAL])? {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(Ok((self.disk.len - data, self.disk.len, None))),
                Err(error) => return Ok(Err(error)),
            };
            let packed = at - data;
            if signature != DESCRIPTOR {
                // Sizes without a signature of their own: 12 bytes.
                let packed = packed.saturating_sub(12);
                return Ok(Ok((packed, at, None)));
            }
            let record = match self.disk.bytes(at, 24) {
                Ok(record) => record,
                Err(error) => return Ok(Err(error)),
            };
            let crc = u32_at(&record, 4);
            if u64::from(u32_at(&record, 8)) == packed {
                let size = u64::from(u32_at(&record, 12));
                // With 64-bit sizes the upper half of the first is what looks like the second.
                return Ok(Ok((packed, at + 16, Some((crc, size)))));
            }
            from = at + 4;
        }
    }
}
