//! One version of a page: what a server answered, and what was made of it.
//!
//! A page is made once and shared by all who read it; its body never changes. What a 304 changes is
//! how long it may be shown without a question ([`Page::validated`]).

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use encoding_rs::Encoding;
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use parking_lot::Mutex;
use url::Url;
use xxhash_rust::xxh3::Xxh3;

use crate::net::{Body, Fetched, HeaderMap, SpooledFile};

use super::made_text::MadeText;

/// What a server says of freshness is believed for so long at most.
const MAX_FRESH: Duration = Duration::from_secs(300);

/// Texts that are kept of one page: its main part, the whole of it, each in an encoding or two.
const MAX_MADE: usize = 4;

/// As what a body is asked for and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// `:page`: all of a page, not its main part alone.
    pub is_whole: bool,
    /// `:full`: all entries of a feed.
    pub is_full: bool,
    /// What the caller says of its encoding.
    pub encoding: Option<&'static Encoding>,
}

/// What one address answered.
#[derive(Debug)]
pub struct Page {
    /// The address that was asked first.
    pub asked: Url,
    pub fetched: Fetched,
    validity: Mutex<Validity>,
    hash: OnceLock<u128>,
    /// The body under a name that tells what it is, once it was opened as a file.
    pub file: OnceLock<SpooledFile>,
    made: Mutex<Vec<(Form, Arc<MadeText>)>>,
    /// What is shown in its place, once that is known, and the notes of what else there is.
    pub choice: OnceLock<(Option<Substitute>, Vec<String>)>,
}

/// Another page that is shown in the place of one, and what is said of it.
#[derive(Debug, Clone)]
pub struct Substitute {
    pub page: Arc<Page>,
    /// Of a feed, the entry that is the page.
    pub entry: Option<Arc<MadeText>>,
    /// `None`: that of the page itself.
    pub method: Option<&'static str>,
    pub note: Option<String>,
}

#[derive(Debug)]
struct Validity {
    policy: CachePolicy,
    /// When the server last said so.
    at: SystemTime,
}

impl Page {
    pub fn new(asked: Url, fetched: Fetched, request: &http::Request<()>) -> Page {
        let validity = Validity {
            policy: policy(request, &fetched),
            at: fetched.responded_at,
        };
        Page {
            asked,
            fetched,
            validity: Mutex::new(validity),
            hash: OnceLock::new(),
            file: OnceLock::new(),
            made: Mutex::default(),
            choice: OnceLock::new(),
        }
    }

    pub fn url(&self) -> &Url {
        &self.fetched.url
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.fetched.status)
    }

    /// Whether nobody but the session that asked may be shown it again.
    pub fn is_private(&self) -> bool {
        let control = self.header("cache-control").unwrap_or_default();
        control
            .split(',')
            .any(|word| word.trim().eq_ignore_ascii_case("no-store"))
    }

    /// The first header of that name, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.fetched.headers.get(name)?.to_str().ok()
    }

    /// When the server last said that this is the page.
    pub fn validated_at(&self) -> SystemTime {
        self.validity.lock().at
    }

    /// Whether it may be shown for such a request without asking the server: by what it says itself,
    /// and each redirect that led to it.
    pub fn is_fresh(&self, request: &http::Request<()>, now: SystemTime) -> bool {
        let validity = self.validity.lock();
        let is_young = now
            .duration_since(validity.at)
            .is_ok_and(|age| age < MAX_FRESH);
        let fresh = |policy: &CachePolicy| {
            matches!(policy.before_request(request, now), BeforeRequest::Fresh(_))
        };
        is_young
            && self.fetched.cut.is_none()
            && fresh(&validity.policy)
            && self.fetched.hops.iter().all(|hop| {
                let policy = CachePolicy::new_options(
                    &of_url(request, &hop.from),
                    &response(hop.status, &hop.headers),
                    hop.responded_at,
                    options(),
                );
                matches!(
                    policy.before_request(&of_url(request, &hop.from), now),
                    BeforeRequest::Fresh(_)
                )
            })
    }

    /// What asks the server whether this is still the page; `None` where that cannot be asked.
    pub fn validators(&self) -> Option<HeaderMap> {
        if self.fetched.cut.is_some() || !self.is_success() {
            return None;
        }
        let mut headers = HeaderMap::new();
        let pairs = [
            ("etag", "if-none-match"),
            ("last-modified", "if-modified-since"),
        ];
        for (said, asked) in pairs {
            if let Some(value) = self.fetched.headers.get(said) {
                headers.insert(asked, value.clone());
            }
        }
        (!headers.is_empty()).then_some(headers)
    }

    /// The server said that this is still the page: how long it holds is what it says now.
    pub fn validated(&self, request: &http::Request<()>, answer: &Fetched) {
        let mut headers = self.fetched.headers.clone();
        for (name, value) in &answer.headers {
            headers.insert(name.clone(), value.clone());
        }
        let policy = CachePolicy::new_options(
            request,
            &response(self.fetched.status, &headers),
            answer.responded_at,
            options(),
        );
        *self.validity.lock() = Validity {
            policy,
            at: answer.responded_at,
        };
    }

    /// xxh3-128 of the body. Reads it where it is in a file.
    pub fn hash(&self) -> std::io::Result<u128> {
        if let Some(hash) = self.hash.get() {
            return Ok(*hash);
        }
        let mut hasher = Xxh3::new();
        match &self.fetched.body {
            Body::Memory(bytes) => hasher.update(bytes),
            Body::File(file) => {
                std::io::copy(&mut file.open()?, &mut HashWriter(&mut hasher))?;
            }
        }
        Ok(*self.hash.get_or_init(|| hasher.digest128()))
    }

    /// The same, where it was asked for before.
    pub fn known_hash(&self) -> Option<u128> {
        self.hash.get().copied()
    }

    /// What was made of it in that form.
    pub fn made(&self, form: Form) -> Option<Arc<MadeText>> {
        let made = self.made.lock();
        let found = made.iter().find(|(of, _)| *of == form);
        found.map(|(_, made)| made.clone())
    }

    pub fn keep(&self, form: Form, text: MadeText) -> Arc<MadeText> {
        let text = Arc::new(text);
        let mut made = self.made.lock();
        made.retain(|(of, _)| *of != form);
        if made.len() == MAX_MADE {
            made.remove(0);
        }
        made.push((form, text.clone()));
        text
    }

    /// What is shown in its place, where that is known.
    pub fn substitute(&self) -> Option<&Substitute> {
        self.choice.get()?.0.as_ref()
    }

    /// Bytes of it in memory, about, and on disk; with those of what is shown in its place.
    pub fn weight(&self) -> (u64, u64) {
        let made = self.made.lock();
        let made: u64 = made.iter().map(|(_, made)| made.weight()).sum();
        let (memory, mut disk) = match &self.fetched.body {
            Body::Memory(bytes) => (bytes.len() as u64, 0),
            Body::File(file) => (0, file.bytes()),
        };
        if let (Some(file), Body::Memory(_)) = (self.file.get(), &self.fetched.body) {
            disk += file.bytes();
        }
        let instead = self.substitute().map_or((0, 0), |substitute| {
            let (memory, disk) = substitute.page.weight();
            let entry = substitute.entry.as_ref().map_or(0, |entry| entry.weight());
            (memory + entry, disk)
        });
        (memory + made + 4096 + instead.0, disk + instead.1)
    }
}

struct HashWriter<'a>(&'a mut Xxh3);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A private cache, and nothing assumed where the server says nothing: a page of a server under
/// development is never old.
fn options() -> CacheOptions {
    CacheOptions {
        shared: false,
        cache_heuristic: 0.0,
        ..CacheOptions::default()
    }
}

fn policy(request: &http::Request<()>, fetched: &Fetched) -> CachePolicy {
    CachePolicy::new_options(
        &of_url(request, &fetched.url),
        &response(fetched.status, &fetched.headers),
        fetched.responded_at,
        options(),
    )
}

/// The same request, of another address.
fn of_url(request: &http::Request<()>, url: &Url) -> http::Request<()> {
    let mut other = http::Request::new(());
    *other.headers_mut() = request.headers().clone();
    // A URL of the crate `url` is one of `http`; where they differ, nothing is taken for fresh.
    *other.uri_mut() = url.as_str().parse().unwrap_or_default();
    other
}

fn response(status: u16, headers: &HeaderMap) -> http::Response<()> {
    let mut response = http::Response::new(());
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    *response.headers_mut() = headers.clone();
    response
}
