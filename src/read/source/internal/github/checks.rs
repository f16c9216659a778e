//! What stands between a pull request and its merge: reviews, conflicts, checks.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::github::Item;

use super::answers::{login, text};

/// `changes requested by @bob, approved by @carol`: the last word of each reviewer.
pub fn reviews(item: &Item) -> String {
    let mut last: BTreeMap<String, &str> = BTreeMap::new();
    for review in &item.reviews {
        // A comment takes no word back.
        let state = match review["state"].as_str() {
            Some("CHANGES_REQUESTED") => "changes requested by",
            Some("APPROVED") => "approved by",
            Some("DISMISSED") => "dismissed of",
            _ => continue,
        };
        last.insert(login(&review["user"]), state);
    }
    let mut parts = Vec::new();
    for state in ["changes requested by", "approved by", "dismissed of"] {
        let who = last.iter().filter(|(_, said)| **said == state);
        let who: Vec<&str> = who.map(|(who, _)| who.as_str()).collect();
        if !who.is_empty() {
            parts.push(format!("{state} {}", who.join(" and ")));
        }
    }
    let requested = item.main["requested_reviewers"].as_array();
    let requested: Vec<String> = requested.into_iter().flatten().map(login).collect();
    if !requested.is_empty() {
        parts.push(format!("requested of {}", requested.join(" and ")));
    }
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    }
}

/// Whether it can be merged.
pub fn mergeable(main: &Value) -> &'static str {
    match (
        main["merged"].as_bool(),
        main["mergeable"].as_bool(),
        main["mergeable_state"].as_str(),
    ) {
        (Some(true), ..) => "merged",
        (_, Some(false), _) | (_, _, Some("dirty")) => "conflicts",
        (_, Some(true), Some("blocked")) => "yes, but blocked",
        (_, Some(true), Some("behind")) => "yes, but behind its base",
        (_, Some(true), _) => "yes",
        (_, None, _) => "unknown",
    }
}

/// How the checks of the head went, and a row for each that failed. Nothing where there are none.
pub fn lines(item: &Item) -> Vec<String> {
    let (mut passed, mut running, mut failed) = (0, 0, Vec::new());
    let mut skipped = 0;
    let row = |name: &Value, said: &str, url: &Value| {
        let url = text(url);
        match url.is_empty() {
            true => format!("  failed: {} ({said})", text(name)),
            false => format!("  failed: {} ({said}), {url}", text(name)),
        }
    };
    for run in &item.check_runs {
        match (run["status"].as_str(), run["conclusion"].as_str()) {
            (Some("completed"), Some("success" | "neutral")) => passed += 1,
            (Some("completed"), Some("skipped" | "stale")) => skipped += 1,
            (Some("completed"), said) => {
                let said = super::super::one_line(said.unwrap_or("failure")).replace('_', " ");
                failed.push(row(&run["name"], &said, &run["html_url"]));
            }
            _ => running += 1,
        }
    }
    for status in &item.statuses {
        match status["state"].as_str() {
            Some("success") => passed += 1,
            Some("pending") => running += 1,
            said => {
                let said = super::super::one_line(said.unwrap_or("failure"));
                failed.push(row(&status["context"], &said, &status["target_url"]));
            }
        }
    }
    let counts = [
        (passed, "passed"),
        (failed.len(), "failed"),
        (running, "running"),
        (skipped, "skipped"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if counts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("checks: {}", counts.join(", "))];
    lines.extend(failed);
    lines
}
