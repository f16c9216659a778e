//! One request over a connection of its own, to an address that was judged for it.
//!
//! A client of reqwest's is made for each request: its resolver knows the judged addresses and nothing else, and it neither
//! follows redirects, nor repeats requests, nor keeps connections.

use std::error::Error as StdError;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_ENCODING, HeaderMap, HeaderValue, USER_AGENT,
};
use rustls::ClientConfig;
use tokio::sync::Notify;
use tower::{Layer, Service};
use url::Url;

use crate::protocol::settings::Web;

use super::error::{NetError, Phase};
use super::judge::shown;
use super::resolve::Resolver;
use super::tls;

/// Addresses are tried in turn, v6 and v4 side by side, and TLS is agreed on, all within this.
const CONNECT: Duration = Duration::from_secs(5);

/// From the connection to the end of the header.
const FIRST_BYTE: Duration = Duration::from_secs(10);

/// Of a header in all. HTTP/1 has at most a hundred fields, which is the library's own limit.
const MOST_HEADER_BYTES: usize = 64 * 1024;
const MOST_HEADER_FIELDS: usize = 100;

/// What a server may send over HTTP/2 before it is read.
const WINDOW: u32 = 512 * 1024;

/// The way to a host.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// To one of these, which are judged.
    Direct(Vec<IpAddr>),
    /// A proxy resolves the name.
    Proxy(Url),
}

/// What is needed to ask.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) url: &'a Url,
    pub(super) way: &'a Way,
    /// For proxies, which nobody judges.
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) tls: ClientConfig,
    pub(super) headers: HeaderMap,
}

/// An answer's header, with the body to come.
#[derive(Debug)]
pub(super) struct ResponseHead {
    pub(super) response: reqwest::Response,
    pub(super) requested_at: SystemTime,
    pub(super) responded_at: SystemTime,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The connection broke before a byte of it was there.
    Broke(NetError),
    /// The other side is not who the URL says.
    Untrusted(NetError),
    Failed(NetError),
}

/// The header fields that every request has.
pub(super) fn common_headers(settings: &Web, accept: &'static str) -> HeaderMap {
    const OWN_NAME: &str = concat!("pilcrow/", env!("CARGO_PKG_VERSION"));
    let named = settings
        .user_agent
        .as_deref()
        .and_then(|name| HeaderValue::from_str(name).ok());
    let mut headers = HeaderMap::new();
    headers.insert(
        USER_AGENT,
        named.unwrap_or(HeaderValue::from_static(OWN_NAME)),
    );
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    // What the client decodes, in the order of the protocol.
    let encodings = HeaderValue::from_static("gzip, br, deflate");
    headers.insert(ACCEPT_ENCODING, encodings);
    if let Ok(languages) = HeaderValue::from_str(&settings.accept_language) {
        headers.insert(ACCEPT_LANGUAGE, languages);
    }
    headers
}

/// Sends a GET request and waits for the header of its answer.
pub(super) async fn ask(asking: Asking<'_>) -> Result<ResponseHead, NoAnswer> {
    let (url, way) = (asking.url, asking.way);
    let connected = Arc::new(Notify::new());
    let failed = |phase| {
        let url = shown(url);
        NoAnswer::Failed(NetError::Timeout { url, phase })
    };
    let internal = |_| NoAnswer::Failed(NetError::Internal);
    let client = client(way, asking.resolver, asking.tls, connected.clone()).map_err(internal)?;
    let mut bare = url.clone();
    bare.set_fragment(None);
    let request = client.get(bare).headers(asking.headers);
    let requested_at = SystemTime::now();
    let mut answer = pin!(request.send());
    // The client ends this where no connection comes in time.
    let early = tokio::select! {
        biased;
        answer = &mut answer => Some(answer),
        () = connected.notified() => None,
    };
    let is_connected = early.is_none();
    let answer = match early {
        Some(answer) => answer,
        None => {
            let answer = tokio::time::timeout(FIRST_BYTE, answer).await;
            answer.map_err(|_| failed(Phase::FirstByte(FIRST_BYTE)))?
        }
    };
    let response = match answer {
        Ok(response) => response,
        Err(error) if !is_connected && error.is_timeout() => {
            return Err(failed(Phase::Connecting(CONNECT)));
        }
        Err(error) => return Err(no_answer(&error, url, way)),
    };
    let flood = oddity(response.headers());
    if let Some(message) = flood {
        return Err(NoAnswer::Failed(network(url, message, false)));
    }
    Ok(ResponseHead {
        response,
        requested_at,
        responded_at: SystemTime::now(),
    })
}

/// What keeps an answer from being used, by its header.
fn oddity(headers: &HeaderMap) -> Option<&'static str> {
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    // What the client decodes it takes out of the header.
    let encoding = headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if bytes > MOST_HEADER_BYTES || headers.len() > MOST_HEADER_FIELDS {
        Some(FLOOD)
    } else if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        Some("its body is compressed in a way that was not asked for")
    } else {
        None
    }
}

const FLOOD: &str = "the header of its answer has more than 100 fields or 64 KiB";

pub(super) fn network(url: &Url, message: impl Into<String>, retryable: bool) -> NetError {
    NetError::Network {
        url: shown(url),
        message: message.into(),
        retryable,
    }
}

fn client(
    way: &Way,
    resolver: Arc<dyn Resolver>,
    tls: ClientConfig,
    connected: Arc<Notify>,
) -> reqwest::Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT)
        .http2_max_header_list_size(MOST_HEADER_BYTES as u32)
        .http2_initial_stream_window_size(WINDOW)
        .http2_initial_connection_window_size(WINDOW)
        .connector_layer(TellConnected(connected))
        .no_proxy();
    let builder = match way {
        Way::Direct(addresses) => builder.dns_resolver(Judged(addresses.clone())),
        Way::Proxy(proxy) => builder
            .proxy(reqwest::Proxy::all(proxy.clone())?)
            .dns_resolver(Unjudged(resolver)),
    };
    builder.build()
}

/// Knows the addresses that were judged for a request, whatever name is asked for.
#[derive(Debug)]
struct Judged(Vec<IpAddr>);

impl Resolve for Judged {
    fn resolve(&self, _: Name) -> Resolving {
        // The port is that of the URL.
        let addresses = self
            .0
            .clone()
            .into_iter()
            .map(|address| SocketAddr::new(address, 0));
        ready(Ok::<Addrs, _>(Box::new(addresses) as Addrs)).boxed()
    }
}

/// Resolves the name of a proxy, the only one that is asked for behind it.
#[derive(Debug)]
struct Unjudged(Arc<dyn Resolver>);

impl Resolve for Unjudged {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.addresses(name.as_str());
        async move {
            let addresses = found.await.map_err(|_| "no address")?;
            let addresses = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok::<Addrs, Box<dyn StdError + Send + Sync>>(Box::new(addresses))
        }
        .boxed()
    }
}

/// Tells when a connection is there, TLS and all.
#[derive(Debug, Clone)]
struct TellConnected(Arc<Notify>);

impl<S> Layer<S> for TellConnected {
    type Service = Connecting<S>;

    fn layer(&self, inner: S) -> Connecting<S> {
        Connecting {
            inner,
            connected: self.0.clone(),
        }
    }
}

/// See [`TellConnected`].
#[derive(Debug, Clone)]
struct Connecting<S> {
    inner: S,
    connected: Arc<Notify>,
}

impl<S, R> Service<R> for Connecting<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let connecting = self.inner.call(request);
        let connected = self.connected.clone();
        async move {
            let connection = connecting.await;
            if connection.is_ok() {
                connected.notify_one();
            }
            connection
        }
        .boxed()
    }
}

/// What an error of the client's means. Its own words may hold the URL, or the other side's.
fn no_answer(error: &reqwest::Error, url: &Url, way: &Way) -> NoAnswer {
    if let Some(error) = found::<rustls::Error>(error) {
        return NoAnswer::Untrusted(network(url, tls::words(error), false));
    }
    let texts = texts(error);
    let says = |words: &str| texts.iter().any(|text| text.contains(words));
    if says("message head is too large") {
        return NoAnswer::Failed(network(url, FLOOD, false));
    }
    if says("invalid HTTP") {
        return NoAnswer::Failed(network(
            url,
            "what answers there does not speak HTTP",
            false,
        ));
    }
    if !error.is_connect() {
        return NoAnswer::Broke(network(
            url,
            "the connection broke before an answer came",
            true,
        ));
    }
    let place = match way {
        Way::Direct(_) => "",
        Way::Proxy(_) => " to the proxy",
    };
    use std::io::ErrorKind;
    let message = match found::<std::io::Error>(error).map(std::io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => format!("the connection{place} was refused"),
        Some(
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable | ErrorKind::NetworkDown,
        ) => {
            format!("there is no way{place}: the network cannot be reached")
        }
        // Of a tunnel; where a proxy is asked for the page itself, what it says is the answer.
        _ if says("proxy authorization required") => "the proxy asks for a login".to_owned(),
        _ if says("tunnel error") => "the proxy does not connect there".to_owned(),
        _ => format!("no connection{place} could be made"),
    };
    NoAnswer::Failed(network(url, message, true))
}

type Cause<'a> = &'a (dyn StdError + 'static);

/// The errors behind an error, the outermost first.
fn causes(error: Cause<'_>) -> impl Iterator<Item = Cause<'_>> {
    // Nobody wraps deeper.
    std::iter::successors(Some(error), |error| cause(*error)).take(32)
}

/// An I/O error that wraps another one calls that one's cause its own.
fn cause(error: Cause<'_>) -> Option<Cause<'_>> {
    let wrapped = error.downcast_ref().and_then(std::io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped as Cause<'_>),
        None => error.source(),
    }
}

/// The innermost cause of a type.
fn found<E: StdError + 'static>(error: Cause<'_>) -> Option<&E> {
    causes(error)
        .filter_map(|cause| cause.downcast_ref())
        .last()
}

fn texts(error: Cause<'_>) -> Vec<String> {
    causes(error).map(ToString::to_string).collect()
}

/// Why a body broke off.
pub(super) fn broken_words(error: &reqwest::Error) -> &'static str {
    // Chunks that are none are an error of the connection's.
    let of_connection = texts(error)
        .iter()
        .any(|text| text.contains("reading a body"));
    let of_decoder = found::<std::io::Error>(error).is_some_and(is_of_decoder);
    match of_decoder && !of_connection {
        true => "its body is not compressed as its header says",
        false => "the connection broke before all of it was there",
    }
}

fn is_of_decoder(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput
    )
}
