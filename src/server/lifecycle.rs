//! `initialize`, folders and settings; no configuration is ever read from the workspace itself.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tower_lsp::jsonrpc;
use tower_lsp::ls_types as lsp;
use tower_lsp::ls_types::request::WorkspaceConfiguration;

use crate::protocol::{PROTOCOL_VERSION, Settings};
use crate::rpc::watch_process;
use crate::syntax::{self, Language};
use crate::text::PositionEncoding;
use crate::view::dialect::DIALECTS;
use crate::workspace::decode_file_uri;

use super::METHODS;
use super::client::{Client, ClientCapabilities};
use super::engine::Engine;
use super::recovery;

/// Takes the client's folders, settings and capabilities. Does no I/O but opening the log; what
/// earlier processes left is cleaned up in the background.
pub fn initialize(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: lsp::InitializeParams,
) -> jsonrpc::Result<lsp::InitializeResult> {
    if let Some(parent) = params.process_id {
        watch_process(parent, client.shutdown.clone());
    }
    let folders = initial_folders(client, &params);
    let (settings, problems) = Settings::read(&params.initialization_options.unwrap_or_default());
    for problem in problems {
        client.problems.lock().add(problem);
    }
    let workspace = params.capabilities.workspace.unwrap_or_default();
    let general = params.capabilities.general.unwrap_or_default();
    let utf8 = general
        .position_encodings
        .is_some_and(|offered| offered.contains(&lsp::PositionEncodingKind::UTF8));
    let offers = |what: &str| {
        let experimental = params.capabilities.experimental.as_ref();
        experimental.is_some_and(|experimental| experimental["pilcrow"][what] == true)
    };
    let (saves, follows) = (offers("saveDocument"), offers("followFile"));
    let credentials = params
        .capabilities
        .experimental
        .as_ref()
        .and_then(|experimental| experimental["pilcrow"]["credentials"].as_array())
        .is_some_and(|services| services.iter().any(|service| service == "github"));
    let document_changes = workspace
        .workspace_edit
        .as_ref()
        .and_then(|edit| edit.document_changes)
        .unwrap_or(false);
    // A second `initialize` never gets here, so the facts are set once.
    client.set_facts(ClientCapabilities {
        configuration: workspace.configuration.unwrap_or(false),
        save: saves,
        follow: follows,
        credentials,
        apply_edit: workspace.apply_edit.unwrap_or(false) && document_changes,
        positions: match utf8 {
            true => PositionEncoding::Utf8,
            false => PositionEncoding::Utf16,
        },
    });
    let experimental = params.capabilities.experimental.unwrap_or_default();
    if let Some(schemes) = experimental["pilcrow"]["resources"]["schemes"].as_array() {
        client.offer_schemes(schemes.iter().filter_map(Value::as_str));
    }
    client.configure(engine, folders, settings);
    recovery::begin(engine, client);
    recovery::remove_stores(engine);
    Ok(lsp::InitializeResult {
        capabilities: capabilities(utf8),
        server_info: Some(lsp::ServerInfo {
            name: "pilcrow".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        offset_encoding: None,
    })
}

fn capabilities(utf8: bool) -> lsp::ServerCapabilities {
    let encoding = match utf8 {
        true => lsp::PositionEncodingKind::UTF8,
        false => lsp::PositionEncodingKind::UTF16,
    };
    let kinds = crate::read::kinds();
    let languages: Vec<&str> = syntax::languages().iter().map(Language::name).collect();
    let dialects: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
    lsp::ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(lsp::TextDocumentSyncCapability::Options(
            lsp::TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(lsp::TextDocumentSyncKind::INCREMENTAL),
                save: Some(lsp::TextDocumentSyncSaveOptions::Supported(true)),
                ..Default::default()
            },
        )),
        workspace: Some(lsp::WorkspaceServerCapabilities {
            workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(lsp::OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        experimental: Some(json!({ "pilcrow": {
            "protocol": PROTOCOL_VERSION,
            "methods": METHODS,
            "dialects": dialects,
            "schemes": crate::read::schemes(),
            "languages": languages,
            "kinds": kinds,
        }})),
        ..Default::default()
    }
}

/// `workspaceFolders`, else `rootUri`, else the process's directory.
#[expect(
    clippy::disallowed_methods,
    reason = "the root of a client that names none"
)]
fn initial_folders(client: &Client, params: &lsp::InitializeParams) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(given) = &params.workspace_folders {
        folders.extend(
            given
                .iter()
                .filter_map(|folder| folder_path(client, folder.uri.as_str())),
        );
    }
    #[expect(
        deprecated,
        reason = "clients that predate workspace folders send only this"
    )]
    let root = &params.root_uri;
    if let (true, Some(root)) = (folders.is_empty(), root) {
        folders.extend(folder_path(client, root.as_str()));
    }
    if folders.is_empty() {
        folders.extend(std::env::current_dir());
    }
    folders
}

fn folder_path(client: &Client, uri: &str) -> Option<PathBuf> {
    match decode_file_uri(uri) {
        Ok(Some(path)) => Some(path),
        Ok(None) | Err(_) => {
            let problem =
                format!("The workspace folder {uri} is not a local folder and is left out.");
            client.problems.lock().add(problem);
            None
        }
    }
}

/// Folders come and go while the daemon runs.
pub fn change_folders(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: lsp::DidChangeWorkspaceFoldersParams,
) {
    let config = client.config();
    let paths = |folders: &[lsp::WorkspaceFolder]| -> Vec<PathBuf> {
        let path = |folder: &lsp::WorkspaceFolder| folder_path(client, folder.uri.as_str());
        folders.iter().filter_map(path).collect()
    };
    let removed = paths(&params.event.removed);
    let mut folders = config.folders.clone();
    folders.retain(|folder| !removed.contains(folder));
    for added in paths(&params.event.added) {
        if !folders.contains(&added) {
            folders.push(added);
        }
    }
    client.set_folders(engine, folders);
    recovery::begin(engine, client);
}

/// New settings, as sent or, when none are sent, as pulled from a client that can be asked.
pub async fn change_configuration(
    engine: &Arc<Engine>,
    client: &Arc<Client>,
    params: lsp::DidChangeConfigurationParams,
) {
    let sent = params.settings.get("pilcrow").cloned().unwrap_or_default();
    let can_be_asked = client.facts().configuration;
    let settings = match sent {
        Value::Null if can_be_asked => pull_configuration(client).await,
        Value::Null => None,
        sent => Some(sent),
    };
    if let Some(settings) = settings {
        let (settings, problems) = Settings::read(&settings);
        for problem in problems {
            client.problems.lock().add(problem);
        }
        client.configure(engine, client.config().folders.clone(), settings);
        // There may be other roots by them, too.
        recovery::begin(engine, client);
        recovery::report_when_done(engine, client);
    }
    client.report_problems().await;
}

/// How long a client may take to tell its settings.
const PULL_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

async fn pull_configuration(client: &Client) -> Option<Value> {
    let item = lsp::ConfigurationItem {
        scope_uri: None,
        section: Some("pilcrow".to_owned()),
    };
    let params = lsp::ConfigurationParams { items: vec![item] };
    let asked = client.ask::<WorkspaceConfiguration>(params);
    let answer = tokio::time::timeout(PULL_LIMIT, asked).await;
    match answer {
        Ok(Ok(sections)) => sections.into_iter().next(),
        Ok(Err(error)) => {
            let problem = format!("The client could not tell its settings: {error}");
            client.problems.lock().add(problem);
            None
        }
        Err(_) => {
            let problem = "The client did not tell its settings within 10 s.".to_owned();
            client.problems.lock().add(problem);
            None
        }
    }
}
