//! Feeds to Markdown: RSS, Atom, RDF and JSON Feed, one heading an entry, its HTML by the converter of pages.

use feed_rs::model::{Content, Entry, Feed, Link, Text};
use url::Url;

use super::decode::{Said, decode};
use super::html;
use super::messages::{FeedRequest, FeedText, Why};

/// Entries that are shown where not all are wanted.
const SHOWN: usize = 20;

/// Converts a feed.
pub(super) fn convert(bytes: &[u8], request: &FeedRequest) -> Result<(FeedText, String), Why> {
    let said = Said {
        demanded: request.encoding.as_deref(),
        header: request.charset.as_deref(),
        base: &request.base,
    };
    let decoded = decode(bytes, said);
    let parser = feed_rs::parser::Builder::new()
        .base_uri(Some(&request.base))
        .sanitize_content(false)
        .build();
    let feed = parser
        .parse(without_declaration(&decoded.text).as_bytes())
        .map_err(|_| Why::Unreadable("not a feed".to_owned()))?;
    let cap = usize::try_from(request.output_bytes).unwrap_or(usize::MAX);
    let base = root_base(&decoded.text, &request.base);
    let mut writer = FeedWriter {
        base: &base,
        text: String::new(),
        cap,
    };
    let mut facts = FeedText {
        title: feed.title.as_ref().map(|title| plain(title, cap)),
        entries: feed.entries.len() as u64,
        encoding: decoded.encoding,
        notes: decoded.notes,
        ..FeedText::default()
    };
    match &request.entry {
        Some(address) => {
            let entry = feed
                .entries
                .iter()
                .find(|entry| has_address(entry, address, &request.base));
            facts.found_entry = entry.is_some();
            if let Some(entry) = entry {
                writer.entry(entry, 1);
            }
        }
        None => {
            let wanted = if request.whole {
                feed.entries.len()
            } else {
                SHOWN
            };
            let shown = writer.feed(&feed, wanted);
            facts.left_out = (feed.entries.len() - shown) as u64;
        }
    }
    Ok((facts, writer.text))
}

/// A text without the declaration of an encoding that it is no longer in.
fn without_declaration(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("<?xml") {
        Some(rest) => rest.find("?>").map_or(text, |end| &rest[end + 2..]),
        None => text,
    }
}

/// The base of a feed: what its first element says (`xml:base`), else its own address.
fn root_base(text: &str, own: &str) -> String {
    let text = without_declaration(text);
    let root = text
        .split('<')
        .find(|tag| tag.starts_with(char::is_alphabetic));
    let tag = root
        .and_then(|root| root.split('>').next())
        .unwrap_or_default();
    let said = tag.split_once("xml:base=").and_then(|(_, rest)| {
        let quote = rest.chars().next().filter(|first| "\"'".contains(*first))?;
        rest[1..].split(quote).next()
    });
    joined(own, said.unwrap_or_default())
}

fn joined(base: &str, address: &str) -> String {
    match Url::parse(base).and_then(|base| base.join(address)) {
        Ok(url) if !address.is_empty() => url.into(),
        _ => base.to_owned(),
    }
}

/// Whether one of an entry's links leads to an address.
fn has_address(entry: &Entry, address: &str, base: &str) -> bool {
    let wanted = without_fragment(address, base);
    entry
        .links
        .iter()
        .any(|link| without_fragment(&link.href, base) == wanted)
}

fn without_fragment(address: &str, base: &str) -> String {
    let url = Url::parse(base).and_then(|base| base.join(address));
    let Ok(mut url) = url else {
        return address.to_owned();
    };
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

struct FeedWriter<'a> {
    base: &'a str,
    text: String,
    cap: usize,
}

impl FeedWriter<'_> {
    /// The feed's own words and its first entries. How many of them are shown.
    fn feed(&mut self, feed: &Feed, wanted: usize) -> usize {
        if let Some(title) = &feed.title {
            self.block(&format!("# {}", plain(title, self.cap)));
        }
        if let Some(description) = &feed.description {
            let text = self.converted(
                &description.content,
                is_html(description.content_type.as_ref()),
                self.base,
            );
            self.block(&text);
        }
        let mut shown = 0;
        for entry in feed.entries.iter().take(wanted) {
            if self.text.len() >= self.cap {
                break;
            }
            self.entry(entry, 2);
            shown += 1;
        }
        let more = feed.entries.len() - shown;
        match more {
            0 => {}
            1 => self.block("[1 more entry; :full shows it]"),
            _ => self.block(&format!("[{more} more entries; :full shows them]")),
        }
        shown
    }

    fn entry(&mut self, entry: &Entry, level: usize) {
        let title = entry.title.as_ref().map(|title| plain(title, self.cap));
        let title = title.filter(|title| !title.is_empty());
        let marks = "#".repeat(level);
        self.block(&format!(
            "{marks} {}",
            title.as_deref().unwrap_or("(no title)")
        ));
        let date = entry.published.or(entry.updated);
        let date = date.map(|date| date.to_rfc3339().chars().take(10).collect::<String>());
        let names: Vec<&str> = entry
            .authors
            .iter()
            .filter_map(|author| author.name.as_deref())
            .collect();
        let authors = (!names.is_empty()).then(|| one_line(&names.join(", ")));
        let link = link_of(&entry.links).map(|link| one_line(&link.href));
        let facts: Vec<String> = [date, authors, link].into_iter().flatten().collect();
        self.block(&facts.join(" · "));
        let base = &joined(self.base, entry.base.as_deref().unwrap_or_default());
        let content = entry
            .content
            .as_ref()
            .and_then(|content| self.content(content, base));
        let text = content.filter(|text| !text.is_empty()).or_else(|| {
            let summary = entry.summary.as_ref()?;
            Some(self.converted(
                &summary.content,
                is_html(summary.content_type.as_ref()),
                base,
            ))
        });
        self.block(&text.unwrap_or_default());
    }

    fn content(&self, content: &Content, base: &str) -> Option<String> {
        let body = content.body.as_deref()?;
        Some(self.converted(body, is_html(content.content_type.as_ref()), base))
    }

    /// Text of a feed as Markdown: much of what calls itself plain is HTML.
    fn converted(&self, text: &str, is_html: bool, base: &str) -> String {
        if is_html || looks_like_html(text) {
            html::fragment(text, base, self.cap).trim_end().to_owned()
        } else {
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            lines.join("\n").trim().to_owned()
        }
    }

    fn block(&mut self, block: &str) {
        if block.is_empty() || self.text.len() + block.len() + 2 > self.cap {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(block);
        self.text.push('\n');
    }
}

fn is_html(kind: &str) -> bool {
    kind.contains("html")
}

fn looks_like_html(text: &str) -> bool {
    ["</", "<p>", "<br", "<img ", "&lt;", "&amp;", "&#"]
        .iter()
        .any(|mark| text.contains(mark))
}

/// The entry's own page among its links.
fn link_of(links: &[Link]) -> Option<&Link> {
    links
        .iter()
        .find(|link| link.rel.as_deref().is_none_or(|rel| rel == "alternate"))
        .or_else(|| links.first())
}

/// A title in one line, without markup.
fn plain(text: &Text, cap: usize) -> String {
    let content = &text.content;
    if is_html(text.content_type.as_ref()) || looks_like_html(content) {
        one_line(&html::fragment(content, "", cap))
    } else {
        one_line(content)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn feed(text: &str, request: FeedRequest) -> (FeedText, String) {
        let request = FeedRequest {
            base: "https://tides.example/feed.xml".to_owned(),
            output_bytes: 1 << 20,
            ..request
        };
        convert(text.as_bytes(), &request).expect("a feed")
    }

    fn text(text: &str) -> String {
        feed(text, FeedRequest::default()).1
    }

    const ATOM: &str = r#"<?xml version="1.0" encoding="iso-8859-1"?>
        <feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://tides.example/notes/">
        <title>Low &amp; high</title><subtitle>What the water does</subtitle>
        <entry><title type="html">One &lt;em&gt;tide&lt;/em&gt;</title><link href="one.html"/>
        <published>2024-03-01T12:00:00Z</published><author><name>Ann</name></author>
        <content type="html">&lt;h1&gt;Ebb&lt;/h1&gt;&lt;p&gt;See &lt;a href="map"&gt;the map&lt;/a&gt;.&lt;/p&gt;&lt;pre&gt;a
        b&lt;/pre&gt;</content></entry>
        <entry><title>Two</title><link rel="alternate" href="https://tides.example/two"/>
        <updated>2024-03-02T00:00:00+02:00</updated>
        <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Flood <b>now</b></p></div></content></entry></feed>"#;

    #[test]
    fn atom() {
        assert_snapshot!(text(ATOM), @r#"
# Low & high

What the water does

## One *tide*

2024-03-01 · Ann · https://tides.example/notes/one.html

### Ebb

See [the map](https://tides.example/notes/map).

```
a
        b
```

## Two

2024-03-01 · https://tides.example/two

Flood **now**
"#);
    }

    #[test]
    fn rss_and_rdf() {
        let rss = r#"<rss version="2.0"><channel><title>Tides</title><link>https://tides.example/</link>
            <description>Every tide</description><item><title>High</title><link>https://tides.example/high</link>
            <pubDate>Fri, 01 Mar 2024 12:00:00 GMT</pubDate><description><![CDATA[<p>At <b>noon</b></p>]]></description></item>
            <item><description>No title, 3 &lt; 4</description></item></channel></rss>"#;
        assert_snapshot!(text(rss), @r#"
# Tides

Every tide

## High

2024-03-01 · https://tides.example/high

At **noon**

## (no title)

No title, 3 < 4
"#);
        let rdf = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
            <channel rdf:about="https://tides.example/"><title>Old</title><link>https://tides.example/</link>
            <description>Old tides</description></channel><item rdf:about="https://tides.example/1"><title>First</title>
            <link>https://tides.example/1</link><description>Long ago</description></item></rdf:RDF>"#;
        assert_snapshot!(text(rdf), @r#"
# Old

Old tides

## First

https://tides.example/1

Long ago
"#);
    }

    #[test]
    fn json_feed() {
        let json = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "Tides", "items": [
            {"id": "1", "url": "https://tides.example/1", "title": "First", "date_published": "2024-03-01T12:00:00Z",
             "content_html": "<p>It <i>came</i>.</p>"},
            {"id": "2", "content_text": "Plain words"}]}"#;
        assert_snapshot!(text(json), @r#"
# Tides

## First

2024-03-01 · https://tides.example/1

It *came*.

## (no title)

Plain words
"#);
    }

    fn long() -> String {
        let items: String = (1..=50)
            .map(|n| {
                format!(
                    "<item><title>Entry {n}</title><link>https://tides.example/{n}</link></item>"
                )
            })
            .collect();
        format!("<rss version='2.0'><channel><title>Long</title>{items}</channel></rss>")
    }

    #[test]
    fn of_a_long_feed_the_first_twenty_are_shown() {
        let (facts, text) = feed(&long(), FeedRequest::default());
        assert_eq!((facts.entries, facts.left_out), (50, 30));
        assert!(text.contains("## Entry 20\n") && !text.contains("## Entry 21\n"));
        assert!(text.ends_with("\n\n[30 more entries; :full shows them]\n"));
        let whole = FeedRequest {
            whole: true,
            ..FeedRequest::default()
        };
        let (facts, text) = feed(&long(), whole);
        assert_eq!(facts.left_out, 0);
        assert!(text.contains("## Entry 50\n"));
    }

    #[test]
    fn one_entry_by_its_address() {
        let entry = |address: &str| FeedRequest {
            entry: Some(address.to_owned()),
            ..FeedRequest::default()
        };
        let (facts, text) = feed(&long(), entry("https://tides.example/7/#top"));
        assert!(facts.found_entry);
        assert_eq!(text, "# Entry 7\n\nhttps://tides.example/7\n");
        let (facts, text) = feed(&long(), entry("https://tides.example/70"));
        assert!(!facts.found_entry && text.is_empty());
    }

    #[test]
    fn what_is_no_feed_is_told() {
        for text in ["", "<html></html>", "{}", "<feed", "<rss version='2.0'>"] {
            let answer = convert(text.as_bytes(), &FeedRequest::default());
            assert!(
                !matches!(answer, Ok((facts, _)) if facts.entries > 0),
                "{text}"
            );
        }
    }
}
