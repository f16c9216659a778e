//! An HTTP server of the test's own on 127.0.0.1, in a thread with a runtime of its own: routes are closures, what was asked is recorded.
//!
//! ```ignore
//! let server = Server::new().route("/a", |_| Reply::html("<p>a</p>")).start();
//! daemon.read(&server.url("/a"));
//! assert_eq!(server.count("/a"), 1);
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio_rustls::TlsAcceptor;

use super::tls::Identity;

/// How long a test waits for what the daemon does before it fails.
const HANG: Duration = Duration::from_secs(20);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub version: Version,
    /// Whether the URL was written in full, as to a proxy.
    pub absolute: bool,
}

impl Asked {
    /// A header field as text; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

/// Holds replies back until it is opened. Clones share it.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub fn closed() -> Gate {
        Gate(Arc::new(watch::Sender::new(false)))
    }

    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn passed(&self) {
        let mut told = self.0.subscribe();
        // The sender lives as long as `self`.
        let _ = told.wait_for(|is_open| *is_open).await;
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    /// Each is sent when the one before has gone out.
    pieces: Vec<Bytes>,
    /// Before the header.
    before: Option<Gate>,
    /// Between the first piece and the others.
    between: Option<Gate>,
}

impl Reply {
    pub fn new(content_type: &str, body: impl Into<Bytes>) -> Reply {
        Reply {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            pieces: vec![body.into()],
            before: None,
            between: None,
        }
        .header(CONTENT_TYPE.as_str(), content_type)
    }

    pub fn html(body: impl Into<String>) -> Reply {
        Reply::new("text/html; charset=utf-8", body.into())
    }

    pub fn text(body: impl Into<String>) -> Reply {
        Reply::new("text/plain; charset=utf-8", body.into())
    }

    pub fn json(body: impl Into<String>) -> Reply {
        Reply::new("application/json", body.into())
    }

    pub fn markdown(body: impl Into<String>) -> Reply {
        Reply::new("text/markdown; charset=utf-8", body.into())
    }

    /// A status without a body or a type.
    pub fn empty(status: u16) -> Reply {
        let mut reply = Reply::text("").status(status);
        reply.headers.clear();
        reply
    }

    pub fn redirect(status: u16, to: &str) -> Reply {
        Reply::empty(status).header(LOCATION.as_str(), to)
    }

    pub fn status(mut self, status: u16) -> Reply {
        self.status = StatusCode::from_u16(status).expect("a status");
        self
    }

    /// One more header field.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        let name: HeaderName = name.parse().expect("a name");
        self.headers.append(
            name,
            HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
        );
        self
    }

    /// The same without a header field.
    pub fn without(mut self, name: &str) -> Reply {
        self.headers.remove(name);
        self
    }

    /// Whether it has a header field with this very value.
    pub fn has_header(&self, name: &str, value: &str) -> bool {
        let mut values = self.headers.get_all(name).iter();
        values.any(|it| it.as_bytes() == value.as_bytes())
    }

    /// Its body in pieces of its own, without a length.
    pub fn pieces(mut self, pieces: Vec<Bytes>) -> Reply {
        self.pieces = pieces;
        self.between = Some(self.between.unwrap_or_else(|| {
            let gate = Gate::closed();
            gate.open();
            gate
        }));
        self
    }

    /// Answers when the gate is open.
    pub fn held(mut self, gate: &Gate) -> Reply {
        self.before = Some(gate.clone());
        self
    }

    /// Sends what follows the first piece of its body when the gate is open.
    pub fn held_after_first_piece(mut self, gate: &Gate) -> Reply {
        self.between = Some(gate.clone());
        self
    }

    async fn response(self) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
        if let Some(gate) = &self.before {
            gate.passed().await;
        }
        let body = match self.between {
            None => Full::new(self.pieces.concat().into()).boxed_unsync(),
            Some(gate) => {
                let pieces = futures::stream::iter(self.pieces.into_iter().enumerate());
                let frames = pieces.then(move |(number, piece)| {
                    let gate = gate.clone();
                    async move {
                        if number > 0 {
                            gate.passed().await;
                        }
                        Ok::<_, Infallible>(Frame::data(piece))
                    }
                });
                // A stream without a length: it is sent in chunks.
                BodyExt::boxed_unsync(StreamBody::new(Box::pin(frames)))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

type Route = Box<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A server that is not started yet.
#[derive(Default)]
pub struct Server {
    routes: BTreeMap<String, Route>,
    otherwise: Option<Route>,
    identity: Option<Identity>,
}

impl Server {
    pub fn new() -> Server {
        Server::default()
    }

    /// Answers a path (without its query) so.
    pub fn route(
        mut self,
        path: &str,
        reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Server {
        self.routes.insert(path.to_owned(), Box::new(reply));
        self
    }

    /// Answers every other path so; without it they are 404.
    pub fn otherwise(mut self, reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Server {
        self.otherwise = Some(Box::new(reply));
        self
    }

    /// Speaks TLS, and HTTP/2 where the client offers it.
    pub fn tls(mut self, identity: Identity) -> Server {
        self.identity = Some(identity);
        self
    }

    /// Starts it on a port that the system chooses.
    pub fn start(self) -> Running {
        self.start_on(0)
    }

    pub fn start_on(self, port: u16) -> Running {
        let (stop, stopped) = oneshot::channel();
        let (tell, address) = std::sync::mpsc::channel();
        let seen = Arc::new(Seen::default());
        let shared = Arc::new(Shared {
            routes: self.routes,
            otherwise: self.otherwise,
            seen: seen.clone(),
        });
        let scheme = match self.identity {
            Some(_) => "https",
            None => "http",
        };
        let tls = self
            .identity
            .map(|identity| TlsAcceptor::from(identity.server_config()));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
                let listener = listener.expect("a port");
                let _ = tell.send(listener.local_addr().expect("an address"));
                tokio::select! {
                    () = accept(listener, tls, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Running {
            scheme,
            address: address.recv_timeout(HANG).expect("the server starts"),
            seen,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

struct Shared {
    routes: BTreeMap<String, Route>,
    otherwise: Option<Route>,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<Vec<Asked>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let _ = stream.set_nodelay(true);
        shared.seen.accepted.fetch_add(1, Ordering::SeqCst);
        shared.seen.open.fetch_add(1, Ordering::SeqCst);
        let (shared, tls) = (shared.clone(), tls.clone());
        tokio::spawn(async move {
            serve(stream, tls, &shared).await;
            shared.seen.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, shared: &Arc<Shared>) {
    let handler = {
        let shared = shared.clone();
        service_fn(move |request| answer(shared.clone(), request))
    };
    // What goes wrong on a connection is the client's to tell.
    match tls {
        None => {
            let server = hyper::server::conn::http1::Builder::new();
            let _ = server.serve_connection(TokioIo::new(stream), handler).await;
        }
        Some(tls) => {
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let stream = TokioIo::new(stream);
            if is_http2 {
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(stream, handler).await;
            } else {
                let server = hyper::server::conn::http1::Builder::new();
                let _ = server.serve_connection(stream, handler).await;
            }
        }
    }
}

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let asked = Asked {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().map(str::to_owned),
        headers: request.headers().clone(),
        version: request.version(),
        absolute: request.uri().scheme().is_some() && request.version() < Version::HTTP_2,
    };
    shared
        .seen
        .requests
        .lock()
        .expect("a lock")
        .push(asked.clone());
    let route = shared.routes.get(&asked.path).or(shared.otherwise.as_ref());
    let reply = match route {
        Some(route) => route(&asked),
        None => Reply::text("nothing here\n").status(404),
    };
    Ok(reply.response().await)
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Running {
    scheme: &'static str,
    address: SocketAddr,
    seen: Arc<Seen>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A URL by the address 127.0.0.1.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// A URL by a name: that of a certificate, for example.
    pub fn url_by(&self, host: &str, path: &str) -> String {
        format!("{}://{host}:{}{path}", self.scheme, self.port())
    }

    /// All requests so far, in order.
    pub fn requests(&self) -> Vec<Asked> {
        self.seen.requests.lock().expect("a lock").clone()
    }

    /// How often a path was asked for.
    pub fn count(&self, path: &str) -> usize {
        let requests = self.seen.requests.lock().expect("a lock");
        requests.iter().filter(|asked| asked.path == path).count()
    }

    /// The last request.
    pub fn last(&self) -> Asked {
        self.requests().pop().expect("a request")
    }

    /// Connections that were made so far.
    pub fn accepted(&self) -> usize {
        self.seen.accepted.load(Ordering::SeqCst)
    }

    /// Connections that are there now.
    pub fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    /// Waits until something of it is so.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Running) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < HANG, "{what}: {self:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
