//! OLE files as some programs write them; what is missing from one is never made up.

pub(super) const MAGIC: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

const FREE: u32 = 0xFFFF_FFFF;
const END_OF_CHAIN: u32 = 0xFFFF_FFFE;

/// The file with the unused end of its allocation table marked as unused, where a program (LibreOffice
/// and SheetJS, for small files) has marked it as the ends of chains: the parser takes that for
/// sectors that are missing. `None` where that is not what is wrong, as in a file that is cut off.
pub(super) fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let shift = u16::from_le_bytes(bytes.get(30..32)?.try_into().ok()?);
    let sector = match shift {
        9 | 12 => 1usize << shift,
        _ => return None,
    };
    let sectors = (bytes.len() / sector).checked_sub(1)?;
    let tables = number(44)? as usize;
    // The header itself names the first 109 sectors of the table.
    if tables > 109 || tables * (sector / 4) <= sectors {
        return None;
    }
    let mut fixed = bytes.to_vec();
    let mut entry = 0;
    for table in 0..tables {
        let start = (number(76 + 4 * table)? as usize)
            .checked_add(1)?
            .checked_mul(sector)?;
        for at in (start..start + sector).step_by(4) {
            match number(at)? {
                _ if entry < sectors => {}
                FREE => {}
                0 | END_OF_CHAIN => fixed[at..at + 4].copy_from_slice(&FREE.to_le_bytes()),
                _ => return None,
            }
            entry += 1;
        }
    }
    (fixed != bytes).then_some(fixed)
}
