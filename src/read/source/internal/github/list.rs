//! A list of issues or pull requests as rows.

use crate::github::{GithubAnswer, ItemList, ListAsk};
use crate::protocol::read::{InternalDetails, NamedResource};
use crate::view::listing::age;
use crate::workspace::{InternalUrl, now_ns};

use super::super::Listing;
use super::address::list_address;
use super::answers::{labels, login, nanoseconds, text};

pub fn listing(
    answer: &GithubAnswer,
    ask: &ListAsk,
    list: &ItemList,
    details: InternalDetails,
) -> Listing {
    let repository = &answer.repository;
    let scheme = match ask.pulls {
        true => "pr",
        false => "issue",
    };
    let now = i128::from(now_ns());
    let mut rows = Vec::new();
    let mut resources = Vec::new();
    for item in &list.items {
        let uri = format!(
            "{scheme}://{repository}/{}",
            item["number"].as_u64().unwrap_or(0)
        );
        let is_merged =
            item["merged_at"].is_string() || item["pull_request"]["merged_at"].is_string();
        let state = match (is_merged, item["draft"] == true) {
            (true, _) => "merged".to_owned(),
            (false, true) if item["state"] == "open" => "draft".to_owned(),
            _ => text(&item["state"]),
        };
        let title = text(&item["title"]);
        let updated = nanoseconds(&item["updated_at"]).map(|at| age(at, now));
        let labels = labels(item);
        rows.push(vec![
            uri.clone(),
            state.clone(),
            title.clone(),
            login(&item["user"]),
            updated.unwrap_or_default(),
            labels.clone(),
        ]);
        let about = [state, labels].into_iter().filter(|it| !it.is_empty());
        resources.push(NamedResource {
            uri,
            name: title,
            description: Some(about.collect::<Vec<_>>().join("; ")),
            provider: "github",
            ..NamedResource::default()
        });
    }
    Listing {
        rows,
        resources,
        footer: Some(footer(answer, ask, list)),
        url: Some(InternalUrl::of(&list_address(ask, repository))),
        details: Some(details),
    }
}

/// `2 open issues shown; issue://octo/demo?page=2 for more`.
fn footer(answer: &GithubAnswer, ask: &ListAsk, list: &ItemList) -> String {
    let what = match (ask.pulls, list.items.len()) {
        (true, 1) => "pull request",
        (true, _) => "pull requests",
        (false, 1) => "issue",
        (false, _) => "issues",
    };
    let state = match ask.state.name() {
        "all" => String::new(),
        state => format!("{state} "),
    };
    let count = match list.items.len() {
        0 => "No".to_owned(),
        count => count.to_string(),
    };
    let said = match list.items.is_empty() {
        true => format!("{count} {state}{what}"),
        false => format!("{count} {state}{what} shown"),
    };
    let more = match (list.is_cut, list.goes_on) {
        (true, _) => Some(ListAsk {
            limit: 100,
            ..ask.clone()
        }),
        (false, true) => Some(ListAsk {
            page: ask.page + 1,
            ..ask.clone()
        }),
        (false, false) => None,
    };
    match more {
        Some(more) => format!(
            "{said}; {} for more",
            list_address(&more, &answer.repository)
        ),
        None => said,
    }
}
