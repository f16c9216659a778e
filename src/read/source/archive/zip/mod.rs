//! Zip: its directory, read entry by entry, and its members; the directory is never believed further than the file bears it out.

mod directory;
mod member;
mod recover;

pub use directory::{CentralDirectory, find, index};
pub use member::{Failure, Unpacked, method_name, unpack};

/// What every local header begins with.
const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;

/// Flags of a member.
const ENCRYPTED: u16 = 1;
const SELF_ENDING: u16 = 2;
const SIZES_FOLLOW: u16 = 8;
const UTF8: u16 = 1 << 11;

const STORED: u16 = 0;
const AES: u16 = 99;

/// Whether a file begins as a zip does.
pub fn begins(head: &[u8]) -> bool {
    [LOCAL, END, DESCRIPTOR]
        .iter()
        .any(|signature| head.starts_with(*signature))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The extra fields of a header: their numbers and contents.
fn extra_fields(mut extra: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = extra.split_at_checked(4)?;
        let length = usize::from(u16_at(head, 2));
        let (content, rest) = rest.split_at_checked(length)?;
        extra = rest;
        Some((u16_at(head, 0), content))
    })
}

/// The values that did not fit into 32 bits, in the order of the fields that say so.
fn wide<const N: usize>(extra: &[u8], narrow: [u32; N]) -> [u64; N] {
    const ZIP64: u16 = 1;
    let field = extra_fields(extra).find(|(number, _)| *number == ZIP64);
    let mut field = field.map_or(&[][..], |(_, content)| content);
    narrow.map(|value| match (value, field.split_at_checked(8)) {
        (u32::MAX, Some((value, rest))) => {
            field = rest;
            u64_at(value, 0)
        }
        (value, _) => u64::from(value),
    })
}
