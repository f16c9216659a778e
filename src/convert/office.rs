//! Office documents, rich text, e-books and CSV to Markdown, as a whole; what is left out of it is always said.

use anydoc::ConvertError;

use super::messages::{Extension, Format, PartKind, Whole, Why};
use super::rows::{cap, clean, wrapped};
use super::sheets::{WorkbookFacts, breaks};
use super::{book, csv, ole, package, ppt, sheets, slides, word};

/// Converts a document to at most `cap_bytes` of Markdown.
pub(super) fn convert(
    bytes: &[u8],
    format: Format,
    cap_bytes: u64,
) -> Result<(Whole, String), Why> {
    let repaired = match bytes {
        _ if bytes.starts_with(ole::MAGIC) => ole::repaired(bytes),
        _ if bytes.starts_with(b"PK") => package::with_slashes(bytes),
        _ => None,
    };
    let bytes = repaired.as_deref().unwrap_or(bytes);
    let known = format_of(bytes, format)?;
    let (facts, visible) = match known {
        anydoc::Format::Ods => sheets::ods::without_hidden(bytes)?,
        anydoc::Format::Excel => (sheets::look(bytes), None),
        _ => Default::default(),
    };
    let bytes = visible.as_deref().unwrap_or(bytes);
    let (marked, hidden_slides) = marked(bytes, known);
    let made = markdown(marked.as_deref().unwrap_or(bytes), known);
    let made = match (made, &marked) {
        // The marks are ours: a document must not be lost to them.
        (Err(_), Some(_)) => markdown(bytes, known),
        (Ok(text), _) if bytes.starts_with(ole::MAGIC) && known == anydoc::Format::Excel => {
            Ok(with_line_ends(bytes, text))
        }
        (made, _) => made,
    };
    let text = match made {
        Ok(text) => wrapped(clean(&text)),
        Err(_) if known == anydoc::Format::Pptx && slides::has_none(bytes) => String::new(),
        Err(error) => return Err(why(&error)),
    };
    // Of a workbook that hides all there is, that is said.
    let says_more = facts.has_comments() || facts.hidden_footer().is_some();
    if !slides::holds_text(&text) && !says_more {
        return Err(Why::Empty);
    }
    let (mut whole, text) = arranged(bytes, known, &facts, text);
    whole.footers.extend(slides::hidden_footer(&hidden_slides));
    let (text, is_all) = cap(text, cap_bytes);
    if !is_all {
        whole.footers.push(cut_footer(cap_bytes));
        let lines = text.lines().count() as u64;
        if let Some((_, starts)) = &mut whole.parts {
            starts.retain(|start| *start <= lines);
        }
    }
    Ok((whole, text))
}

/// The Markdown of a document that is no PDF. That is said right before the converter is called, so that the optimizer leaves its
/// own reader of PDFs, a tenth of the program, out of what packages have.
fn markdown(bytes: &[u8], known: anydoc::Format) -> Result<String, ConvertError> {
    if known == anydoc::Format::Pdf {
        return Err(ConvertError::Unsupported("it is a PDF".to_owned()));
    }
    anydoc::to_markdown_bytes(bytes, known)
}

/// The document with marks for what the converter would not say, where there are any to set; and
/// which of its slides are hidden.
fn marked(bytes: &[u8], known: anydoc::Format) -> (Option<Vec<u8>>, Vec<u32>) {
    let hidden = match known {
        anydoc::Format::Pptx => slides::hidden_in_pptx(bytes),
        anydoc::Format::Odp => slides::hidden_in_odp(bytes),
        _ => None,
    };
    let marked = match known {
        anydoc::Format::Ppt => {
            let (marked, hidden) = ppt::mark(bytes).unzip();
            return (marked, hidden.unwrap_or_default());
        }
        anydoc::Format::Docx => word::with_ruby(bytes),
        anydoc::Format::Pptx => slides::mark_pptx(bytes),
        anydoc::Format::Odp => slides::mark_odp(bytes),
        anydoc::Format::Excel if bytes.starts_with(b"PK") => breaks::mark_package(bytes),
        anydoc::Format::Csv => {
            let text = std::str::from_utf8(bytes).ok();
            text.and_then(csv::mark_breaks).map(String::into_bytes)
        }
        _ => None,
    };
    (marked, hidden.unwrap_or_default())
}

/// The Markdown of an old workbook with marks for the line ends within its cells.
fn with_line_ends(bytes: &[u8], text: String) -> String {
    let Some((marked, stand_in)) = breaks::mark_biff(bytes, &text) else {
        return text;
    };
    match markdown(&marked, anydoc::Format::Excel) {
        Ok(marked) => marked.replace(stand_in, breaks::BREAK),
        Err(_) => text,
    }
}

/// The Markdown without marks, in its parts, and what is to be said of it.
fn arranged(
    bytes: &[u8],
    known: anydoc::Format,
    facts: &WorkbookFacts,
    text: String,
) -> (Whole, String) {
    let mut whole = Whole::default();
    let text = match known {
        anydoc::Format::Excel | anydoc::Format::Ods => {
            whole.footers.extend(facts.hidden_footer());
            let text = breaks::with_breaks(text);
            let (mut text, mut starts) = sheets::headed(&text, &facts.names);
            if facts.has_comments() {
                text = sheets::with_comments(&text, &mut starts, facts);
            }
            whole.parts = (!starts.is_empty()).then_some((PartKind::Sheet, starts));
            text
        }
        anydoc::Format::Pptx | anydoc::Format::Odp | anydoc::Format::Ppt => {
            let (text, starts) = slides::parted(&text);
            whole.parts = (!starts.is_empty()).then_some((PartKind::Slide, starts));
            text
        }
        anydoc::Format::Csv => breaks::with_breaks(text),
        anydoc::Format::Epub => book::with_authors(bytes, text),
        _ => text,
    };
    (whole, text)
}

/// What is said where a text ends before its document does.
fn cut_footer(cap_bytes: u64) -> String {
    format!("The text ends here at {cap_bytes} bytes; the rest of the document is not shown")
}

/// What the document is: its content says it, or its name where that does not.
fn format_of(bytes: &[u8], format: Format) -> Result<anydoc::Format, Why> {
    let extension = match format {
        Format::Csv => return Ok(anydoc::Format::Csv),
        Format::Pdf => return Err(Why::Unreadable("it is a PDF".to_owned())),
        Format::Office(extension) => extension,
    };
    let by_name = match extension {
        Extension::Doc => Some(anydoc::Format::Doc),
        Extension::Docx => Some(anydoc::Format::Docx),
        Extension::Ppt => Some(anydoc::Format::Ppt),
        Extension::Pptx => Some(anydoc::Format::Pptx),
        Extension::Excel => Some(anydoc::Format::Excel),
        Extension::Rtf => Some(anydoc::Format::Rtf),
        Extension::Epub => Some(anydoc::Format::Epub),
        Extension::Odt => Some(anydoc::Format::Odt),
        Extension::Ods => Some(anydoc::Format::Ods),
        Extension::Odp => Some(anydoc::Format::Odp),
        Extension::Unknown => None,
    };
    anydoc::Format::from_bytes(bytes)
        .filter(|format| *format != anydoc::Format::Pdf)
        .or(by_name)
        .ok_or_else(|| Why::Unreadable("it is no document of a known kind".to_owned()))
}

fn why(error: &ConvertError) -> Why {
    match error {
        ConvertError::Encrypted => Why::Encrypted,
        ConvertError::Unsupported(what) => Why::Unreadable(format!("not supported: {what}")),
        ConvertError::ResourceLimit { detail, .. } => {
            Why::Unreadable(format!("it unpacks to more than is read: {detail}"))
        }
        ConvertError::Malformed { part, detail } => Why::Unreadable(match part {
            Some(part) => format!("damaged: {part}: {detail}"),
            None => format!("damaged: {detail}"),
        }),
        other => Why::Unreadable(format!("damaged: {other}")),
    }
}
