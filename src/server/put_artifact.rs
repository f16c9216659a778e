//! `agent/putArtifact`: a shell tool's output, a subagent's answer; kept for the session, and read at once if that is asked for.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::edit::flag;
use crate::protocol::Refusal;
use crate::protocol::params::Fields;
use crate::protocol::read::ReadResult;
use crate::read::{Ask, looks_like_address, session_name};
use crate::rpc;
use crate::session::{Key, Label, Lookup, Material, PutArtifact, in_words};
use crate::task::Work;
use crate::view::Selector;
use crate::view::dialect;
use crate::workspace::{FileType, Scope};

use super::call::Call;
use super::client::Client;
use super::config::ClientSnapshot;
use super::engine::Engine;
use super::read::answer_to;
use super::read_many::DEFAULT_SESSION;

/// Bytes of an agent's id, and of a title.
const MAX_ID_BYTES: usize = 256;

/// One call.
#[derive(Debug)]
struct PutRequest {
    session: String,
    /// What it is put under; `None` for the next artifact.
    key: Option<Key>,
    appends: bool,
    label: Label,
    given: GivenBytes,
    /// The parameters of the read, but for its path and selector.
    read: Option<(Option<String>, Map<String, Value>)>,
}

/// Where the bytes are.
#[derive(Debug)]
enum GivenBytes {
    Text(String),
    Base64(String),
    Path(String),
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PutResult {
    uri: String,
    path: String,
    bytes: u64,
    lines: Option<u64>,
    dropped: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<ReadResult>,
    /// Why it is there and was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_error: Option<Value>,
}

pub fn begin(engine: &Arc<Engine>, client: &Arc<Client>, mut call: Call) -> rpc::CallFuture {
    let snapshot = client.snapshot();
    let request = PutRequest::parse(&mut call.params);
    let begun = request.map(|request| (engine.puts.begin_put(&request.session), request));
    let (engine, client) = (engine.clone(), client.clone());
    call.answer(None, async move {
        let (mut turn, request) = begun?;
        turn.come().await;
        let (session, read) = (request.session.clone(), request.read.clone());
        let put = put(&engine, &snapshot, request).await?;
        let facts = put.artifact.facts();
        let mut result = PutResult {
            uri: put.key.url(),
            path: put.artifact.path.display().to_string(),
            bytes: facts.bytes,
            lines: facts.lines(),
            dropped: put.dropped,
            read: None,
            read_error: None,
        };
        // What is added later is not part of what is shown.
        if let Some(read) = read {
            let settings = &snapshot.config.settings;
            let asked = params_of(read, &result.uri, &session, &settings.read.dialect);
            let asked = asked.and_then(|params| Ask::parse(&params, &session, settings));
            let asked = asked.map(|ask| Ask {
                tells_title: true,
                ..ask
            });
            let shown = match asked {
                Ok(ask) => answer_to(&engine, &client, ask, snapshot).await,
                Err(refusal) => Err(refusal),
            };
            match shown {
                Ok(shown) => result.read = Some(shown),
                // It is there all the same.
                Err(refusal) => result.read_error = Some(json!(refusal.to_tool_error())),
            }
        }
        drop(turn);
        Ok(result)
    })
}

/// The parameters of a read of what was put there: the selector stands in the path, since every dialect
/// takes it there.
fn params_of(
    (selector, mut params): (Option<String>, Map<String, Value>),
    uri: &str,
    session: &str,
    default_dialect: &str,
) -> Result<Value, Refusal> {
    let named = params.get("dialect").and_then(Value::as_str);
    let dialect = dialect::by_name(named.unwrap_or(default_dialect))?;
    let path = match selector {
        Some(selector) if !selector.is_empty() => format!("{uri}:{selector}"),
        _ => uri.to_owned(),
    };
    params.insert(dialect.path_parameter().to_owned(), path.into());
    params.insert("session".to_owned(), session.into());
    Ok(Value::Object(params))
}

impl PutRequest {
    /// Takes the parameters: what is put there can be long, and is not copied.
    fn parse(params: &mut Value) -> Result<PutRequest, Refusal> {
        let fields = Fields::of(params, "")?;
        let session = session_name(fields, DEFAULT_SESSION)?;
        let given = ["text", "base64", "path"];
        let given: Vec<&str> = given
            .into_iter()
            .filter(|key| fields.get(key).is_some())
            .collect();
        let [given] = given[..] else {
            let message = "Give exactly one of 'text', 'base64' and 'path'.";
            return Err(Refusal::bad_params("text", message));
        };
        fields.required_string(given)?;
        let appends = flag(fields, "append")?;
        let key = fields.string("uri")?.map(key_of).transpose()?;
        match (&key, appends) {
            (None, true) => {
                let message = "'append' takes the 'uri' of what is there.";
                return Err(Refusal::bad_params("uri", message));
            }
            (Some(Key::Number(_)), false) => {
                let message = "An artifact is never replaced: leave 'uri' out to get the next number, or set 'append'.";
                return Err(Refusal::bad_params("uri", message));
            }
            _ => {}
        }
        let title = fields.string("name")?.map(str::to_owned);
        if title.as_ref().is_some_and(|title| title.len() > 4096) {
            return Err(Refusal::bad_params(
                "name",
                "'name' must have at most 4096 bytes.",
            ));
        }
        let label = Label {
            title,
            mime_type: fields.string("mimeType")?.map(str::to_owned),
            is_terminal: flag(fields, "terminal")?,
            is_text: given == "text",
            is_spilled: false,
        };
        let read = match fields.object("read")? {
            None => None,
            Some(read) => Some(read_params(read)?),
        };
        let taken = params.get_mut(given).map(Value::take);
        let Some(Value::String(taken)) = taken else {
            return Err(Refusal::Internal);
        };
        Ok(PutRequest {
            session,
            key,
            appends,
            label,
            read,
            given: match given {
                "text" => GivenBytes::Text(taken),
                "base64" => GivenBytes::Base64(taken),
                _ => GivenBytes::Path(taken),
            },
        })
    }
}

fn read_params(read: Fields) -> Result<(Option<String>, Map<String, Value>), Refusal> {
    const KNOWN: [&str; 3] = ["selector", "dialect", "budget"];
    if let Some(key) = read
        .entries()
        .keys()
        .find(|key| !KNOWN.contains(&key.as_str()))
    {
        let message = format!("'read' takes selector, dialect and budget, not '{key}'.");
        return Err(Refusal::bad_params("read", message));
    }
    let selector = read.string("selector")?;
    let selector = selector.map(|text| text.strip_prefix(':').unwrap_or(text).to_owned());
    if let Some(selector) = selector.as_deref().filter(|it| !it.is_empty()) {
        Selector::parse(selector).map_err(|error| Refusal::BadSelector {
            path: None,
            message: error.to_string(),
        })?;
    }
    let mut params = read.entries().clone();
    params.remove("selector");
    Ok((selector, params))
}

/// What something is put under.
fn key_of(uri: &str) -> Result<Key, Refusal> {
    let (scheme, name) = uri.split_once("://").unwrap_or((uri, ""));
    if scheme.eq_ignore_ascii_case("artifact")
        && let Ok(number) = name.parse()
    {
        return Ok(Key::Number(number));
    }
    let is_name = !name.is_empty()
        && name.len() <= MAX_ID_BYTES
        && !name.starts_with('/')
        && !name.ends_with('/')
        && !name.contains(|c: char| c.is_control() || matches!(c, '?' | '%' | '\\'));
    if scheme.eq_ignore_ascii_case("agent") && is_name {
        return Ok(Key::Agent(name.to_owned()));
    }
    let message = "'uri' must be artifact://N of one that is there, or agent://ID with an id of at most 256 bytes without ?, % and \\. Scratch files are written by agent/write.";
    Err(Refusal::bad_params("uri", message))
}

async fn put(
    engine: &Arc<Engine>,
    snapshot: &ClientSnapshot,
    request: PutRequest,
) -> Result<PutArtifact, Refusal> {
    let (jobs_engine, config) = (engine.clone(), snapshot.config.clone());
    let job = move |work: &Work| {
        let scope = jobs_engine.scope(&config, &request.session, work);
        let PutRequest {
            session,
            key,
            appends,
            label,
            given,
            ..
        } = request;
        let most = config.settings.artifacts.max_bytes;
        let (material, name) = material(given, most, &scope, work)?;
        let stores = &jobs_engine.reader.stores;
        stores.find_again(&session)?;
        match (key, appends) {
            (Some(key), true) => {
                refuse_missing(&key, stores.look_own(&session, &key))?;
                stores.append(&session, &key, material, work)
            }
            (Some(Key::Agent(id)), false) => {
                stores.put(&session, Some(&id), label, name.as_deref(), &material, work)
            }
            (Some(Key::Number(_)) | None, _) => {
                stores.put(&session, None, label, name.as_deref(), &material, work)
            }
        }
    };
    engine.run(job).await
}

/// There is nothing to append to.
fn refuse_missing(key: &Key, found: Lookup) -> Result<(), Refusal> {
    let message = match found {
        Lookup::Found(_) => return Ok(()),
        Lookup::Dropped(limit) => format!("{} was dropped to make room ({limit}).", key.url()),
        Lookup::Never => format!("There is no {} in this session.", key.url()),
    };
    Err(Refusal::NoSuchPart {
        path: key.url(),
        message,
        suggestions: Vec::new(),
    })
}

/// The bytes, and the name that they have where they are.
fn material(
    given: GivenBytes,
    most: u64,
    scope: &Scope,
    work: &Work,
) -> Result<(Material, Option<String>), Refusal> {
    match given {
        GivenBytes::Text(text) => Ok((Material::Text(text), None)),
        GivenBytes::Base64(text) => {
            if text.len() as u64 > 1024 * 1024 {
                work.takes_long()?;
            }
            let bytes = STANDARD.decode(text).map_err(|error| {
                Refusal::bad_params("base64", format!("'base64' is not base64: {error}."))
            })?;
            Ok((Material::Bytes(bytes), None))
        }
        GivenBytes::Path(path) => {
            if looks_like_address(&path) && !scope.is_in_url_folder(&path) {
                return Err(Refusal::NotFound {
                    path,
                    suggestions: Vec::new(),
                });
            }
            let handle = match scope.find_exact(&path) {
                Ok(Some(found)) => found.handle,
                Ok(None) => {
                    return Err(Refusal::NotFound {
                        path,
                        suggestions: Vec::new(),
                    });
                }
                Err(refusal @ Refusal::OutsideWorkspace { .. }) => {
                    scope.temporary_file(Path::new(&path))?.ok_or(refusal)?
                }
                Err(refusal) => return Err(refusal),
            };
            if handle.file_type() != FileType::Regular {
                return Err(Refusal::NotRegular {
                    path,
                    what: match handle.file_type() {
                        FileType::Other(what) => what.to_owned(),
                        FileType::Directory | FileType::Regular => "a directory".to_owned(),
                    },
                });
            }
            if handle.stamp().size > most {
                return Err(Refusal::TooLarge {
                    path,
                    what: format!("an artifact has at most {}", in_words(most)),
                    instead: "Read it from where it is.".to_owned(),
                });
            }
            let name = handle.real().as_path().file_name();
            let name = name.map(|name| name.to_string_lossy().into_owned());
            Ok((Material::Copy(handle), name))
        }
    }
}
