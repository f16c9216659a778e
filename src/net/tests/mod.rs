//! Fetches from servers of the test's own, polite and hostile; names are resolved by a stub.

mod bodies;
mod hops;
mod judged;
mod limits;
mod trust;

#[allow(dead_code, reason = "the tests over the wire share it")]
#[path = "../../../tests/web/hostile.rs"]
mod hostile;
#[allow(dead_code, reason = "the tests over the wire share it")]
#[path = "../../../tests/web/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "the tests over the wire share it")]
#[path = "../../../tests/web/server.rs"]
mod server;
#[allow(dead_code, reason = "the tests over the wire share it")]
#[path = "../../../tests/web/tls.rs"]
mod tls;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::protocol::settings::Web;

use super::resolve::{NoAddress, Resolver};
use super::{Body, FetchRequest, Fetched, Net, NetError, Spool};

/// Answers of a resolver, one after the other; the last one stays.
#[derive(Debug, Default)]
struct Stub {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Resolver for Stub {
    fn addresses(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, NoAddress>> {
        self.asked.lock().push(name.to_owned());
        let mut answers = self.answers.lock();
        let found = answers.get_mut(name).map(|answers| match answers.len() {
            1 => answers[0].clone(),
            _ => answers.remove(0),
        });
        ready(found.ok_or(NoAddress::NotFound)).boxed()
    }
}

/// A network with a runtime of its own, as the main thread of the daemon has one.
struct TestNet {
    runtime: Runtime,
    net: Arc<Net>,
    names: Arc<Stub>,
    settings: Web,
    folder: TempDir,
}

impl TestNet {
    fn new() -> TestNet {
        TestNet::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Web)) -> TestNet {
        // Whatever the machine's own environment says.
        let mut settings = Web {
            proxy: crate::protocol::settings::Proxy::None,
            ..Web::default()
        };
        change(&mut settings);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Arc::new(Spool::new(folder.path().join("fetched")));
        let names = Arc::new(Stub::default());
        let net = Net::with_resolver(runtime.handle().clone(), spool, names.clone());
        TestNet {
            net: Arc::new(net),
            runtime,
            names,
            settings,
            folder,
        }
    }

    /// What a name resolves to, each time that it is asked for.
    fn name(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers.iter().map(|answer| {
            let addresses = answer
                .iter()
                .map(|address| address.parse().expect("an address"));
            addresses.collect()
        });
        self.names
            .answers
            .lock()
            .insert(name.to_owned(), answers.collect());
    }

    fn request(&self, url: &str) -> FetchRequest {
        let url = Url::parse(url).expect(url);
        let deadline = Instant::now() + Duration::from_millis(self.settings.timeout_ms);
        FetchRequest::new(url, Arc::new(self.settings.clone()), deadline)
    }

    fn run(&self, request: FetchRequest) -> Result<Fetched, NetError> {
        self.runtime.block_on(self.net.fetch(request))
    }

    fn fetch(&self, url: &str) -> Result<Fetched, NetError> {
        self.run(self.request(url))
    }

    /// The words of an error.
    fn refused(&self, url: &str) -> String {
        match self.fetch(url) {
            Err(error) => error.to_string(),
            Ok(fetched) => panic!("{url} was fetched: {fetched:?}"),
        }
    }
}

fn text(fetched: &Fetched) -> String {
    String::from_utf8(bytes(fetched)).expect("UTF-8")
}

fn bytes(fetched: &Fetched) -> Vec<u8> {
    match &fetched.body {
        Body::Memory(bytes) => bytes.to_vec(),
        Body::File(file) => std::fs::read(file.path()).expect("the file is there"),
    }
}
