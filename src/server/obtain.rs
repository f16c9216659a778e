//! A read whose resource may not be on this machine: its job runs, says what it lacks, and runs again when that was obtained.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout_at;

use crate::github::GithubQuestion;
use crate::net::Progress;
use crate::protocol::{Refusal, ResourceAnswer, Settings};
use crate::read::{Ask, Got, Lacking, Obtained, PageLacking, Resource, StageResult};
use crate::task::{Work, lowered};

use super::client::Client;
use super::credential::ClientCredentials;
use super::engine::{Engine, WORK_LIMIT};
use super::progress;
use super::resolve::resolve;

/// Milliseconds that a read may take which waits for the client or for MCP servers, before the last run
/// of its job.
const RESOURCE_LIMIT_MS: u64 = 28_000;

/// Runs the job of a read until it lacks nothing. What is named by its path alone is obtained before
/// the first run. Nothing waits here but the future itself.
///
/// # Errors
///
/// Those of the job, and of what it lacks.
pub async fn run_obtaining<T: Send + 'static>(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    ask: &Ask,
    settings: &Arc<Settings>,
    job: impl Fn(&Work, Option<&Obtained>) -> Result<StageResult<T>, Refusal> + Send + Sync + 'static,
) -> Result<T, Refusal> {
    let job = Arc::new(job);
    let mut lacking = ask.lacks()?;
    let mut obtained: Option<Obtained> = None;
    let begun = Instant::now();
    let resource_limit = Duration::from_millis(lowered("obtainMs", RESOURCE_LIMIT_MS));
    let web_deadline = begun + Duration::from_millis(settings.web.timeout_ms);
    loop {
        match lacking.take() {
            Some(Lacking::Page(page)) => {
                let obtaining = obtain_page(
                    engine,
                    client,
                    ask,
                    settings,
                    (page, &mut obtained),
                    web_deadline,
                );
                // Most reads lack nothing, and are moved as they begin: kept apart, what is rare
                // does not make their futures large.
                Box::pin(obtaining).await?;
            }
            Some(lacking) => {
                let mut resources = match obtained.take() {
                    Some(Obtained::Resources(resources)) => resources,
                    Some(Obtained::Page(_)) => return Err(Refusal::Internal),
                    None => Box::default(),
                };
                let deadline = begun + resource_limit;
                let config = client.snapshot().config;
                let roots = config.scope.roots().iter();
                let roots: Vec<PathBuf> = roots.map(|it| it.spelled().to_owned()).collect();
                let getting = obtain_resource(engine, client, ask, (settings, &roots), lacking);
                match timeout_at(deadline.into(), Box::pin(getting)).await {
                    Ok(Some(got)) => resources.add(got),
                    Ok(None) => return Err(Refusal::Internal),
                    Err(_) => {
                        return Err(Refusal::Timeout {
                            message: format!(
                                "What was asked for did not come within {} s.",
                                resource_limit.as_secs_f32()
                            ),
                            path: Some(ask.path().to_owned()),
                        });
                    }
                }
                obtained = Some(Obtained::Resources(resources));
            }
            None => {}
        }
        let limit = match obtained {
            Some(Obtained::Page(_)) => web_deadline.saturating_duration_since(Instant::now()),
            Some(Obtained::Resources(_)) => WORK_LIMIT.saturating_sub(begun.elapsed()),
            None => WORK_LIMIT,
        };
        let (job, so_far) = (job.clone(), obtained.clone());
        let step = engine.run_within(limit, move |work| job(work, so_far.as_ref()));
        match step.await? {
            StageResult::Ready(ready) => return Ok(ready),
            StageResult::Lacks(more) => lacking = Some(more),
        }
    }
}

/// Gets a web page, or what is needed besides it.
async fn obtain_page(
    engine: &Engine,
    client: &Client,
    ask: &Ask,
    settings: &Arc<Settings>,
    (lacking, obtained): (PageLacking, &mut Option<Obtained>),
    deadline: Instant,
) -> Result<(), Refusal> {
    match (lacking, obtained) {
        (PageLacking::Page(address), obtained) => {
            let mut page = ask.of_page(*address, settings, deadline);
            let token = ask.progress.as_ref().and_then(progress::token);
            let page = match token {
                None => engine.web.page(&page).await,
                Some(token) => {
                    let (tell, told) = watch::channel(Progress::Connecting);
                    page.progress = Some(tell);
                    let fetching = engine.web.page(&page);
                    progress::reported(client, token, told, fetching).await
                }
            };
            *obtained = Some(Obtained::Page(Box::new(page?)));
        }
        (PageLacking::Guesses(guesses), Some(Obtained::Page(page))) => {
            let web = page.web.clone();
            web.more(page, guesses).await;
        }
        (PageLacking::Guesses(_), _) => return Err(Refusal::Internal),
    }
    Ok(())
}

/// Asks the client, or MCP servers. What they refuse is part of the answer; `None` is for what is no
/// question to them.
async fn obtain_resource(
    engine: &Engine,
    client: &Arc<Client>,
    ask: &Ask,
    (settings, roots): (&Arc<Settings>, &[PathBuf]),
    lacking: Lacking,
) -> Option<Got> {
    Some(match lacking {
        Lacking::Client(uri) => {
            let limit = Duration::from_millis(settings.internal.resolve_timeout_ms);
            let answer = resolve(client, &ask.session, &uri, limit).await;
            Got::OfClient(uri, answer)
        }
        Lacking::Catalogues(None) => Got::Catalogues(None, engine.mcp.catalogues().await),
        Lacking::Catalogues(Some(server)) => {
            let catalogue = engine.mcp.catalogue(&server).await;
            let catalogues = vec![(server.clone(), catalogue)];
            Got::Catalogues(Some(server), catalogues)
        }
        Lacking::McpResource { server, uri } => {
            let read = engine.mcp.read(&server, &uri).await;
            let read = read.map(|contents| Resource::new(ResourceAnswer::Contents(contents)));
            Got::OfServer(server, uri, read)
        }
        Lacking::Github(asked) => {
            let question = GithubQuestion {
                ask: asked.clone(),
                roots: roots.to_vec(),
                settings: settings.clone(),
                credentials: Arc::new(ClientCredentials(client.clone())),
            };
            let answer = engine.github.answer(question).await;
            let answer = answer.map(Box::new);
            Got::OfGithub(
                asked,
                answer.map_err(|error| error.into_refusal(ask.path())),
            )
        }
        Lacking::Page(_) => return None,
    })
}
