//! Whether something else is better to read than a page of HTML: its Markdown, an entry of a feed, a document, the site's `llms.txt`.
//!
//! The steps and their order are those of `docs/formats.md`, Web pages. Nothing is asked for here: what
//! is missing is said, and this is called again with what came ([`super::obtain`]).

use std::collections::HashSet;
use std::sync::Arc;

use url::Url;

use crate::convert::HtmlPage;
use crate::protocol::Refusal;
use crate::read::source::ReadContext;
use crate::text::decode;

use super::content::{self, ContentType, HEAD, Sort};
use super::made;
use super::made_text::MadeText;
use super::obtain::{Guess, GuessKind, ObtainedPage, Web};
use super::page::{Page, Substitute};

/// A page that sends its reader on is followed if it does so within so many seconds, and has fewer words.
const MAX_REFRESH_SECONDS: u32 = 5;
const MAX_REFRESH_WORDS: u64 = 50;
/// What is in the place of a page has at least so many characters.
const MIN_CHARS: usize = 100;
/// From so many words on a page has to share half of them with what replaces it.
const MIN_WORDS_TO_COMPARE: u64 = 80;
/// Bytes of a guess that are looked at.
const LOOKED_AT: u64 = 1024 * 1024;

/// What to show.
pub enum Choice {
    /// The page itself, or what is in its place; the notes of what else there is.
    Settled(Option<Substitute>, Vec<String>),
    Ask(Vec<Guess>),
}

/// What to show in the place of a page of HTML that was converted.
pub fn choose(
    obtained: &ObtainedPage,
    made: &MadeText,
    means: &ReadContext,
) -> Result<Choice, Refusal> {
    let (page, web) = (&*obtained.page, &*obtained.web);
    let Some(html) = &made.html else {
        return Ok(Choice::Settled(None, Vec::new()));
    };
    let mut notes = Vec::new();
    if let Some(url) = refresh(html) {
        match obtained.tried(GuessKind::Refresh) {
            None => return Ok(ask(GuessKind::Refresh, vec![url])),
            Some(mut tried) => match tried.next() {
                Some((guess, Some(page))) => {
                    let note = format!("sent on to {} by the page", guess.url);
                    return Ok(instead(page, None, note));
                }
                _ => notes.push(format!("it sends its reader on to {url}")),
            },
        }
    }
    if let Some(url) = alternate(page, html, &mut notes) {
        match obtained.tried(GuessKind::AlternateMarkdown) {
            None => return Ok(ask(GuessKind::AlternateMarkdown, vec![url])),
            Some(tried) => {
                for (guess, found) in tried {
                    if let Some(found) = good(found.as_ref(), made, guess, web)? {
                        let note = format!("Markdown alternate {}", guess.url);
                        return Ok(instead(found, Some("alternate-markdown"), note));
                    }
                }
            }
        }
    }
    if !html.is_poor || html.has_password_field {
        return Ok(Choice::Settled(None, notes));
    }
    let guesses = guesses(page, html, &mut notes);
    let is_untried = |it: &Guess| obtained.guesses.iter().all(|(tried, _)| tried != it);
    if guesses.iter().any(is_untried) {
        return Ok(Choice::Ask(
            guesses.into_iter().filter(is_untried).collect(),
        ));
    }
    for (guess, found) in &obtained.guesses {
        let Some(found) = found else { continue };
        if let Some(substitute) = passes(guess, found, made, page, web, means)? {
            return Ok(Choice::Settled(Some(substitute), notes));
        }
    }
    Ok(Choice::Settled(None, notes))
}

fn ask(kind: GuessKind, urls: Vec<Url>) -> Choice {
    Choice::Ask(urls.into_iter().map(|url| Guess { kind, url }).collect())
}

fn instead(page: &Arc<Page>, method: Option<&'static str>, note: String) -> Choice {
    let substitute = Substitute {
        page: page.clone(),
        entry: None,
        method,
        note: Some(note),
    };
    Choice::Settled(Some(substitute), Vec::new())
}

fn refresh(html: &HtmlPage) -> Option<Url> {
    let (seconds, url) = html.refresh.as_ref()?;
    let sends_on = *seconds <= MAX_REFRESH_SECONDS && html.words < MAX_REFRESH_WORDS;
    sends_on.then(|| Url::parse(url).ok()).flatten()
}

/// The page's own Markdown, where its own server has it; what stands elsewhere is a note.
fn alternate(page: &Page, html: &HtmlPage, notes: &mut Vec<String>) -> Option<Url> {
    let linked = page
        .header("link")
        .and_then(|header| linked(header, page.url()));
    let of_page = html.markdown_alternate.as_ref();
    let url = of_page.and_then(|url| Url::parse(url).ok()).or(linked)?;
    match url.origin() == page.url().origin() {
        true => (url != *page.url()).then_some(url),
        false => {
            notes.push(format!("Markdown alternate at another site: {url}"));
            None
        }
    }
}

/// `<x.md>; rel="alternate"; type="text/markdown"` of a `Link` header.
fn linked(header: &str, base: &Url) -> Option<Url> {
    header.split(',').find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let parameters = parameters.to_ascii_lowercase().replace(['"', ' '], "");
        let mut parts = parameters.split(';');
        let is_it = parts.clone().any(|part| part == "rel=alternate")
            && parts.any(|part| part == "type=text/markdown");
        is_it.then(|| base.join(target).ok()).flatten()
    })
}

/// What may help where a page has nothing to read, in the order in which it is preferred.
fn guesses(page: &Page, html: &HtmlPage, notes: &mut Vec<String>) -> Vec<Guess> {
    let url = page.url();
    let mut guesses = Vec::new();
    let mut add = |kind: GuessKind, urls: Vec<Url>| {
        guesses.extend(urls.into_iter().map(|url| Guess { kind, url }));
    };
    add(GuessKind::MarkdownSuffix, markdown_suffixes(url));
    let feeds = html
        .feed_alternates
        .iter()
        .filter_map(|it| Url::parse(it).ok());
    let feed = feeds.into_iter().find(|feed| feed.origin() == url.origin());
    add(GuessKind::Feed, feed.into_iter().collect());
    if let Some(document) = html
        .document_link
        .as_ref()
        .and_then(|it| Url::parse(it).ok())
    {
        match document.origin() == url.origin() {
            true => add(GuessKind::Document, vec![document]),
            false => notes.push(format!("it leads to the document {document}")),
        }
    }
    add(GuessKind::LlmsTxt, llms_txt(url));
    guesses
}

/// `/a/b` → `/a/b.md`, `/a/b.html` → `/a/b.html.md` and `/a/b.md`, `/a/` → `/a/index.html.md` and `/a.md`.
fn markdown_suffixes(url: &Url) -> Vec<Url> {
    let path = url.path();
    let paths = match (path.strip_suffix('/'), path.strip_suffix(".html")) {
        (Some(folder), _) => {
            let mut paths = vec![format!("{folder}/index.html.md")];
            if !folder.is_empty() {
                paths.push(format!("{folder}.md"));
            }
            paths
        }
        (None, Some(bare)) => vec![format!("{path}.md"), format!("{bare}.md")],
        (None, None) if path.ends_with(".md") => Vec::new(),
        (None, None) => vec![format!("{path}.md")],
    };
    paths.iter().map(|path| at(url, path)).collect()
}

/// The nearest up the path, then that of the site.
fn llms_txt(url: &Url) -> Vec<Url> {
    let folder = url.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut paths = vec![format!("{folder}/llms.txt")];
    if !folder.is_empty() {
        paths.push("/llms.txt".to_owned());
    }
    paths.iter().map(|path| at(url, path)).collect()
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url
}

/// Whether a guess of a poor page is better than the page.
fn passes(
    guess: &Guess,
    found: &Arc<Page>,
    made: &MadeText,
    page: &Page,
    web: &Web,
    means: &ReadContext,
) -> Result<Option<Substitute>, Refusal> {
    let substitute = |method, note| Substitute {
        page: found.clone(),
        entry: None,
        method,
        note: Some(note),
    };
    let url = &guess.url;
    Ok(match guess.kind {
        GuessKind::MarkdownSuffix => good(Some(found), made, guess, web)?
            .map(|_| substitute(Some("md-suffix"), format!("Markdown of the page: {url}"))),
        GuessKind::Feed => {
            let entry = made::entry(found, page.url(), means)?;
            entry.has_entry.then(|| Substitute {
                entry: Some(Arc::new(entry)),
                ..substitute(Some("alternate-feed"), format!("the page's entry in {url}"))
            })
        }
        GuessKind::Document => {
            let head = made::head(&found.fetched.body, HEAD as u64)?;
            let is_document = content::found_type(&head).is_some() && !content::is_html(&head);
            is_document.then(|| {
                let note = format!("the document the page leads to: {url}");
                substitute(Some("extracted-document"), note)
            })
        }
        GuessKind::LlmsTxt => good(Some(found), made, guess, web)?.map(|_| {
            let note = "the page has no readable text; this is the site's llms.txt";
            substitute(Some("llms.txt"), note.to_owned())
        }),
        GuessKind::Refresh | GuessKind::AlternateMarkdown => None,
    })
}

/// The page of a guess, if it is a text, no page of HTML, and of the same matter; else it is not asked for again.
fn good<'a>(
    found: Option<&'a Arc<Page>>,
    made: &MadeText,
    guess: &Guess,
    web: &Web,
) -> Result<Option<&'a Arc<Page>>, Refusal> {
    let Some(found) = found else {
        return Ok(None);
    };
    let bytes = made::head(&found.fetched.body, LOOKED_AT)?;
    let sent = ContentType::of_headers(&found.fetched.headers);
    let is_text = !content::is_html(&bytes)
        && content::sort(&sent, found.url(), &bytes[..bytes.len().min(HEAD)]) != Some(Sort::Html);
    let text = decode(&bytes, None).ok().filter(|_| is_text);
    let is_good = text.is_some_and(|decoded| {
        let text: String = decoded.text.chunks().collect();
        let page: String = made.text.chunks().collect();
        text.trim().chars().count() >= MIN_CHARS && is_about(&text, &page)
    });
    if !is_good {
        web.refuse_guess(&guess.url);
    }
    Ok(is_good.then_some(found))
}

/// Whether a text has at least half of the words of a page, where that has enough to tell.
fn is_about(text: &str, page: &str) -> bool {
    let of_page = words(page);
    if (of_page.len() as u64) < MIN_WORDS_TO_COMPARE {
        return true;
    }
    let of_text = words(text);
    let shared = of_page.intersection(&of_text).count();
    shared * 2 >= of_page.len()
}

/// The distinct words; of what is written without blanks, its letters.
fn words(text: &str) -> HashSet<String> {
    let is_alone = |c: char| matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{3040}'..='\u{9fff}' | '\u{1780}'..='\u{17ff}');
    let mut words = HashSet::new();
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|it| !it.is_empty())
    {
        match word.chars().any(is_alone) {
            true => words.extend(word.chars().map(String::from)),
            false => {
                words.insert(word.to_lowercase());
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(urls: Vec<Url>) -> Vec<String> {
        urls.into_iter().map(String::from).collect()
    }

    #[test]
    fn where_markdown_may_be() {
        let of = |url: &str| texts(markdown_suffixes(&Url::parse(url).expect(url)));
        assert_eq!(of("https://h/a/b?x=1"), ["https://h/a/b.md"]);
        assert_eq!(
            of("https://h/a/b.html"),
            ["https://h/a/b.html.md", "https://h/a/b.md"]
        );
        assert_eq!(
            of("https://h/a/"),
            ["https://h/a/index.html.md", "https://h/a.md"]
        );
        assert_eq!(of("https://h/"), ["https://h/index.html.md"]);
        let llms = |url: &str| texts(llms_txt(&Url::parse(url).expect(url)));
        assert_eq!(
            llms("https://h/a/b/c"),
            ["https://h/a/b/llms.txt", "https://h/llms.txt"]
        );
        assert_eq!(llms("https://h/"), ["https://h/llms.txt"]);
    }

    #[test]
    fn links_in_headers() {
        let base = Url::parse("https://h/a/b").expect("a URL");
        let of = |header: &str| linked(header, &base).map(String::from);
        assert_eq!(
            of("<b.md>; rel=\"alternate\"; type=\"text/markdown\""),
            Some("https://h/a/b.md".to_owned())
        );
        assert_eq!(
            of("</x.css>; rel=preload, </b.md>; type=text/markdown; rel=alternate"),
            Some("https://h/b.md".to_owned())
        );
        assert_eq!(of("<b.html>; rel=alternate; type=text/html"), None);
    }

    #[test]
    fn what_replaces_a_page_is_about_the_same() {
        let page: String = (0..100).map(|n| format!("word{n} ")).collect();
        let half: String = (50..150).map(|n| format!("Word{n} ")).collect();
        let less: String = (60..160).map(|n| format!("word{n} ")).collect();
        assert!(is_about(&half, &page));
        assert!(!is_about(&less, &page));
        assert!(is_about("anything", "few words"));
        assert_eq!(words("日本 Rust rust").len(), 3);
    }
}
