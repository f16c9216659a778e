//! Lists of issues and pull requests: always asked for, never kept.

use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use super::api::{Api, ApiReply, JSON, NextPage, NoReply, RepoAccess};
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

pub async fn list(api: &Api, access: &RepoAccess, ask: &ListAsk) -> Result<ItemList, GithubError> {
    let request = match is_search(ask) {
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
        Ok(ApiReply::Whole { body, next, .. }) => (body, next),
        Ok(ApiReply::NotModified) => (Value::Null, NextPage::End),
        Err(NoReply::Error(error)) => return Err(error),
        Err(NoReply::Status(status, said)) => return Err(refused(access, ask, status, said)),
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
    let is_wanted = |item: &Value| ask.pulls || item["pull_request"].is_null();
    let mut items: Vec<Value> = items.into_iter().filter(is_wanted).collect();
    let is_cut = items.len() as u64 > ask.limit;
    items.truncate(ask.limit as usize);
    Ok(ItemList {
        items,
        is_cut,
        goes_on: next != NextPage::End,
    })
}

fn is_search(ask: &ListAsk) -> bool {
    ask.author.is_some() || !ask.labels.is_empty() || ask.state == ListState::Merged
}

fn refused(access: &RepoAccess, ask: &ListAsk, status: u16, said: String) -> GithubError {
    let host = access.repository.host.clone();
    // GitHub shows the first thousand that a search finds.
    let is_behind_all = ask.page > 10;
    let what = match (status, &ask.author) {
        (404 | 410, _) => String::new(),
        // A search in what cannot be seen, or for whom nobody knows, is refused as one that is not valid.
        (422, _) if is_behind_all => return GithubError::Refused { host, said },
        (422, Some(author)) => format!("user {author} to look for"),
        (422, None) if is_search(ask) => String::new(),
        _ => return GithubError::Refused { host, said },
    };
    GithubError::NotFound {
        repository: access.repository.to_string(),
        what,
        host,
        has_login: access.login.token.is_some(),
        instead: None,
    }
}

/// The terms are ours: every value was judged before, or stands between quotes.
fn search(access: &RepoAccess, ask: &ListAsk) -> String {
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
