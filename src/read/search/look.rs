//! One file of a tree: whether the pattern is in the text that a read of it would show; only where it is, it is opened as by a read.
//!
//! Most files have no match, so their bytes are searched as they are, wherever those are the text: UTF-8
//! with line ends that are not CR alone. Others are decoded first. What is found so only says that
//! there is something: the lines are those of the text that was opened, and has a name. A large file is
//! gone through in pieces, which stay in the processor's cache from being read to being searched.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use encoding_rs::Encoding;
use memchr::{memchr, memrchr};

use crate::buffer::{MAX_BUFFER_BYTES, Overlays};
use crate::notebook::NotRead;
use crate::protocol::Refusal;
use crate::protocol::read::ResourceKind;
use crate::protocol::search::LeftOut;
use crate::search::{Finder, Found, MatchesWanted, Pattern};
use crate::task::{Stopped, Work};
use crate::text::{Text, decode};
use crate::view::window::Limits;
use crate::view::{ListingStyle, Selector, Style};
use crate::workspace::{FileType, RealPath, Scope, TreeFolder};

use super::super::reader::Reader;
use super::super::source::notebook::{convert, is_notebook_name};
use super::super::source::{self, Opened, ReadContext};

/// Bytes of the buffer that files are read into. Those of more are searched in pieces of so many.
const SMALLEST_BUFFER: usize = 256 * 1024;

/// What every look of one search uses.
#[derive(Clone, Copy)]
pub(super) struct SearchContext<'a> {
    pub(super) reader: &'a Reader,
    pub(super) scope: &'a Scope,
    pub(super) overlays: &'a Overlays,
    pub(super) pattern: &'a Pattern,
    /// Only how many matches there are.
    pub(super) counts: bool,
    /// Lines of one file that are of use.
    pub(super) most: u64,
    pub(super) work: &'a Work,
}

/// A file in which something was found.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) real: RealPath,
    /// Not of a count.
    pub(super) opened: Option<Opened>,
    pub(super) found: Found,
}

impl Hit {
    /// Rows that it takes of an answer at least.
    pub(super) fn rows(&self) -> u64 {
        match self.opened {
            Some(_) => self.found.lines(),
            None => 1,
        }
    }
}

/// Looks at one file after the other.
pub(super) struct Looker<'a> {
    context: SearchContext<'a>,
    finder: Finder,
    buffer: Vec<u8>,
}

/// What of a file's bytes is searched.
enum Searched<'b> {
    AsItIs(&'b [u8]),
    Decoded(String),
    /// It has no text.
    Binary,
    NotReadable,
}

impl<'a> Looker<'a> {
    pub(super) fn new(context: SearchContext<'a>) -> Looker<'a> {
        Looker {
            finder: Finder::new(context.pattern),
            buffer: Vec::new(),
            context,
        }
    }

    /// Looks at a file of that name behind the line `after`; `None` where nothing is found.
    ///
    /// # Errors
    ///
    /// When the work is stopped.
    pub(super) fn look(
        &mut self,
        folder: &TreeFolder,
        name: &OsStr,
        after: u64,
        left_out: &mut LeftOut,
    ) -> Result<Option<Hit>, Stopped> {
        let context = self.context;
        context.work.check()?;
        let real = folder.path_of(name);
        if context.overlays.of_file(&real, context.scope).is_some() {
            return self.open(real, after, left_out);
        }
        let (file, size) = match folder.file(name) {
            Ok(Some(opened)) => opened,
            // It went away, or became something else, after its name was read.
            Ok(None) => return Ok(None),
            Err(error) => {
                left_out.not_readable += u64::from(error.kind() != ErrorKind::NotFound);
                return Ok(None);
            }
        };
        let wanted = match context.counts {
            true => MatchesWanted::Count,
            // Whether there is anything.
            false => MatchesWanted::Lines { after, most: 1 },
        };
        let is_large = SMALLEST_BUFFER as u64 + 1..=MAX_BUFFER_BYTES;
        let in_pieces = match is_large.contains(&size) && after == 0 {
            true => self.find_in_pieces(&file, &real, wanted)?,
            false => None,
        };
        let found = match in_pieces {
            Some(found) => Some(found),
            None => self.find_in_whole(file, size, &real, wanted, left_out)?,
        };
        let Some(found) = found else { return Ok(None) };
        if context.counts {
            let hit = Hit {
                real,
                opened: None,
                found,
            };
            return Ok((hit.found.count > 0).then_some(hit));
        }
        match found.spans.is_empty() {
            true => Ok(None),
            false => self.open(real, after, left_out),
        }
    }

    /// Finds the pattern in a file, line by line as it is read; `None` where that is not how it is
    /// searched.
    fn find_in_pieces(
        &mut self,
        file: &File,
        real: &RealPath,
        wanted: MatchesWanted,
    ) -> Result<Option<Found>, Stopped> {
        let is_text = self.context.reader.buffers.declared(real).is_none()
            && !is_notebook_name(real.as_path())
            && !is_called_rich_text(real.as_path());
        if !is_text || !self.finder.goes_by_line() {
            return Ok(None);
        }
        if self.buffer.len() < SMALLEST_BUFFER {
            self.buffer.resize(SMALLEST_BUFFER, 0);
        }
        let mut all = Found::default();
        // Where reading goes on, and how many bytes before that are the beginning of a line.
        let (mut at, mut held) = (0, 0);
        while at <= MAX_BUFFER_BYTES {
            let Ok(count) = file.read_at(&mut self.buffer[held..SMALLEST_BUFFER], at) else {
                return Ok(None);
            };
            let filled = &self.buffer[..held + count];
            let end = match memrchr(b'\n', filled) {
                _ if count == 0 => filled.len(),
                Some(last) => last + 1,
                // A line that is longer than a piece.
                None => return Ok(None),
            };
            let text = match at {
                0 => as_it_is(&filled[..end]),
                _ => Some(&filled[..end]).filter(|piece| is_plain(piece)),
            };
            let Some(text) = text else { return Ok(None) };
            let found = self.finder.find(text, wanted, self.context.work)?;
            if !found.spans.is_empty() {
                return Ok(Some(found));
            }
            all.count += found.count;
            if count == 0 {
                return Ok(Some(all));
            }
            held = filled.len() - end;
            self.buffer.copy_within(end..end + held, 0);
            at += count as u64;
        }
        Ok(None)
    }

    /// Finds the pattern in the text of a file; `None` where it has none, and is counted as left out.
    fn find_in_whole(
        &mut self,
        file: File,
        size: u64,
        real: &RealPath,
        wanted: MatchesWanted,
        left_out: &mut LeftOut,
    ) -> Result<Option<Found>, Stopped> {
        let work = self.context.work;
        let bytes = match size > MAX_BUFFER_BYTES {
            true => Ok(None),
            false => read(file, size, &mut self.buffer),
        };
        let bytes = match bytes {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                left_out.too_large += 1;
                return Ok(None);
            }
            Err(error) => {
                left_out.not_readable += u64::from(error.kind() != ErrorKind::NotFound);
                return Ok(None);
            }
        };
        let declared = self.context.reader.buffers.declared(real);
        let searched = if is_notebook_name(real.as_path()) {
            cells(bytes, declared, work)?
        } else if is_called_rich_text(real.as_path()) && bytes.starts_with(b"{\\rtf") {
            // The one kind of document that is written in characters.
            Searched::Binary
        } else {
            text_of(bytes, declared)
        };
        match &searched {
            Searched::AsItIs(text) => self.finder.find(text, wanted, work).map(Some),
            Searched::Decoded(text) => self.finder.find(text.as_bytes(), wanted, work).map(Some),
            Searched::Binary => {
                left_out.binary += 1;
                Ok(None)
            }
            Searched::NotReadable => {
                left_out.not_readable += 1;
                Ok(None)
            }
        }
    }

    /// Opens a file as a read does, and finds the pattern in what that shows. Also of what only the
    /// editor has.
    pub(super) fn open(
        &mut self,
        real: RealPath,
        after: u64,
        left_out: &mut LeftOut,
    ) -> Result<Option<Hit>, Stopped> {
        let opened = match opened(self.context, &real) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(None),
            Err(Refusal::Cancelled) => return Err(Stopped::Cancelled),
            Err(refusal) => {
                self.context.work.check()?;
                match refusal {
                    Refusal::Binary { .. } => left_out.binary += 1,
                    Refusal::TooLarge { .. } => left_out.too_large += 1,
                    Refusal::NotFound { .. } => {}
                    _ => left_out.not_readable += 1,
                }
                return Ok(None);
            }
        };
        let Some(text) = text_shown(&opened) else {
            left_out.binary += 1;
            return Ok(None);
        };
        let found = find(&mut self.finder, text, self.context, after)?;
        let is_hit = found.count > 0 || !found.spans.is_empty();
        let opened = (!self.context.counts).then_some(opened);
        Ok(is_hit.then_some(Hit {
            real,
            opened,
            found,
        }))
    }
}

/// Finds the pattern in a text that was opened.
pub(super) fn find(
    finder: &mut Finder,
    text: &Text,
    context: SearchContext,
    after: u64,
) -> Result<Found, Stopped> {
    let text: String = text.chunks().collect();
    let most = context.most;
    let wanted = match context.counts {
        true => MatchesWanted::Count,
        false => MatchesWanted::Lines { after, most },
    };
    finder.find(text.as_bytes(), wanted, context.work)
}

/// The text of what was opened, if a read shows it as lines of a file.
pub(super) fn text_shown(opened: &Opened) -> Option<&Text> {
    let document = &opened.document;
    let is_text = matches!(
        document.kind,
        ResourceKind::File | ResourceKind::Notebook | ResourceKind::Internal
    );
    let is_text = is_text && document.style == Style::Lines;
    document.text.whole().filter(|_| is_text)
}

/// Opens a file by its own path, on disk or in the editor alone; `None` where it is none any more.
fn opened(context: SearchContext, real: &RealPath) -> Result<Option<Opened>, Refusal> {
    let handle = match context.scope.open(real.as_path()) {
        Err(Refusal::NotFound { .. }) => {
            let overlay = context.overlays.of_file(real, context.scope);
            return Ok(overlay.map(source::editor::unsaved));
        }
        handle => handle?,
    };
    if handle.real() != real || handle.file_type() != FileType::Regular {
        return Ok(None);
    }
    let reader = context.reader;
    let read_context = ReadContext {
        display: "",
        scope: context.scope,
        overlays: context.overlays,
        buffers: &reader.buffers,
        warm: &reader.warm,
        memory: &reader.memory,
        converters: &reader.converters,
        queriers: &reader.queriers,
        selector: &Selector::default(),
        limits: Limits::ONE_LINE,
        listing: ListingStyle::Tree,
        whole_file: None,
        image_bytes: None,
        held_up_to: MAX_BUFFER_BYTES,
        counts_lines: false,
        work: context.work,
    };
    let spelled = real.as_path().to_string_lossy();
    source::open(&handle, &spelled, None, None, read_context).map(Some)
}

/// Reads a file to its end; `None` where it is too large by then.
fn read(mut file: File, size: u64, buffer: &mut Vec<u8>) -> std::io::Result<Option<&[u8]>> {
    // One byte more than it has: then one call is enough to see its end.
    let room = size as usize + 1;
    if buffer.len() < room {
        buffer.resize(room.max(SMALLEST_BUFFER), 0);
    }
    let mut count = 0;
    loop {
        if count == buffer.len() {
            if count as u64 > MAX_BUFFER_BYTES {
                return Ok(None);
            }
            buffer.resize(2 * count, 0);
        }
        match file.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(more) => {
                count += more;
                // The size of what is in /proc says nothing.
                if count as u64 == size {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let is_too_large = count as u64 > MAX_BUFFER_BYTES;
    Ok((!is_too_large).then(|| &buffer[..count]))
}

/// What of the bytes of a file that is no notebook a read shows.
fn text_of<'b>(bytes: &'b [u8], declared: Option<&'static Encoding>) -> Searched<'b> {
    if declared.is_none()
        && let Some(text) = as_it_is(bytes)
    {
        return Searched::AsItIs(text);
    }
    match decode(bytes, declared) {
        Ok(decoded) => Searched::Decoded(decoded.text.chunks().collect()),
        Err(_) => Searched::Binary,
    }
}

/// The bytes, where they are the text themselves.
fn as_it_is(bytes: &[u8]) -> Option<&[u8]> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let is_text = !text.starts_with(b"%PDF-") && is_plain(text);
    is_text.then_some(text)
}

fn is_plain(text: &[u8]) -> bool {
    let has_lines = memchr(b'\n', text).is_some() || memchr(b'\r', text).is_none();
    has_lines && memchr(0, text).is_none() && Encoding::utf8_valid_up_to(text) == text.len()
}

fn is_called_rich_text(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("rtf"))
}

/// The cells of a notebook; the text of a file that is only called like one.
fn cells<'b>(
    bytes: &'b [u8],
    declared: Option<&'static Encoding>,
    work: &Work,
) -> Result<Searched<'b>, Stopped> {
    let Ok(decoded) = decode(bytes, declared) else {
        return Ok(Searched::Binary);
    };
    Ok(match convert(&decoded.text, work) {
        Ok(converted) => Searched::Decoded(converted.text.chunks().collect()),
        Err(NotRead::NoNotebook) => text_of(bytes, declared),
        Err(NotRead::Damaged(_)) => Searched::NotReadable,
        Err(NotRead::Stopped(stopped)) => return Err(stopped),
    })
}
