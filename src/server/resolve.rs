//! `agent/resolve`, which we ask the client for what is behind an address of a scheme that it offers, and `agent/didChangeSchemes`, by which it changes those.
//!
//! Nothing is held while it answers but the future of the read: the client may read through us for its answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use futures::future::WeakShared;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use tower_lsp::jsonrpc::Error;
use tower_lsp::ls_types::request::Request;

use crate::protocol::params::Fields;
use crate::protocol::{Refusal, ResourceAnswer, shortened};
use crate::read::{ClientAnswer, Resource};
use crate::rpc;
use crate::text::one_line;

use super::call::Call;
use super::client::Client;
use super::engine::Engine;

/// Characters that are passed on of the client's words.
const MAX_SAID: usize = 300;

/// `agent/resolve`.
enum Resolve {}

impl Request for Resolve {
    type Params = ResolveParams;
    type Result = Value;
    const METHOD: &'static str = "agent/resolve";
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ResolveParams {
    uri: String,
    session: String,
    /// What reads of the client's for this answer carry as `_meta["pilcrow/resolving"]`.
    resolving: String,
}

/// What the client has of an address. Dropping this calls the question off, unless somebody else
/// waits for the same.
pub async fn resolve(
    client: &Arc<Client>,
    session: &str,
    uri: &str,
    limit: Duration,
) -> ClientAnswer {
    let key = (session.to_owned(), uri.to_owned());
    let flight = {
        let mut flights = client.resolver.flights.lock();
        flights.retain(|_, flight| flight.upgrade().is_some());
        let flying = flights.get(&key).and_then(WeakShared::upgrade);
        flying.unwrap_or_else(|| {
            let params = ResolveParams {
                uri: uri.to_owned(),
                session: session.to_owned(),
                resolving: client
                    .resolver
                    .next
                    .fetch_add(1, Ordering::Relaxed)
                    .to_string(),
            };
            let flight = ask(client.clone(), params, limit).boxed().shared();
            if let Some(weak) = flight.downgrade() {
                flights.insert(key, weak);
            }
            flight
        })
    };
    flight.await
}

async fn ask(client: Arc<Client>, params: ResolveParams, limit: Duration) -> ClientAnswer {
    let uri = params.uri.clone();
    let asked = async {
        // The semaphore is never closed.
        let _place = client.resolver.places.acquire().await;
        client.ask_or_cancel::<Resolve>(params).await
    };
    let path = shortened(&uri).into_owned();
    match timeout(limit, asked).await {
        Ok(Ok(answer)) => read(answer, path),
        Ok(Err(error)) => refused(&error, path),
        Err(_) => ClientAnswer::Refused(Refusal::Timeout {
            message: format!(
                "The client did not answer for '{path}' within {} ms (internal.resolveTimeoutMs).",
                limit.as_millis()
            ),
            path: Some(path),
        }),
    }
}

fn read(answer: Value, path: String) -> ClientAnswer {
    match ResourceAnswer::read(answer) {
        Ok(None) => ClientAnswer::NotItsOwn,
        Ok(Some(answer)) if answer.bytes() > ResourceAnswer::MAX_BYTES => {
            ClientAnswer::Refused(Refusal::TooLarge {
                path,
                what: format!(
                    "the client answered with more than the {} MiB of a resource",
                    ResourceAnswer::MAX_BYTES / 1024 / 1024
                ),
                instead: "Ask for a smaller part of it.".to_owned(),
            })
        }
        Ok(Some(answer)) => ClientAnswer::Given(Resource::new(answer)),
        Err(why) => ClientAnswer::Refused(Refusal::Io {
            path,
            message: format!(
                "the client's answer is none to agent/resolve: {}",
                one_line(&why, MAX_SAID)
            ),
        }),
    }
}

fn refused(error: &Error, path: String) -> ClientAnswer {
    match error.code.code() {
        // As servers of the Model Context Protocol say that there is no such resource.
        -32002 | -32602 => ClientAnswer::Nothing,
        _ => ClientAnswer::Refused(Refusal::Io {
            path,
            message: one_line(&error.message, MAX_SAID),
        }),
    }
}

/// `agent/didChangeSchemes { schemes }`: the whole list.
pub fn begin_change(_: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    if let Err(refusal) = change(client, &call.params) {
        tracing::warn!(%refusal, "agent/didChangeSchemes");
        let problem = format!("agent/didChangeSchemes: {refusal}");
        client.problems.lock().add(problem);
    }
    let client = client.clone();
    call.answer(None, async move {
        client.report_problems().await;
        Ok(())
    })
}

fn change(client: &Client, params: &Value) -> Result<(), Refusal> {
    let schemes = Fields::of(params, "")?.list("schemes")?;
    let strings = || Refusal::bad_params("schemes", "'schemes' is a list of strings.");
    let names = schemes.ok_or_else(strings)?.iter().map(Value::as_str);
    let names: Option<Vec<&str>> = names.collect();
    client.offer_schemes(names.ok_or_else(strings)?);
    Ok(())
}
