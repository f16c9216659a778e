//! Names and hidden parts of a binary workbook ([MS-XLSB]); no formula is ever looked at.

use std::collections::BTreeSet;

use super::{Facts, Package, part, parts_of};

const ROW_HEADER: u16 = 0;
const COLUMN_INFO: u16 = 60;
const BUNDLE_SHEET: u16 = 156;

pub(super) fn look(package: &mut Package) -> Option<Facts> {
    let workbook = part(package, "xl/workbook.bin")?;
    let parts = parts_of(package, "xl/_rels/workbook.bin.rels")?;
    let mut facts = Facts::default();
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
fn records(stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
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

fn count_hidden(sheet: &[u8], facts: &mut Facts) {
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
