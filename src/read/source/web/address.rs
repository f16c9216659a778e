//! What a path string that is a web address asks for: the URL that is fetched, its fragment, and the selector behind it. Pure.
//!
//! A URL may hold colons of its own: a port, `wiki/ISO:9001`, `?t=12:30`. So tokens are taken off
//! from the right, one at a time, as long as the token is a selector and what is left is a URL;
//! digits right after the host are a port, and a lone number in a query or a fragment belongs to
//! the URL. What was taken for lines of a path that the server does not have is asked for once more
//! as written ([`WebAddress::otherwise`]).

use url::Url;

use crate::protocol::{Refusal, shortened};
use crate::view::selector::SelectorError;
use crate::view::{Selector, Target};

use super::super::kind;

/// Bytes of the longest address that is taken.
const MAX_URL_BYTES: usize = 8192;

/// What a path string names on the web.
#[derive(Debug, Clone, PartialEq)]
pub struct WebAddress {
    /// Normalized as WHATWG's standard does; without a fragment, and without credentials.
    pub url: Url,
    /// What follows the `#`, which is never sent.
    pub fragment: Option<String>,
    pub selector: Selector,
    /// A member or a table, with the character that parts it from the path (`:src/main.rs:5-9`).
    pub inner: Option<String>,
    /// The address as written, where its end was taken for lines.
    pub otherwise: Option<Url>,
}

impl WebAddress {
    /// Whether nothing but the page is asked for.
    pub fn is_plain(&self) -> bool {
        self.selector == Selector::default() && self.fragment.is_none() && self.inner.is_none()
    }
}

/// What a path string is by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// `http:` or `https:`: never a file.
    Web,
    /// `www.`: a file of that name goes first.
    MaybeFile,
    Other,
}

/// Tells an address by its beginning, in any case and within brackets or quotes.
pub fn looks(written: &str) -> Looks {
    let bare = unwrapped(written);
    let begins = |with: &str| {
        let head = bare.get(..with.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(with))
    };
    match () {
        () if begins("http:") || begins("https:") => Looks::Web,
        () if begins("www.") => Looks::MaybeFile,
        () => Looks::Other,
    }
}

/// An address as the log may have it, whatever is wrong with it: without credentials, query and
/// fragment. Other paths are as they are.
pub fn without_secrets(written: &str) -> String {
    if looks(written) == Looks::Other {
        return written.to_owned();
    }
    let bare = unwrapped(written)
        .split(['?', '#'])
        .next()
        .unwrap_or_default();
    let (scheme, rest) = match looks(bare) {
        Looks::Web => bare.split_once(':').unwrap_or(("", bare)),
        _ => ("", bare),
    };
    let rest = rest.trim_start_matches(['/', '\\']);
    let (host, path) = rest.split_at(rest.find(['/', '\\']).unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    match scheme {
        "" => format!("{host}{path}"),
        _ => format!("{scheme}://{host}{path}"),
    }
}

/// Takes an address apart; `looks` said that it is one.
///
/// # Errors
///
/// `badParams` for what is no URL, is too long or has credentials; `badSelector` for an end that can
/// only be a mistyped selector.
pub fn parse(target: &Target) -> Result<WebAddress, Refusal> {
    let bare = unwrapped(target.as_written());
    let written = match looks(bare) {
        Looks::MaybeFile => format!("https://{bare}"),
        Looks::Web | Looks::Other => bare.to_owned(),
    };
    let parts = match target {
        Target::Literal(_, selector) => AddressParts {
            url: &written,
            selector: selector.clone(),
            ..AddressParts::default()
        },
        Target::Spelled(_) => taken_apart(&written)?,
    };
    if parts.url.len() > MAX_URL_BYTES {
        return Err(Refusal::bad_params(
            "path",
            format!("A web address may have at most {MAX_URL_BYTES} bytes."),
        ));
    }
    let mut url = parsed(parts.url)?;
    let fragment = url.fragment().map(decoded).filter(|it| !it.is_empty());
    url.set_fragment(None);
    let otherwise = match parts.is_doubtful {
        true => Url::parse(&written).ok().map(|mut url| {
            url.set_fragment(None);
            url
        }),
        false => None,
    };
    Ok(WebAddress {
        url,
        fragment,
        selector: parts.selector,
        inner: parts.inner.map(str::to_owned),
        otherwise,
    })
}

#[derive(Debug, Default)]
struct AddressParts<'a> {
    url: &'a str,
    selector: Selector,
    inner: Option<&'a str>,
    /// Something was taken off the end of the URL's path, which may be part of it.
    is_doubtful: bool,
}

/// Without the blanks, brackets and quotes that prose puts around an address.
fn unwrapped(written: &str) -> &str {
    let mut bare = written.trim();
    loop {
        let pairs = [('<', '>'), ('"', '"'), ('\'', '\''), ('`', '`')];
        let inner = pairs.iter().find_map(|(open, close)| {
            let inner = bare.strip_prefix(*open)?.strip_suffix(*close)?;
            Some(inner.trim())
        });
        match inner {
            Some(inner) => bare = inner,
            None => return bare,
        }
    }
}

fn parsed(text: &str) -> Result<Url, Refusal> {
    let url = Url::parse(text).map_err(|error| {
        let text = shortened(text);
        Refusal::bad_params("path", format!("'{text}' is not a web address: {error}."))
    })?;
    if url.username().is_empty() && url.password().is_none() {
        return Ok(url);
    }
    let mut without = url;
    // It has a host, so that neither can fail.
    let _ = without.set_username("");
    let _ = without.set_password(None);
    Err(Refusal::bad_params(
        "path",
        format!(
            "Credentials in a URL are not sent. Read '{}' without them, or use an authenticated tool.",
            shortened(without.as_str())
        ),
    ))
}

/// Where in a URL something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlPart {
    Host,
    Path,
    QueryOrFragment,
}

/// Byte indexes of the parts of an address as it is written.
#[derive(Debug, Clone, Copy)]
struct Layout {
    host: usize,
    path: usize,
    /// Where the query begins, else the fragment.
    query: usize,
}

impl Layout {
    fn of(written: &str) -> Layout {
        let scheme = written.find(':').map_or(0, |colon| colon + 1);
        let slashes = written[scheme..].bytes();
        let host = scheme + slashes.take_while(|it| matches!(it, b'/' | b'\\')).count();
        let next = |from: usize, of: &[char]| {
            let found = written[from..].find(of);
            found.map_or(written.len(), |at| from + at)
        };
        Layout {
            host,
            path: next(host, &['/', '\\', '?', '#']),
            query: next(host, &['?', '#']),
        }
    }

    fn part(&self, at: usize) -> UrlPart {
        match at {
            at if at >= self.query => UrlPart::QueryOrFragment,
            at if at >= self.path => UrlPart::Path,
            _ => UrlPart::Host,
        }
    }
}

fn taken_apart(written: &str) -> Result<AddressParts<'_>, Refusal> {
    let layout = Layout::of(written);
    if let Some(at) = member(written, layout) {
        let inner = &written[at..];
        return Ok(AddressParts {
            url: &written[..at],
            // Parameters of a database stand behind a colon here: `?` is the server's.
            inner: Some(
                inner
                    .strip_prefix(':')
                    .filter(|it| it.starts_with('?'))
                    .unwrap_or(inner),
            ),
            ..AddressParts::default()
        });
    }
    let mut url = written;
    let mut selector = Selector::default();
    while let Some(colon) = url.rfind(':').filter(|colon| *colon >= layout.host) {
        let token = &url[colon + 1..];
        let part = layout.part(colon);
        if colon == layout.host || is_of_the_url(&url[..colon], token, part, layout) {
            break;
        }
        match Selector::parse(&written[colon + 1..]) {
            Ok(parsed) => selector = parsed,
            Err(_) if url.len() < written.len() => break,
            Err(SelectorError::Unknown(_)) if !is_range(token) => break,
            Err(error) => return Err(bad_selector(written, &error)),
        }
        url = &url[..colon];
    }
    let is_doubtful = url.len() < written.len() && layout.part(url.len()) == UrlPart::Path;
    Ok(AddressParts {
        url,
        selector,
        inner: None,
        is_doubtful,
    })
}

/// Whether a token behind a colon is no selector, wherever it could be one.
fn is_of_the_url(before: &str, token: &str, part: UrlPart, layout: Layout) -> bool {
    let is_number = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    match part {
        UrlPart::Path => false,
        UrlPart::QueryOrFragment => is_number,
        UrlPart::Host => {
            let host = &before[layout.host.min(before.len())..];
            // Inside the brackets of an address of version 6, or the port right behind a host.
            let is_bracketed = host.starts_with('[') && !host.contains(']');
            let has_port = match host.rfind(']') {
                Some(end) => host[end..].contains(':'),
                None => host.contains(':'),
            };
            is_bracketed || token.is_empty() || (is_number && !has_port)
        }
    }
}

/// Digits and marks of ranges alone: it cannot be but a selector.
fn is_range(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
        && token
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"-+,.".contains(&byte))
}

fn bad_selector(written: &str, error: &SelectorError) -> Refusal {
    Refusal::BadSelector {
        path: Some(shortened(written).into_owned()),
        message: error.to_string(),
    }
}

/// Where a member or a table begins behind a name that may be that of an archive or a database.
fn member(written: &str, layout: Layout) -> Option<usize> {
    let mut splits = kind::splits(written).into_iter();
    splits.find(|at| written.as_bytes()[*at] == b':' && layout.part(*at) == UrlPart::Path)
}

fn decoded(fragment: &str) -> String {
    let bytes = crate::workspace::percent_decoded(fragment.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Own;
    use crate::view::selector::Piece;
    use proptest::prelude::*;

    fn address(written: &str) -> WebAddress {
        parse(&Target::Spelled(written.to_owned())).expect(written)
    }

    /// The URL, the lines asked for, and the fragment.
    fn told(written: &str) -> (String, Vec<Piece>, Option<String>) {
        let address = address(written);
        (
            address.url.into(),
            address.selector.pieces,
            address.fragment,
        )
    }

    #[test]
    fn the_log_has_no_secrets() {
        for (written, logged) in [
            ("https://h.example/a?token=x#y", "https://h.example/a"),
            (
                "<HTTPS:/me:secret@h.example:8443/a@b:5-9>",
                "HTTPS://h.example:8443/a@b:5-9",
            ),
            ("http:\\\\me:se@cret@h.example", "http://h.example"),
            ("www.h.example/a#x", "www.h.example/a"),
            ("src/a?b#c", "src/a?b#c"),
        ] {
            assert_eq!(without_secrets(written), logged);
        }
    }

    #[test]
    fn what_is_an_address() {
        for web in [
            "http://a",
            "HTTPS:/a/b",
            "https:a",
            " <https://a> ",
            "`http://a`",
            "\"https://a\"",
        ] {
            assert_eq!(looks(web), Looks::Web, "{web}");
        }
        assert_eq!(looks("www.example.com/x"), Looks::MaybeFile);
        for other in [
            "./https:/x",
            "httpx://a",
            "localhost:3000/x",
            "file:///a",
            "",
            "ü",
        ] {
            assert_eq!(looks(other), Looks::Other, "{other}");
        }
        assert_eq!(
            address("www.example.com/x").url.as_str(),
            "https://www.example.com/x"
        );
        assert_eq!(
            address("https:/example.com/x").url.as_str(),
            "https://example.com/x"
        );
        assert_eq!(
            address("'HTTPS://Example.COM'").url.as_str(),
            "https://example.com/"
        );
        assert_eq!(
            address("http://2130706433/").url.as_str(),
            "http://127.0.0.1/"
        );
    }

    #[test]
    fn ports_and_selectors() {
        let from = |line| vec![Piece::From(line)];
        let range = |a, b| vec![Piece::Range(a, b)];
        let table = [
            ("https://example.com:80", "https://example.com:80/", vec![]),
            ("http://localhost:3000", "http://localhost:3000/", vec![]),
            ("https://example.com/:80", "https://example.com/", from(80)),
            (
                "http://localhost:3000/:5-10",
                "http://localhost:3000/",
                range(5, 10),
            ),
            (
                "http://localhost:3000:5-10",
                "http://localhost:3000/",
                range(5, 10),
            ),
            ("http://localhost:3000:5", "http://localhost:3000/", from(5)),
            ("http://localhost:5-10", "http://localhost/", range(5, 10)),
            ("http://[::1]", "http://[::1]/", vec![]),
            ("http://[::1]:3000", "http://[::1]:3000/", vec![]),
            ("http://[::1]:3000:7-", "http://[::1]:3000/", from(7)),
            ("https://h/a?t=12:30", "https://h/a?t=12:30", vec![]),
            ("https://h/a?t=12:30-", "https://h/a?t=12", from(30)),
            ("https://h/a?t=12:30-40", "https://h/a?t=12", range(30, 40)),
            ("https://h/wiki/ISO:9001", "https://h/wiki/ISO", from(9001)),
            (
                "https://h/wiki/ISO:9001:5-10",
                "https://h/wiki/ISO:9001",
                range(5, 10),
            ),
            (
                "https://h/wiki/ISO%3A9001",
                "https://h/wiki/ISO%3A9001",
                vec![],
            ),
            (
                "https://h/wiki/Talk:Rust",
                "https://h/wiki/Talk:Rust",
                vec![],
            ),
        ];
        for (written, url, lines) in table {
            assert_eq!(told(written), (url.to_owned(), lines, None), "{written}");
        }
        assert!(address("https://example.com:raw").selector.raw);
        assert!(address("https://h/a?b:raw").selector.raw);
        assert_eq!(address("https://h/a:links").selector.own, Some(Own::Links));
        let page = address("https://h/a:301-:page").selector;
        assert_eq!((page.own, page.pieces), (Some(Own::WholePage), from(301)));
        assert_eq!(
            told("https://h/a#x:30"),
            ("https://h/a".to_owned(), vec![], Some("x:30".to_owned()))
        );
        assert_eq!(told("https://h/a#x:30-").1, from(30));
        let otherwise = address("https://h/wiki/ISO:9001").otherwise;
        assert_eq!(
            otherwise.map(String::from).as_deref(),
            Some("https://h/wiki/ISO:9001")
        );
        assert_eq!(address("https://h:3000:5-6").otherwise, None);
    }

    #[test]
    fn members_and_tables() {
        let inner = |written: &str| {
            let address = address(written);
            (String::from(address.url), address.inner.unwrap_or_default())
        };
        let is = |url: &str, inner: &str| (url.to_owned(), inner.to_owned());
        assert_eq!(
            inner("https://h/a.zip:src/main.rs:5-9"),
            is("https://h/a.zip", ":src/main.rs:5-9")
        );
        assert_eq!(
            inner("https://h/t.db:users?limit=2"),
            is("https://h/t.db", ":users?limit=2")
        );
        assert_eq!(
            inner("https://h/t.db:?q=SELECT 1"),
            is("https://h/t.db", "?q=SELECT 1")
        );
        assert_eq!(inner("https://h/t.db?q=1"), is("https://h/t.db?q=1", ""));
        assert_eq!(
            inner("http://files.zip:8080/x"),
            is("http://files.zip:8080/x", "")
        );
    }

    #[test]
    fn what_is_refused() {
        let refusal = |written: &str| {
            let target = Target::Spelled(written.to_owned());
            parse(&target).expect_err(written).to_string()
        };
        for tail in [":0", ":9-5"] {
            let written = format!("https://h/a{tail}");
            let target = Target::Spelled(written.clone());
            assert!(
                matches!(parse(&target), Err(Refusal::BadSelector { .. })),
                "{written}"
            );
        }
        let said = refusal("https://ann:secret@h/a");
        assert!(
            said.contains("https://h/a") && !said.contains("secret"),
            "{said}"
        );
        assert!(refusal("https://").contains("is not a web address"));
        assert!(refusal(&format!("https://h/{}", "a".repeat(9000))).contains("8192"));
    }

    #[test]
    fn a_selector_apart_leaves_the_address_alone() {
        let selector = Selector::parse("5-6").expect("a selector");
        let target = Target::Literal("https://h/wiki/ISO:9001".to_owned(), selector.clone());
        let address = parse(&target).expect("an address");
        assert_eq!(address.url.as_str(), "https://h/wiki/ISO:9001");
        assert_eq!((address.selector, address.otherwise), (selector, None));
    }

    proptest! {
        #[test]
        fn urls_and_selectors_come_apart_again(
            host in "[a-z]{1,8}(\\.[a-z]{2,3})?",
            port in proptest::option::of(1u16..),
            path in "(/[a-z0-9_~]{0,6}){0,3}",
            query in proptest::option::of("[a-z]=[a-z0-9:]{0,5}[a-z]"),
            tail in proptest::option::of(prop_oneof![
                Just("raw"), Just("full"), Just("links"), Just("page"), Just("5-9"), Just("7-"),
                Just("-20"), Just("1-2,9-12"), Just("301-:page"), Just("5-6:raw"),
            ]),
        ) {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            let url = format!("http://{host}{port}{path}{query}");
            let written = match tail {
                Some(tail) => format!("{url}:{tail}"),
                None => url.clone(),
            };
            let address = address(&written);
            prop_assert_eq!(address.url, Url::parse(&url).expect("a URL"));
            let selector = Selector::parse(tail.unwrap_or("full")).expect("a selector");
            if tail.is_some() {
                prop_assert_eq!(address.selector, selector);
            } else {
                prop_assert_eq!(address.selector, Selector::default());
            }
        }

        #[test]
        fn no_string_is_too_much(written in "(https?:/{0,3})?[ -~ü]{0,40}(:[0-9a-z,:-]{0,8})?") {
            let _ = parse(&Target::Spelled(written));
        }
    }
}
