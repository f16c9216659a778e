//! Issues and pull requests: which repository is meant, as whom it is asked, the requests, and what all daemons of the user keep of the answers.
//!
//! [`Github::answer`] is the way of a question: its repository ([`remotes`]), the login for the host ([`login`]), the row
//! that is kept ([`cache`]) or the requests that make it ([`items`], [`lists`], by [`api`]). A row that is older than the
//! soft limit is renewed while the reader waits a little; what comes later is for the next one. Everything runs on the
//! runtime; dropping the future of an answer ends its requests, unless somebody else waits for them.

mod api;
mod ask;
mod cache;
mod error;
mod items;
mod lists;
mod login;
mod remotes;
mod repository;

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::net::Net;
use crate::protocol::Settings;
use crate::protocol::settings::GithubCache;
use crate::protocol::status::{GithubHostStatus, GithubStatus};

use api::{Api, RepoAccess};
use cache::{AnswerCache, Row, RowKey};
use items::Requests;
use login::{LoginSource, Logins};
use remotes::Remotes;

pub use ask::{GithubAsk, ItemAsk, ItemKind, ListAsk, ListState, What};
pub use error::GithubError;
pub use items::Item;
pub use lists::ItemList;
pub use login::{Credentials, Reason, Token, named_host};
pub use repository::{GITHUB, Repository, is_host, is_part};

/// A question, and for whom it is asked.
#[derive(Clone)]
pub struct GithubQuestion {
    pub ask: GithubAsk,
    /// Where the short form looks for its repository.
    pub roots: Vec<PathBuf>,
    pub settings: Arc<Settings>,
    pub credentials: Arc<dyn Credentials>,
}

/// How new an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// GitHub was asked for this very answer.
    Live,
    Kept,
    /// It is kept, and is being fetched again.
    BeingFetched,
    /// It is kept, and GitHub cannot be reached.
    Unreachable,
}

#[derive(Debug, Clone)]
pub struct GithubAnswer {
    pub repository: Repository,
    pub fetched_at: SystemTime,
    pub freshness: Freshness,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub enum Content {
    Item(ItemAsk, Box<Item>),
    List(ListAsk, ItemList),
}

/// What a fetch of an item gives to all who wait for it.
type Flight = BoxFuture<'static, Result<Arc<Row>, GithubError>>;

/// Everything that is known of GitHub in one engine.
pub struct Github {
    runtime: Handle,
    api: Api,
    cache: Arc<AnswerCache>,
    logins: Logins,
    remotes: Remotes,
    flights: Mutex<HashMap<RowKey, WeakShared<Flight>>>,
    /// Which login was last used for each host.
    sources: Mutex<BTreeMap<String, LoginSource>>,
}

impl std::fmt::Debug for Github {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("Github")
    }
}

/// A task that ends when nobody waits for it any more.
struct EndedOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for EndedOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Github {
    /// Does no I/O. `directory` is where the cache is.
    pub fn new(runtime: Handle, net: Net, directory: Option<PathBuf>) -> Arc<Github> {
        Arc::new(Github {
            runtime,
            api: Api::new(net),
            cache: AnswerCache::new(directory),
            logins: Logins::default(),
            remotes: Remotes::default(),
            flights: Mutex::default(),
            sources: Mutex::default(),
        })
    }

    /// The client may have other logins by now.
    pub fn forget_logins(&self) {
        self.logins.forget_client();
    }

    pub fn status(&self, settings: &GithubCache) -> GithubStatus {
        let census = self.cache.census();
        let told: HashMap<_, _> = self.api.told().into_iter().collect();
        let reason = match settings.enabled {
            true => census.off,
            false => Some("github.cache.enabled is false".to_owned()),
        };
        let hosts = self
            .sources
            .lock()
            .clone()
            .into_iter()
            .map(|(host, source)| {
                let told = told.get(&host);
                GithubHostStatus {
                    login: source.name(),
                    remaining: told.and_then(|it| it.remaining),
                    reset_at: told.and_then(|it| it.reset_at),
                    host,
                }
            });
        GithubStatus {
            cache: match reason {
                None => "on",
                Some(_) => "off",
            },
            reason,
            rows: census.rows,
            bytes: census.bytes,
            hosts: hosts.collect(),
        }
    }

    /// The answer to a question.
    ///
    /// # Errors
    ///
    /// What GitHub refuses, or why it is not asked.
    pub async fn answer(
        self: &Arc<Github>,
        question: GithubQuestion,
    ) -> Result<GithubAnswer, GithubError> {
        if !question.settings.github.enabled {
            return Err(GithubError::Off);
        }
        let github = self.clone();
        let task = self
            .runtime
            .spawn(async move { github.answered(question).await });
        let mut task = EndedOnDrop(task);
        match (&mut task.0).await {
            Ok(answer) => answer,
            Err(_) => Err(GithubError::Cancelled),
        }
    }

    async fn answered(
        self: &Arc<Github>,
        question: GithubQuestion,
    ) -> Result<GithubAnswer, GithubError> {
        let settings = &question.settings;
        let repository = self.repository(&question).await?;
        let host = repository.host.clone();
        let login = self
            .logins
            .login(&host, &settings.github, &*question.credentials);
        let mut login = login.await;
        for is_second in [false, true] {
            let since = Instant::now();
            let access = RepoAccess::new(
                repository.clone(),
                login.clone(),
                &settings.github,
                &settings.web,
            )?;
            self.sources.lock().insert(host.clone(), login.source);
            let outcome = self.asked(&question, access).await;
            let (Err(GithubError::Unauthorized { .. }), false) = (&outcome, is_second) else {
                return outcome;
            };
            let other = self
                .logins
                .after_refusal(&host, (&login, since), &*question.credentials);
            match other.await {
                Some(other) => login = other,
                None => return outcome,
            }
        }
        Err(GithubError::Unauthorized { host })
    }

    /// Which repository is meant, on a host that may be asked.
    async fn repository(&self, question: &GithubQuestion) -> Result<Repository, GithubError> {
        let settings = &question.settings.github;
        match &question.ask.repository {
            Some(repository) => {
                match remotes::is_known(&repository.host, settings, &self.logins).await {
                    true => Ok(repository.clone()),
                    false => Err(GithubError::UnknownHost {
                        host: repository.host.clone(),
                    }),
                }
            }
            None => {
                let example = example(&question.ask);
                let found =
                    self.remotes
                        .repository(&question.roots, settings, &self.logins, &example);
                found.await
            }
        }
    }

    async fn asked(
        self: &Arc<Github>,
        question: &GithubQuestion,
        access: RepoAccess,
    ) -> Result<GithubAnswer, GithubError> {
        let repository = access.repository.clone();
        match &question.ask.what {
            What::List(ask) => {
                let list = lists::list(&self.api, &access, ask).await?;
                Ok(GithubAnswer {
                    repository,
                    fetched_at: SystemTime::now(),
                    freshness: Freshness::Live,
                    content: Content::List(ask.clone(), list),
                })
            }
            What::Item(ask) => {
                let is_fresh = question.ask.is_fresh;
                let (row, freshness) = self
                    .row(&access, *ask, is_fresh, question.settings.github.cache)
                    .await?;
                // What was answered is gone through again: nobody is asked.
                let item = Requests::new(None, &access, Some(&row.answers))
                    .item(*ask)
                    .await?;
                Ok(GithubAnswer {
                    repository,
                    fetched_at: UNIX_EPOCH + Duration::from_millis(row.fetched_at),
                    freshness,
                    content: Content::Item(*ask, Box::new(item)),
                })
            }
        }
    }

    /// The row of an item: kept, or renewed.
    async fn row(
        self: &Arc<Github>,
        access: &RepoAccess,
        ask: ItemAsk,
        is_fresh: bool,
        settings: GithubCache,
    ) -> Result<(Arc<Row>, Freshness), GithubError> {
        let key = |comments| RowKey {
            account: access.login.account(&access.repository.host),
            repo: access.repository.key(),
            kind: ask.kind.name(),
            number: ask.number,
            comments,
        };
        let mut kept = self.kept(key(true), settings).await.map(|row| (true, row));
        if kept.is_none() && !ask.comments {
            kept = self
                .kept(key(false), settings)
                .await
                .map(|row| (false, row));
        }
        let Some((comments, row)) = kept else {
            let flight = self.flight(access, ask, key(ask.comments), None, settings);
            return Ok((flight.await?, Freshness::Live));
        };
        let age = now().saturating_sub(row.fetched_at);
        if !is_fresh && age <= settings.soft_ttl_sec.saturating_mul(1000) {
            return Ok((row, Freshness::Kept));
        }
        let whole = ItemAsk { comments, ..ask };
        let flight = self.flight(access, whole, key(comments), Some(row.clone()), settings);
        let renewed = match is_fresh {
            true => Ok(flight.await),
            false => {
                let wait = Duration::from_millis(settings.stale_wait_ms);
                timeout(wait, flight.clone()).await.map_err(|_| flight)
            }
        };
        match renewed {
            Ok(Ok(renewed)) => Ok((renewed, Freshness::Live)),
            Ok(Err(error)) if error.is_unreachable() => Ok((row, Freshness::Unreachable)),
            Ok(Err(error)) => Err(error),
            Err(flight) => {
                self.runtime.spawn(flight);
                Ok((row, Freshness::BeingFetched))
            }
        }
    }

    async fn kept(&self, key: RowKey, settings: GithubCache) -> Option<Arc<Row>> {
        if !settings.enabled {
            return None;
        }
        let cache = self.cache.clone();
        let within = within(settings);
        let got = self
            .runtime
            .spawn_blocking(move || cache.get(&key, &within));
        got.await.ok().flatten().map(Arc::new)
    }

    /// The fetch of a row; the one that is under way, if one is.
    fn flight(
        self: &Arc<Github>,
        access: &RepoAccess,
        ask: ItemAsk,
        key: RowKey,
        prior: Option<Arc<Row>>,
        settings: GithubCache,
    ) -> Shared<Flight> {
        let mut flights = self.flights.lock();
        flights.retain(|_, flight| flight.upgrade().is_some());
        let flying = flights.get(&key).and_then(WeakShared::upgrade);
        flying.unwrap_or_else(|| {
            let github = self.clone();
            let (access, of) = (access.clone(), key.clone());
            let fetch = async move { github.fetched(access, ask, of, prior, settings).await };
            let flight = fetch.boxed().shared();
            if let Some(weak) = flight.downgrade() {
                flights.insert(key, weak);
            }
            flight
        })
    }

    async fn fetched(
        self: Arc<Github>,
        access: RepoAccess,
        ask: ItemAsk,
        key: RowKey,
        prior: Option<Arc<Row>>,
        settings: GithubCache,
    ) -> Result<Arc<Row>, GithubError> {
        // Another daemon may have been quicker, or the fetch that ended just now.
        if let Some(row) = self.kept(key.clone(), settings).await
            && prior
                .as_ref()
                .is_none_or(|prior| row.fetched_at > prior.fetched_at)
        {
            return Ok(row);
        }
        let requests = Requests::new(
            Some(&self.api),
            &access,
            prior.as_ref().map(|it| &it.answers),
        );
        requests.item(ask).await?;
        let row = Arc::new(Row {
            fetched_at: now(),
            answers: requests.into_answers(),
        });
        if settings.enabled {
            let (cache, kept) = (self.cache.clone(), row.clone());
            let is_same = prior.is_some_and(|prior| prior.answers == kept.answers);
            let written = self.runtime.spawn_blocking(move || match is_same {
                true => cache.touch(&key, kept.fetched_at),
                false => cache.put(&key, &kept, &within(settings)),
            });
            // Who reads next finds it.
            let _ = written.await;
        }
        Ok(row)
    }
}

/// What to use where no repository is known.
fn example(ask: &GithubAsk) -> String {
    match &ask.what {
        What::Item(item) => match item.kind {
            ItemKind::Issue => format!("issue://OWNER/NAME/{}", item.number),
            ItemKind::Pull => format!("pr://OWNER/NAME/{}", item.number),
            ItemKind::Diff => format!("pr://OWNER/NAME/{}/diff", item.number),
        },
        What::List(list) if list.pulls => "pr://OWNER/NAME".to_owned(),
        What::List(_) => "issue://OWNER/NAME".to_owned(),
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}

/// When a row that may be served was fetched. One from the future is of a clock that was wrong.
fn within(settings: GithubCache) -> RangeInclusive<u64> {
    const MINUTE: u64 = 60_000;
    let now = now();
    now.saturating_sub(settings.hard_ttl_sec.saturating_mul(1000))..=now + MINUTE
}
