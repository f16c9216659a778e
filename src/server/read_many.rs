//! `agent/readMany`: several reads under one budget; one bad target never spoils the others.

use std::sync::Arc;

use futures::future::join_all;
use serde_json::{Value, json};
use tower_lsp::jsonrpc;

use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::read::{Ask, BudgetParams, Prepared, session_name, share};
use crate::view::Budget;

use super::Server;
use super::handler::answer;
use super::state::{State, World};

/// Who reads when nobody is named.
pub const DEFAULT_SESSION: &str = "default";

/// Targets in one request.
const MAX_TARGETS: usize = 64;

/// The targets of one request and the budget they share.
struct Asks {
    asks: Vec<Result<Arc<Ask>, Refusal>>,
    shared: Budget,
}

impl Server {
    pub async fn read_many(&self, params: Value) -> jsonrpc::Result<Value> {
        let world = self.state.engine.world();
        let asks = parse(&params, &world);
        let state = self.state.clone();
        answer("agent/readMany", None, async move {
            let Asks { asks, shared } = asks?;
            let each = asks.into_iter().map(|ask| prepare(&state, &world, ask));
            let prepared = join_all(each).await;
            let results = write(&state, prepared, shared).await?;
            Ok(json!({ "results": results }))
        })
        .await
    }
}

fn parse(params: &Value, world: &World) -> Result<Asks, Refusal> {
    let fields = Fields::of(params, "")?;
    let session = session_name(fields, DEFAULT_SESSION)?;
    let budget = BudgetParams::parse(fields)?;
    let targets = fields.list("targets")?.unwrap_or_default();
    if targets.is_empty() || targets.len() > MAX_TARGETS {
        return Err(Refusal::bad_params(
            "targets",
            format!("'targets' must hold 1 to {MAX_TARGETS} reads."),
        ));
    }
    let parse = |target| -> Result<Arc<Ask>, Refusal> {
        let mut ask = Ask::parse(target, &session, &world.settings)?;
        if !ask.budget.is_set() {
            ask.shares_budget = true;
            ask.budget = budget;
        }
        Ok(Arc::new(ask))
    };
    Ok(Asks {
        asks: targets.iter().map(parse).collect(),
        shared: budget.over(Budget::DEFAULT),
    })
}

type One = Result<(Arc<Ask>, Arc<Prepared>), Refusal>;

/// Finds and loads one target, without yet applying a limit.
async fn prepare(state: &Arc<State>, world: &Arc<World>, ask: Result<Arc<Ask>, Refusal>) -> One {
    let ask = ask?;
    let (jobs_state, jobs_world, jobs_ask) = (state.clone(), world.clone(), ask.clone());
    let prepared = state
        .in_lanes(move |lane, work| {
            let reader = &jobs_state.engine.reader;
            reader.prepare(&jobs_ask, &jobs_world.scope, lane, work)
        })
        .await?;
    Ok((ask, Arc::new(prepared)))
}

/// Shares the budget among the targets that set none of their own, and writes all of them.
async fn write(
    state: &Arc<State>,
    prepared: Vec<One>,
    shared: Budget,
) -> Result<Vec<Value>, Refusal> {
    let jobs_state = state.clone();
    let prepared = Arc::new(prepared);
    state
        .in_lanes(move |_, work| {
            let reader = &jobs_state.engine.reader;
            let sharing: Vec<&(Arc<Ask>, Arc<Prepared>)> = prepared
                .iter()
                .flatten()
                .filter(|(ask, _)| ask.shares_budget)
                .collect();
            let demands: Vec<_> = sharing
                .iter()
                .map(|(ask, prepared)| reader.demand(ask, prepared, shared))
                .collect();
            let mut shares = share(&demands, shared).into_iter();
            let mut results = Vec::with_capacity(prepared.len());
            for one in prepared.iter() {
                work.check()?;
                results.push(match one {
                    Err(refusal) => json!({ "error": refusal.to_tool_error() }),
                    Ok((ask, prepared)) => {
                        let share = if ask.shares_budget {
                            shares.next()
                        } else {
                            None
                        };
                        let result = reader.finish(ask, prepared, share);
                        json!({ "ok": result })
                    }
                });
            }
            Ok(results)
        })
        .await
}
