//! One client: what it can do, what it has open, its roots and settings as of now, and what it was
//! told and asked.
//!
//! An editor is one, over the LSP; an agent over MCP is one that has nothing open, and so is the
//! command line, which hears nothing either. There is one client for an engine.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::Error;
use tower_lsp::ls_types::notification::{Notification, ShowMessage};
use tower_lsp::ls_types::request::Request;
use tower_lsp::ls_types::{MessageType, ShowMessageParams};

use crate::buffer::{DocumentId, OfferedSchemes, Overlay, Overlays};
use crate::protocol::Settings;
use crate::rpc::{self, Shutdown};
use crate::session::{Actor, Notice};
use crate::text::{PositionEncoding, Text};

use super::OnSettings;
use super::config::{ClientSnapshot, WorkspaceConfig};
use super::engine::{Engine, with_folders_over};
use super::problems::Problems;
use super::resolver::Resolver;

/// What the client said it can do.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientCapabilities {
    /// Answers `workspace/configuration`.
    pub configuration: bool,
    /// What the characters of positions count.
    pub positions: PositionEncoding,
    /// Answers `workspace/applyEdit`, and heeds the versions in it.
    pub apply_edit: bool,
    /// Answers `agent/saveDocument`.
    pub save: bool,
    /// Answers `agent/followFile`.
    pub follow: bool,
    /// Answers `agent/credential` for GitHub.
    pub credentials: bool,
}

/// A text that a document is to show.
#[derive(Debug)]
pub struct Expectation {
    pub key: DocumentId,
    pub text: Text,
    pub found: oneshot::Sender<Option<Arc<Overlay>>>,
}

/// Who hears what a client is told.
pub enum Listener {
    /// Nobody hears the command line's engine.
    Nobody,
    Editor(rpc::Client),
    /// An agent hears only of lines that it was shown, with its next answer.
    Agent(Arc<dyn Fn(Vec<Notice>) + Send + Sync>),
}

pub struct Client {
    listener: Listener,
    pub shutdown: Shutdown,
    pub started: Instant,
    facts: OnceLock<ClientCapabilities>,
    config: Arc<Mutex<Arc<WorkspaceConfig>>>,
    overlays: Mutex<Overlays>,
    pub problems: Mutex<Problems>,
    pub log: Mutex<Option<String>>,
    /// `shutdown` was answered: the process may end well.
    pub shut_down: AtomicBool,
    on_settings: OnSettings,
    /// Documents that are looked at again for notices; whether a change came that no look has seen.
    pub looks: Mutex<HashMap<(DocumentId, Actor), bool>>,
    /// Texts that open documents are to show.
    pub expected: Mutex<Vec<Expectation>>,
    /// Open documents that the editor is being asked to change: what becomes of them is recorded by
    /// who asked.
    pub asked: Mutex<HashSet<DocumentId>>,
    /// Open documents that were clean until an edit of ours, which is not saved.
    pub unsaved_by_us: Mutex<HashSet<DocumentId>>,
    /// What it is being asked for the texts of.
    pub resolver: Resolver,
}

impl Client {
    /// A client that has said nothing yet.
    pub fn new(
        listener: Listener,
        config: WorkspaceConfig,
        shutdown: Shutdown,
        on_settings: OnSettings,
    ) -> Client {
        Client {
            listener,
            shutdown,
            started: Instant::now(),
            facts: OnceLock::new(),
            config: Arc::new(Mutex::new(Arc::new(config))),
            overlays: Mutex::default(),
            problems: Mutex::default(),
            log: Mutex::default(),
            shut_down: AtomicBool::new(false),
            on_settings,
            looks: Mutex::default(),
            expected: Mutex::default(),
            asked: Mutex::default(),
            unsaved_by_us: Mutex::default(),
            resolver: Resolver::default(),
        }
    }

    /// What it said it can do; nothing before it said so.
    pub fn facts(&self) -> ClientCapabilities {
        self.facts.get().copied().unwrap_or_default()
    }

    /// Whether it has said what it can do.
    pub fn is_initialized(&self) -> bool {
        self.facts.get().is_some()
    }

    /// Takes what it can do. It says so once.
    pub fn set_facts(&self, facts: ClientCapabilities) {
        let _ = self.facts.set(facts);
    }

    /// Roots and settings as of now.
    pub fn config(&self) -> Arc<WorkspaceConfig> {
        self.config.lock().clone()
    }

    /// Everything that decides what a request means, as of now: taken when it begins.
    pub fn snapshot(&self) -> ClientSnapshot {
        let mut overlays = self.overlays.lock().clone();
        overlays.taken_at = Some(Instant::now());
        ClientSnapshot {
            config: self.config(),
            overlays,
        }
    }

    /// Changes the open documents, for every request that comes later.
    pub fn change_overlays<T>(&self, change: impl FnOnce(&mut Overlays) -> T) -> T {
        change(&mut self.overlays.lock())
    }

    /// Takes folders and settings over, all at once, for every request that comes later.
    pub fn configure(&self, engine: &Engine, folders: Vec<PathBuf>, settings: Settings) {
        match (self.on_settings)(&settings) {
            Ok(log) => *self.log.lock() = Some(log),
            Err(problem) => self.problems.lock().add(problem),
        }
        self.set_config(
            engine,
            WorkspaceConfig::new(folders, settings, &engine.scans),
        );
    }

    /// As [`Client::configure`], of folders alone.
    pub fn set_folders(&self, engine: &Engine, folders: Vec<PathBuf>) {
        let config = self.config().with_folders(folders, &engine.scans);
        self.set_config(engine, config);
    }

    fn set_config(&self, engine: &Engine, config: WorkspaceConfig) {
        let config = Arc::new(config);
        *self.config.lock() = config.clone();
        engine.heed(&config.settings);
    }

    /// Has the engine watch what is read from now on. Each path is judged by the settings of its
    /// moment.
    pub fn start_watching(&self, engine: &Engine) {
        let config = self.config.clone();
        let stores = engine.reader.stores.clone();
        let open = move |path: &Path| {
            let config = config.lock().clone();
            with_folders_over(&stores, &config.scope, path).open(path)
        };
        engine.reader.buffers.start_watching(Box::new(open));
    }

    /// Tells it something, in the order of what it is told and answered.
    pub async fn notify<N: Notification>(&self, params: N::Params) {
        if let Listener::Editor(connection) = &self.listener {
            connection.notify::<N>(params).await;
        }
    }

    /// Who hears what it is told.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Tells it, once each, what was wrong with its settings and folders, and what else went wrong
    /// outside any request.
    pub async fn report_problems(&self) {
        let untold = self.problems.lock().take_untold();
        for message in untold {
            let typ = MessageType::WARNING;
            let params = ShowMessageParams { typ, message };
            self.notify::<ShowMessage>(params).await;
        }
    }

    /// Asks it something; where the answer is no longer waited for, it hears that.
    pub async fn ask_or_cancel<R: Request>(&self, params: R::Params) -> Result<R::Result, Error> {
        match &self.listener {
            Listener::Editor(connection) => connection.ask_or_cancel::<R>(params).await,
            Listener::Nobody | Listener::Agent(_) => Err(Error::method_not_found()),
        }
    }

    /// Takes the schemes over of which it has the texts, for every request that comes later.
    pub fn offer_schemes<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let (offered, problems) = OfferedSchemes::of(names);
        self.change_overlays(|overlays| overlays.offered = offered);
        let mut known = self.problems.lock();
        problems.into_iter().for_each(|problem| known.add(problem));
    }

    /// Asks it something; without a limit, which is the caller's to set.
    pub async fn ask<R: Request>(&self, params: R::Params) -> Result<R::Result, Error> {
        match &self.listener {
            Listener::Editor(connection) => connection.ask::<R>(params).await,
            Listener::Nobody | Listener::Agent(_) => Err(Error::method_not_found()),
        }
    }
}
