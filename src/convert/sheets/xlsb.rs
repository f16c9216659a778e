//! Names and hidden parts of a binary workbook ([MS-XLSB]); no formula is ever looked at.

use std::collections::BTreeSet;

use super::WorkbookFacts;
use crate::convert::package::{Package, part, relations};

const ROW_HEADER: u16 = 0;
const COLUMN_INFO: u16 = 60;
const BUNDLE_SHEET: u16 = 156;

pub(super) fn look(package: &mut Package) -> Option<WorkbookFacts> {
    let workbook = part(package, "xl/workbook.bin")?;
    let parts = relations(package, "xl", "workbook.bin")?;
    let mut facts = WorkbookFacts::default();
    let mut shown = Vec::new();
    for (kind, record) in records(&workbook) {
        if kind != BUNDLE_SHEET {
            continue;
        }
        let (id, rest) = wide_string(record.get(8..)?)?;
        let (name, _) = wide_string(rest)?;
        match number(record, 0)? {
            0 => {
                facts.names.push(name);
                shown.extend(parts.get(&id).cloned());
            }
            _ => facts.sheets += 1,
        }
    }
    for name in shown {
        if let Some(sheet) = part(package, &name) {
            count_hidden(&sheet, &mut facts);
        }
    }
    Some(facts)
}

/// The records of a part: kind and length are numbers of seven bits a byte (2.1.4).
pub(super) fn records(stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let kind = match *rest.first()? {
            low if low < 0x80 => {
                rest = &rest[1..];
                u16::from(low)
            }
            low => {
                let high = *rest.get(1)?;
                rest = &rest[2..];
                u16::from(low & 0x7F) | u16::from(high & 0x7F) << 7
            }
        };
        let mut length = 0usize;
        for shift in [0, 7, 14, 21] {
            let byte = *rest.first()?;
            rest = &rest[1..];
            length |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
        }
        let record = rest.get(..length)?;
        rest = &rest[length..];
        Some((kind, record))
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Where the string that begins there ends, and its UTF-16 units.
pub(super) fn units_at(record: &[u8], start: usize) -> Option<(usize, &[u8])> {
    let count = number(record, start)? as usize;
    let end = (start + 4).checked_add(count.checked_mul(2)?)?;
    Some((end, record.get(start + 4..end)?))
}

/// The content of a short record of a cell (BrtShortBlank to BrtShortIsst, 12 to 18) as the record
/// whose kind is less by 11 has it: with its column, which is the one right of the cell before.
pub(super) fn long_cell(kind: u16, record: &[u8], column: &mut u32) -> Option<Vec<u8>> {
    match kind {
        1..=11 | 62 => *column = number(record, 0).unwrap_or(*column),
        ROW_HEADER => *column = u32::MAX,
        12..=18 => {
            *column = column.wrapping_add(1);
            return Some([&column.to_le_bytes(), record].concat());
        }
        _ => {}
    }
    None
}

/// Writes what stands before the content of a record; `None` where it is too long for one.
pub(super) fn push_header(out: &mut Vec<u8>, kind: u16, length: usize) -> Option<()> {
    match kind {
        0..0x80 => out.push(kind as u8),
        _ => out.extend([kind as u8 | 0x80, (kind >> 7) as u8 & 0x7F]),
    }
    let mut rest = u32::try_from(length)
        .ok()
        .filter(|length| *length < 1 << 28)?;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    Some(())
}

/// A string with its length in UTF-16 units before it, and what follows it.
fn wide_string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = 4 + 2 * number(bytes, 0)? as usize;
    let units: Vec<u16> = bytes
        .get(4..end)?
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    Some((String::from_utf16_lossy(&units), &bytes[end..]))
}

fn count_hidden(sheet: &[u8], facts: &mut WorkbookFacts) {
    let mut hidden_columns: Vec<(u32, u32)> = Vec::new();
    let mut columns: BTreeSet<u32> = BTreeSet::new();
    let (mut row_is_hidden, mut row_counts) = (false, false);
    let mut column = 0;
    for (kind, record) in records(sheet) {
        match kind {
            ROW_HEADER => {
                // Bit 4 of the twelfth byte (2.4.745): the row has no height.
                row_is_hidden = record.get(11).is_some_and(|flags| flags & 0x10 != 0);
                (row_counts, column) = (false, 0);
            }
            COLUMN_INFO => {
                let hidden = record.get(16).is_some_and(|flags| flags & 1 != 0);
                let range = number(record, 0).zip(number(record, 4));
                hidden_columns.extend(range.filter(|_| hidden));
            }
            1 => column = number(record, 0).unwrap_or(column),
            12 => column += 1,
            // Cells with a value: the first number is the column; short ones (12 to 18) have none
            // and stand right of the one before.
            2..=11 | 13..=18 => {
                column = match kind {
                    2..=11 => number(record, 0).unwrap_or(column),
                    _ => column + 1,
                };
                columns.insert(column);
                if row_is_hidden && !row_counts {
                    row_counts = true;
                    facts.rows += 1;
                }
            }
            _ => {}
        }
    }
    let is_hidden = |column: &&u32| {
        hidden_columns
            .iter()
            .any(|(min, max)| (min..=max).contains(column))
    };
    facts.columns += columns.iter().filter(is_hidden).count() as u64;
}
