//! What is said of a page above its text. Nothing in these lines is a server's own wording, and none of them can be taken for a line of the page.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::net::Cut;
use crate::text::decode;
use crate::view::size::file_size;

use super::content::{self, ContentType, HEAD};
use super::made;
use super::page::Page;

/// Characters of a note, and of an id or a title.
const MAX_NOTE: usize = 160;
const MAX_TITLE: usize = 40;

/// One line without control, bidirectional and tag characters, 160 characters at most.
pub fn note(text: &str) -> String {
    plain(text, MAX_NOTE)
}

/// The same of a title or an id, 40 characters at most.
pub fn title(text: &str) -> String {
    plain(text, MAX_TITLE)
}

fn plain(text: &str, most: usize) -> String {
    let is_seen = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut seen = line.chars().filter(is_seen);
    let mut short: String = seen.by_ref().take(most).collect();
    if seen.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}

/// The type of a body; what its bytes are, where they are something else than the server says.
pub fn content_type(sent: &ContentType, page: &Page) -> String {
    let head = made::head(&page.fetched.body, HEAD as u64).unwrap_or_else(|_| Vec::new().into());
    let sent = if sent.is_vague() {
        ""
    } else {
        sent.essence.as_str()
    };
    match content::found_type(&head) {
        // What office documents and e-books are packed in.
        Some("application/zip" | "application/x-ole-storage") if !sent.is_empty() => {
            sent.to_owned()
        }
        Some(found) if sent.is_empty() || found == sent || is_same(found, sent) => {
            match sent.is_empty() {
                true => found.to_owned(),
                false => sent.to_owned(),
            }
        }
        Some(found) if !found.starts_with("text/") => format!("{found} (sent as {sent})"),
        _ if !sent.is_empty() => sent.to_owned(),
        _ if content::is_html(&head) => "text/html".to_owned(),
        _ if decode(&head, None).is_ok() => "text/plain".to_owned(),
        _ => "application/octet-stream".to_owned(),
    }
}

/// Two names of one type.
fn is_same(found: &str, sent: &str) -> bool {
    let bare = |name: &str| {
        let name = name.rsplit('/').next().unwrap_or(name);
        name.trim_start_matches("x-")
            .trim_end_matches("+xml")
            .to_owned()
    };
    bare(found) == bare(sent)
}

/// `HTTP 404 Not Found`, with what to do about it. The phrase is the standard's, whatever the server says.
pub fn status(page: &Page) -> String {
    let status = page.fetched.status;
    let phrase = http::StatusCode::from_u16(status)
        .ok()
        .and_then(|it| it.canonical_reason());
    let status_line = match phrase {
        Some(phrase) => format!("HTTP {status} {phrase}"),
        None => format!("HTTP {status}"),
    };
    let asks_browser = page.header("cf-mitigated") == Some("challenge");
    match status {
        403 | 503 if asks_browser => format!("{status_line}; the site demands a browser check"),
        401 | 403 => format!(
            "{status_line}; no credentials or cookies are ever sent: use an authenticated tool for this page"
        ),
        429 | 503 => match page
            .header("retry-after")
            .and_then(|it| it.trim().parse::<u32>().ok())
        {
            Some(seconds) => format!("{status_line}; the server asks to wait {seconds} s"),
            None => status_line,
        },
        _ => status_line,
    }
}

/// Where the reader was led, and from where.
pub fn redirected(page: &Page) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = page.fetched.hops.first() {
        notes.push(format!("redirected from {}", first.from));
    }
    let hops = page.fetched.hops.iter().map(|hop| &hop.from);
    let schemes: Vec<&str> = hops.chain([page.url()]).map(|url| url.scheme()).collect();
    if schemes.windows(2).any(|pair| pair == ["https", "http"]) {
        notes.push("a redirect led from https to http".to_owned());
    }
    notes
}

pub fn redirects(page: &Page) -> Option<Vec<String>> {
    let hops: Vec<String> = page
        .fetched
        .hops
        .iter()
        .map(|hop| hop.from.to_string())
        .collect();
    (!hops.is_empty()).then_some(hops)
}

/// What of the body was not fetched.
pub fn cut(page: &Page) -> Option<String> {
    let of = |of: Option<u64>| {
        of.map(|of| format!(" of {}", file_size(of)))
            .unwrap_or_default()
    };
    Some(match page.fetched.cut? {
        Cut::TooLong { of: all } => format!(
            "the first {}{}; the rest was not fetched",
            file_size(page.fetched.body.bytes()),
            of(all)
        ),
        Cut::Broken { at, of: all } => {
            format!("the connection broke after {}{}", file_size(at), of(all))
        }
        Cut::EventStream => "a stream of events: those of the first 3 s".to_owned(),
    })
}

/// `2026-11-23T01:02:03Z`.
pub fn rfc3339(at: SystemTime) -> String {
    let at = OffsetDateTime::from(at);
    let whole = at.replace_nanosecond(0).unwrap_or(at);
    // Years of four digits can be written.
    whole.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn notes_are_one_plain_line() {
        assert_eq!(note("a\nb\t\u{202e}c\u{e0041}"), "a b c");
        assert_eq!(title(&"x".repeat(50)).chars().count(), 40);
        assert!(title(&"x".repeat(50)).ends_with('…'));
    }

    #[test]
    fn times_are_written_as_the_standard_does() {
        let at = |seconds| rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_395_723), "2026-11-23T01:02:03Z");
    }
}
