//! What is made of a page's body: its kind, told by the bytes, the header and the name, and the text of those that are converted here.
//!
//! HTML and feeds go to a converter, JSON is indented here, Markdown is decoded. All else is opened
//! as the file that it is, under a name that tells its kind ([`file_name`]).

use std::io::Read;
use std::sync::Arc;

use encoding_rs::Encoding;
use url::Url;

use crate::convert::{FeedRequest, HtmlMethod, HtmlRequest, Why};
use crate::net::Body;
use crate::protocol::Refusal;
use crate::read::source::{ReadContext, json};
use crate::text::{NotText, decode, encoding_for_label, label};
use crate::worker::{Input, Stop};

use super::content::{ContentType, Sort};
use super::made_text::MadeText;
use super::page::{Form, Page};

/// Bytes of a page that a converter is given.
const MAX_HTML: u64 = 8 * 1024 * 1024;

/// The text of a body of that sort, in that form; made once for each page.
///
/// # Errors
///
/// With a refusal where the read is over, or the body cannot be read any more. A converter that fails
/// is an answer: its words.
pub fn made(
    page: &Page,
    sort: Sort,
    form: Form,
    means: &ReadContext,
) -> Result<Arc<MadeText>, Refusal> {
    if let Some(made) = page.made(form) {
        return Ok(made);
    }
    let made = match sort {
        Sort::Html => html(page, form, means)?,
        Sort::Feed => feed(page, form, None, means)?,
        Sort::Json => json_text(page, form)?,
        Sort::Markdown => {
            let (text, encoding, notes) = decoded(page, form)?;
            MadeText {
                encoding: Some(encoding),
                notes,
                ..MadeText::new(&text, "text")
            }
        }
    };
    Ok(page.keep(form, made))
}

/// The text of a feed's entry that has this address.
pub fn entry(page: &Page, address: &Url, means: &ReadContext) -> Result<MadeText, Refusal> {
    let form = Form {
        is_whole: false,
        is_full: false,
        encoding: None,
    };
    feed(page, form, Some(address), means)
}

fn html(page: &Page, form: Form, means: &ReadContext) -> Result<MadeText, Refusal> {
    means.work.takes_long()?;
    let bytes = head(&page.fetched.body, MAX_HTML)?;
    let request = HtmlRequest {
        base: page.url().to_string(),
        charset: charset(page),
        encoding: form.encoding.map(|it| it.name().to_owned()),
        whole: form.is_whole,
        whole_bytes: page.fetched.body.bytes(),
        output_bytes: means.converters.limits().output_bytes,
    };
    match means.converters.page(
        &request,
        &Input {
            bytes: bytes.len() as u64,
            open: &|| Ok(Box::new(&bytes[..])),
        },
        means.work,
    ) {
        Ok(Ok((html, text))) => {
            let method = match html.method {
                HtmlMethod::Reader => "reader",
                HtmlMethod::Page => "page",
            };
            Ok(MadeText {
                encoding: Some(html.encoding.clone()),
                title: html.title.clone(),
                notes: html.notes.clone(),
                html: Some(Box::new(html)),
                ..MadeText::new(&text, method)
            })
        }
        Ok(Err(why)) => Ok(not_converted(&words(&why))),
        Err(stop) => failed(stop, page).map(|why| not_converted(&why)),
    }
}

/// The words of a conversion that came to nothing; a refusal where the page is not at fault.
fn failed(stop: Stop, page: &Page) -> Result<String, Refusal> {
    match stop {
        Stop::Stopped(stopped) => Err(stopped.into()),
        Stop::Busy => Err(Refusal::Busy {
            message: "all converters of documents are at work.".to_owned(),
        }),
        stop @ (Stop::Input(_) | Stop::Start(_) | Stop::Wall(_)) => Err(Refusal::Io {
            path: page.url().to_string(),
            message: stop.to_string(),
        }),
        stop @ (Stop::Died(_) | Stop::Cpu(_)) => Ok(stop.to_string()),
    }
}

fn words(why: &Why) -> String {
    match why {
        Why::Encrypted => "it is encrypted".to_owned(),
        Why::Unreadable(why) => why.clone(),
        Why::Empty => "it is empty".to_owned(),
    }
}

fn not_converted(why: &str) -> MadeText {
    let said = format!("[The page could not be converted ({why}); :raw shows its source]\n");
    MadeText::new(&said, "raw-html")
}

fn feed(
    page: &Page,
    form: Form,
    entry: Option<&Url>,
    means: &ReadContext,
) -> Result<MadeText, Refusal> {
    means.work.takes_long()?;
    let bytes = head(&page.fetched.body, MAX_HTML)?;
    let request = FeedRequest {
        base: page.url().to_string(),
        charset: charset(page),
        encoding: form.encoding.map(|it| it.name().to_owned()),
        whole: form.is_full,
        entry: entry.map(|url| url.as_str().to_owned()),
        output_bytes: means.converters.limits().output_bytes,
    };
    match means.converters.feed(
        &request,
        &Input {
            bytes: bytes.len() as u64,
            open: &|| Ok(Box::new(&bytes[..])),
        },
        means.work,
    ) {
        Ok(Ok((feed, text))) => Ok(MadeText {
            encoding: Some(feed.encoding),
            title: feed.title,
            notes: feed.notes,
            has_entry: feed.found_entry,
            ..MadeText::new(&text, "feed")
        }),
        Ok(Err(why)) => no_feed(page, form, &words(&why)),
        Err(stop) => no_feed(page, form, &failed(stop, page)?),
    }
}

/// What is no feed after all, as the text that it is.
fn no_feed(page: &Page, form: Form, why: &str) -> Result<MadeText, Refusal> {
    let (text, encoding, mut notes) = decoded(page, form)?;
    notes.push(format!("it cannot be read as a feed: {why}"));
    Ok(MadeText {
        encoding: Some(encoding),
        notes,
        file_name: "page.xml",
        ..MadeText::new(&text, "text")
    })
}

fn json_text(page: &Page, form: Form) -> Result<MadeText, Refusal> {
    let (text, encoding, mut notes) = decoded(page, form)?;
    let limit = page.fetched.body.bytes().max(1024 * 1024) as usize * 4;
    let (text, method) = match json::indented(&text, limit) {
        Ok(text) => (text, "json"),
        Err(why) => {
            notes.push(format!("shown as it was sent: {why}"));
            (text, "text")
        }
    };
    Ok(MadeText {
        encoding: Some(encoding),
        notes,
        file_name: "page.json",
        ..MadeText::new(&text, method)
    })
}

/// The body as text, its encoding and what is to be said of that.
fn decoded(page: &Page, form: Form) -> Result<(String, String, Vec<String>), Refusal> {
    let bytes = head(&page.fetched.body, u64::MAX)?;
    let declared = form.encoding.or_else(|| declared(page, &bytes));
    let decoded = decode(&bytes, declared)
        .map_err(|NotText::Binary { what }| Refusal::not_text(page.url().as_str(), what))?;
    let notes = match decoded.bad_bytes {
        0 => Vec::new(),
        count => vec![format!(
            "{count} places are not valid {}",
            label(decoded.encoding)
        )],
    };
    let text: String = decoded.text.chunks().collect();
    Ok((text, label(decoded.encoding), notes))
}

/// The encoding that the server names, unless a byte order mark names one, or the bytes are UTF-8
/// where it names one of single bytes.
pub fn declared(page: &Page, bytes: &[u8]) -> Option<&'static Encoding> {
    if Encoding::for_bom(bytes).is_some() {
        return None;
    }
    let named = encoding_for_label(&charset(page)?)?;
    let is_utf8 = || !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok();
    match named.is_single_byte() && is_utf8() {
        true => Some(encoding_rs::UTF_8),
        false => Some(named),
    }
}

fn charset(page: &Page) -> Option<String> {
    ContentType::of(page.header("content-type")?).charset
}

/// The first bytes of a body.
pub fn head(body: &Body, limit: u64) -> Result<Arc<[u8]>, Refusal> {
    match body {
        Body::Memory(bytes) if bytes.len() as u64 <= limit => Ok(bytes.clone()),
        Body::Memory(bytes) => Ok(bytes[..limit as usize].into()),
        Body::File(file) => {
            let mut bytes = Vec::new();
            file.open()
                .and_then(|file| file.take(limit).read_to_end(&mut bytes))
                .map_err(|error| Refusal::io("the kept page", &error))?;
            Ok(bytes.into())
        }
    }
}
