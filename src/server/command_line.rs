//! The command line as a client of an engine of its own: it has nothing open, hears nothing, and
//! asks one thing at a time, by the same ways as everybody.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::buffer::OfferedSchemes;
use crate::protocol::edit::EditResult;
use crate::protocol::read::ReadResult;
use crate::protocol::search::SearchResult;
use crate::protocol::status::Status;
use crate::protocol::tools::Describes;
use crate::protocol::{Refusal, Settings};
use crate::rpc::Shutdown;
use crate::session::Stores;
use crate::task::{CancelToken, Threads};

use super::client::{Client, Listener};
use super::config::WorkspaceConfig;
use super::engine::Engine;
use super::tools::{Tools, tools_of};
use super::{edit, read, recovery, search, status};

/// An engine and the command line that is its client.
pub struct CommandLine {
    engine: Arc<Engine>,
    client: Arc<Client>,
}

impl CommandLine {
    /// Over these folders. Does no I/O, and watches nothing.
    pub fn new(folders: Vec<PathBuf>, settings: Settings, threads: Threads) -> CommandLine {
        // It serves no sessions.
        let engine = Arc::new(Engine::new(threads, Stores::new(None)));
        engine.heed(&settings);
        let config = WorkspaceConfig::new(folders, settings, &engine.scans);
        let no_log = Box::new(|_: &Settings| Ok(String::new()));
        CommandLine {
            client: Arc::new(Client::new(
                Listener::Nobody,
                config,
                Shutdown::new(),
                no_log,
            )),
            engine,
        }
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.client.config().settings.clone()
    }

    /// `agent/read`, the only one: what was started for it is ended.
    pub async fn read(&self, params: &Value) -> Result<ReadResult, Refusal> {
        let (_, answer) = read::answer(&self.engine, &self.client, params);
        let answered = answer.await;
        self.engine.mcp.end().await;
        answered
    }

    /// `agent/search`.
    pub async fn search(&self, params: &Value) -> Result<SearchResult, Refusal> {
        let (_, answer) = search::answer(&self.engine, &self.client, params);
        answer.await
    }

    /// `agent/edit`, after what dead processes left is cleaned up.
    pub async fn edit(&self, params: &Value) -> Result<EditResult, Refusal> {
        recovery::begin(&self.engine, &self.client);
        edit::answer(&self.engine, &self.client, params, CancelToken::new()).await
    }

    /// `agent/tools`, in a dialect or in the one of the settings.
    pub fn tools(&self, dialect: Option<&str>) -> Result<Tools, Refusal> {
        let (config, offered) = (self.client.config(), OfferedSchemes::default());
        tools_of(dialect, &config, &offered, Describes::EVERYTHING)
    }

    /// `agent/status`.
    pub fn status(&self) -> Status {
        Status {
            log: None,
            uptime_ms: 0,
            ..status::of(&self.engine, &self.client)
        }
    }
}
