//! Which encoding a page is in, by the order of the HTML standard with two exceptions that are said.
//!
//! What the caller demands beats all; then a byte order mark, the header, the page's own word in its
//! first 1,024 bytes, and a guess. A label over what is valid UTF-8 beyond doubt is a default that
//! nobody meant.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use crate::text::{encoding_for_label, label};

/// Where a page names its encoding.
const PRESCAN: usize = 1024;

/// Bytes that a guess looks at.
const GUESS: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// As `details.encoding` names it.
    pub(super) encoding: String,
    pub(super) notes: Vec<String>,
}

/// What is said of the encoding from outside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) demanded: Option<&'a str>,
    pub(super) header: Option<&'a str>,
    /// The page's address.
    pub(super) base: &'a str,
}

pub(super) fn decode(bytes: &[u8], said: Said) -> Decoded {
    let mut notes = Vec::new();
    let encoding = choose(bytes, said, &mut notes);
    let (text, damaged) = encoding.decode_with_bom_removal(bytes);
    if damaged {
        notes.push(format!(
            "some bytes mean nothing in {} and are shown as \u{FFFD}",
            label(encoding)
        ));
    }
    Decoded {
        text: text.into_owned(),
        encoding: label(encoding),
        notes,
    }
}

fn choose(bytes: &[u8], said: Said, notes: &mut Vec<String>) -> &'static Encoding {
    if let Some(demanded) = said.demanded.and_then(encoding_for_label) {
        return demanded;
    }
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    let is_utf8 = std::str::from_utf8(bytes).is_ok();
    let declared = match said.header.and_then(encoding_for_label) {
        Some(header) => Some(("server", header)),
        None => in_page(&bytes[..bytes.len().min(PRESCAN)]).map(|own| ("page", own)),
    };
    match declared {
        Some((who, encoding)) if is_utf8 && encoding != UTF_8 && is_mistaken(encoding, bytes) => {
            notes.push(format!(
                "the {who} says {}, but the text is utf-8",
                label(encoding)
            ));
            UTF_8
        }
        Some((_, encoding)) => encoding,
        None if is_utf8 => UTF_8,
        None => guess(bytes, said.base),
    }
}

/// Whether what is valid UTF-8 is not in this encoding, whoever says so. A few bytes can be both; of
/// many characters that is no accident.
fn is_mistaken(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    let characters = bytes.iter().filter(|byte| **byte >= 0xC0).count();
    let enough = if encoding.is_single_byte() { 1 } else { 20 };
    characters >= enough
}

fn guess(bytes: &[u8], base: &str) -> &'static Encoding {
    let domain = url::Url::parse(base).ok();
    let domain = domain.as_ref().and_then(|base| base.domain());
    let top = domain
        .and_then(|domain| domain.rsplit('.').next())
        .filter(|top| top.bytes().all(|byte| byte.is_ascii_lowercase()));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(GUESS)], true);
    detector.guess(top.map(str::as_bytes), Utf8Detection::Allow)
}

/// The encoding that a page names itself, in a `meta` element or an XML declaration.
fn in_page(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let found = in_declaration(&head).or_else(|| in_meta(&head))?;
    // What could be read as ASCII so far is in no UTF-16.
    Some(match found {
        _ if found == UTF_16BE || found == UTF_16LE => UTF_8,
        _ if found == X_USER_DEFINED => WINDOWS_1252,
        _ => found,
    })
}

fn in_declaration(head: &str) -> Option<&'static Encoding> {
    let declaration = head.trim_start().strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    let rest = declaration.split_once("encoding")?.1;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|first| "\"'".contains(*first))?;
    encoding_for_label(rest[1..].split(quote).next()?)
}

fn in_meta(head: &str) -> Option<&'static Encoding> {
    let mut rest = head;
    while let Some(at) = rest.find(['<']) {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = &comment[comment.find("-->")? + 3..];
            continue;
        }
        let end = rest.find('>').unwrap_or(rest.len());
        let is_meta = rest
            .strip_prefix("<meta")
            .is_some_and(|rest| rest.starts_with(|next: char| next.is_whitespace() || next == '/'));
        if is_meta && let Some(encoding) = named(&rest[..end]) {
            return Some(encoding);
        }
        rest = &rest[1..];
    }
    None
}

/// The encoding that a `meta` tag names: as its `charset`, or within its `content`.
fn named(tag: &str) -> Option<&'static Encoding> {
    let (_, rest) = tag.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest
        .find(|next: char| next.is_whitespace() || "\"';/>".contains(next))
        .unwrap_or(rest.len());
    Encoding::for_label_no_replacement(&rest.as_bytes()[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8], header: Option<&str>) -> (String, usize) {
        let said = Said {
            demanded: None,
            header,
            base: "https://example.jp/",
        };
        let decoded = decode(bytes, said);
        (decoded.encoding, decoded.notes.len())
    }

    #[test]
    fn the_order_is_mark_header_page_guess() {
        let page = b"<meta charset=\"shift_jis\"><p>\x93\xfa\x96\x7b";
        assert_eq!(found(page, None), ("shift_jis".to_owned(), 0));
        assert_eq!(found(page, Some("EUC-JP")).0, "euc-jp");
        assert_eq!(found(b"\xEF\xBB\xBFx", Some("EUC-JP")).0, "utf-8");
        let old = b"<META http-equiv=Content-Type content='text/html; charset=GB2312'>\xd6\xd0";
        assert_eq!(found(old, None).0, "gbk");
        let xml = b"<?xml version='1.0' encoding='koi8-r'?><p>\xd0";
        assert_eq!(found(xml, None).0, "koi8-r");
        let japanese = "これは日本語で書かれた長い文章です。".repeat(4);
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(&japanese);
        assert_eq!(found(&bytes, None).0, "shift_jis");
    }

    #[test]
    fn a_single_byte_label_over_utf8_is_not_believed() {
        assert_eq!(
            found("é".as_bytes(), Some("iso-8859-1")),
            ("utf-8".to_owned(), 1)
        );
        assert_eq!(
            found(b"e", Some("iso-8859-1")),
            ("windows-1252".to_owned(), 0)
        );
        assert_eq!(found(b"<!-- <meta charset=gbk> -->x", None).0, "utf-8");
    }

    #[test]
    fn a_demand_beats_all() {
        let said = Said {
            demanded: Some("euc-kr"),
            header: Some("utf-8"),
            base: "",
        };
        assert_eq!(decode(b"\xb0\xa1", said).text, "가");
    }
}
