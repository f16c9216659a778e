//! Getting a page before it is opened: from what a session was shown, from what is kept, or from its server.
//!
//! This is the stage of a read that waits for the network. It holds no place in a pool, no thread and
//! no lock; dropping its future ends the fetch, unless somebody else waits for the same page. What a
//! page turns out to need besides itself ([`PageLacking`]) is obtained by [`Web::more`], and the job goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use encoding_rs::Encoding;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared, join_all};
use parking_lot::Mutex;
use tokio::sync::watch;
use url::Url;

use crate::net::{
    Conditional, FetchRequest, Net, NetError, Progress, Redirects, Space, Spool, judge,
};
use crate::protocol::Refusal;
use crate::protocol::read::Cache;
use crate::protocol::settings;
use crate::protocol::status::WebStatus;
use crate::view::Selector;

use super::address::WebAddress;
use super::kept::{KeptPages, PageKey, PriorPage};
use super::page::Page;
use super::sites::{self, SiteRule};

/// What is asked for of a page, so that the most readable form of it comes.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5";
/// What is asked for of a body as it is.
const ACCEPT_ANY: &str = "*/*";

/// One guess, and all of them.
const GUESS_LIMIT: Duration = Duration::from_secs(3);
const GUESSES_LIMIT: Duration = Duration::from_secs(5);

/// A read of a web address.
#[derive(Debug, Clone)]
pub struct PageAsk {
    pub address: WebAddress,
    pub session: String,
    /// Lines are asked for by parameters.
    pub names_lines: bool,
    /// The caller says how much is shown.
    pub has_budget: bool,
    pub encoding: Option<&'static Encoding>,
    pub settings: Arc<settings::Web>,
    pub deadline: Instant,
    /// Who hears how far the fetch is.
    pub progress: Option<watch::Sender<Progress>>,
}

impl PageAsk {
    /// Whether it asks for more of what its session may have been shown.
    fn reads_on(&self) -> bool {
        self.names_lines || !self.address.is_plain()
    }

    fn is_raw(&self) -> bool {
        self.address.selector.raw
    }
}

/// A page, and how it came.
#[derive(Debug, Clone)]
pub struct ObtainedPage {
    /// Where it is kept.
    pub web: Arc<Web>,
    /// What is asked for of it.
    pub ask: PageAsk,
    pub page: Arc<Page>,
    pub cache: Cache,
    /// How the address was understood, and what the page is instead.
    pub understood: Vec<String>,
    /// How old it is, where it is read on in.
    pub age: Option<String>,
    /// It is not what the session was shown of this address before.
    pub has_changed: Option<u128>,
    /// What was asked for besides, and what came of it.
    pub guesses: Vec<(Guess, Option<Arc<Page>>)>,
}

impl ObtainedPage {
    /// What came of the guesses of a kind; `None` where it was not tried yet.
    pub fn tried(
        &self,
        kind: GuessKind,
    ) -> Option<impl Iterator<Item = &(Guess, Option<Arc<Page>>)>> {
        let is_it = move |it: &&(Guess, Option<Arc<Page>>)| it.0.kind == kind;
        let mut tried = self.guesses.iter().filter(is_it).peekable();
        tried.peek().is_some().then_some(tried)
    }
}

/// What a read lacks that is not on this machine.
#[derive(Debug, Clone, PartialEq)]
pub enum PageLacking {
    /// The page itself.
    Page(Box<WebAddress>),
    /// These besides the page, side by side.
    Guesses(Vec<Guess>),
}

/// A step of `docs/formats.md`, Web pages: what may be better to read than the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuessKind {
    /// A page that sends its reader on at once.
    Refresh,
    AlternateMarkdown,
    MarkdownSuffix,
    Feed,
    Document,
    LlmsTxt,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub kind: GuessKind,
    pub url: Url,
}

/// Gets a page, or says why there is none.
type Fetch = BoxFuture<'static, Result<(Arc<Page>, Cache), Refusal>>;

/// The pages of one engine.
#[derive(Debug)]
pub struct Web {
    net: Net,
    kept: KeptPages,
    /// A proxy was asked for something.
    is_proxied: AtomicBool,
    /// Fetches that somebody waits for; at most one for each address and form.
    flights: Mutex<HashMap<PageKey, WeakFlight>>,
}

/// The same for all who wait for it, for as long as somebody does.
struct WeakFlight(WeakShared<Fetch>);

impl std::fmt::Debug for WeakFlight {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("WeakFlight")
    }
}

impl Web {
    /// Keeps at most `budget` bytes in memory.
    pub fn new(net: Net, budget: u64) -> Arc<Web> {
        Arc::new(Web {
            net,
            kept: KeptPages::new(budget),
            is_proxied: AtomicBool::new(false),
            flights: Mutex::default(),
        })
    }

    /// Where bodies lie that are in files.
    pub fn spool(&self) -> &Spool {
        self.net.spool()
    }

    pub fn set_budget(&self, budget: u64) {
        self.kept.set_budget(budget);
    }

    pub fn status(&self) -> WebStatus {
        WebStatus {
            in_flight: self.net.in_flight(),
            proxied: self.is_proxied.load(Ordering::Relaxed),
            ..self.kept.status()
        }
    }

    pub fn close_session(&self, session: &str) {
        self.kept.close(session);
    }

    /// The page that a read is of.
    ///
    /// # Errors
    ///
    /// `denied` where the settings forbid it, whatever is kept; what the network refuses.
    pub async fn page(self: &Arc<Web>, ask: &PageAsk) -> Result<ObtainedPage, Refusal> {
        let url = &ask.address.url;
        may_be_asked(url, None, &ask.settings)?;
        let shown = self.kept.shown(&ask.session, url);
        if let PriorPage::Page(page) = &shown
            && (ask.reads_on() || !page.is_success())
        {
            may_be_shown(page, &ask.settings)?;
            self.kept.count_hit();
            let age = SystemTime::now().duration_since(page.validated_at());
            let note = format!("as fetched {} ago", in_words(age.unwrap_or_default()));
            let mut obtained = ask.obtained(self, page.clone(), Cache::Hit, Vec::new());
            obtained.age = Some(note);
            return Ok(obtained);
        }
        let mut obtained = self.from_site_or_page(ask).await?;
        if let (404 | 410, Some(otherwise)) =
            (obtained.page.fetched.status, ask.address.otherwise.clone())
        {
            self.ask_otherwise(ask, otherwise, &mut obtained).await;
        }
        if let PriorPage::Dropped(hash) = shown {
            obtained.has_changed = hash;
        }
        let urls = [url, obtained.page.url(), &obtained.ask.address.url].map(without_fragment);
        self.kept.show(&ask.session, &obtained.page, urls);
        Ok(obtained)
    }

    /// What a site rule names in the place of the page, else the page.
    async fn from_site_or_page(self: &Arc<Web>, ask: &PageAsk) -> Result<ObtainedPage, Refusal> {
        let url = &ask.address.url;
        let rule = match ask.settings.sites && !ask.is_raw() {
            true => sites::rule(url),
            false => None,
        };
        let mut understood = Vec::new();
        match rule {
            Some(SiteRule::ReadFrom(source)) => {
                let host = source.host_str().unwrap_or_default().to_owned();
                match self.current(ask, &source).await {
                    Ok((page, cache)) if page.is_success() => {
                        understood.push(format!("read from {host}"));
                        return Ok(ask.obtained(self, page, cache, understood));
                    }
                    Ok((page, _)) => {
                        let status = page.fetched.status;
                        understood
                            .push(format!("{host} answered {status}; this is the page itself"));
                    }
                    Err(Refusal::Cancelled) => return Err(Refusal::Cancelled),
                    Err(_) => {
                        understood.push(format!("{host} gave nothing; this is the page itself"))
                    }
                }
            }
            Some(SiteRule::Note(note)) => understood.push(note),
            None => {}
        }
        let (page, cache) = self.current(ask, url).await?;
        Ok(ask.obtained(self, page, cache, understood))
    }

    /// The server has nothing of this path: what was taken for lines may be part of it.
    async fn ask_otherwise(
        self: &Arc<Web>,
        ask: &PageAsk,
        otherwise: Url,
        obtained: &mut ObtainedPage,
    ) {
        if let Ok((page, cache)) = self.current(ask, &otherwise).await
            && page.is_success()
        {
            let note = format!("'{}' is not there; this is '{otherwise}'", ask.address.url);
            obtained.understood.push(note);
            obtained.ask.address = WebAddress {
                url: otherwise,
                fragment: None,
                selector: Selector::default(),
                inner: None,
                otherwise: None,
            };
            (obtained.page, obtained.cache) = (page, cache);
        }
    }

    /// The page of an address as its server wants it to be shown now.
    async fn current(
        self: &Arc<Web>,
        ask: &PageAsk,
        url: &Url,
    ) -> Result<(Arc<Page>, Cache), Refusal> {
        let key = |session: Option<&String>| PageKey {
            url: without_fragment(url),
            is_raw: ask.is_raw(),
            session: session.cloned(),
        };
        let request = cache_request(url, ask);
        let kept = self.kept.newest(&key(None));
        let kept = kept.or_else(|| self.kept.newest(&key(Some(&ask.session))));
        if let Some(page) = &kept {
            may_be_shown(page, &ask.settings)?;
            if page.is_fresh(&request, SystemTime::now()) {
                self.kept.count_hit();
                return Ok((page.clone(), Cache::Hit));
            }
        }
        let (page, cache) = loop {
            let (flight, is_own) = self.flight(&key(None), ask, url, &kept, &request);
            match flight.await {
                // It ended with the time of whoever began it, and this read has more of it.
                Err(Refusal::Timeout { .. }) if !is_own && Instant::now() < ask.deadline => {}
                landed => break landed?,
            }
        };
        let is_private = page.is_private() || !page.is_success();
        let keys = [key(is_private.then_some(&ask.session))];
        self.kept.keep(&page, keys);
        Ok((page, cache))
    }

    /// The fetch that all share who want this now, and whether this read begins it.
    fn flight(
        self: &Arc<Web>,
        key: &PageKey,
        ask: &PageAsk,
        url: &Url,
        kept: &Option<Arc<Page>>,
        request: &http::Request<()>,
    ) -> (Shared<Fetch>, bool) {
        let mut flights = self.flights.lock();
        flights.retain(|_, flight| flight.0.upgrade().is_some());
        let flying = flights.get(key).and_then(|flight| flight.0.upgrade());
        // One that has landed is nobody's who comes now.
        if let Some(flight) = flying.filter(|flight| flight.peek().is_none()) {
            return (flight, false);
        }
        let (web, ask, kept) = (self.clone(), ask.clone(), kept.clone());
        let fetched = web.fetched(ask, url.clone(), kept, request.clone());
        let flight = fetched.boxed().shared();
        if let Some(weak) = flight.downgrade() {
            flights.insert(key.clone(), WeakFlight(weak));
        }
        (flight, true)
    }

    /// Asks the server, with what may spare it the body.
    async fn fetched(
        self: Arc<Web>,
        ask: PageAsk,
        url: Url,
        kept: Option<Arc<Page>>,
        request: http::Request<()>,
    ) -> Result<(Arc<Page>, Cache), Refusal> {
        let mut fetch = FetchRequest::new(url.clone(), ask.settings.clone(), ask.deadline);
        fetch.accept = if ask.is_raw() { ACCEPT_ANY } else { ACCEPT };
        fetch.progress = ask.progress.clone();
        if let Some(page) = &kept
            && let Some(headers) = page.validators()
        {
            fetch.conditional.push(Conditional {
                url: page.url().clone(),
                headers,
            });
        }
        let fetched = self.net.fetch(fetch).await;
        let fetched = fetched.map_err(|error| error.into_refusal(url.as_str()))?;
        if fetched.proxied {
            self.is_proxied.store(true, Ordering::Relaxed);
        }
        if let (304, Some(page)) = (fetched.status, kept)
            && fetched.url == *page.url()
        {
            page.validated(&request, &fetched);
            self.kept.count_revalidated();
            return Ok((page, Cache::Hit));
        }
        self.kept.count_miss();
        Ok((Arc::new(Page::new(url, fetched, &request)), Cache::Miss))
    }

    /// Gets what a page needs besides itself. What is not there by then is not there: a guess that
    /// failed is never an error.
    pub async fn more(&self, obtained: &mut ObtainedPage, guesses: Vec<Guess>) {
        let ask = &obtained.ask;
        let all_until = (Instant::now() + GUESSES_LIMIT).min(ask.deadline);
        let each = guesses.into_iter().map(|guess| async {
            let page = self.guess(ask, &obtained.page, &guess, all_until).await;
            (guess, page)
        });
        let found: Vec<_> = join_all(each).await;
        obtained.guesses.extend(found);
    }

    async fn guess(
        &self,
        ask: &PageAsk,
        page: &Page,
        guess: &Guess,
        all_until: Instant,
    ) -> Option<Arc<Page>> {
        let is_refresh = guess.kind == GuessKind::Refresh;
        if !is_refresh && !self.kept.may_guess(&guess.url) {
            return None;
        }
        let deadline = match is_refresh {
            true => ask.deadline,
            false => (Instant::now() + GUESS_LIMIT).min(all_until),
        };
        let mut fetch = FetchRequest::new(guess.url.clone(), ask.settings.clone(), deadline);
        fetch.from = Some(page.fetched.space);
        fetch.accept = ACCEPT;
        if !is_refresh {
            fetch.redirects = Redirects::SameOrigin;
        }
        let request = cache_request(&guess.url, ask);
        match self.net.fetch(fetch).await {
            Ok(fetched) if is_refresh || (200..300).contains(&fetched.status) => {
                Some(Arc::new(Page::new(guess.url.clone(), fetched, &request)))
            }
            Ok(_) | Err(_) => {
                self.kept.guess_failed(&guess.url);
                None
            }
        }
    }

    /// A guess was no better than the page: it is not asked again for a while.
    pub fn refuse_guess(&self, url: &Url) {
        self.kept.guess_failed(url);
    }
}

impl PageAsk {
    fn obtained(
        &self,
        web: &Arc<Web>,
        page: Arc<Page>,
        cache: Cache,
        understood: Vec<String>,
    ) -> ObtainedPage {
        ObtainedPage {
            web: web.clone(),
            ask: self.clone(),
            page,
            cache,
            understood,
            age: None,
            has_changed: None,
            guesses: Vec::new(),
        }
    }
}

/// Whether an address may be asked by itself, before its name is resolved.
fn may_be_asked(url: &Url, space: Option<Space>, settings: &settings::Web) -> Result<(), Refusal> {
    // One address of the space stands for those that it led to.
    let addresses: Vec<_> = space.map(Space::example).into_iter().collect();
    let judged = judge(url, &addresses, settings, None);
    judged
        .map(|_| ())
        .map_err(|denied| NetError::Denied(denied).into_refusal(url.as_str()))
}

/// Whether what was fetched may still be shown, by the settings as they are now.
fn may_be_shown(page: &Page, settings: &settings::Web) -> Result<(), Refusal> {
    let mut hops = page.fetched.hops.iter();
    hops.try_for_each(|hop| may_be_asked(&hop.from, None, settings))?;
    may_be_asked(page.url(), Some(page.fetched.space), settings)?;
    match page.substitute() {
        Some(substitute) => may_be_shown(&substitute.page, settings),
        None => Ok(()),
    }
}

fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// What the rules of caches look at of a request.
fn cache_request(url: &Url, ask: &PageAsk) -> http::Request<()> {
    let accept = if ask.is_raw() { ACCEPT_ANY } else { ACCEPT };
    let settings = &ask.settings;
    let built = http::Request::get(url.as_str())
        .header("accept", accept)
        .header("accept-language", settings.accept_language.as_str())
        .header(
            "user-agent",
            settings.user_agent.as_deref().unwrap_or_default(),
        )
        .body(());
    built.unwrap_or_else(|_| http::Request::new(()))
}

/// `12s`, `4m`, `2h`.
fn in_words(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3600),
    }
}
