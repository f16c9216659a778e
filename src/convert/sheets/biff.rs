//! Names and hidden parts of a workbook as Excel 97 to 2003 wrote it ([MS-XLS]); no formula is ever looked at.

use std::collections::BTreeSet;
use std::io::{Cursor, Read, Seek};

use encoding_rs::{Encoding, WINDOWS_1252};

use super::WorkbookFacts;

/// Bytes of the workbook's stream that are looked at.
const MAX_STREAM: u64 = 128 * 1024 * 1024;

const BOF: u16 = 0x0809;
/// The version in the first record since which strings are Unicode (Excel 97).
const UNICODE: u16 = 0x0600;
const CODE_PAGE: u16 = 0x0042;
const EOF: u16 = 0x000A;
const BOUNDSHEET: u16 = 0x0085;
const ROW: u16 = 0x0208;
const COLINFO: u16 = 0x007D;

/// One record: its kind and its content.
type Record<'b> = (u16, &'b [u8]);

pub(super) fn look(bytes: &[u8]) -> Option<WorkbookFacts> {
    let mut file = cfb::CompoundFile::open(Cursor::new(bytes)).ok()?;
    let (_, stream) = stream(&mut file)?;
    let mut facts = WorkbookFacts::default();
    let mut code_page = (word(&stream, 4)? != UNICODE).then_some(WINDOWS_1252);
    for (kind, record) in records(&stream) {
        match kind {
            EOF => break,
            CODE_PAGE => code_page = code_page.and(encoding(word(record, 0)?)),
            BOUNDSHEET => sheet(&stream, record, code_page, &mut facts)?,
            _ => {}
        }
    }
    Some(facts)
}

/// The workbook's stream, and its name.
pub(super) fn stream<F: Read + Seek>(
    file: &mut cfb::CompoundFile<F>,
) -> Option<(&'static str, Vec<u8>)> {
    let mut stream = Vec::new();
    let name = ["/Workbook", "/Book", "/WORKBOOK", "/BOOK"]
        .into_iter()
        .find(|name| file.is_stream(name))?;
    let opened = file.open_stream(name).ok()?;
    opened.take(MAX_STREAM).read_to_end(&mut stream).ok()?;
    Some((name, stream))
}

pub(super) fn records(stream: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let (kind, length) = (word(rest, 0)?, usize::from(word(rest, 2)?));
        let record = rest.get(4..4 + length)?;
        rest = &rest[4 + length..];
        Some((kind, record))
    })
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Takes one sheet in by its entry in the workbook's table.
fn sheet(
    stream: &[u8],
    entry: &[u8],
    code_page: Option<&'static Encoding>,
    facts: &mut WorkbookFacts,
) -> Option<()> {
    let offset = u32::from_le_bytes(entry.get(..4)?.try_into().ok()?) as usize;
    let (state, what) = (entry.get(4)? & 3, *entry.get(5)?);
    if what != 0 {
        // A chart or a module has no cells.
        return Some(());
    }
    if state != 0 {
        facts.sheets += 1;
        return Some(());
    }
    facts.names.push(name(entry, code_page)?);
    count_hidden(stream.get(offset..)?, facts);
    Some(())
}

/// The encoding of a workbook from before Unicode.
fn encoding(code_page: u16) -> Option<&'static Encoding> {
    let label = match code_page {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        page => format!("windows-{page}"),
    };
    Some(Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252))
}

/// A name of up to 31 characters, in one byte or two for each ([MS-XLS] 2.5.240), or in that
/// encoding.
fn name(entry: &[u8], code_page: Option<&'static Encoding>) -> Option<String> {
    if let Some(encoding) = code_page {
        let text = entry.get(7..)?;
        let text = &text[..text.len().min(usize::from(*entry.get(6)?))];
        let (name, _) = encoding.decode_without_bom_handling(text);
        return Some(name.into_owned());
    }
    let (count, is_wide) = (usize::from(*entry.get(6)?), entry.get(7)? & 1 == 1);
    let text = entry.get(8..)?;
    Some(match is_wide {
        false => text
            .iter()
            .take(count)
            .map(|byte| char::from(*byte))
            .collect(),
        true => {
            let units = text.chunks_exact(2).take(count);
            let units: Vec<u16> = units
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
    })
}

/// Records that hold the value of cells, with row and column first: the last column of those for
/// several cells stands in their last two bytes.
fn cells(kind: u16, record: &[u8]) -> Option<(u16, u16, u16)> {
    let (row, column) = (word(record, 0)?, word(record, 2)?);
    match kind {
        // LABELSST, LABEL, RSTRING, NUMBER, RK, BOOLERR, FORMULA
        0x00FD | 0x0204 | 0x00D6 | 0x0203 | 0x027E | 0x0205 | 0x0006 => Some((row, column, column)),
        // MULRK
        0x00BD => Some((row, column, word(record, record.len().checked_sub(2)?)?)),
        _ => None,
    }
}

fn count_hidden(sheet: &[u8], facts: &mut WorkbookFacts) {
    let mut hidden_rows: BTreeSet<u16> = BTreeSet::new();
    let mut hidden_columns: Vec<(u16, u16)> = Vec::new();
    let (mut rows, mut columns): (BTreeSet<u16>, BTreeSet<u16>) = Default::default();
    let mut depth = 0;
    for (kind, record) in records(sheet) {
        match kind {
            BOF => depth += 1,
            EOF if depth <= 1 => break,
            EOF => depth -= 1,
            ROW if word(record, 12).is_some_and(|flags| flags & 0x20 != 0) => {
                hidden_rows.extend(word(record, 0));
            }
            COLINFO if word(record, 8).is_some_and(|flags| flags & 1 != 0) => {
                hidden_columns.extend(word(record, 0).zip(word(record, 2)));
            }
            _ => {
                if let Some((row, first, last)) = cells(kind, record) {
                    rows.insert(row);
                    columns.extend(first..=last.max(first).min(first.saturating_add(255)));
                }
            }
        }
    }
    let is_hidden = |column: &&u16| {
        hidden_columns
            .iter()
            .any(|(min, max)| (min..=max).contains(column))
    };
    facts.rows += rows.intersection(&hidden_rows).count() as u64;
    facts.columns += columns.iter().filter(is_hidden).count() as u64;
}
