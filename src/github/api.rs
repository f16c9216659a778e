//! One request of GitHub's REST interface: to the host that it is for and to no other, at most four at a time, ten seconds each.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use reqwest::header::{
    AUTHORIZATION, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LINK, RETRY_AFTER,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use url::{Host, Url};

use crate::net::{Body, FetchRequest, Fetched, Net, NetError, Redirects};
use crate::protocol::settings::{Github, Web};

use super::error::GithubError;
use super::login::Login;
use super::repository::{GITHUB, Repository};

const LIMIT: Duration = Duration::from_secs(10);
const MAX_BODY: u64 = 32 * 1024 * 1024;
/// Requests to a host at a time.
const PLACES: usize = 4;
/// How long a host is left alone that does not say how long.
const WAIT: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// Characters that are passed on of what a host says.
const MAX_SAID: usize = 300;

pub const JSON: &str = "application/vnd.github+json";
pub const DIFF: &str = "application/vnd.github.diff";

/// What is remembered of a host.
#[derive(Debug)]
pub struct HostState {
    places: Semaphore,
    told: Mutex<RequestQuota>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct RequestQuota {
    /// No request before.
    until: Option<Instant>,
    /// Requests that are left, and when there are more (seconds since 1970).
    pub remaining: Option<u64>,
    pub reset_at: Option<u64>,
}

/// The hosts that were asked.
#[derive(Debug)]
pub struct Api {
    net: Net,
    hosts: Mutex<HashMap<String, Arc<HostState>>>,
}

/// As whom and where a repository is asked.
#[derive(Debug, Clone)]
pub struct RepoAccess {
    pub repository: Repository,
    /// With a slash at its end.
    base: Url,
    pub login: Login,
    web: Arc<Web>,
}

/// An answer.
#[derive(Debug, Clone)]
pub enum ApiReply {
    NotModified,
    Whole {
        body: Value,
        etag: Option<String>,
        next: NextPage,
    },
}

/// How a list goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NextPage {
    #[default]
    End,
    /// By this request, as [`Api::get`] takes it.
    Request(String),
    /// On a host that is not asked.
    Elsewhere,
}

/// Why there is no answer of that kind.
#[derive(Debug, Clone)]
pub enum NoReply {
    /// The status, where it is one that callers may know what to do with: 404, 406, 410, 422.
    Status(u16, String),
    Error(GithubError),
}

impl From<GithubError> for NoReply {
    fn from(error: GithubError) -> NoReply {
        NoReply::Error(error)
    }
}

impl RepoAccess {
    /// Fails where the settings name an interface that no token may go to.
    pub fn new(
        repository: Repository,
        login: Login,
        settings: &Github,
        web: &Web,
    ) -> Result<RepoAccess, GithubError> {
        let base = base(&repository.host, settings)?;
        let web = Arc::new(Web {
            enabled: true,
            allow_loopback: true,
            allow_private_network: true,
            allow: Vec::new(),
            deny: Vec::new(),
            local_names: web.local_names.clone(),
            max_bytes: MAX_BODY,
            proxy: web.proxy.clone(),
            ca_file: web.ca_file.clone(),
            ..Web::default()
        });
        Ok(RepoAccess {
            repository,
            base,
            login,
            web,
        })
    }

    /// `repos/OWNER/NAME/` and what is wanted of it.
    pub fn of_repository(&self, rest: &str) -> String {
        let Repository { owner, name, .. } = &self.repository;
        format!("repos/{owner}/{name}/{rest}")
    }
}

/// Where the interface of a host is.
fn base(host: &str, settings: &Github) -> Result<Url, GithubError> {
    let mut named = settings.hosts.iter();
    let named = named.find(|(name, _)| name.eq_ignore_ascii_case(host));
    let written = match named.and_then(|(_, it)| it.api.clone()) {
        Some(api) => api,
        None if host == GITHUB => "https://api.github.com".to_owned(),
        None if host.ends_with(".ghe.com") => format!("https://api.{host}"),
        None => format!("https://{host}/api/v3"),
    };
    let wrong = || GithubError::Setting {
        message: format!(
            "The interface of {host} (github.hosts) must be an https URL; http is for this machine alone."
        ),
    };
    let url = Url::parse(&format!("{}/", written.trim_end_matches('/'))).map_err(|_| wrong())?;
    let is_here = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        _ => Err(wrong()),
    }
}

impl Api {
    pub fn new(net: Net) -> Api {
        Api {
            net,
            hosts: Mutex::default(),
        }
    }

    /// What hosts told of their limits.
    pub fn told(&self) -> Vec<(String, RequestQuota)> {
        let hosts = self.hosts.lock();
        let mut told: Vec<_> = hosts
            .iter()
            .map(|(name, it)| (name.clone(), *it.told.lock()))
            .collect();
        told.sort_by(|one, other| one.0.cmp(&other.0));
        told
    }

    fn host(&self, name: &str) -> Arc<HostState> {
        let mut hosts = self.hosts.lock();
        let host = hosts.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(HostState {
                places: Semaphore::new(PLACES),
                told: Mutex::default(),
            })
        });
        host.clone()
    }

    /// Asks for what has this path below the interface.
    pub async fn get(
        &self,
        access: &RepoAccess,
        request: &str,
        accept: &'static str,
        etag: Option<&str>,
    ) -> Result<ApiReply, NoReply> {
        let name = &access.repository.host;
        let host = self.host(name);
        // It is never closed.
        let _place = host.places.acquire().await;
        let waits = host
            .told
            .lock()
            .until
            .and_then(|until| until.checked_duration_since(Instant::now()));
        if let Some(wait) = waits {
            return Err(GithubError::Busy {
                host: name.clone(),
                wait,
            }
            .into());
        }
        let fetched = self.net.fetch(fetch(access, request, accept, etag)?).await;
        let fetched = fetched.map_err(|error| failed(name, error))?;
        heed(&host, &fetched);
        let is_diff = accept == DIFF;
        match fetched.status {
            304 => Ok(ApiReply::NotModified),
            200 => {
                let next = next_page(&fetched, &access.base);
                let etag = header(&fetched.headers, &ETAG).map(str::to_owned);
                let body = read(name, fetched, is_diff).await?;
                Ok(ApiReply::Whole { body, etag, next })
            }
            status => Err(refused(access, status, &host, fetched).await),
        }
    }
}

fn fetch(
    access: &RepoAccess,
    request: &str,
    accept: &'static str,
    etag: Option<&str>,
) -> Result<FetchRequest, GithubError> {
    let odd = || GithubError::Odd {
        host: access.repository.host.clone(),
        message: "was asked for what is no address".to_owned(),
    };
    let url = access.base.join(request).map_err(|_| odd())?;
    if url.origin() != access.base.origin() || !url.path().starts_with(access.base.path()) {
        return Err(odd());
    }
    let mut headers = HeaderMap::new();
    headers.insert(
        HeaderName::from_static("x-github-api-version"),
        HeaderValue::from_static("2022-11-28"),
    );
    if let Some(token) = &access.login.token {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", token.secret())).map_err(|_| odd())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if let Some(etag) = etag.and_then(|it| HeaderValue::from_str(it).ok()) {
        headers.insert(IF_NONE_MATCH, etag);
    }
    Ok(FetchRequest {
        accept,
        headers,
        redirects: Redirects::SameOrigin,
        max_bytes: Some(MAX_BODY),
        ..FetchRequest::new(url, access.web.clone(), Instant::now() + LIMIT)
    })
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &'static str) -> Option<u64> {
    header(headers, &HeaderName::from_static(name))?
        .trim()
        .parse()
        .ok()
}

/// Notes what the host says of its limits.
fn heed(host: &HostState, fetched: &Fetched) {
    let mut told = host.told.lock();
    if let Some(remaining) = number(&fetched.headers, "x-ratelimit-remaining") {
        told.remaining = Some(remaining);
        told.reset_at = number(&fetched.headers, "x-ratelimit-reset");
    }
}

fn failed(host: &str, error: NetError) -> GithubError {
    match error {
        NetError::Cancelled => GithubError::Cancelled,
        NetError::TooLarge { .. } => GithubError::TooLarge {
            host: host.to_owned(),
        },
        error => GithubError::Network {
            message: format!("{host} cannot be asked: {error}"),
            retryable: error.retryable(),
        },
    }
}

/// The body, as JSON or as the text that it is.
async fn read(host: &str, fetched: Fetched, is_text: bool) -> Result<Value, GithubError> {
    if fetched.cut.is_some() {
        let is_long = fetched.body.bytes() >= MAX_BODY;
        return Err(match is_long {
            true => GithubError::TooLarge {
                host: host.to_owned(),
            },
            false => GithubError::Network {
                message: format!("{host} broke off its answer."),
                retryable: true,
            },
        });
    }
    let odd = |message: &str| GithubError::Odd {
        host: host.to_owned(),
        message: message.to_owned(),
    };
    let parsed = tokio::task::spawn_blocking(move || {
        let bytes = bytes(&fetched.body).map_err(|_| "has an answer that could not be kept")?;
        match is_text {
            true => Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned())),
            false => serde_json::from_slice(&bytes)
                .map(trimmed)
                .map_err(|_| "answered something else than JSON"),
        }
    });
    match parsed.await {
        Ok(parsed) => parsed.map_err(odd),
        Err(_) => Err(GithubError::Cancelled),
    }
}

fn bytes(body: &Body) -> std::io::Result<Vec<u8>> {
    match body {
        Body::Memory(bytes) => Ok(bytes.to_vec()),
        Body::File(file) => {
            let mut bytes = Vec::new();
            file.open()?.take(MAX_BODY).read_to_end(&mut bytes)?;
            Ok(bytes)
        }
    }
}

/// Without what nobody here looks at, most of an answer: addresses of the interface, and whole repositories.
fn trimmed(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_wanted = |key: &str| {
                let is_address = key == "url"
                    || (key.ends_with("_url")
                        && !matches!(key, "html_url" | "target_url" | "details_url"));
                let is_other = matches!(
                    key,
                    "node_id"
                        | "_links"
                        | "reactions"
                        | "repo"
                        | "app"
                        | "gravatar_id"
                        | "performed_via_github_app"
                );
                !is_address && !is_other
            };
            let kept = members.into_iter().filter(|(key, _)| is_wanted(key));
            Value::Object(kept.map(|(key, value)| (key, trimmed(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(trimmed).collect()),
        other => other,
    }
}

/// The next page, where the host that was asked has it.
fn next_page(fetched: &Fetched, base: &Url) -> NextPage {
    let Some(links) = header(&fetched.headers, &LINK) else {
        return NextPage::End;
    };
    let next = links.split(',').find(|link| {
        link.split(';').skip(1).any(|parameter| {
            let parameter = parameter.trim().replace('"', "");
            parameter.eq_ignore_ascii_case("rel=next")
        })
    });
    let Some(next) = next else {
        return NextPage::End;
    };
    let written = next.split(';').next().unwrap_or_default().trim();
    let written = written
        .strip_prefix('<')
        .and_then(|it| it.strip_suffix('>'));
    let url = written.and_then(|written| fetched.url.join(written).ok());
    let url = url.filter(|url| url.origin() == base.origin());
    let path = url
        .as_ref()
        .and_then(|url| url.path().strip_prefix(base.path()));
    match (path, url.as_ref().and_then(Url::query)) {
        (Some(path), Some(query)) => NextPage::Request(format!("{path}?{query}")),
        (Some(path), None) => NextPage::Request(path.to_owned()),
        (None, _) => NextPage::Elsewhere,
    }
}

/// What an answer that is no success means.
async fn refused(access: &RepoAccess, status: u16, host: &HostState, fetched: Fetched) -> NoReply {
    let name = access.repository.host.clone();
    let headers = fetched.headers.clone();
    let has_waited = header(&headers, &RETRY_AFTER).is_some();
    let is_spent = number(&headers, "x-ratelimit-remaining") == Some(0);
    let sso = header(&headers, &HeaderName::from_static("x-github-sso"));
    let sso = sso
        .and_then(|it| it.split("url=").nth(1))
        .map(str::to_owned);
    let said = said(fetched).await;
    match status {
        401 => GithubError::Unauthorized { host: name }.into(),
        403 if sso.is_some() => GithubError::SingleSignOn {
            host: name,
            url: crate::text::one_line(&sso.unwrap_or_default(), MAX_SAID),
        }
        .into(),
        429 => busy(name, host, &headers),
        403 if has_waited || is_spent => busy(name, host, &headers),
        403 | 451 => GithubError::Forbidden { host: name, said }.into(),
        301 | 302 | 303 | 307 | 308 => GithubError::Odd {
            host: name,
            message: "leads to another host, where no login is sent".to_owned(),
        }
        .into(),
        404 | 406 | 410 | 422 => NoReply::Status(status, said),
        _ => GithubError::Odd {
            host: name,
            message: format!("answered {status}"),
        }
        .into(),
    }
}

fn busy(name: String, host: &HostState, headers: &HeaderMap) -> NoReply {
    let seconds = header(headers, &RETRY_AFTER).and_then(|it| it.trim().parse().ok());
    let reset = || {
        let at = UNIX_EPOCH + Duration::from_secs(number(headers, "x-ratelimit-reset")?);
        at.duration_since(SystemTime::now()).ok()
    };
    let wait = seconds
        .map(Duration::from_secs)
        .or_else(reset)
        .unwrap_or(WAIT);
    let wait = wait.clamp(Duration::from_secs(1), LONGEST_WAIT);
    host.told.lock().until = Some(Instant::now() + wait);
    GithubError::Busy { host: name, wait }.into()
}

/// The words of an error, as one harmless line.
async fn said(fetched: Fetched) -> String {
    let read = tokio::task::spawn_blocking(move || bytes(&fetched.body).unwrap_or_default()).await;
    let value: Value = serde_json::from_slice(&read.unwrap_or_default()).unwrap_or_default();
    crate::text::one_line(value["message"].as_str().unwrap_or_default(), MAX_SAID)
}
