//! Lists of issues and pull requests: always asked for, never kept.

use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use super::api::{Access, Api, JSON, NoReply, Reply};
use super::ask::{ListAsk, ListState};
use super::error::GithubError;

/// One page, as far as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemList {
    pub items: Vec<Value>,
    /// The page has more than that.
    pub is_cut: bool,
    /// There is another page.
    pub goes_on: bool,
}

pub async fn list(api: &Api, access: &Access, ask: &ListAsk) -> Result<ItemList, GithubError> {
    let is_search =
        ask.author.is_some() || !ask.labels.is_empty() || ask.state == ListState::Merged;
    let request = match is_search {
        true => search(access, ask),
        false => {
            let what = match ask.pulls {
                true => "pulls",
                false => "issues",
            };
            let (state, page) = (ask.state.name(), ask.page);
            access.of_repository(&format!("{what}?state={state}&per_page=100&page={page}"))
        }
    };
    let reply = api.get(access, &request, JSON, None).await;
    let (body, next) = match reply {
        Ok(Reply::Whole { body, next, .. }) => (body, next),
        Ok(Reply::NotModified) => (Value::Null, None),
        Err(NoReply::Error(error)) => return Err(error),
        Err(NoReply::Status(status, said)) => return Err(refused(access, status, said, is_search)),
    };
    let items = match body {
        Value::Array(items) => items,
        Value::Object(mut found) => match found.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    // To GitHub a pull request is an issue, too.
    let is_wanted = |item: &Value| ask.pulls || is_search || item["pull_request"].is_null();
    let mut items: Vec<Value> = items.into_iter().filter(is_wanted).collect();
    let is_cut = items.len() as u64 > ask.limit;
    items.truncate(ask.limit as usize);
    Ok(ItemList {
        items,
        is_cut,
        goes_on: next.is_some(),
    })
}

fn refused(access: &Access, status: u16, said: String, is_search: bool) -> GithubError {
    let host = access.repository.host.clone();
    // A search in what cannot be seen is refused as one that is not valid.
    if matches!(status, 404 | 410) || (status == 422 && is_search) {
        return GithubError::NotFound {
            repository: access.repository.to_string(),
            what: String::new(),
            host,
            has_login: access.login.token.is_some(),
            instead: None,
        };
    }
    GithubError::Refused { host, said }
}

/// The terms are ours: every value was judged before, or stands between quotes.
fn search(access: &Access, ask: &ListAsk) -> String {
    let repository = &access.repository;
    let mut terms = vec![
        format!("repo:{}/{}", repository.owner, repository.name),
        match ask.pulls {
            true => "is:pr".to_owned(),
            false => "is:issue".to_owned(),
        },
    ];
    match ask.state {
        ListState::Open => terms.push("is:open".to_owned()),
        ListState::Closed => terms.push("is:closed".to_owned()),
        ListState::Merged => terms.push("is:merged".to_owned()),
        ListState::All => {}
    }
    terms.extend(ask.author.iter().map(|author| format!("author:{author}")));
    terms.extend(ask.labels.iter().map(|label| format!("label:\"{label}\"")));
    let query: String = byte_serialize(terms.join(" ").as_bytes()).collect();
    format!("search/issues?q={query}&per_page=100&page={}", ask.page)
}
