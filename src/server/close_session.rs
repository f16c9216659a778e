//! `agent/closeSession`: forgets what was shown to a session and its children, and deletes what they have of their own; the snapshots stay, since others share them.

use std::sync::Arc;

use serde_json::json;

use crate::protocol::params::Fields;
use crate::read::session_name;
use crate::rpc;

use super::call::Call;
use super::client::Client;
use super::engine::Engine;
use super::read_many::DEFAULT_SESSION;

pub fn begin(engine: &Arc<Engine>, _: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let closed = Fields::of(&call.params, "")
        .and_then(|fields| session_name(fields, DEFAULT_SESSION))
        .map(|name| {
            engine.applied.lock().close(&name);
            engine.web.close_session(&name);
            engine.reader.kept.close(&name);
            let closed = engine.reader.sessions.close(&name);
            (engine.puts.begin_close(&name), closed, name)
        });
    let engine = engine.clone();
    call.answer(None, async move {
        let (mut turn, closed, name) = closed?;
        turn.come().await;
        let stores = engine.reader.stores.clone();
        engine
            .run(move |_| {
                stores.close(&name);
                Ok(())
            })
            .await?;
        Ok(json!({ "closed": closed }))
    })
}
