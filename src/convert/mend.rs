//! PDFs whose table of objects or list of pages is lost, mended by what is put behind them; of what is there only blanks are changed, to ends of lines.

use memchr::memmem;
use unpdf::parser::raw::tokenizer::dict_get;
use unpdf::parser::raw::xref::{self, XrefEntry, XrefTable};
use unpdf::parser::raw::{PdfObject, RawDocument};

/// Pages of a document whose list of them is lost; as many kids take a megabyte.
const MAX_PAGES: usize = 100_000;

/// Objects for what is lost: numbers that no program gives, and if one did, the later object holds.
const CATALOG: u32 = 99_999_998;
const PAGES: u32 = 99_999_999;

/// Makes the parser look for the objects themselves: what it is told of their places is beyond any
/// file. An object that is there twice is the later one then.
pub(super) fn forget_table(bytes: &mut Vec<u8>) {
    begin_lines(bytes);
    point_nowhere(bytes);
}

fn point_nowhere(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"\nstartxref\n99999999999\n%%EOF\n");
}

/// Lets each `12 0 obj` that stands behind a blank begin a line: the parser sees no others. A hole
/// in a file is such blanks.
fn begin_lines(bytes: &mut [u8]) {
    const WORD: &[u8] = b"obj";
    let places: Vec<usize> = memmem::find_iter(bytes, WORD).collect();
    for place in places {
        let before = |end: usize, is: fn(&u8) -> bool| {
            let taken = bytes[..end].iter().rev().take_while(|byte| is(byte));
            end - taken.take(MAX_HEADER).count()
        };
        let generation_end = before(place, is_blank);
        let generation = before(generation_end, u8::is_ascii_digit);
        let number_end = before(generation, is_blank);
        let number = before(number_end, u8::is_ascii_digit);
        let parts = [number, number_end, generation, generation_end, place];
        let is_header = parts.windows(2).all(|pair| pair[0] < pair[1]);
        if is_header && number > 0 && is_blank(&bytes[number - 1]) {
            bytes[number - 1] = b'\n';
        }
    }
}

/// Bytes of each part of an object's header at most.
const MAX_HEADER: usize = 16;

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'\0' | b'\x0c')
}

/// Puts a list of all pages behind a document of which [`forget_table`] did not find one, in the
/// order in which they stand in the file; `header` is where the document begins. Whether there are any.
pub(super) fn append_pages(bytes: &mut Vec<u8>, header: usize) -> bool {
    let list = named_list(&bytes[header..]).unwrap_or_else(|| {
        // Without a catalog nothing is found.
        let catalog = format!(
            "\n{CATALOG} 0 obj\n<</Type/Catalog/Pages {PAGES} 0 R>>\nendobj\ntrailer\n<</Root {CATALOG} 0 R>>\n"
        );
        bytes.extend_from_slice(catalog.as_bytes());
        point_nowhere(bytes);
        (PAGES, 0)
    });
    let Some(list) = list_of_pages(&bytes[header..], list) else {
        return false;
    };
    bytes.extend_from_slice(list.as_bytes());
    point_nowhere(bytes);
    true
}

/// The object that the catalog names as its list of pages.
fn named_list(bytes: &[u8]) -> Option<(u32, u16)> {
    let document = RawDocument::load(bytes).ok()?;
    dict_get(document.catalog().ok()?, b"Pages")?.as_reference()
}

/// That object with all pages in it.
fn list_of_pages(bytes: &[u8], list: (u32, u16)) -> Option<String> {
    let (table, _) = xref::reconstruct(bytes).ok()?;
    let document = RawDocument::load(bytes).ok()?;
    let is_page = |id: &(u32, u16)| {
        let object = document.get_object(*id).and_then(PdfObject::as_dict);
        let kind = object.and_then(|dict| dict_get(dict, b"Type")?.as_name());
        kind == Some(b"Page")
    };
    let mut pages: Vec<(u32, u16)> = table.entries.keys().copied().filter(is_page).collect();
    if pages.is_empty() || pages.contains(&list) {
        return None;
    }
    pages.sort_by_key(|id| place(&table, *id));
    pages.truncate(MAX_PAGES);
    let count = pages.len();
    let kids: Vec<String> = pages
        .iter()
        .map(|(number, generation)| format!("{number} {generation} R"))
        .collect();
    let (number, generation) = list;
    Some(format!(
        "\n{number} {generation} obj\n<</Type/Pages/Count {count}/Kids[{}]>>\nendobj\n",
        kids.join(" ")
    ))
}

/// Where an object stands: its own place, or that of the stream it is packed in and its place there.
fn place(table: &XrefTable, id: (u32, u16)) -> (usize, u32) {
    match table.entries.get(&id) {
        Some(XrefEntry::Uncompressed(at)) => (*at, 0),
        Some(XrefEntry::Compressed(stream, index)) => match table.entries.get(&(*stream, 0)) {
            Some(XrefEntry::Uncompressed(at)) => (*at, *index),
            _ => (usize::MAX, *index),
        },
        None => (usize::MAX, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_behind_a_blank_begins_a_line() {
        let begun = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            begin_lines(&mut bytes);
            String::from_utf8(bytes).expect("ASCII")
        };
        assert_eq!(
            begun("endobj 5 0 obj <<>>\0\x0012 0 obj"),
            "endobj\n5 0 obj <<>>\0\n12 0 obj"
        );
        for text in [
            "5 0 obj",
            "endobj5 0 obj",
            "a obj",
            "0 obj",
            " obj",
            "a 5 0 R obj",
            "",
        ] {
            assert_eq!(begun(text), text);
        }
    }
}
