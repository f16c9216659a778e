//! One header of a tar, in any of its dialects; a field that is no number is never taken for one.

use super::BLOCK;

/// One header block.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a>(pub &'a [u8; BLOCK]);

/// Whether the block is a header: its checksum is right.
pub fn is_header(block: &[u8; BLOCK]) -> bool {
    let said = number(&block[148..156]);
    let sum = |signed: bool| {
        let bytes = block.iter().enumerate().map(|(at, byte)| match at {
            148..156 => i64::from(b' '),
            _ if signed => i64::from(*byte as i8),
            _ => i64::from(*byte),
        });
        bytes.sum::<i64>()
    };
    // Some old writers added the bytes up as signed ones.
    said.is_some_and(|said| said == sum(false) as u64 || said as i64 == sum(true))
}

impl<'a> Header<'a> {
    pub fn type_flag(self) -> u8 {
        self.0[156]
    }

    pub fn size(self) -> Option<u64> {
        number(&self.0[124..136])
    }

    pub fn link(self) -> &'a [u8] {
        text(&self.0[157..257])
    }

    /// The name, with the prefix field of ustar in front.
    pub fn name(self) -> Vec<u8> {
        let name = text(&self.0[..100]);
        let prefix = match &self.0[257..265] {
            b"ustar\x0000" => text(&self.0[345..500]),
            // GNU has other fields there.
            _ => b"",
        };
        match prefix {
            b"" => name.to_vec(),
            prefix => [prefix, b"/", name].concat(),
        }
    }

    /// Of an old GNU sparse member: its first regions, whether more follow, and its real size.
    pub fn sparse(self) -> (impl Iterator<Item = (u64, u64)> + 'a, bool, Option<u64>) {
        let regions = regions(&self.0[386..482]);
        (regions, self.0[482] != 0, number(&self.0[483..495]))
    }
}

/// Regions of a sparse member, 24 bytes each, up to the first empty one.
pub fn regions(fields: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let pairs = fields.chunks_exact(24);
    pairs.map_while(|pair| {
        let (offset, length) = pair.split_at(12);
        match length[0] {
            0 => None,
            _ => Some((number(offset)?, number(length)?)),
        }
    })
}

fn text(field: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, field).unwrap_or(field.len());
    &field[..end]
}

/// Octal digits, or base 256 where the first bit is set. `None` for what is negative, too large, or
/// no number.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (first, rest) = field.split_first()?;
        let mut value = u64::from(first & 0x7F);
        for byte in rest {
            value = value.checked_mul(256)?.checked_add(u64::from(*byte))?;
        }
        return (value <= i64::MAX as u64).then_some(value);
    }
    let digits = std::str::from_utf8(text(field)).ok()?.trim_matches(' ');
    match digits.is_empty() {
        true => Some(0),
        false => u64::from_str_radix(digits, 8).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"00000000012\0"), Some(10));
        assert_eq!(number(b"     12 \0\0\0\0"), Some(10));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(b"0000000001x\0"), None);
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\x01\0"), Some(256));
        assert_eq!(number(b"\x80\0\0\x40\0\0\0\0\0\0\0\0"), None);
        assert_eq!(number(&[0xFF; 12]), None);
    }
}
