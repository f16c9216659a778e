//! The footers and dates of slides, which the converter leaves out, as text at the end of their slides; a slide's number is a field and no text.

use quick_xml::escape::escape;
use quick_xml::events::Event;

use super::package::{attribute, each_event, text_of};

/// A shape with what the footers of a slide say, a paragraph for each of theirs; `None` where they
/// say nothing.
pub(super) fn shape_of(slide: &[u8]) -> Option<String> {
    let lines = lines_of(slide)?;
    let paragraph = |line: &String| format!("<a:p><a:r><a:t>{}</a:t></a:r></a:p>", escape(line));
    let paragraphs: String = lines.iter().map(paragraph).collect();
    (!paragraphs.is_empty()).then(|| {
        format!(
            "<p:sp xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" \
             xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><p:nvSpPr>\
             <p:cNvPr id=\"99998\" name=\"f\"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>\
             <p:txBody><a:bodyPr/>{paragraphs}</p:txBody></p:sp>"
        )
    })
}

/// The paragraphs of the places for a footer and a date, in the order of their shapes.
fn lines_of(slide: &[u8]) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    let (mut is_footer, mut is_text) = (false, false);
    let mut line = String::new();
    each_event(slide, |event| match event {
        Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
            b"sp" => is_footer = false,
            b"ph" => {
                let kind = attribute(tag, b"type");
                is_footer = matches!(kind.as_deref(), Some("ftr" | "dt"));
            }
            b"t" => is_text = is_footer && matches!(event, Event::Start(_)),
            b"br" if is_footer => line.push(' '),
            _ => {}
        },
        Event::End(tag) => match tag.local_name().as_ref() {
            b"t" => is_text = false,
            b"p" if is_footer => {
                let said = std::mem::take(&mut line);
                lines.extend((!said.trim().is_empty()).then(|| said.trim().to_owned()));
            }
            b"sp" => is_footer = false,
            _ => {}
        },
        event if is_text => line.extend(text_of(event)),
        _ => {}
    })?;
    Some(lines)
}
