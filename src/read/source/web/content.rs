//! What a body is: by its first bytes, then by what the server says, then by its name.

use url::Url;

use crate::net::HeaderMap;
use crate::read::source::kind::KINDS;

/// Bytes by which a body is known.
pub const HEAD: usize = 4096;

/// A body that is converted; all others are opened as files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Html,
    Feed,
    Json,
    Markdown,
}

/// The header, taken apart. Nothing of it is a server's own wording: names are of ASCII and short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentType {
    /// `text/html`; empty where the server says none that is one.
    pub essence: String,
    pub charset: Option<String>,
}

impl ContentType {
    pub fn of(header: &str) -> ContentType {
        let mut parts = header.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let is_token = |text: &str| {
            let good = |c: char| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c);
            !text.is_empty() && text.len() <= 80 && text.chars().all(good)
        };
        let is_type = essence
            .split_once('/')
            .is_some_and(|(a, b)| is_token(a) && is_token(b));
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = value.trim().trim_matches('"');
            (name.trim().eq_ignore_ascii_case("charset") && is_token(value))
                .then(|| value.to_owned())
        });
        ContentType {
            essence: if is_type { essence } else { String::new() },
            charset,
        }
    }

    /// Of an answer's headers.
    pub fn of_headers(headers: &HeaderMap) -> ContentType {
        let header = headers
            .get("content-type")
            .and_then(|value| value.to_str().ok());
        header.map(ContentType::of).unwrap_or_default()
    }

    /// Whether it tells nothing that the bytes do not tell better.
    pub fn is_vague(&self) -> bool {
        matches!(
            self.essence.as_str(),
            "" | "application/octet-stream" | "binary/octet-stream"
        )
    }
}

/// As what a body is converted; `None` for what is opened as a file.
pub fn sort(sent: &ContentType, url: &Url, head: &[u8]) -> Option<Sort> {
    if KINDS.iter().any(|kind| kind.claims_bytes(head)) {
        return None;
    }
    let essence = sent.essence.as_str();
    let name = url.path().to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match essence {
        "text/html" | "application/xhtml+xml" => Some(Sort::Html),
        "application/rss+xml"
        | "application/atom+xml"
        | "application/rdf+xml"
        | "application/feed+json" => Some(Sort::Feed),
        "application/xml" | "text/xml" if is_feed(head) => Some(Sort::Feed),
        "text/markdown" | "text/x-markdown" => Some(Sort::Markdown),
        "text/plain" if ends(&[".md", ".markdown"]) => Some(Sort::Markdown),
        "application/json" | "text/json" if is_json_feed(head) => Some(Sort::Feed),
        "application/json" | "text/json" => Some(Sort::Json),
        _ if essence.ends_with("+json") && !essence.contains("ipynb") => Some(Sort::Json),
        _ if !sent.is_vague() => None,
        _ if is_html(head) => Some(Sort::Html),
        _ if is_feed(head) => Some(Sort::Feed),
        _ if ends(&[".json"]) => Some(Sort::Json),
        _ if ends(&[".md", ".markdown"]) => Some(Sort::Markdown),
        _ => None,
    }
}

/// Whether a body begins as HTML does.
pub fn is_html(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(512)]).to_ascii_lowercase();
    let mut text = text.trim_start_matches('\u{feff}').trim_start();
    while let Some((_, behind)) = text
        .strip_prefix("<!--")
        .and_then(|it| it.split_once("-->"))
    {
        text = behind.trim_start();
    }
    ["<!doctype html", "<html", "<head", "<body"]
        .iter()
        .any(|begin| text.starts_with(begin))
}

fn is_feed(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = match rest {
            it if it.starts_with("<?") => it.find("?>").map(|at| at + 2),
            it if it.starts_with("<!--") => it.find("-->").map(|at| at + 3),
            it if it.starts_with("<!") => it.find('>').map(|at| at + 1),
            _ => break,
        };
        match end {
            Some(end) => rest = rest[end..].trim_start(),
            None => return false,
        }
    }
    let is_root = |name: &str| {
        let behind = rest.strip_prefix(name);
        behind.is_some_and(|behind| behind.starts_with([' ', '>', '\n', '\t', '\r']))
    };
    ["<rss", "<feed", "<rdf:RDF"].into_iter().any(is_root)
}

fn is_json_feed(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"https://jsonfeed.org/version/").is_some()
        || memchr::memmem::find(head, b"https:\\/\\/jsonfeed.org\\/version\\/").is_some()
}

/// The name of a body that is opened as a file: what the server calls it, else the last part of its
/// address; with an extension that is right for its bytes, else for its type.
pub fn file_name(headers: &HeaderMap, sent: &ContentType, url: &Url, head: &[u8]) -> String {
    let disposition = headers
        .get("content-disposition")
        .and_then(|value| value.to_str().ok());
    let of_url = || {
        let last = url.path_segments()?.rfind(|part| !part.is_empty())?;
        Some(
            String::from_utf8_lossy(&crate::workspace::percent_decoded(last.as_bytes()))
                .into_owned(),
        )
    };
    let name = disposition
        .and_then(named)
        .or_else(of_url)
        .unwrap_or_else(|| "page".to_owned());
    name_for(&name, &sent.essence, head)
}

/// A name of one part, with an extension that is right for the bytes, else for their type.
pub fn name_for(name: &str, essence: &str, head: &[u8]) -> String {
    let name = clean(name);
    let found = infer::get(head).map(|found| found.extension());
    let said = extension_of(essence);
    let has = name
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    match (has.as_deref(), found, said) {
        // Containers of one kind have many extensions: the name's is the best word.
        (Some(has), Some(found), _) if has == found || is_container(found) && is_known(has) => name,
        (_, Some(found), Some(said)) if is_container(found) => format!("{name}.{said}"),
        (_, Some(found), _) => format!("{name}.{found}"),
        (Some(has), None, _) if is_known(has) || said.is_none() => name,
        (_, None, Some(said)) => format!("{name}.{said}"),
        (_, None, None) => name,
    }
}

/// Formats that others are packed in.
fn is_container(extension: &str) -> bool {
    matches!(
        extension,
        "zip" | "gz" | "bz2" | "xz" | "zst" | "tar" | "msi" | "doc" | "xls" | "ppt"
    )
}

/// Whether an extension is more than part of a name (`v1.2`).
fn is_known(extension: &str) -> bool {
    extension.len() <= 8 && extension.chars().any(|c| c.is_ascii_alphabetic())
}

/// `filename` or `filename*` of a disposition.
fn named(disposition: &str) -> Option<String> {
    let value = |name: &str| {
        disposition.split(';').find_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.trim()
                .eq_ignore_ascii_case(name)
                .then(|| value.trim().trim_matches('"').to_owned())
        })
    };
    let extended = value("filename*").and_then(|value| {
        let encoded = value.rsplit('\'').next()?.as_bytes().to_vec();
        String::from_utf8(crate::workspace::percent_decoded(&encoded).to_vec()).ok()
    });
    extended
        .or_else(|| value("filename"))
        .filter(|name| !name.is_empty())
}

/// A name of a file in a folder of ours: short, one part, no controls.
fn clean(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let good = last.chars().filter(|c| !c.is_control());
    let mut good: String = good.take(100).collect();
    while good.len() > 120 {
        good.pop();
    }
    match good.trim_matches(['.', ' ']) {
        "" => "page".to_owned(),
        good => good.to_owned(),
    }
}

fn extension_of(essence: &str) -> Option<&'static str> {
    const TYPES: &[(&str, &str)] = &[
        ("application/pdf", "pdf"),
        ("application/msword", "doc"),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "docx",
        ),
        ("application/vnd.ms-powerpoint", "ppt"),
        (
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "pptx",
        ),
        ("application/vnd.ms-excel", "xls"),
        (
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "xlsx",
        ),
        ("application/vnd.oasis.opendocument.text", "odt"),
        ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
        ("application/vnd.oasis.opendocument.presentation", "odp"),
        ("application/epub+zip", "epub"),
        ("application/rtf", "rtf"),
        ("text/rtf", "rtf"),
        ("application/zip", "zip"),
        ("application/x-zip-compressed", "zip"),
        ("application/x-tar", "tar"),
        ("application/gzip", "gz"),
        ("application/x-gzip", "gz"),
        ("application/vnd.sqlite3", "sqlite"),
        ("application/x-sqlite3", "sqlite"),
        ("application/x-ipynb+json", "ipynb"),
        ("text/csv", "csv"),
        ("text/css", "css"),
        ("text/javascript", "js"),
        ("application/javascript", "js"),
        ("application/xml", "xml"),
        ("text/xml", "xml"),
        ("application/yaml", "yaml"),
        ("application/toml", "toml"),
        ("image/png", "png"),
        ("image/jpeg", "jpg"),
        ("image/gif", "gif"),
        ("image/webp", "webp"),
        ("image/svg+xml", "svg"),
    ];
    let found = TYPES.iter().find(|(name, _)| *name == essence);
    found.map(|(_, extension)| *extension)
}

/// What the bytes are, for who sent them under another name: `application/pdf`.
pub fn found_type(head: &[u8]) -> Option<&'static str> {
    infer::get(head).map(|found| found.mime_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[test]
    fn headers_come_apart() {
        let parsed = ContentType::of("Text/HTML; Charset=\"Shift_JIS\"; x=y");
        assert_eq!(
            (parsed.essence.as_str(), parsed.charset.as_deref()),
            ("text/html", Some("Shift_JIS"))
        );
        assert_eq!(ContentType::of("hello\u{202e}/x").essence, "");
        assert_eq!(ContentType::of("").essence, "");
    }

    #[test]
    fn bytes_beat_the_header_and_the_header_the_name() {
        let sorted = |sent: &str, name: &str, head: &str| {
            sort(&ContentType::of(sent), &url(name), head.as_bytes())
        };
        let html = "<!-- x --><!DOCTYPE html><p>";
        assert_eq!(sorted("text/html", "https://h/a", html), Some(Sort::Html));
        assert_eq!(sorted("text/html", "https://h/a", "%PDF-1.7\n"), None);
        assert_eq!(sorted("text/plain", "https://h/a", html), None);
        assert_eq!(sorted("", "https://h/a", html), Some(Sort::Html));
        assert_eq!(
            sorted(
                "application/xml",
                "https://h/a",
                "<?xml version='1.0'?>\n<rss version='2.0'>"
            ),
            Some(Sort::Feed)
        );
        assert_eq!(
            sorted(
                "application/xml",
                "https://h/a",
                "<?xml version='1.0'?>\n<rssx>"
            ),
            None
        );
        assert_eq!(
            sorted("application/json", "https://h/a", "{}"),
            Some(Sort::Json)
        );
        assert_eq!(
            sorted("application/problem+json", "https://h/a", "{}"),
            Some(Sort::Json)
        );
        assert_eq!(sorted("text/plain", "https://h/a.json", "{}"), None);
        assert_eq!(
            sorted("text/plain; charset=utf-8", "https://h/README.md", "# x"),
            Some(Sort::Markdown)
        );
        assert_eq!(
            sorted("application/octet-stream", "https://h/a.json", "{}"),
            Some(Sort::Json)
        );
    }

    #[test]
    fn names_tell_the_kind() {
        let name = |sent: &str, address: &str, disposition: &str, head: &[u8]| {
            let mut headers = HeaderMap::new();
            if !disposition.is_empty() {
                headers.insert(
                    "content-disposition",
                    disposition.parse().expect("a header"),
                );
            }
            file_name(&headers, &ContentType::of(sent), &url(address), head)
        };
        let zip = b"PK\x03\x04\x14\0\0\0\0\0".as_slice();
        assert_eq!(
            name("text/html", "https://h/paper", "", b"%PDF-1.7"),
            "paper.pdf"
        );
        assert_eq!(name("application/zip", "https://h/a.zip", "", zip), "a.zip");
        assert_eq!(
            name("application/epub+zip", "https://h/get?id=3", "", zip),
            "get.epub"
        );
        assert_eq!(name("", "https://h/x.whl", "", zip), "x.whl");
        assert_eq!(
            name("text/plain", "https://h/src/main.rs", "", b"fn main() {}"),
            "main.rs"
        );
        assert_eq!(
            name(
                "text/csv",
                "https://h/export",
                "attachment; filename=\"a b.csv\"",
                b"a,b"
            ),
            "a b.csv"
        );
        assert_eq!(
            name(
                "",
                "https://h/x",
                "attachment; filename*=UTF-8''%e2%82%ac.txt",
                b"a"
            ),
            "\u{20ac}.txt"
        );
        assert_eq!(
            name(
                "text/x",
                "https://h/",
                "attachment; filename=\"../../etc/passwd\"",
                b"a"
            ),
            "passwd"
        );
        assert_eq!(
            name("application/yaml", "https://h/v1.2", "", b"a: 1"),
            "v1.2.yaml"
        );
    }
}
