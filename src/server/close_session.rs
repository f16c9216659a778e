//! `agent/closeSession`: forgets what was shown to one session; the snapshots stay, since others share them.

use serde_json::{Value, json};
use tower_lsp::jsonrpc;

use crate::protocol::params::Fields;
use crate::read::session_name;

use super::Server;
use super::handler::answer;
use super::read_many::DEFAULT_SESSION;

impl Server {
    pub async fn close_session(&self, params: Value) -> jsonrpc::Result<Value> {
        let closed = Fields::of(&params, "")
            .and_then(|fields| session_name(fields, DEFAULT_SESSION))
            .map(|name| {
                self.state.applied.lock().close(&name);
                self.state.engine.reader.sessions.close(&name)
            });
        answer("agent/closeSession", None, async move {
            closed.map(|closed| json!({ "closed": closed }))
        })
        .await
    }
}
