//! Old presentations ([MS-PPT]) with a mark at the start of each slide, and which slides are hidden; what stands on a slide is never changed.

use std::collections::HashMap;
use std::io::{Cursor, Read, Write};

use super::slides::MARK;

/// Bytes of the presentation's stream that are looked at.
const MAX_STREAM: u64 = 128 * 1024 * 1024;

/// Edits of a presentation that are followed back, as the converter does.
const MAX_EDITS: usize = 100;

const USER_EDIT: u16 = 0x0FF5;
const PERSIST_DIRECTORY: u16 = 0x1772;
const DOCUMENT: u16 = 0x03E8;
const SLIDE_LIST: u16 = 0x0FF0;
const SLIDE_PERSIST: u16 = 0x03F3;
const SLIDE: u16 = 0x03EE;
const SLIDE_SHOW_INFO: u16 = 0x03F9;
const TEXT_HEADER: u16 = 0x0F9F;
const TEXT_BYTES: u16 = 0x0FA8;

/// The bytes before the content of a record.
const HEAD: usize = 8;

/// The presentation with a mark before the text of each slide, and the numbers of those that are
/// hidden; `None` where it does not say which slides it has.
pub(super) fn mark(bytes: &[u8]) -> Option<(Vec<u8>, Vec<u32>)> {
    const NAME: &str = "/PowerPoint Document";
    let mut file = cfb::CompoundFile::open(Cursor::new(bytes.to_vec())).ok()?;
    let mut read = |name| {
        let mut content = Vec::new();
        let stream = file.open_stream(name).ok()?;
        stream.take(MAX_STREAM).read_to_end(&mut content).ok()?;
        Some(content)
    };
    let (user, mut stream) = (read("/Current User")?, read(NAME)?);
    let (document, persists) = directory(&stream, number(&user, 16)?)?;
    let document = *persists.get(&document)?;
    let (made, slides) = marked(record(&stream, document.to)?)?;
    let is_hidden = |persist: &u32| {
        let slide = record(&stream, persists.get(persist)?.to)?;
        let info = children(slide.content).find(|child| child.kind == SLIDE_SHOW_INFO)?;
        (slide.kind == SLIDE && info.content.get(10)? & 4 != 0).then_some(())
    };
    let numbered = (1..).zip(&slides);
    let hidden = numbered.filter(|(_, slide)| is_hidden(slide).is_some());
    let hidden = hidden.map(|(number, _)| number).collect();
    // The new one stands at the end, so that nothing else moves.
    let at = u32::try_from(stream.len()).ok()?;
    stream[document.said_at..document.said_at + 4].copy_from_slice(&at.to_le_bytes());
    stream.extend(made);
    let mut opened = file.open_stream(NAME).ok()?;
    opened.write_all(&stream).ok()?;
    opened.flush().ok()?;
    drop(opened);
    Some((file.into_inner().into_inner(), hidden))
}

/// Where an object of a presentation stands, and where that is said.
#[derive(Clone, Copy)]
struct Persist {
    to: usize,
    said_at: usize,
}

/// The number of the document's own object, and where each object stands: later edits first.
fn directory(stream: &[u8], last_edit: u32) -> Option<(u32, HashMap<u32, Persist>)> {
    let (mut persists, mut document, mut edit) = (HashMap::new(), None, last_edit);
    for _ in 0..MAX_EDITS {
        let atom = record(stream, edit as usize).filter(|record| record.kind == USER_EDIT)?;
        document = document.or(number(atom.content, 16));
        let at = number(atom.content, 12)? as usize;
        if let Some(list) = record(stream, at).filter(|list| list.kind == PERSIST_DIRECTORY) {
            take_in(list.content, at + HEAD, &mut persists);
        }
        match number(atom.content, 8)? {
            before if before == 0 || before == edit => break,
            before => edit = before,
        }
    }
    Some((document?, persists))
}

/// Takes one directory in, which stands at `start`: runs of numbers that follow one another (2.3.5).
fn take_in(list: &[u8], start: usize, persists: &mut HashMap<u32, Persist>) -> Option<()> {
    let mut at = 0;
    while at < list.len() {
        let head = number(list, at)?;
        at += 4;
        for id in (head & 0xF_FFFF..).take((head >> 20) as usize) {
            let (to, said_at) = (number(list, at)? as usize, start + at);
            persists.entry(id).or_insert(Persist { to, said_at });
            at += 4;
        }
    }
    Some(())
}

/// The document's object with the marks, and the objects of its slides in their order.
fn marked(document: PptRecord) -> Option<(Vec<u8>, Vec<u32>)> {
    let is_list = |child: &PptRecord| child.kind == SLIDE_LIST && child.instance() == 0;
    let list = children(document.content).find(is_list)?;
    if document.kind != DOCUMENT {
        return None;
    }
    let (mut made, mut slides) = (Vec::new(), Vec::new());
    for child in children(list.content) {
        push(&mut made, child.version, child.kind, child.content)?;
        if child.kind == SLIDE_PERSIST {
            slides.push(number(child.content, 0)?);
            // The text of a title.
            push(&mut made, 0, TEXT_HEADER, &[0; 4])?;
            push(&mut made, 0, TEXT_BYTES, MARK.as_bytes())?;
        }
    }
    let start = list.content.as_ptr() as usize - document.content.as_ptr() as usize;
    let (before, after) = (
        &document.content[..start - HEAD],
        start + list.content.len(),
    );
    let mut content = before.to_vec();
    push(&mut content, list.version, list.kind, &made)?;
    content.extend_from_slice(&document.content[after..]);
    let mut out = Vec::with_capacity(content.len() + HEAD);
    push(&mut out, document.version, document.kind, &content)?;
    Some((out, slides))
}

/// A record: version and instance, kind, content.
#[derive(Clone, Copy)]
struct PptRecord<'s> {
    version: u16,
    kind: u16,
    content: &'s [u8],
}

impl PptRecord<'_> {
    fn instance(&self) -> u16 {
        self.version >> 4
    }
}

fn record(stream: &[u8], at: usize) -> Option<PptRecord<'_>> {
    let head = stream.get(at..at.checked_add(HEAD)?)?;
    let content = stream.get(at + HEAD..)?;
    Some(PptRecord {
        version: u16::from_le_bytes([head[0], head[1]]),
        kind: u16::from_le_bytes([head[2], head[3]]),
        content: content.get(..number(head, 4)? as usize)?,
    })
}

/// The records within another.
fn children(content: &[u8]) -> impl Iterator<Item = PptRecord<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let child = record(content, at)?;
        at += HEAD + child.content.len();
        Some(child)
    })
}

fn push(out: &mut Vec<u8>, version: u16, kind: u16, content: &[u8]) -> Option<()> {
    let length = u32::try_from(content.len()).ok()?;
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(content);
    Some(())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    Some(u32::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}
