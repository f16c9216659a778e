//! `agent://ID`: what a subagent answered, and parts of its JSON by a path or by `?q=`.

mod part;

use std::io::Read;

use serde_json::value::RawValue;

use crate::protocol::Refusal;
use crate::protocol::read::{Cache, InternalDetails};
use crate::session::{Artifact, Key, Lookup};
use crate::task::Work;
use crate::text::Text;
use crate::view::Style;
use crate::workspace::{InternalUrl, percent_decoded};

use super::super::json::indented;
use super::artifact::{given, listing, refuse_without_sessions};
use super::{
    About, Given, GivenText, InternalAsk, InternalContext, Provider, ProviderFacts, one_line,
};

use part::Steps;

/// The provider of the scheme.
pub static AGENTS: Agents = Agents;

/// Bytes of an answer of which parts are given, and of a part as it is shown.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Agents;

impl Provider for Agents {
    fn facts(&self) -> &'static ProviderFacts {
        &ProviderFacts {
            name: "session",
            what: "what an agent answered",
            form: "ID",
            parameters: &["q"],
            ..ProviderFacts::DEFAULT
        }
    }

    fn get(&self, ask: &InternalAsk, context: &InternalContext) -> Result<Option<Given>, Refusal> {
        refuse_without_sessions(ask, context)?;
        context.stores.find_again(context.session)?;
        if ask.name.is_empty() {
            return Ok(Some(listing(context, true)));
        }
        if let Some((artifact, key, rest)) = answer(ask.name, context)
            && rest.is_empty()
        {
            // An id may have a '?' of its own.
            return given(&key, &artifact, ask, context).map(Some);
        }
        let (path, query) = match ask.written.split_once('?') {
            None => (ask.written, None),
            Some((path, query)) => match query.strip_prefix("q=") {
                Some(query) => (path, Some(decoded(query))),
                None => return Ok(None),
            },
        };
        let path = decoded(path);
        let Some((artifact, key, rest)) = answer(&path, context) else {
            return Ok(None);
        };
        let rest = rest.trim_matches('/').to_owned();
        let steps = match (rest.is_empty(), query) {
            (false, Some(_)) => {
                let message = "A path and ?q= both name a part; give one of them.";
                return Err(Refusal::bad_params("path", message));
            }
            (false, None) => Steps::of_path(&rest),
            (true, Some(query)) => Steps::of_query(&query)?,
            (true, None) => return given(&key, &artifact, ask, context).map(Some),
        };
        part_of(&artifact, &key, &steps, ask, context).map(Some)
    }

    fn names(&self, context: &InternalContext) -> Vec<String> {
        let all = context.stores.list(context.session).into_iter();
        let ids = all.filter_map(|(key, _)| match key {
            Key::Agent(id) => Some(id),
            Key::Number(_) => None,
        });
        ids.collect()
    }
}

fn decoded(written: &str) -> String {
    String::from_utf8_lossy(&percent_decoded(written.as_bytes())).into_owned()
}

/// The answer with the longest id that a name begins with, and what follows it.
fn answer<'a>(
    name: &'a str,
    context: &InternalContext,
) -> Option<(std::sync::Arc<Artifact>, Key, &'a str)> {
    let slashes = name.rmatch_indices('/').map(|(at, _)| at);
    for end in std::iter::once(name.len()).chain(slashes) {
        let key = Key::Agent(name[..end].to_owned());
        if let Lookup::Found(artifact) = context.stores.look(context.session, &key) {
            return Some((artifact, key, &name[end..]));
        }
    }
    None
}

/// The part of its JSON that the steps lead to.
fn part_of(
    artifact: &Artifact,
    key: &Key,
    steps: &Steps,
    ask: &InternalAsk,
    context: &InternalContext,
) -> Result<Given, Refusal> {
    let Key::Agent(id) = key else {
        return Err(Refusal::Internal);
    };
    let text = whole(artifact, ask, context.work)?;
    let json = json_of(&text).ok_or_else(|| Refusal::NoSuchPart {
        path: ask.spelled.to_owned(),
        message: format!("Output {id} is not JSON."),
        suggestions: Vec::new(),
    })?;
    let found = steps.follow(json).map_err(|message| Refusal::NoSuchPart {
        path: ask.spelled.to_owned(),
        message: format!("{message} in output {id}."),
        suggestions: Vec::new(),
    })?;
    let shown = match serde_json::from_str::<String>(&found) {
        Ok(string) => string,
        Err(_) => indented(&found, MAX_BYTES as usize).map_err(|_| Refusal::TooLarge {
            path: ask.spelled.to_owned(),
            what: "the part has over 32 MiB as it would be shown".to_owned(),
            instead: "Ask for a part of it.".to_owned(),
        })?,
    };
    Ok(Given::Text(GivenText {
        text: Text::new(&shown),
        about: About {
            url: Some(InternalUrl::new(
                "agent",
                &format!("{id}{}", steps.written()),
            )),
            details: InternalDetails {
                title: artifact.label.title.as_deref().map(one_line),
                ..InternalDetails::default()
            },
            ..About::default()
        },
        cache: Cache::Hit,
        style: Style::Lines,
        spills: false,
    }))
}

/// All of its text.
fn whole(artifact: &Artifact, ask: &InternalAsk, work: &Work) -> Result<String, Refusal> {
    let (handle, _reading) = artifact.open(false, work)?;
    if handle.stamp().size > MAX_BYTES {
        return Err(Refusal::TooLarge {
            path: ask.spelled.to_owned(),
            what: "parts are given of answers up to 32 MiB".to_owned(),
            instead: "Read its lines instead.".to_owned(),
        });
    }
    let mut bytes = Vec::new();
    let file = handle.open_read();
    let read = file.and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| Refusal::io(ask.spelled, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The whole text, else its only fence that is marked `json`.
fn json_of(text: &str) -> Option<&RawValue> {
    if let Ok(json) = serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        return Some(json);
    }
    let mut fences = fences(text).into_iter();
    match (fences.next(), fences.next()) {
        (Some(only), None) => serde_json::from_str(only).ok(),
        _ => None,
    }
}

/// What stands in the fences that are marked `json`.
fn fences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // The characters of an open fence, whether it is marked, and where its text begins.
    let mut open: Option<(char, usize, bool, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let plain = line.trim();
        let mark = plain.chars().next().filter(|c| matches!(c, '`' | '~'));
        let Some(mark) = mark else {
            continue;
        };
        let count = plain.chars().take_while(|c| *c == mark).count();
        if count < 3 {
            continue;
        }
        let said = plain[count..].trim();
        match open {
            None => {
                let word = said.split_whitespace().next().unwrap_or_default();
                open = Some((mark, count, word.eq_ignore_ascii_case("json"), at));
            }
            Some((by, length, is_json, from))
                if by == mark && count >= length && said.is_empty() =>
            {
                if is_json {
                    found.push(&text[from..start]);
                }
                open = None;
            }
            Some(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<&str> {
        json_of(text).map(RawValue::get)
    }

    #[test]
    fn json_is_the_whole_text_or_its_only_fence() {
        assert_eq!(said(" [1] \n"), Some("[1]"));
        assert_eq!(
            said("Here:\n```json\n{\"a\": 1}\n```\nDone."),
            Some("{\"a\": 1}")
        );
        assert_eq!(said("~~~~JSON x\n[\n```\n]\n~~~~\n"), None);
        assert_eq!(said("```json\n1\n```\n```json\n2\n```\n"), None);
        assert_eq!(said("```\n```json\n1\n```\n"), None);
        assert_eq!(said("```js\n1\n```\n```json\n2\n```\n"), Some("2"));
        assert_eq!(said("no"), None);
    }
}
