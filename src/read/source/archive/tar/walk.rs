//! The pass over a tar's headers; nothing in them makes it hold more than a header's worth of text.

use std::io;

use crate::task::Work;

use super::super::index::{Builder, Entry, EntryKind, Packing, RawName, Regions, Special};
use super::super::inflate::{Disk, Halt, Inflow};
use super::BLOCK;
use super::header::{Header, is_header, regions};
use super::pax::{Extended, MAX_REGIONS};

/// Bytes of a name, a link, or the records of an extended header.
const MAX_TEXT: u64 = 1024 * 1024;

/// Bytes that are searched for the next header after a damaged one.
const MAX_RESYNC: u64 = 64 * 1024 * 1024;

/// Headers between two looks at the cancel token.
const CHECK_EVERY: usize = 256;

/// What a tar is read from.
pub trait Blocks {
    /// Fills the buffer, as far as there is something.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Halt>;
    /// Passes over so many bytes; the bytes really there are less only at the end.
    fn skip(&mut self, count: u64) -> Result<u64, Halt>;
    fn position(&self) -> u64;
}

impl Blocks for Inflow<'_> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Halt> {
        Inflow::fill(self, buffer)
    }

    fn skip(&mut self, count: u64) -> Result<u64, Halt> {
        Inflow::skip(self, count)
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// A tar that is not compressed: members are passed over by seeking.
#[derive(Debug)]
pub struct Plain<'a> {
    disk: &'a Disk<'a>,
    position: u64,
    /// Bytes that are read already, and where they begin.
    ahead: (u64, Vec<u8>),
}

/// Bytes read at once: headers of small members stand close together.
const AHEAD: usize = 32 * 1024;

impl<'a> Plain<'a> {
    pub fn new(disk: &'a Disk<'a>) -> Plain<'a> {
        Plain {
            disk,
            position: 0,
            ahead: (0, Vec::new()),
        }
    }
}

impl Blocks for Plain<'_> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Halt> {
        let (from, ahead) = &self.ahead;
        let within = self.position.checked_sub(*from).map(|at| at as usize);
        let covered = within.is_some_and(|at| at + buffer.len() <= ahead.len());
        if !covered {
            let bytes = self.disk.bytes(self.position, AHEAD.max(buffer.len()));
            self.ahead = (self.position, bytes.map_err(Halt::Broken)?);
        }
        let (from, ahead) = &self.ahead;
        let rest = &ahead[(self.position - from) as usize..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        Ok(count)
    }

    fn skip(&mut self, count: u64) -> Result<u64, Halt> {
        let count = count.min(self.disk.len.saturating_sub(self.position));
        self.position += count;
        Ok(count)
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// Adds every member. Where the pass is halted, what came before stays added.
pub fn index(blocks: &mut dyn Blocks, builder: &mut Builder, work: &Work) -> Result<(), Halt> {
    Walk {
        blocks,
        builder,
        work,
        global: Extended::default(),
        next: Extended::default(),
    }
    .run()
}

struct Walk<'a> {
    blocks: &'a mut dyn Blocks,
    builder: &'a mut Builder,
    work: &'a Work,
    /// What holds for all members that follow.
    global: Extended,
    /// What holds for the next member.
    next: Extended,
}

/// A member as its headers say: name, link, what the index holds of it, and its map of holes.
type TarMember = (Vec<u8>, Vec<u8>, Entry, Option<Regions>);

/// What came of one header.
#[derive(PartialEq, Eq)]
enum TarStep {
    On,
    /// Where the next header is cannot be told: it must be looked for.
    Lost,
    End,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), Halt> {
        let mut empty_blocks = 0;
        // Blocks passed over in search of a header; none while we know where it is.
        let mut lost = 0;
        for count in 0.. {
            if count % CHECK_EVERY == 0 {
                self.work.check()?;
            }
            let mut block = [0; BLOCK];
            match self.blocks.fill(&mut block)? {
                0 => {
                    if empty_blocks == 0 && lost == 0 {
                        self.builder.notice(UNENDED.to_owned());
                    }
                    return Ok(());
                }
                BLOCK => {}
                _ => {
                    self.builder.notice(CUT.to_owned());
                    return Ok(());
                }
            }
            if block == [0; BLOCK] && lost == 0 {
                empty_blocks += 1;
                if empty_blocks == 2 {
                    return Ok(());
                }
                continue;
            }
            empty_blocks = 0;
            let step = match is_header(&block) {
                true => self.header(&block)?,
                false => TarStep::Lost,
            };
            match step {
                TarStep::On => lost = 0,
                TarStep::End => return Ok(()),
                TarStep::Lost if lost == MAX_RESYNC / BLOCK as u64 => return Ok(()),
                TarStep::Lost => {
                    self.builder.notice(LOST.to_owned());
                    self.next = Extended::default();
                    lost += 1;
                }
            }
        }
        Ok(())
    }

    fn header(&mut self, block: &[u8; BLOCK]) -> Result<TarStep, Halt> {
        let header = Header(block);
        let Some(size) = header.size() else {
            return Ok(TarStep::Lost);
        };
        match header.type_flag() {
            b'L' => {
                let name = self.text(size)?;
                self.next.path = name.map(until_nul);
            }
            b'K' => {
                let link = self.text(size)?;
                self.next.link = link.map(until_nul);
            }
            flag @ (b'x' | b'X' | b'g') => {
                let records = self.text(size)?;
                let to = match flag {
                    b'g' => &mut self.global,
                    _ => &mut self.next,
                };
                if !records.is_some_and(|records| to.read(&records)) {
                    self.builder.notice(
                        "An extended header is damaged: the name or size that it gave is not known"
                            .to_owned(),
                    );
                }
            }
            // A volume's name, and the rest of a member of the volume before.
            b'V' | b'M' => return self.pass_over(size, None),
            flag => return self.member(header, flag, size),
        }
        Ok(TarStep::On)
    }

    fn member(&mut self, header: Header, flag: u8, size: u64) -> Result<TarStep, Halt> {
        let next = std::mem::take(&mut self.next);
        let size = next.size.or(self.global.size).unwrap_or(size);
        let path = next
            .sparse
            .name
            .clone()
            .or_else(|| next.path.clone())
            .or_else(|| self.global.path.clone());
        let name = path.unwrap_or_else(|| header.name());
        let link = next.link.clone().or_else(|| self.global.link.clone());
        let link = link.unwrap_or_else(|| header.link().to_vec());
        let (kind, has_data) = match flag {
            b'1' => (EntryKind::Hardlink, false),
            b'2' => (EntryKind::Symlink, false),
            b'3' => (EntryKind::Special(Special::CharacterDevice), false),
            b'4' => (EntryKind::Special(Special::BlockDevice), false),
            b'5' => (EntryKind::Directory, false),
            b'6' => (EntryKind::Special(Special::Fifo), false),
            // What GNU's incremental dumps write of a directory, with the names in it as data.
            b'D' => (EntryKind::Directory, true),
            // Before ustar a slash at the end was all that told a directory.
            0 | b'0' if name.ends_with(b"/") => (EntryKind::Directory, true),
            _ => (EntryKind::File, true),
        };
        let mut entry = Entry::new(kind, Packing::Plain);
        entry.packed = if has_data { size } else { 0 };
        entry.size = if kind == EntryKind::File { size } else { 0 };
        let mut map = None;
        if flag == b'S' {
            let (regions, real_size) = self.old_sparse(header)?;
            entry.packing = Packing::SparseMapped;
            entry.size = real_size.unwrap_or(size);
            map = Some(regions);
        } else if kind == EntryKind::File && next.is_sparse() {
            entry.size = next.sparse.real_size.unwrap_or(size);
            entry.packing = match next.sparse.in_front {
                true => Packing::SparseInFront,
                false => Packing::SparseMapped,
            };
            map = (!next.sparse.in_front).then_some(next.sparse.regions);
        }
        entry.offset = self.blocks.position();
        self.pass_over(entry.packed, Some((name, link, entry, map)))
    }

    /// Adds the member, if it is one, and passes over its bytes.
    fn pass_over(&mut self, size: u64, member: Option<TarMember>) -> Result<TarStep, Halt> {
        let padded = size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        let skipped = self.blocks.skip(padded);
        let there = match &skipped {
            Ok(count) => *count,
            Err(_) => 0,
        };
        let broken = matches!(skipped, Err(Halt::Broken(_)));
        let cut = there < size;
        let mut goes_on = true;
        if let Some((name, link, mut entry, map)) = member {
            entry.cut = broken || cut && skipped.is_ok();
            let raw = RawName {
                bytes: &name,
                link: &link,
                utf8: false,
            };
            goes_on = self.builder.add(raw, entry, map);
        }
        skipped?;
        if cut {
            self.builder.notice(CUT.to_owned());
        }
        match goes_on && !cut {
            true => Ok(TarStep::On),
            false => Ok(TarStep::End),
        }
    }

    /// The data of a header that stands for a field of the next one; `None` where it is too long.
    fn text(&mut self, size: u64) -> Result<Option<Vec<u8>>, Halt> {
        let padded = size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        if size > MAX_TEXT {
            self.blocks.skip(padded)?;
            return Ok(None);
        }
        let mut text = vec![0; padded as usize];
        let there = self.blocks.fill(&mut text)?;
        text.truncate(there.min(size as usize));
        Ok(Some(text))
    }

    /// The map of an old GNU sparse member, from its header and the blocks that go on with it.
    fn old_sparse(&mut self, header: Header) -> Result<(Regions, Option<u64>), Halt> {
        let (first, mut more, real_size) = header.sparse();
        let mut map: Regions = first.collect();
        while more {
            let mut block = [0; BLOCK];
            if self.blocks.fill(&mut block)? < BLOCK || map.len() > MAX_REGIONS {
                return Err(Halt::Broken(io::Error::other(
                    "the map of a sparse member does not end",
                )));
            }
            map.extend(regions(&block[..504]));
            more = block[504] != 0;
        }
        Ok((map, real_size))
    }
}

/// What is said of a tar that ends where a member does, which a cut one may do as well.
const UNENDED: &str = "The archive has no mark of its end: it may be cut, and members missing";

/// What is said of a tar in which a header was not where it should be.
const LOST: &str = "A damaged header was passed over: members may be missing";

/// What is said of a tar that ends within a member.
const CUT: &str = "The archive ends within a member: later ones are missing";

fn until_nul(mut text: Vec<u8>) -> Vec<u8> {
    if let Some(end) = memchr::memchr(0, &text) {
        text.truncate(end);
    }
    text
}
