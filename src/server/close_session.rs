//! `agent/closeSession`: forgets what was shown to one session; the snapshots stay, since others share them.

use std::sync::Arc;

use serde_json::json;

use crate::protocol::params::Fields;
use crate::read::session_name;
use crate::rpc;

use super::call::Call;
use super::read_many::DEFAULT_SESSION;
use super::state::State;

pub fn begin(state: &Arc<State>, call: Call) -> rpc::Call {
    let closed = Fields::of(&call.params, "")
        .and_then(|fields| session_name(fields, DEFAULT_SESSION))
        .map(|name| {
            state.applied.lock().close(&name);
            state.engine.reader.sessions.close(&name)
        });
    call.answer(None, async move {
        closed.map(|closed| json!({ "closed": closed }))
    })
}
