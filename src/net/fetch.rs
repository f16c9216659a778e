//! The way of a fetch: through its redirects, each of them judged, to a body.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use url::Url;

use crate::protocol::shortened;

use super::body::Receiving;
use super::client::{self, Asking, NoAnswer, ResponseHead, Way, network};
use super::error::{NetError, Phase};
use super::judge::{HostTarget, judge, shown, target};
use super::places::{Places, RequestPlace};
use super::proxy::Environment;
use super::request::{FetchRequest, Fetched, Hop, Progress, Redirects};
use super::resolve::{NoAddress, Resolver, SystemResolver};
use super::space::Space;
use super::spool::Spool;
use super::tls::{self, Tls};

/// Redirects that are followed.
const MOST_HOPS: usize = 10;

/// For the addresses of a name. A second server of names is asked after 5 s.
const RESOLVE: Duration = Duration::from_secs(8);

/// The longest `Retry-After` that is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How long before its deadline a fetch gives up waiting for a place, so that it can say that this was it.
const TO_SAY_SO: Duration = Duration::from_millis(20);

/// The network of an engine. Does no I/O before the first fetch.
#[derive(Debug)]
pub struct Net {
    runtime: Handle,
    shared: Arc<NetState>,
}

#[derive(Debug)]
struct NetState {
    spool: Arc<Spool>,
    resolver: Arc<dyn Resolver>,
    places: Places,
    tls: Tls,
    environment: OnceLock<Environment>,
    in_flight: AtomicUsize,
}

impl Net {
    /// Requests are made on this runtime, which needs timers and I/O.
    pub fn new(runtime: Handle, spool: Arc<Spool>) -> Net {
        Net::with_resolver(runtime, spool, Arc::new(SystemResolver::default()))
    }

    pub(super) fn with_resolver(
        runtime: Handle,
        spool: Arc<Spool>,
        resolver: Arc<dyn Resolver>,
    ) -> Net {
        Net {
            runtime,
            shared: Arc::new(NetState {
                spool,
                resolver,
                places: Places::default(),
                tls: Tls::default(),
                environment: OnceLock::new(),
                in_flight: AtomicUsize::new(0),
            }),
        }
    }

    /// Fetches until the deadline of the request. Dropping the future ends it and closes its connection.
    pub async fn fetch(&self, request: FetchRequest) -> Result<Fetched, NetError> {
        let under_way = UnderWay::new(self.shared.clone());
        let task = self
            .runtime
            .spawn(async move { under_way.0.fetch(&request).await });
        let mut task = EndedOnDrop(task);
        match (&mut task.0).await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => Err(NetError::Internal),
            // The runtime ends.
            Err(_) => Err(NetError::Cancelled),
        }
    }

    /// Fetches that are under way, those that wait for a place included.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::Relaxed)
    }

    pub fn spool(&self) -> &Arc<Spool> {
        &self.shared.spool
    }
}

/// A fetch that is counted.
#[derive(Debug)]
struct UnderWay(Arc<NetState>);

impl UnderWay {
    fn new(shared: Arc<NetState>) -> UnderWay {
        shared.in_flight.fetch_add(1, Ordering::Relaxed);
        UnderWay(shared)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A task that ends when nobody waits for it any more.
struct EndedOnDrop(JoinHandle<Result<Fetched, NetError>>);

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The answer of one hop, and the place that its connection has.
#[derive(Debug)]
struct Reached {
    answer: ResponseHead,
    space: Space,
    proxied: bool,
    _place: RequestPlace,
}

/// What may be tried a second time, each once in a fetch.
#[derive(Debug)]
struct SecondTries {
    /// After a connection that broke before it gave an answer.
    broken: bool,
    /// After an answer that says to come again soon.
    later: bool,
}

impl NetState {
    async fn fetch(&self, request: &FetchRequest) -> Result<Fetched, NetError> {
        let begun = Instant::now();
        tell(request, Progress::Connecting);
        let deadline = request.deadline.into();
        let outcome = tokio::time::timeout_at(deadline, self.follow(request)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(NetError::Timeout {
                url: shown(&request.url),
                phase: Phase::Whole(request.deadline.saturating_duration_since(begun)),
            })
        });
        log(request, &outcome, begun.elapsed());
        outcome
    }

    /// Goes from hop to hop until one has the answer.
    async fn follow(&self, request: &FetchRequest) -> Result<Fetched, NetError> {
        let mut url = without_credentials(request.url.clone());
        let mut from = request.from;
        let mut hops: Vec<Hop> = Vec::new();
        let mut seen = HashSet::new();
        let mut tries = SecondTries {
            broken: true,
            later: true,
        };
        loop {
            seen.insert(without_fragment(&url));
            let reached = self.reach(request, &url, from, &mut tries).await?;
            let Some(next) = redirect(&reached.answer, &url, request.redirects)? else {
                return self.receive(request, url, hops, reached).await;
            };
            if seen.contains(&without_fragment(&next)) {
                let message = format!(
                    "its redirects lead round in a circle, back to '{}'",
                    shown(&next)
                );
                return Err(network(&request.url, message, false));
            }
            if hops.len() == MOST_HOPS {
                let message = format!("it is redirected more than {MOST_HOPS} times");
                return Err(network(&request.url, message, false));
            }
            from = Some(reached.space);
            hops.push(Hop {
                from: std::mem::replace(&mut url, next),
                status: reached.answer.response.status().as_u16(),
                headers: reached.answer.response.headers().clone(),
                requested_at: reached.answer.requested_at,
                responded_at: reached.answer.responded_at,
            });
        }
    }

    /// Asks one URL, a second time where that is worth it.
    async fn reach(
        &self,
        request: &FetchRequest,
        url: &Url,
        from: Option<Space>,
        tries: &mut SecondTries,
    ) -> Result<Reached, NetError> {
        loop {
            let (way, space) = self.way(request, url, from).await?;
            let place = self.place(request, url).await?;
            let asking = Asking {
                url,
                way: &way,
                resolver: self.resolver.clone(),
                tls: self.tls_for(request, url, &way).await?,
                headers: headers(request, url),
            };
            let answer = match client::ask(asking).await {
                Ok(answer) => answer,
                Err(NoAnswer::Broke(_)) if std::mem::take(&mut tries.broken) => continue,
                Err(NoAnswer::Untrusted(error)) => {
                    self.tls.forget();
                    return Err(error);
                }
                Err(NoAnswer::Broke(error) | NoAnswer::Failed(error)) => return Err(error),
            };
            let wait =
                retry_after(&answer).filter(|wait| Instant::now() + *wait < request.deadline);
            if let Some(wait) = wait.filter(|_| std::mem::take(&mut tries.later)) {
                drop((answer, place));
                tokio::time::sleep(wait).await;
                continue;
            }
            return Ok(Reached {
                answer,
                space,
                proxied: matches!(way, Way::Proxy(_)),
                _place: place,
            });
        }
    }

    /// Judges a URL and the addresses of its name, and says which way leads there.
    async fn way(
        &self,
        request: &FetchRequest,
        url: &Url,
        from: Option<Space>,
    ) -> Result<(Way, Space), NetError> {
        let settings = &request.settings;
        let judged =
            |addresses: &[_]| judge(url, addresses, settings, from).map_err(NetError::Denied);
        let target = target(url, settings).map_err(NetError::Denied)?;
        // What is on this machine, and the names that only this machine knows, are asked without a proxy.
        let is_near = match &target {
            HostTarget::Known(_) => judged(&[])? == Space::Loopback,
            HostTarget::Name { is_local, .. } => *is_local,
        };
        let environment = self.environment.get_or_init(Environment::read);
        if !is_near && let Some(proxy) = environment.proxy_for(url, &settings.proxy)? {
            return Ok((Way::Proxy(proxy), judged(&[])?));
        }
        let addresses = match target {
            HostTarget::Known(addresses) => addresses,
            HostTarget::Name { name, .. } => self.resolve(url, &name).await?,
        };
        let space = judged(&addresses)?;
        Ok((Way::Direct(addresses), space))
    }

    async fn resolve(&self, url: &Url, name: &str) -> Result<Vec<std::net::IpAddr>, NetError> {
        let found = tokio::time::timeout(RESOLVE, self.resolver.addresses(name)).await;
        let found = found.map_err(|_| NetError::Timeout {
            url: shown(url),
            phase: Phase::Resolving(RESOLVE),
        })?;
        found.map_err(|no_address| match no_address {
            NoAddress::NotFound => network(url, format!("the name '{name}' has no address"), false),
            NoAddress::TooMany => network(
                url,
                format!("the name '{name}' has too many addresses"),
                false,
            ),
            NoAddress::Unanswered => network(
                url,
                format!("no server of names answers for '{name}'"),
                true,
            ),
        })
    }

    async fn place(&self, request: &FetchRequest, url: &Url) -> Result<RequestPlace, NetError> {
        let until = request
            .deadline
            .checked_sub(TO_SAY_SO)
            .unwrap_or(request.deadline);
        let host = url.host_str().unwrap_or_default();
        let place = tokio::time::timeout_at(until.into(), self.places.take(host)).await;
        match place {
            Ok(Ok(place)) => Ok(place),
            _ => Err(NetError::Busy {
                message: "too many web addresses are being fetched (6 of a host, 16 in all).",
            }),
        }
    }

    async fn tls_for(
        &self,
        request: &FetchRequest,
        url: &Url,
        way: &Way,
    ) -> Result<rustls::ClientConfig, NetError> {
        let to_proxy = matches!(way, Way::Proxy(proxy) if proxy.scheme() == "https");
        match url.scheme() == "https" || to_proxy {
            true => {
                let config = self
                    .tls
                    .verified(request.settings.ca_file.as_deref())
                    .await?;
                Ok((*config).clone())
            }
            false => tls::trusting_nobody(),
        }
    }

    async fn receive(
        &self,
        request: &FetchRequest,
        url: Url,
        hops: Vec<Hop>,
        reached: Reached,
    ) -> Result<Fetched, NetError> {
        let answer = reached.answer;
        let (status, headers) = (
            answer.response.status().as_u16(),
            answer.response.headers().clone(),
        );
        let allowed = request.settings.max_bytes;
        let receiving = Receiving {
            url: &url,
            limit: request
                .max_bytes
                .map_or(allowed, |limit| limit.min(allowed)),
            spool: &self.spool,
            progress: request.progress.as_ref(),
        };
        let (body, cut) = receiving.receive(answer.response).await?;
        Ok(Fetched {
            url,
            hops,
            space: reached.space,
            status,
            headers,
            body,
            cut,
            requested_at: answer.requested_at,
            responded_at: answer.responded_at,
            proxied: reached.proxied,
        })
    }
}

fn tell(request: &FetchRequest, progress: Progress) {
    if let Some(told) = &request.progress {
        told.send_replace(progress);
    }
}

fn without_credentials(mut url: Url) -> Url {
    // Neither fails for what has a host, and without one there are none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}

/// What is sent to a URL.
fn headers(request: &FetchRequest, url: &Url) -> HeaderMap {
    let mut headers = client::common_headers(&request.settings, request.accept);
    if url.origin() == request.url.origin() {
        headers.extend(request.headers.clone());
    }
    let bare = without_fragment(url);
    let here = request
        .conditional
        .iter()
        .find(|kept| without_fragment(&kept.url) == bare);
    if let Some(kept) = here {
        headers.extend(kept.headers.clone());
    }
    headers
}

/// Where an answer leads, if it is a redirect that is followed.
fn redirect(
    answer: &ResponseHead,
    url: &Url,
    redirects: Redirects,
) -> Result<Option<Url>, NetError> {
    let response = &answer.response;
    let (301 | 302 | 303 | 307 | 308, Some(location)) =
        (response.status().as_u16(), response.headers().get(LOCATION))
    else {
        return Ok(None);
    };
    // Not all servers escape what is not ASCII.
    let location = String::from_utf8_lossy(location.as_bytes());
    let next = url
        .join(&location)
        .map_err(|_| network(url, "it is redirected to what is no address", false))?;
    let mut next = without_credentials(next);
    if next.fragment().is_none() {
        next.set_fragment(url.fragment());
    }
    let stays = next.origin() == url.origin();
    Ok((redirects == Redirects::Follow || stays).then_some(next))
}

/// How long a server that is asked too much wants us to wait, if that is worth it.
fn retry_after(answer: &ResponseHead) -> Option<Duration> {
    if !matches!(answer.response.status().as_u16(), 429 | 503) {
        return None;
    }
    let value = answer.response.headers().get(RETRY_AFTER)?;
    let value = value.to_str().ok()?.trim();
    let wait = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A date that is past is no reason to wait.
        Err(_) => {
            let until = httpdate::parse_http_date(value).ok()?;
            until.duration_since(SystemTime::now()).unwrap_or_default()
        }
    };
    Some(wait).filter(|wait| *wait <= LONGEST_WAIT)
}

/// Never a query, a fragment, a header's value or a credential.
fn log(request: &FetchRequest, outcome: &Result<Fetched, NetError>, took: Duration) {
    let url = outcome
        .as_ref()
        .map_or(&request.url, |fetched| &fetched.url);
    let (scheme, host, port) = (url.scheme(), url.host_str(), url.port_or_known_default());
    let (path, took) = (shortened(url.path()), took.as_millis() as u64);
    match outcome {
        Ok(fetched) => {
            let (status, bytes, hops) = (fetched.status, fetched.body.bytes(), fetched.hops.len());
            tracing::info!(scheme, host, port, %path, status, bytes, hops, took, "fetched");
        }
        Err(error) => {
            let kind = error.name();
            tracing::info!(scheme, host, port, %path, kind, took, "not fetched");
        }
    }
}
