//! An agent as the client of an engine: it has nothing open, and calls by the same ways as an
//! editor does.
//!
//! Each method takes a call's place in the order before it returns, and does no I/O; what it returns
//! is the rest of the call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::buffer::OfferedSchemes;
use crate::protocol::edit::EditResult;
use crate::protocol::read::ReadResult;
use crate::protocol::search::SearchResult;
use crate::protocol::tools::{Describes, Tool};
use crate::protocol::{Refusal, Settings};
use crate::rpc::Shutdown;
use crate::session::{Notice, Stores};
use crate::task::{CancelToken, Threads};
use crate::workspace::{is_project, sessions_directory};

use super::client::{Client, Listener};
use super::config::WorkspaceConfig;
use super::engine::Engine;
use super::read_many::ReadResults;
use super::tools::tools_of;
use super::{Commits, OnSettings, edit, read, read_many, recovery, search, watch, write};

/// The rest of an edit or of a write.
pub type EditAnswer = BoxFuture<'static, Result<EditResult, Refusal>>;

/// An engine, and the agent that is its client. Clones share both.
#[derive(Clone)]
pub struct Agent {
    engine: Arc<Engine>,
    client: Arc<Client>,
}

impl Agent {
    /// Without folders so far. `tell` hears that lines which were shown have changed.
    pub fn new(
        settings: Settings,
        threads: Threads,
        shutdown: Shutdown,
        on_settings: OnSettings,
        tell: impl Fn(Vec<Notice>) + Send + Sync + 'static,
    ) -> Agent {
        let engine = Arc::new(Engine::new(
            threads,
            Stores::new(Some(sessions_directory())),
        ));
        let config = WorkspaceConfig::new(Vec::new(), Settings::default(), &engine.scans);
        let listener = Listener::Agent(Arc::new(tell));
        let client = Arc::new(Client::new(listener, config, shutdown, on_settings));
        client.configure(&engine, Vec::new(), settings);
        watch(&engine, &client);
        Agent { engine, client }
    }

    /// The commits that must not be cut off by the end of the process.
    pub fn commits(&self) -> Commits {
        Commits::of(self.engine.clone())
    }

    /// The threads that poll futures.
    pub fn threads(&self) -> &Threads {
        &self.engine.threads
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.client.config().settings.clone()
    }

    pub fn folders(&self) -> Vec<PathBuf> {
        self.client.config().folders.clone()
    }

    /// Takes other folders, for every call that comes later; what dead processes left there is
    /// cleaned up in the background.
    pub fn set_folders(&self, folders: Vec<PathBuf>) {
        self.client.set_folders(&self.engine, folders);
        recovery::begin(&self.engine, &self.client);
    }

    /// Those of the folders that are projects; what cannot be looked at in time is none.
    pub async fn projects(&self, folders: Vec<PathBuf>, limit: Duration) -> Vec<PathBuf> {
        let looked = self.engine.run_within(limit, move |_| {
            let there = folders.into_iter().filter(|folder| is_project(folder));
            Ok(there.collect())
        });
        looked.await.unwrap_or_default()
    }

    /// The tools in the dialect of the settings.
    pub fn tools(&self) -> Result<Vec<Tool>, Refusal> {
        let describes = Describes {
            unsaved: false,
            web: true,
            whole_files: false,
        };
        let (config, offered) = (self.client.config(), OfferedSchemes::default());
        Ok(tools_of(None, &config, &offered, describes)?.tools)
    }

    /// `agent/read`.
    pub fn read(&self, params: &Value) -> BoxFuture<'static, Result<ReadResult, Refusal>> {
        let (_, answer) = read::answer(&self.engine, &self.client, params);
        Box::pin(answer)
    }

    /// `agent/readMany`.
    pub fn read_many(&self, params: &Value) -> BoxFuture<'static, Result<ReadResults, Refusal>> {
        Box::pin(read_many::answer(&self.engine, &self.client, params))
    }

    /// `agent/search`.
    pub fn search(&self, params: &Value) -> BoxFuture<'static, Result<SearchResult, Refusal>> {
        let (_, answer) = search::answer(&self.engine, &self.client, params);
        Box::pin(answer)
    }

    /// `agent/edit`.
    pub fn edit(&self, params: &Value, cancel: CancelToken) -> EditAnswer {
        Box::pin(edit::answer(&self.engine, &self.client, params, cancel))
    }

    /// `agent/write`.
    pub fn write(&self, params: &Value, cancel: CancelToken) -> EditAnswer {
        let (_, answer) = write::answer(&self.engine, &self.client, params, cancel);
        Box::pin(answer)
    }
}
