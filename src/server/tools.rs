//! `agent/tools`: what a model is told that it can call, in the words of one dialect; the list is made of what the methods take.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::buffer::OfferedSchemes;
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::protocol::search::search;
use crate::protocol::tools::{Describes, Edits, Tool, edit, read_many, write};
use crate::read::address_forms;
use crate::rpc;
use crate::view::dialect::{self, Dialect};

use super::call::Call;
use super::client::Client;
use super::config::WorkspaceConfig;
use super::engine::Engine;

#[derive(Debug, Serialize)]
pub struct Tools {
    pub tools: Vec<Tool>,
}

pub fn begin(_: &Arc<Engine>, client: &Arc<Client>, call: Call) -> rpc::CallFuture {
    let snapshot = client.snapshot();
    let offered = &snapshot.overlays.offered;
    let tools = of_params(&call.params, &snapshot.config, offered);
    call.answer(None, async move { tools })
}

fn of_params(
    params: &Value,
    config: &WorkspaceConfig,
    offered: &OfferedSchemes,
) -> Result<Tools, Refusal> {
    // No parameters at all is the same as none of them.
    let named = match params.is_null() {
        true => None,
        false => Fields::of(params, "")?.string("dialect")?,
    };
    tools_of(named, config, offered, Describes::EVERYTHING)
}

/// The tools in a dialect, or in the one of the settings. They name the schemes that are on, also those
/// that the client offers.
pub fn tools_of(
    named: Option<&str>,
    config: &WorkspaceConfig,
    offered: &OfferedSchemes,
    describes: Describes,
) -> Result<Tools, Refusal> {
    let settings = &config.settings;
    let dialect = dialect::by_name(named.unwrap_or(&settings.read.dialect))?;
    let describes = Describes {
        web: describes.web && settings.web.enabled,
        ..describes
    };
    let addresses = address_forms(settings, offered);
    Ok(list(dialect, settings.edit.enabled, describes, &addresses))
}

/// Their order is part of the contract: reads, the search, then edits.
fn list(dialect: &dyn Dialect, edits: bool, describes: Describes, addresses: &[String]) -> Tools {
    let headers = edits && dialect.edits() == Edits::ByLine;
    let mut tools = vec![dialect.read_tool(), read_many(), search(headers)];
    if edits {
        tools.push(edit(dialect.edits()));
        tools.push(write());
    }
    let described = tools
        .into_iter()
        .map(|tool| tool.describing(describes, addresses));
    Tools {
        tools: described.collect(),
    }
}
