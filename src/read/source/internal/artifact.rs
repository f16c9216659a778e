//! `artifact://N`: a text that was cut in an answer, or that a client put there (`agent/putArtifact`).

use std::sync::Arc;
use std::time::SystemTime;

use crate::protocol::Refusal;
use crate::protocol::read::{InternalDetails, NamedResource};
use crate::session::{Artifact, Key, Lookup};
use crate::view::listing::age;
use crate::view::size::file_size;
use crate::workspace::InternalUrl;

use super::{
    About, Given, GivenFile, Hold, InternalAsk, InternalContext, Listing, Provider, ProviderFacts,
    one_line,
};

/// The provider of the scheme.
pub static ARTIFACTS: Artifacts = Artifacts;

/// Bytes from which one that grows is read by lines, and not as a whole each time.
const HELD_WHILE_IT_GROWS: u64 = 1024 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Artifacts;

impl Provider for Artifacts {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "session",
            what: "kept as it came",
            form: "N",
            ..ProviderFacts::DEFAULT
        }
    }

    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal> {
        refuse_without_sessions(ask, context)?;
        context.stores.find_again(context.session)?;
        if ask.name.is_empty() {
            return Ok(Some(listing(context, false)));
        }
        let Some(number) = number(ask.name) else {
            return Ok(None);
        };
        let key = Key::Number(number);
        match context.stores.look(context.session, &key) {
            Lookup::Found(artifact) => given(&key, &artifact, ask, context).map(Some),
            Lookup::Dropped(limit) => Err(Refusal::NoSuchPart {
                path: ask.spelled.to_owned(),
                message: format!("{} was dropped to make room ({limit}).", key.url()),
                suggestions: Vec::new(),
            }),
            Lookup::Never => Ok(None),
        }
    }

    fn names(&self, context: &InternalContext) -> Vec<String> {
        let all = context.stores.list(context.session).into_iter();
        let numbers = all.filter_map(|(key, _)| match key {
            Key::Number(number) => Some(number.to_string()),
            Key::Agent(_) => None,
        });
        numbers.collect()
    }
}

/// Of a process that serves no sessions, such as the command line.
pub fn refuse_without_sessions(
    ask: &InternalAsk,
    context: &InternalContext,
) -> Result<(), Refusal> {
    match context.stores.is_on() {
        true => Ok(()),
        false => Err(Refusal::Unsupported {
            path: Some(ask.spelled.to_owned()),
            message: format!(
                "'{}' is of a session, and the command line has none. Ask the daemon that serves the session.",
                ask.spelled
            ),
        }),
    }
}

/// Digits alone, without a zero before them.
fn number(name: &str) -> Option<u64> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit()) && !name.starts_with('0');
    name.parse().ok().filter(|_| is_plain)
}

/// A file of the store, as its kind.
pub fn given(
    key: &Key,
    artifact: &Arc<Artifact>,
    ask: &InternalAsk,
    context: &InternalContext,
) -> Result<Given, Refusal> {
    let (handle, reading) = artifact.open(ask.selector.raw, context.work)?;
    let label = &artifact.label;
    let (scheme, name) = match key {
        Key::Number(number) => ("artifact", number.to_string()),
        Key::Agent(id) => ("agent", id.clone()),
    };
    Ok(Given::File(Box::new(GivenFile {
        handle,
        scope: None,
        about: About {
            url: Some(InternalUrl::new(scheme, &name)),
            details: InternalDetails {
                title: label.title.as_deref().map(one_line),
                content_type: label.mime_type.as_deref().map(one_line),
                ..InternalDetails::default()
            },
            notices: match context.tells_title {
                true => vec![format!("{}: {}", key.url(), title_of(artifact))],
                false => Vec::new(),
            },
            ..About::default()
        },
        is_editable: false,
        is_spooled: false,
        is_text: label.is_text || label.is_terminal,
        held_up_to: artifact.grows().then_some(HELD_WHILE_IT_GROWS),
        hold: Some(Hold::new(reading)),
    })))
}

/// `cargo test, 48213 lines, 3.1MB`.
fn title_of(artifact: &Artifact) -> String {
    let title = artifact.label.title.as_deref().map(one_line);
    let title = title.filter(|title| !title.is_empty());
    let title = title.map(|title| format!("{title}, "));
    title.unwrap_or_default() + &size_of(artifact)
}

/// `48213 lines, 3.1MB`.
fn size_of(artifact: &Artifact) -> String {
    let facts = artifact.facts();
    let bytes = file_size(facts.bytes);
    match facts.lines() {
        Some(1) => format!("1 line, {bytes}"),
        Some(lines) => format!("{lines} lines, {bytes}"),
        None => bytes,
    }
}

/// What a session has: its artifacts, or agents' answers.
pub fn listing(context: &InternalContext, is_of_agents: bool) -> Given {
    let all = context.stores.list(context.session).into_iter();
    let all: Vec<_> = all
        .filter(|(key, _)| matches!(key, Key::Agent(_)) == is_of_agents)
        .collect();
    if all.is_empty() {
        return Given::text(match is_of_agents {
            true => "No answers of agents in this session\n",
            false => "No artifacts in this session\n",
        });
    }
    let now = since_epoch(SystemTime::now());
    let row = |(key, artifact): &(Key, Arc<Artifact>)| {
        let title = artifact.label.title.as_deref().map(one_line);
        let at = since_epoch(artifact.facts().written_at);
        vec![
            key.url(),
            title.unwrap_or_default(),
            size_of(artifact),
            age(at, now),
        ]
    };
    Given::List(Listing {
        rows: all.iter().map(row).collect(),
        resources: all.iter().map(|(key, it)| resource(key, it)).collect(),
        ..Listing::default()
    })
}

fn resource(key: &Key, artifact: &Artifact) -> NamedResource {
    let name = match key {
        Key::Number(number) => number.to_string(),
        Key::Agent(id) => id.clone(),
    };
    NamedResource {
        uri: key.url(),
        name,
        description: artifact.label.title.as_deref().map(one_line),
        mime_type: artifact.label.mime_type.as_deref().map(one_line),
        size: Some(artifact.facts().bytes),
        provider: ARTIFACTS.facts().name,
        path: Some(artifact.path.display().to_string()),
        ..NamedResource::default()
    }
}

fn since_epoch(at: SystemTime) -> i128 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i128)
}
