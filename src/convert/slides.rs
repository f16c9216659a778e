//! Where each slide of a presentation begins, by marks set before the conversion and taken out after it; no mark ever reaches a reader.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::footers;
use super::package::{self, attribute, each_tag, part, prefixed_attribute, relations, rewritten};
use super::rows::numbered;

/// Letters and digits alone: no renderer escapes or breaks them.
pub(super) const MARK: &str = "PilcrowSlideQ7Z";

/// The presentation with a mark at the start of each slide, in the order of showing, and the footers
/// as text at its end; `None` where there is no way to set them.
pub(super) fn mark_pptx(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_slide = |name: &str| {
        let slide = name.strip_prefix("ppt/slides/slide");
        slide.is_some_and(|rest| rest.ends_with(".xml"))
    };
    rewritten(bytes, is_slide, |part| {
        let shape = format!(
            "<p:sp xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" \
             xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><p:nvSpPr>\
             <p:cNvPr id=\"99999\" name=\"m\"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>\
             <p:txBody><a:bodyPr/><a:p><a:r><a:t>{MARK}</a:t></a:r></a:p></p:txBody></p:sp>"
        );
        let at = end_of_first(part, b"grpSpPr")
            .or_else(|| end_of_start(part, b"spTree").into_iter().next())?;
        let footers = footers::shape_of(part);
        let end = start_of_end(part, b"spTree").filter(|end| *end >= at);
        match footers.zip(end) {
            None => Some(inserted(part, &[at], &shape)),
            Some((footers, end)) => {
                let (head, tail) = part.split_at(end);
                let head = inserted(head, &[at], &shape);
                Some([&head, footers.as_bytes(), tail].concat())
            }
        }
    })
}

/// As [`mark_pptx`], for OpenDocument.
pub(super) fn mark_odp(bytes: &[u8]) -> Option<Vec<u8>> {
    let frame = format!(
        "<draw:frame xmlns:draw=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\" \
         xmlns:presentation=\"urn:oasis:names:tc:opendocument:xmlns:presentation:1.0\" \
         xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" \
         presentation:class=\"title\"><draw:text-box><text:p>{MARK}</text:p></draw:text-box></draw:frame>"
    );
    rewritten(
        bytes,
        |name| name == "content.xml",
        |part| {
            let pages = end_of_start(part, b"page");
            (!pages.is_empty()).then(|| inserted(part, &pages, &frame))
        },
    )
}

/// Whether it is a presentation that names no slide.
pub(super) fn has_none(bytes: &[u8]) -> bool {
    package::opened(bytes)
        .and_then(|mut package| part(&mut package, LIST))
        .and_then(|list| slides_of(&list))
        .is_some_and(|slides| slides.is_empty())
}

/// The part that names the slides.
const LIST: &str = "ppt/presentation.xml";

/// The slides that a presentation names, in the order of showing.
fn slides_of(list: &[u8]) -> Option<Vec<String>> {
    let mut slides = Vec::new();
    each_tag(list, |tag| {
        if tag.local_name().as_ref() == b"sldId" {
            slides.push(prefixed_attribute(tag, b"id").unwrap_or_default());
        }
    })?;
    Some(slides)
}

/// The numbers of the slides that the show leaves out.
pub(super) fn hidden_in_pptx(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut package = package::opened(bytes)?;
    let list = part(&mut package, LIST)?;
    let parts = relations(&mut package, "ppt", "presentation.xml")?;
    let mut hidden = Vec::new();
    for (number, slide) in (1..).zip(slides_of(&list)?) {
        let slide = parts.get(&slide).and_then(|name| part(&mut package, name));
        let mut show = None;
        let _ = slide.and_then(|slide| {
            each_tag(&slide, |tag| {
                if tag.local_name().as_ref() == b"sld" {
                    show = attribute(tag, b"show");
                }
            })
        });
        if matches!(show.as_deref(), Some("0" | "false")) {
            hidden.push(number);
        }
    }
    Some(hidden)
}

/// As [`hidden_in_pptx`], for OpenDocument.
pub(super) fn hidden_in_odp(bytes: &[u8]) -> Option<Vec<u32>> {
    let content = part(&mut package::opened(bytes)?, "content.xml")?;
    let (mut style, mut hidden_styles) = (None, Vec::new());
    let (mut number, mut hidden) = (0, Vec::new());
    each_tag(&content, |tag| match tag.local_name().as_ref() {
        b"style" => style = attribute(tag, b"name"),
        b"drawing-page-properties"
            if attribute(tag, b"visibility").as_deref() == Some("hidden") =>
        {
            hidden_styles.extend(style.take());
        }
        b"page" => {
            number += 1;
            let style = attribute(tag, b"style-name").unwrap_or_default();
            if hidden_styles.contains(&style) {
                hidden.push(number);
            }
        }
        _ => {}
    })?;
    Some(hidden)
}

/// What is said of slides that the show leaves out: they are read, as they are seen by who edits it.
pub(super) fn hidden_footer(hidden: &[u32]) -> Option<String> {
    let are = match hidden {
        [] => return None,
        [_] => "is a hidden slide",
        _ => "are hidden slides",
    };
    Some(format!("{} {are}", numbered("Slide", hidden)))
}

/// Where the first element of that local name ends.
fn end_of_first(part: &[u8], local: &[u8]) -> Option<usize> {
    let mut reader = Reader::from_reader(part);
    let mut inside = false;
    loop {
        match reader.read_event().ok()? {
            Event::Eof => return None,
            Event::Empty(tag) if tag.local_name().as_ref() == local => break,
            Event::Start(tag) if tag.local_name().as_ref() == local => inside = true,
            Event::End(tag) if inside && tag.local_name().as_ref() == local => break,
            _ => {}
        }
    }
    usize::try_from(reader.buffer_position()).ok()
}

/// Where the last end tag of that local name begins.
fn start_of_end(part: &[u8], local: &[u8]) -> Option<usize> {
    let mut reader = Reader::from_reader(part);
    let mut found = None;
    loop {
        let before = reader.buffer_position();
        match reader.read_event().ok()? {
            Event::Eof => return usize::try_from(found?).ok(),
            Event::End(tag) if tag.local_name().as_ref() == local => found = Some(before),
            _ => {}
        }
    }
}

/// Where the start tags of that local name end, each.
fn end_of_start(part: &[u8], local: &[u8]) -> Vec<usize> {
    let mut reader = Reader::from_reader(part);
    let mut found = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) if tag.local_name().as_ref() == local => {
                found.extend(usize::try_from(reader.buffer_position()));
            }
            Ok(Event::Eof) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

fn inserted(part: &[u8], places: &[usize], what: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.len() + places.len() * what.len());
    let mut from = 0;
    for &place in places {
        out.extend_from_slice(&part[from..place]);
        out.extend_from_slice(what.as_bytes());
        from = place;
    }
    out.extend_from_slice(&part[from..]);
    out
}

/// Whether the Markdown of a presentation holds anything but marks.
pub(super) fn holds_text(marked: &str) -> bool {
    marked
        .lines()
        .any(|line| !line.trim().is_empty() && !is_mark(line))
}

fn is_mark(line: &str) -> bool {
    // A title may be set in bold or in italics.
    line.trim_matches(['#', ' ', '*', '-']) == MARK
}

/// The Markdown of a presentation without marks, each slide under a heading, speaker notes under
/// `### Notes`; and the line on which each slide begins.
pub(super) fn parted(marked: &str) -> (String, Vec<u64>) {
    let mut slides: Vec<Vec<&str>> = Vec::new();
    // What stands before the first mark has no place in a presentation that is marked.
    let mut current: Vec<&str> = Vec::new();
    let mut is_marked = false;
    for line in marked.lines() {
        if is_mark(line) {
            match is_marked {
                true => slides.push(std::mem::take(&mut current)),
                false => is_marked = true,
            }
        } else {
            current.push(line);
        }
    }
    slides.push(current);
    let mut out = String::new();
    let mut starts = Vec::new();
    let mut lines = 0u64;
    for (number, slide) in (1u64..).zip(&slides) {
        let body = with_notes(slide);
        let titled = body.lines().any(|line| line.starts_with("## "));
        let heading = (is_marked && !titled).then(|| format!("## Slide {number}\n"));
        let text = match (heading, body.trim_matches('\n')) {
            (None, body) => format!("{body}\n"),
            (Some(heading), "") => heading,
            (Some(heading), body) => format!("{heading}\n{body}\n"),
        };
        if !out.is_empty() {
            out.push('\n');
            lines += 1;
        }
        starts.push(lines + 1);
        lines += text.matches('\n').count() as u64;
        out.push_str(&text);
    }
    match is_marked {
        true => (out, starts),
        false => (out, Vec::new()),
    }
}

/// The lines with each quote, which in a presentation is what the speaker notes are, under a
/// heading of its own.
fn with_notes(lines: &[&str]) -> String {
    let mut out = String::new();
    let mut in_notes = false;
    for line in lines {
        match line.strip_prefix('>') {
            Some(note) => {
                if !in_notes {
                    out.push_str("### Notes\n\n");
                }
                in_notes = true;
                let note = note.strip_prefix(' ').unwrap_or(note);
                // The place of the slide's number, which LibreOffice keeps in its notes.
                if note == r"\<number>" || note == r"\*" {
                    if out.ends_with("\n\n") {
                        out.pop();
                    }
                    continue;
                }
                out.push_str(note);
            }
            None => {
                in_notes = false;
                out.push_str(line);
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slides_are_headed_and_counted() {
        let marked = format!(
            "{MARK}\n\n## Tides\n\nEbb\n\n> say it\n> twice\n\n## {MARK}\n\nno title\n\n{MARK}\n"
        );
        let (text, starts) = parted(&marked);
        assert_eq!(
            text,
            "## Tides\n\nEbb\n\n### Notes\n\nsay it\ntwice\n\n## Slide 2\n\nno title\n\n## Slide 3\n"
        );
        assert_eq!(starts, [1, 10, 14]);
    }

    #[test]
    fn a_presentation_without_marks_stays_whole() {
        let (text, starts) = parted("## A\n\n> n\n\n## B\n");
        assert_eq!(text, "## A\n\n### Notes\n\nn\n\n## B\n");
        assert_eq!(starts, [0u64; 0]);
    }
}
