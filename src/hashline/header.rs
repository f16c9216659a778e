//! Headers of sections, read leniently and written canonically; a header never matches without exactly four hex digits.

use super::error::{Syntax, excerpt};
use super::tag::Tag;

/// Path and tag of a line that means to be a header; `None` for any other line. Without a tag
/// there may only be a bare path, or one that is wholly a JSON string.
pub(super) fn parse_header(line: &str) -> Option<Result<(String, Option<Tag>), Syntax>> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('¶') {
        return Some(match without_tag(rest) {
            Some(path) => Ok((path, None)),
            None => parse_parts(rest, line).map(|(path, tag)| (path, Some(tag))),
        });
    }
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (path, tag) = parse_parts(inner, line).ok()?;
    Some(Ok((path, Some(tag))))
}

/// The path of a header that has no tag.
fn without_tag(rest: &str) -> Option<String> {
    let written = without_update_words(rest.trim());
    let path = match serde_json::from_str::<String>(written) {
        Ok(path) => path,
        Err(_) if rest.contains('#') => return None,
        Err(_) => meant_path(rest),
    };
    (!path.is_empty()).then_some(path)
}

fn parse_parts(rest: &str, line: &str) -> Result<(String, Tag), Syntax> {
    let found = excerpt(line);
    let Some((path, tag)) = rest.rsplit_once('#') else {
        return Err(Syntax::MissingTag { found });
    };
    let path = meant_path(path);
    match tag.trim().parse() {
        Ok(tag) if !path.is_empty() => Ok((path, tag)),
        Err(_) if tag.trim().is_empty() => Err(Syntax::MissingTag { found }),
        _ => Err(Syntax::BadHeader { found }),
    }
}

/// Whether a line without `¶` reads as if one was meant: a path with a tag, or a path in brackets.
pub(super) fn resembles_header(line: &str) -> bool {
    let line = line.trim().trim_start_matches('#').trim_start();
    line.rsplit_once('#').is_some_and(|(path, tag)| {
        tag.parse::<Tag>().is_ok()
            && path.contains(['.', '/'])
            && !path.contains(char::is_whitespace)
    })
}

/// The path without quotes, and without the words that other formats put before it.
pub(super) fn meant_path(written: &str) -> String {
    let path = without_update_words(written.trim());
    match serde_json::from_str::<String>(path) {
        Ok(path) => path,
        Err(_) => path
            .strip_prefix('"')
            .and_then(|path| path.strip_suffix('"'))
            .unwrap_or(path)
            .to_owned(),
    }
}

fn without_update_words(path: &str) -> &str {
    const WORDS: &str = "update file:";
    let bare = path.strip_prefix("***").unwrap_or(path).trim_start();
    match bare.get(..WORDS.len()) {
        Some(start) if start.eq_ignore_ascii_case(WORDS) => bare[WORDS.len()..].trim_start(),
        _ => path,
    }
}

/// A header as it should be written.
pub fn header_text(path: &str, tag: Option<Tag>) -> String {
    match tag {
        Some(tag) => format!("¶{}#{tag}", path_text(path)),
        None if path.contains('#') => format!("¶{}", serde_json::Value::from(path)),
        None => format!("¶{}", path_text(path)),
    }
}

/// A path as it should be written: as a JSON string where it would be misread bare.
pub(super) fn path_text(path: &str) -> String {
    let misread = path.contains(|c: char| c.is_control() || c == '"')
        || path.trim() != path
        || without_update_words(path) != path;
    match misread {
        true => serde_json::Value::from(path).to_string(),
        false => path.to_owned(),
    }
}
