//! Word documents with the letters that others stand over (ruby) as ordinary text, which the converter would leave out; no other text is changed.

use super::package::rewritten;

/// The document with each base text followed by its reading in brackets, as browsers without ruby
/// show it; `None` where there is none.
pub(super) fn with_ruby(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_text = |name: &str| name.starts_with("word/") && name.ends_with(".xml");
    rewritten(bytes, is_text, |part| {
        memchr::memmem::find(part, OPENING.as_bytes())?;
        unfolded(std::str::from_utf8(part).ok()?).map(String::into_bytes)
    })
}

const OPENING: &str = "<w:ruby>";

/// A run that holds ruby as the runs that are in it: before, base, reading, after.
fn unfolded(xml: &str) -> Option<String> {
    let mut out = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once(OPENING) {
        let (ruby, after) = after.split_once("</w:ruby>")?;
        let base = within(ruby, "<w:rubyBase>", "</w:rubyBase>")?;
        let reading = within(ruby, "<w:rt>", "</w:rt>")?;
        let text = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
        let (open, close) = (text("("), text(")"));
        out.extend([before, "</w:r>", base, &open, reading, &close, "<w:r>"]);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

fn within<'x>(xml: &'x str, start: &str, end: &str) -> Option<&'x str> {
    Some(xml.split_once(start)?.1.split_once(end)?.0)
}
