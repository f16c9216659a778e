//! A read whose resource may not be on this machine: its job runs, says what it lacks, and runs again when that was obtained.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::net::Progress;
use crate::protocol::{Refusal, Settings};
use crate::read::{Ask, Lacking, Obtained, PageLacking, StageResult};
use crate::task::Work;

use super::client::Client;
use super::engine::{Engine, WORK_LIMIT};
use super::progress;

/// Runs the job of a read until it lacks nothing. What is named by its path alone is obtained before
/// the first run. Nothing waits here but the future itself.
///
/// # Errors
///
/// Those of the job, and of what it lacks.
pub async fn run_obtaining<T: Send + 'static>(
    engine: &Arc<Engine>,
    client: &Client,
    ask: &Ask,
    settings: &Arc<Settings>,
    job: impl Fn(&Work, Option<&Obtained>) -> Result<StageResult<T>, Refusal> + Send + Sync + 'static,
) -> Result<T, Refusal> {
    let job = Arc::new(job);
    let mut lacking = ask.lacks()?;
    let mut obtained: Option<Obtained> = None;
    let deadline = Instant::now() + Duration::from_millis(settings.web.timeout_ms);
    loop {
        match (lacking.take(), &mut obtained) {
            (Some(Lacking::Page(PageLacking::Page(address))), _) => {
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
                obtained = Some(Obtained::Page(Box::new(page?)));
            }
            (Some(Lacking::Page(PageLacking::Guesses(guesses))), Some(Obtained::Page(page))) => {
                let web = page.web.clone();
                web.more(page, guesses).await;
            }
            (Some(Lacking::Page(PageLacking::Guesses(_))), None) => {
                return Err(Refusal::Internal);
            }
            (None, _) => {}
        }
        let limit = match obtained {
            Some(_) => deadline.saturating_duration_since(Instant::now()),
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
