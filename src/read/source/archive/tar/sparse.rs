//! Sparse members: their regions put where they belong among zeros; a region never makes a member larger than it may be.

use std::io;

use super::super::index::Regions;
use super::super::inflate::{Halt, MAX_MEMBER};
use super::BLOCK;
use super::pax::MAX_REGIONS;

/// What a sparse member holds, and whether its map agrees with its data. `data` are its bytes in
/// the archive, with its map in front where `regions` is `None`.
pub fn expand(data: &[u8], size: u64, regions: Option<&Regions>) -> Result<(Vec<u8>, bool), Halt> {
    if size > MAX_MEMBER {
        return Err(Halt::TooMuch);
    }
    let in_front;
    let (regions, mut data) = match regions {
        Some(regions) => (regions, data),
        None => {
            let Some((regions, rest)) = map_in_front(data) else {
                return Err(Halt::Broken(io::Error::other(
                    "its map of holes is damaged",
                )));
            };
            in_front = regions;
            (&in_front, rest)
        }
    };
    let mut bytes = vec![0; size as usize];
    let mut sound = true;
    for (offset, length) in regions {
        let there = data
            .len()
            .min(usize::try_from(*length).unwrap_or(usize::MAX));
        let (region, rest) = data.split_at(there);
        data = rest;
        let at = usize::try_from(*offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let room = region.len().min(bytes.len() - at);
        bytes[at..at + room].copy_from_slice(&region[..room]);
        sound &= room as u64 == *length;
    }
    Ok((bytes, sound))
}

/// The map of PAX 1.0: decimal numbers, a line each, first how many pairs follow; padded to whole
/// blocks. With what follows it.
fn map_in_front(data: &[u8]) -> Option<(Regions, &[u8])> {
    let mut at = 0;
    let mut number = || {
        let rest = data.get(at..)?;
        let end = memchr::memchr(b'\n', &rest[..rest.len().min(24)])?;
        at += end + 1;
        std::str::from_utf8(&rest[..end]).ok()?.parse::<u64>().ok()
    };
    let count = number()?;
    if count > MAX_REGIONS as u64 {
        return None;
    }
    let mut regions = Regions::new();
    for _ in 0..count {
        regions.push((number()?, number()?));
    }
    let padded = at.div_ceil(BLOCK) * BLOCK;
    Some((regions, data.get(padded..).unwrap_or_default()))
}
