//! Documents (PDF, office files, e-books, CSV as a table) as Markdown; none is ever parsed in this process.

mod convert;
mod made;
mod sniff;

use crate::buffer::FileState;
use crate::convert::Format;
use crate::protocol::Refusal;
use crate::protocol::read::{Cache, MoreDetails, ResourceKind};
use crate::text::Text;
use crate::view::selector::Piece;
use crate::view::size::file_size;
use crate::view::{Content, Document, Extras, Own, Selector, Style, WholeFile};
use crate::workspace::Handle;

use super::kind::{Asked, KINDS, Kind, Subject};
use super::{Opened, ReadContext, refuse_own, text};

use made::{Converted, Made, part_name};

/// The kind `document`.
#[derive(Debug)]
pub struct Documents;

/// Bytes by which a document is known.
const HEAD: usize = 4096;

impl Kind for Documents {
    fn kind(&self) -> ResourceKind {
        ResourceKind::Document
    }

    fn claims(&self, name: &str, selector: &Selector) -> bool {
        let as_table = selector.own == Some(Own::Table) && sniff::is_table(name);
        as_table || sniff::named(name).is_some()
    }

    fn claims_bytes(&self, head: &[u8]) -> bool {
        sniff::is_document(head)
    }

    fn open(&self, asked: &Asked) -> Result<Option<Opened>, Refusal> {
        let Some(selector) = selector_of(asked) else {
            return Ok(None);
        };
        let name = asked.subject.file_name();
        if sniff::is_table(&name) && selector.own == Some(Own::Table) {
            return table(asked, selector).map(Some);
        }
        let Some(format) = format_of(asked, &name)? else {
            return Ok(None);
        };
        let what = WantedDocument {
            asked,
            name: &name,
            selector,
        };
        what.refuse_what_has_no_meaning()?;
        let Ok(format) = format else {
            let why = match asked.subject.size() {
                0 => "the file is empty",
                _ => "damaged: it does not begin as such a file does",
            };
            let note = cannot_read(&name, why);
            return Ok(Some(what.note(note, Cache::Miss)));
        };
        let limit = asked.means.converters.limits().input_bytes;
        if asked.subject.size() > limit {
            return Err(Refusal::TooLarge {
                path: asked.spelled.to_owned(),
                what: format!(
                    "{}, and documents are converted up to {}",
                    file_size(asked.subject.size()),
                    file_size(limit)
                ),
                instead: "Use another program to take a part out of it.".to_owned(),
            });
        }
        if let Some(opened) = what.whole_file(format)? {
            return Ok(Some(opened));
        }
        let (made, cache) = convert::made(asked, &name, format, &what.selector)?;
        match &*made {
            Made::Note(note) => Ok(Some(what.note(note.clone(), cache))),
            Made::Text(converted) => what.text(converted, cache).map(Some),
        }
    }
}

/// The selector; `None` where what follows the path leads on, as it never does in a document.
fn selector_of(asked: &Asked) -> Option<Selector> {
    match asked.inner {
        None => Some(asked.selector.clone()),
        Some(inner) => Selector::parse(inner.strip_prefix(':')?).ok(),
    }
}

/// What the bytes say it is; an error where a name without such bytes cannot be believed, and
/// `None` for what is no document.
fn format_of(asked: &Asked, name: &str) -> Result<Option<Result<Format, ()>>, Refusal> {
    let named = sniff::named(name);
    let head = asked.subject.head(HEAD, asked.spelled)?;
    if let Some(format) = sniff::format(&head, named) {
        return Ok(Some(Ok(format)));
    }
    if head.is_empty() {
        return Ok(Some(Err(())));
    }
    let mut others = KINDS
        .iter()
        .filter(|kind| kind.kind() != ResourceKind::Document);
    let is_other = others.any(|kind| kind.claims_bytes(&head));
    match named.is_none() || is_other || is_text(asked, &head)? {
        true => Ok(None),
        false => Ok(Some(Err(()))),
    }
}

/// Whether all of it is text, as far as it can be held.
fn is_text(asked: &Asked, head: &[u8]) -> Result<bool, Refusal> {
    if crate::text::decode(head, None).is_err() {
        return Ok(false);
    }
    match asked.subject {
        Subject::Member { bytes, .. } => Ok(crate::text::decode(bytes, asked.encoding).is_ok()),
        Subject::File(handle) => {
            let plain = Selector::line(1);
            let means = ReadContext {
                selector: &plain,
                ..asked.means
            };
            match text::open(handle, asked.spelled, asked.encoding, means) {
                Err(Refusal::Binary { .. }) => Ok(false),
                opened => opened.map(|_| true),
            }
        }
    }
}

/// `[Cannot read .pdf file: encrypted]`.
fn cannot_read(name: &str, why: &str) -> String {
    match sniff::extension(name).as_str() {
        "" => format!("[Cannot read document {name}: {why}]"),
        extension => format!("[Cannot read .{extension} file: {why}]"),
    }
}

/// The reason in a note that [`cannot_read`] made.
fn why_unreadable(note: &str) -> Option<String> {
    let inner = note.strip_prefix("[Cannot read ")?.strip_suffix(']')?;
    Some(inner.split_once(": ")?.1.to_owned())
}

/// A document that is asked for.
struct WantedDocument<'a> {
    asked: &'a Asked<'a>,
    name: &'a str,
    selector: Selector,
}

impl WantedDocument<'_> {
    fn bad_selector(&self, message: String) -> Refusal {
        Refusal::BadSelector {
            path: Some(self.asked.spelled.to_owned()),
            message,
        }
    }

    fn refuse_what_has_no_meaning(&self) -> Result<(), Refusal> {
        let selector = &self.selector;
        if selector.conflicts {
            return Err(self.bad_selector(
                ":conflicts is for text files, and this is a document. Leave the selector out."
                    .to_owned(),
            ));
        }
        match selector.own {
            Some(Own::Pages(..)) if selector.has_lines() => {
                return Err(self.bad_selector(
                    "Pages and lines cannot be combined: lines are counted from the start of the document, whatever page they are on. Use :p3 to see a page with its line numbers, or the lines alone."
                        .to_owned(),
                ));
            }
            Some(Own::Pages(..)) => {}
            _ => refuse_own(selector, self.asked.spelled, "a document")?,
        }
        Ok(())
    }

    fn details(&self) -> MoreDetails {
        MoreDetails {
            total_bytes: Some(self.asked.subject.size()),
            ..MoreDetails::default()
        }
    }

    fn opened(&self, document: Document) -> Opened {
        Opened {
            selector: Some(self.selector.clone()),
            ..Opened::read_only(document)
        }
    }

    fn note(&self, note: String, cache: Cache) -> Opened {
        self.opened(Document {
            kind: ResourceKind::Document,
            style: Style::Note,
            location: self.asked.subject.location(),
            notices: vec![note.trim_matches(['[', ']']).to_owned()],
            text: Text::new(&note).into(),
            cache,
            details: self.details(),
            extras: Extras {
                unreadable: why_unreadable(&note),
                ..Extras::default()
            },
        })
    }

    /// The PDF as it is, for a dialect whose models read it by themselves.
    fn whole_file(&self, format: Format) -> Result<Option<Opened>, Refusal> {
        let Asked {
            means,
            subject,
            spelled,
            ..
        } = self.asked;
        let (Some(limit), Format::Pdf) = (means.whole_file, format) else {
            return Ok(None);
        };
        if subject.size() > limit {
            return Ok(None);
        }
        means.work.takes_long()?;
        let Some(data) = subject.bytes(limit, spelled, means.work)? else {
            return Ok(None);
        };
        let mut opened = self.note(String::new(), Cache::Miss);
        opened.document.notices.clear();
        opened.document.extras.whole_file = Some(WholeFile {
            mime_type: "application/pdf",
            data,
        });
        Ok(Some(opened))
    }

    fn text(mut self, made: &Converted, cache: Cache) -> Result<Opened, Refusal> {
        let mut sentences = match self.selector.own {
            Some(Own::Pages(first, last)) => match self.select(made, first, last)? {
                Ok(sentences) => sentences,
                Err(note) => return Ok(self.note(note, cache)),
            },
            _ => made.sentences(1, u32::MAX),
        };
        let total_lines = made.is_all.then(|| made.text.len_lines() as u64);
        let document = Document {
            kind: ResourceKind::Document,
            style: Style::Lines,
            location: self.asked.subject.location(),
            text: match made.is_all {
                true => Content::Whole(made.text.clone()),
                false => Content::Begun(made.text.clone()),
            },
            cache,
            details: MoreDetails {
                total_lines,
                ..self.details()
            },
            notices: sentences.clone(),
            extras: Extras {
                footers: std::mem::take(&mut sentences),
                parts: made.parts(),
                ..Extras::default()
            },
        };
        Ok(self.opened(document))
    }

    /// Turns pages into their lines, exactly; gives what is to be said of them, or a note in their
    /// place.
    fn select(
        &mut self,
        made: &Converted,
        first: u32,
        last: u32,
    ) -> Result<Result<Vec<String>, String>, Refusal> {
        let Some(part) = made.part else {
            return Err(Refusal::Unsupported {
                path: Some(self.asked.spelled.to_owned()),
                message: format!(
                    "'{}' has no pages to select: only PDFs, presentations and workbooks do. Use lines, such as :1-200.",
                    self.asked.spelled
                ),
            });
        };
        let (one, total) = (part_name(part), made.total);
        let plural = if total == 1 { "" } else { "s" };
        let upper = one[..1].to_uppercase() + &one[1..];
        if first > total {
            return Ok(Err(format!(
                "{upper} {first} is beyond the end of {} ({total} {one}{plural}). Use :p1 to read from the start, or :p{total} to read the last {one}.",
                self.name
            )));
        }
        let mut sentences = Vec::new();
        if last > total {
            let (these, are) = match last - total {
                1 => (format!("{upper} {last}"), "is"),
                _ => (format!("{upper}s {}-{last}", total + 1), "are"),
            };
            sentences.push(format!(
                "{these} {are} beyond the end ({total} {one}{plural}); skipped"
            ));
        }
        let last = last.min(total);
        let lines = made.lines_of(first, last);
        self.selector = Selector {
            pieces: vec![Piece::Range(lines.start, lines.end)],
            raw: self.selector.raw,
            ..Selector::default()
        };
        sentences.extend(made.sentences(first, last));
        Ok(Ok(sentences))
    }
}

/// CSV as a table.
fn table(asked: &Asked, selector: Selector) -> Result<Opened, Refusal> {
    let name = asked.subject.file_name();
    let selector = Selector {
        own: None,
        ..selector
    };
    let what = WantedDocument {
        asked,
        name: &name,
        selector,
    };
    what.refuse_what_has_no_meaning()?;
    let Values {
        text,
        of,
        mut notices,
        mut footers,
    } = values(asked)?;
    let of = of.as_ref().map(|(state, handle)| (state, *handle));
    let (made, cache) = convert::table(asked, &name, &text, of)?;
    match &*made {
        Made::Note(note) => Ok(what.note(note.clone(), cache)),
        Made::Text(made) => {
            let mut opened = what.text(made, cache)?;
            notices.append(&mut opened.document.notices);
            opened.document.notices = notices;
            footers.append(&mut opened.document.extras.footers);
            opened.document.extras.footers = footers;
            Ok(opened)
        }
    }
}

/// A text of separated values.
struct Values<'a> {
    text: Text,
    /// The file, told by this text; of a text that may never have been there nothing is kept.
    of: Option<(FileState, &'a Handle)>,
    notices: Vec<String>,
    footers: Vec<String>,
}

fn values<'a>(asked: &Asked<'a>) -> Result<Values<'a>, Refusal> {
    let handle = match asked.subject {
        Subject::File(handle) => handle,
        Subject::Member { bytes, .. } => {
            let decoded = crate::text::decode(bytes, asked.encoding);
            let decoded = decoded.map_err(|crate::text::NotText::Binary { what }| {
                Refusal::not_text(asked.spelled, what)
            })?;
            return Ok(Values {
                text: decoded.text,
                of: None,
                notices: Vec::new(),
                footers: Vec::new(),
            });
        }
    };
    let plain = Selector::default();
    let means = ReadContext {
        selector: &plain,
        ..asked.means
    };
    let Opened {
        document:
            Document {
                text,
                notices,
                extras,
                ..
            },
        snapshot,
        ..
    } = text::open(handle, asked.spelled, asked.encoding, means)?;
    let Some(text) = text.whole().cloned() else {
        return Err(Refusal::TooLarge {
            path: asked.spelled.to_owned(),
            what: "tables are made of up to 32 MiB of text".to_owned(),
            instead: "Read it without :table, which shows any part of it.".to_owned(),
        });
    };
    let content = snapshot.map(|snapshot| snapshot.fingerprint.content);
    Ok(Values {
        text,
        of: content.map(|content| (FileState::of_text(handle, content), handle)),
        notices,
        footers: extras.footers,
    })
}
