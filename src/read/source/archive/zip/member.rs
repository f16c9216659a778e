//! The bytes of one member of a zip; nothing of any other member is ever inflated.

use std::io::{self, Read};

use super::super::index::Entry;
use super::super::inflate::{Disk, Halt, Inflow, MAX_MEMBER, MAX_WINDOW_KIB, MAX_WINDOW_LOG};
use super::super::zstd;
use super::{LOCAL, LOCAL_BYTES, STORED, u16_at};

/// What came out of a member.
#[derive(Debug)]
pub struct Unpacked {
    pub bytes: Vec<u8>,
    /// What is wrong with it, one sentence each.
    pub faults: Vec<String>,
}

/// Why there is nothing.
#[derive(Debug)]
pub enum Failure {
    Halt(Halt),
    /// Packed by a method that nobody here knows.
    Method(u16),
}

/// Unpacks a member that is not encrypted. What came out before its damage is there.
pub fn unpack(disk: &Disk, entry: &Entry, method: u16) -> Result<Unpacked, Failure> {
    let broken = |error: io::Error| Failure::Halt(Halt::Broken(error));
    let head = disk.bytes(entry.offset, LOCAL_BYTES).map_err(broken)?;
    if head.len() < LOCAL_BYTES || !head.starts_with(LOCAL) {
        let error = io::Error::other("there is no member where the archive's directory says");
        return Err(broken(error));
    }
    let lengths = u64::from(u16_at(&head, 26)) + u64::from(u16_at(&head, 28));
    let data = entry.offset + LOCAL_BYTES as u64 + lengths;
    let left = disk.len.saturating_sub(data);
    let packed = entry.packed.min(left);
    let from = disk.range(data, packed).map_err(broken)?;
    let decoder = decoder(from, entry, method).map_err(broken)?;
    let Some(decoder) = decoder else {
        return Err(Failure::Method(method));
    };
    let mut inflow = Inflow::new(decoder, packed, MAX_MEMBER, disk);
    let mut bytes =
        Vec::with_capacity(entry.size.min(packed.saturating_mul(20)).min(MAX_MEMBER) as usize);
    let mut faults = Vec::new();
    match inflow.take_into(&mut bytes, u64::MAX) {
        Ok(()) => {}
        Err(Halt::Broken(_)) if !bytes.is_empty() => {}
        Err(halt) => return Err(Failure::Halt(halt)),
    }
    if packed < entry.packed || entry.cut {
        faults.push(format!(
            "The archive ends within this member: {} bytes of it are there",
            bytes.len()
        ));
    } else if let Some(said) = entry.crc {
        let mut crc = flate2::Crc::new();
        crc.update(&bytes);
        if bytes.len() as u64 != entry.size {
            faults.push(format!(
                "This member is damaged: the archive says that it has {} bytes, and {} came out",
                entry.size,
                bytes.len()
            ));
        } else if crc.sum() != said {
            faults
                .push("This member is damaged: its checksum is not that of these bytes".to_owned());
        }
    }
    Ok(Unpacked { bytes, faults })
}

/// What unpacks the method; `None` where nothing does.
fn decoder<'a>(
    mut from: impl io::BufRead + 'a,
    entry: &Entry,
    method: u16,
) -> io::Result<Option<Box<dyn Read + 'a>>> {
    Ok(Some(match method {
        STORED => Box::new(from),
        8 => Box::new(flate2::bufread::DeflateDecoder::new(from)),
        9 => Box::new(deflate64::Deflate64Decoder::with_buffer(from)),
        12 => Box::new(bzip2::bufread::BzDecoder::new(from)),
        14 => {
            // Version of the program, size of the properties, the properties.
            let mut head = [0; 9];
            from.read_exact(&mut head)?;
            let window = u32::from_le_bytes([head[5], head[6], head[7], head[8]]);
            if u16_at(&head, 2) != 5 || window > 1 << MAX_WINDOW_LOG {
                return Err(io::Error::other("its LZMA properties are not acceptable"));
            }
            let size = match entry.self_ending {
                true => u64::MAX,
                false => entry.size,
            };
            let reader = lzma_rust2::LzmaReader::new_with_props(from, size, head[4], window, None);
            Box::new(reader?)
        }
        20 | 93 => Box::new(zstd::Decoder::new(from, MAX_WINDOW_LOG)),
        95 => Box::new(lzma_rust2::XzReader::new_mem_limit(
            from,
            false,
            MAX_WINDOW_KIB,
        )),
        _ => return Ok(None),
    }))
}

/// The name of a method, for messages.
pub fn method_name(method: u16) -> &'static str {
    match method {
        1 => "shrinking",
        2..=5 => "reducing",
        6 => "imploding",
        10 | 18 | 19 => "an IBM method",
        94 => "MP3",
        96 => "JPEG",
        97 => "WavPack",
        98 => "PPMd",
        _ => "an unknown method",
    }
}
