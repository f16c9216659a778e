//! `agent/readMany`: several reads under one budget; one bad target never spoils the others.

use std::sync::Arc;

use futures::future::join_all;
use serde::Serialize;
use serde_json::{Value, json};

use crate::buffer::Overlays;
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::protocol::read::ReadResult;
use crate::protocol::tools::MAX_TARGETS;
use crate::read::{
    Ask, BudgetParams, Obtained, Prepared, Share, StageResult, is_resolving, session_name,
    share_within,
};
use crate::rpc;
use crate::session::Notice;
use crate::task::Work;
use crate::view::{Budget, dialect};
use crate::workspace::Scope;

use super::call::Call;
use super::client::Client;
use super::config::{ClientSnapshot, WorkspaceConfig};
use super::edit_queue::Reading;
use super::engine::Engine;
use super::obtain::run_obtaining;
use super::puts::PutTurn;
use super::turn::in_turn;

/// Who reads when nobody is named.
pub const DEFAULT_SESSION: &str = "default";

/// The targets of one request and the budget they share.
struct Asks {
    asks: Vec<Result<Arc<Ask>, Refusal>>,
    shared: SharedBudget,
}

/// What the rows of all targets may take, and the characters of the whole answer.
#[derive(Debug, Clone, Copy)]
struct SharedBudget {
    rows: Budget,
    chars: Option<u64>,
}

type BegunAsk = Result<(Arc<Reading>, PutTurn, Arc<Ask>), Refusal>;

impl Asks {
    /// Registers each of them: one target waits for no edit of another.
    fn begin(self, engine: &Engine, overlays: &Overlays) -> (Vec<BegunAsk>, SharedBudget) {
        let begin = |ask: Arc<Ask>| {
            let reading = engine.edit_queue.begin_read(&ask.session);
            if ask.is_of_no_file(overlays) {
                reading.is_of_no_file();
            }
            let puts = engine.puts.begin_read(&ask.session, ask.is_of_store());
            (Arc::new(reading), puts, ask)
        };
        let begun = self.asks.into_iter().map(|ask| ask.map(begin));
        (begun.collect(), self.shared)
    }
}

/// What became of each target, in order.
pub type ReadResults = Vec<Result<ReadResult, Refusal>>;

/// The same as it is sent.
#[derive(Serialize)]
struct SentResults {
    results: Vec<SentResult>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum SentResult {
    Ok(Box<ReadResult>),
    Error(Value),
}

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let answer = answer(engine, client, &call.params);
    call.answer(None, async move {
        let one = |one: Result<ReadResult, Refusal>| match one {
            Ok(result) => SentResult::Ok(Box::new(result)),
            Err(refusal) => SentResult::Error(refusal.to_tool_error()),
        };
        let results = answer.await?.into_iter().map(one).collect();
        Ok(SentResults { results })
    })
}

/// Registers the reads; their answer.
pub fn answer(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: &Value,
) -> impl Future<Output = Result<ReadResults, Refusal>> + use<> {
    let snapshot = client.snapshot();
    let (engine, client) = (engine.clone(), client.clone());
    let asks = parse(params, &snapshot.config).map(|asks| asks.begin(&engine, &snapshot.overlays));
    async move {
        let (begun, shared) = asks?;
        let each = begun
            .into_iter()
            .map(|one| prepare(&engine, &client, &snapshot, one));
        let prepared = join_all(each).await;
        let (results, notices) = write(&engine, &snapshot, prepared, shared).await?;
        client.send(notices).await;
        Ok(results)
    }
}

fn parse(params: &Value, config: &WorkspaceConfig) -> Result<Asks, Refusal> {
    let fields = Fields::of(params, "")?;
    let session = session_name(fields, DEFAULT_SESSION)?;
    let budget = BudgetParams::parse(fields)?;
    let resolving = is_resolving(fields)?;
    let targets = targets(fields, config)?;
    if targets.is_empty() || targets.len() > MAX_TARGETS {
        let key = match fields.get("paths") {
            Some(_) => "paths",
            None => "targets",
        };
        return Err(Refusal::bad_params(
            key,
            format!("'{key}' must hold 1 to {MAX_TARGETS} reads."),
        ));
    }
    let parse = |target: &Value| -> Result<Arc<Ask>, Refusal> {
        let mut ask = Ask::parse(target, &session, &config.settings)?;
        ask.is_resolving |= resolving;
        if !ask.budget.is_set() {
            ask.shares_budget = true;
            ask.budget = BudgetParams {
                chars: None,
                ..budget
            };
        }
        Ok(Arc::new(ask))
    };
    Ok(Asks {
        asks: targets.iter().map(parse).collect(),
        shared: SharedBudget {
            rows: budget.over(Budget::DEFAULT),
            chars: budget.chars,
        },
    })
}

/// The parameters of each read: `targets`, or `paths`, strings that are all read alike.
fn targets(fields: Fields, config: &WorkspaceConfig) -> Result<Vec<Value>, Refusal> {
    let Some(paths) = fields.get("paths") else {
        return Ok(fields.list("targets")?.unwrap_or_default().to_vec());
    };
    if fields.get("targets").is_some() {
        let message = "Give either 'paths' or 'targets', not both.";
        return Err(Refusal::bad_params("paths", message));
    }
    let paths = match paths {
        Value::String(_) => std::slice::from_ref(paths),
        _ => fields.list("paths")?.unwrap_or_default(),
    };
    let named = fields.string("dialect")?;
    let dialect = dialect::by_name(named.unwrap_or(&config.settings.read.dialect))?;
    let want = fields.get("want");
    let target = |path: &Value| {
        let mut target = json!({ "dialect": dialect.name(), dialect.path_parameter(): path });
        if let Some(want) = want {
            target["want"] = want.clone();
        }
        target
    };
    Ok(paths.iter().map(target).collect())
}

type One = Result<LoadedTarget, FailedTarget>;

/// A target that is not read.
#[derive(Clone)]
enum FailedTarget {
    Refused(Refusal),
    /// In words of its dialect, as a result.
    Said(Box<ReadResult>),
}

impl FailedTarget {
    fn of(ask: &Ask, refusal: Refusal, scope: &Scope) -> FailedTarget {
        match ask.refused(refusal, scope) {
            Ok(said) => FailedTarget::Said(Box::new(said)),
            Err(refusal) => FailedTarget::Refused(refusal),
        }
    }

    fn result(self) -> Result<ReadResult, Refusal> {
        match self {
            FailedTarget::Refused(refusal) => Err(refusal),
            FailedTarget::Said(result) => Ok(*result),
        }
    }
}

/// A target that was found and loaded.
struct LoadedTarget {
    /// Not done before what it shows is on record.
    _reading: Arc<Reading>,
    ask: Arc<Ask>,
    prepared: Arc<Prepared>,
}

/// Finds and loads one target, without yet applying a limit.
async fn prepare(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    snapshot: &ClientSnapshot,
    begun: BegunAsk,
) -> One {
    let (reading, mut puts, ask) = begun.map_err(FailedTarget::Refused)?;
    puts.come().await;
    match found(engine, client, snapshot, reading, ask.clone()).await {
        Ok(found) => found,
        Err(refusal) => Err(FailedTarget::of(
            &ask,
            refusal,
            &snapshot.config.scope.of_nobody(),
        )),
    }
}

/// Errors with what was refused before anything was looked for.
async fn found(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    snapshot: &ClientSnapshot,
    reading: Arc<Reading>,
    ask: Arc<Ask>,
) -> Result<One, Refusal> {
    let snapshot = in_turn(engine, client, &reading, &ask, snapshot.clone()).await?;
    let (jobs_engine, jobs_reading, jobs_ask) = (engine.clone(), reading.clone(), ask.clone());
    let settings = snapshot.config.settings.clone();
    let job = move |work: &Work, obtained: Option<&Obtained>| {
        let reader = &jobs_engine.reader;
        let ClientSnapshot { config, overlays } = &snapshot;
        let scope = &jobs_engine.scope(config, &jobs_ask.session, work);
        let found = |whereabouts| jobs_reading.is_known(whereabouts);
        match reader.prepare(&jobs_ask, obtained, scope, overlays, work, &found) {
            Ok(StageResult::Lacks(lacking)) => Ok(StageResult::Lacks(lacking)),
            Ok(StageResult::Ready(prepared)) => Ok(StageResult::Ready(Ok(Arc::new(prepared)))),
            // What is suggested is looked at here, where that may take its time.
            Err(refusal) => Ok(StageResult::Ready(Err(FailedTarget::of(
                &jobs_ask, refusal, scope,
            )))),
        }
    };
    let prepared = run_obtaining(engine, client, &ask, &settings, job).await?;
    Ok(prepared.map(|prepared| LoadedTarget {
        _reading: reading,
        ask,
        prepared,
    }))
}

/// Shares the budget among the targets that set none of their own, and writes all of them.
async fn write(
    engine: &Arc<Engine>,
    snapshot: &ClientSnapshot,
    prepared: Vec<One>,
    shared: SharedBudget,
) -> Result<(ReadResults, Vec<Notice>), Refusal> {
    let jobs_engine = engine.clone();
    let config = snapshot.config.clone();
    let prepared = Arc::new(prepared);
    engine
        .run(move |work| {
            let reader = &jobs_engine.reader;
            let scope = &config.scope.of_job(work);
            let count = prepared.len();
            let sharing: Vec<&LoadedTarget> = prepared
                .iter()
                .flatten()
                .filter(|found| found.ask.shares_budget)
                .collect();
            let demands: Vec<_> = sharing
                .iter()
                .map(|found| reader.demand(&found.ask, &found.prepared, shared.rows))
                .collect();
            let shares = share_within(&demands, shared.rows, shared.chars, count);
            let mut shares = shares.into_iter();
            let mut results = Vec::with_capacity(count);
            let mut notices = Vec::new();
            for one in prepared.iter() {
                work.check()?;
                results.push(match one {
                    Err(failed) => failed.clone().result(),
                    Ok(LoadedTarget { ask, prepared, .. }) => {
                        let budget = if ask.shares_budget {
                            shares.next()
                        } else {
                            None
                        };
                        let share = budget.map(|budget| Share::among(budget, shared.chars, count));
                        match reader.finish(ask, prepared, share, work) {
                            Ok((result, news)) => {
                                notices.extend(news);
                                Ok(result)
                            }
                            Err(refusal) => FailedTarget::of(ask, refusal, scope).result(),
                        }
                    }
                });
            }
            Ok((results, notices))
        })
        .await
}
